//! Accesses of a guest to addresses without memory: its virtual devices, or nothing.

use super::{class, doorbell};
use crate::arch::context::Context;
use crate::arch::{gic, regs};
use crate::machine;
use crate::pcpu::{Assignment, Pcpu};
use crate::vdev::access::Access;
use crate::vdev::gic::Frame;
use crate::vm::work::{self, Work};
use crate::vm::{self, Crash, GicEnv, bell, color_serial, link, port};

/// ESR: the fault hit a table walk of the guest's own translation.
const ON_TABLE_WALK: u64 = 1 << 7;
const SYNDROME_VALID: u64 = 1 << 24;
const WRITE: u64 = 1 << 6;
/// Fault status of a translation fault, at any level.
const TRANSLATION: u64 = 0x04;
const TRANSLATION_MASK: u64 = 0x3c;
const CACHE_MAINTENANCE: u64 = 1 << 8;

/// A redistributor's two frames.
const REDISTRIBUTOR_BYTES: u64 = 0x2_0000;

/// The page that stage 2 did not translate (IPA).
#[inline(always)]
fn fault_page() -> u64 {
    (regs::hpfar_el2::read() & 0xfff_ffff_fff0) << 8
}

/// A data or instruction abort of the guest at stage 2 because a page is absent, which is
/// not yet mapped RAM or nothing.
#[inline(never)]
pub fn page_absent(context: &mut Context, syndrome: u64, at: &Assignment, pcpu: &'static Pcpu) {
    if at.vm.touch(fault_page()) {
        // It is there now, and the guest tries again.
        return;
    }
    if class::of(syndrome) == class::DATA_ABORT {
        return data_abort(context, syndrome, at, pcpu);
    }
    nothing_there(context, syndrome, at, pcpu)
}

/// The guest accessed an address at which it has nothing: that fails as on a machine, or is a crash.
#[cold]
#[inline(never)]
pub fn nothing_there(context: &mut Context, syndrome: u64, at: &Assignment, pcpu: &'static Pcpu) {
    if at.vm.plan.aborts {
        return vm::abort(context, syndrome, regs::far_el2::read());
    }
    let crash = if syndrome & ON_TABLE_WALK != 0 {
        Crash::TableWalk
    } else if class::of(syndrome) == class::DATA_ABORT {
        Crash::NothingThere
    } else {
        Crash::Fetch
    };
    at.vm.crash(crash, at, pcpu)
}

/// A data abort of the guest at stage 2, apart from [`page_absent`].
#[inline(never)]
pub fn data_abort(context: &mut Context, syndrome: u64, at: &Assignment, pcpu: &'static Pcpu) {
    let far = regs::far_el2::read();
    let ipa = fault_page() | far & 0xfff;
    const KIND: u64 = SYNDROME_VALID | ON_TABLE_WALK | CACHE_MAINTENANCE;
    let plain = syndrome & KIND == SYNDROME_VALID;
    if !plain || syndrome & TRANSLATION_MASK != TRANSLATION {
        return without_syndrome(context, syndrome, ipa, far, at, pcpu);
    }
    let access = Access::new(syndrome);
    let write = (syndrome & WRITE != 0).then(|| access.truncate(context.get(access.register)));
    match device_access(context, at, pcpu, ipa, access.bytes, write) {
        Outcome::Done(value) => {
            if write.is_none() {
                context.set(access.register, access.extend(value));
            }
            context.skip(syndrome);
        }
        Outcome::Refused => vm::abort(context, syndrome, far),
        Outcome::Busy => {}
        Outcome::NothingThere => nothing_there(context, syndrome, at, pcpu),
    }
}

/// The access cannot be emulated: the hardware does not tell its register.
#[cold]
fn without_syndrome(
    context: &mut Context,
    syndrome: u64,
    ipa: u64,
    far: u64,
    at: &Assignment,
    pcpu: &'static Pcpu,
) {
    if syndrome & TRANSLATION_MASK != TRANSLATION {
        // Something is there, but it does not take this access: alignment, bus error.
        return vm::abort(context, syndrome, far);
    }
    if syndrome & ON_TABLE_WALK != 0 || !is_device(at, ipa) {
        return nothing_there(context, syndrome, at, pcpu);
    }
    if syndrome & CACHE_MAINTENANCE != 0 {
        // Devices have nothing in the caches.
        context.skip(syndrome);
        return;
    }
    vm::abort(context, syndrome, far);
}

fn is_device(at: &Assignment, ipa: u64) -> bool {
    let plan = &at.vm.plan;
    let within = |range: &crate::plan::Range| range.start <= ipa && ipa < range.end();
    plan.gic.frames().iter().any(within)
        || plan.serial.as_ref().is_some_and(|(range, _)| within(range))
        || plan.color_serial.as_ref().is_some_and(|(range, _)| within(range))
        || plan.bell.as_ref().is_some_and(|(range, _)| within(range))
        || plan.serial_lines.iter().any(|end| within(&end.registers))
        || plan.links.iter().any(|end| within(&end.registers))
        || plan.coloring.as_ref().is_some_and(|coloring| within(&coloring.doorbell))
}

