//! Interrupts reach the right VCPU, once, and only while they are wanted.

use super::vm::{DEVICE, TIMER, UART, Vm, offset};
use crate::vdev::gic::{Frame, Physical};

const NONE: [u32; 0] = [];

#[test]
fn the_timer_is_delivered_and_ends_physically() {
    let vm = Vm::configured(2);
    vm.fire(1, TIMER);
    vm.settle();
    assert_eq!(vm.acknowledge(0), None);
    assert_eq!(vm.acknowledge(1), Some(TIMER));
    vm.quiet(1, TIMER);
    assert!(vm.machine.source(Physical::of(1, TIMER), |s| s.active));
    vm.end(1);
    assert!(!vm.machine.source(Physical::of(1, TIMER), |s| s.active));
    assert_eq!(vm.drain(1), NONE);
    vm.fire(1, TIMER);
    vm.settle();
    assert_eq!(vm.acknowledge(1), Some(TIMER));
}

#[test]
fn the_timer_path_touches_the_machine_twice() {
    let vm = Vm::configured(1);
    vm.fire(0, TIMER);
    vm.step();
    assert_eq!(vm.machine.work.get(), 2, "finds an empty list register and writes it");
    assert_eq!(vm.acknowledge(0), Some(TIMER));
}

#[test]
fn a_level_is_delivered_again_while_it_is_asserted() {
    let vm = Vm::configured(1);
    vm.set_line(UART, true);
    for _ in 0..3 {
        vm.settle();
        assert_eq!(vm.acknowledge(0), Some(UART));
        vm.end(0);
    }
    vm.settle();
    assert_eq!(vm.acknowledge(0), Some(UART));
    vm.set_line(UART, false);
    vm.settle();
    vm.end(0);
    assert!(!vm.machine.maintenance(0), "nothing to do when a quiet level ends");
    assert_eq!(vm.drain(0), NONE);
}

#[test]
fn a_level_that_fell_is_not_delivered() {
    let vm = Vm::configured(1);
    vm.set_line(UART, true);
    vm.settle();
    vm.set_line(UART, false);
    assert_eq!(vm.drain(0), NONE);
    assert!(!vm.read_bit(0, 0, offset::ISPENDR, UART));
}

#[test]
fn an_edge_while_active_is_delivered_after_the_end() {
    let vm = Vm::configured(1);
    vm.set_edge(0, UART);
    vm.raise(UART);
    vm.settle();
    assert_eq!(vm.acknowledge(0), Some(UART));
    vm.raise(UART);
    vm.raise(UART);
    vm.settle();
    assert!(vm.read_bit(0, 0, offset::ISPENDR, UART));
    assert!(vm.read_bit(0, 0, offset::ISACTIVER, UART));
    assert_eq!(vm.acknowledge(0), None);
    vm.end(0);
    assert_eq!(vm.drain(0), [UART]);
}

#[test]
fn sgis_reach_those_they_name() {
    let vm = Vm::configured(3);
    vm.send_sgi(0, 0b110, 3);
    vm.send_sgi(1, 1 << 40, 5);
    assert_eq!(vm.drain(0), [5]);
    assert_eq!(vm.drain(1), [3]);
    assert_eq!(vm.drain(2), [3, 5]);
    vm.send_sgi(2, 0b100, 1);
    assert_eq!(vm.acknowledge(2), Some(1), "to oneself, at once");
}

#[test]
fn sgis_to_nobody_change_nothing() {
    let vm = Vm::configured(2);
    for elsewhere in [1 << 16, 1 << 32, 1 << 48, 1 << 44] {
        vm.send_sgi(0, elsewhere | 0b11, 1);
    }
    vm.send_sgi(0, 0b1111_0000, 1);
    assert!(!vm.step());
    assert_eq!(vm.drain(0), NONE);
    assert_eq!(vm.drain(1), NONE);
}

