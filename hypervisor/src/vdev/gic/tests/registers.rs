//! Registers as a guest finds them.

use super::vm::{DEVICE, UART, Vm, offset};
use crate::vdev::gic::{Frame, Physical};

const GICD: Frame = Frame::Distributor;

#[test]
fn the_distributor_describes_itself() {
    let vm = Vm::new(2);
    assert_eq!(vm.read(0, GICD, 0x0, 4), 0x50, "one security state, affinity routing");
    let typer = vm.read(0, GICD, 0x4, 4);
    assert_eq!(typer & 0x1f, 2, "32 * (2 + 1) INTIDs");
    assert_eq!(typer >> 16 & 3, 0, "no LPIs, no message-based SPIs");
    assert_eq!(typer >> 19 & 0x1f, 9, "10 bits of INTID");
    assert_eq!(vm.read(0, GICD, 0xffe8, 4) >> 4 & 0xf, 3, "GICv3");
}

#[test]
fn each_redistributor_names_its_vcpu() {
    let vm = Vm::new(3);
    for vcpu in 0..3 {
        let frame = Frame::Redistributor(vcpu);
        let typer = vm.read(0, frame, 0x8, 8);
        assert_eq!(typer >> 32, vcpu as u64, "affinity");
        assert_eq!(typer >> 8 & 0xffff, vcpu as u64, "processor number");
        assert_eq!(typer >> 4 & 1 != 0, vcpu == 2, "last");
        assert_eq!(typer & 1, 0, "no LPIs");
        assert_eq!(vm.read(0, frame, 0xc, 4), typer >> 32);
        assert_eq!(vm.read(0, frame, 0x8, 4), typer & 0xffff_ffff);
        assert_eq!(vm.read(0, frame, 0xffe8, 4) >> 4 & 0xf, 3, "GICv3");
    }
}

#[test]
fn a_redistributor_wakes_and_sleeps() {
    let vm = Vm::new(1);
    let frame = Frame::Redistributor(0);
    assert_eq!(vm.read(0, frame, 0x14, 4), 6);
    vm.write(0, frame, 0x14, 4, 0);
    assert_eq!(vm.read(0, frame, 0x14, 4), 0);
    vm.write(0, frame, 0x14, 4, 2);
    assert_eq!(vm.read(0, frame, 0x14, 4), 6);
}

#[test]
fn access_sizes_are_those_of_the_architecture() {
    let vm = Vm::new(2);
    let allowed = |frame, offset, bytes| {
        let read = vm.on(0, || vm.gic.mmio_read(&vm.machine, 0, frame, offset, bytes));
        let write = vm.on(0, || vm.gic.mmio_write(&vm.machine, 0, frame, offset, bytes, 0));
        assert_eq!(read.is_some(), write.is_some());
        read.is_some()
    };
    let redistributor = Frame::Redistributor(1);
    for (frame, at, bytes) in [
        (GICD, 0x0, 4),
        (GICD, 0x421, 1),
        (GICD, 0x420, 4),
        (GICD, 0x6100, 8),
        (GICD, 0x6104, 4),
        (GICD, 0x5000, 4),
        (GICD, 0xfffc, 4),
        (redistributor, 0x8, 8),
        (redistributor, 0x1_041f, 1),
        (redistributor, 0x1_fffc, 4),
    ] {
        assert!(allowed(frame, at, bytes), "{bytes} bytes at {at:#x} of {frame:?}");
    }
    for (frame, at, bytes) in [
        (GICD, 0x4, 8),
        (GICD, 0x4, 2),
        (GICD, 0x4, 1),
        (GICD, 0x420, 2),
        (GICD, 0x422, 4),
        (GICD, 0x6104, 8),
        (GICD, 0x420, 16),
        (GICD, 0x420, 0),
        (GICD, 0x420, 3),
        (GICD, 0x1_0000, 4),
        (redistributor, 0x0, 8),
        (redistributor, 0x8, 1),
        (redistributor, 0x1_0400, 8),
        (redistributor, 0x2_0000, 4),
        (Frame::Redistributor(2), 0x8, 4),
        (GICD, u64::MAX, 1),
    ] {
        assert!(!allowed(frame, at, bytes), "{bytes} bytes at {at:#x} of {frame:?}");
    }
}

#[test]
fn fields_are_written_and_read_back() {
    let vm = Vm::new(1);
    vm.write(0, GICD, offset::IGROUPR + 4, 4, 0x1234_5678);
    assert_eq!(vm.read(0, GICD, offset::IGROUPR + 4, 4), 0x1234_5678);
    vm.write(0, GICD, offset::ISENABLER + 4, 4, 0xff);
    vm.write(0, GICD, offset::ICENABLER + 4, 4, 0x0f);
    assert_eq!(vm.read(0, GICD, offset::ISENABLER + 4, 4), 0xf0);
    assert_eq!(vm.read(0, GICD, offset::ICENABLER + 4, 4), 0xf0);
    vm.write(0, GICD, offset::IPRIORITYR + 40, 4, 0xff80_4021);
    assert_eq!(vm.read(0, GICD, offset::IPRIORITYR + 40, 4), 0xf880_4020, "5 bits");
    assert_eq!(vm.read(0, GICD, offset::IPRIORITYR + 43, 1), 0xf8);
    vm.write(0, GICD, offset::IPRIORITYR + 42, 1, 0x10);
    assert_eq!(vm.read(0, GICD, offset::IPRIORITYR + 40, 4), 0xf810_4020);
    vm.write(0, GICD, offset::ICFGR + 12, 4, 0xa000_0008);
    assert_eq!(vm.read(0, GICD, offset::ICFGR + 12, 4), 0xa000_0008);
    assert_eq!(vm.read(0, GICD, offset::ICFGR + 8, 4), 0);
    let router = offset::IROUTER + 8 * u64::from(UART);
    vm.write(0, GICD, router, 8, 0xab_8012_3456);
    assert_eq!(vm.read(0, GICD, router, 8), 0xab_0012_3456, "no 1-of-N");
    vm.write(0, GICD, router + 4, 4, 0x1);
    assert_eq!(vm.read(0, GICD, router, 8), 0x1_0012_3456);
    assert_eq!(vm.read(0, GICD, router + 4, 4), 0x1);
}

