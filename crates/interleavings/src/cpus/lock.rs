pub use crate::with_shuttle::lock::{Mutex, MutexGuard};
pub use hypervisor::lock::Own;
