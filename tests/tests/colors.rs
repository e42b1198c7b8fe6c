//! VMs, and the hypervisor, in colours of the last-level cache, interleaved in one area of the machine.

use tests::{Case, Vm};

#[test]
fn linux_and_a_real_time_guest_run_in_their_colours() {
    let case = Case::new("colors")
        .vm(Vm::linux("smp").memory("256MiB").key("colors", "0-7"))
        .vm(Vm::rt("rt-demo").named("rt").bootargs("rt.seconds=1").key("colors", "8-11"));
    let plan = case.plan();
    let areas: Vec<_> = plan.vms.iter().map(|vm| vm.memory[0].host_region()).collect();
    assert!(areas[0].overlaps(&areas[1]), "the areas interleave: {areas:?}");
    let run = case.run().ended();
    run.expect("linux", "linux: smp ok");
    assert_eq!(run.value("rt", "rt: task fast ", "misses"), 0);
}

/// Everything is loaded again into frames of the right colour.
#[test]
fn a_coloured_vm_starts_again() {
    let run = Case::new("colors-restart")
        .vm(Vm::rt("rt-psci").number("vcpus", 2).key("colors", "3,5,7"))
        .vm(Vm::rt("rt-beacon").key("colors", "0-2,15").bootargs("beacon.lines=20"))
        .run()
        .ended();
    run.expect("psci", "psci: 36 passed, 0 failed");
    run.summary("psci", "off", "power-off", 1);
    run.expect("beacon", "beacon: done");
}

/// Stands behind P1 of the safety manual.
#[test]
fn foreign_memory_is_out_of_reach_in_colours_too() {
    let run = Case::new("colors-foreign")
        .vm(Vm::rt("rt-hostile").bootargs("case=foreign-write").key("colors", "0-7"))
        .vm(Vm::rt("rt-beacon").key("colors", "8-15").bootargs("beacon.lines=20"))
        .run()
        .ended();
    run.summary("hostile", "stopped", "bad-address", 0);
    run.expect("beacon", "beacon: done");
}

/// Its code, its data and its translation tables move while it starts; the other CPUs follow,
/// a VM that restarts is loaded from memory that is not cached any more.
#[test]
fn the_hypervisor_runs_in_colours_of_its_own() {
    let run = Case::new("colors-own")
        .platform("hypervisor_colors", "15")
        .vm(Vm::linux("smp").memory("256MiB").key("colors", "0-7"))
        .vm(Vm::rt("rt-psci").number("vcpus", 2).key("colors", "8-11"))
        .run()
        .ended();
    run.expect("linux", "linux: smp ok");
    run.expect("psci", "psci: 36 passed, 0 failed");
    run.summary("psci", "off", "power-off", 1);
}

/// Whatever does not fit, image, tables or heap, the message says what is too small.
#[test]
fn too_few_frames_for_the_hypervisor_are_refused() {
    let case = Case::new("colors-own-small")
        .platform("hypervisor_colors", "15")
        .vm(Vm::rt("rt-beacon").key("colors", "0-14").bootargs("beacon.lines=1"))
        .timeout(30);
    let area = case.plan().platform.hypervisor_area.expect("it has colours").region;
    // One frame of each 16 is of the colour.
    for bytes in [0x8000, 1 << 16, 50 << 16, 80 << 16, 100 << 16, 120 << 16] {
        let run = case.boot_with_plan(|plan| {
            let from = format!("0x0 0x{:08x}", area.size.0);
            assert!(plan.contains(&from), "no {from} in\n{plan}");
            plan.replacen(&from, &format!("0x0 {bytes:#x}"), 1)
        });
        let line = run.expect("bulkhead", "the memory of the hypervisor is used up");
        assert!(line.starts_with("plan: /platform"), "{line}");
        run.expect("bulkhead", "no VM was started");
        run.never("bulkhead", "panic");
    }
}