#[test]
fn reserved_registers_read_as_zero() {
    let vm = Vm::configured(1);
    let redistributor = Frame::Redistributor(0);
    // Bank 0 of the distributor, banks that do not exist, ITARGETSR, NSACR, SGIR, IROUTER of PPIs.
    for at in
        [0x80, 0x100, 0x200, 0x400, 0xc00, 0x8c, 0x10c, 0x460, 0xc18, 0x820, 0xe04, 0xf00, 0x60d8]
    {
        vm.write(0, GICD, at, 4, 0xffff_ffff);
        assert_eq!(vm.read(0, GICD, at, 4), 0, "GICD at {at:#x}");
    }
    for at in [0x40, 0x70, 0x1_0084, 0x1_0104, 0x1_0420, 0x1_0c08, 0x1_0d00, 0x1_6100] {
        vm.write(0, redistributor, at, 4, 0xffff_ffff);
        assert_eq!(vm.read(0, redistributor, at, 4), 0, "GICR at {at:#x}");
    }
    assert!(!vm.step());
}

#[test]
fn triggers_of_private_interrupts_are_fixed() {
    let vm = Vm::new(1);
    let frame = Frame::Redistributor(0);
    for (at, value) in [(0x1_0c00, 0xaaaa_aaaa), (0x1_0c04, 0)] {
        vm.write(0, frame, at, 4, 0x5555_5555 ^ value);
        assert_eq!(vm.read(0, frame, at, 4), value);
    }
}

#[test]
fn the_physical_interrupt_follows_the_guest() {
    let vm = Vm::configured(2);
    let source = || vm.machine.source(Physical::of(0, DEVICE.1), |source| *source);
    assert!(source().enabled && !source().edge);
    vm.set_edge(0, DEVICE.0);
    assert!(source().edge);
    vm.route(0, DEVICE.0, 1);
    assert_eq!(source().target, 1);
    vm.write_bit(0, 0, offset::ICENABLER, DEVICE.0);
    assert!(!source().enabled);
    vm.write_bit(0, 0, offset::ISENABLER, DEVICE.0);
    vm.write(0, GICD, 0, 4, 0);
    assert!(!source().enabled, "its group is disabled");
    vm.write(0, GICD, 0, 4, 1);
    assert!(!source().enabled);
    vm.write(0, GICD, offset::IGROUPR + 4, 4, 0);
    assert!(source().enabled, "now in the enabled group");
}

#[test]
fn hammering_interrupt_state_is_bounded_work() {
    let vm = Vm::configured(3);
    for round in 0..50u64 {
        for register in 0x20..0x100 {
            let value = 0xffff_ffff ^ round << (register % 7);
            vm.write((round % 3) as usize, GICD, register * 4, 4, value);
            vm.write(0, Frame::Redistributor(2), 0x1_0000 + register * 4, 4, value);
        }
        vm.send_sgi(0, 1 << 40 | 0xffff, round % 16);
    }
    vm.settle();
}

/// Waiting for the distributor costs a device's time, with the VM's interrupt state locked.
#[test]
fn only_a_change_of_triggers_waits_for_the_distributor_and_once() {
    let assigned: Vec<(u32, u32)> = (0..32).map(|n| (64 + n, 128 + n)).collect();
    let vm = Vm::with_devices(2, &assigned);
    let waits = |offset, value| {
        let before = vm.machine.waits.get();
        vm.write(0, GICD, offset, 4, value);
        vm.machine.waits.get() - before
    };
    let all = u64::from(u32::MAX);
    for (offset, value) in [
        (0x0, 0b10),
        (offset::ISENABLER + 8, all),
        (offset::IGROUPR + 8, all),
        (offset::ICENABLER + 8, all),
        (offset::ISENABLER + 8, all),
        (offset::IGROUPR + 8, 0),
        (0x0, 0),
        (offset::ICPENDR + 8, all),
        (offset::ICACTIVER + 8, all),
    ] {
        assert_eq!(waits(offset, value), 0, "{offset:#x}");
    }
    assert_eq!(waits(offset::ICFGR + 16, 0xaaaa_aaaa), 1);
    assert_eq!(waits(offset::ICFGR + 16, 0xaaaa_aaaa), 0, "nothing changes");
    let before = vm.machine.waits.get();
    vm.gic.reset(&vm.machine);
    assert_eq!(vm.machine.waits.get() - before, 1, "one of its banks has devices");
}
