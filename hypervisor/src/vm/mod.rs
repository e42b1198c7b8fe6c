//! Virtual machines: the parts of each, and its start, stop and restart.

mod audit;
pub mod bell;
mod build;
pub mod color_serial;
mod coloring;
mod gic_env;
mod inject;
mod lifecycle;
pub mod link;
mod load;
pub mod port;
mod psci;
mod report;
mod stolen_time;
mod virtual_timer;
pub mod work;

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

pub use build::build;
pub use gic_env::GicEnv;
pub use inject::{abort, undefined};
pub use lifecycle::Crash;
pub use psci::{LAST as PSCI_LAST, call as psci};
pub use virtual_timer::{VIRTUAL_TIMER, VirtualTimer};

use policy::bandwidth::Pool;
use policy::time::Instant;

use crate::arch::context::ContextSlot;
use crate::arch::gic::SavedLists;
use crate::arch::memory::{Frame, GuestMemory};
use crate::arch::page_table::PAGE_BYTES;
use crate::arch::percpu::StaticRef;
use crate::arch::stage2::Stage2;
use crate::lock::Mutex;
use crate::locks::Sections;
use crate::pcpu::Pcpu;
use crate::plan;
use crate::timer::NEVER;
use crate::vdev::color_serial::ColorSerial;
use crate::vdev::gic::{Attention, VGic};
use crate::vdev::pl011::Pl011;
use coloring::Coloring;
use lifecycle::Lifecycle;
use stolen_time::{StolenTime, TimePage};
use work::WorkSlot;

/// A virtual machine. It is made at boot and lives until power-off.
pub struct Vm {
    /// Index in the plan.
    pub index: usize,
    /// Its part of the plan.
    pub plan: plan::Vm<'static>,
    /// Its VCPUs.
    pub vcpus: Vec<Vcpu>,
    /// Its interrupt controller.
    pub gic: VGic,
    /// Its UART, if it has one.
    pub uart: Option<Box<Mutex<Pl011>>>,
    /// The UART on which it asks for colours, if it has one.
    color_serial: Option<Box<Mutex<ColorSerial>>>,
    stage2: Stage2,
    /// The page on which its VCPUs read how much time was stolen from them, if they share PCPUs.
    time: Option<TimePage>,
    memory: Vec<(plan::Range, GuestMemory)>,
    images: Vec<(u64, &'static [u8])>,
    coloring: Option<Box<Mutex<Coloring>>>,
    /// The accesses that its VCPUs may make together, if they are limited.
    pub pool: StaticRef<Mutex<Pool>>,
    lifecycle: Mutex<Lifecycle>,
    /// True if its UART had to wait for the console and may continue.
    pub relieved: AtomicBool,
    /// True if somebody rang for a channel that it reads, and no VCPU has taken the interrupt.
    pub rung: AtomicBool,
    /// The channels for which it may ring.
    rings: Vec<bell::Rings>,
    /// Its ends of serial lines.
    pub ports: port::Ports,
    /// Its ends of links.
    pub links: link::Links,
    /// True if it has an end of a serial line or of a link.
    has_ends: bool,
    /// True while the VM must not run guest code: every CPU parks its VCPU.
    stopping: AtomicBool,
}

/// The power state of a VCPU.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(u8)]
pub enum Power {
    /// Off, as PSCI defines it.
    Off = 0,
    /// Told to start; its CPU has not started it yet.
    Starting = 1,
    /// Running.
    On = 2,
}

/// A virtual CPU.
pub struct Vcpu {
    /// Index in its VM.
    pub index: usize,
    /// The CPU that runs it.
    pub pcpu: &'static Pcpu,
    /// Its registers that are not in the CPU.
    pub context: ContextSlot,
    /// Its list registers while it is not loaded.
    pub lists: SavedLists,
    /// Its place, and the notes of other PCPUs for it.
    pub attention: Attention,
    /// The interrupt of its virtual timer.
    pub timer: VirtualTimer,
    /// Time at which its wait ends, or at which its virtual timer fires while it is not loaded, in
    /// ticks.
    pub alarm: AtomicU64,
    /// Time for which others ran in its place.
    pub stolen: StolenTime,
    /// The work of EL2 for it before its guest continues.
    pub work: WorkSlot,
    /// The critical sections that it is in.
    pub sections: Sections,
    entry: Mutex<(u64, u64)>,
    power: AtomicU8,
    /// True if the scheduler of its CPU knows that it is ready.
    ready: AtomicBool,
    exits: AtomicU64,
    interrupts: AtomicU64,
}

impl Vcpu {
    fn new(index: usize, pcpu: &'static Pcpu) -> Self {
        Self {
            index,
            pcpu,
            context: ContextSlot::new(),
            lists: SavedLists::new(),
            attention: Attention::new(),
            timer: VirtualTimer::new(),
            alarm: AtomicU64::new(NEVER),
            stolen: StolenTime::new(),
            work: WorkSlot::new(),
            sections: Sections::new(),
            entry: Mutex::new((0, 0)),
            power: AtomicU8::new(Power::Off as u8),
            ready: AtomicBool::new(false),
            exits: AtomicU64::new(0),
            interrupts: AtomicU64::new(0),
        }
    }

