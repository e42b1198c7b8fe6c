//! What models use, of shuttle, where all accesses to atomics are sequentially consistent.

pub use std::sync::atomic::Ordering::SeqCst;

pub use shuttle::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, AtomicU8},
};
pub use shuttle::thread::{spawn, yield_now};
