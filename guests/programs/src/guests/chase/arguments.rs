//! The boot arguments of `rt-chase`.

use core::fmt;
use core::time::Duration;

use policy::color::{ColorSet, ParseColorsError};

use programs::sweep::{NotASweep, Sweep};
use rt::arch::CPUS_MAX;
use rt::arguments::{number, text};

/// The order in which a task reads its working set.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Pattern {
    /// Line by line through a random cycle.
    Chase,
    /// Line by line in ascending order.
    Sequential,
    /// Not at all: only the processor is used.
    BusyLoop,
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Chase => "chase",
            Self::Sequential => "sequential",
            Self::BusyLoop => "busyloop",
        })
    }
}

/// The way in which a task gets its colours.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Via {
    /// The guest chooses pages by their colour in the (virtual) cache.
    Vllc,
    /// The task asks the hypervisor for extra colours when it has initialised its memory.
    Vcoloring,
    /// Not at all.
    Nothing,
}

impl fmt::Display for Via {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Vllc => "vllc",
            Self::Vcoloring => "vcoloring",
            Self::Nothing => "none",
        })
    }
}

/// The VCPUs on which the co-runners run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Where {
    /// Each on a VCPU of its own, from VCPU 1 on.
    Other,
    /// In turns with the victim.
    Same,
}

impl fmt::Display for Where {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Other => "other",
            Self::Same => "same",
        })
    }
}

/// A task that reads.
#[derive(Clone, Copy, Debug)]
pub struct Reader {
    /// The order in which it reads.
    pub pattern: Pattern,
    /// Its colours; `None` for all.
    pub colors: Option<ColorSet>,
    /// Its working set, in KiB.
    pub kib: Sweep,
}

/// The work of the guest.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// The task that is measured.
    pub victim: Reader,
    /// The others.
    pub corunner: Reader,
    /// The number of co-runners.
    pub corunners: usize,
    /// The VCPUs on which they run.
    pub place: Where,
    /// The way in which all of them get their colours.
    pub via: Via,
    /// Rounds that are not measured, for each size.
    pub warm_up: u64,
    /// Rounds that are measured, for each size; 0: for ever, and not measured.
    pub rounds: u64,
    /// Number of times that a round reads the working set.
    pub laps: u64,
    /// The time for which a thread runs at a stretch.
    pub quantum: Duration,
    /// Seed of the random cycles.
    pub seed: u64,
    /// True if measured rounds leave trace marks.
    pub marks: bool,
}

/// An argument that cannot be right.
#[derive(Clone, Copy, Debug)]
pub enum BadArgument {
    /// The key has a value that is none of these.
    Word(&'static str, &'static str),
    /// Colours that cannot be read.
    Colors(&'static str, ParseColorsError),
    /// Sizes that cannot be read.
    Sizes(&'static str, NotASweep<'static>),
    /// More co-runners than there are stacks.
    Corunners(u64),
}

impl fmt::Display for BadArgument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("boot argument ")?;
        match self {
            Self::Word(key, words) => write!(f, "{key}: expected one of {words}"),
            Self::Colors(key, error) => write!(f, "{key}: {error}"),
            Self::Sizes(key, error) => write!(f, "{key}={error}"),
            Self::Corunners(count) => {
                write!(f, "chase.corunners={count}: at most {} are supported", CPUS_MAX - 1)
            }
        }
    }
}

fn pattern(key: &'static str) -> Result<Pattern, BadArgument> {
    match text(key).unwrap_or("chase") {
        "chase" => Ok(Pattern::Chase),
        "sequential" => Ok(Pattern::Sequential),
        "busyloop" => Ok(Pattern::BusyLoop),
        _ => Err(BadArgument::Word(key, "chase, sequential, busyloop")),
    }
}

fn colors(key: &'static str) -> Result<Option<ColorSet>, BadArgument> {
    text(key).map(str::parse).transpose().map_err(|error| BadArgument::Colors(key, error))
}

impl Config {
    /// Reads the boot arguments. Numbers that are none turn the guest off.
    pub fn read() -> Result<Self, BadArgument> {
        let kib = number("chase.kib", 1024);
        let sizes = match text("chase.sweep") {
            Some(text) => {
                Sweep::parse(text).map_err(|error| BadArgument::Sizes("chase.sweep", error))?
            }
            None => Sweep::only(kib),
        };
        let corunners = number("chase.corunners", 0);
        if corunners >= CPUS_MAX as u64 {
            return Err(BadArgument::Corunners(corunners));
        }
        let via = match text("chase.via").unwrap_or("vllc") {
            "vllc" => Via::Vllc,
            "vcoloring" => Via::Vcoloring,
            "none" => Via::Nothing,
            _ => return Err(BadArgument::Word("chase.via", "vllc, vcoloring, none")),
        };
        let place = match text("chase.where").unwrap_or("other") {
            "other" => Where::Other,
            "same" => Where::Same,
            _ => return Err(BadArgument::Word("chase.where", "other, same")),
        };
        let victim = Reader {
            pattern: pattern("chase.pattern")?,
            colors: colors("chase.colors")?,
            kib: sizes,
        };
        let corunner = Reader {
            pattern: pattern("chase.kind")?,
            colors: colors("chase.corunner_colors")?.or(victim.colors),
            kib: Sweep::only(number("chase.corunner_kib", sizes.largest())),
        };
        Ok(Self {
            victim,
            corunner,
            corunners: corunners as usize,
            place,
            via,
            warm_up: number("chase.warmup", 2),
            rounds: number("chase.rounds", 20),
            laps: number("chase.laps", 1).max(1),
            quantum: Duration::from_micros(number("chase.quantum_us", 10_000)),
            seed: number("chase.seed", 1),
            marks: number("chase.marks", 1) != 0,
        })
    }
}
