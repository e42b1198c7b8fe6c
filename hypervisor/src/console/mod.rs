//! The console of all VMs on one UART.
//!
//! Every VM writes into a ring of its own, the hypervisor into another; a
//! multiplexer moves bytes from the rings to the UART. A guest exit makes
//! [`BUDGET`] steps at most and waits neither for the UART nor for another VM:
//! what the UART does not take at once is sent by its transmit interrupt. A
//! VM whose ring is full is told so and waits alone; nothing is dropped.
//!
//! Two views, switched by [`ESCAPE`] (Ctrl-]) and a key:
//!
//! - *all*: whole lines, each behind the label of its source, harmless characters only
//!   (see [`abi::console::render`]): a VM cannot pass its output off as another's. Lines longer than a
//!   terminal is wide are wrapped by the terminal; only the first row has a label.
//! - *focus*: the raw output of one VM; lines of the others are counted, not shown. The hypervisor's
//!   messages are shown in every view.
//!
//! Locks: one per ring, one for the multiplexer. A ring's lock may be taken
//! under the multiplexer's, not the other way round. All methods must be called
//! with interrupts masked on the calling PCPU, and, because locks need
//! exclusive accesses, with the MMU on; before that, see [`crate::board::uart`].

mod emergency;
mod keys;
mod mux;
mod names;
mod ring;
mod sources;
mod staging;
#[cfg(test)]
mod tests;
mod uart;
mod user;

use core::fmt;
use core::sync::atomic::{AtomicBool, AtomicU8, Ordering, fence};

use spin::Once;

use crate::lock::{Mutex, MutexGuard};
use crate::vdev::pl011::Line;
use keys::Keys;
use mux::Mux;
use names::Names;
use sources::{SOURCES, Sources};

pub use abi::console::ESCAPE;
pub use abi::limits::{COUNT_MAX as MAX_VMS, NAME_MAX};
pub use ring::{LONG_LINE, RING_SIZE};
pub use uart::{Input, Uart, send_polled};

/// Most steps of one call, give or take a few: a step takes a byte from a ring or sends one.
pub const BUDGET: usize = 48;

/// Most bytes that one interrupt receives.
const RECEIVE_MAX: usize = 16;

/// Most bytes that one [`Console::write`] takes.
pub const WRITE_MAX: usize = 256;

/// A view of the terminal.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum View {
    /// Lines of all VMs, labelled.
    All,
    /// Raw output of one VM.
    Focus(usize),
}

/// The console. Made to be a `static`; usable before a UART is known.
pub struct Console<U> {
    sources: Sources,
    mux: Mutex<Mux>,
    uart: Once<U>,
    status: Mutex<[&'static str; MAX_VMS]>,
    keys: Mutex<Keys>,
    // The VM that gets the input.
    input: AtomicU8,
    // Interrupts of the UART are served: nobody sends by polling any more.
    live: AtomicBool,
    // The transmit interrupt is enabled and will send what there is.
    draining: AtomicBool,
    // A panic report is being written: nobody else uses the UART.
    emergency: AtomicBool,
}

impl<U: Uart> Console<U> {
    /// A console without UART and VMs.
    #[expect(clippy::new_without_default, reason = "made for statics")]
    pub const fn new() -> Self {
        Self {
            sources: Sources::new(),
            mux: Mutex::new(Mux::new()),
            uart: Once::new(),
            status: Mutex::new(["-"; MAX_VMS]),
            keys: Mutex::new(Keys::new()),
            input: AtomicU8::new(0),
            live: AtomicBool::new(false),
            draining: AtomicBool::new(false),
            emergency: AtomicBool::new(false),
        }
    }

    /// Connects the UART; the first one stays. Sends all earlier output.
    ///
    /// Until [`Console::go_live`], [`Console::print`] waits until all is sent.
    pub fn attach(&self, uart: U) {
        self.uart.call_once(|| uart);
        self.flush_all_blocking();
    }

