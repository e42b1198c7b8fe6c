//! VCPUs and VMs with budgets of memory accesses.

use hypervisor::arch::counter::width::Width;
use hypervisor::plan::{self, Compensation, MemoryBudget, Source, VmBudget};
use policy::time::Duration;

use crate::{blob_bytes, compile, load, read, reference};

/// The reference with a budget for a VCPU: 1,000 accesses in 1 ms.
fn counted() -> String {
    let counter = "bandwidth-counter { source = \"pmu\"; event = <0x19>; bits = <32>; \
                   interrupts = <23>; };\n\n\t\tserial@9000000 {\n\t\t\tcompatible = \"arm,pl011\";   ";
    let budget = "pcpu = <1>; memory-budget = <0 1000>; memory-period-ns = <0 1000000>;";
    let mut text = reference();
    for (from, to) in [
        ("serial@9000000 {\n\t\t\tcompatible = \"arm,pl011\";   ", counter),
        ("pcpu = <1>;", budget),
    ] {
        assert!(text.contains(from), "{from}");
        text = text.replacen(from, to, 1);
    }
    text
}

#[test]
fn memory_budgets_are_read() {
    let blob = compile(&counted());
    let plan = load(&blob).unwrap();
    let counter = plan.platform.counter.as_ref().expect("it is there");
    assert_eq!((counter.source, counter.width), (Source::Event(0x19), Width::BITS_32));
    assert_eq!([0, 3].map(|pcpu| counter.interrupt(pcpu)), [23, 23]);
    let budget = MemoryBudget { accesses: 1000, period: Duration(62_500) };
    let vm = &plan.vms[0];
    assert_eq!([vm.vcpus[0].memory, vm.vcpus[1].memory], [None, Some(budget)]);
    assert_eq!((vm.memory_budget, vm.critical), (None, false));
    assert!(vm.time_page().is_some(), "time is stolen from a VCPU that waits for memory");

    let shared = counted()
        .replacen("\"pmu\"; event = <0x19>; bits = <32>", "\"cycles\"; bits = <64>", 1)
        .replacen("<23>", "<40 41 42 43>", 1)
        .replacen("memory-budget = <0 1000>; memory-period-ns = <0 1000000>;", "", 1)
        .replacen(
            "restart-limit",
            "memory-budget = <1 0>; memory-period-ns = <0 2000000>; compensation = <3>; \
             flush-task-switch; critical; restart-limit",
            1,
        );
    let blob = compile(&shared);
    let plan = read(&blob).unwrap();
    let counter = plan.platform.counter.as_ref().expect("it is there");
    assert_eq!((counter.source, counter.width), (Source::Cycles, Width::BITS_64));
    assert_eq!([0, 3].map(|pcpu| counter.interrupt(pcpu)), [40, 43]);
    let budget = MemoryBudget { accesses: 1 << 32, period: Duration(125_000) };
    let compensation = Some(Compensation { periods: 3, flush_task_switch: true });
    assert_eq!(plan.vms[0].memory_budget, Some(VmBudget { budget, compensation }));
    assert!(plan.vms[0].critical);
    // Not to its own advantage.
    let error = plan::check(&plan, &blob_bytes).unwrap_err().to_string();
    assert!(
        error.contains("/vms/vm@0: compensation: needs another VM that is critical"),
        "{error}"
    );
}

#[test]
fn memory_budgets_that_cannot_be_are_refused() {
    const COUNTER: &str = "/platform/bandwidth-counter";
    const VCPU: &str = "/vms/vm@0/vcpus/vcpu@1";
    const VM: &str = "/vms/vm@0";
    const LIMIT: &str = "restart-limit";
    for (from, to, node, problem) in [
        ("\"pmu\"", "\"amu\"", COUNTER, "source: is \"amu\", expected \"pmu\" or \"cycles\" or"),
        ("\"pmu\"", "\"cycles\"", COUNTER, "event: has a meaning with source = \"pmu\" only"),
        ("event = <0x19>;", "", COUNTER, "event: is missing"),
        ("event = <0x19>", "event = <0x10000>", COUNTER, "event: must be <0> to <0xffff>"),
        ("bits = <32>", "bits = <48>", COUNTER, "bits: must be <32> or <64>"),
        ("<23>", "<26>", COUNTER, "interrupts: must be a free private interrupt"),
        ("<23>", "<40 41>", COUNTER, "interrupts: must be a free private interrupt"),
        ("<23>", "<40 41 42 22>", COUNTER, "interrupts: is 22, expected 32 to 1019"),
        ("<23>", "<40 41 42 40>", COUNTER, "interrupts: interrupt 40 is used twice"),
        ("<23>", "<40 41 42 33>", COUNTER, "interrupts: interrupt 33 is used twice"),
        (
            "<0 1000>",
            "<0 0>",
            VCPU,
            "memory-budget: 0 accesses, expected 1 to 2147483648 in a period",
        ),
        ("<0 1000>", "<0 0x80000001>", VCPU, "memory-budget: 2147483649 accesses, expected 1 to"),
        (
            "<0 1000000>",
            "<0 19999>",
            VCPU,
            "memory-period-ns: is 19999 ns, expected at least 20000",
        ),
        ("<0 1000000>", "<14 0>", VCPU, "memory-period-ns: is 60129542144 ns, expected at least"),
        ("<0 1000000>", "<0 1000001>", VCPU, "memory-period-ns: 1000001 ns are no whole number"),
        ("memory-budget = <0 1000>;", "", VCPU, "memory-period-ns: needs memory-budget"),
        ("memory-period-ns = <0 1000000>;", "", VCPU, "memory-period-ns: is missing"),
        (LIMIT, "flush-task-switch; restart-limit", VM, "flush-task-switch: needs memory-budget"),
        (LIMIT, "compensation = <2>; restart-limit", VM, "compensation: needs memory-budget"),
        (
            LIMIT,
            "memory-budget = <0 9>; memory-period-ns = <0 1000000>; restart-limit",
            VCPU,
            "memory-budget: the VM has a budget for all of its VCPUs together",
        ),
        (
            LIMIT,
            "memory-budget = <0 9>; memory-period-ns = <0 1000000>; compensation = <1>; \
             restart-limit",
            VM,
            "compensation: must be <2> or more",
        ),
    ] {
        let text = counted();
        assert!(text.contains(from), "{from}");
        let blob = compile(&text.replacen(from, to, 1));
        let error = load(&blob).expect_err(to).to_string();
        let expected = format!("plan: {node}: {problem}");
        assert!(error.starts_with(&expected), "{to}: expected {expected}, found {error}");
    }
    let critical = reference().replacen("restart-limit", "critical; restart-limit", 1);
    let budget = "pcpu = <1>; memory-budget = <0 1>; memory-period-ns = <0 1000000>;";
    let budget = reference().replacen("pcpu = <1>;", budget, 1);
    for (text, place) in
        [(critical, VM.to_owned() + ": critical"), (budget, VCPU.to_owned() + ": memory-budget")]
    {
        let error = load(&compile(&text)).unwrap_err().to_string();
        assert_eq!(error, format!("plan: {place}: needs the node /platform/bandwidth-counter"));
    }
    // The interrupts of a counter are no devices'.
    let text = counted().replacen("<23>", "<34 41 42 43>", 1);
    let error = load(&compile(&text)).unwrap_err().to_string();
    assert!(
        error.ends_with("interrupt 34 belongs to the counter of memory accesses already"),
        "{error}"
    );
}
