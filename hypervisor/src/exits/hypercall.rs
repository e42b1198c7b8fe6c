//! HVC and SMC of guests: PSCI, SMCCC and Bulkhead's own functions (see `bulkhead_abi::hypercall`).

use bulkhead_abi::hypercall::{
    CALL_UID, CONSOLE_WRITE, CONSOLE_WRITE_MAX, Error, FEATURE_CONSOLE_WRITE, FEATURE_TRACE_MARK,
    FEATURE_VM_INFO, FEATURES, REVISION, TRACE_MARK, UID, VERSION_MAJOR, VERSION_MINOR, VM_INFO,
    VmInfo,
};
use bulkhead_abi::trace::Kind;

use crate::arch::context::Context;
use crate::machine;
use crate::pcpu::{Assignment, Pcpu};
use crate::vm;

const SMCCC_VERSION: u32 = 0x8000_0000;
const SMCCC_ARCH_FEATURES: u32 = 0x8000_0001;
/// SMCCC 1.1.
const SMCCC_1_1: u64 = 1 << 16 | 1;

/// Owner (bits 29..24) of the standard secure services, PSCI among them.
const OWNER_STANDARD: u32 = 4;
const OWNER_HYPERVISOR: u32 = 6;

/// Serves the call whose function identifier is in `w0`.
#[inline(never)]
pub fn call(context: &mut Context, at: &Assignment, pcpu: &'static Pcpu) {
    let function = context.x[0] as u32;
    let result = match function >> 24 & 0x3f {
        OWNER_STANDARD => vm::psci(context, at, pcpu).map(|result| result as u64),
        OWNER_HYPERVISOR => own(function, context, at, pcpu),
        _ => smccc(function, context),
    };
    context.x[0] = result.unwrap_or(Error::NotSupported.to_x0());
}

fn smccc(function: u32, context: &Context) -> Option<u64> {
    match function {
        SMCCC_VERSION => Some(SMCCC_1_1),
        SMCCC_ARCH_FEATURES => {
            let known = matches!(context.x[1] as u32, SMCCC_VERSION | SMCCC_ARCH_FEATURES);
            known.then_some(0)
        }
        _ => None,
    }
}

fn own(function: u32, context: &mut Context, at: &Assignment, pcpu: &'static Pcpu) -> Option<u64> {
    Some(match function {
        CALL_UID => {
            for (register, word) in context.x[1..4].iter_mut().zip(&UID[1..]) {
                *register = u64::from(*word);
            }
            u64::from(UID[0])
        }
        REVISION => {
            context.x[1] = u64::from(VERSION_MINOR);
            u64::from(VERSION_MAJOR)
        }
        FEATURES => FEATURE_CONSOLE_WRITE | FEATURE_TRACE_MARK | FEATURE_VM_INFO,
        CONSOLE_WRITE => console_write(context.x[1], context.x[2], at).unwrap_or_else(Error::to_x0),
        TRACE_MARK => {
            pcpu.record(at, Kind::GuestMark, context.x[1]);
            0
        }
        VM_INFO => vm_info(context.x[1], at).unwrap_or(Error::Invalid.to_x0()),
        _ => return None,
    })
}

#[inline(never)]
fn console_write(address: u64, bytes: u64, at: &Assignment) -> Result<u64, Error> {
    if bytes > CONSOLE_WRITE_MAX {
        return Err(Error::Invalid);
    }
    let mut buffer = [0; CONSOLE_WRITE_MAX as usize];
    let buffer = &mut buffer[..bytes as usize];
    if !at.vm.read_memory(address, buffer) {
        return Err(Error::BadAddress);
    }
    Ok(machine::console_write(at.vm.index, buffer) as u64)
}

fn vm_info(selector: u64, at: &Assignment) -> Option<u64> {
    Some(match VmInfo::from_selector(selector)? {
        VmInfo::VmIndex => at.vm.index as u64,
        VmInfo::VcpuCount => at.vm.vcpus.len() as u64,
        VmInfo::VcpuIndex => at.vcpu.index as u64,
        VmInfo::Restarts => u64::from(at.vm.restarts()),
        VmInfo::MemoryBytes => at.vm.memory_bytes(),
    })
}
