//! The parts of shuttle that models use; all accesses to atomics are sequentially consistent there.

pub use std::sync::atomic::Ordering::SeqCst;

pub use shuttle::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, AtomicU8},
};
pub use shuttle::thread::{spawn, yield_now};

/// The lock of the hypervisor, in no order. Who waits for one has no other, but for the pairs that the hypervisor lists.
pub mod lock {
    use core::any::type_name;
    use core::cell::RefCell;
    use core::ops::{Deref, DerefMut};

    use hypervisor::lock::order::check;

    shuttle::thread_local! {
        static HELD: RefCell<Vec<&'static str>> = RefCell::new(Vec::new());
    }

    #[derive(Debug)]
    pub struct Mutex<T>(shuttle::sync::Mutex<T>);

    #[derive(Debug)]
    pub struct MutexGuard<'a, T>(shuttle::sync::MutexGuard<'a, T>);

    impl<T> Mutex<T> {
        pub fn new(value: T) -> Self {
            Self(shuttle::sync::Mutex::new(value))
        }

        pub fn lock(&self) -> MutexGuard<'_, T> {
            HELD.with(|held| check(&held.borrow(), type_name::<T>()));
            let guard = self.0.lock().unwrap();
            HELD.with(|held| held.borrow_mut().push(type_name::<T>()));
            MutexGuard(guard)
        }

        pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
            let guard = self.0.try_lock().ok()?;
            HELD.with(|held| held.borrow_mut().push(type_name::<T>()));
            Some(MutexGuard(guard))
        }
    }

    impl<T> Drop for MutexGuard<'_, T> {
        fn drop(&mut self) {
            HELD.with(|held| {
                let mut held = held.borrow_mut();
                let last = held.iter().rposition(|name| *name == type_name::<T>());
                last.map(|last| held.swap_remove(last))
            });
        }
    }

    impl<T> Deref for MutexGuard<'_, T> {
        type Target = T;

        fn deref(&self) -> &T {
            &self.0
        }
    }

    impl<T> DerefMut for MutexGuard<'_, T> {
        fn deref_mut(&mut self) -> &mut T {
            &mut self.0
        }
    }
}
