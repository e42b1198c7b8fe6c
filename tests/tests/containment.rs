//! A hostile guest beside a quiet one: it can hurt only itself.

use tests::{Case, Run, Vm};

/// Lines of the quiet guest, one every 10 ms.
const LINES: usize = 20;

/// Runs a case of `rt-hostile` beside a beacon, which must not notice.
#[track_caller]
fn beside_a_beacon(case: &str, more: impl FnOnce(Vm) -> Vm) -> Run {
    let hostile = Vm::rt("rt-hostile").bootargs(&format!("case={case}"));
    let beacon = Vm::rt("rt-beacon").bootargs(&format!("beacon.lines={LINES}"));
    let run = Case::new(&format!("hostile-{case}"))
        .vm(more(hostile))
        .vm(beacon)
        .timeout(60)
        .run()
        .ended();
    let name = case.split(' ').next().unwrap_or_default();
    run.expect("hostile", &format!("hostile: {name} begin"));
    let lines = run.lines("beacon");
    assert_eq!(lines.len(), LINES + 1, "{}", run.log());
    assert_eq!(lines[LINES], "beacon: done");
    run.summary("beacon", "off", "power-off", 0);
    run
}

/// The guest is stopped with a report.
#[track_caller]
fn stopped(case: &str, reason: &str) {
    let run = beside_a_beacon(case, |vm| vm);
    run.never("hostile", "survived");
    run.expect("bulkhead", &format!("hostile: crash ({reason}) of VCPU 0 at pc 0x"));
    run.expect("bulkhead", "hostile: esr 0x");
    run.expect("bulkhead", "hostile: x0 ");
    run.expect("bulkhead", &format!("hostile: stopped ({reason})"));
    run.summary("hostile", "stopped", reason, 0);
}

/// What the guest did was emulated or refused.
#[track_caller]
fn survives(case: &str) -> Run {
    let run = beside_a_beacon(case, |vm| vm);
    run.expect("hostile", &format!("hostile: {case} survived"));
    run.never("bulkhead", "crash");
    run.summary("hostile", "off", "power-off", 0);
    run
}

macro_rules! stopped {
    ($($test:ident: $case:literal, $reason:literal;)*) => {$(
        #[test]
        fn $test() {
            stopped($case, $reason);
        }
    )*};
}

stopped! {
    reading_foreign_memory: "foreign-read", "bad-address";
    writing_foreign_memory: "foreign-write", "bad-address";
    executing_foreign_memory: "foreign-fetch", "bad-fetch";
    page_tables_in_foreign_memory: "page-table-garbage", "bad-page-table";
    vectors_in_foreign_memory: "crash", "bad-fetch";
}

#[test]
fn undefined_instructions_are_the_guests_own_business() {
    let run = survives("undefined");
    assert!(run.value("hostile", "hostile: undefined survived", "faults") > 0);
}

#[test]
fn trapped_registers_are_emulated_or_undefined() {
    survives("trapped-sysreg");
}

#[test]
fn smc_is_answered() {
    survives("smc");
}

/// Stands behind P2 of the safety manual.
#[test]
fn nonsense_hypercalls_are_refused_and_change_nothing() {
    let run = survives("hvc-nonsense");
    let value = |key| run.value("hostile", "hostile: hvc-nonsense survived", key);
    assert_eq!((value("calls"), value("negative"), value("registers_kept")), (1000, 1000, 1000));
}

#[test]
fn hypercalls_with_bad_addresses_are_refused() {
    let run = survives("hvc-bad-address");
    let value = |key| run.value("hostile", "hostile: hvc-bad-address survived", key);
    assert_eq!(value("refused"), value("of"));
}

#[test]
fn cpu_on_with_nonsense_is_refused() {
    let run = survives("cpu-on-nonsense");
    assert_eq!(run.value("hostile", "hostile: cpu-on-nonsense survived", "accepted"), 0);
}

