//! What models use, of loom.

pub use std::sync::atomic::Ordering::SeqCst;

pub use loom::sync::{Arc, Mutex, atomic::AtomicBool};
pub use loom::thread::{spawn, yield_now};

pub use crate::fenced::AtomicU8;
