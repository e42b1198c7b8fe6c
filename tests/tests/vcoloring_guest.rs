//! Requests for colours by a guest that tries everything: all cases of `rt-color`.

use std::time::Duration;

use qemu::{Board, Time};
use tests::{Case, Run, Vm};

fn color() -> Vm {
    let vm = Vm::rt("rt-color").number("vcpus", 2).key("colors", "0-3");
    vm.key("extra_colors", "4-7").key("extra_memory", "4MiB")
}

/// What failed, and which cases ran.
#[track_caller]
fn all_pass(run: &Run, cases: &[&str]) {
    let lines = run.lines("color");
    let failed: Vec<_> = lines.iter().filter(|line| line.contains("FAILED")).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    run.expect("color", " passed, 0 failed");
    for case in cases {
        run.expect("color", &format!("color: {case} ok"));
    }
    run.never("color", "skipped, there is no second VCPU");
}

#[test]
fn every_request_does_what_it_should_and_nothing_else() {
    let run = Case::new("rt-color").vm(color()).run().ended();
    all_pass(
        &run,
        &["basic", "block", "death", "user", "misuse", "writer", "two", "changes", "self"],
    );
}

/// Extra colours may be the VM's own, and pages of RAM may be mapped from the start.
#[test]
fn extra_colours_may_be_default_colours_too() {
    let vm = Vm::rt("rt-color").number("vcpus", 2).key("colors", "0-7");
    let vm = vm.key("extra_colors", "4-9").key("extra_memory", "3MiB").more("warm_up = true\n");
    let run = Case::new("rt-color-own").vm(vm).run().ended();
    all_pass(&run, &["basic", "invalid", "small-pool", "small-color", "death"]);
}

/// Nothing answers at the address of this device: what reads it gets a bus error, and a guest may
/// say that its translation tables lie there.
#[test]
fn tables_in_a_broken_device_hurt_nobody() {
    let device = "[[vm.device]]\ncompatible = [\"broken\"]\n\
                  address = 0x0c00_0000\nsize = \"4KiB\"\n";
    let run = Case::new("rt-color-device").vm(color().bootargs("case=device").more(device));
    all_pass(&run.run().ended(), &["device"]);
}

/// A Cortex-A53 has no 16 KiB granule, a Cortex-A710 has; its cache is 512 KiB, 8 ways.
#[test]
fn tables_of_16_kib_are_walked() {
    let case = Case::new("rt-color-16k").vm(color().bootargs("case=granule-16k"));
    let image = case.image_with(|plan| {
        plan.replace("<1048576>", "<524288>").replace("ways = <16>", "ways = <8>")
    });
    let board = Board { cpu: Some("cortex-a710".into()), ..case.board() };
    let session = case.start_on(&board, &image.bytes, Time::Deterministic);
    let outcome = session.finish(Duration::from_secs(60));
    assert!(!outcome.log.contains("skipped"), "{outcome}");
    assert!(outcome.log.contains("color: granule-16k ok"), "{outcome}");
    assert!(outcome.log.contains(" passed, 0 failed"), "{outcome}");
}
