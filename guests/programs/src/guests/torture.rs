//! `rt-torture`: executes what no guest should, by chance, and goes on with something else when it is started
//! again.
//!
//! VCPU 0 watches: VCPUs 1 and 2 execute [snippets](programs::wild) by chance, each with an arena of its own that
//! the other one may write to as well. When one of them does not get on any more, it is turned on again if it is off;
//! otherwise VCPU 0 resets the VM. So does a VCPU that finds VCPU 0 stuck. Each life, from a start of the VM
//! to the next, has its own numbers.
//!
//! Boot arguments: `torture.seed` (1), `torture.ms` (1000): its length in ms, from the start of all servers on,
//! `torture.stuck_ms` (40): a VCPU that has not got on for this number of milliseconds is stuck, `torture.lost` (0; 1: VCPUs may
//! take exceptions for ever, which stops the time of a QEMU that counts instructions).
//!
//! ```text
//! torture: life=3 seed=1 operations=20113 faults=7302 interrupts=48 lost=12 late=70 strange=0 revived=1
//! torture: life=3 seed=1 stuck vcpu=2
//! torture: done
//! ```
//!
//! The first line comes again and again; the last one of a life counts. `operations` were tried, `faults` are
//! exceptions that the guest itself took for them, `lost` are snippets that went elsewhere, `late` those that the timer or too
//! many interrupts ended, `revived` VCPUs that were turned on again.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use abi::hypercall::VmInfo;

use programs::arch::wild::{ARENA_BYTES, Arena, Reason};
use programs::wild::{self, Places};
use rt::arch::ram::{self, Words};
use rt::arch::{RAM_BASE, counter, cpu, lock::InterruptLock, secondary};
use rt::interrupts::VIRTUAL_TIMER;
use rt::random::Random;
use rt::time::Clock;
use rt::{arguments, gic, hypercall, println, psci};

/// VCPUs that execute snippets: 1 and 2.
const WILD: [usize; 2] = [1, 2];
/// Time between two lines of VCPU 0.
const PRINT_MS: u64 = 50;
/// Snippets between two repairs of what takes long to repair.
const REPAIR: u64 = 64;

struct Counts {
    snippets: AtomicU64,
    operations: AtomicU64,
    faults: AtomicU64,
    interrupts: AtomicU64,
    lost: AtomicU64,
    late: AtomicU64,
    strange: AtomicU64,
}

static COUNTS: [Counts; WILD.len()] = [const {
    Counts {
        snippets: AtomicU64::new(0),
        operations: AtomicU64::new(0),
        faults: AtomicU64::new(0),
        interrupts: AtomicU64::new(0),
        lost: AtomicU64::new(0),
        late: AtomicU64::new(0),
        strange: AtomicU64::new(0),
    }
}; WILD.len()];
static ARENAS: InterruptLock<[Option<Words>; WILD.len()]> = InterruptLock::new([None; WILD.len()]);
/// Counts on while VCPU 0 watches.
static WATCHES: AtomicU64 = AtomicU64::new(0);

fn ticks(milliseconds: u64) -> u64 {
    Clock::of_machine().ticks(milliseconds * 1_000_000)
}

fn life() -> u64 {
    hypercall::vm_info(VmInfo::Restarts).unwrap_or(0)
}

fn seed() -> u64 {
    arguments::number("torture.seed", 1)
}

fn stuck() -> u64 {
    ticks(arguments::number("torture.stuck_ms", 40))
}

fn memory_bytes() -> u64 {
    hypercall::vm_info(VmInfo::MemoryBytes).or_else(arguments::ram_bytes_of_tree).unwrap_or(0)
}

