//! Interrupts that are disabled, cleared or made pending by software.

use super::vm::{DEVICE, TIMER, UART, Vm, offset};
use crate::vdev::gic::{Frame, Physical};

const NONE: [u32; 0] = [];

#[test]
fn a_disabled_timer_waits_in_the_physical_controller() {
    let vm = Vm::configured(1);
    vm.fire(0, TIMER);
    vm.settle();
    vm.write_bit(0, 0, offset::ICENABLER, TIMER);
    assert_eq!(vm.drain(0), NONE);
    assert!(!vm.machine.source(Physical::of(0, TIMER), |s| s.active));
    assert!(vm.read_bit(0, 0, offset::ISPENDR, TIMER));
    vm.quiet(0, TIMER);
    assert!(!vm.read_bit(0, 0, offset::ISPENDR, TIMER));
    vm.write_bit(0, 0, offset::ISENABLER, TIMER);
    assert_eq!(vm.drain(0), NONE);
}

#[test]
fn a_disabled_edge_of_a_device_is_kept() {
    let vm = Vm::configured(1);
    vm.set_edge(0, DEVICE.0);
    vm.fire(0, DEVICE.1);
    vm.settle();
    vm.write_bit(0, 0, offset::ICENABLER, DEVICE.0);
    assert_eq!(vm.drain(0), NONE);
    assert!(vm.read_bit(0, 0, offset::ISPENDR, DEVICE.0));
    vm.write_bit(0, 0, offset::ISENABLER, DEVICE.0);
    assert_eq!(vm.drain(0), [DEVICE.0]);
}

#[test]
fn another_vcpu_withdraws_what_sits_in_a_list_register() {
    let vm = Vm::configured(2);
    vm.raise(UART);
    vm.settle();
    vm.write_bit(1, 0, offset::ICENABLER, UART);
    let ctlr = vm.read(1, Frame::Distributor, 0, 4);
    assert_eq!(ctlr >> 31, 1, "RWP until VCPU 0 has looked");
    vm.settle();
    assert_eq!(vm.read(1, Frame::Distributor, 0, 4) >> 31, 0);
    assert_eq!(vm.acknowledge(0), None);
    vm.write_bit(1, 0, offset::ISENABLER, UART);
    assert_eq!(vm.drain(0), [UART]);
}

#[test]
fn a_disabled_group_delivers_nothing() {
    let vm = Vm::configured(2);
    vm.raise(UART);
    vm.fire(0, TIMER);
    vm.settle();
    vm.write(1, Frame::Distributor, 0, 4, 0);
    assert_eq!(vm.drain(0), NONE);
    vm.write(1, Frame::Distributor, 0, 4, 0b10);
    vm.settle();
    assert_eq!(vm.acknowledge(0), Some(TIMER));
    vm.quiet(0, TIMER);
    vm.end(0);
    assert_eq!(vm.drain(0), [UART]);
}

#[test]
fn software_sets_and_clears_pending() {
    let vm = Vm::configured(2);
    for intid in [5, TIMER, 28, UART, DEVICE.0] {
        vm.write_bit(1, 0, offset::ISPENDR, intid);
        assert_eq!(vm.drain(0), [intid]);
        vm.write_bit(1, 0, offset::ISPENDR, intid);
        vm.settle();
        vm.write_bit(1, 0, offset::ICPENDR, intid);
        vm.settle();
        assert!(!vm.read_bit(1, 0, offset::ISPENDR, intid));
        assert_eq!(vm.drain(0), NONE, "interrupt {intid}");
    }
}

#[test]
fn software_sets_and_clears_active() {
    let vm = Vm::configured(2);
    for intid in [TIMER, 28, UART, DEVICE.0] {
        vm.write_bit(0, 0, offset::ISACTIVER, intid);
        vm.write_bit(0, 0, offset::ISPENDR, intid);
        assert_eq!(vm.drain(0), NONE, "interrupt {intid}");
        assert!(vm.read_bit(1, 0, offset::ISACTIVER, intid));
        vm.write_bit(1, 0, offset::ICACTIVER, intid);
        assert_eq!(vm.drain(0), [intid]);
    }
}

#[test]
fn an_active_interrupt_can_be_taken_away() {
    let vm = Vm::configured(2);
    vm.fire(0, TIMER);
    vm.settle();
    assert_eq!(vm.acknowledge(0), Some(TIMER));
    vm.quiet(0, TIMER);
    vm.write_bit(1, 0, offset::ICACTIVER, TIMER);
    vm.settle();
    assert!(!vm.machine.source(Physical::of(0, TIMER), |s| s.active));
    vm.end(0);
    vm.fire(0, TIMER);
    vm.settle();
    assert_eq!(vm.acknowledge(0), Some(TIMER));
}

#[test]
fn clearing_what_has_ended_spares_what_comes_next() {
    for register in [offset::ICPENDR, offset::ICACTIVER] {
        let vm = Vm::configured(1);
        vm.set_edge(0, UART);
        vm.raise(UART);
        assert_eq!(vm.drain(0), [UART]);
        vm.write_bit(0, 0, register, UART);
        vm.raise(UART);
        vm.settle();
        if register == offset::ICACTIVER {
            assert_eq!(vm.acknowledge(0), Some(UART));
        }
        vm.send_sgi(0, 1, 3);
        if register == offset::ICACTIVER {
            assert!(vm.read_bit(0, 0, offset::ISACTIVER, UART));
        } else {
            assert_eq!(vm.drain(0), [3, UART]);
        }
    }
}
