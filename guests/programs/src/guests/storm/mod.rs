//! `rt-storm`: makes the hypervisor work as often as it can, for others to pay; and victims that show what they
//! get done meanwhile.
//!
//! VCPU 1, the *sibling*, shares its processor with the victim; VCPU 0 and those from 2 on attack from processors of
//! their own.
//!
//! Boot arguments: `storm.mode` (none): one of those in [`modes`], or `victim`, or `tasks`; `storm.attackers` (1): VCPUs that
//! attack, without the sibling; `storm.pause` (0): instructions between two attacks; `storm.ms` (100): when the storm ends, after
//! the start of the first period of all servers; `storm.end=reset`: the guest resets itself at the end.
//!
//! ```text
//! storm: mode=sgi-waiting attackers=1 times=131072 sibling=0 begin_us=4012 end_us=100001
//! ```
//!
//! `times`: number of times that it was done, by all attackers together; `sibling`: how often the sibling did its part (took an
//! interrupt, slept, attacked as well); `begin` and `end` are since that start.
//!
//! A victim executes chunks of 1,000 instructions and counts them in windows of time ([`victim`]), or has tasks
//! and tells their responses ([`tasks`]).

mod calls;
mod interrupts;
mod links;
mod memory;
mod modes;
mod sibling;
mod tasks;
mod victim;

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use abi::hypercall::VmInfo;

use modes::{MODES, Mode};
use rt::arch::{CPUS_MAX, counter, cpu, secondary};
use rt::time::Clock;
use rt::{arguments, gic, hypercall, print, println, psci, sleep};

/// The VCPU on the victim's processor.
const SIBLING: usize = 1;

/// The number of attacks, and of the attackers that are done.
static TIMES: AtomicU64 = AtomicU64::new(0);
static DONE: AtomicU32 = AtomicU32::new(0);
/// The number of times that the sibling did its part.
static SIBLING_TIMES: AtomicU64 = AtomicU64::new(0);

/// Tick of the counter when the servers started.
fn start() -> u64 {
    hypercall::vm_info(VmInfo::ServersStart).unwrap_or(0)
}

/// The tick `milliseconds` after the start of the servers.
fn after_start(milliseconds: u64) -> u64 {
    start() + Clock::of_machine().ticks(milliseconds * 1_000_000)
}

/// The mode of the boot arguments, and its place among the others.
fn mode() -> Option<(usize, &'static Mode)> {
    let name = arguments::text("storm.mode").unwrap_or("none");
    MODES.iter().enumerate().find(|(_, mode)| mode.name == name)
}

fn attackers() -> u64 {
    arguments::number("storm.attackers", 1).clamp(1, CPUS_MAX as u64 - 1)
}

/// Attacks until the end of the storm; returns the number of attacks.
fn attack(mode: &Mode) -> u64 {
    let end = after_start(arguments::number("storm.ms", 100));
    let pause = arguments::number("storm.pause", 0);
    let mut times = 0;
    while counter::now() < end {
        if (mode.attack)(times) {
            times += 1;
        }
        if pause > 0 {
            cpu::burn(pause);
        }
    }
    times
}

/// The work of VCPUs from 2 on.
fn attack_too(mode: u64) {
    if let Some(mode) = MODES.get(mode as usize) {
        TIMES.fetch_add(attack(mode), Relaxed);
    }
    DONE.fetch_add(1, Relaxed);
}

/// Does what the boot arguments say.
pub fn main() {
    match arguments::text("storm.mode") {
        Some("victim") => return victim::main(),
        Some("tasks") => return tasks::main(),
        _ => {}
    }
    let Some((number, mode)) = mode() else {
        print!("storm: no such mode; modes: victim tasks");
        MODES.iter().for_each(|mode| print!(" {}", mode.name));
        return println!("");
    };
    (mode.prepare)();
    if !sibling::prepare(mode.sibling) {
        return println!("storm: there is no VCPU {SIBLING}, or it does not start");
    }
    let others = attackers() - 1;
    let begin = counter::now();
    for vcpu in 2..2 + others {
        if secondary::start(vcpu as usize, attack_too, number as u64) != 0 {
            return println!("storm: there is no VCPU {vcpu}");
        }
    }
    TIMES.fetch_add(attack(mode), Relaxed);
    while u64::from(DONE.load(Relaxed)) < others {
        cpu::burn(1000);
    }
    let end = counter::now();
    gic::forward(true);
    // Nobody is held up by what is printed.
    sleep::sleep_until(after_start(arguments::number("storm.ms", 100) + 10));
    let since = |tick: u64| Clock::of_machine().nanoseconds(tick.saturating_sub(start())) / 1000;
    println!(
        // A storm of output can end within a line.
        "\nstorm: mode={} attackers={} times={} sibling={} begin_us={} end_us={}",
        mode.name,
        others + 1,
        TIMES.load(Relaxed),
        SIBLING_TIMES.load(Relaxed),
        since(begin),
        since(end)
    );
    if arguments::text("storm.end") == Some("reset") {
        psci::system_reset()
    }
}
