//! The attacks of one VCPU on the interrupts of another one.

use core::sync::atomic::Ordering::Relaxed;

use super::{SIBLING, SIBLING_TIMES};
use rt::alarm::{self, Alarm};
use rt::arch::cpu;
use rt::arch::gic_cpu::is_v2;
use rt::gic::{self, Bits, Trigger};
use rt::interrupts::{UART, VIRTUAL_TIMER, set_handler};
use rt::println;

/// The interrupt that is sent, and changed: no mode but `Takes` enables it.
const SGI: u32 = 3;

fn bit(intid: u32) -> u32 {
    1 << (intid % 32)
}

/// Returns the affinity by which [`gic::route`] finds a VCPU.
const fn affinity(vcpu: usize) -> u64 {
    vcpu as u64
}

/// The sibling counts what it takes.
pub fn set_handlers() {
    for intid in [SGI, alarm::INTID] {
        set_handler(intid, |_, _| {
            SIBLING_TIMES.fetch_add(1, Relaxed);
        });
    }
}

/// The sibling, which runs this, can take what is sent to it.
pub fn enable_at_sibling() {
    gic::enable(SGI);
}

/// Sends the sibling an interrupt.
pub fn sgi(_: u64) -> bool {
    gic::send_sgi(SGI, affinity(SIBLING));
    true
}

/// Puts the interrupts of a sibling that never ran into the group that is on.
pub fn group_of_sibling() {
    if !is_v2() {
        gic::write_private(SIBLING, Bits::Group, !0);
    }
}

/// Toggles the distributor.
pub fn control(number: u64) -> bool {
    gic::forward(number % 2 == 1);
    true
}

/// Makes an interrupt of the sibling pending.
pub fn pend_sgi() {
    if !is_v2() {
        gic::write_private(SIBLING, Bits::SetPending, bit(SGI));
    }
}

/// Takes the interrupts of the sibling out of the group that is on, and puts them back.
pub fn group(number: u64) -> bool {
    gic::write_private(SIBLING, Bits::Group, if number.is_multiple_of(2) { 0 } else { !0 });
    true
}

fn of_sibling(number: u64, set: Bits, clear: Bits, intid: u32) -> bool {
    gic::write_private(SIBLING, if number.is_multiple_of(2) { set } else { clear }, bit(intid));
    true
}

/// Toggles whether the sibling's timer is enabled.
pub fn enable(number: u64) -> bool {
    of_sibling(number, Bits::Enable, Bits::Disable, VIRTUAL_TIMER)
}

/// Toggles whether an interrupt of the sibling is pending.
pub fn pend(number: u64) -> bool {
    of_sibling(number, Bits::SetPending, Bits::ClearPending, SGI)
}

/// Makes an interrupt of the sibling pending and takes that back at once.
pub fn pend_briefly(_: u64) -> bool {
    gic::write_private(SIBLING, Bits::SetPending, bit(SGI));
    gic::write_private(SIBLING, Bits::ClearPending, bit(SGI));
    true
}

/// Toggles whether an interrupt of the sibling is active.
pub fn active(number: u64) -> bool {
    of_sibling(number, Bits::SetActive, Bits::ClearActive, SGI)
}

/// Reads which interrupts of the sibling are pending or active.
pub fn reads(number: u64) -> bool {
    let what = if number.is_multiple_of(2) { Bits::SetPending } else { Bits::SetActive };
    gic::read_private(SIBLING, what);
    true
}

/// Routes a shared interrupt to the sibling.
pub fn spi_of_sibling() {
    gic::disable(UART);
    gic::set_trigger(UART, Trigger::Edge);
    gic::route(UART, affinity(SIBLING));
}

/// The same, pending.
pub fn spi_pending() {
    spi_of_sibling();
    gic::enable(UART);
    gic::set_pending(UART);
}

fn of_spi(number: u64, set: Bits, clear: Bits) -> bool {
    gic::write_shared(if number.is_multiple_of(2) { set } else { clear }, bit(UART));
    true
}

/// Toggles whether it is enabled.
pub fn enable_spi(number: u64) -> bool {
    of_spi(number, Bits::Enable, Bits::Disable)
}

/// Toggles whether it is pending.
pub fn pend_spi(number: u64) -> bool {
    of_spi(number, Bits::SetPending, Bits::ClearPending)
}

