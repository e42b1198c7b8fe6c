//! Runs code that may do anything: with translation tables, vectors and memory of its own, which it may
//! spoil, and with a way back that relies on none of its registers.
//!
//! The memory that is mapped for wild code (addresses as they are, apart from the last three):
//!
//! - the 2 MiB around each device;
//! - the [arenas](Arena) of all processors, writable and executable: code, data and these tables themselves;
//! - the code that leads back (read-only) and the states of the processors;
//! - from [`WINDOW`]: what wild code maps there itself, through tables in its arena;
//! - from [`USER`] the arenas and from [`USER_DEVICES`] the devices once more, for EL0;
//! - from [`NOWHERE`], for EL1: guest physical addresses from 2 GiB on, where nothing is.
//!
//! It is meant to end its VM now and then: by a fault of which the hypervisor knows, or so that no instruction
//! of the program is reached any more.

use core::arch::global_asm;
use core::mem::offset_of;
use core::ptr;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use abi::limits::PAGE_BYTES as PAGE;
use rt::arch::mmu::{
    BLOCK, DEVICE, EL0_NO_EXECUTE, MAIR, NO_EXECUTE, NORMAL, RAM_BASE, READ_ONLY, SCTLR, TABLE,
};
use rt::arch::ram::{self, Words};
use rt::arch::{CPUS_MAX, counter, cpu, gic_cpu};
use rt::write_sysreg;

use crate::wild::{END, Snippet};

global_asm!(
    include_str!("wild.s"),
    states = sym STATES,
    end = const END,
    faults_max = const 64,
    interrupts_max = const 64,
);

unsafe extern "C" {
    fn wild_run(state: *mut State);
    static wild_vectors: u8;
    static wild_end: u8;
}

const GIB: u64 = 1 << 30;
/// Bytes that an entry of a table of level 2 maps.
const BLOCK_BYTES: u64 = 2 << 20;
/// Bytes of an arena, one entry of a table of level 2.
pub const ARENA_BYTES: u64 = BLOCK_BYTES;
/// Virtual address that wild code maps itself.
pub const WINDOW: u64 = 4 * GIB;
/// Number that code at EL0 adds to addresses of the second GiB.
pub const USER: u64 = 5 * GIB;
/// Number that code at EL0 adds to addresses of the first GiB.
pub const USER_DEVICES: u64 = 6 * GIB;
/// The virtual address at which guest physical addresses from 2 GiB on are mapped.
pub const NOWHERE: u64 = 7 * GIB;

/// Places in an arena, in bytes: its tables, in which [`WINDOW_TABLE`] and the one behind it are wild
/// code's own, its code, and its data up to the end.
const ROOT: u64 = 0;
const RAM_TABLE: u64 = PAGE;
const PROGRAM_TABLE: u64 = 2 * PAGE;
/// The tables of levels 2 and 3 behind [`WINDOW`].
pub const WINDOW_TABLE: u64 = 3 * PAGE;
const USER_TABLE: u64 = 5 * PAGE;
const DEVICE_TABLE: u64 = 6 * PAGE;
const USER_DEVICE_TABLE: u64 = 7 * PAGE;
const TABLES_END: u64 = 8 * PAGE;
const CODE: u64 = 16 * PAGE;
/// The offset at which the data of wild code begins.
pub const DATA: u64 = 32 * PAGE;

/// Accessible from EL0.
const FROM_EL0: u64 = 1 << 6;
/// Writable memory may be executed, and EL0 may maintain caches, wait, and mask interrupts.
const WILD_SCTLR: u64 =
    SCTLR & !(1 << 19) | 1 << 26 | 1 << 18 | 1 << 16 | 1 << 15 | 1 << 14 | 1 << 9;

/// The data that a processor needs to come back, and with which wild code starts; `wild.s` knows the offsets.
#[repr(C, align(4096))]
struct State {
    saved: [u64; 20],
    table: u64,
    sctlr: u64,
    entry: u64,
    pstate: u64,
    unused: u64,
    code: u64,
    code_bytes: u64,
    faults: u64,
    interrupts: u64,
    reason: u64,
    left_at: u64,
    rest: u64,
    registers: [u64; 31],
    stack: u64,
}

