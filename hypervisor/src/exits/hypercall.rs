//! HVC and SMC of guests: PSCI, SMCCC and Bulkhead's own functions (see `abi::hypercall`).

use abi::hypercall::{
    AUDIT, CALL_UID, COLOR_REQUEST, CONSOLE_WRITE, CONSOLE_WRITE_MAX, Error, FEATURE_AUDIT,
    FEATURE_COLORING, FEATURE_CONSOLE_WRITE, FEATURE_LOCKS, FEATURE_TRACE_MARK, FEATURE_VM_INFO,
    FEATURES, GCS_START, INFO_POOL_FREE_OF, LOCK_GRANTED, REVISION, TRACE_MARK, UID, VERSION_MAJOR,
    VERSION_MINOR, VM_INFO, VmInfo,
};
use abi::trace::Kind;
use policy::color::Color;

use crate::arch::cpu;

use crate::arch::context::Context;
use crate::locks;
use crate::machine;
use crate::pcpu::{Assignment, Pcpu};
use crate::plan::Ram;
use crate::stage1::Space;
use crate::vm::{
    self,
    work::{self, Answer},
};

const SMCCC_VERSION: u32 = 0x8000_0000;
const SMCCC_ARCH_FEATURES: u32 = 0x8000_0001;
/// SMCCC 1.1.
const SMCCC_1_1: u64 = 1 << 16 | 1;

/// Owner (bits 29..24) of the standard secure services, PSCI among them.
const OWNER_STANDARD: u32 = 4;
const OWNER_STANDARD_HYPERVISOR: u32 = 5;
const OWNER_HYPERVISOR: u32 = 6;

/// Function that says which functions for stolen time there are (Arm DEN 0057).
const PV_TIME_FEATURES: u32 = 0xC500_0020;
/// Function that returns the address at which the calling VCPU reads how much time was stolen from it.
const PV_TIME_ST: u32 = 0xC500_0021;

/// The last function about critical sections, counted from the first.
const LAST_OF_LOCKS: u32 = LOCK_GRANTED - GCS_START;

/// Serves the call whose function identifier is in `w0`.
#[inline(always)]
pub fn call(context: &mut Context, at: &Assignment, pcpu: &'static Pcpu) {
    const MARK: u32 = TRACE_MARK.wrapping_sub(GCS_START);
    let function = context.x[0] as u32;
    // First: they are called around each critical section.
    match function.wrapping_sub(GCS_START) {
        0..=LAST_OF_LOCKS => locks::call(function, context, at, pcpu),
        MARK => trace_mark(context, at, pcpu),
        _ => call_other(function, context, at, pcpu),
    }
}

#[inline(never)]
fn call_other(function: u32, context: &mut Context, at: &Assignment, pcpu: &'static Pcpu) {
    let result = match function >> 24 & 0x3f {
        OWNER_STANDARD if function & 0xff_ffff <= vm::PSCI_LAST => {
            vm::psci(context, at, pcpu).map(|result| result as u64)
        }
        OWNER_STANDARD_HYPERVISOR => stolen_time(function, context, at),
        OWNER_HYPERVISOR => own(function, context, at, pcpu),
        _ => smccc(function, context),
    };
    context.x[0] = result.unwrap_or(Error::NotSupported.to_x0());
}

fn smccc(function: u32, context: &Context) -> Option<u64> {
    match function {
        SMCCC_VERSION => Some(SMCCC_1_1),
        SMCCC_ARCH_FEATURES => {
            const KNOWN: [u32; 3] = [SMCCC_VERSION, SMCCC_ARCH_FEATURES, PV_TIME_FEATURES];
            KNOWN.contains(&(context.x[1] as u32)).then_some(0)
        }
        _ => None,
    }
}

fn stolen_time(function: u32, context: &Context, at: &Assignment) -> Option<u64> {
    // Last: where the record is takes longer than to see that nobody asks for it.
    let record = || at.vm.time_record(at.vcpu.index);
    match function {
        PV_TIME_ST => record(),
        PV_TIME_FEATURES => {
            let known = matches!(context.x[1] as u32, PV_TIME_FEATURES | PV_TIME_ST);
            record().filter(|_| known).map(|_| 0)
        }
        _ => None,
    }
}

