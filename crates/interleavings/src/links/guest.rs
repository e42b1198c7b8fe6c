//! Drivers of network cards, and the work of VCPUs of a VM for them.

use std::cell::Cell;

use shuttle::sync::atomic::{AtomicBool, Ordering::SeqCst};

use crate::arch::memory::{Bytes, GuestMemory};
use crate::machine;
use crate::pcpu::{Assignment, Pcpu};
use crate::plan::{LinkEnd, Range};
use crate::vm::link::{self, Links, Served};
use crate::vm::{ContextSlot, Gic, Ports, Vcpu, Vm};
use policy::channel::Parameters;
use policy::time::Duration;

/// RAM of a guest: a page for each ring, with its buffer, and two pages more for other rings.
const RAM: u64 = 0x4000_0000;
const PAGE: u64 = 0x1000;
/// Address of the card of a link.
const CARDS: u64 = 0x0a04_0000;
/// Descriptors of a ring, and where its parts are in its page.
const SIZE: u16 = 4;
const AVAILABLE: u64 = 0x100;
const USED: u64 = 0x200;
const BUFFER: u64 = 0x300;
/// Bytes of a frame with both headers.
const FRAME: u32 = 26;

// Registers of the card.
const NOTIFY: u64 = 0x50;
const STATUS: u64 = 0x70;
const CONFIG: u64 = 0x100;
/// Status of a card whose driver works, and bit of the card if a ring is wrong.
pub const RUNS: u64 = 15;
pub const NEEDS_RESET: u64 = 64;

std::thread_local! {
    /// A word that is read when a VCPU finds that somebody else is where it wants to be, and its value the first time. Shuttle
    /// has one thread for all of its own.
    static WATCHED: Cell<Option<(GuestMemory, u64)>> = const { Cell::new(None) };
    static SEEN: Cell<Option<u16>> = const { Cell::new(None) };
}

/// A VCPU finds that somebody else is there.
pub fn busy() {
    if let (Some((memory, at)), None) = (WATCHED.get(), SEEN.get()) {
        SEEN.set(Some(memory.u16_at(at)));
    }
}

fn keep<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

/// Makes VMs; `links`: which two have a link.
pub fn vms(count: usize, links: &[[usize; 2]]) {
    let mut ends: Vec<Vec<LinkEnd>> = vec![Vec::new(); count];
    for (number, &[one, other]) in links.iter().enumerate() {
        let at = [one, other].map(|vm| (vm, ends[vm].len()));
        let macs = [0, 1].map(|side| [2, 0, 0, 0, number as u8, side]);
        for side in 0..2 {
            let (own, place) = at[side];
            let parameters =
                Parameters { tokens: 1 << 20, period: Duration(1 << 20), burst: 1 << 20 };
            ends[own].push(LinkEnd {
                side,
                registers: Range { start: CARDS + PAGE * place as u64, bytes: PAGE },
                interrupt: 40,
                peer: at[1 - side],
                macs: [macs[side], macs[1 - side]],
                limit: parameters,
                tells: Parameters { tokens: 1, period: Duration(1), burst: 64 },
            });
        }
    }
    let vms = ends.iter().enumerate().map(|(index, ends)| {
        let bytes = Bytes::default();
        bytes.data.lock().unwrap().resize(8 * PAGE as usize, 0);
        let range = Range { start: RAM, bytes: 8 * PAGE };
        let memory = vec![(range, GuestMemory(keep(bytes)))];
        let (gic, called) = (Gic(AtomicBool::new(false)), AtomicBool::new(false));
        &*keep(Vm { index, links: Links::new(ends), ports: Ports, memory, gic, called })
    });
    machine::publish(keep(vms.collect::<Vec<_>>()));
}

/// A VCPU of a VM, and the driver of one of the VM's cards.
pub struct Driver {
    at: Assignment,
    pcpu: &'static Pcpu,
    link: usize,
}

impl Driver {
    pub fn of(vm: usize, link: usize) -> Self {
        let at = Assignment { vm: machine::vms()[vm], vcpu: Vcpu { context: ContextSlot } };
        Self { at, pcpu: keep(Pcpu), link }
    }

    fn memory(&self) -> GuestMemory {
        self.at.vm.memory[0].1
    }

