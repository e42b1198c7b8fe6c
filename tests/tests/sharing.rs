//! VCPUs that share a PCPU: they get their budgets, exactly and in time, and nothing of each other.
//! `crates/cli/tests/budgets.rs` looks at 100,000 periods in the trace, `coincidence.rs` at single instants.

use tests::{Case, Run, Vm};

/// Ticks of QEMU's counter in a microsecond, times 10.
const TICKS_PER_10_US: i64 = 625;
/// What taking turns and the loop of the guest cost, and how inexact time is with four CPUs.
const SLACK: i64 = 80;

fn server(vm: Vm, server: &str, budget_us: u32, period_us: u32) -> Vm {
    let budget = format!("budget = \"{budget_us}us\"\nperiod = \"{period_us}us\"\n");
    let budget = if server == "background" { String::new() } else { budget };
    vm.more(&format!("[[vm.vcpu]]\npcpu = 1\nserver = {server:?}\n{budget}"))
}

/// A guest that takes all the time that it gets, in bursts.
fn greedy(name: &str, bursts: u64, period_us: u64) -> Vm {
    let gap = 4 * TICKS_PER_10_US; // in nanoseconds: less than any pause
    let period = period_us * 1000;
    Vm::rt("rt-supply")
        .named(name)
        .bootargs(&format!("supply.bursts={bursts} supply.gap_ns={gap} supply.period_ns={period}"))
}

fn value(run: &Run, vm: &str, line: &str, key: &str) -> i64 {
    run.value(vm, &format!("supply: {line}"), key)
}

/// The VM always gets its whole budget at the start of its periods, never more, without drift.
fn gets_its_budget(run: &Run, vm: &str, budget_us: i64) {
    let budget = budget_us * TICKS_PER_10_US / 10;
    let (least, most) =
        (value(run, vm, "bursts", "burst_min_ticks"), value(run, vm, "bursts", "burst_max_ticks"));
    assert!(most <= budget && least >= budget - SLACK, "{vm}: {least}..{most} of {budget} ticks");
    let (first, last) =
        (value(run, vm, "first", "start_min_ticks"), value(run, vm, "first", "start_max_ticks"));
    assert!(last - first <= SLACK, "{vm}: bursts begin {first}..{last} ticks late");
}

/// Stands behind P3 of the safety manual.
#[test]
fn every_kind_of_server_gives_its_budget() {
    for kind in ["periodic", "deferrable", "sporadic"] {
        let run = Case::new(&format!("sharing-{kind}"))
            .vm(server(greedy("first", 3000, 200), kind, 60, 200))
            .vm(server(greedy("rest", 3000, 200), "background", 0, 0))
            .run()
            .ended();
        gets_its_budget(&run, "first", 60);
        let rest = value(&run, "rest", "bursts", "burst_max_ticks");
        assert!(rest <= 140 * TICKS_PER_10_US / 10, "{kind}: the rest got {rest} ticks");
    }
}

/// What was in the hypervisor's memory before does not show beside the times.
#[test]
fn the_page_of_stolen_times_has_nothing_else() {
    let page = |name| {
        let vm = Vm::rt("rt-hostile").named(name).bootargs("case=stolen-page");
        server(vm, "periodic", 60, 200)
    };
    let run =
        Case::new("sharing-page").vm(page("first")).vm(page("second")).run_in_used_ram().ended();
    for vm in ["first", "second"] {
        let value = |key| run.value(vm, "hostile: stolen-page survived", key);
        assert_eq!((value("words"), value("used")), (512, 0), "{vm}");
    }
}

/// Timers of both VMs, the start of both servers' periods and the end of a budget fall on the same
/// instants, over and over.
#[test]
fn interrupts_at_the_same_instant_reach_their_vms() {
    let ticking = |name: &str| {
        Vm::rt("rt-periods").named(name).bootargs("periods.releases=2000 periods.us=500")
    };
    let run = Case::new("sharing-coincidence")
        .vm(server(ticking("one"), "deferrable", 100, 500))
        .vm(server(ticking("two"), "sporadic", 100, 250))
        .vm(server(greedy("busy", 1000, 250), "periodic", 50, 250))
        .run()
        .ended();
    for vm in ["one", "two"] {
        assert_eq!(run.value(vm, "periods: releases", "releases"), 2000);
        let late = run.value(vm, "periods: releases", "late_max_ticks");
        assert!(late < 20 * TICKS_PER_10_US, "{vm}: {late} ticks late");
    }
}

/// The second CPU of Linux shares one with a real-time guest. Beside the other one, which is busy, the
/// emulator's time is too coarse to measure budgets.
#[test]
fn linux_shares_a_cpu_with_a_real_time_guest() {
    let linux = Vm::linux("smp").more("[[vm.vcpu]]\npcpu = 0\n");
    let linux = server(linux, "deferrable", 600, 1000);
    let run = Case::new("sharing-linux")
        .timeout(300)
        .vm(server(greedy("first", 1000, 1000), "sporadic", 200, 1000))
        .vm(linux)
        .run()
        .ended();
    run.expect("first", "supply: bursts=1000");
    run.expect("linux", "linux: smp ok");
}

/// Two VCPUs of a VM on the same CPU turn each other on and off, send each other interrupts and
/// reset the VM.
#[test]
fn vcpus_of_one_vm_share_a_cpu() {
    let vm = server(server(Vm::rt("rt-psci"), "deferrable", 1200, 2000), "sporadic", 400, 1000);
    let run = Case::new("sharing-siblings").timeout(300).vm(vm).run().ended();
    run.expect("psci", "psci: reset");
    run.never("psci", "FAILED");
    run.summary("psci", "off", "power-off", 1);
}
