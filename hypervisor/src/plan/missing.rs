//! Parts of a counter that a plan asks for and a CPU lacks.

use core::fmt;

/// A part that a CPU lacks of the counter of memory accesses.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Missing {
    /// Performance monitors.
    Monitors,
    /// Counters of events.
    EventCounters,
    /// This event.
    Event(u16),
    /// Event counters of 64 bits.
    WideEventCounters,
    /// A plugin of QEMU that counts accesses.
    Observer,
}

impl Missing {
    /// The property of the plan that asks for it.
    pub fn property(self) -> &'static str {
        match self {
            Self::Monitors | Self::EventCounters | Self::Observer => "source",
            Self::Event(_) => "event",
            Self::WideEventCounters => "bits",
        }
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Monitors => f.write_str("has no performance monitors"),
            Self::EventCounters => f.write_str("has no counters of events"),
            Self::Event(event) => write!(f, "does not count event {event:#x}, choose another one"),
            Self::WideEventCounters => f.write_str("has event counters of 32 bits, expected <32>"),
            Self::Observer => {
                f.write_str("has no access counter; run QEMU with the plugin cachescope")
            }
        }
    }
}
