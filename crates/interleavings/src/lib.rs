//! Concurrent actions of CPUs of the hypervisor, under model checkers: [loom](https://docs.rs/loom) goes
//! through all interleavings and all that weak memory allows, of few steps; [shuttle](https://docs.rs/shuttle) draws
//! interleavings of many.
//!
//! The code under test is that of the hypervisor. `build.rs` copies it with the atomics and locks of the model
//! checker in it, and makes mutants, which the tests have to find.

// Of what is copied, and has other users in the hypervisor.
#![allow(missing_docs, dead_code, unused_imports, clippy::duplicate_mod)]

extern crate alloc;

pub mod fenced;
pub mod with_loom;
pub mod with_shuttle;

/// An action of a guest.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Act {
    /// It handles an interrupt; waits for one before, if it has none.
    Handle,
    /// It executes for a while in which it takes no interrupt.
    Busy,
    /// It sends an SGI to a VCPU.
    Send(usize, u32),
    /// It enables or disables an interrupt; a private one of VCPU 1.
    Enable(u32),
    Disable(u32),
    /// It waits until that is effective.
    Withdrawn(u32),
    /// It routes a shared interrupt to a VCPU.
    Route(u32, u64),
    /// A virtual device signals an edge.
    Raise(u32),
    /// It opens the resource, closes it; asks for it and waits until it has it, gives it back.
    Open,
    Close,
    Lock(usize),
    Unlock(usize),
    /// It asks for the resource, and takes no notice when it gets it.
    Ask(usize),
    /// The assigned device signals one.
    Fire,
}

/// The lock that CPUs get in turn, and its mutants.
#[allow(clippy::all)]
pub mod ticket {
    include!(concat!(env!("OUT_DIR"), "/ticket.rs"));
}

/// The protocol of kicks and its mutants.
#[allow(clippy::all)]
pub mod attention {
    include!(concat!(env!("OUT_DIR"), "/attention.rs"));
}

/// Messages through channels and mutants.
#[allow(clippy::all)]
pub mod channel {
    include!(concat!(env!("OUT_DIR"), "/channel.rs"));
}

/// One direction of a serial line and mutants.
#[allow(clippy::all)]
pub mod wire {
    include!(concat!(env!("OUT_DIR"), "/wire.rs"));
}

/// Notes about ports of serial lines and mutants.
#[allow(clippy::all)]
pub mod notes {
    include!(concat!(env!("OUT_DIR"), "/notes.rs"));
}

/// CPUs on which VCPUs take turns, and mutants.
#[allow(clippy::all)]
pub mod cpus {
    include!(concat!(env!("OUT_DIR"), "/cpus.rs"));
}

/// Ends of links and mutants.
#[allow(clippy::all)]
pub mod links {
    include!(concat!(env!("OUT_DIR"), "/links.rs"));
}
