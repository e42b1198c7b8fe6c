//! Cache-related preemption delay by colours (vCache, Eq. 3).

use policy::color::ColorSet;

use crate::Duration;

/// The cache colours of tasks, which determine the delay that one task causes another.
///
/// The delay is a bound if `reload` covers all sets and ways of a colour with write-backs, the
/// cache replaces lines like LRU, and no task of another VCPU has one of these colours.
///
/// The lines that a task has to load again after it suspended itself or was blocked belong to its
/// execution time and its blocking: then tasks of lower priority have run, which Eq. 3 does not
/// consider. (For the lines that other tasks load again because of a task that suspends itself, see
/// [`mod@crate::response`].)
#[derive(Clone, Copy, Debug)]
pub struct Caches<'a> {
    colors: &'a [ColorSet],
    reload: u64,
}

impl<'a> Caches<'a> {
    /// Makes the caches from the colours of each task, in the order of the tasks, and the longest
    /// time to load one colour again: `S_i` and `Delta` (vCache, section 5.1).
    pub fn new(colors: &'a [ColorSet], reload: Duration) -> Self {
        Self { colors, reload: reload.0 }
    }

    /// `gamma_{h,j}`: the delay of task `j` and those between by one job of task `h` above it;
    /// 0 if `h` is not above `j`. Saturates.
    pub fn delay(&self, h: usize, j: usize) -> Duration {
        let between = self.colors.iter().take(j + 1).skip(h + 1);
        let evicted = between.fold(ColorSet::EMPTY, |union, &colors| union | colors);
        let own = self.colors.get(h).copied().unwrap_or_default();
        Duration(u64::from((own & evicted).len()).saturating_mul(self.reload))
    }

    /// Returns the same colours with another time to load one again.
    pub(crate) fn with_reload(self, reload: u64) -> Self {
        Self { reload, ..self }
    }

    /// Returns true if task `h` can delay any task below, according to its own colours.
    pub(crate) fn can_delay(&self, h: usize) -> bool {
        self.reload > 0 && self.colors.get(h).is_some_and(|colors| !colors.is_empty())
    }

    /// Returns all `gamma_{h,j}` for one `j`, from `h = j`, where it is 0, downwards; 0 without
    /// caches.
    pub(crate) fn delays_from(caches: Option<&Self>, j: usize) -> impl Iterator<Item = u64> {
        let delays = caches.map(|caches| caches.delays(j));
        std::iter::once(0).chain(delays.into_iter().flatten()).chain(std::iter::repeat(0))
    }

    /// Returns all `gamma_{h,j}` for one `j`, from `h = j - 1` to 0.
    pub(crate) fn delays(&self, j: usize) -> impl Iterator<Item = u64> {
        let mut evicted = self.colors.get(j).copied().unwrap_or_default();
        let above = self.colors.iter().take(j).rev();
        above.map(move |&colors| {
            let delay = u64::from((colors & evicted).len()).saturating_mul(self.reload);
            evicted = evicted | colors;
            delay
        })
    }
}