    /// The guest writes into its RAM: it notices no other thread.
    fn set(&self, offset: u64, data: &[u8]) {
        let mut bytes = self.memory().0.data.lock().unwrap();
        bytes[offset as usize..][..data.len()].copy_from_slice(data);
    }

    /// Makes a ring in a page: every place of it is the same buffer.
    fn ring(&self, page: u64, flags: u16, available: u16) {
        let start = page * PAGE;
        let mut descriptor = [0; 16];
        descriptor[..8].copy_from_slice(&(RAM + start + BUFFER).to_le_bytes());
        descriptor[8..12].copy_from_slice(&FRAME.to_le_bytes());
        descriptor[12..14].copy_from_slice(&flags.to_le_bytes());
        self.set(start, &descriptor);
        self.set(start + AVAILABLE, &[0; 4 + 2 * SIZE as usize]);
        self.set(start + USED, &[0; 4]);
        self.offer(page, available);
        let mut frame = [0; FRAME as usize];
        frame[12..18].fill(0xff);
        for (at, byte) in frame[18..24].iter_mut().enumerate() {
            *byte = self.load(CONFIG + at as u64, 1) as u8;
        }
        self.set(start + BUFFER, &frame);
    }

    /// So many chains of the ring are available.
    pub fn offer(&self, page: u64, available: u16) {
        self.set(page * PAGE + AVAILABLE + 2, &available.to_le_bytes());
    }

    /// Returns how many chains were returned.
    pub fn returned(&self, page: u64) -> u16 {
        self.memory().u16_at(page * PAGE + USED + 2)
    }

    /// From now on nobody may write there.
    pub fn seal(&self, page: u64) {
        self.memory().0.sealed.lock().unwrap().push(page);
    }

    fn access(&self, offset: u64, bytes: u64, write: Option<u64>) -> Served {
        let ipa = CARDS + PAGE * self.link as u64 + offset;
        link::access(&self.at, ipa, bytes, write).expect("there is a card")
    }

    /// A load that is tried again until the card takes it.
    fn load(&self, offset: u64, bytes: u64) -> u64 {
        loop {
            if let Served::Value(value) = self.access(offset, bytes, None) {
                return value;
            }
        }
    }

    /// A store that is tried again until the card takes it.
    fn store(&self, offset: u64, value: u64) {
        loop {
            match self.access(offset, 4, Some(value)) {
                Served::Busy => {}
                Served::Transmit(mut sending) => {
                    while !link::send(&mut sending, &self.at, self.pcpu) {}
                    return;
                }
                _ => return,
            }
        }
    }

    /// Lets the card use two rings, in these pages, of which this number of places is available.
    pub fn start(&self, [receive, transmit]: [u64; 2], available: [u16; 2]) {
        self.ring(receive, 2, available[0]);
        self.ring(transmit, 0, available[1]);
        let set = |offset, value| self.store(offset, value);
        [0, 1, 3].into_iter().for_each(|status| set(STATUS, status));
        for (half, features) in [(0, 1 << 5), (1, 1)] {
            set(0x24, half);
            set(0x20, features);
        }
        set(STATUS, 11);
        for (number, page) in [receive, transmit].into_iter().enumerate() {
            set(0x30, number as u64);
            set(0x38, SIZE.into());
            for (register, part) in [(0x80, 0), (0x90, AVAILABLE), (0xa0, USED)] {
                set(register, RAM + page * PAGE + part);
            }
            set(0x44, 1);
        }
        set(STATUS, RUNS);
    }

    /// Resets the card. Returns how many chains of the ring in this page were returned when the card did not take that the first time.
    pub fn reset(&self, page: u64) -> Option<u16> {
        let at = (self.memory(), page * PAGE + USED + 2);
        WATCHED.set(Some(at));
        self.store(STATUS, 0);
        WATCHED.set(None);
        SEEN.take()
    }

    pub fn status(&self) -> u64 {
        self.load(STATUS, 4)
    }

    /// Sends what is available.
    pub fn send(&self) {
        self.store(NOTIFY, 1);
    }

    /// A VCPU looks for what was told, if one was called.
    pub fn attend(&self) {
        while self.at.vm.called.swap(false, SeqCst) {
            link::attend(&self.at, self.pcpu);
        }
    }

    /// The VM stops, and its RAM is reset.
    pub fn restart(&self) {
        link::reset(self.at.vm);
        (0..8).for_each(|page| self.seal(page));
    }
}