const _: () = assert!(
    size_of::<State>() == 4096
        && offset_of!(State, table) == 160
        && offset_of!(State, code) == 200
        && offset_of!(State, reason) == 232
        && offset_of!(State, registers) == 256
        && offset_of!(State, stack) == 504
);

#[repr(transparent)]
struct States(core::cell::UnsafeCell<[State; CPUS_MAX]>);

// SAFETY: each processor uses the state with its number only.
unsafe impl Sync for States {}

// SAFETY: zero is a valid value of all fields.
static STATES: States = States(core::cell::UnsafeCell::new(unsafe { core::mem::zeroed() }));

/// The reason for which wild code came to its end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Reason {
    /// It reached its last instruction.
    Completed,
    /// It went elsewhere, or faulted again and again.
    Lost,
    /// It took too long, or got too many interrupts.
    Interrupted,
    /// A system error, or an exception that it cannot have.
    Strange,
}

/// The end of wild code, and the events meanwhile.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// The reason for its end.
    pub reason: Reason,
    /// Bytes from its start to where it was left; its length, or more, if it went elsewhere.
    pub reached: u64,
    /// Instructions that faulted.
    pub faults: u64,
    /// Interrupts taken, apart from that of the timer.
    pub interrupts: u64,
}

/// The memory of a processor's wild code, of which the program expects nothing.
#[derive(Debug)]
pub struct Arena {
    words: Words,
}

impl Arena {
    /// Wild code's own memory: [`ARENA_BYTES`] at a multiple of that.
    pub fn new(words: Words) -> Self {
        Self { words }
    }

    /// Its first byte.
    pub fn address(&self) -> u64 {
        ram::address(self.words)
    }

