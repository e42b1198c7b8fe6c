//! Rules of the machine.

use units::{Bytes, Duration};

use super::Mistakes;
use super::vms::GICR_PER_CPU;
use crate::address::Region;
use crate::plan::path::unit;
use crate::plan::{Gic, Plan};
use crate::platform::Overheads;

pub(super) fn check(plan: &Plan, mistakes: &mut Mistakes) {
    let platform = &plan.platform;
    mistakes.text("/platform", "board", &platform.board);
    mistakes.count("/platform/cpus", "PCPUs", platform.cpus.len());
    for (index, mpidr) in platform.cpus.iter().enumerate() {
        if platform.cpus[..index].contains(mpidr) {
            let node = format!("/platform/cpus/{}", unit("cpu", mpidr.0));
            let message = format!("affinity {mpidr} is given twice");
            mistakes.add(&node, "reg", message, "give each PCPU its own affinity");
        }
    }
    let prices = [
        ("switch-ns", platform.switch, "a switch takes"),
        ("wait-ns", platform.wait, "a VCPU that waits pays"),
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
        let word = Region { start: *release, size: Bytes(8) };
        let is_ram = platform.memory.iter().any(|bank| bank.overlaps(&word));
        if is_ram && !own.contains(&word) {
            let node = format!("/platform/cpus/{}", unit("cpu", mpidr.0));
            let message = format!("{word} is RAM that the hypervisor does not have");
            let help = format!("it may lie outside of RAM, or in {own}: see `image_base`");
            mistakes.add(&node, "cpu-release-addr", message, &help);
        }
    }
    let serial = &platform.serial;
    let node = format!("/platform/{}", unit("serial", serial.registers.start.0));
    if serial.pcpu.0 as usize >= platform.cpus.len() {
        let message = format!("PCPU {} does not exist", serial.pcpu);
        let help = format!("PCPUs are 0 to {}", platform.cpus.len().saturating_sub(1));
        mistakes.add(&node, "pcpu", message, &help);
    }
    if !serial.interrupt.is_shared() {
        let message = format!("INTID {} is not a shared interrupt", serial.interrupt);
        mistakes.add(&node, "interrupts", message, "shared interrupts are 32 to 1019");
    }
    if let Some(llc) = platform.llc
        && u32::try_from(llc.geometry.cache().bytes()).is_err()
    {
        let message = format!("{} do not fit into a cell", Bytes(llc.geometry.cache().bytes()));
        mistakes.add("/platform/llc", "cache-size", message, "it must be less than 4 GiB");
    }
    if let Gic::V3 { gicd, gicr } = platform.gic {
        let needed = Bytes(GICR_PER_CPU.0 * platform.cpus.len() as u64);
        if gicr.size < needed {
            let node = format!("/platform/{}", unit("interrupt-controller", gicd.start.0));
            let message = format!("GICR has {}", gicr.size);
            let help = format!("{} PCPUs need {needed}: {GICR_PER_CPU} each", platform.cpus.len());
            mistakes.add(&node, "reg", message, &help);
        }
    }
}
