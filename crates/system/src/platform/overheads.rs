//! Times that the hypervisor takes on a PCPU.

use abi::limits::PRICE_MAX_NS;

use units::Duration;

/// The longest time that a PCPU is in the hypervisor for each kind of work.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Overheads {
    /// From the event that makes a VCPU stop or wake to the first instruction of the VCPU that runs
    /// then: `S`.
    pub switch: Duration,
    /// A timer of the scheduler after which the same VCPU continues.
    pub tick: Duration,
    /// An interrupt by another PCPU, or by the timer of a waiting VCPU, after which the same VCPU
    /// continues: `K`.
    pub kick: Duration,
    /// An interrupt for the running VCPU: `I`.
    pub interrupt: Duration,
    /// A call of a guest, or an access to a virtual device: `X`.
    pub exit: Duration,
    /// An interrupt or a timer of the console, including the bytes sent then.
    pub console: Duration,
    /// Longest time that a CPU waits for another one that works on the interrupt controller of the
    /// same VM with 64 shared interrupts: once for each other CPU.
    pub lock: Duration,
    /// The longest time for which a PCPU serves no interrupts: a chunk of long work: `B`.
    pub chunk: Duration,
}

impl Overheads {
    /// The names in platform files, in the order of the fields.
    pub const KEYS: [&'static str; 8] =
        ["switch", "tick", "kick", "interrupt", "exit", "console", "lock", "chunk"];
    /// The longest value of each.
    pub const LONGEST: Duration = Duration(PRICE_MAX_NS);

    /// Returns the time of an interrupt for a VCPU that does not run, after which the running VCPU
    /// continues, with `waits` times [`Overheads::lock`] ([`crate::description::Vm::lock_waits`]).
    pub fn kick_with(&self, waits: u64) -> Duration {
        Duration(self.kick.max(self.tick).0.saturating_add(self.lock_waits(waits).0))
    }

    /// Returns `waits` times [`Overheads::lock`].
    pub fn lock_waits(&self, waits: u64) -> Duration {
        Duration(self.lock.0.saturating_mul(waits))
    }

    /// Returns the time to bring an end of a serial line up to date at which the other end told something. It is as long as three
    /// interrupts: EL2 moves a FIFO, changes the interrupt of the end, and tells something back. `make bench-exits` has this
    /// as the limit of what is measured.
    pub fn serial_end(&self) -> Duration {
        Duration(self.interrupt.0.saturating_mul(3))
    }

    /// Returns the times in the order of [`Overheads::KEYS`].
    pub fn times(&self) -> [Duration; 8] {
        let Self { switch, tick, kick, interrupt, exit, console, lock, chunk } = *self;
        [switch, tick, kick, interrupt, exit, console, lock, chunk]
    }

    /// Returns the inverse of [`Overheads::times`].
    pub(crate) fn from_times(times: [Duration; 8]) -> Self {
        let [switch, tick, kick, interrupt, exit, console, lock, chunk] = times;
        Self { switch, tick, kick, interrupt, exit, console, lock, chunk }
    }
}