    fn word(&self, offset: u64) -> &'static AtomicU64 {
        &self.words[(offset % ARENA_BYTES / 8) as usize]
    }

    fn set_entry(&self, table: u64, entry: u64, value: u64) {
        self.word(table + 8 * (entry % 512)).store(value, Relaxed);
    }

    /// Empties all tables.
    pub fn unmap(&self) {
        for table in (0..TABLES_END).step_by(PAGE as usize) {
            (0..512).for_each(|entry| self.set_entry(table, entry, 0));
        }
    }

    /// Maps what is to be mapped, and leaves other entries as they are; `arenas` are those of all processors,
    /// `devices` addresses of devices.
    pub fn map(&self, arenas: &[u64], devices: &[u64]) {
        let table = |at: u64| (self.address() + at) | TABLE;
        self.set_entry(ROOT, 0, table(DEVICE_TABLE));
        self.set_entry(ROOT, 1, table(RAM_TABLE));
        self.set_entry(ROOT, WINDOW / GIB, table(WINDOW_TABLE));
        self.set_entry(WINDOW_TABLE, 0, table(WINDOW_TABLE + PAGE));
        self.set_entry(ROOT, USER / GIB + 1, table(USER_TABLE));
        self.set_entry(ROOT, USER_DEVICES / GIB, table(USER_DEVICE_TABLE));
        self.set_entry(ROOT, NOWHERE / GIB + 1, (2 * GIB) | BLOCK | NORMAL);
        for device in devices {
            let (entry, block) = (device % GIB / BLOCK_BYTES, device / BLOCK_BYTES * BLOCK_BYTES);
            self.set_entry(DEVICE_TABLE, entry, block | BLOCK | DEVICE | NO_EXECUTE);
            let user = block | BLOCK | DEVICE | NO_EXECUTE | FROM_EL0;
            self.set_entry(USER_DEVICE_TABLE, entry, user);
        }
        self.set_entry(RAM_TABLE, 0, table(PROGRAM_TABLE));
        for arena in arenas {
            let entry = arena % GIB / ARENA_BYTES;
            self.set_entry(RAM_TABLE, entry, arena | BLOCK | NORMAL);
            self.set_entry(USER_TABLE, entry, arena | BLOCK | NORMAL | FROM_EL0);
        }
        let map = |from: u64, to: u64, attributes: u64| {
            for page in (from / PAGE * PAGE..to).step_by(PAGE as usize) {
                let entry = (page - RAM_BASE as u64) / PAGE;
                self.set_entry(PROGRAM_TABLE, entry, page | attributes | TABLE);
            }
        };
        let (start, end) = ((&raw const wild_vectors) as u64, (&raw const wild_end) as u64);
        map(start, end, NORMAL | READ_ONLY | EL0_NO_EXECUTE);
        let states = STATES.0.get() as u64;
        map(states, states + size_of::<States>() as u64, NORMAL | NO_EXECUTE);
        cpu::synchronize();
    }

    /// Returns the address at which a snippet is executed.
    pub fn code(&self) -> u64 {
        self.address() + CODE
    }

    /// Executes a snippet on this processor, at EL1 or EL0, until it ends or `ticks` of the counter are over.
    /// Interrupts stay masked afterwards.
    pub fn run(&self, snippet: &Snippet, ticks: u64) -> Outcome {
        cpu::mask_interrupts();
        let code = self.code();
        for (start, words) in snippet.parts() {
            let at = 4 * start as u64;
            for (number, pair) in (0..).zip(words.chunks(2)) {
                let [first, second] = [0, 1].map(|half| u64::from(*pair.get(half).unwrap_or(&0)));
                self.word(CODE + at + 8 * number).store(second << 32 | first, Relaxed);
            }
            clean_to_instructions(code + at, 4 * words.len() as u64);
        }
        let alias = if snippet.at_el0() { USER } else { 0 };
        // SAFETY: the processor's own state; wild code, which may spoil it, does not run.
        let state = unsafe { &mut (*STATES.0.get())[cpu::index() % CPUS_MAX] };
        state.table = self.address() + ROOT;
        state.sctlr = WILD_SCTLR;
        state.entry = code + alias;
        state.pstate = snippet.pstate();
        state.code = code + alias;
        state.code_bytes = snippet.bytes();
        (state.faults, state.interrupts) = (0, 0);
        state.registers = *snippet.registers();
        // Not at the end, behind which the tables of another arena are.
        state.stack = self.address() + ARENA_BYTES - PAGE;
        // What the snippet before it may have changed: no interrupt is active, all may come.
        write_sysreg!("mair_el1", MAIR);
        write_sysreg!("S3_0_C12_C9_0", 0); // ICC_AP1R0_EL1
        gic_cpu::enable();
        counter::set_deadline(counter::now() + ticks);
        let state = &raw mut *state;
        // SAFETY: wild code comes back through `wild_return`, which restores what a call keeps, or never;
        // the program's memory is not mapped for it, apart from the states.
        unsafe { wild_run(state) }
        // SAFETY: as above; volatile, because others have written it.
        let state = unsafe { ptr::read_volatile(state) };
        Outcome {
            reason: match state.reason {
                0 => Reason::Completed,
                1 => Reason::Lost,
                2 => Reason::Interrupted,
                _ => Reason::Strange,
            },
            reached: state.left_at.wrapping_sub(code + alias),
            faults: state.faults,
            interrupts: state.interrupts,
        }
    }
}

/// Lets this processor execute what was written.
fn clean_to_instructions(start: u64, bytes: u64) {
    for line in (start..start + bytes).step_by(16) {
        // SAFETY: cleaning keeps the contents of memory.
        unsafe { core::arch::asm!("dc cvau, {}", in(reg) line, options(nostack, preserves_flags)) }
    }
    // SAFETY: barriers, and an empty instruction cache, do not change memory.
    unsafe {
        core::arch::asm!("dsb ish", "ic iallu", "dsb nsh", "isb", options(nostack, preserves_flags))
    }
}
