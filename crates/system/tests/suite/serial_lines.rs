//! Serial lines between VMs: what the plan gives them, and one message for each mistake, at its line.

use system::plan::{Plan, Rings};
use units::Duration;

use crate::talk::made;

const SYSTEM: &str = r#"platform = "qemu-virt"

[[serial]]
between = ["plan", "drive"]
tell_every = "2ms"
tell_burst = 3

[[vm]]
name = "drive"
boot = "raw"
memory = "16MiB"
kernel = "drive.bin"

[[vm]]
name = "plan"
boot = "raw"
memory = "16MiB"
kernel = "plan.bin"
"#;

#[test]
fn each_end_has_registers_and_an_interrupt_of_its_own() {
    let plan = made(SYSTEM).expect("it is right");
    let line = &plan.serial_lines[0];
    assert_eq!((line.vms, line.registers.start.0), ([0, 1], 0x0a03_0000));
    assert_eq!(line.interrupts.map(|it| it.0), [36, 36]);
    let tells = Rings { interval: Duration(2_000_000), early: Duration(4_000_000) };
    assert_eq!(line.tells, tells);
    let again = Plan::from_dtb(&plan.to_dtb()).expect("it is read again");
    assert_eq!(again, plan);
    // The second line, and a device that has the interrupt that would come next.
    let more = "[[serial]]\nbetween = [\"drive\", \"plan\"]\n\n[[vm]]\nname = \"drive\"";
    let device = "kernel = \"plan.bin\"\n[[vm.device]]\ncompatible = [\"arm,pl031\"]\n\
                  address = 0x0901_0000\nsize = \"4KiB\"\ninterrupt = 34\nguest_interrupt = 37\n";
    let text = SYSTEM.replacen("[[vm]]\nname = \"drive\"", more, 1);
    let plan = made(&text.replace("kernel = \"plan.bin\"\n", device)).expect("it is right");
    let second = &plan.serial_lines[1];
    assert_eq!((second.vms, second.registers.start.0), ([0, 1], 0x0a03_1000));
    assert_eq!(second.interrupts.map(|it| it.0), [37, 38]);
    assert_eq!(second.tells.interval, Duration(1_000_000), "the default");
}

#[test]
fn each_mistake_is_one_message_at_its_place() {
    for (right, wrong, code, place, part) in [
        ("[[serial]]", "[serial]", "wrong-type", "3:1", "write a header `[[serial]]`"),
        ("[[serial]]", "[[serials]]", "unknown-key", "3:3", "did you mean `serial`?"),
        ("between = [\"plan\", \"drive\"]\n", "", "missing-key", "3:1", "add `between = "),
        ("\"plan\", \"drive\"]", "\"plan\", \"dryve\"]", "unknown-name", "4:20", "`drive`?"),
        ("\"plan\", \"drive\"]", "\"plan\", \"plan\"]", "duplicate-name", "4:20", "once"),
        ("\"plan\", \"drive\"]", "\"plan\"]", "wrong-value", "4:1", "name the two"),
        ("\"drive\"]", "\"drive\", 3]", "wrong-type", "4:29", "expected a string"),
        ("\"2ms\"", "\"0ms\"", "out-of-range", "5:14", "20 us to 3600 s"),
        ("\"2ms\"", "2", "missing-unit", "5:14", "\"2ms\""),
        ("tell_every", "tel_every", "unknown-key", "5:1", "did you mean `tell_every`?"),
        ("tell_burst = 3", "tell_burst = 0", "out-of-range", "6:14", "1 to 64"),
        ("tell_burst = 3", "tell_burst = 65", "out-of-range", "6:14", "1 to 64"),
    ] {
        let errors = made(&SYSTEM.replacen(right, wrong, 1)).expect_err(wrong);
        let text = errors.to_string();
        assert_eq!(errors.into_vec().len(), 1, "{wrong}: {text}");
        let at = format!("talk.toml:{place}");
        assert!(
            text.contains(code) && text.contains(&at) && text.contains(part),
            "{wrong}: {text}"
        );
    }
    let many = "[[serial]]\nbetween = [\"plan\", \"drive\"]\n".repeat(9);
    let text = SYSTEM.replacen("[[serial]]\nbetween = [\"plan\", \"drive\"]\n", &many, 1);
    let errors = made(&text).expect_err("nine lines");
    let text = errors.to_string();
    assert_eq!(errors.into_vec().len(), 1, "{text}");
    assert!(text.contains("can have 8 serial lines"), "{text}");
}

/// VCPUs of one VM wait for each other at its end, which no bound counts.
#[test]
fn a_vm_with_a_serial_line_and_tasks_has_one_vcpu() {
    const TASK: &str = "[[vm.task]]\nname = \"t\"\nperiod = \"10ms\"\nwcet = \"1ms\"\n";
    let with = |more: &str| {
        let plan = format!("kernel = \"plan.bin\"\n{more}");
        made(&SYSTEM.replacen("kernel = \"plan.bin\"\n", &plan, 1))
    };
    with(TASK).expect("it has one VCPU");
    with("vcpus = 2\n").expect("it has no task");
    for vcpus in ["vcpus = 2\n", "vcpus = \"planned\"\n"] {
        let text = with(&format!("{vcpus}{TASK}")).expect_err(vcpus).to_string();
        for part in ["not-with-serial", "talk.toml:15:8", "the serial line", "give it one VCPU"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
