//! Programs that load a resource of a victim.

mod bank;
mod copy;
mod cpu;
mod disk;
mod loopback;
mod nontemporal;
mod timers;
mod tlb;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::room;
use super::size::Size;

/// Time of a CPU that a round of [`Kind::Cpu`] takes: the published one takes 79 to 80 ms.
pub(crate) const ROUND: Duration = Duration::from_millis(80);

/// A leech: a process that takes one resource, again and again.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Leech {
    /// The resource that it loads.
    pub kind: Kind,
    /// Time that it sleeps after each round.
    pub sleep: Duration,
}

/// Resources that a leech loads.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// No resource: the leech computes in registers, as all leeches do while the baseline is
    /// measured.
    None,
    /// The CPU of the victim, at a higher priority: random numbers for 80 ms (IsoTest,
    /// section IV.A).
    Cpu,
    /// The cache, and the memory bus if the size is larger than it: copies a buffer of so
    /// many bytes to another one (IsoTest, sections IV.B and IV.C).
    Copy(Size),
    /// The memory bus: the leech stores this number of bytes past the caches.
    NonTemporal(Size),
    /// TLB entries: the leech reads a line of each page of this number of bytes.
    Tlb(Size),
    /// Rows of DRAM banks: the leech reads this number of bytes in steps of a power of two, so that
    /// consecutive reads tend to lie in different rows of the same bank.
    Bank(Size),
    /// The disk: the leech writes this number of bytes and waits until they are on the disk.
    Disk(Size),
    /// Interrupts of timers, on the CPU of the victim and above it.
    Timers,
    /// Interrupts of the network: packets to itself.
    Loopback,
}

/// Places of leeches.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Place {
    /// The leech runs on the victim's CPU.
    Same,
    /// The leech runs on CPUs of its own.
    Other,
}

impl Kind {
    /// Returns the place of the leech.
    pub fn place(self) -> Place {
        match self {
            Self::Cpu | Self::Timers => Place::Same,
            _ => Place::Other,
        }
    }

    /// Bytes of memory that it needs.
    pub fn bytes(self) -> u64 {
        match self {
            Self::Copy(size) => 2 * size.0,
            Self::NonTemporal(size) | Self::Tlb(size) | Self::Bank(size) => size.0,
            _ => 0,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Cpu => "cpu",
            Self::Copy(_) => "copy",
            Self::NonTemporal(_) => "non-temporal",
            Self::Tlb(_) => "tlb",
            Self::Bank(_) => "bank",
            Self::Disk(_) => "disk",
            Self::Timers => "timers",
            Self::Loopback => "loopback",
        }
    }

    /// Its size, for sweeps.
    pub fn size(self) -> Option<Size> {
        match self {
            Self::Copy(size)
            | Self::NonTemporal(size)
            | Self::Tlb(size)
            | Self::Bank(size)
            | Self::Disk(size) => Some(size),
            Self::None | Self::Cpu | Self::Timers | Self::Loopback => None,
        }
    }
}

impl Leech {
    /// Returns a leech that never sleeps.
    pub const fn tireless(kind: Kind) -> Self {
        Self { kind, sleep: Duration::ZERO }
    }

    /// Returns the leech, ready to load its resource.
    ///
    /// # Errors
    ///
    /// A requirement is not met; the message is for the user.
    pub(crate) fn prepare(&self) -> Result<Box<dyn Take>, String> {
        room::for_bytes(self.kind.bytes())?;
        Ok(match self.kind {
            Kind::None => Box::new(Nothing),
            Kind::Cpu => Box::new(cpu::Cpu::new()),
            Kind::Copy(size) => Box::new(copy::Copy::new(size.0)),
            Kind::NonTemporal(size) => Box::new(nontemporal::NonTemporal::new(size.0)),
            Kind::Tlb(size) => Box::new(tlb::Tlb::new(size.0)),
            Kind::Bank(size) => Box::new(bank::Bank::new(size.0)),
            Kind::Disk(size) => Box::new(disk::Disk::new(size.0)?),
            Kind::Timers => Box::new(timers::Timers),
            Kind::Loopback => Box::new(loopback::Loopback::new()?),
        })
    }
}

