//! Work on another thread, while this one looks for Ctrl-C.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::failure::Failure;

/// How often signals are looked for.
const TICK: Duration = Duration::from_millis(50);
/// As large as that of a main thread.
const STACK: usize = 8 << 20;

/// What becomes of work after Ctrl-C.
#[derive(Clone, Copy, Eq, PartialEq)]
pub enum After {
    /// It is left behind, and its result dropped: it has nothing to clean up.
    Leave,
    /// It looks at the flag, and is waited for.
    Wait,
}

/// Does some work without the interpreter lock. `tick` is called with it some times a second.
pub fn detached<T: Send + 'static>(
    py: Python<'_>,
    after: After,
    work: impl FnOnce(&AtomicBool) -> Result<T, Failure> + Send + 'static,
    mut tick: impl FnMut(Python<'_>) -> PyResult<()>,
) -> PyResult<T> {
    let stop = Arc::new(AtomicBool::new(false));
    let (result, mut results) = mpsc::channel();
    let flag = stop.clone();
    let worker = thread::Builder::new().stack_size(STACK);
    worker.spawn(move || result.send(work(&flag)))?;
    let mut interrupted = None;
    loop {
        let received;
        (results, received) = py.detach(move || {
            let received = results.recv_timeout(TICK);
            (results, received)
        });
        match (received, interrupted.take()) {
            (Ok(_), Some(error)) => return Err(error),
            (Ok(result), None) => return result.map_err(|failure| failure.raise(py)),
            (Err(RecvTimeoutError::Disconnected), _) => {
                return Err(PyRuntimeError::new_err("a computation panicked"));
            }
            (Err(RecvTimeoutError::Timeout), before) => interrupted = before,
        }
        if interrupted.is_none()
            && let Err(error) = py.check_signals().and_then(|()| tick(py))
        {
            stop.store(true, Ordering::SeqCst);
            if after == After::Leave {
                return Err(error);
            }
            interrupted = Some(error);
        }
    }
}
