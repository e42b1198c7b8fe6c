//! Runs the VCPU, and the devices for it.

use kvm_ioctls::{VcpuExit, VcpuFd};

use super::board::Board;
use crate::clock::now;
use crate::sys;
use crate::vcpu::Exit;

/// The machine around the VCPU.
#[derive(Debug)]
pub struct Machine {
    board: Board,
    /// The VCPU has executed `hlt`, and waits for an interrupt.
    halted: bool,
    /// It has ended so: only its text is still to be shown.
    end: Option<Exit>,
    /// The time of the next interrupt that is known outside.
    known: u64,
    /// Number of times that it stopped executing, since they were taken.
    exits: u64,
}

impl Default for Machine {
    fn default() -> Self {
        Self { board: Board::default(), halted: false, end: None, known: u64::MAX, exits: 0 }
    }
}

impl Machine {
    /// Returns the time at which the VCPU has to stop for an interrupt of its timer, if there is such a time. An interrupt that
    /// has come already needs none.
    pub fn next_interrupt(&mut self) -> Option<u64> {
        self.board.look(now());
        let next = self.board.next_interrupt();
        self.known = next.unwrap_or(u64::MAX);
        next
    }

    /// Moves the text into a buffer.
    pub fn take_text(&mut self, text: &mut Vec<u8>) {
        self.board.serial.take_text(text);
    }

    /// Takes the number of times that the VCPU stopped executing.
    pub fn take_exits(&mut self) -> u64 {
        std::mem::take(&mut self.exits)
    }

    /// Runs the VCPU until something happens that concerns others.
    pub fn run(&mut self, vcpu: &mut VcpuFd) -> Exit {
        loop {
            if let Some(exit) = self.before(vcpu) {
                return exit;
            }
            if let Some(exit) = self.execute(vcpu) {
                match exit {
                    Exit::Signal | Exit::Timer => return exit,
                    // Its last text comes first.
                    end => self.end = Some(end),
                }
            }
        }
    }

    /// Does what is to be done before the VCPU executes. Returns the reason if it does not.
    fn before(&mut self, vcpu: &mut VcpuFd) -> Option<Exit> {
        let ends = self.end.is_some();
        self.board.look(now());
        let interrupts = self.board.interrupts.is_pending();
        let stops = ends || self.halted && !interrupts;
        let serial = &self.board.serial;
        if serial.is_complete() || stops && serial.has_text() {
            return Some(Exit::Text);
        }
        if ends {
            return self.end;
        }
        if self.halted && !interrupts {
            return Some(Exit::Idle(self.next_interrupt().unwrap_or(u64::MAX)));
        }
        self.halted = false;
        self.interrupt(vcpu, interrupts).err()
    }

    /// Lets the VCPU take an interrupt, or stop when it can take one.
    fn interrupt(&mut self, vcpu: &mut VcpuFd, is_pending: bool) -> Result<(), Exit> {
        let is_ready = vcpu.get_kvm_run().ready_for_interrupt_injection != 0;
        if is_pending
            && is_ready
            && let Some(vector) = self.board.interrupts.acknowledge()
        {
            sys::interrupt(vcpu, vector).map_err(|_| Exit::Fault("kvm-error"))?;
        }
        let window = self.board.interrupts.is_pending();
        vcpu.get_kvm_run().request_interrupt_window = window.into();
        Ok(())
    }

    /// Lets the VCPU execute until it stops. Returns the reason if it concerns others.
    fn execute(&mut self, vcpu: &mut VcpuFd) -> Option<Exit> {
        self.exits += 1;
        match vcpu.run() {
            Ok(VcpuExit::IoOut(port, bytes)) => {
                let now = now();
                // All bytes: an instruction may write a string.
                for byte in bytes {
                    if self.board.write(port, *byte, now) {
                        return Some(Exit::Reset);
                    }
                }
                let next = self.board.next_interrupt().unwrap_or(u64::MAX);
                (next < self.known).then_some(Exit::Timer)
            }
            Ok(VcpuExit::IoIn(port, bytes)) => {
                let now = now();
                bytes.iter_mut().for_each(|byte| *byte = self.board.read(port, now));
                None
            }
            // Nothing is there.
            Ok(VcpuExit::MmioRead(_, bytes)) => {
                bytes.fill(0xff);
                None
            }
            Ok(VcpuExit::MmioWrite(..) | VcpuExit::IrqWindowOpen | VcpuExit::SetTpr) => None,
            Ok(VcpuExit::Hlt) => {
                self.halted = true;
                // Nothing wakes it: this is how a PC without ACPI ends.
                (vcpu.get_kvm_run().if_flag == 0).then_some(Exit::Off)
            }
            // An exception within exceptions.
            Ok(VcpuExit::Shutdown) => Some(Exit::Reset),
            Ok(VcpuExit::Intr) => Some(Exit::Signal),
            Err(error) if [libc::EINTR, libc::EAGAIN].contains(&error.errno()) => {
                Some(Exit::Signal)
            }
            Ok(_) => Some(Exit::Fault("unknown-exit")),
            Err(_) => Some(Exit::Fault("kvm-error")),
        }
    }
}