#[test]
fn group_0_interrupts_are_listed_as_such() {
    let vm = Vm::configured(1);
    vm.write(0, Frame::Distributor, 0, 4, 0b11);
    vm.write(0, Frame::Redistributor(0), offset::SGI_FRAME + offset::IGROUPR, 4, !2 & 0xffff_ffff);
    vm.write(0, Frame::Redistributor(0), offset::SGI_FRAME + offset::ISPENDR, 4, 1 << 1);
    let (_, entry) = vm.machine.best(0).expect("listed");
    assert_eq!((entry.intid(), entry.is_group1()), (1, false));
    vm.write(0, Frame::Distributor, 0, 4, 0b10);
    assert_eq!(vm.drain(0), NONE);
}

#[test]
fn a_new_route_moves_what_is_pending() {
    let vm = Vm::configured(2);
    vm.raise(UART);
    vm.fire(0, DEVICE.1);
    vm.settle();
    vm.route(1, UART, 1);
    vm.route(1, DEVICE.0, 1);
    vm.settle();
    assert_eq!(vm.acknowledge(0), None);
    assert_eq!(vm.acknowledge(1), Some(UART));
    vm.end(1);
    assert_eq!(vm.acknowledge(1), Some(DEVICE.0));
    vm.quiet(0, DEVICE.1);
    vm.end(1);
    assert_eq!(vm.drain(1), NONE);
}

#[test]
fn a_new_route_takes_effect_after_what_is_active_ends() {
    let vm = Vm::configured(2);
    vm.set_edge(0, UART);
    vm.raise(UART);
    vm.settle();
    assert_eq!(vm.acknowledge(0), Some(UART));
    vm.route(0, UART, 1);
    vm.raise(UART);
    vm.settle();
    assert_eq!(vm.acknowledge(1), None, "active elsewhere");
    vm.end(0);
    assert_eq!(vm.drain(1), [UART]);
    assert_eq!(vm.drain(0), NONE);
}

#[test]
fn an_interrupt_routed_to_nobody_stays_pending() {
    let vm = Vm::configured(2);
    vm.route(0, UART, 0x100);
    vm.raise(UART);
    assert_eq!(vm.drain(0), NONE);
    assert_eq!(vm.drain(1), NONE);
    assert!(vm.read_bit(0, 0, offset::ISPENDR, UART));
    vm.route(0, UART, 1);
    assert_eq!(vm.drain(1), [UART]);
}

#[test]
fn another_vcpu_sees_that_an_interrupt_has_ended() {
    let vm = Vm::configured(2);
    vm.raise(UART);
    vm.settle();
    assert_eq!(vm.acknowledge(0), Some(UART));
    vm.read_bit(1, 0, offset::ISACTIVER, UART);
    vm.settle();
    assert!(vm.read_bit(1, 0, offset::ISACTIVER, UART));
    vm.end(0);
    vm.settle();
    assert!(!vm.read_bit(1, 0, offset::ISACTIVER, UART));
}

#[test]
fn a_sleeping_vcpu_wakes_for_what_it_can_take() {
    let vm = Vm::configured(1);
    let has_pending = || {
        vm.on(0, || {
            vm.gic.attend(&vm.machine, 0);
            vm.gic.has_pending(&vm.machine, 0)
        })
    };
    assert!(!has_pending());
    vm.raise(UART);
    assert!(has_pending());
    assert_eq!(vm.drain(0), [UART]);
    assert!(!has_pending());
    vm.write_bit(0, 0, offset::ICENABLER, UART);
    vm.raise(UART);
    assert!(!has_pending());
}

#[test]
fn interrupts_that_are_not_the_guests_do_not_stay_active() {
    let vm = Vm::configured(1);
    for intid in [30, 99, 1019] {
        vm.machine.source(Physical::of(0, intid), |s| s.active = true);
        vm.on(0, || vm.gic.hardware_interrupt(&vm.machine, 0, intid));
        assert!(!vm.machine.source(Physical::of(0, intid), |s| s.active), "{intid}");
    }
    assert_eq!(vm.drain(0), NONE);
}
