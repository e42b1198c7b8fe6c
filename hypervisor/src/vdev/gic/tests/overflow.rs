//! More interrupts than list registers.

use super::machine::LISTS;
use super::vm::{DEVICE, TIMER, UART, Vm, offset};
use crate::vdev::gic::Physical;

/// Shared edge interrupts with the given priorities, from INTID 48.
fn raise_all(vm: &Vm, priorities: &[u8]) {
    for (intid, &priority) in (48..).zip(priorities) {
        vm.set_edge(0, intid);
        vm.set_priority(0, 0, intid, priority);
        vm.raise(intid);
    }
}

#[test]
fn the_most_urgent_come_first() {
    let vm = Vm::configured(1);
    raise_all(&vm, &[0x80, 0x70, 0x60, 0x50, 0x40, 0x30, 0x20, 0x10]);
    assert_eq!(vm.drain(0), [55, 54, 53, 52, 51, 50, 49, 48]);
}

#[test]
fn hundreds_are_all_delivered() {
    let vm = Vm::configured(1);
    raise_all(&vm, &[0x80; 48]);
    for intid in 0..16 {
        vm.send_sgi(0, 1, intid);
    }
    assert_eq!(vm.drain(0).len(), 64);
}

#[test]
fn a_more_urgent_one_evicts_the_least_urgent() {
    let vm = Vm::configured(1);
    raise_all(&vm, &[0x40; LISTS]);
    vm.set_priority(0, 0, TIMER, 0x20);
    vm.fire(0, TIMER);
    vm.settle();
    assert_eq!(vm.acknowledge(0), Some(TIMER));
    vm.quiet(0, TIMER);
    vm.end(0);
    assert_eq!(vm.drain(0), [48, 49, 50, 51]);
}

#[test]
fn a_less_urgent_physical_one_waits_its_turn() {
    let vm = Vm::configured(1);
    raise_all(&vm, &[0x40; 6]);
    vm.fire(0, TIMER);
    vm.settle();
    for intid in 48..54 {
        assert_eq!(vm.acknowledge(0), Some(intid));
        vm.settle();
        vm.end(0);
        vm.settle();
    }
    assert_eq!(vm.acknowledge(0), Some(TIMER));
    vm.quiet(0, TIMER);
    vm.end(0);
    assert_eq!(vm.drain(0), []);
}

#[test]
fn a_guest_that_nests_deeper_than_the_list_registers_loses_nothing() {
    let vm = Vm::configured(1);
    let mut taken = Vec::new();
    for (intid, priority) in (48..56).zip([0x80, 0x70, 0x60, 0x50, 0x40, 0x30, 0x20, 0x10]) {
        vm.set_edge(0, intid);
        vm.set_priority(0, 0, intid, priority);
        vm.raise(intid);
        vm.settle();
        taken.extend(vm.acknowledge(0));
        vm.settle();
    }
    assert_eq!(taken, [48, 49, 50, 51]);
    assert_eq!(vm.end(0), Some(51));
    vm.settle();
    assert_eq!(vm.acknowledge(0), Some(55), "the most urgent of those that wait");
    assert_eq!(vm.end(0), Some(55));
    assert_eq!(vm.drain(0), [54, 53, 52]);
    for intid in [50, 49, 48] {
        assert_eq!(vm.end(0), Some(intid));
    }
    assert_eq!(vm.drain(0), []);
}

#[test]
fn a_nested_physical_one_ends_physically_though_others_wait() {
    let vm = Vm::configured(1);
    vm.set_priority(0, 0, TIMER, 0x88);
    vm.fire(0, TIMER);
    vm.settle();
    assert_eq!(vm.acknowledge(0), Some(TIMER));
    vm.quiet(0, TIMER);
    for (intid, priority) in (48..56).zip([0x80, 0x70, 0x60, 0x50, 0x40]) {
        vm.set_edge(0, intid);
        vm.set_priority(0, 0, intid, priority);
        vm.raise(intid);
        vm.settle();
        vm.acknowledge(0);
        vm.settle();
    }
    while vm.end(0).is_some() {
        vm.settle();
    }
    assert_eq!(vm.drain(0), [52, 51]);
    vm.fire(0, TIMER);
    vm.settle();
    assert_eq!(vm.acknowledge(0), Some(TIMER));
}

#[test]
fn a_pending_again_interrupt_competes_with_those_that_wait() {
    let vm = Vm::configured(1);
    vm.set_edge(0, UART);
    vm.raise(UART);
    vm.settle();
    assert_eq!(vm.acknowledge(0), Some(UART));
    vm.raise(UART);
    raise_all(&vm, &[0x20, 0x30, 0x40, 0x50]);
    vm.settle();
    vm.end(0);
    assert_eq!(vm.drain(0), [48, 49, 50, 51, UART]);
}

#[test]
fn a_physical_one_does_not_overtake_those_that_wait() {
    let vm = Vm::configured(1);
    raise_all(&vm, &[0x40; 6]);
    vm.settle();
    assert_eq!(vm.acknowledge(0), Some(48));
    vm.end(0);
    vm.fire(0, TIMER);
    vm.settle();
    for intid in 49..54 {
        assert_eq!(vm.acknowledge(0), Some(intid));
        vm.settle();
        vm.end(0);
    }
    vm.settle();
    assert_eq!(vm.acknowledge(0), Some(TIMER));
}

#[test]
fn a_physical_one_that_waits_can_be_disabled() {
    let vm = Vm::configured(1);
    raise_all(&vm, &[0x40; 6]);
    vm.fire(0, DEVICE.1);
    vm.settle();
    let active = || vm.machine.source(Physical::of(0, DEVICE.1), |source| source.active);
    assert!(active());
    vm.write_bit(0, 0, offset::ICENABLER, DEVICE.0);
    assert!(!active(), "back in the physical controller");
    assert_eq!(vm.drain(0), [48, 49, 50, 51, 52, 53]);
    vm.quiet(0, DEVICE.1);
    vm.write_bit(0, 0, offset::ISENABLER, DEVICE.0);
    assert_eq!(vm.drain(0), []);
}
