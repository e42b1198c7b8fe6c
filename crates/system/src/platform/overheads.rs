//! What the hypervisor takes of a PCPU's time.

use units::Duration;

/// How long a PCPU is in the hypervisor for each of the things that it does there, at most.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Overheads {
    /// From what makes a VCPU stop or wake to the first instruction of the one that runs then: `S`.
    pub switch: Duration,
    /// A timer of the scheduler after which the same VCPU goes on.
    pub tick: Duration,
    /// Another PCPU, or the timer of a VCPU that waits, interrupts a VCPU that goes on: `K`.
    pub kick: Duration,
    /// An interrupt for the VCPU that runs: `I`.
    pub interrupt: Duration,
    /// A call of a guest, or an access to a virtual device: `X`.
    pub exit: Duration,
    /// An interrupt or a timer of the console, with what is sent then.
    pub console: Duration,
    /// For how long a CPU waits at most for another one that has the interrupt controller of the same VM, where this has 64 shared
    /// interrupts: once for each other CPU.
    pub lock: Duration,
    /// The longest time for which interrupts of a PCPU are not served: a part of long work: `B`.
    pub chunk: Duration,
}

impl Overheads {
    /// The names in platform files, in the order of the fields.
    pub const KEYS: [&'static str; 8] =
        ["switch", "tick", "kick", "interrupt", "exit", "console", "lock", "chunk"];
    /// Longest time of each.
    pub const LONGEST: Duration = Duration(10_000_000);

    /// An interrupt for a VCPU, while another one runs that goes on, with `waits` times [`Overheads::lock`]
    /// ([`crate::description::Vm::lock_waits`]).
    pub fn kick_with(&self, waits: u64) -> Duration {
        Duration(self.kick.max(self.tick).0.saturating_add(self.lock_waits(waits).0))
    }

    /// `waits` times [`Overheads::lock`].
    pub fn lock_waits(&self, waits: u64) -> Duration {
        Duration(self.lock.0.saturating_mul(waits))
    }

    /// The times in the order of [`Overheads::KEYS`].
    pub fn times(&self) -> [Duration; 8] {
        let Self { switch, tick, kick, interrupt, exit, console, lock, chunk } = *self;
        [switch, tick, kick, interrupt, exit, console, lock, chunk]
    }

    /// The inverse of [`Overheads::times`].
    pub(crate) fn from_times(times: [Duration; 8]) -> Self {
        let [switch, tick, kick, interrupt, exit, console, lock, chunk] = times;
        Self { switch, tick, kick, interrupt, exit, console, lock, chunk }
    }
}
