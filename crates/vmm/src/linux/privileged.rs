//! Does KVM execute privileged code by the processor?
//!
//! There are hosts that are virtual machines themselves and get no virtualisation of their processor. Some have a KVM that
//! executes programs there, and emulates all code of kernels: a thousand times as slow, which takes hours to boot.

use std::time::Instant;

use kvm_ioctls::VcpuExit;

use super::registers::{TABLES_END, special_registers, write_tables};
use crate::error::Error;
use crate::sys::{self, memory::Memory};

const CODE: u64 = TABLES_END;
const MEMORY_BYTES: u64 = CODE + 0x1000;
/// Rounds of a loop with two instructions.
const ROUNDS: u32 = 10_000;
/// A processor, even an emulated one, needs less for a round.
const ROUND_MAX_NS: u64 = 300;
/// The shortest time counts: the processor may be taken away meanwhile.
const ATTEMPTS: usize = 3;

/// Refuses a KVM that emulates privileged code.
pub fn check(kvm: &kvm_ioctls::Kvm) -> Result<(), Error> {
    let mut shortest = u64::MAX;
    for _ in 0..ATTEMPTS {
        shortest = shortest.min(round_ns(kvm)?);
        if shortest <= ROUND_MAX_NS {
            return Ok(());
        }
    }
    Err(Error::Privileged { ns: shortest / 2 })
}

/// Returns the time of a round.
fn round_ns(kvm: &kvm_ioctls::Kvm) -> Result<u64, Error> {
    let failed = Error::kvm;
    let memory = Memory::new("probe", MEMORY_BYTES);
    let memory = memory.map_err(Error::io("there is no memory for a VM"))?;
    write_tables(&memory);
    // mov ecx, ROUNDS; dec ecx; jnz -2; hlt
    let mut code = vec![0xb9];
    code.extend(ROUNDS.to_le_bytes());
    code.extend([0xff, 0xc9, 0x75, 0xfc, 0xf4]);
    memory.write(CODE, &code);
    let vm = kvm.create_vm().map_err(failed("KVM makes no VM"))?;
    vm.set_tss_address(0xfffb_d000).map_err(failed("KVM makes no VM"))?;
    sys::give(&vm, 0, 0, &memory).map_err(failed("KVM refuses the RAM of a VM"))?;
    let mut vcpu = vm.create_vcpu(0).map_err(failed("KVM makes no VCPU"))?;
    let mut special = vcpu.get_sregs().map_err(failed("KVM tells no registers"))?;
    special_registers(&mut special);
    vcpu.set_sregs(&special).map_err(failed("KVM refuses registers"))?;
    let registers = kvm_bindings::kvm_regs { rip: CODE, rflags: 2, ..Default::default() };
    vcpu.set_regs(&registers).map_err(failed("KVM refuses registers"))?;
    let start = Instant::now();
    loop {
        match vcpu.run() {
            Ok(VcpuExit::Hlt) => break,
            Ok(VcpuExit::Intr) => {}
            Err(error) if [libc::EINTR, libc::EAGAIN].contains(&error.errno()) => {}
            // It cannot even do this.
            _ => return Ok(u64::MAX),
        }
    }
    Ok(start.elapsed().as_nanos() as u64 / u64::from(ROUNDS))
}
