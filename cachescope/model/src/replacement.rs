//! The choice of the line of a set that has to go.

use crate::Geometry;

/// The way in which a cache chooses the line that it replaces.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Policy {
    /// The line that was not used for the longest time.
    Lru,
    /// Tree pseudo-LRU: one bit per node of a binary tree over the ways.
    Plru,
    /// Any line, from a seeded generator.
    Random,
}

impl Policy {
    /// The policy with this name: `lru`, `plru` or `random`.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "lru" => Self::Lru,
            "plru" => Self::Plru,
            "random" => Self::Random,
            _ => return None,
        })
    }

    /// Its name, as [`Policy::from_name`] takes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lru => "lru",
            Self::Plru => "plru",
            Self::Random => "random",
        }
    }
}

/// State of replacement for all sets of a cache whose ways are all in use.
///
/// Empty ways are the cache's business: it asks for a victim only in a full set.
#[derive(Clone, Debug)]
pub enum Replacement {
    /// Time of the last use of each way.
    Lru {
        /// One per way of each set.
        used: Box<[u64]>,
        /// Uses so far.
        now: u64,
        /// Ways of a set.
        ways: usize,
    },
    /// Bit n of a set's word is node n of its tree, the root is node 1; a bit
    /// of 1 sends the search for a victim to the right.
    Plru {
        /// One tree per set.
        trees: Box<[u64]>,
        /// Ways of a set, a power of two.
        ways: usize,
    },
    /// A generator (splitmix64).
    Random {
        /// Its state.
        state: u64,
        /// Ways of a set.
        ways: usize,
    },
}

impl Replacement {
    /// Replacement for a cache of this geometry. With [`Policy::Plru`] its ways
    /// must be a power of two: other ways would never be chosen.
    pub fn new(policy: Policy, geometry: Geometry, seed: u64) -> Self {
        let (sets, ways) = (geometry.sets() as usize, geometry.ways() as usize);
        match policy {
            Policy::Lru => Self::Lru { used: vec![0; sets * ways].into(), now: 0, ways },
            Policy::Plru => Self::Plru { trees: vec![0; sets].into(), ways },
            Policy::Random => Self::Random { state: seed, ways },
        }
    }

    /// A way of a set was used.
    #[inline]
    pub fn touch(&mut self, set: usize, way: usize) {
        match self {
            Self::Lru { used, now, ways } => {
                *now += 1;
                used[set * *ways + way] = *now;
            }
            Self::Plru { trees, ways } => {
                // Each node on the path to the way points away from it.
                let tree = &mut trees[set];
                let mut node = *ways + way;
                while node > 1 {
                    let went_right = node & 1 == 1;
                    node >>= 1;
                    *tree = *tree & !(1 << node) | u64::from(!went_right) << node;
                }
            }
            Self::Random { .. } => {}
        }
    }

    /// The way of a full set to replace.
    #[inline]
    pub fn victim(&mut self, set: usize) -> usize {
        match self {
            Self::Lru { used, ways, .. } => {
                let row = &used[set * *ways..][..*ways];
                let mut oldest = 0;
                for way in 1..row.len() {
                    if row[way] < row[oldest] {
                        oldest = way;
                    }
                }
                oldest
            }
            Self::Plru { trees, ways } => {
                let mut node = 1;
                while node < *ways {
                    node = node << 1 | (trees[set] >> node & 1) as usize;
                }
                node - *ways
            }
            Self::Random { state, ways } => {
                *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let mut z = *state;
                z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
                z ^= z >> 31;
                // The high half times the ways: unbiased for a power of two,
                // and by less than 2^-26 for other ways.
                (((z >> 32) * *ways as u64) >> 32) as usize
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one_set(policy: Policy, ways: u32) -> Replacement {
        let geometry = Geometry::new(u64::from(ways) * 64, ways, 64).unwrap();
        Replacement::new(policy, geometry, 7)
    }

    #[test]
    fn lru_replaces_the_longest_unused() {
        let mut lru = one_set(Policy::Lru, 4);
        for way in [2, 0, 3, 1, 2] {
            lru.touch(0, way);
        }
        assert_eq!(lru.victim(0), 0);
        lru.touch(0, 0);
        assert_eq!(lru.victim(0), 3);
    }

    /// Four ways: tree ((0 1) (2 3)). Worked by hand, bit by bit.
    #[test]
    fn plru_follows_its_tree() {
        let mut plru = one_set(Policy::Plru, 4);
        assert_eq!(plru.victim(0), 0, "an untouched tree points left");
        let mut victims = Vec::new();
        for way in [0, 1, 2, 3, 0, 2] {
            plru.touch(0, way);
            victims.push(plru.victim(0));
        }
        // After 0: right half, its left way. After 1: the same. After 2: left
        // half, and there away from 1. After 3: the same. After 0: right half,
        // away from 3. After 2: left half, away from 0.
        assert_eq!(victims, [2, 2, 0, 0, 2, 1]);
    }

    #[test]
    fn plru_differs_from_lru_where_it_is_known_to() {
        // 0 1 2 3 then 0: the longest unused is 1, but the tree points to 2.
        let (mut lru, mut plru) = (one_set(Policy::Lru, 4), one_set(Policy::Plru, 4));
        for way in [0, 1, 2, 3, 0] {
            lru.touch(0, way);
            plru.touch(0, way);
        }
        assert_eq!((lru.victim(0), plru.victim(0)), (1, 2));
    }

    #[test]
    fn plru_reaches_every_way_of_a_wide_set() {
        for ways in [1, 2, 8, 64] {
            let mut plru = one_set(Policy::Plru, ways);
            let mut victims: Vec<usize> = (0..ways)
                .map(|_| {
                    let way = plru.victim(0);
                    plru.touch(0, way);
                    way
                })
                .collect();
            victims.sort_unstable();
            assert_eq!(victims, (0..ways as usize).collect::<Vec<_>>());
        }
    }

    #[test]
    fn random_is_even_and_repeats_with_its_seed() {
        let draw = |seed| {
            let geometry = Geometry::new(12 * 64, 12, 64).unwrap();
            let mut random = Replacement::new(Policy::Random, geometry, seed);
            (0..12_000).map(|_| random.victim(0)).collect::<Vec<_>>()
        };
        let first = draw(1);
        assert_eq!(first, draw(1));
        assert_ne!(first, draw(2));
        for way in 0..12 {
            let times = first.iter().filter(|&&victim| victim == way).count();
            assert!((850..1150).contains(&times), "way {way}: {times} of 12000");
        }
    }
}
