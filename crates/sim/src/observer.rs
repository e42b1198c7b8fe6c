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
    /// The PCPU runs another VCPU from now on, or none.
    Run {
        /// VCPU, by its index on the PCPU.
        vcpu: Option<usize>,
    },
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
