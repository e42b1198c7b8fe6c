//! Boards with a GICv2, in QEMU's models of them: Linux beside real-time guests, interrupts
//! between VCPUs, VCPUs that share a PCPU, keys.

use std::time::Duration;

use qemu::Time;
use tests::{Case, Run, Vm};

/// A server that gives a VCPU so many microseconds of each period.
fn server(vm: Vm, pcpu: u32, (budget, period): (u32, u32)) -> Vm {
    vm.more(&format!(
        "[[vm.vcpu]]\npcpu = {pcpu}\nserver = \"deferrable\"\n\
         budget = \"{budget}us\"\nperiod = \"{period}us\"\n"
    ))
}

/// Debian's Linux, which drives the GICv2 by itself, with two VCPUs, beside a real-time guest.
fn linux_beside_real_time(platform: &str) {
    let run = Case::new(&format!("{platform}-linux"))
        .on(platform)
        .timeout(300)
        .vm(Vm::linux("smp"))
        .vm(Vm::rt("rt-demo").named("rt").bootargs("rt.seconds=1"))
        .run()
        .ended();
    run.expect("linux", "2 CPUs");
    run.expect("linux", "linux: smp ok");
    for task in ["fast", "medium", "slow"] {
        let start = format!("rt: task {task} ");
        assert_eq!(run.value("rt", &start, "misses"), 0);
        assert!(run.value("rt", &start, "jobs") >= 50);
    }
    run.summary("linux", "off", "power-off", 0);
    run.summary("rt", "off", "power-off", 0);
}

/// Two VCPUs on PCPUs of their own, and two that share one: they turn each other on and off, and send
/// each other software-generated and shared interrupts.
fn vcpus_interrupt_each_other(platform: &str) {
    let psci = |name: &str| Vm::rt("rt-psci").named(name);
    let shared = server(server(psci("shared"), 2, (1200, 2000)), 2, (400, 1000));
    let run: Run = Case::new(&format!("{platform}-psci"))
        .on(platform)
        .timeout(300)
        .vm(psci("apart").number("vcpus", 2))
        .vm(shared)
        .vm(Vm::rt("rt-irq"))
        .run()
        .ended();
    for vm in ["apart", "shared"] {
        run.expect(vm, "psci: reset");
        run.never(vm, "FAILED");
        run.summary(vm, "off", "power-off", 1);
    }
    run.never("irq", "FAILED");
    run.expect("irq", " passed, 0 failed");
}

#[test]
fn virt_with_a_gicv2_runs_linux_beside_a_real_time_guest() {
    linux_beside_real_time("qemu-virt-gicv2");
}

#[test]
fn virt_with_a_gicv2_interrupts_vcpus() {
    vcpus_interrupt_each_other("qemu-virt-gicv2");
}

#[test]
fn the_zcu102_runs_linux_beside_a_real_time_guest() {
    linux_beside_real_time("zcu102");
}

#[test]
fn the_zcu102_interrupts_vcpus() {
    vcpus_interrupt_each_other("zcu102");
}

#[test]
fn the_uart_of_the_zcu102_takes_keys() {
    let beacon = |name: &str| Vm::rt("rt-beacon").named(name).bootargs("beacon.lines=100000");
    let case = Case::new("zcu102-keys").on("zcu102").vm(beacon("one")).vm(beacon("two"));
    let mut session = case.start(&case.image().bytes, Time::Deterministic);
    for (keys, answer) in
        [("", "[two] beacon: 10 "), ("\x1d0", "console: one"), ("\x1da", "console: all VMs")]
    {
        session.send(keys.as_bytes());
        let answer = session.wait_for(answer, Duration::from_secs(60));
        answer.unwrap_or_else(|error| panic!("{error}"));
    }
    session.stop();
}

#[test]
fn the_raspberry_pi_4_runs_linux_beside_a_real_time_guest() {
    linux_beside_real_time("raspberry-pi-4");
}

#[test]
fn the_raspberry_pi_4_interrupts_vcpus() {
    vcpus_interrupt_each_other("raspberry-pi-4");
}
