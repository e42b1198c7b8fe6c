//! Compares the plan with the firmware's description of the machine, if there is
//! one: a plan for another machine must not start.

use crate::arch::{cache, gic};
use crate::board;
use crate::plan::{Plan, Problem, Refusal, Tree};

/// Checks the plan against the CPU's own registers and the device tree of the
/// firmware at this address (0: there is none).
pub fn check<'a>(plan: &Plan<'a>, device_tree: usize) -> Result<(), Refusal<'a>> {
    let platform = plan.root.nth("platform", 0);
    if gic::is_v2() != (plan.platform.gic.version() == 2) {
        let other = if gic::is_v2() {
            "this CPU has no system registers of a GICv3, expected <2> (QEMU: gic-version=3)"
        } else {
            "this CPU drives a GICv3, expected <3> (QEMU: gic-version=2)"
        };
        return Err(platform.error("gic-version", Problem::Text(other)));
    }
    if let Some(llc) = plan.platform.llc.filter(|llc| llc.in_registers) {
        let real = cache::last_level()
            .map_or([0; 3], |real| [real.bytes() as u32, real.ways(), real.line_bytes()]);
        if llc.shape[..3] != real {
            return Err(platform.nth("llc", 0).node_error(Problem::Llc(real.map(u64::from))));
        }
    }
    let tree = board::memory::firmware_tree(device_tree).and_then(Tree::new);
    let Some(tree) = tree else { return Ok(()) };
    // Every bank of the plan must lie in one of the machine's.
    for (index, bank) in plan.platform.memory.iter().enumerate() {
        let mut found = false;
        tree.for_each_memory(&mut |real| found |= real.contains(*bank));
        if !found {
            let node = platform.nth("memory", index);
            return Err(node.error("reg", Problem::NotInMachine(*bank, tree)));
        }
    }
    Ok(())
}
