//! A VCPU, which runs in the thread that calls.

use abi::kvm::{
    ARGUMENT_WORD, CLOCK_WORD, Call, GRANTS_WORD, MARKS_MAX, MARKS_OFFSET, MARKS_READ_WORD,
    MARKS_WORD, PORT, SECOND_WORD, SERVERS_START_WORD, TEXT_MAX, TEXT_OFFSET, THIRD_WORD,
};
use kvm_ioctls::{VcpuExit, VcpuFd};

use crate::clock::Scale;
use crate::error::Error;
use crate::linux;
use crate::real_time::RealTime;
use crate::sys::{self, memory::Memory};

/// The reason why a VCPU stopped.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Exit {
    /// The guest calls.
    Call(Call),
    /// An alarm or a kick came.
    Signal,
    /// A Linux shows text: [`Vcpu::take_text`].
    Text,
    /// A Linux waits for an interrupt, which comes at this time; the largest one: never.
    Idle(u64),
    /// [`Vcpu::next_interrupt`] is earlier than before.
    Timer,
    /// The guest writes to a page that is hidden while it moves ([`Movable::move_page`](crate::Movable::move_page)), or accesses
    /// memory that Linux does not let this process use. When it executes next, it tries again.
    Hidden,
    /// A Linux has switched its CPU off.
    Off,
    /// A Linux has reset its machine.
    Reset,
    /// The guest cannot go on: the reason, as the console shows it.
    Fault(&'static str),
}

/// A VCPU.
#[derive(Debug)]
pub struct Vcpu {
    // Closed before the memory goes, which KVM uses.
    fd: VcpuFd,
    _tables: Memory,
    ram: Memory,
    /// Offset of its block in RAM.
    block: u64,
    marks_read: u64,
    /// The value of the counter in the clock that the guest has.
    counter: u64,
    /// The number that the guest sees in [`GRANTS_WORD`], unless it has written there itself.
    grants: u64,
    /// The machine of a Linux, which has no block.
    linux: Option<Box<linux::Machine>>,
}

impl Vcpu {
    pub(crate) fn new(fd: VcpuFd, tables: Memory, ram: Memory, block: u64) -> Self {
        Self { fd, _tables: tables, ram, block, marks_read: 0, counter: 0, grants: 0, linux: None }
    }

    /// Makes the VCPU of a Linux.
    pub(crate) fn linux(fd: VcpuFd, tables: Memory, ram: Memory) -> Self {
        Self { linux: Some(Box::default()), ..Self::new(fd, tables, ram, 0) }
    }

    /// Lets alarms and kicks of this thread end [`Vcpu::run`]. Call it in the thread that runs the VCPU.
    pub fn attach(&self, thread: &RealTime) -> Result<(), Error> {
        sys::thread::let_signal_end(&self.fd, thread.signal())
            .map_err(Error::io("KVM does not let signals stop a VCPU"))
    }

    /// Lets the guest see the time at which the first period of all servers starts. It comes before the first run.
    pub fn set_servers_start(&self, time: u64) {
        if self.linux.is_none() {
            self.set_word(SERVERS_START_WORD, time);
        }
    }

    /// Returns the time at which the VCPU, if it executes then, has to stop so that [`Vcpu::run`] can interrupt it.
    pub fn next_interrupt(&mut self) -> Option<u64> {
        self.linux.as_mut()?.next_interrupt()
    }

    /// Puts the text of [`Exit::Text`] into an empty buffer, which needs no more room than [`TEXT_MAX`].
    pub fn take_text(&mut self, text: &mut Vec<u8>) {
        if let Some(linux) = &mut self.linux {
            linux.take_text(text);
        }
    }

