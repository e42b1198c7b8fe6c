//! GICv2: registers as a guest finds them, targets, and senders of SGIs.

use super::vm::{DEVICE, TIMER, UART, Vm, offset};
use crate::vdev::gic::{Frame, Physical};

const GICD: Frame = Frame::BankedDistributor;
const ITARGETSR: u64 = 0x800;
const SGIR: u64 = 0xf00;
const CPENDSGIR: u64 = 0xf10;
const SPENDSGIR: u64 = 0xf20;

fn send(vm: &Vm, from: usize, targets: u64, sgi: u64) {
    vm.write(from, GICD, SGIR, 4, targets << 16 | sgi);
}

/// What a VCPU takes and ends, with the sender: the interrupts of others settle in between.
fn takes(vm: &Vm, vcpu: usize) -> Vec<(u32, u8)> {
    let mut taken = Vec::new();
    vm.settle();
    while let Some((slot, entry)) = vm.machine.best(vcpu) {
        assert_eq!(vm.acknowledge(vcpu), Some(entry.intid()));
        taken.push((entry.intid(), vm.machine.cpus[vcpu].lists.borrow()[slot].sender()));
        vm.settle();
        vm.end(vcpu);
        vm.settle();
        assert!(taken.len() < 100, "delivered for ever: {taken:?}");
    }
    taken
}

#[test]
fn the_distributor_describes_itself() {
    let vm = Vm::v2(3);
    assert_eq!(vm.read(0, GICD, 0x0, 4), 0, "disabled");
    vm.write(0, GICD, 0x0, 4, !0);
    assert_eq!(vm.read(1, GICD, 0x0, 4), 3, "two groups");
    assert_eq!(vm.read(0, GICD, 0x4, 4), 2 << 5 | 2, "3 CPUs, 32 * (2 + 1) INTIDs");
    assert_eq!(vm.read(0, GICD, 0xfe8, 4) >> 4 & 0xf, 2, "GICv2");
    assert_eq!(vm.read(0, GICD, 0xff0, 4), 0x0d);
}

#[test]
fn each_vcpu_sees_its_own_private_interrupts() {
    let vm = Vm::v2(2);
    vm.write(0, GICD, offset::ISENABLER, 4, 1 << TIMER);
    vm.write(1, GICD, offset::IPRIORITYR + 27, 1, 0x40);
    assert_eq!(vm.read(0, GICD, offset::ISENABLER, 4), 1 << TIMER);
    assert_eq!(vm.read(1, GICD, offset::ISENABLER, 4), 0);
    assert_eq!(vm.read(0, GICD, offset::IPRIORITYR + 27, 1), 0);
    assert_eq!(vm.read(1, GICD, offset::IPRIORITYR + 27, 1), 0x40);
    vm.write(0, GICD, offset::ISENABLER + 4, 4, 2);
    assert_eq!(vm.read(1, GICD, offset::ISENABLER + 4, 4), 2, "shared");
}

#[test]
fn access_sizes_are_those_of_the_architecture() {
    let vm = Vm::v2(2);
    let allowed = |at, bytes| {
        let read = vm.on(0, || vm.gic.mmio_read(&vm.machine, 0, GICD, at, bytes));
        let write = vm.on(0, || vm.gic.mmio_write(&vm.machine, 0, GICD, at, bytes, 0));
        assert_eq!(read.is_some(), write.is_some());
        read.is_some()
    };
    for (at, bytes) in [(0, 4), (0x401, 1), (0x823, 1), (0xbfc, 4), (0xf1f, 1), (0xf20, 4)] {
        assert!(allowed(at, bytes), "{bytes} bytes at {at:#x}");
    }
    for (at, bytes) in [(0, 1), (2, 4), (0x100, 8), (0x802, 2), (0xf00, 1), (0x1000, 4), (0, 0)] {
        assert!(!allowed(at, bytes), "{bytes} bytes at {at:#x}");
    }
    assert!(!allowed(u64::MAX, 1));
}

#[test]
fn targets_are_bytes() {
    let vm = Vm::v2(3);
    assert_eq!(vm.read(2, GICD, ITARGETSR, 4), 0x0404_0404, "the reader itself");
    vm.write(2, GICD, ITARGETSR, 4, 0x0101_0101);
    assert_eq!(vm.read(2, GICD, ITARGETSR, 4), 0x0404_0404, "read only");
    let uart = ITARGETSR + u64::from(UART);
    vm.write(0, GICD, uart, 1, 0xff);
    assert_eq!(vm.read(0, GICD, uart, 1), 7, "there are three");
    let alone = Vm::v2(1);
    alone.write(0, GICD, uart, 1, 1);
    assert_eq!(alone.read(0, GICD, uart, 1) | alone.read(0, GICD, ITARGETSR, 4), 0);
}

