//! VCPUs that wait, or for which others execute: what is noted is not lost, and kicks are few.

use super::vm::{DEVICE, TIMER, UART, Vm, offset};
use crate::vdev::gic::Place;

/// An edge-triggered interrupt of a virtual device.
const EDGE: u32 = 36;

#[test]
fn a_withdrawal_does_not_wait_for_a_preempted_vcpu() {
    let vm = Vm::configured(2);
    vm.set_line(UART, true);
    vm.settle();
    vm.write_bit(1, 0, offset::ICENABLER, UART);
    assert!(vm.withdraws(1), "it executes and has not looked");
    vm.preempt(0);
    assert!(!vm.withdraws(1));
    vm.settle();
    vm.run(0);
    assert_eq!(vm.acknowledge(0), None);
}

#[test]
fn what_a_vcpu_that_waits_is_done_with_reaches_another_one() {
    let vm = Vm::configured(2);
    vm.set_edge(0, EDGE);
    vm.raise(EDGE);
    assert_eq!(vm.drain(0), [EDGE]);
    vm.wait(0);
    assert_eq!(vm.place_of(0), Place::Waiting);
    vm.route(1, EDGE, 1);
    vm.raise(EDGE);
    assert_eq!(vm.drain(1), [EDGE]);
    assert!(vm.is_waiting(0));
}

#[test]
fn what_was_sent_while_it_was_disabled_wakes_when_it_is_enabled() {
    for intid in [7, EDGE] {
        let vm = Vm::configured(2);
        vm.set_edge(0, EDGE);
        let send = || if intid == EDGE { vm.raise(EDGE) } else { vm.send_sgi(1, 1, 7) };
        send();
        assert_eq!(vm.drain(0), [intid]);
        vm.wait(0);
        vm.write_bit(1, 0, offset::ICENABLER, intid);
        send();
        vm.settle();
        assert!(vm.is_waiting(0));
        vm.write_bit(1, 0, offset::ISENABLER, intid);
        vm.settle();
        assert_eq!(vm.place_of(0), Place::Out, "interrupt {intid}");
        vm.run(0);
        assert_eq!(vm.drain(0), [intid]);
    }
}

#[test]
fn what_is_cleared_and_comes_again_before_the_vcpu_looks_is_kept() {
    for waits in [false, true] {
        let vm = Vm::configured(2);
        if waits {
            vm.wait(0);
        }
        vm.write_bit(1, 0, offset::ICPENDR, TIMER);
        vm.write_bit(1, 0, offset::ISPENDR, TIMER);
        vm.settle();
        vm.run(0);
        assert_eq!(vm.drain(0), [TIMER], "waits: {waits}");
    }
}

#[test]
fn a_vcpu_that_waits_wakes_for_what_another_one_deactivated() {
    for settled in [false, true] {
        let vm = Vm::configured(2);
        vm.fire(0, TIMER);
        assert_eq!(vm.acknowledge_when_settled(0), Some(TIMER));
        vm.wait(0);
        if settled {
            vm.send_sgi(1, 1, 7);
            vm.write_bit(1, 0, offset::ICPENDR, 7);
            vm.settle();
            assert_eq!(vm.place_of(0), Place::Settled);
        }
        vm.write_bit(1, 0, offset::ICACTIVER, TIMER);
        vm.settle();
        assert_eq!(vm.place_of(0), Place::Out, "settled: {settled}");
        vm.run(0);
        vm.end(0);
        assert_eq!(vm.acknowledge_when_settled(0), Some(TIMER), "its line did not fall");
    }
}

#[test]
fn what_is_sent_and_taken_back_wakes_once() {
    let vm = Vm::configured(2);
    vm.wait(0);
    // The machine counts kicks.
    for _ in 0..10 {
        vm.send_sgi(1, 1, 7);
        vm.write_bit(1, 0, offset::ICPENDR, 7);
        vm.settle();
    }
    assert_eq!(vm.place_of(0), Place::Out, "it is ready");
    vm.run(0);
    assert_eq!(vm.acknowledge(0), None);
}

