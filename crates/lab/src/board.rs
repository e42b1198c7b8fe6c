//! The board of QEMU for a platform.

use qemu::Board;

use crate::failure::Failure;
use crate::load::System;

/// Returns the board of QEMU for the platform of the plan.
pub fn board(system: &System) -> Result<Board, Failure> {
    let Some(qemu) = system.platform.as_ref().and_then(|platform| platform.qemu.as_ref()) else {
        let name = &system.plan.platform.board;
        return Err(Failure::new(
            "no-board",
            format!(
                "QEMU has no board for the platform `{name}`\n\
                 help: `bulkhead run SYSTEM --image-only FILE` writes the image for the machine itself"
            ),
        ));
    };
    Ok(Board {
        machine: qemu.machine.clone(),
        cpu: qemu.cpu.clone(),
        cpus: qemu.cpus.and_then(|cpus| u32::try_from(cpus).ok()),
        memory_bytes: qemu.memory.map(|memory| memory.get()),
    })
}
