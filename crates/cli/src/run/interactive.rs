//! The keyboard, connected to one VM.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use abi::console::{ALL, ESCAPE, FOCUS_FIRST};
use qemu::Input;

use super::keys::{Keys, Pressed};
use super::terminal::RawTerminal;

/// Connects the standard input with the console of a VM.
#[derive(Debug)]
pub struct Interactive {
    _terminal: Option<RawTerminal>,
    vm: usize,
    input: Input,
    among_all: bool,
    open: bool,
    left: Arc<AtomicBool>,
}

impl Interactive {
    /// Prepares the terminal; keys wait until [`Interactive::open`]. With `among_all`, all VMs stay in sight.
    pub fn new(vm: usize, input: Input, among_all: bool) -> io::Result<Self> {
        let left = Arc::new(AtomicBool::new(false));
        Ok(Self { _terminal: RawTerminal::new()?, vm, input, among_all, open: false, left })
    }

    /// Gives the input to the VM, brings it to the front, and passes keys on. Does nothing the second time.
    pub fn open(&mut self) {
        if std::mem::replace(&mut self.open, true) {
            return;
        }
        let keys = [ESCAPE, FOCUS_FIRST + self.vm as u8, ESCAPE, ALL];
        self.input.send(if self.among_all { &keys } else { &keys[..2] });
        let (input, left) = (self.input.clone(), Arc::clone(&self.left));
        // Not joined: it may wait for a key for ever, and ends with the process.
        thread::spawn(move || pass_on(&input, &left));
    }

    /// Returns true if the user has left.
    pub fn left(&self) -> bool {
        self.left.load(Ordering::SeqCst)
    }
}

fn pass_on(input: &Input, left: &AtomicBool) {
    let mut keys = Keys::default();
    let mut buffer = [0; 256];
    while let Ok(count @ 1..) = io::stdin().lock().read(&mut buffer) {
        match keys.press(&buffer[..count]) {
            Pressed::Pass(bytes) => input.send(&bytes),
            Pressed::Leave => return left.store(true, Ordering::SeqCst),
        }
    }
}
