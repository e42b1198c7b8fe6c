//! VCPUs are held to their memory budgets. The counter is the cycle counter here: QEMU's CPUs count no
//! accesses to memory, and a cycle is an instruction. `crates/cli/tests/memory_budgets.rs` looks at each period in
//! the trace.

use tests::{Case, Run, Vm};

/// Instructions of EL2 around a period in which a VCPU uses its budget up, at most: those that are counted
/// for it, the switch to it among them, and those that make it late.
const EL2: i64 = 1200;

fn case(name: &str, bits: u32) -> Case {
    Case::new(name).tick_is_an_instruction().counts_cycles(bits)
}

/// A VM that takes all the cycles that it gets, in bursts.
fn greedy(name: &str, bursts: u64, period_us: u64, more: &str) -> Vm {
    let period = period_us * 1000;
    let arguments = format!("supply.bursts={bursts} supply.gap_ns=2500 supply.period_ns={period}");
    Vm::rt("rt-supply").named(name).bootargs(&format!("{arguments} {more}"))
}

/// A VCPU on PCPU 1 with so many accesses in each period, and perhaps a server.
fn vcpu(budget: i64, period_us: u64, server: &str) -> String {
    format!(
        "[[vm.vcpu]]\npcpu = 1\n{server}\nbandwidth = {{ accesses = {budget}, period = \"{period_us}us\" }}\n"
    )
}

const BACKGROUND: &str = "[[vm.vcpu]]\npcpu = 1\nserver = \"background\"\n";

fn value(run: &Run, vm: &str, line: &str, key: &str) -> i64 {
    run.value(vm, &format!("supply: {line}"), key)
}

/// In each period its budget but for the work of EL2, at the start of the period, without drift.
#[track_caller]
fn gets_its_budget(run: &Run, vm: &str, budget: i64) {
    let bursts = |key| value(run, vm, "bursts", key);
    let (least, most) = (bursts("burst_min_ticks"), bursts("burst_max_ticks"));
    assert!(most <= budget && least >= budget - EL2, "{vm}: {least}..{most} of {budget}");
    let place = |key| value(run, vm, "first_tick", key);
    let (first, last) = (place("start_min_ticks"), place("start_max_ticks"));
    assert!(last - first <= EL2, "{vm}: bursts begin {first}..{last} ticks late");
}

#[test]
fn a_vcpu_alone_gets_its_budget_and_no_more() {
    for bits in [32, 64] {
        let vm = greedy("greedy", 1000, 1000, "").more(&vcpu(100_000, 1000, ""));
        let run = case(&format!("memory-alone-{bits}"), bits).vm(vm).run().ended();
        gets_its_budget(&run, "greedy", 100_000);
    }
}

/// Stands behind P12 of the safety manual.
#[test]
fn a_guest_that_attacks_the_counters_gets_no_more() {
    let vm = greedy("attacker", 300, 200, "supply.attack=1").more(&vcpu(60_000, 200, ""));
    let run = case("memory-attack", 64).vm(vm).run().ended();
    let most = value(&run, "attacker", "bursts", "burst_max_ticks");
    assert!(most <= 60_000, "{most}");
    run.summary("attacker", "off", "power-off", 0);
}

#[test]
fn a_vcpu_that_waits_for_accesses_leaves_its_pcpu_to_others() {
    for kind in ["deferrable", "sporadic", "periodic"] {
        let server = format!("server = {kind:?}\nbudget = \"150us\"\nperiod = \"200us\"");
        let run = case(&format!("memory-shared-{kind}"), 32)
            .vm(greedy("first", 1000, 200, "").more(&vcpu(40_000, 200, &server)))
            .vm(greedy("rest", 800, 200, "").more(BACKGROUND))
            .run()
            .ended();
        gets_its_budget(&run, "first", 40_000);
        let least = value(&run, "rest", "bursts", "burst_min_ticks");
        assert!(least >= 160_000 - 3 * EL2, "{kind}: the rest got {least}");
    }
}

/// The budget of time and that of accesses end within 100 instructions of each other, in either order, or
/// at the same one.
#[test]
fn budgets_that_end_at_once_end_once() {
    for apart in [-100, -30, -3, -2, -1, 0, 1, 2, 3, 30, 100] {
        let server = "server = \"deferrable\"\nbudget = \"50us\"\nperiod = \"200us\"";
        let run = case("memory-at-once", 32)
            .vm(greedy("first", 500, 200, "").more(&vcpu(50_000 + apart, 200, server)))
            .vm(greedy("rest", 300, 200, "").more(BACKGROUND))
            .run()
            .ended();
        gets_its_budget(&run, "first", 50_000 + apart.min(0));
    }
}

/// The budget is used up shortly before its renewal, with it, or never: the VCPU waits for a moment, or not
/// at all.
#[test]
fn a_budget_may_be_used_up_when_it_is_renewed() {
    for budget in (199_700..200_020).step_by(20) {
        let vm = Vm::rt("rt-beacon").bootargs("beacon.lines=3").more(&vcpu(budget, 200, ""));
        let run = case("memory-renewal", 32).vm(vm).timeout(30).run().ended();
        run.summary("beacon", "off", "power-off", 0);
    }
}

/// A VM that stops, resets itself and is started again with most of its time spent waiting for accesses,
/// and whose requests keep EL2 busy for long.
#[test]
fn a_vcpu_can_be_stopped_and_started_while_it_waits() {
    let vm = Vm::rt("rt-hostile").bootargs("case=reset").number("restart_limit", 3);
    let run = case("memory-reset", 32).vm(vm.more(&vcpu(2_000, 20, ""))).run().ended();
    run.summary("hostile", "stopped", "reset", 3);
    let vcpus = vcpu(3_000, 20, "") + &vcpu(3_000, 20, "").replace("pcpu = 1", "pcpu = 2");
    let run = case("memory-psci", 64).vm(Vm::rt("rt-psci").more(&vcpus)).timeout(300).run().ended();
    run.expect("psci", "psci: reset");
    run.summary("psci", "off", "power-off", 1);
}

/// What shall count must be there.
#[test]
fn a_counter_that_is_not_there_is_refused() {
    let refused = |name: &str, bandwidth: &str, message: &str| {
        let vm = Vm::rt("rt-beacon").more(&vcpu(100, 1000, ""));
        let run = Case::new(name).bandwidth(bandwidth).vm(vm).timeout(30).run().ended();
        run.expect("bulkhead", message);
        run.expect("bulkhead", "no VM was started");
    };
    let at = "plan: /platform/bandwidth-counter: ";
    refused(
        "memory-no-event",
        "counter = \"pmu\"\nevent = \"bus-access\"",
        &format!("{at}event: PCPU 1 does not count event 0x19"),
    );
    refused(
        "memory-narrow",
        "counter = \"pmu\"\nevent = \"instructions\"\ncounter_bits = 64",
        &format!("{at}bits: PCPU 1 has event counters of 32 bits"),
    );
    refused(
        "memory-no-observer",
        "counter = \"cachescope\"",
        &format!("{at}source: PCPU 1 has no access counter"),
    );
}
