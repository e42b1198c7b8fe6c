//! The tests of a measurement.

use std::time::Duration;

use super::leech::{Kind, Leech, Place, ROUND};
use super::size::Size;
use super::workload::Workload;

/// A victim and its leeches.
#[derive(Clone, Debug, PartialEq)]
pub struct Test {
    /// Name of the test.
    pub name: String,
    /// The workload of the victim.
    pub workload: Workload,
    /// A run repeats the workload until it takes about this time.
    pub at_least: Duration,
    /// The leeches beside the victim, one measurement each; a measurement without leeches comes
    /// first.
    pub points: Vec<Point>,
}

/// Leeches that take together.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The kind of leech.
    pub leech: Leech,
    /// Number of leeches.
    pub count: usize,
}

impl Point {
    /// Bytes of memory that they need.
    pub fn bytes(&self) -> u64 {
        self.leech.kind.bytes().saturating_mul(self.count as u64)
    }
}

/// Least duration of a run, so that the clock is exact.
const AT_LEAST: Duration = Duration::from_millis(20);
/// Least duration of a run beside leeches on the victim's CPU.
const AT_LEAST_TAKEN: Duration = Duration::from_millis(150);

/// Returns a test of this victim, with runs that are long enough for these leeches.
pub fn test(name: &str, workload: Workload, points: Vec<Point>) -> Test {
    let taken = points.iter().map(|point| &point.leech).filter(|it| it.kind.place() == Place::Same);
    // A run begins while the leech sleeps: it is longer than that and cannot hide there.
    let rounds = taken.map(|leech| AT_LEAST_TAKEN.max(leech.sleep + ROUND));
    let at_least = rounds.max().unwrap_or(AT_LEAST);
    Test { name: name.into(), workload, at_least, points }
}

/// The effort of a measurement.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Effort {
    /// A look, in some 20 s.
    Quick,
    /// All kinds of leeches, in some two minutes.
    Standard,
    /// The sweeps of the paper and more.
    Full,
}

impl Effort {
    /// Returns the most runs for a median.
    pub fn runs(self) -> usize {
        if self == Self::Quick { 10 } else { 50 }
    }

    /// Returns the time that the number of runs is fitted to, if it is.
    pub fn time(self) -> Option<Duration> {
        match self {
            Self::Quick => Some(Duration::from_secs(20)),
            Self::Standard => Some(Duration::from_secs(110)),
            Self::Full => None,
        }
    }
}

/// Limits of the machine.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of the last-level cache.
    pub llc_bytes: u64,
    /// CPUs for leeches beside the victim's.
    pub leech_cpus: usize,
    /// Bytes of memory that may be used.
    pub memory_bytes: u64,
}

const MIB: u64 = 1 << 20;

