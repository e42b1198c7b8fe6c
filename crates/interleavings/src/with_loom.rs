//! The parts of loom that models use.

pub use std::sync::atomic::Ordering::SeqCst;

pub use loom::sync::{Arc, Mutex, atomic::AtomicBool};
pub use loom::thread::{spawn, yield_now};

pub use crate::fenced::AtomicU8;

/// The parts that the source of `spin` uses.
pub mod spin {
    pub use std::sync::atomic::Ordering;

    pub use loom::sync::atomic::AtomicUsize;

    pub trait RelaxStrategy {
        fn relax();
    }

    #[derive(Debug)]
    pub struct Spin;

    impl RelaxStrategy for Spin {
        fn relax() {
            loom::thread::yield_now();
        }
    }
}
