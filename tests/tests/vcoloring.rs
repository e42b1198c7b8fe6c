//! vColoring beside what else a VM does: first touches, restarts, a real working set, tables in use.
//! What requests do and refuse is tested by the guest `rt-color` (`vcoloring_guest.rs`).

use tests::{Case, Vm};

fn with_pool(vm: Vm) -> Vm {
    vm.key("colors", "0-7").key("extra_colors", "8-15").key("extra_memory", "16MiB")
}

#[test]
fn a_task_that_runs_on_in_its_colours_reads_what_it_had() {
    let chase = with_pool(Vm::rt("rt-chase")).memory("64MiB").bootargs(
        "chase.via=vcoloring chase.colors=8-11 chase.kib=1024 chase.rounds=2 chase.warmup=0",
    );
    let run = Case::new("vcoloring-chase").vm(chase).run().ended();
    run.expect("chase", "chase: request colors=8-11 pages=260 ");
    run.expect("chase", "chase: done");
}

/// After the restart all pages are at home, the pool is whole, and requests are served again.
#[test]
fn a_vm_may_restart_during_a_request() {
    for (name, more) in [("vcoloring-restart", ""), ("vcoloring-restart-warm", "warm_up = true\n")]
    {
        let color = with_pool(Vm::rt("rt-color"))
            .number("vcpus", 2)
            .number("restart_limit", 1)
            .bootargs("case=restart")
            .more(more);
        let run = Case::new(name).vm(color).run().ended();
        run.expect("bulkhead", "color: reset, restart 1 of 1");
        run.expect("color", "color: pool-is-whole ok");
        run.expect("color", "color: audit ok");
        run.expect("color", " passed, 0 failed");
    }
}

/// The hypervisor reads what a guest wants to print where it is now: rt-color prints all its lines by
/// call, and Linux by its UART; this one has its images and stacks mapped page by page.
#[test]
fn pages_of_vms_without_colours_may_wait_for_a_first_touch_too() {
    let run = Case::new("first-touch")
        .vm(Vm::rt("rt-psci")
            .number("vcpus", 2)
            .number("restart_limit", 1)
            .more("warm_up = false\n"))
        .vm(Vm::rt("rt-beacon").more("warm_up = true\n"))
        .run()
        .ended();
    run.expect("psci", " passed, 0 failed");
    run.expect("bulkhead", "psci: reset, restart 1 of 1");
}

/// Refused where the plan is read: frames of the pool are nobody else's.
#[test]
fn a_pool_in_the_ram_of_another_vm_is_refused() {
    let case = Case::new("vcoloring-overlap")
        .vm(Vm::rt("rt-beacon").key("colors", "12-15"))
        .vm(Vm::rt("rt-color")
            .key("colors", "0-3")
            .more("extra_colors = \"8-11\"\nextra_memory = \"4MiB\"\n"))
        .timeout(30);
    let run = case.boot_with_plan(|plan| {
        assert!(plan.contains("<0x0 0x00000f00>"), "{plan}");
        plan.replace("<0x0 0x00000f00>", "<0x0 0x0000f000>")
    });
    run.expect("bulkhead", "which belongs to beacon");
    run.expect("bulkhead", "no VM was started");
}