/// Returns the tests of the paper (IsoTest, section IV) and those that it left for later.
pub fn standard(effort: Effort, limits: &Limits) -> Vec<Test> {
    let full = effort == Effort::Full;
    let quick = effort == Effort::Quick;
    // Copies need two buffers each.
    let memory = limits.memory_bytes / 2 / limits.leech_cpus.max(1) as u64;
    let largest = (1 << memory.max(MIB).ilog2()).min(4 * limits.llc_bytes.next_power_of_two());
    let bus = (2 * limits.llc_bytes).next_power_of_two().clamp(8 * MIB, largest.max(8 * MIB));
    let counts = || 1..=limits.leech_cpus;
    let mut tests = Vec::new();
    let mut add = |name: &str, workload: Workload, mut points: Vec<Point>| {
        points.retain(|point| point.bytes() + workload.bytes() <= limits.memory_bytes);
        if !points.is_empty() {
            tests.push(test(name, workload, points));
        }
    };
    let one = |kind: Kind| Point { leech: Leech::tireless(kind), count: 1 };
    let beside = |kind: Kind| (limits.leech_cpus > 0).then(|| one(kind));

    let sleeps: &[u64] = match effort {
        Effort::Quick => &[25],
        Effort::Standard => &[25, 100, 200],
        Effort::Full => &[25, 50, 75, 100, 125, 150, 175, 200],
    };
    let leech = |ms: &u64| Leech { kind: Kind::Cpu, sleep: Duration::from_millis(*ms) };
    let points = sleeps.iter().map(|ms| Point { leech: leech(ms), count: 1 }).collect();
    add("cpu", Workload::Matrix(256), points);

    let sizes: Vec<u64> = if full {
        (16..).map(|shift| 1 << shift).take_while(|size| *size <= largest).collect()
    } else {
        let llc = limits.llc_bytes.next_power_of_two();
        let sizes = [64 << 10, llc / 4, llc, 2 * llc];
        sizes.into_iter().filter(|size| *size <= largest).collect()
    };
    let points = sizes.iter().filter_map(|size| beside(Kind::Copy(Size(*size))));
    let rows = if quick { 256 } else { 512 };
    if !quick {
        add("cache", Workload::Matrix(rows), points.collect());
    }

    let copy = Leech::tireless(Kind::Copy(Size(bus)));
    let points = counts().map(|count| Point { leech: copy.clone(), count });
    add("bus", Workload::Matrix(rows), points.collect());

    // Half of the cache, read in an order that hides no miss: more sensitive than a product.
    let half = Size((limits.llc_bytes / 2).clamp(64 << 10, 32 * MIB));
    let largest_of = |kind: fn(Size) -> Kind| {
        let leech = Leech::tireless(kind(Size(bus)));
        counts().last().map(|count| Point { leech, count })
    };
    let mut points: Vec<Point> = largest_of(Kind::Copy).into_iter().collect();
    if !quick {
        points.extend(largest_of(Kind::NonTemporal));
        points.extend(largest_of(Kind::Bank));
        points.extend(beside(Kind::Tlb(Size((64 * MIB).min(memory)))));
    }
    add("memory", Workload::Chase(half), points);

    if !quick {
        let mut points = vec![one(Kind::Timers)];
        points.extend(beside(Kind::Loopback));
        points.extend(beside(Kind::Disk(Size(8 * MIB))));
        add("io", Workload::Matrix(256), points);
    }
    tests
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Limits = Limits { llc_bytes: MIB, leech_cpus: 3, memory_bytes: 1 << 32 };

    #[test]
    fn the_full_sweeps_are_those_of_the_paper() {
        let tests = standard(Effort::Full, &HERE);
        let shown = |name: &str| -> Vec<String> {
            let test = tests.iter().find(|test| test.name == name).expect(name);
            test.points.iter().map(|it| format!("{} {}", it.count, it.leech)).collect()
        };
        assert_eq!(shown("cpu").len(), 8, "25 to 200 ms");
        assert_eq!(shown("cache")[..2], ["1 copy:64KiB", "1 copy:128KiB"]);
        assert_eq!(shown("cache").last().map(String::as_str), Some("1 copy:4MiB"));
        assert_eq!(shown("bus"), ["1 copy:8MiB", "2 copy:8MiB", "3 copy:8MiB"]);
    }

    #[test]
    fn runs_cannot_hide_while_a_leech_sleeps() {
        let at_least = |leech: &str| {
            let leech = leech.parse().expect(leech);
            test("own", Workload::Matrix(64), vec![Point { leech, count: 1 }]).at_least.as_millis()
        };
        assert_eq!([at_least("cpu@200ms"), at_least("cpu@25ms")], [280, 150]);
        assert_eq!([at_least("timers"), at_least("copy:1MiB@200ms")], [150, 20]);
    }

    #[test]
    fn one_cpu_is_exposed_to_what_shares_it() {
        for effort in [Effort::Quick, Effort::Standard, Effort::Full] {
            let tests = standard(effort, &Limits { leech_cpus: 0, ..HERE });
            assert!(!tests.is_empty());
            for point in tests.iter().flat_map(|test| &test.points) {
                assert_eq!(point.leech.kind.place(), Place::Same);
            }
        }
    }

    #[test]
    fn leeches_fit_into_memory() {
        for memory_bytes in [16 * MIB, 100 * MIB, 1 << 34] {
            let limits = Limits { llc_bytes: 300 * MIB, leech_cpus: 2, memory_bytes };
            for point in standard(Effort::Full, &limits).iter().flat_map(|test| &test.points) {
                assert!(point.bytes() <= memory_bytes, "{point:?}");
            }
        }
    }
}