    /// Names the VMs, in the order of the plan; once, before they write.
    ///
    /// The first [`MAX_VMS`] names are taken, and [`NAME_MAX`] bytes of each.
    pub fn set_vms<'a>(&self, names: impl IntoIterator<Item = &'a str>) {
        let names = Names::new(names);
        self.with_mux(|mux| mux.names = names);
    }

    /// Sets the word of the help about a VM, such as "running".
    pub fn set_status(&self, vm: usize, status: &'static str) {
        if let Some(place) = self.status.lock().get_mut(vm) {
            *place = status;
        }
    }

    /// From now on the UART's interrupts are served by [`Console::on_uart_interrupt`] on one
    /// PCPU, and no call but [`Console::flush_all_blocking`] waits for the UART.
    pub fn go_live(&self) {
        self.flush_all_blocking();
        if let Some(uart) = self.uart.get() {
            self.with_mux(|_| {
                self.live.store(true, Ordering::Relaxed);
                uart.set_interrupts(false);
            });
        }
    }

    /// Takes output of a VM: as much as there is room for, at most [`WRITE_MAX`]. Returns the
    /// number of bytes taken.
    ///
    /// If that is less than the length, [`Console::take_relieved`] tells when to go on.
    pub fn write(&self, vm: usize, bytes: &[u8]) -> usize {
        if vm >= MAX_VMS {
            return 0;
        }
        let (taken, ready) = self.sources.write(vm, &bytes[..bytes.len().min(WRITE_MAX)]);
        if ready {
            self.pump();
        }
        taken
    }

    /// Bytes that [`Console::write`] would take from `vm` now.
    pub fn space(&self, vm: usize) -> usize {
        if vm < MAX_VMS { self.sources.space(vm).min(WRITE_MAX) } else { 0 }
    }

    /// Address of the page that holds the output of a VM and nothing else. All of it is 0
    /// until the VM writes.
    pub fn page(&self, vm: usize) -> usize {
        self.sources.page(vm)
    }

