//! VCPUs that wait and whose PCPU has looked at them since: they wake for all that comes.

use super::vm::{DEVICE, UART, Vm, offset};
use crate::vdev::gic::Place;

/// An edge-triggered interrupt of a virtual device.
const EDGE: u32 = 36;
/// One that is private.
const PRIVATE: u32 = 20;

/// Has the PCPU of a VCPU that waits look at it for nothing.
fn tease(vm: &Vm, vcpu: usize, by: usize) {
    vm.send_sgi(by, 1 << vcpu, 7);
    vm.write_bit(by, vcpu, offset::ICPENDR, 7);
    vm.settle();
    assert_eq!(vm.place_of(vcpu), Place::Settled);
}

#[test]
fn an_interrupt_that_seems_listed_wakes_though_a_disabled_one_was_raised_before() {
    let vm = Vm::configured(2);
    vm.write_bit(0, 0, offset::ICENABLER, PRIVATE);
    vm.send_sgi(1, 1, 7);
    assert_eq!(vm.drain(0), [7]);
    vm.wait(0);
    // As its PCPU does for a resource that it gets: nothing is noted.
    vm.on(0, || vm.gic.raise_private(&vm.machine, 0, PRIVATE));
    let attend = || vm.on(0, || vm.gic.attend(&vm.machine, 0));
    let is_due = || vm.on(0, || vm.gic.is_due(&vm.machine, 0));
    assert!(!vm.machine.cpus[0].attention.look(true, attend, is_due));
    vm.send_sgi(1, 1, 7);
    vm.settle();
    assert_eq!(vm.place_of(0), Place::Out, "it is ready");
}

#[test]
fn a_level_that_another_one_deactivates_wakes() {
    for teased in [false, true] {
        let vm = Vm::configured(2);
        vm.set_line(UART, true);
        assert_eq!(vm.acknowledge_when_settled(0), Some(UART));
        vm.wait(0);
        if teased {
            tease(&vm, 0, 1);
        }
        vm.write_bit(1, 0, offset::ICACTIVER, UART);
        vm.settle();
        assert_eq!(vm.place_of(0), Place::Out, "it is ready; teased: {teased}");
    }
}

#[test]
fn what_another_one_deactivates_wakes_the_one_to_which_it_goes() {
    for teased in [false, true] {
        let vm = Vm::configured(3);
        vm.set_edge(0, EDGE);
        vm.raise(EDGE);
        assert_eq!(vm.acknowledge_when_settled(0), Some(EDGE));
        vm.route(2, EDGE, 1);
        vm.settle();
        vm.wait(0);
        vm.wait(1);
        if teased {
            tease(&vm, 0, 2);
        }
        vm.raise(EDGE);
        vm.settle();
        vm.write_bit(2, 0, offset::ICACTIVER, EDGE);
        vm.settle();
        assert_eq!(vm.place_of(1), Place::Out, "it is ready; teased: {teased}");
    }
}

#[test]
fn a_device_wakes_though_it_was_masked_while_it_was_disabled() {
    let vm = Vm::configured(2);
    vm.wait(0);
    tease(&vm, 0, 1);
    vm.fire(0, DEVICE.1);
    let (pcpu, intid) = vm.machine.firing().unwrap();
    vm.write_bit(1, 0, offset::ICENABLER, DEVICE.0);
    vm.take_physical(pcpu, intid);
    vm.settle();
    assert_eq!(vm.place_of(0), Place::Out, "it is ready");
    vm.run(0);
    vm.write_bit(1, 0, offset::ISENABLER, DEVICE.0);
    vm.settle();
    vm.quiet(0, DEVICE.1);
    assert_eq!(vm.drain(0), [DEVICE.0]);
}
