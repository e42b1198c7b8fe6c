//! Compares the plan with what the firmware says about the machine, if it says
//! anything: a plan for another machine must not start.

use alloc::format;

use dtoolkit::Node;
use dtoolkit::fdt::Fdt;

use crate::arch::regs;
use crate::board;
use crate::plan::{Plan, PlanError, Range};

/// Checks the plan against the CPU's own registers and the device tree of the
/// firmware at this address (0: there is none).
pub fn check(plan: &Plan, device_tree: usize) -> Result<(), PlanError> {
    if regs::id_aa64pfr0_el1::read() >> 24 & 0xf == 0 {
        return Err(PlanError {
            node: "/platform".into(),
            property: Some("gic-version"),
            problem: "is 3, but this machine has no GICv3 (start QEMU with gic-version=3)".into(),
        });
    }
    match board::memory::firmware_tree(device_tree).and_then(|blob| Fdt::new(blob).ok()) {
        Some(tree) => memory(plan, tree),
        None => Ok(()),
    }
}

/// Every bank of the plan must lie in one of the machine's.
fn memory(plan: &Plan, tree: Fdt<'_>) -> Result<(), PlanError> {
    let real = || {
        tree.root()
            .children()
            .filter(|node| node.name_without_address() == "memory")
            .filter_map(|node| node.reg().ok().flatten())
            .flatten()
            .filter_map(|reg| {
                Some(Range { start: reg.address::<u64>().ok()?, bytes: reg.size::<u64>().ok()? })
            })
    };
    for bank in &plan.platform.memory {
        if !real().any(|real| real.contains(*bank)) {
            let mut found = alloc::string::String::new();
            for range in real() {
                found.push_str(&format!(" {range}"));
            }
            return Err(PlanError {
                node: format!("/platform/memory@{:x}", bank.start),
                property: Some("reg"),
                problem: format!("is {bank}, but the machine has RAM at{found}"),
            });
        }
    }
    Ok(())
}