    /// Runs the VCPU until something happens. `scale`: the speed of the guest's clock.
    pub fn run(&mut self, scale: Scale) -> Exit {
        if let Some(linux) = &mut self.linux {
            return linux.run(&mut self.fd);
        }
        if let Some(clock) = scale.renewed(self.counter) {
            self.counter = clock[0];
            for (number, value) in clock.into_iter().enumerate() {
                self.set_word(CLOCK_WORD + number, value);
            }
        }
        match self.fd.run() {
            Ok(VcpuExit::IoOut(PORT, &[a, b, c, d])) => {
                match Call::from_number(u32::from_le_bytes([a, b, c, d])) {
                    Some(call) => Exit::Call(call),
                    None => Exit::Fault("unknown-call"),
                }
            }
            Ok(VcpuExit::IoOut(..) | VcpuExit::IoIn(..)) => Exit::Fault("unknown-port"),
            Ok(VcpuExit::MmioRead(..) | VcpuExit::MmioWrite(..)) => Exit::Fault("memory-abort"),
            // No handler: any exception ends so.
            Ok(VcpuExit::Shutdown) => Exit::Fault("exception"),
            Ok(VcpuExit::Intr) => Exit::Signal,
            Err(error) if [libc::EINTR, libc::EAGAIN].contains(&error.errno()) => Exit::Signal,
            Ok(VcpuExit::MemoryFault { .. }) => Exit::Hidden,
            Err(error) if error.errno() == libc::EFAULT => Exit::Hidden,
            Ok(_) => Exit::Fault("unknown-exit"),
            Err(_) => Exit::Fault("kvm-error"),
        }
    }

    /// Returns the address of the page tables of the guest; 0 if KVM does not tell it.
    pub fn address_space(&self) -> u64 {
        self.fd.get_sregs().map_or(0, |registers| registers.cr3)
    }

    /// Returns the number of times that the guest stopped executing in the last [`Vcpu::run`]: a Linux also stops for its devices.
    pub fn take_exits(&mut self) -> u64 {
        self.linux.as_mut().map_or(1, |linux| linux.take_exits())
    }

    /// Returns the argument of a call.
    pub fn argument(&self) -> u64 {
        self.word(ARGUMENT_WORD)
    }

    /// Returns both arguments of a call.
    pub fn arguments(&self) -> [u64; 2] {
        [self.argument(), self.word(SECOND_WORD)]
    }

    /// Returns the colours for which a guest asks ([`Call::Colors`]), the first address, and the number of bytes.
    pub fn colors_asked(&self) -> [u64; 3] {
        [self.argument(), self.word(SECOND_WORD), self.word(THIRD_WORD)]
    }

    /// Lets the guest see the result of its call.
    pub fn answer_one(&self, result: u64) {
        self.set_word(ARGUMENT_WORD, result);
    }

    /// Lets the guest see both results of its call.
    pub fn answer(&self, [first, second]: [u64; 2]) {
        self.set_word(ARGUMENT_WORD, first);
        self.set_word(SECOND_WORD, second);
    }

    /// Lets the guest see that a task of it got a resource for which it waited.
    pub fn tell_grant(&mut self) {
        self.grants = self.grants.wrapping_add(1);
        self.set_word(GRANTS_WORD, self.grants);
    }

    /// Returns true if the guest, which waits, has seen all that [`Vcpu::tell_grant`] told.
    pub fn knows_grants(&self) -> bool {
        self.word(SECOND_WORD) == self.grants
    }

    /// Puts the text of [`Call::Console`] into a buffer, which needs no more room than [`TEXT_MAX`].
    pub fn read_text(&self, text: &mut Vec<u8>) {
        text.resize(self.argument().min(TEXT_MAX) as usize, 0);
        self.ram.read(self.block + TEXT_OFFSET, text);
    }

    /// Lets the guest see that its text was not taken.
    pub fn refuse_text(&self) {
        self.set_word(ARGUMENT_WORD, 0);
    }

    /// Takes the marks that the guest has written, with their times. Returns how many were overwritten before they could be
    /// read.
    pub fn take_marks(&mut self, mut take: impl FnMut(u64, u64)) -> u64 {
        if self.linux.is_some() {
            return 0;
        }
        let written = self.word(MARKS_WORD);
        let first = self.marks_read.max(written.saturating_sub(MARKS_MAX)).min(written);
        let lost = first.saturating_sub(self.marks_read);
        for number in first..written {
            let offset = self.block + MARKS_OFFSET + number % MARKS_MAX * 16;
            take(self.ram.word(offset), self.ram.word(offset + 8));
        }
        if self.marks_read != written {
            self.marks_read = written;
            self.set_word(MARKS_READ_WORD, written);
        }
        lost
    }

    fn word(&self, number: usize) -> u64 {
        self.ram.word(self.block + number as u64 * 8)
    }

    fn set_word(&self, number: usize, value: u64) {
        self.ram.set_word(self.block + number as u64 * 8, value);
    }
}