#[test]
fn a_vcpu_that_waits_wakes_for_what_was_noted_while_it_fell_asleep() {
    let vm = Vm::configured(2);
    vm.preempt(0);
    vm.send_sgi(1, 1, 7);
    assert!(!vm.step(), "no kick for one that does not execute");
    // Where the PCPU does not look between.
    let attention = &vm.machine.cpus[0].attention;
    assert!(attention.wait());
    vm.take_kick(0);
    assert_eq!(vm.place_of(0), Place::Out, "it is ready");
    vm.run(0);
    assert_eq!(vm.drain(0), [7]);
}

#[test]
fn a_device_that_went_elsewhere_meanwhile_leaves_no_vcpu_deaf() {
    let vm = Vm::configured(2);
    vm.preempt(0);
    vm.fire(0, DEVICE.1);
    let (pcpu, intid) = vm.machine.firing().unwrap();
    vm.route(1, DEVICE.0, 1);
    vm.on(pcpu, || vm.gic.hardware_interrupt(&vm.machine, pcpu, intid));
    vm.settle();
    vm.gic.mask(&vm.machine, pcpu, intid);
    vm.quiet(0, DEVICE.1);
    vm.send_sgi(0, 2, 7);
    assert_eq!(vm.drain(1), [7, DEVICE.0]);
    vm.send_sgi(0, 2, 7);
    assert_eq!(vm.drain(1), [7]);
    vm.fire(1, DEVICE.1);
    vm.settle();
    vm.quiet(1, DEVICE.1);
    assert_eq!(vm.drain(1), [DEVICE.0]);
}

#[test]
fn a_device_that_is_disabled_as_it_fires_wakes_its_vcpu_later() {
    let vm = Vm::configured(2);
    vm.wait(0);
    vm.fire(0, DEVICE.1);
    let (pcpu, intid) = vm.machine.firing().unwrap();
    vm.write_bit(1, 0, offset::ICENABLER, DEVICE.0);
    vm.take_physical(pcpu, intid);
    vm.settle();
    vm.write_bit(1, 0, offset::ISENABLER, DEVICE.0);
    vm.settle();
    assert!(!vm.is_waiting(0));
    vm.run(0);
    vm.settle();
    vm.quiet(0, DEVICE.1);
    assert_eq!(vm.drain(0), [DEVICE.0]);
}

#[test]
fn a_device_interrupts_once_while_its_vcpu_does_not_execute() {
    let vm = Vm::configured(1);
    vm.preempt(0);
    let mut taken = 0;
    for _ in 0..10 {
        vm.fire(0, DEVICE.1);
        while let Some((pcpu, intid)) = vm.machine.firing() {
            taken += 1;
            vm.take_physical(pcpu, intid);
        }
        // Somebody else ends it.
        vm.write_bit(0, 0, offset::ICPENDR, DEVICE.0);
    }
    // Nobody waits until the physical controller has masked it: it may come once more.
    assert!((1..=2).contains(&taken), "{taken}");
    vm.run(0);
    vm.settle();
    vm.quiet(0, DEVICE.1);
    assert_eq!(vm.drain(0), [DEVICE.0]);
}

#[test]
fn a_device_that_came_before_its_vcpu_started_comes_again() {
    let vm = Vm::configured(2);
    vm.on(0, || vm.gic.stop_vcpu(&vm.machine, 0));
    vm.gic.mask(&vm.machine, 0, DEVICE.1);
    vm.on(0, || vm.gic.start_vcpu(&vm.machine, 0));
    vm.fire(0, DEVICE.1);
    vm.settle();
    vm.quiet(0, DEVICE.1);
    assert_eq!(vm.drain(0), [DEVICE.0]);
}