enum Outcome {
    /// The device took part; a load gets this value.
    Done(u64),
    /// The device does not allow this access.
    Refused,
    /// The device is busy: the guest has to try again.
    Busy,
    /// There is no device at the address.
    NothingThere,
}

#[inline(always)]
fn device_access(
    context: &Context,
    at: &Assignment,
    pcpu: &'static Pcpu,
    ipa: u64,
    bytes: u64,
    write: Option<u64>,
) -> Outcome {
    let plan = &at.vm.plan;
    let offset = ipa.wrapping_sub(plan.gic.distributor.start);
    if offset < plan.gic.distributor.bytes {
        if gic::is_v2() {
            return banked_access(at, offset, bytes, write);
        }
        return gic_access(at, Frame::Distributor, offset, bytes, write);
    }
    let offset = ipa.wrapping_sub(plan.gic.redistributors.start);
    if offset < plan.gic.redistributors.bytes {
        let vcpu = (offset / REDISTRIBUTOR_BYTES) as usize;
        if vcpu >= at.vm.vcpus.len() {
            return Outcome::Refused;
        }
        let frame = Frame::Redistributor(vcpu);
        return gic_access(at, frame, offset % REDISTRIBUTOR_BYTES, bytes, write);
    }
    if let Some((range, _)) = &plan.serial {
        let offset = ipa.wrapping_sub(range.start);
        if offset < range.bytes {
            return machine::uart_access(at.vm, offset, bytes, write)
                .map_or(Outcome::Refused, Outcome::Done);
        }
    }
    if let Some((range, _)) = &plan.bell {
        let offset = ipa.wrapping_sub(range.start);
        if offset < range.bytes {
            return bell::access(at.vm, offset, bytes, write)
                .map_or(Outcome::Refused, Outcome::Done);
        }
    }
    coloring_access(context, at, pcpu, ipa, bytes, write)
}

/// An access to an end of a serial line or of a link, or to one of the devices on which a guest asks for colours.
// Apart from the others, which need fewer registers without it.
#[inline(never)]
fn coloring_access(
    context: &Context,
    at: &Assignment,
    pcpu: &'static Pcpu,
    ipa: u64,
    bytes: u64,
    write: Option<u64>,
) -> Outcome {
    let plan = &at.vm.plan;
    if let Some(coloring) = &plan.coloring {
        let offset = ipa.wrapping_sub(coloring.doorbell.start);
        if offset < coloring.doorbell.bytes {
            if bytes != 8 {
                return Outcome::Refused;
            }
            return doorbell::access(context, at, pcpu, offset, write)
                .map_or(Outcome::Refused, Outcome::Done);
        }
    }
    if let Some((range, _)) = &plan.color_serial {
        let offset = ipa.wrapping_sub(range.start);
        if offset < range.bytes {
            return color_serial::access(at, offset, bytes, write)
                .map_or(Outcome::Refused, Outcome::Done);
        }
    }
    match port::access(at, pcpu, ipa, bytes, write) {
        Some(Ok(value)) => Outcome::Done(value),
        Some(Err(port::Busy)) => Outcome::Busy,
        None => link_access(at, pcpu, ipa, bytes, write),
    }
}

/// An access to the network card at an end of a link. Does not return if frames are to be sent before the guest continues.
#[inline(never)]
fn link_access(
    at: &Assignment,
    pcpu: &'static Pcpu,
    ipa: u64,
    bytes: u64,
    write: Option<u64>,
) -> Outcome {
    match link::access(at, ipa, bytes, write) {
        Some(link::Served::Value(value)) => Outcome::Done(value),
        Some(link::Served::Refused) => Outcome::Refused,
        Some(link::Served::Busy) => Outcome::Busy,
        Some(link::Served::Transmit(sending)) => work::begin(Work::Transmit(sending), at, pcpu),
        None => Outcome::NothingThere,
    }
}

/// An access to the distributor of a GICv2.
#[inline(never)]
fn banked_access(at: &Assignment, offset: u64, bytes: u64, write: Option<u64>) -> Outcome {
    gic_access(at, Frame::BankedDistributor, offset, bytes, write)
}

#[inline(always)]
fn gic_access(
    at: &Assignment,
    frame: Frame,
    offset: u64,
    bytes: u64,
    write: Option<u64>,
) -> Outcome {
    let env = GicEnv::of(at);
    let (bytes, vcpu) = (bytes as usize, at.vcpu.index);
    let result = match write {
        None => at.vm.gic.mmio_read(&env, vcpu, frame, offset, bytes),
        Some(value) => at.vm.gic.mmio_write(&env, vcpu, frame, offset, bytes, value).map(|()| 0),
    };
    result.map_or(Outcome::Refused, Outcome::Done)
}
