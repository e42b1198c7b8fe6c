//! Signals that end a run in good order.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use lab::Watch;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// Remembers the last signal; terminal, QEMU and files are then cleaned up by
/// the ordinary way out.
#[derive(Debug)]
pub struct Signals(Arc<AtomicUsize>);

impl Signals {
    /// From now on SIGINT, SIGTERM and SIGHUP do not kill this process.
    pub fn catch() -> io::Result<Self> {
        let caught = Arc::new(AtomicUsize::new(0));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register_usize(signal, Arc::clone(&caught), signal as usize)?;
        }
        Ok(Self(caught))
    }

    /// The same, but a second signal ends this process at once.
    pub fn catch_first() -> io::Result<Self> {
        let armed = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let status = 128 + signal;
            signal_hook::flag::register_conditional_shutdown(signal, status, Arc::clone(&armed))?;
            signal_hook::flag::register(signal, Arc::clone(&armed))?;
        }
        Self::catch()
    }

    /// Counts Ctrl-C that came as a key.
    pub fn interrupt(&self) {
        self.0.store(SIGINT as usize, Ordering::SeqCst);
    }

    /// The signal that came last, if one came.
    pub fn caught(&self) -> Option<i32> {
        match self.0.load(Ordering::SeqCst) {
            0 => None,
            signal => i32::try_from(signal).ok(),
        }
    }
}

impl Watch for Signals {
    fn stops(&self) -> bool {
        self.caught().is_some()
    }
}
