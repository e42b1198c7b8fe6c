//! Rules of the machine.

use abi::limits::{ADDRESS_END, CPU_INTERFACE_BYTES, WORD_BYTES};
use abi::plan::names;
use units::{Bytes, Duration};

use super::Mistakes;
use super::vms::GICR_PER_CPU;
use crate::address::Region;
use crate::plan::path::unit;
use crate::plan::{Gic, Plan};
use crate::platform::Overheads;

pub(super) fn check(plan: &Plan, mistakes: &mut Mistakes) {
    let platform = &plan.platform;
    mistakes.text("/platform", names::BOARD, &platform.board);
    mistakes.count("/platform/cpus", "PCPUs", platform.cpus.len());
    for (index, mpidr) in platform.cpus.iter().enumerate() {
        if platform.cpus[..index].contains(mpidr) {
            let node = format!("/platform/cpus/{}", unit(names::CPU, mpidr.0));
            let message = format!("affinity {mpidr} is given twice");
            mistakes.add(&node, names::REG, message, "give each PCPU its own affinity");
        }
    }
    let prices = [
        (names::SWITCH_NS, platform.switch, "a switch takes"),
        (names::KICK_NS, platform.kick, "an interrupt for a VCPU that waits takes"),
    ];
    for (property, price, what) in prices {
        if let Some(price) = price
            && !(Duration(1)..=Overheads::LONGEST).contains(&price)
        {
            let help = format!("write 1 ns to {}", Overheads::LONGEST);
            mistakes.add("/platform", property, format!("{what} {price}"), &help);
        }
    }
    let own = platform.hypervisor;
    for (mpidr, release) in platform.cpus.iter().zip(&platform.spin_table) {
        let node = format!("/platform/cpus/{}", unit(names::CPU, mpidr.0));
        let word = Region { start: *release, size: Bytes(WORD_BYTES) };
        if !release.0.is_multiple_of(WORD_BYTES) {
            let message = format!("{release} is not a multiple of {WORD_BYTES}");
            mistakes.add(&node, names::CPU_RELEASE_ADDR, message, "give the address of a word");
        }
        if release.0 >= ADDRESS_END {
            let message = format!("{release} does not lie below 2^39");
            mistakes.add(&node, names::CPU_RELEASE_ADDR, message, "addresses have 39 bits");
        }
        let is_ram = platform.memory.iter().any(|bank| bank.overlaps(&word));
        if is_ram && !own.contains(&word) {
            let message = format!("{word} is RAM that the hypervisor does not have");
            let help = format!("it may lie outside of RAM, or in {own}: see `image_base`");
            mistakes.add(&node, names::CPU_RELEASE_ADDR, message, &help);
        }
    }
    let serial = &platform.serial;
    let node = format!("/platform/{}", unit(names::SERIAL, serial.registers.start.0));
    if serial.pcpu.0 as usize >= platform.cpus.len() {
        let message = format!("PCPU {} does not exist", serial.pcpu);
        let help = format!("PCPUs are 0 to {}", platform.cpus.len().saturating_sub(1));
        mistakes.add(&node, names::PCPU, message, &help);
    }
    if !serial.interrupt.is_shared() {
        let message = format!("INTID {} is not a shared interrupt", serial.interrupt);
        mistakes.add(&node, names::INTERRUPTS, message, "shared interrupts are 32 to 1019");
    }
    if let Some(llc) = platform.llc
        && u32::try_from(llc.geometry.cache().bytes()).is_err()
    {
        let message = format!("{} do not fit into a cell", Bytes(llc.geometry.cache().bytes()));
        mistakes.add("/platform/llc", names::CACHE_SIZE, message, "it must be less than 4 GiB");
    }
    interrupt_controller(plan, mistakes);
}

/// The frames of the interrupt controller are large enough.
fn interrupt_controller(plan: &Plan, mistakes: &mut Mistakes) {
    let platform = &plan.platform;
    let frames = platform.gic.frames();
    let node = format!("/platform/{}", unit(names::INTERRUPT_CONTROLLER, frames[0].1.start.0));
    match platform.gic {
        Gic::V3 { gicr, .. } => {
            let needed = Bytes(GICR_PER_CPU.0 * platform.cpus.len() as u64);
            if gicr.size < needed {
                let message = format!("GICR has {}", gicr.size);
                let help =
                    format!("{} PCPUs need {needed}: {GICR_PER_CPU} each", platform.cpus.len());
                mistakes.add(&node, names::REG, message, &help);
            }
        }
        Gic::V2 { gicc, gicv, .. } => {
            let needed = Bytes(CPU_INTERFACE_BYTES);
            for (name, frame) in [("GICC", gicc), ("GICV", gicv)] {
                if frame.size < needed {
                    let message = format!("{name} has {}", frame.size);
                    mistakes.add(&node, names::REG, message, &format!("give it {needed}"));
                }
            }
        }
    }
}
