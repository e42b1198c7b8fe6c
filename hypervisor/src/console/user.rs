//! Requests of the person at the terminal.

use core::fmt;
use core::sync::atomic::Ordering;

use super::keys::Action;
use super::names::Names;
use super::{Console, MAX_VMS, Uart, View};

impl<U: Uart> Console<U> {
    /// Returns the current view of the terminal.
    pub fn view(&self) -> View {
        self.with_mux(|mux| mux.view())
    }

    /// Changes the view of the terminal. A view of a VM that does not exist changes nothing.
    ///
    /// A VM in focus also gets the input, and keeps it in the view of all VMs.
    pub fn set_view(&self, view: View) {
        let names = self.names();
        let count = names.count();
        if let View::Focus(vm) = view {
            if vm >= count {
                return self
                    .print(format_args!("console: there is no VM {vm}, the VMs are 0..{count}"));
            }
            self.input.store(vm as u8, Ordering::Relaxed);
        }
        let hidden = self.with_mux(|mux| mux.set_view(view, &self.sources));
        if hidden > 0 {
            self.print(format_args!("{hidden} lines of other VMs not shown"));
        }
        match view {
            View::All => self.print(format_args!(
                "console: all VMs, input goes to {}; Ctrl-] ? for help",
                names.name(self.input_vm())
            )),
            View::Focus(vm) => self.print(format_args!(
                "console: {}; Ctrl-] a for all VMs, Ctrl-] ? for help",
                names.name(vm)
            )),
        }
    }

    /// The VM that gets the input.
    pub fn input_vm(&self) -> usize {
        usize::from(self.input.load(Ordering::Relaxed))
    }

    fn names(&self) -> Names {
        self.with_mux(|mux| mux.names)
    }

    /// Takes a key; returns the byte that a VM gets, and which.
    pub(super) fn press(&self, key: u8) -> Option<(usize, u8)> {
        let action = self.keys.lock().press(key);
        let count = self.names().count();
        match action {
            Action::Wait => {}
            Action::Input(byte) if count > 0 => return Some((self.input_vm(), byte)),
            Action::Send(vm, byte) if vm < count => return Some((vm, byte)),
            Action::Input(_) | Action::Send(..) => {}
            Action::All => self.set_view(View::All),
            Action::Focus(vm) => self.set_view(View::Focus(vm)),
            Action::Next => self.set_view(View::Focus(match self.view() {
                View::All => self.input_vm(),
                View::Focus(vm) if vm + 1 < count => vm + 1,
                View::Focus(_) => 0,
            })),
            Action::Help => {
                let help = Help {
                    names: self.names(),
                    status: *self.status.lock(),
                    input: self.input_vm(),
                };
                self.print(format_args!("{help}"));
            }
            Action::Quit => self.print(format_args!(
                "console: Ctrl-] q leaves the `bulkhead` tool; it has no meaning on a serial line"
            )),
            Action::Unknown => self.print(format_args!("console: no such key; Ctrl-] ? for help")),
        }
        None
    }
}

/// The content of the help, copied: it is formatted under the lock of a ring.
struct Help {
    names: Names,
    status: [&'static str; MAX_VMS],
    input: usize,
}

impl fmt::Display for Help {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Self { names, status, input } = self;
        writeln!(f, "Ctrl-] a       lines of all VMs; input goes to {}", names.name(*input))?;
        f.write_str("Ctrl-] 0..7    one VM alone: its output as it is, and the input\n")?;
        f.write_str("Ctrl-] n       the next VM alone\n")?;
        f.write_str("Ctrl-] Ctrl-]  sends Ctrl-] to the VM\n")?;
        f.write_str("Ctrl-] q       leaves the `bulkhead` tool\n")?;
        for (vm, status) in status.iter().enumerate().take(names.count()) {
            let mark = if vm == *input { ", input" } else { "" };
            writeln!(f, "VM {vm}  {:#}  {status}{mark}", names.name(vm))?;
        }
        Ok(())
    }
}
