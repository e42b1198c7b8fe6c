//! VMs that see their colours as a last-level cache of their own.

use std::time::Duration;

use qemu::{Board, Time};
use system::plan;
use tests::{Case, Vm};

fn cache(name: &str) -> Vm {
    Vm::rt("rt-cache").named(name).number("vcpus", 2)
}

#[test]
fn a_vm_sees_its_colours_and_another_one_the_whole_cache() {
    let run = Case::new("vllc")
        .vm(cache("small").key("colors", "0-3").more("vllc = true\n"))
        .vm(cache("large").key("colors", "4-15"))
        .run()
        .ended();
    run.expect("small", "cache: level=2 kind=unified size=262144 ways=16 line=64 sets=256");
    run.expect("large", "cache: level=2 kind=unified size=1048576 ways=16 line=64 sets=1024");
    run.expect("small", "cache: tree size=262144 line=64 sets=256");
    run.expect("small", "cache: colors=4");
    run.expect("large", "cache: tree size=1048576 line=64 sets=1024");
    run.expect("large", "cache: colors=16");
    let [small, large] = ["small", "large"].map(|vm| -> Vec<&str> {
        run.lines(vm).into_iter().filter(|line| line.contains("level=1")).collect()
    });
    assert_eq!((small.len(), &small), (2, &large), "other levels are the real ones");
    for register in ["ctr=", "clidr="] {
        let [small, large] = ["small", "large"].map(|vm| {
            let line = run.expect(vm, "cache: registers");
            line.split_whitespace().find(|word| word.starts_with(register)).map(str::to_owned)
        });
        assert_eq!(small, large);
    }
    for vm in ["small", "large"] {
        // Among them: each VCPU has a selection of its own.
        run.expect(vm, "cache: 9 passed, 0 failed");
    }
}

/// On a Cortex-A710, CCSIDR_EL1 has its 64-bit format (FEAT_CCIDX): 512 KiB, 8 ways.
#[test]
fn the_64_bit_format_is_scaled_too() {
    let case =
        Case::new("vllc-ccidx").vm(cache("cache").key("colors", "0-3").more("vllc = true\n"));
    let image = case.image_with(|plan| {
        plan.replace("<1048576>", "<524288>").replace("ways = <16>", "ways = <8>")
    });
    let board = Board { cpu: Some("cortex-a710".into()), ..case.board() };
    let session = case.start_on(&board, &image.bytes, Time::Deterministic);
    let outcome = session.finish(Duration::from_secs(60));
    for line in [
        "cache: level=1 kind=data size=65536 ways=4 line=64 sets=256",
        "cache: level=2 kind=unified size=131072 ways=8 line=64 sets=256",
        "cache: tree size=131072 line=64 sets=256",
        "cache: colors=4",
        "cache: 9 passed, 0 failed",
    ] {
        assert!(outcome.log.contains(line), "{line}: {outcome}");
    }
}

/// An exit costs what the figure allows, and VMs without a virtual cache do not exit.
#[test]
fn a_read_costs_at_most_200_instructions() {
    for (name, more, costs) in [("vllc-cost", "vllc = true\n", 1..=200), ("vllc-free", "", 0..=0)] {
        let vm = cache("cache").key("colors", "0-7").more(more);
        let run = Case::new(name).tick_is_an_instruction().vm(vm).run();
        let log = run.log();
        let (_, ticks) = log.split_once("ccsidr_read_ticks=").unwrap_or_else(|| panic!("{log}"));
        let ticks = ticks.split_whitespace().next().and_then(|ticks| ticks.parse().ok());
        assert!(ticks.is_some_and(|ticks: u64| costs.contains(&ticks)), "{log}");
    }
}

#[test]
fn linux_sees_the_cache_of_its_colours() {
    for (name, more, size, sets) in
        [("vllc-linux", "vllc = true\n", "512K", 512), ("llc-linux", "", "1024K", 1024)]
    {
        let linux = Vm::linux("cache").memory("256MiB").key("colors", "0-7").more(more);
        let run = Case::new(name).vm(linux).run().ended();
        run.expect("linux", &format!("linux: cache level=2 type=Unified size={size} sets={sets}"));
    }
}

/// The tools refuse three colours where they are described, and the hypervisor refuses a plan
/// that asks for them all the same.
#[test]
fn three_colours_are_no_cache() {
    let case = Case::new("vllc-three")
        .vm(Vm::rt("rt-cache").key("colors", "0-3").more("vllc = true\n"))
        .timeout(30);
    let good = case.plan().to_dts();
    assert!(good.contains("<0x0 0x0000000f>"), "{good}");
    let bad = good.replace("<0x0 0x0000000f>", "<0x0 0x0000000b>");
    let errors = plan::Plan::from_dts("plan.dts", &bad).unwrap_err().to_string();
    assert!(errors.contains("0-1,3 are 3"), "{errors}");
    assert!(errors.contains("give the VM 2 or 4 colours"), "{errors}");

    let run = case.boot_with_plan(|_| bad);
    run.expect("bulkhead", "plan: /vms/vm@0: vllc: needs 1, 2, 4, ... colours");
    run.expect("bulkhead", "no VM was started");
}
