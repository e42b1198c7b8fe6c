//! What CPUs of the hypervisor do at the same time, under model checkers: [loom](https://docs.rs/loom) goes
//! through all interleavings and all that weak memory allows, of few steps; [shuttle](https://docs.rs/shuttle) draws
//! interleavings of many.
//!
//! The code under test is that of the hypervisor. `build.rs` copies it with the atomics and locks of the model
//! checker in it, and makes mutants, which the tests have to find.

#![allow(missing_docs, dead_code)] // of what is copied, and has other users in the hypervisor

pub mod fenced;
pub mod with_loom;
pub mod with_shuttle;

/// The lock that CPUs get in turn, and its mutants.
pub mod ticket {
    include!(concat!(env!("OUT_DIR"), "/ticket.rs"));
}

/// The protocol of kicks and its mutants.
pub mod attention {
    include!(concat!(env!("OUT_DIR"), "/attention.rs"));
}
