//! Observation of a running simulation.

/// An event on a PCPU.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Event {
    /// A job is released.
    Release {
        /// VCPU, by its index on the PCPU.
        vcpu: usize,
        /// Task, by its index in the VCPU.
        task: usize,
    },
    /// A job is complete.
    Complete {
        /// VCPU, by its index on the PCPU.
        vcpu: usize,
        /// Task, by its index in the VCPU.
        task: usize,
        /// Time from release to completion in nanoseconds.
        response_ns: u64,
    },
    /// Input of the scheduler: a VCPU has work. This input and the two that follow come before the
    /// decision that they cause.
    Wake {
        /// VCPU, by its index on the PCPU.
        vcpu: usize,
    },
    /// Input of the scheduler: a VCPU has no more work.
    Block {
        /// VCPU, by its index on the PCPU.
        vcpu: usize,
    },
    /// Input of the scheduler: an interrupt came for a VCPU that waits, and goes on waiting.
    Kick {
        /// VCPU, by its index on the PCPU.
        vcpu: usize,
    },
    /// Input of the scheduler: time has passed. The first such input, at 0 before all other events,
    /// is not shown.
    Tick,
    /// Input of the scheduler: the number of memory accesses of a VCPU with a memory budget since
    /// the last such input.
    Account {
        /// VCPU, by its index on the PCPU.
        vcpu: usize,
        /// Accesses.
        accesses: u64,
    },
    /// Input of the scheduler: a VCPU has made all memory accesses of its budget.
    Overflow {
        /// VCPU, by its index on the PCPU.
        vcpu: usize,
    },
    /// The scheduler asks for accesses from the memory budget that a VCPU shares, and gets these.
    Grant {
        /// VCPU, by its index on the PCPU.
        vcpu: usize,
        /// Accesses.
        accesses: u64,
        /// End of the section in nanoseconds.
        until_ns: u64,
    },
    /// A VCPU has made memory accesses. With contention at the time at which it makes them, otherwise
    /// at the first event after that.
    Access {
        /// VCPU, by its index on the PCPU.
        vcpu: usize,
        /// Accesses.
        accesses: u64,
    },
    /// Input of the scheduler: tasks of a VCPU are in global critical sections.
    StartGcs {
        /// VCPU, by its index on the PCPU.
        vcpu: usize,
    },
    /// Input of the scheduler: no task of a VCPU is in a global critical section any more.
    FinishGcs {
        /// VCPU, by its index on the PCPU.
        vcpu: usize,
    },
    /// A VCPU has to wait in a global critical section, because budget and overrun are used up.
    StopInGcs {
        /// VCPU, by its index on the PCPU.
        vcpu: usize,
    },
    /// A task has to wait for a resource. Where that is local the one that has it executes instead,
    /// and the task may ask, and wait, several times.
    Wait {
        /// VCPU, by its index on the PCPU.
        vcpu: usize,
        /// Task, by its index in the VCPU.
        task: usize,
        /// Index of the resource.
        resource: usize,
        /// True if the resource is global.
        global: bool,
    },
    /// A task gets a resource.
    Lock {
        /// VCPU, by its index on the PCPU.
        vcpu: usize,
        /// Task, by its index in the VCPU.
        task: usize,
        /// Index of the resource.
        resource: usize,
        /// True if the resource is global.
        global: bool,
    },
    /// A task releases a resource.
    Unlock {
        /// VCPU, by its index on the PCPU.
        vcpu: usize,
        /// Task, by its index in the VCPU.
        task: usize,
        /// Index of the resource.
        resource: usize,
        /// True if the resource is global.
        global: bool,
    },
    /// The PCPU runs another VCPU from now on.
    Run {
        /// VCPU, by its index on the PCPU.
        vcpu: usize,
        /// Budget of the VCPU that is left, in nanoseconds, if it has a budget.
        budget_ns: Option<u64>,
    },
    /// The PCPU runs no VCPU from now on.
    Idle,
}

/// Sees all events in the order of their time.
pub trait Observer {
    /// An event at a time in nanoseconds on a PCPU.
    fn event(&mut self, at_ns: u64, pcpu: usize, event: Event);

    /// Returns false if [`Event::Access`] need not be shown, which is faster where accesses delay
    /// each other.
    fn sees_accesses(&self) -> bool {
        true
    }
}

/// Sees nothing and costs nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    #[inline]
    fn event(&mut self, _: u64, _: usize, _: Event) {}

    fn sees_accesses(&self) -> bool {
        false
    }
}

impl<F: FnMut(u64, usize, Event)> Observer for F {
    fn event(&mut self, at_ns: u64, pcpu: usize, event: Event) {
        self(at_ns, pcpu, event);
    }
}
