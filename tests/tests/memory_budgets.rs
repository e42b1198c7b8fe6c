//! VCPUs are held to their memory budgets. The counter is the cycle counter here: QEMU's CPUs count no
//! accesses to memory, and a cycle is an instruction.

use bulkhead_tests::{Case, Run, Vm};

/// A VM that takes all the cycles that it gets, in bursts; a budget for its VCPU.
fn greedy(bursts: u64, budget: u64, period_us: u64) -> Vm {
    let period = period_us * 1000;
    let arguments = format!("supply.bursts={bursts} supply.gap_ns=2000 supply.period_ns={period}");
    let budget = format!("{{ accesses = {budget}, period = \"{period_us}us\" }}");
    Vm::rt("rt-supply").bootargs(&arguments).more(&format!("[[vm.vcpu]]\nbandwidth = {budget}\n"))
}

fn value(run: &Run, vm: &str, line: &str, key: &str) -> i64 {
    run.value(vm, &format!("supply: {line}"), key)
}

#[test]
fn a_vcpu_alone_gets_its_budget_and_no_more() {
    for bits in [32, 64] {
        let run = Case::new(&format!("memory-alone-{bits}"))
            .tick_is_an_instruction()
            .counts_cycles(bits)
            .vm(greedy(1000, 100_000, 1000))
            .run()
            .ended();
        println!("{}", run.log());
        assert!(value(&run, "supply", "bursts", "burst_max_ticks") < 100_000);
    }
}