/// A leech that is ready.
pub(crate) trait Take {
    /// Returns a part of a round that takes some milliseconds at most; whether the round is over.
    ///
    /// # Errors
    ///
    /// The failure, in words for people.
    fn take(&mut self) -> Result<bool, String>;
}

/// Takes nothing but time of its own CPU.
pub(crate) struct Nothing;

impl Take for Nothing {
    fn take(&mut self) -> Result<bool, String> {
        for _ in 0..10_000 {
            std::hint::spin_loop();
        }
        Ok(true)
    }
}

impl FromStr for Leech {
    type Err = String;

    /// `KIND`, `KIND:SIZE` and a sleep behind `@`: `copy:8MiB`, `cpu@25ms`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (what, sleep) = match text.split_once('@') {
            Some((what, sleep)) => (what, milliseconds(sleep)?),
            None => (text, Duration::ZERO),
        };
        let (name, value) = what.split_once(':').unwrap_or((what, ""));
        let size = || match value {
            "" => Err(format!("{name}: expected a size, such as {name}:8MiB")),
            _ => value.parse::<Size>().map_err(|why| format!("{name}: {why}")),
        };
        let kind = match name {
            "copy" => Kind::Copy(size()?),
            "non-temporal" => Kind::NonTemporal(size()?),
            "tlb" => Kind::Tlb(size()?),
            "bank" => Kind::Bank(size()?),
            "disk" => Kind::Disk(size()?),
            _ if !value.is_empty() => {
                return Err(format!("`{what}` is no leech with a size: {EXPECTED}"));
            }
            "none" => Kind::None,
            "cpu" => Kind::Cpu,
            "timers" => Kind::Timers,
            "loopback" => Kind::Loopback,
            _ => return Err(format!("`{what}` is no leech: {EXPECTED}")),
        };
        Ok(Self { kind, sleep })
    }
}

const EXPECTED: &str = "expected none, cpu, copy:SIZE, non-temporal:SIZE, tlb:SIZE, bank:SIZE, \
                        disk:SIZE, timers or loopback, with @25ms to sleep after each round";

/// `25ms`
fn milliseconds(text: &str) -> Result<Duration, String> {
    match text.strip_suffix("ms").map(str::parse::<u32>) {
        Some(Ok(ms)) if ms <= 60_000 => Ok(Duration::from_millis(ms.into())),
        _ => Err(format!("`{text}` is no sleep: expected whole ms to 60000, such as 25ms")),
    }
}

impl fmt::Display for Leech {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.name())?;
        if let Some(size) = self.kind.size() {
            write!(f, ":{size}")?;
        }
        match self.sleep {
            Duration::ZERO => Ok(()),
            sleep => write!(f, "@{}ms", sleep.as_millis()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [&str; 10] = [
        "none",
        "cpu@25ms",
        "copy:64KiB",
        "copy:8MiB@5ms",
        "non-temporal:1MiB",
        "tlb:1MiB",
        "bank:8MiB",
        "disk:1MiB",
        "timers",
        "loopback",
    ];

    #[test]
    fn leeches_are_shown_as_they_are_read() {
        for text in ALL {
            assert_eq!(text.parse::<Leech>().map(|it| it.to_string()), Ok(text.to_owned()));
        }
    }

    #[test]
    fn typos_are_named() {
        for text in ["", "coppy:8MiB", "copy", "copy:", "copy:x", "cpu:8MiB", "cpu@25", "cpu@9s"] {
            let why = text.parse::<Leech>().expect_err(text);
            assert!(why.contains("expected"), "{why}");
        }
    }

    #[test]
    fn all_of_them_take() {
        for text in ALL {
            let mut take = text.parse::<Leech>().expect(text).prepare().expect(text);
            assert!((0..10_000).any(|_| take.take().expect(text)), "{text}: a round has an end");
        }
    }
}