#[test]
fn shared_interrupts_go_to_one_of_their_targets() {
    let vm = Vm::configured_v2(3);
    vm.write(0, GICD, ITARGETSR + u64::from(UART), 1, 0b110);
    vm.set_line(UART, true);
    let taken: Vec<_> = (0..3).map(|vcpu| vm.acknowledge_when_settled(vcpu)).collect();
    assert_eq!(taken[0], None);
    assert_eq!(taken.iter().flatten().count(), 1, "{taken:?}");
    let device = ITARGETSR + u64::from(DEVICE.0);
    vm.write(0, GICD, device, 1, 0b100);
    assert_eq!(vm.machine.source(Physical::of(0, DEVICE.1), |source| source.target), 2);
    vm.fire(2, DEVICE.1);
    assert_eq!(vm.acknowledge_when_settled(2), Some(DEVICE.0));
}

#[test]
fn software_generated_interrupts_have_senders() {
    let vm = Vm::configured_v2(3);
    send(&vm, 1, 0b001, 5);
    send(&vm, 2, 0b001, 5);
    send(&vm, 0, 0b001, 5);
    send(&vm, 2, 0b001, 9);
    assert_eq!(takes(&vm, 0), [(5, 0), (5, 1), (5, 2), (9, 2)]);
    send(&vm, 1, 1 << 8, 3); // to all others
    assert_eq!([0, 1, 2].map(|vcpu| takes(&vm, vcpu).len()), [1, 0, 1]);
    send(&vm, 1, 2 << 8, 3); // to itself
    assert_eq!([0, 1, 2].map(|vcpu| takes(&vm, vcpu).len()), [0, 1, 0]);
    send(&vm, 1, 3 << 8 | 7, 3); // reserved
    assert_eq!([0, 1, 2].map(|vcpu| takes(&vm, vcpu).len()), [0, 0, 0]);
}

#[test]
fn the_same_sender_again_while_active_comes_again() {
    let vm = Vm::configured_v2(2);
    send(&vm, 1, 1, 5);
    vm.settle();
    assert_eq!(vm.acknowledge(0), Some(5));
    send(&vm, 1, 1, 5);
    send(&vm, 1, 1, 5);
    vm.settle();
    assert_eq!(vm.read(0, GICD, SPENDSGIR + 5, 1), 0b10);
    vm.end(0);
    assert_eq!(takes(&vm, 0), [(5, 1)], "once: it was pending already");
}

#[test]
fn pending_senders_are_set_and_cleared() {
    let vm = Vm::configured_v2(2);
    vm.write(0, GICD, SPENDSGIR + 4, 4, 0x0000_0300);
    assert_eq!(vm.read(0, GICD, CPENDSGIR + 4, 4), 0x0000_0300, "also what is listed");
    assert_eq!(vm.read(1, GICD, CPENDSGIR + 4, 4), 0, "of each VCPU its own");
    assert_eq!(vm.read(0, GICD, offset::ISPENDR, 4), 1 << 5);
    // The first one is in a list register, the second one waits.
    vm.write(0, GICD, CPENDSGIR + 5, 1, 0b01);
    assert_eq!(vm.read(0, GICD, CPENDSGIR + 5, 1), 0b10);
    assert_eq!(takes(&vm, 0), [(5, 1)]);
    vm.write(0, GICD, SPENDSGIR + 5, 1, 0b11);
    vm.write(0, GICD, CPENDSGIR + 5, 1, 0b11);
    assert_eq!(takes(&vm, 0), []);
    vm.write(0, GICD, SPENDSGIR + 5, 1, 0xfc);
    assert_eq!(takes(&vm, 0), [], "there are no such CPUs");
    vm.write(0, GICD, offset::ISPENDR, 4, 1 << 5);
    assert_eq!(takes(&vm, 0), [], "names no sender");
}

#[test]
fn a_stopped_vcpu_loses_its_software_generated_interrupts() {
    let vm = Vm::configured_v2(2);
    send(&vm, 1, 1, 5);
    send(&vm, 0, 1, 5);
    vm.settle();
    vm.on(0, || vm.gic.stop_vcpu(&vm.machine, 0));
    vm.on(0, || vm.gic.start_vcpu(&vm.machine, 0));
    vm.enable_v2(0);
    assert_eq!(takes(&vm, 0), []);
}

/// More senders and interrupts than list registers: each comes once.
#[test]
fn all_senders_come_when_list_registers_are_few() {
    let vm = Vm::configured_v2(4);
    for sgi in 0..16 {
        for from in 0..4 {
            send(&vm, from, 1, sgi);
        }
    }
    let mut taken = takes(&vm, 0);
    taken.sort_unstable();
    let all: Vec<_> = (0..16).flat_map(|sgi| (0..4).map(move |from| (sgi, from))).collect();
    assert_eq!(taken, all);
}

#[test]
fn hammering_interrupt_state_is_bounded_work() {
    let vm = Vm::configured_v2(3);
    for round in 0..50u64 {
        for register in 0..0x400 {
            let value = 0xffff_ffff ^ round << (register % 7);
            vm.write((round % 3) as usize, GICD, register * 4, 4, value);
            vm.read((register % 3) as usize, GICD, register * 4, 4);
        }
    }
    vm.settle();
}
