//! What one can see of a simulation while it runs.

/// Something that happened on a PCPU.
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
        /// From release to completion in nanoseconds.
        response_ns: u64,
    },
    /// The scheduler of the PCPU is told that a VCPU has something to do. As the following
    /// two it comes before the decision that it leads to.
    Wake {
        /// VCPU, by its index on the PCPU.
        vcpu: usize,
    },
    /// The scheduler is told that a VCPU has nothing to do any more.
    Block {
        /// VCPU, by its index on the PCPU.
        vcpu: usize,
    },
    /// The scheduler is told that time has passed. The first time, at 0 before all other
    /// events, is not shown.
    Tick,
    /// The scheduler is told how many memory accesses a VCPU with a memory budget has made since
    /// that was told last.
    Account {
        /// VCPU, by its index on the PCPU.
        vcpu: usize,
        /// Accesses.
        accesses: u64,
    },
    /// The scheduler is told that a VCPU has made the memory accesses that it may make.
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
        /// When they end, in nanoseconds.
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
    /// The scheduler of the PCPU is told that tasks of a VCPU are in global critical sections.
    StartGcs {
        /// VCPU, by its index on the PCPU.
        vcpu: usize,
    },
    /// The scheduler of the PCPU is told that no task of a VCPU is in one any more.
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
        /// Whether the resource is global.
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
        /// Whether the resource is global.
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
        /// Whether the resource is global.
        global: bool,
    },
    /// The PCPU runs another VCPU from now on.
    Run {
        /// VCPU, by its index on the PCPU.
        vcpu: usize,
        /// What is left of its budget in nanoseconds, if it has one.
        budget_ns: Option<u64>,
    },
    /// The PCPU runs no VCPU from now on.
    Idle,
}

/// Sees all events in the order of their time.
pub trait Observer {
    /// An event at a time in nanoseconds on a PCPU.
    fn event(&mut self, at_ns: u64, pcpu: usize, event: Event);
}

/// Sees nothing and costs nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    #[inline]
    fn event(&mut self, _: u64, _: usize, _: Event) {}
}

impl<F: FnMut(u64, usize, Event)> Observer for F {
    fn event(&mut self, at_ns: u64, pcpu: usize, event: Event) {
        self(at_ns, pcpu, event);
    }
}