fn own(function: u32, context: &mut Context, at: &Assignment, pcpu: &'static Pcpu) -> Option<u64> {
    Some(match function {
        FEATURES => {
            const ALL: u64 = FEATURE_CONSOLE_WRITE
                | FEATURE_TRACE_MARK
                | FEATURE_VM_INFO
                | FEATURE_AUDIT
                | FEATURE_LOCKS;
            ALL | if at.vm.plan.coloring.is_some() { FEATURE_COLORING } else { 0 }
        }
        CONSOLE_WRITE => console_write(context.x[1], context.x[2], at).unwrap_or_else(Error::to_x0),
        VM_INFO => vm_info(context.x[1], at),
        COLOR_REQUEST => {
            at.vm.request_colors(Space::current(), context.x[1], Answer::Call, at, pcpu) as u64
        }
        AUDIT => work::audit(Answer::Call, at, pcpu),
        CALL_UID | REVISION => service(function, context),
        _ => return None,
    })
}

/// Returns the identity or else the revision that the calling convention asks of every vendor.
#[inline(never)]
fn service(function: u32, context: &mut Context) -> u64 {
    match function {
        CALL_UID => {
            for (register, word) in context.x[1..4].iter_mut().zip(&UID[1..]) {
                *register = u64::from(*word);
            }
            u64::from(UID[0])
        }
        _ => {
            context.x[1] = u64::from(VERSION_MINOR);
            u64::from(VERSION_MAJOR)
        }
    }
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

#[inline(never)]
fn trace_mark(context: &mut Context, at: &Assignment, pcpu: &'static Pcpu) {
    mark(context.x[1], at, pcpu);
    context.x[0] = 0;
}

/// Records a mark of the guest and shows it to observers.
pub fn mark(value: u64, at: &Assignment, pcpu: &'static Pcpu) {
    pcpu.record_at(cpu::now_unordered(), Some(at), Kind::GuestMark, value);
    cpu::show_mark(value);
}

/// Returns the fact that a selector names, or [`Error::Invalid`].
#[inline(never)]
pub fn vm_info(selector: u64, at: &Assignment) -> u64 {
    let value = match VmInfo::from_selector(selector) {
        Some(what) => fact(what, at),
        None => pool_free_of(selector, at),
    };
    value.unwrap_or(Error::Invalid.to_x0())
}

fn fact(what: VmInfo, at: &Assignment) -> Option<u64> {
    let plan = &at.vm.plan;
    let llc = |field: usize| Some(u64::from(plan.llc?.shape[field]));
    let colors = |ram: Option<&Ram>| Some(ram?.colors?.bits());
    let pool = plan.coloring.as_ref().map(|coloring| &coloring.pool);
    match what {
        VmInfo::VmIndex => Some(at.vm.index as u64),
        VmInfo::VcpuCount => Some(at.vm.vcpus.len() as u64),
        VmInfo::VcpuIndex => Some(at.vcpu.index as u64),
        VmInfo::Restarts => Some(u64::from(at.vm.restarts())),
        VmInfo::MemoryBytes => Some(at.vm.memory_bytes()),
        VmInfo::LlcBytes => llc(0),
        VmInfo::LlcWays => llc(1),
        VmInfo::LlcLineBytes => llc(2),
        VmInfo::LlcColors => Some(1 << plan.llc?.color_mask.count_ones()),
        VmInfo::Colors => colors(plan.memory.first()),
        VmInfo::ExtraColors => colors(pool),
        VmInfo::PoolFrames => Some(pool?.pages()),
        VmInfo::PoolFree => at.vm.pool_free(None),
        VmInfo::ServersStart => Some(machine::servers_start()),
    }
}

fn pool_free_of(selector: u64, at: &Assignment) -> Option<u64> {
    let color = Color::new(u8::try_from(selector.checked_sub(INFO_POOL_FREE_OF)?).ok()?)?;
    at.vm.pool_free(Some(color))
}
