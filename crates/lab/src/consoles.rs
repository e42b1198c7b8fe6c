//! Consoles of VMs on Unix sockets: a client sees one VM, and its bytes are typed there.
//!
//! The thread that runs the machine gives output to [`Consoles::show`], which never waits for a client: it writes what
//! a socket takes at once. A thread of this module accepts clients, reads from them and sends what is left.

mod clients;
mod sockets;
mod split;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use qemu::Input;

use crate::failure::Failure;
use clients::Clients;
use sockets::Sockets;
use split::Split;

pub use clients::{BACKLOG_BYTES, CLIENTS_MAX, HISTORY_BYTES};

/// Sockets for the consoles of all VMs, which are removed with this value.
#[derive(Debug)]
pub struct Consoles {
    split: Split,
    shared: Arc<Shared>,
    server: Option<JoinHandle<()>>,
    /// Dropped last, when nobody accepts clients any more.
    _sockets: Sockets,
}

/// The state that both threads use.
#[derive(Debug)]
struct Shared {
    clients: Mutex<Clients>,
    ended: AtomicBool,
}

impl Shared {
    /// Nobody waits while holding this.
    fn clients(&self) -> MutexGuard<'_, Clients> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Consoles {
    /// Makes `folder` if it is missing, with a socket `NAME.sock` for each of `names`, the VMs of the plan.
    ///
    /// # Errors
    ///
    /// A name in the folder belongs to something else or to a run that goes on, or the folder is not fit for sockets.
    pub fn open(folder: &Path, names: &[&str]) -> Result<Self, Failure> {
        let (sockets, listeners) = Sockets::make(folder, names)?;
        let shared = Arc::new(Shared {
            clients: Mutex::new(Clients::new(names.len())),
            ended: AtomicBool::new(false),
        });
        let of_server = Arc::clone(&shared);
        let server = thread::spawn(move || {
            while !of_server.ended.load(Ordering::SeqCst) {
                clients::serve(&listeners, || of_server.clients());
            }
        });
        let split = Split::new(names.iter().map(|&name| name.to_owned()));
        Ok(Self { split, shared, server: Some(server), _sockets: sockets })
    }

    /// Shows a piece of the machine's console to the clients of the VMs that wrote it.
    pub fn show(&mut self, bytes: &[u8]) {
        let mut clients = self.shared.clients();
        for (vm, text) in self.split.feed(bytes) {
            clients.show(vm, &text);
        }
    }

    /// The machine listens: clients are read from now on. Does nothing the second time.
    pub fn listen(&self, input: impl FnOnce() -> Input) {
        self.shared.clients().listen(input);
    }
}

impl Drop for Consoles {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::SeqCst);
        if let Some(server) = self.server.take() {
            // It ends within a turn.
            let _ = server.join();
        }
    }
}