    /// The console as the far end of a VM's virtual UART.
    pub fn line(&self, vm: usize) -> impl Line + '_ {
        VmLine { console: self, vm }
    }

    /// Prints lines of the hypervisor; a missing line end is added.
    ///
    /// A message that finds no room is dropped, and a line says how many were.
    /// Before [`Console::go_live`], once there is a UART, that takes a message longer than [`RING_SIZE`].
    #[inline(never)]
    pub fn print(&self, message: fmt::Arguments) {
        self.sources.print(message);
        if self.live.load(Ordering::Relaxed) {
            self.pump();
        } else {
            self.flush_all_blocking();
        }
    }

    /// Sends as many bytes as the UART takes at once, within the budget; the transmit interrupt does the rest.
    #[inline(never)]
    pub fn pump(&self) {
        if self.draining.load(Ordering::SeqCst) {
            return;
        }
        let Some(uart) = self.uart.get() else { return };
        // If this attempt fails, whoever has the lock sees what was marked ready
        // before: it looks again after letting go of it.
        fence(Ordering::SeqCst);
        if let Some(mux) = self.mux.try_lock() {
            self.send(mux, uart);
        }
    }

    // One copy of this, for writers, messages, interrupts and timers.
    #[inline(never)]
    fn send<'a>(&'a self, mut mux: MutexGuard<'a, Mux>, uart: &U) {
        let mut steps = BUDGET;
        loop {
            self.transmit(&mut mux, uart, &mut steps);
            drop(mux);
            fence(Ordering::SeqCst);
            let idle = self.draining.load(Ordering::SeqCst) || self.sources.ready() == 0;
            if idle || self.is_quiet() {
                return;
            }
            match self.mux.try_lock() {
                Some(again) => mux = again,
                None => return,
            }
        }
    }

    /// Does something else under the multiplexer's lock, then looks again, as every owner of it must.
    fn with_mux<T>(&self, change: impl FnOnce(&mut Mux) -> T) -> T {
        let result = change(&mut self.lock_mux());
        self.pump();
        result
    }

    /// Out of line: it is short, and there are many callers.
    #[inline(never)]
    fn lock_mux(&self) -> MutexGuard<'_, Mux> {
        self.mux.lock()
    }

    /// Returns true if nothing is sent in the usual way: not yet, or not any more.
    fn is_quiet(&self) -> bool {
        !self.live.load(Ordering::Relaxed) || self.emergency.load(Ordering::Relaxed)
    }

    /// Sends for at most `steps`, then sees to the transmit interrupt.
    fn transmit(&self, mux: &mut Mux, uart: &U, steps: &mut usize) {
        while *steps > 0 && !self.is_quiet() {
            if mux.staging.is_empty() {
                let taken = mux.refill(&self.sources);
                if taken == 0 {
                    break;
                }
                *steps = steps.saturating_sub(taken);
            } else if uart.can_send() {
                if let Some(byte) = mux.staging.pop() {
                    uart.send(byte);
                }
                *steps -= 1;
            } else {
                break;
            }
        }
        if self.is_quiet() {
            return;
        }
        // A writer marks its source ready, then reads `draining`; this is the other
        // order, so one of the two sees the other.
        self.draining.store(false, Ordering::SeqCst);
        let more = !mux.staging.is_empty() || mux.has_more(&self.sources);
        if more {
            self.draining.store(true, Ordering::SeqCst);
        }
        if more != mux.interrupt {
            mux.interrupt = more;
            uart.set_interrupts(more);
        }
    }

    /// Serves an interrupt of the UART, on the PCPU that serves the console.
    ///
    /// `receive` is called, under no lock of the console, with each byte typed and the VM it is for.
    /// It receives at most 16 bytes and sends within the budget; the interrupt stays pending
    /// while there is more.
    pub fn on_uart_interrupt(&self, mut receive: impl FnMut(usize, Input)) {
        let Some(uart) = self.uart.get() else { return };
        if self.emergency.load(Ordering::Relaxed) {
            // Nobody sends any more: the interrupt would stay pending for ever.
            return uart.set_interrupts(false);
        }
        for _ in 0..RECEIVE_MAX {
            let Some(input) = uart.receive() else { break };
            if let Some((vm, byte)) = self.press(input.byte) {
                receive(vm, Input { byte, ..input });
            }
        }
        self.send(self.mux.lock(), uart);
    }

    /// The VMs whose output was refused and that may write again, as bits.
    ///
    /// Each is told once. To be asked after every call that may send: their virtual UARTs need
    /// [`Pl011::line_ready`](crate::vdev::pl011::Pl011::line_ready).
    pub fn take_relieved(&self) -> u8 {
        self.sources.take_relieved()
    }

    /// Returns true if there may be an incomplete line that [`Console::flush_idle`] should look after.
    pub fn has_partial_lines(&self) -> bool {
        self.sources.has_partial()
    }

    /// Shows incomplete lines, such as prompts, that have not grown for `idle` ticks.
    ///
    /// Returns the time at which to call again if some are younger. A line's age is counted
    /// from the first call that sees it.
    pub fn flush_idle(&self, now: u64, idle: u64) -> Option<u64> {
        self.with_mux(|mux| mux.show_idle(&self.sources, now, idle))
    }

    /// Sends all there is, incomplete lines too, and waits for the UART: for boot and power-off.
    ///
    /// Ends, even if VMs go on writing or the UART is dead.
    pub fn flush_all_blocking(&self) {
        let Some(uart) = self.uart.get() else { return };
        self.with_mux(|mux| {
            mux.show_all(&self.sources);
            // More than all rings can become, were every byte shown as four.
            for _ in 0..SOURCES * RING_SIZE * 8 {
                match mux.staging.pop() {
                    Some(_) if self.emergency.load(Ordering::Relaxed) => return,
                    Some(byte) if !send_polled(uart, byte) => return,
                    Some(_) => {}
                    None if mux.refill(&self.sources) > 0 => {}
                    None => return,
                }
            }
        });
    }
}

/// A VM's line to the console.
struct VmLine<'a, U> {
    console: &'a Console<U>,
    vm: usize,
}

impl<U: Uart> Line for VmLine<'_, U> {
    fn send(&mut self, byte: u8) -> bool {
        self.console.write(self.vm, &[byte]) == 1
    }
}
