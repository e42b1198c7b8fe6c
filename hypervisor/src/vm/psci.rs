//! PSCI for guests (Arm DEN 0022, version 1.1): power of VCPUs and of the VM.

use super::lifecycle::{CpuOn, StopReason};
use super::{Power, Vcpu};
use crate::arch::context::Context;
use crate::pcpu::{Assignment, Pcpu};

/// PSCI function identifiers. Bit 30 selects the 64-bit form.
mod function {
    pub const VERSION: u32 = 0x8400_0000;
    pub const CPU_SUSPEND: u32 = 0x8400_0001;
    pub const CPU_OFF: u32 = 0x8400_0002;
    pub const CPU_ON: u32 = 0x8400_0003;
    pub const AFFINITY_INFO: u32 = 0x8400_0004;
    pub const MIGRATE_INFO_TYPE: u32 = 0x8400_0006;
    pub const SYSTEM_OFF: u32 = 0x8400_0008;
    pub const SYSTEM_RESET: u32 = 0x8400_0009;
    pub const FEATURES: u32 = 0x8400_000A;
    /// SMCCC_VERSION, which PSCI_FEATURES must report.
    pub const SMCCC_VERSION: u32 = 0x8000_0000;
    pub const BIT_64: u32 = 1 << 30;
}

/// The last implemented function, without the bits that all of them have in common.
pub const LAST: u32 = function::FEATURES & 0xff_ffff;

/// PSCI error codes.
mod error {
    pub const NOT_SUPPORTED: i64 = -1;
    pub const INVALID_PARAMETERS: i64 = -2;
    pub const DENIED: i64 = -3;
    pub const ALREADY_ON: i64 = -4;
    pub const ON_PENDING: i64 = -5;
    pub const INVALID_ADDRESS: i64 = -9;
}

/// PSCI 1.1.
const VERSION: i64 = 1 << 16 | 1;
/// Affinity info: on, off, on pending.
const AFFINITY: [i64; 3] = [0, 1, 2];
/// There is no trusted OS that could migrate.
const NO_TRUSTED_OS: i64 = 2;

/// Serves a PSCI call; `None` if the function is not one of PSCI. Does not return
/// when the VCPU stops.
#[inline(never)]
pub fn call(context: &mut Context, at: &Assignment, pcpu: &'static Pcpu) -> Option<i64> {
    let id = context.x[0] as u32;
    let wide = id & function::BIT_64 != 0;
    let argument = |n: usize| if wide { context.x[n] } else { context.x[n] & 0xffff_ffff };
    Some(match id & !function::BIT_64 {
        function::VERSION if !wide => VERSION,
        // Every state is standby, which is WFI. The result comes first: the wait may end in the
        // guest.
        function::CPU_SUSPEND => {
            context.x[0] = 0;
            pcpu.stand_by(at);
            0
        }
        function::CPU_OFF if !wide => at.vm.park(at, pcpu),
        function::CPU_ON => cpu_on(at, argument(1), argument(2), argument(3)),
        function::AFFINITY_INFO => affinity_info(at, argument(1), argument(2)),
        function::MIGRATE_INFO_TYPE if !wide => NO_TRUSTED_OS,
        function::SYSTEM_OFF if !wide => {
            at.vm.stop(StopReason::PowerOff);
            at.vm.park(at, pcpu)
        }
        function::SYSTEM_RESET if !wide => {
            at.vm.stop(StopReason::Reset);
            at.vm.park(at, pcpu)
        }
        function::FEATURES if !wide => features(context.x[1] as u32),
        _ => return None,
    })
}

/// Returns the VCPU with this affinity: its number is in Aff0, the rest is zero.
fn target(at: &Assignment, affinity: u64) -> Option<&Vcpu> {
    let affinity = affinity & 0xff_00ff_ffff;
    usize::try_from(affinity).ok().and_then(|index| at.vm.vcpus.get(index))
}

fn cpu_on(at: &Assignment, affinity: u64, entry: u64, argument: u64) -> i64 {
    let Some(vcpu) = target(at, affinity) else { return error::INVALID_PARAMETERS };
    if !entry.is_multiple_of(4) || !at.vm.is_ram(entry) {
        return error::INVALID_ADDRESS;
    }
    match at.vm.cpu_on(vcpu, entry, argument) {
        CpuOn::Started => 0,
        CpuOn::AlreadyOn => error::ALREADY_ON,
        CpuOn::Starting => error::ON_PENDING,
        CpuOn::VmStops => error::DENIED,
    }
}

fn affinity_info(at: &Assignment, affinity: u64, level: u64) -> i64 {
    if level != 0 {
        return error::INVALID_PARAMETERS;
    }
    match target(at, affinity).map(Vcpu::power) {
        Some(Power::On) => AFFINITY[0],
        Some(Power::Off) => AFFINITY[1],
        Some(Power::Starting) => AFFINITY[2],
        None => error::INVALID_PARAMETERS,
    }
}

fn features(id: u32) -> i64 {
    match id {
        function::VERSION
        | function::CPU_OFF
        | function::MIGRATE_INFO_TYPE
        | function::SYSTEM_OFF
        | function::SYSTEM_RESET
        | function::FEATURES
        | function::SMCCC_VERSION => 0,
        _ => match id & !function::BIT_64 {
            function::CPU_SUSPEND | function::CPU_ON | function::AFFINITY_INFO => 0,
            _ => error::NOT_SUPPORTED,
        },
    }
}
