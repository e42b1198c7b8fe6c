//! How often the device of a VM interrupts PCPUs whose VCPU does not execute, whatever another VCPU does to it.

use policy::pace::DEVICE_INTERRUPTS_MAX;

use super::vm::{DEVICE, Vm, offset};
use crate::vdev::gic::Frame;

const ROUNDS: u32 = 100;

/// Takes all interrupts of the machine that come to VCPU 0, each after `meanwhile`; returns how many.
fn taken_by_first(vm: &Vm, meanwhile: impl Fn()) -> u32 {
    let mut taken = 0;
    while let Some((pcpu, intid)) = vm.machine.firing() {
        taken += u32::from(pcpu == 0);
        meanwhile();
        vm.take_physical(pcpu, intid);
        assert!(taken <= ROUNDS, "without end");
    }
    taken
}

#[track_caller]
fn assert_few(taken: u32) {
    assert!(taken <= DEVICE_INTERRUPTS_MAX, "{taken} interrupts without an execution");
}

/// A VM whose VCPU 0 is ready and gets no time.
fn preempted() -> Vm {
    let vm = Vm::configured(2);
    vm.set_edge(1, DEVICE.0);
    vm.preempt(0);
    vm
}

#[test]
fn a_device_that_goes_to_nobody_interrupts_nobody() {
    let vm = preempted();
    vm.route(1, DEVICE.0, 99);
    let mut taken = 0;
    for _ in 0..ROUNDS {
        vm.write_bit(1, 0, offset::ISPENDR, DEVICE.0);
        taken += taken_by_first(&vm, || {});
        vm.write_bit(1, 0, offset::ICPENDR, DEVICE.0);
    }
    assert_few(taken);
    vm.run(0);
    vm.route(1, DEVICE.0, 0);
    vm.write_bit(1, 0, offset::ISPENDR, DEVICE.0);
    assert_eq!(vm.drain(0), [DEVICE.0]);
}

#[test]
fn a_device_without_targets_interrupts_nobody() {
    let vm = Vm::configured_v2(2);
    let (targets, word) = (0x800 + u64::from(DEVICE.0), u64::from(DEVICE.0 / 32 * 4));
    let write = |offset, bytes, value| vm.write(1, Frame::BankedDistributor, offset, bytes, value);
    let bit = 1 << (DEVICE.0 % 32);
    write(targets, 1, 1);
    vm.settle();
    vm.preempt(0);
    write(targets, 1, 0);
    let mut taken = 0;
    for _ in 0..ROUNDS {
        write(offset::ISPENDR + word, 4, bit);
        taken += taken_by_first(&vm, || {});
        write(offset::ICPENDR + word, 4, bit);
    }
    assert_few(taken);
}

#[test]
fn a_device_that_is_routed_away_on_its_way_interrupts_twice_at_most() {
    let vm = preempted();
    let mut taken = 0;
    for _ in 0..ROUNDS {
        vm.route(1, DEVICE.0, 0);
        vm.write_bit(1, 0, offset::ISPENDR, DEVICE.0);
        taken += taken_by_first(&vm, || vm.route(1, DEVICE.0, 1));
        vm.settle();
        vm.drain(1);
    }
    assert_few(taken);
}

#[test]
fn a_device_that_is_disabled_on_its_way_interrupts_twice_at_most() {
    let vm = preempted();
    vm.run(0);
    vm.wait(0);
    let mut taken = 0;
    for _ in 0..ROUNDS {
        vm.write_bit(1, 0, offset::ISENABLER, DEVICE.0);
        vm.write_bit(1, 0, offset::ISPENDR, DEVICE.0);
        taken += taken_by_first(&vm, || vm.write_bit(1, 0, offset::ICENABLER, DEVICE.0));
        while vm.step() {}
        vm.write_bit(1, 0, offset::ICPENDR, DEVICE.0);
    }
    assert_few(taken);
}
