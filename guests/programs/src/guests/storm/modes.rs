//! The storms: the attacks, and the part of the sibling meanwhile.

use super::sibling::Sibling::{self, Attacks, Busy, Dozes, Naps, Off, Takes, Unstarted, Waits};
use super::{calls, interrupts, links, memory};
use rt::arch::cpu;

/// A storm.
pub struct Mode {
    /// Its name in boot arguments.
    pub name: &'static str,
    /// The part of the sibling.
    pub sibling: Sibling,
    /// The preparation, which is done once, before the sibling starts.
    pub prepare: fn(),
    /// The attack, which is done again and again, with a number that counts from 0; returns true if it took place.
    pub attack: fn(u64) -> bool,
}

const fn mode(
    name: &'static str,
    sibling: Sibling,
    prepare: fn(),
    attack: fn(u64) -> bool,
) -> Mode {
    Mode { name, sibling, prepare, attack }
}

/// The preparation of storms that need none.
fn nothing() {}

/// Work that concerns no other VCPU.
fn burn(_: u64) -> bool {
    cpu::burn(1000);
    true
}

/// All of them.
pub const MODES: [Mode; 51] = [
    // Quiet, to compare with.
    mode("none", Waits, nothing, burn),
    // Interrupts to a sibling that waits and cannot take them, takes each, computes, is off, never was on.
    mode("sgi-waiting", Waits, nothing, interrupts::sgi),
    mode("sgi-taking", Takes, nothing, interrupts::sgi),
    mode("sgi-busy", Busy, nothing, interrupts::sgi),
    mode("sgi-off", Off, nothing, interrupts::sgi),
    mode("sgi-unstarted", Unstarted, interrupts::group_of_sibling, interrupts::sgi),
    // The distributor goes off and on.
    mode("ctlr", Waits, nothing, interrupts::control),
    mode("ctlr-unstarted", Unstarted, nothing, interrupts::control),
    // Registers of the sibling's private interrupts (GICv3), and of a shared one that goes to it.
    mode("enable", Waits, nothing, interrupts::enable),
    mode("enable-unstarted", Unstarted, interrupts::group_of_sibling, interrupts::enable),
    mode("pend", Waits, nothing, interrupts::pend),
    mode("pend-dozing", Dozes, nothing, interrupts::pend_briefly),
    mode("active", Waits, nothing, interrupts::active),
    mode("reads", Waits, nothing, interrupts::reads),
    mode("group", Waits, interrupts::pend_sgi, interrupts::group),
    // All bits of registers at once, the own ones too, and interrupts to all.
    mode("many", Takes, interrupts::each_before_the_last, interrupts::many),
    mode("enable-spi", Waits, interrupts::spi_of_sibling, interrupts::enable_spi),
    mode("pend-spi", Waits, interrupts::spi_of_sibling, interrupts::pend_spi),
    mode("active-spi", Waits, interrupts::spi_of_sibling, interrupts::active_spi),
    mode("reads-spi", Waits, interrupts::spi_of_sibling, interrupts::reads_spi),
    mode("router", Waits, interrupts::spi_pending, interrupts::router),
    // The interrupt of a device that the VM has, which goes to the sibling.
    mode("device", Waits, interrupts::device_of_sibling, interrupts::device),
    mode("device-taking", Takes, interrupts::device_of_sibling, interrupts::device),
    mode("device-dozing", Dozes, interrupts::device_of_sibling, interrupts::device),
    mode("device-off", Off, interrupts::device_of_sibling, interrupts::device),
    mode("device-nowhere", Waits, interrupts::device_of_nobody, interrupts::device_again),
    mode("device-nowhere-off", Off, interrupts::device_of_nobody, interrupts::device_again),
    mode("device-leaving", Off, interrupts::device_of_sibling, interrupts::device_leaving),
    mode("device-router", Takes, interrupts::device_of_sibling, interrupts::device_router),
    // The sibling sleeps for a microsecond, again and again.
    mode("timer", Naps, nothing, burn),
    // It is turned on, and turns off.
    mode("cpu-on-off", Off, nothing, calls::cpu_on),
    // Calls.
    mode("lock-refused", Attacks, nothing, calls::lock_refused),
    mode("lock-granted", Attacks, calls::open_lock, calls::lock_granted),
    mode("lock-opening", Attacks, calls::open_lock, calls::lock_opening),
    mode("colors", Attacks, calls::color_space, calls::colors),
    mode("doorbell", Attacks, calls::find_doorbell, calls::doorbell),
    mode("audit", Attacks, nothing, calls::audit),
    mode("color-serial", Busy, calls::find_port, calls::color_serial),
    // The sibling is sampled for the port, and waits.
    mode("color-serial-dozing", Dozes, calls::find_port, calls::color_serial_dozing),
    mode("console-call", Attacks, nothing, calls::console),
    mode("console-uart", Attacks, nothing, calls::uart),
    // Rings for other VMs.
    mode("ring", Attacks, calls::find_bell, calls::ring),
    // Serial lines to other VMs.
    mode("serial", Attacks, calls::find_lines, calls::serial),
    // Links to other VMs.
    mode("link-long", Attacks, links::find_for_long, links::long),
    mode("link-short", Attacks, links::find_for_short, links::short),
    mode("link-kick", Attacks, links::find_for_long, links::kick),
    mode("link-reset", Attacks, links::find_for_long, links::reset),
    mode("link-wrong", Attacks, links::find_for_long, links::wrong),
    // Stage-2 faults.
    mode("touch", Attacks, memory::take, memory::touch),
    mode("mmio", Attacks, nothing, memory::mmio),
    mode("absent", Attacks, nothing, memory::absent),
];
