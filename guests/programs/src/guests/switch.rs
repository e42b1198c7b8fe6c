//! `rt-switch`: the times at which a VCPU loses its CPU, and gets it back. To the instruction, on
//! machines where an instruction is a tick.
//!
//! It reads the counter without pause, each time with one instruction. Where two readings are further
//! apart than one tick, the CPU was elsewhere in between: the first is of the last instruction before,
//! the second of the first instruction behind. A reading more than a tick before an interrupt, because
//! the loop was at work, is not among them. What two VMs tell that share a CPU, laid side by side, says
//! how long it takes to switch between them.
//!
//! It ends after the interruptions that `switch.samples` asks for, or when there are none any more.
//!
//! Boot arguments: `switch.samples` (64, at most 256); `switch.wait_ns` (0): if not 0, it waits this number of nanoseconds with
//! WFI, over and over, for an interrupt of its timer; `switch.held` (0, at most 3): number of interrupts that it has
//! taken and does not end; `switch.timer` (0): if 1, that of its timer as well, not together with waits.
//!
//! ```text
//! switch: start samples=64
//! switch: stop=22381684 resume=22452388
//! switch: done
//! ```

use rt::arch::{counter, cpu, gic_cpu};
use rt::interrupts::{self, VIRTUAL_TIMER};
use rt::random::Random;
use rt::time::Clock;
use rt::{arguments, gic, println};

/// Most samples.
const SAMPLES_MAX: usize = 256;
/// Turns of the loop that reads, some ten milliseconds, after which no other VCPU wants the CPU.
const TURNS_MAX: u32 = 500_000;
/// Most software-generated interrupts that it holds.
const HELD_MAX: u32 = 3;
const PRIORITY_LEAST: u8 = 0xc0;
const PRIORITY_STEP: u8 = 0x10;
const PRIORITY_TIMER: u8 = 0x80;

/// Measures and prints.
pub fn main() {
    let count = (arguments::number("switch.samples", 64) as usize).min(SAMPLES_MAX);
    let wait = Clock::of_machine().ticks(arguments::number("switch.wait_ns", 0));
    let held = arguments::number("switch.held", 0) as u32;
    let timer = arguments::number("switch.timer", 0) == 1;
    println!("switch: start samples={count}");
    cpu::mask_interrupts();
    interrupts::enable();
    gic::set_priority(VIRTUAL_TIMER, PRIORITY_TIMER);
    if timer || wait > 0 {
        gic::enable(VIRTUAL_TIMER);
    }
    hold_interrupts(held.min(HELD_MAX));
    if timer {
        counter::set_deadline(0);
        gic_cpu::acknowledge();
    }
    let mut random = Random::new(count as u64);
    let mut samples = [None; SAMPLES_MAX];
    for sample in samples.iter_mut().take(count) {
        *sample = if wait == 0 { interruption(&mut random) } else { Some(pause(wait)) };
        if sample.is_none() {
            break;
        }
    }
    for (stop, resume) in samples.into_iter().flatten() {
        println!("switch: stop={stop} resume={resume}");
    }
    println!("switch: done");
}

/// Takes interrupts and does not end them, each with a higher priority than the one before.
fn hold_interrupts(count: u32) {
    for intid in 0..count {
        gic::set_priority(intid, PRIORITY_LEAST - intid as u8 * PRIORITY_STEP);
        gic::enable(intid);
        gic::set_pending(intid);
        while gic_cpu::acknowledge() != intid {}
    }
}

/// The readings around the next interruption, if there is one soon.
fn interruption(random: &mut Random) -> Option<(u64, u64)> {
    for turn in 0..TURNS_MAX {
        if turn % 4 == 0 {
            cpu::burn(random.below(32)); // so that the loop does not keep step with periods
        }
        let readings = counter::readings();
        if readings[readings.len() - 1] - readings[0] >= readings.len() as u64 {
            for pair in readings.windows(2) {
                if pair[1] - pair[0] > 1 {
                    return Some((pair[0], pair[1]));
                }
            }
        }
    }
    None
}

/// Waits for the timer; the readings around the instruction that waits.
fn pause(ticks: u64) -> (u64, u64) {
    counter::set_deadline(counter::now() + ticks);
    let readings = counter::readings_around_wait();
    counter::stop();
    gic_cpu::end(gic_cpu::acknowledge());
    readings
}