/// The function of a VCPU that has been turned on for the `start`th time: it executes wild code.
fn run_wild(start: u64) {
    cpu::mask_interrupts();
    let index = (cpu::index() - WILD[0]) % WILD.len();
    let [Some(mine), Some(other)] = ARENAS.with(|arenas| [arenas[index], arenas[1 - index]]) else {
        return;
    };
    let mut random = Random::new(seed() << 40 ^ life() << 8 ^ start << 4 ^ index as u64);
    let places = Places {
        arena: ram::address(mine),
        other: ram::address(other),
        end_of_ram: RAM_BASE as u64 + memory_bytes(),
        doorbell: arguments::doorbell_of_tree(),
        alias: 0,
        device_alias: 0,
        may_get_lost: arguments::number("torture.lost", 0) > 0,
    };
    let arena = Arena::new(mine);
    let all = [places.arena, places.other];
    let devices = places.devices();
    let counts = &COUNTS[index];
    let stuck = stuck();
    let (mut watched, mut seen) = (WATCHES.load(Relaxed), counter::now());
    for round in 0.. {
        if round % REPAIR == 0 {
            arena.unmap();
            (0..16).chain([VIRTUAL_TIMER]).for_each(gic::enable);
            match WATCHES.load(Relaxed) {
                now if now != watched => (watched, seen) = (now, counter::now()),
                _ if counter::now() - seen > 2 * stuck => psci::system_reset(),
                _ => {}
            }
        }
        arena.map(&all, &devices);
        let snippet = wild::snippet(&mut random, &places);
        let outcome = arena.run(&snippet, ticks(1) >> random.below(8));
        let add = |counter: &AtomicU64, value| {
            counter.store(counter.load(Relaxed).wrapping_add(value), Relaxed);
        };
        add(&counts.operations, snippet.reached(outcome.reached));
        add(&counts.faults, outcome.faults);
        add(&counts.interrupts, outcome.interrupts);
        match outcome.reason {
            Reason::Completed => {}
            Reason::Lost => add(&counts.lost, 1),
            Reason::Interrupted => add(&counts.late, 1),
            Reason::Strange => add(&counts.strange, 1),
        }
        add(&counts.snippets, 1);
    }
}

fn print(life: u64, revived: u64) {
    let sum = |field: fn(&Counts) -> &AtomicU64| -> u64 {
        COUNTS.iter().map(|counts| field(counts).load(Relaxed)).sum()
    };
    // What the others have written stands in a line of its own.
    println!(
        "\ntorture: life={life} seed={} operations={} faults={} interrupts={} lost={} late={} strange={} revived={revived}",
        seed(),
        sum(|counts| &counts.operations),
        sum(|counts| &counts.faults),
        sum(|counts| &counts.interrupts),
        sum(|counts| &counts.lost),
        sum(|counts| &counts.late),
        sum(|counts| &counts.strange),
    );
}

/// Watches until the time is over.
fn watch(end: u64) {
    let (life, stuck) = (life(), stuck());
    let (mut starts, mut revived) = (0, 0);
    let mut progress = [(u64::MAX, 0); WILD.len()];
    let mut print_at = counter::now() + ticks(PRINT_MS);
    while counter::now() < end {
        WATCHES.store(WATCHES.load(Relaxed).wrapping_add(1), Relaxed);
        let now = counter::now();
        for (index, vcpu) in WILD.into_iter().enumerate() {
            let done = COUNTS[index].snippets.load(Relaxed);
            if done != progress[index].0 {
                progress[index] = (done, now);
            } else if now - progress[index].1 > stuck || starts < WILD.len() as u64 {
                progress[index].1 = now;
                if secondary::start(vcpu, run_wild, starts) == 0 {
                    revived += u64::from(starts >= WILD.len() as u64);
                    starts += 1;
                } else {
                    print(life, revived);
                    println!("torture: life={life} seed={} stuck vcpu={vcpu}", seed());
                    psci::system_reset();
                }
            }
        }
        if now > print_at {
            print(life, revived);
            print_at = now + ticks(PRINT_MS);
        }
    }
    print(life, revived);
    println!("torture: done");
}

/// Tortures and prints.
pub fn main() {
    cpu::mask_interrupts();
    let start = hypercall::vm_info(VmInfo::ServersStart).unwrap_or(0);
    let Some(mut memory) = ram::Arena::take(memory_bytes()) else {
        return println!("torture: there is no memory");
    };
    let arenas = WILD.map(|_| memory.allocate(ARENA_BYTES, ARENA_BYTES));
    if arenas.iter().any(Option::is_none) {
        return println!("torture: there is too little memory: 8MiB are enough");
    }
    ARENAS.with(|mine| *mine = arenas);
    watch(start + ticks(arguments::number("torture.ms", 1000)));
}