    /// Counts a synchronous exit.
    #[inline(always)]
    pub fn count_exit(&self) {
        self.exits.store(self.exits.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Counts an exit by an interrupt.
    #[inline(always)]
    pub fn count_interrupt(&self) {
        self.interrupts.store(self.interrupts.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Returns `(synchronous exits, exits by interrupts)` since the start.
    pub fn counts(&self) -> (u64, u64) {
        (self.exits.load(Ordering::Relaxed), self.interrupts.load(Ordering::Relaxed))
    }

    /// Returns true if the scheduler of its CPU was told that it is ready. Only for that CPU, like
    /// the following.
    #[inline(always)]
    pub fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Relaxed)
    }

    /// Notes that the scheduler of its CPU was told.
    #[inline(always)]
    pub fn set_ready(&self, ready: bool) {
        self.ready.store(ready, Ordering::Relaxed);
    }

    /// Returns its power state.
    pub fn power(&self) -> Power {
        match self.power.load(Ordering::Acquire) {
            0 => Power::Off,
            1 => Power::Starting,
            _ => Power::On,
        }
    }

    fn set_power(&self, power: Power) {
        self.power.store(power as u8, Ordering::Release);
    }
}

impl Vm {
    /// Starts its memory budget, if it has one, at `start`; `sides`: the PCPUs of critical VCPUs,
    /// one bit each. Called once, at boot.
    pub fn begin_budget(&self, start: Instant, sides: u64) {
        let cpus = self.plan.cpus(|_| true).count_ones();
        let pool = self.plan.memory_budget.and_then(|budget| budget.pool(start, cpus, sides));
        if let Some(pool) = pool {
            self.pool.set(Some(Box::leak(Box::new(Mutex::new(pool)))));
        }
    }

    /// Returns its name.
    pub fn name(&self) -> &str {
        self.plan.name
    }

    /// Returns true if the VCPUs must park.
    #[inline(always)]
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    /// Returns the address at which a VCPU reads how much time was stolen from it (IPA).
    pub fn time_record(&self, vcpu: usize) -> Option<u64> {
        self.time?;
        Some(self.plan.time_page()? + vcpu as u64 * TimePage::RECORD_BYTES)
    }

    /// Stores the number of ticks that were stolen since the start from a VCPU, which runs now.
    #[inline(always)]
    pub fn tell_stolen(&self, vcpu: usize, ticks: u64) {
        if let Some(time) = self.time {
            time.set(vcpu, ticks);
        }
    }

    /// Returns the bytes of RAM.
    pub fn memory_bytes(&self) -> u64 {
        self.memory.iter().map(|(guest, _)| guest.bytes).sum()
    }

    /// Returns true if an IPA lies in the RAM of the VM.
    pub fn is_ram(&self, ipa: u64) -> bool {
        self.memory.iter().any(|(guest, _)| guest.start <= ipa && ipa < guest.end())
    }

    /// Returns the frame in which a page of RAM is when no task has asked for other colours.
    #[inline(always)]
    fn home(&self, ipa: u64) -> Option<Frame> {
        for (guest, memory) in &self.memory {
            let offset = ipa.wrapping_sub(guest.start);
            if offset < guest.bytes {
                return Some(memory.frame(offset / PAGE_BYTES));
            }
        }
        None
    }

    /// Returns the frame in which a page of RAM is now.
    fn frame(&self, ipa: u64) -> Option<Frame> {
        let home = self.home(ipa)?;
        Some(self.stage2.frame(ipa).unwrap_or(home))
    }

    /// Maps the page of RAM that the guest has touched. Returns false if there is no such page.
    #[inline(always)]
    pub fn touch(&self, ipa: u64) -> bool {
        self.home(ipa).is_some_and(|home| self.stage2.touch(ipa, home))
    }

    /// Copies bytes from the RAM of the VM. Returns false if not all of them lie there.
    pub fn read_memory(&self, ipa: u64, data: &mut [u8]) -> bool {
        let mut done = 0;
        while done < data.len() {
            let at = ipa.wrapping_add(done as u64);
            let Some(frame) = self.frame(at) else { return false };
            let within = at % PAGE_BYTES;
            let part = (data.len() - done).min((PAGE_BYTES - within) as usize);
            frame.read(within, &mut data[done..done + part]);
            done += part;
        }
        true
    }

    fn write_memory(&self, ipa: u64, data: &[u8]) -> bool {
        self.memory.iter().any(|(guest, host)| {
            ipa.checked_sub(guest.start).is_some_and(|offset| host.write(offset, data))
        })
    }
}
