//! Tasks of the real-time guest in memory of their colours.

use tests::{Case, Vm};

fn chase(bootargs: &str) -> Vm {
    Vm::rt("rt-chase").bootargs(bootargs)
}

/// Guest colours are those of the virtual cache: a task can have each of them, and no other.
#[test]
fn tasks_get_pages_of_the_colours_of_a_virtual_cache() {
    let bootargs = "chase.kib=128 chase.rounds=3 chase.corunners=3 chase.corunner_colors=3";
    let vm = chase(&format!("{bootargs} chase.colors=0-2")).number("vcpus", 4);
    let run = Case::new("chase").vm(vm.key("colors", "4-7").more("vllc = true\n")).run().ended();
    run.expect("chase", "colors=0-2 via=vllc of=4 corunners=3");
    run.expect("chase", "chase: kib=128 lines=2048 jobs=0-2 ");
    run.expect("chase", "chase: done");

    let vm = chase("chase.colors=0-4").key("colors", "4-7").more("vllc = true\n");
    let run = Case::new("chase-none").vm(vm).run().ended();
    run.expect("chase", "no such colours: 4; the cache has 0-3");
}

/// A quarter of the RAM is of each colour: a larger working set does not fit, with or without others.
#[test]
fn a_task_that_does_not_fit_says_so() {
    let vm = chase("chase.kib=4096 chase.colors=1").key("colors", "0-3").more("vllc = true\n");
    let run = Case::new("chase-large").vm(vm).run().ended();
    run.expect("chase", "too little RAM for a task of 4096 KiB: no free frame of the colours 1");
}

/// In turns with others, a round takes as long as all of their turns.
#[test]
fn threads_take_turns() {
    let alone = "chase.kib=64 chase.laps=200 chase.rounds=4 chase.via=none";
    let mean = |name: &str, more: &str| {
        let run = Case::new(name).vm(chase(&format!("{alone} {more}"))).run().ended();
        run.expect("chase", "chase: done");
        run.value("chase", "chase: kib=64", "mean_ns")
    };
    let alone = mean("chase-alone", "");
    let turns = mean(
        "chase-turns",
        "chase.corunners=3 chase.where=same chase.quantum_us=50 chase.kind=busyloop",
    );
    assert!(
        (alone * 7 / 2..alone * 9 / 2).contains(&turns),
        "alone {alone} ns, in turns {turns} ns"
    );
}

/// All sizes in one boot, and each round is a job with a number of its own.
#[test]
fn a_sweep_numbers_its_jobs() {
    let bootargs = "chase.pattern=sequential chase.sweep=8-24/8 chase.rounds=5 chase.via=none";
    let run = Case::new("chase-sweep").vm(chase(bootargs)).run().ended();
    for line in
        ["kib=8 lines=128 jobs=0-4 ", "kib=16 lines=256 jobs=5-9 ", "kib=24 lines=384 jobs=10-14 "]
    {
        run.expect("chase", line);
    }
}

/// Tasks ask for extra colours when they have initialised their memory.
#[test]
fn tasks_ask_for_extra_colours() {
    let bootargs = "chase.kib=128 chase.rounds=2 chase.via=vcoloring chase.corunners=2";
    let vm = chase(&format!("{bootargs} chase.colors=8-10 chase.corunner_colors=11"));
    let vm = vm.number("vcpus", 3).key("colors", "0-7");
    let vm = vm.key("extra_colors", "8-11").key("extra_memory", "2MiB");
    let run = Case::new("chase-request").vm(vm).run().ended();
    run.expect("chase", "chase: request colors=8-10 pages=36 ");
    run.expect("chase", "chase: request colors=11 pages=36 ");
    run.expect("chase", "chase: done");
}

/// Of 2 MiB in four colours, half a megabyte is of each.
#[test]
fn a_pool_that_is_too_small_is_named() {
    let vm = chase("chase.kib=1024 chase.via=vcoloring chase.colors=9").key("colors", "0-7");
    let vm = vm.key("extra_colors", "8-11").key("extra_memory", "2MiB");
    let run = Case::new("chase-pool").vm(vm).run().ended();
    run.expect("chase", "too few free frames of them: more extra_memory");
    run.expect("chase", "chase: not measured");
}

#[test]
fn arguments_that_cannot_be_right_are_named() {
    for (bootargs, message) in [
        ("chase.pattern=zigzag", "chase.pattern: expected one of chase, sequential, busyloop"),
        ("chase.sweep=8", "chase.sweep=8: expected FIRST-LAST/STEP"),
        ("chase.colors=3-1", "chase.colors: character 1: the range ends below its start"),
        ("chase.corunners=4", "chase.corunners=4: at most 3 are supported"),
        ("chase.via=none chase.corunners=1", "no VCPU 1 for a co-runner"),
        ("chase.via=vcoloring chase.colors=1", "this VM has no extra colours"),
        ("chase.kib=many", "chase.kib=many: expected a number"),
    ] {
        let run = Case::new("chase-bad").vm(chase(bootargs)).timeout(30).run().ended();
        run.expect("chase", message);
        run.never("chase", "chase: done");
    }
}
