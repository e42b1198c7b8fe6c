//! Real-time guests: exact periods, interrupts, PSCI, assigned devices.

use tests::{Case, Vm};

#[test]
fn periods_are_exact() {
    let run = Case::new("periods")
        .vm(Vm::rt("rt-periods").bootargs("periods.releases=2000 periods.us=1000"))
        .run()
        .ended();
    let value = |key| run.value("periods", "periods: releases=2000", key);
    // One tick is 16 instructions here: the timer's latency is the same every time.
    assert_eq!(value("drift_ticks"), 0, "{}", run.log());
    assert_eq!(value("jitter_ticks"), 0, "{}", run.log());
    // 7 of these instructions, here and in the guest, tell a GICv3 from a GICv2.
    assert!(value("late_max_ticks") <= 13, "{}", run.log());
}

#[test]
fn interrupts_keep_their_order_when_list_registers_run_out() {
    let run = Case::new("irq").vm(Vm::rt("rt-irq")).run().ended();
    run.expect("irq", "irq: 23 passed, 0 failed");
}

#[test]
fn psci_turns_vcpus_on_and_off_and_resets_the_vm() {
    let run = Case::new("psci").vm(Vm::rt("rt-psci").number("vcpus", 2)).run().ended();
    run.expect("psci", "psci: reset");
    run.expect("psci", "psci: 36 passed, 0 failed");
    run.summary("psci", "off", "power-off", 1);
}

#[test]
fn a_vm_whose_vcpus_are_all_off_has_ended() {
    let run = Case::new("cpu-off").vm(Vm::rt("rt-hostile").bootargs("case=cpu-off")).run().ended();
    run.summary("hostile", "off", "all-cpus-off", 0);
}

/// Eight guests would need eight CPUs; four fill the machine, the console included.
#[test]
fn four_guests_fill_four_cpus() {
    let guest = |name: &str| Vm::rt("rt-beacon").named(name).bootargs("beacon.lines=50");
    let run =
        Case::new("four").vm(guest("a")).vm(guest("b")).vm(guest("c")).vm(guest("d")).run().ended();
    for vm in ["a", "b", "c", "d"] {
        assert_eq!(run.lines(vm).iter().filter(|line| line.starts_with("beacon: ")).count(), 51);
        run.summary(vm, "off", "power-off", 0);
    }
}

#[test]
fn two_vcpus_of_a_vm_run_tasks_of_their_own() {
    let guest = Vm::rt("rt-demo").named("rt").number("vcpus", 2);
    let run = Case::new("two").vm(guest.bootargs("rt.seconds=1 rt.cpus=2")).run().ended();
    for (task, jobs) in [("fast", 200), ("slow", 50), ("sense", 100), ("plan", 25)] {
        let value = |key| run.value("rt", &format!("rt: task {task} "), key);
        assert_eq!((value("jobs"), value("misses")), (jobs, 0), "{task}: {}", run.log());
    }
}