/// Toggles whether it is active.
pub fn active_spi(number: u64) -> bool {
    of_spi(number, Bits::SetActive, Bits::ClearActive)
}

/// Reads which shared interrupts are pending or active.
pub fn reads_spi(number: u64) -> bool {
    gic::read_shared(if number.is_multiple_of(2) { Bits::SetPending } else { Bits::SetActive });
    true
}

/// Routes it to no VCPU that runs, and back to the sibling.
pub fn router(number: u64) -> bool {
    gic::route(UART, affinity(if number.is_multiple_of(2) { SIBLING + 2 } else { SIBLING }));
    true
}

/// Routes the interrupt of the VM's device to the sibling.
pub fn device_of_sibling() {
    if Alarm::new().is_none() {
        return println!("storm: this VM has no PL031");
    }
    gic::set_trigger(alarm::INTID, Trigger::Edge);
    gic::route(alarm::INTID, affinity(SIBLING));
    gic::enable(alarm::INTID);
}

/// Makes it pending, and nothing of it afterwards: the controller of the machine shall signal it once more.
pub fn device(number: u64) -> bool {
    let what = [Bits::SetPending, Bits::ClearActive, Bits::ClearPending][(number % 3) as usize];
    gic::write_shared(what, bit(alarm::INTID));
    true
}

/// Routes it to the sibling, and then to no VCPU.
pub fn device_of_nobody() {
    device_of_sibling();
    gic::route(alarm::INTID, affinity(99));
}

/// Makes it pending, or takes that back.
pub fn device_again(number: u64) -> bool {
    let what = if number.is_multiple_of(2) { Bits::SetPending } else { Bits::ClearPending };
    gic::write_shared(what, bit(alarm::INTID));
    true
}

/// Makes it pending for the sibling, and routes it to this VCPU while it is on its way.
pub fn device_leaving(_: u64) -> bool {
    gic::route(alarm::INTID, affinity(SIBLING));
    gic::write_shared(Bits::SetPending, bit(alarm::INTID));
    gic::route(alarm::INTID, affinity(0));
    gic::write_shared(Bits::ClearPending, bit(alarm::INTID));
    true
}

/// Makes it pending, and routes it to this VCPU, which does not take it, and to the sibling.
pub fn device_router(number: u64) -> bool {
    match number % 3 {
        0 => gic::write_shared(Bits::SetPending, bit(alarm::INTID)),
        1 => gic::route(alarm::INTID, affinity(0)),
        _ => gic::route(alarm::INTID, affinity(SIBLING)),
    }
    true
}

/// A number that follows from another one (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

/// Of the own interrupts and of shared ones each is more urgent than the one before it.
pub fn each_before_the_last() {
    for intid in 0..96 {
        gic::set_priority(intid, (31 - intid % 32) as u8 * 8);
    }
}

/// One access to a register of the own interrupts, of the sibling's, or of shared ones, by chance, with all bits or some;
/// or an interrupt to all. The timer of this VCPU is needed later: it stays in the group that is on, and nothing is made
/// active here.
pub fn many(number: u64) -> bool {
    const WRITES: [Bits; 7] = [
        Bits::SetPending,
        Bits::Enable,
        Bits::Group,
        Bits::ClearPending,
        Bits::Disable,
        Bits::ClearActive,
        Bits::SetActive,
    ];
    let own = cpu::index();
    let draw = mixed(number << 4 | own as u64);
    let bits = if draw & 1 == 0 { !0 } else { (draw >> 32) as u32 };
    let what = WRITES[(draw >> 1) as usize % WRITES.len()];
    cpu::without_interrupts(|| match draw >> 8 & 7 {
        0 | 1 if what == Bits::Group => {
            gic::write_private(own, what, bits | bit(VIRTUAL_TIMER));
        }
        0 | 1 if what != Bits::SetActive => gic::write_private(own, what, bits),
        2 | 3 if !is_v2() => gic::write_private(SIBLING, what, bits),
        4 if draw >> 11 & 1 == 0 => gic::write_shared(what, bits & !bit(UART)),
        4 => gic::write_shared_more(what, bits),
        5 => {
            gic::read_private(own, what);
        }
        6 => {
            gic::read_shared(what);
        }
        _ => gic::send_sgi_to_others(draw as u32 >> 12 & 0xf),
    });
    true
}