#[test]
fn floods_of_interrupts_hurt_only_their_guest() {
    for case in ["sgi-flood", "timer-flood"] {
        let run = survives(case);
        assert!(run.value("hostile", &format!("hostile: {case} survived"), "taken") > 100);
    }
}

#[test]
fn a_flood_of_output_does_not_drown_the_other() {
    survives("uart-flood");
}

#[test]
fn devices_refuse_odd_accesses() {
    for case in ["mmio-unaligned", "mmio-odd-size", "mmio-no-syndrome"] {
        survives(case);
    }
}

/// Stands behind P1 of the safety manual.
#[test]
fn nonsense_to_the_interrupt_controller_is_contained() {
    let run = survives("gic-nonsense");
    assert_eq!(run.value("hostile", "hostile: gic-nonsense survived", "sgi_after"), 1);
}

#[test]
fn cache_maintenance_by_set_and_way_is_ignored() {
    survives("dcache-setway");
}

#[test]
fn a_stack_overflow_and_a_panic_end_their_guest() {
    for case in ["stack-overflow", "panic"] {
        let run = beside_a_beacon(case, |vm| vm);
        run.never("hostile", "survived");
    }
}

#[test]
fn a_guest_that_resets_itself_starts_again_until_its_limit() {
    let run = beside_a_beacon("reset", |vm| vm.number("restart_limit", 2));
    for restarts in 0..3 {
        run.expect("hostile", &format!("hostile: start restarts={restarts}"));
    }
    run.expect("bulkhead", "hostile: reset, restart 2 of 2");
    run.summary("hostile", "stopped", "reset", 2);
}

#[test]
fn a_guest_that_may_not_reset_is_stopped() {
    let run = beside_a_beacon("reset", |vm| vm.key("on_reset", "stop"));
    run.summary("hostile", "stopped", "reset", 0);
}

#[test]
fn a_crash_starts_the_guest_again_if_its_description_says_so() {
    let run = beside_a_beacon("foreign-write", |vm| {
        vm.key("on_crash", "restart").number("restart_limit", 1)
    });
    run.expect("bulkhead", "hostile: bad-address, restart 1 of 1");
    run.expect("hostile", "hostile: start restarts=1");
    run.summary("hostile", "stopped", "bad-address", 1);
}

/// Where its description says so, a guest that looks for memory gets an abort and goes on: a class, of EL1, and an external
/// abort, with the bit of a store.
#[test]
fn a_guest_may_look_for_memory_that_is_not_there() {
    const DATA: u64 = 0x25 << 26 | 1 << 25 | 0x10;
    const STORE: u64 = 1 << 6;
    const FETCH: u64 = 0x21 << 26 | 1 << 25 | 0x10;
    for (case, syndrome) in
        [("foreign-read", DATA), ("foreign-write", DATA | STORE), ("foreign-fetch", FETCH)]
    {
        let run = beside_a_beacon(case, |vm| vm.key("on_bad_address", "abort"));
        run.expect("hostile", &format!("hostile: {case} survived fault="));
        run.expect("hostile", &format!(" esr={syndrome:#x} far=0x"));
        run.never("bulkhead", "crash");
        run.summary("hostile", "off", "power-off", 0);
    }
}

/// VCPU 1 runs for ever on another CPU: it stops with the VM, and starts anew with it.
#[test]
fn what_ends_a_vm_ends_all_its_vcpus() {
    for (case, reason, starts) in
        [("foreign-read", "bad-address", 1), ("reset", "reset", 2), ("off", "power-off", 1)]
    {
        let run = beside_a_beacon(&format!("{case} second=1"), |vm| {
            vm.number("vcpus", 2).number("restart_limit", 1)
        });
        let running = "hostile: second result=0 runs=1";
        let found = run.lines("hostile").iter().filter(|line| **line == running).count();
        assert_eq!(found, starts, "{}", run.log());
        let state = if case == "off" { "off" } else { "stopped" };
        run.summary("hostile", state, reason, starts as u32 - 1);
    }
}
