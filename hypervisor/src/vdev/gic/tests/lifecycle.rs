//! Start, stop and reset of VCPUs.

use super::vm::{DEVICE, TIMER, UART, Vm, offset};
use crate::vdev::gic::ConfigError;
use crate::vdev::gic::{Frame, GicConfig, Physical, VGic};

fn stop(vm: &Vm, vcpu: usize) {
    vm.on(vcpu, || vm.gic.stop_vcpu(&vm.machine, vcpu));
}

fn start(vm: &Vm, vcpu: usize) {
    vm.on(vcpu, || vm.gic.start_vcpu(&vm.machine, vcpu));
}

#[test]
fn a_restarted_guest_finds_the_reset_state_and_a_working_timer() {
    let vm = Vm::configured(2);
    vm.fire(0, TIMER);
    vm.fire(0, DEVICE.1);
    vm.settle();
    vm.acknowledge(0);
    vm.raise(UART);
    vm.settle();
    stop(&vm, 1);
    stop(&vm, 0);
    vm.gic.reset(&vm.machine);
    for interrupt in [Physical::of(0, TIMER), Physical::of(0, DEVICE.1)] {
        let source = vm.machine.source(interrupt, |source| *source);
        assert!(!source.enabled && !source.active && !source.pending, "{interrupt:?}: {source:?}");
    }
    start(&vm, 0);
    assert_eq!(vm.drain(0), []);
    for register in [offset::ISENABLER, offset::ISPENDR, offset::ISACTIVER] {
        for intid in [UART, TIMER] {
            let level = intid == TIMER && register == offset::ISPENDR;
            assert_eq!(vm.read_bit(0, 0, register, intid), level, "{intid} at {register:#x}");
        }
    }
    assert_eq!(vm.read(0, Frame::Distributor, 0, 4), 0x50);
    vm.write(0, Frame::Distributor, 0, 4, 2);
    vm.write(0, Frame::Redistributor(0), offset::SGI_FRAME + offset::IGROUPR, 4, 0xffff_ffff);
    vm.write_bit(0, 0, offset::ISENABLER, TIMER);
    vm.settle();
    assert_eq!(vm.acknowledge(0), Some(TIMER));
}

#[test]
fn a_stopped_vcpu_gets_nothing_and_leaves_its_shared_interrupts() {
    let vm = Vm::configured(2);
    vm.route(0, UART, 1);
    vm.raise(UART);
    vm.settle();
    vm.send_sgi(0, 0b10, 4);
    stop(&vm, 1);
    vm.send_sgi(0, 0b10, 4);
    vm.raise(UART);
    vm.settle();
    vm.route(0, UART, 0);
    assert_eq!(vm.drain(0), [UART]);
}

#[test]
fn what_another_vcpu_sets_up_before_the_start_is_kept() {
    let vm = Vm::configured(2);
    stop(&vm, 1);
    let frame = Frame::Redistributor(1);
    vm.write(0, frame, offset::SGI_FRAME + offset::IGROUPR, 4, 0xffff_ffff);
    vm.write_bit(0, 1, offset::ISENABLER, 2);
    vm.set_priority(0, 1, 2, 0x50);
    vm.send_sgi(0, 0b10, 2);
    assert!(!vm.step(), "a stopped VCPU is not kicked");
    start(&vm, 1);
    assert_eq!(vm.acknowledge(1), Some(2));
}

#[test]
fn a_withdrawal_does_not_wait_for_a_stopped_vcpu() {
    let vm = Vm::configured(2);
    vm.send_sgi(0, 0b10, 2);
    vm.settle();
    vm.write_bit(0, 1, offset::ICENABLER, 2);
    stop(&vm, 1);
    assert_eq!(vm.read(0, Frame::Distributor, 0, 4) >> 31, 0);
}

#[test]
fn bad_configurations_are_refused() {
    let new = |vcpus, spis, private: &[u32], shared: &[(u32, u32)]| {
        VGic::new(&GicConfig { v2: false, vcpus, spis, private, shared }).err()
    };
    assert_eq!(new(0, 32, &[], &[]), Some(ConfigError::Vcpus(0)));
    assert_eq!(new(9, 32, &[], &[]), Some(ConfigError::Vcpus(9)));
    assert_eq!(new(1, 989, &[], &[]), Some(ConfigError::Spis(989)));
    assert_eq!(new(1, 32, &[15], &[]), Some(ConfigError::Intid(15)));
    assert_eq!(new(1, 32, &[27, 27], &[]), Some(ConfigError::Twice(27)));
    assert_eq!(new(1, 32, &[], &[(64, 40)]), Some(ConfigError::Intid(64)));
    assert_eq!(new(1, 32, &[], &[(40, 1020)]), Some(ConfigError::Intid(1020)));
    assert_eq!(new(1, 32, &[], &[(40, 50), (41, 50)]), Some(ConfigError::Twice(50)));
    assert_eq!(new(1, 32, &[], &[(40, 50), (40, 51)]), Some(ConfigError::Twice(40)));
    assert_eq!(new(8, 988, &[27, 30], &[(1019, 32)]), None);
}
