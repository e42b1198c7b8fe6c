//! Locks between the CPUs of the hypervisor.

use spin::relax::RelaxStrategy;

#[cfg(all(target_os = "none", feature = "lock-marks"))]
mod marks;
#[cfg(not(target_os = "none"))]
pub mod order;
#[cfg(any(not(target_os = "none"), feature = "lock-marks"))]
mod watched;

#[cfg(all(target_os = "none", not(feature = "lock-marks")))]
pub use spin::MutexGuard;
#[cfg(any(not(target_os = "none"), feature = "lock-marks"))]
pub use watched::{Mutex, MutexGuard};

/// A lock around data that only one CPU uses: nobody ever waits for it.
pub type Own<T> = spin::mutex::SpinMutex<T>;

/// A lock that CPUs get in the order in which they came. A CPU that waits for one has no other, but for those that `order` lists.
#[cfg(all(target_os = "none", not(feature = "lock-marks")))]
pub type Mutex<T> = spin::mutex::Mutex<T, Relax>;

/// A CPU says that it only waits while another one has the lock.
///
/// An emulator that runs CPUs in turns goes on with the next one then. Otherwise it would let the waiting
/// CPU spin until the end of its turn, 25 ms of its time, and all of that would be taken from
/// the budget of a VCPU.
#[derive(Debug)]
pub struct Relax;

impl RelaxStrategy for Relax {
    #[inline(always)]
    fn relax() {
        #[cfg(target_os = "none")]
        crate::arch::cpu::relax();
        #[cfg(not(target_os = "none"))]
        core::hint::spin_loop();
    }
}
