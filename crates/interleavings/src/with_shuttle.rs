//! What models use, of shuttle, where all accesses to atomics are sequentially consistent.

pub use std::sync::atomic::Ordering::SeqCst;

pub use shuttle::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, AtomicU8},
};
pub use shuttle::thread::{spawn, yield_now};

/// The lock of the hypervisor, in no order.
pub mod lock {
    pub use shuttle::sync::MutexGuard;

    #[derive(Debug)]
    pub struct Mutex<T>(shuttle::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub fn new(value: T) -> Self {
            Self(shuttle::sync::Mutex::new(value))
        }

        pub fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().unwrap()
        }
    }
}
