//! Plans and images that must not start: one clear message, no VM.

use qemu::{Board, Time};
use tests::{Case, Run, Vm};

fn case(name: &str) -> Case {
    Case::new(name).vm(Vm::rt("rt-beacon").named("beacon").bootargs("beacon.lines=1")).timeout(30)
}

#[track_caller]
fn refused(run: &Run, message: &str) {
    run.expect("bulkhead", message);
    run.expect("bulkhead", "no VM was started");
    run.never("bulkhead", "ready");
    assert!(run.lines("beacon").is_empty(), "{}", run.log());
}

/// The image as it is starts: the refusals below come from the changes.
#[test]
fn the_unchanged_plan_starts() {
    let run = case("plan-good").boot_with_plan(|plan| plan);
    run.expect("beacon", "beacon: done");
}

/// Stands behind P17 of the safety manual.
#[test]
fn bad_plans_are_refused_with_node_and_property() {
    let mistakes = [
        ("vm-name", "vm-nam", "plan: /vms/vm@0: unknown property vm-nam"),
        ("on-crash = \"stop\"", "on-crash = \"cry\"", "plan: /vms/vm@0: on-crash: "),
        ("pcpu = <0x0>", "pcpu = <0x7>", "plan: /vms/vm@0/vcpus/vcpu@0: pcpu: "),
        ("gic-version = <0x3>", "gic-version = <0x2>", "plan: /platform: gic-version: "),
        ("compatible = \"arm,pl011\"", "compatible = \"acme,uart\"", ": compatible: "),
        ("boot {", "boots {", "plan: /vms/vm@0: unknown node boots"),
    ];
    for (number, (from, to, message)) in mistakes.iter().enumerate() {
        let run = case(&format!("plan-bad-{number}")).boot_with_plan(|plan| {
            // Numbers may be written in either base.
            let decimal = |text: &str| text.replace("<0x", "<");
            let from = if plan.contains(*from) { (*from).to_owned() } else { decimal(from) };
            assert!(plan.contains(&from), "no {from} in\n{plan}");
            plan.replacen(&from, to, 1)
        });
        refused(&run, message);
    }
}

/// The image fits, but what the hypervisor builds at boot does not.
#[test]
fn too_little_memory_for_the_hypervisor_is_refused() {
    let case = case("plan-small-hypervisor");
    // QEMU loads the image 512 KiB behind the start of RAM.
    let image = 0x8_0000 + case.image().bytes.len().next_multiple_of(4096);
    for spare in [0, 0x1000, 0x1_0000, 0x2_0000] {
        let run = case.boot_with_plan(|plan| {
            let reg = "reg = <0x0 0x40000000 0x0 0x06000000>";
            assert!(plan.contains(reg), "no {reg} in\n{plan}");
            plan.replacen(reg, &format!("reg = <0x0 0x40000000 0x0 {:#x}>", image + spare), 1)
        });
        refused(&run, "plan: ");
        refused(&run, "the memory of the hypervisor is used up");
        run.never("bulkhead", "panic");
    }
}

/// A plan with colours, broken in one place.
#[test]
fn colours_that_cannot_be_are_refused() {
    let colored = |name: &str| {
        Case::new(name)
            .vm(Vm::rt("rt-beacon").named("beacon").key("colors", "0-7"))
            .vm(Vm::rt("rt-beacon").named("other").key("colors", "8-15"))
            .timeout(30)
    };
    let mistakes = [
        // The other VM gets a colour of the first one.
        ("<0x0 0x0000ff00>", "<0x0 0x0000ff80>", "host-reg: ", "which belongs to beacon"),
        ("<0x0 0x000000ff>", "<0x0 0x000100ff>", "colors: ", "must be colours of"),
        ("<0x0 0x000000ff>", "<0x0 0x00000001>", "host-reg: ", "frames of these colours"),
        ("ways = <16>", "ways = <8>", "/platform/llc: ", "this CPU has 0x100000 bytes, 16 ways"),
    ];
    for (number, (from, to, place, problem)) in mistakes.iter().enumerate() {
        let run = colored(&format!("colors-bad-{number}")).boot_with_plan(|plan| {
            assert!(plan.contains(from), "no {from} in\n{plan}");
            plan.replacen(from, to, 1)
        });
        let line = run.expect("bulkhead", problem);
        assert!(line.starts_with("plan: /") && line.contains(place), "{line}");
        run.expect("bulkhead", "no VM was started");
    }
}

#[test]
fn a_plan_for_a_larger_machine_is_refused() {
    let case = case("plan-small-machine");
    let board = Board { memory_bytes: Some(512 << 20), ..case.board() };
    let session = case.start_on(&board, &case.image().bytes, Time::Deterministic);
    let outcome = session.finish(std::time::Duration::from_secs(30));
    assert!(outcome.log.contains("plan: /platform/memory@40000000: reg: "), "{outcome}");
    assert!(outcome.log.contains("no VM was started"), "{outcome}");
}

#[test]
fn a_plan_for_more_cpus_is_refused() {
    let case = case("plan-few-cpus");
    let board = Board { cpus: Some(2), ..case.board() };
    let session = case.start_on(&board, &case.image().bytes, Time::Deterministic);
    let outcome = session.finish(std::time::Duration::from_secs(30));
    assert!(outcome.log.contains("plan: /platform/cpus/cpu@2: "), "{outcome}");
    assert!(outcome.log.contains("no VM was started"), "{outcome}");
}

#[test]
fn a_plan_for_gicv3_is_refused_on_gicv2() {
    let case = case("plan-gicv2");
    let board = Board { machine: "virt,virtualization=on,gic-version=2".into(), ..case.board() };
    let session = case.start_on(&board, &case.image().bytes, Time::Deterministic);
    let outcome = session.finish(std::time::Duration::from_secs(30));
    assert!(outcome.log.contains("plan: /platform: gic-version: "), "{outcome}");
    assert!(outcome.log.contains("no VM was started"), "{outcome}");
}

/// One bit in each blob, in the blob table and in its digest.
///
/// Stands behind P18 of the safety manual.
#[test]
fn an_image_with_a_flipped_bit_is_refused() {
    let case = case("flipped");
    let image = case.image();
    let contents = image::verify(&image.bytes).unwrap();
    let start = image.hypervisor_bytes as usize;
    let mut places = vec![
        (start + 50, "the blob table does not match".to_owned()),
        (start + 130, "the blob table does not match".to_owned()),
    ];
    for (name, bytes) in &image.blobs {
        let blob = contents.blob(&image.bytes, name).unwrap();
        let at = blob.as_ptr() as usize - image.bytes.as_ptr() as usize;
        let message = format!("blob {name} does not match its SHA-256 digest");
        places.push((at + *bytes as usize / 2, message));
    }
    assert!(places.len() >= 5, "plan, kernel and device tree are there");
    for (at, message) in places {
        let mut bytes = image.bytes.clone();
        bytes[at] ^= 1 << (at % 8);
        refused(&case.boot(&bytes).ended(), &message);
    }
}

#[test]
fn an_image_without_a_payload_is_refused() {
    let case = case("no-payload");
    let image = case.image();
    let mut bytes = image.bytes[..image.hypervisor_bytes as usize].to_vec();
    bytes.resize(bytes.len() + 8192, 0);
    // Without its header not even the console is known: the machine is switched
    // off without a word, instead of running something else.
    let run = case.boot(&bytes).ended();
    assert_eq!(run.log(), "");
}
