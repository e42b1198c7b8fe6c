//! What a newcomer gets wrong in channels, rings and tasks that rings release: one message for each mistake, at its line.

use crate::talk::made;

const SYSTEM: &str = r#"platform = "qemu-virt"

[[channel]]
name = "pose"
from = "plan"
to = ["drive"]
size = "8KiB"
ring_every = "20ms"
ring_burst = 2

[[chain]]
name = "follow"
steps = ["plan.route", "drive.control"]
max_age = "100ms"

[[vm]]
name = "plan"
boot = "raw"
memory = "16MiB"
kernel = "plan.bin"

[[vm.task]]
name = "route"
period = "20ms"
wcet = "2ms"
rings = "pose"

[[vm]]
name = "drive"
boot = "raw"
memory = "16MiB"
kernel = "drive.bin"

[[vm.task]]
name = "control"
triggered_by = "pose"
wcet = "1ms"
deadline = "5ms"
"#;

#[test]
fn each_mistake_is_one_message_at_its_place() {
    made(SYSTEM).expect("it is right");
    let second = "[[channel]]\nname = \"pose\"\nfrom = \"drive\"\nto = [\"plan\"]\n\n[[chain]]";
    for (right, wrong, code, place, part) in [
        ("[[channel]]", "[channel]", "wrong-type", "3:1", "write a header `[[channel]]`"),
        ("[[channel]]", "[[chanel]]", "unknown-key", "3:3", "did you mean `channel`?"),
        ("name = \"pose\"", "nane = \"pose\"", "unknown-key", "4:1", "did you mean `name`?"),
        ("name = \"pose\"\n", "", "missing-key", "3:1", "add `name = \"pose\"`"),
        ("name = \"pose\"", "name = \"Pose\"", "wrong-value", "4:8", "1 to 15 characters"),
        ("name = \"pose\"", "name = 3", "wrong-type", "4:8", "expected a string"),
        ("[[chain]]", second, "duplicate-name", "12:8", "give each its own name"),
        ("from = \"plan\"", "from = \"plam\"", "unknown-name", "5:8", "did you mean `plan`?"),
        ("from = \"plan\"", "from = [\"plan\"]", "wrong-type", "5:8", "found a list"),
        ("from = \"plan\"", "frm = \"plan\"", "unknown-key", "5:1", "did you mean `from`?"),
        ("to = [\"drive\"]", "to = []", "wrong-value", "6:6", "the list is empty"),
        ("to = [\"drive\"]", "to = [\"plan\"]", "wrong-value", "6:7", "cannot be a reader"),
        (
            "to = [\"drive\"]",
            "to = [\"drive\", \"drive\"]",
            "duplicate-name",
            "6:16",
            "name each VM once",
        ),
        ("to = [\"drive\"]", "to = [\"dryve\"]", "unknown-name", "6:7", "did you mean `drive`?"),
        ("size = \"8KiB\"", "size = \"5000B\"", "out-of-range", "7:8", "write `size = \"8KiB\"`"),
        ("size = \"8KiB\"", "size = 8192", "missing-unit", "7:8", "add a unit"),
        ("size = \"8KiB\"", "size = \"16MiB\"", "out-of-range", "7:8", "at most 8 MiB"),
        ("size = \"8KiB\"", "size = \"8K\"", "wrong-unit", "7:8", "did you mean `KiB`?"),
        (
            "ring_every = \"20ms\"",
            "ring_every = \"1us\"",
            "out-of-range",
            "8:14",
            "20 us to 3600 s",
        ),
        ("ring_every = \"20ms\"", "ring_every = \"2h\"", "wrong-unit", "8:14", "units are `ns`"),
        ("ring_every = \"20ms\"", "ring_every = 20", "missing-unit", "8:14", "\"20ms\""),
        (
            "ring_every = \"20ms\"",
            "ring_every_ = \"20ms\"",
            "unknown-key",
            "8:1",
            "did you mean `ring_every`?",
        ),
        ("ring_every = \"20ms\"\n", "", "useless-key", "8:1", "add `ring_every"),
        ("ring_burst = 2", "ring_burst = 0", "out-of-range", "9:14", "1 to 64"),
        ("ring_burst = 2", "ring_burst = \"2\"", "wrong-type", "9:14", "expected a whole number"),
        ("ring_burst = 2", "ring_brust = 2", "unknown-key", "9:1", "did you mean `ring_burst`?"),
        ("ring_burst = 2", "memory_at = 0x1", "wrong-value", "9:13", "a multiple of 4 KiB"),
        ("ring_burst = 2", "memory_at = \"0x7000_0000\"", "wrong-type", "9:13", "without quotes"),
        (
            "ring_burst = 2",
            "memory_at = 0x4000_0000",
            "plan-rule",
            "9:13",
            "overlaps the memory of the hypervisor",
        ),
        (
            "ring_burst = 2",
            "memory_at = 0x9000_0000_0000",
            "plan-rule",
            "9:13",
            "the machine has RAM at",
        ),
        ("rings = \"pose\"", "rings = \"pos\"", "unknown-name", "26:9", "did you mean `pose`?"),
        ("rings = \"pose\"", "ring = \"pose\"", "unknown-key", "26:1", "did you mean `rings`?"),
        ("rings = \"pose\"", "rings = [\"pose\"]", "wrong-type", "26:9", "found a list"),
        (
            "rings = \"pose\"\n",
            "",
            "wrong-value",
            "13:24",
            "add `rings = \"pose\"` to task `route`",
        ),
        (
            "triggered_by = \"pose\"",
            "triggered_by = \"pos\"",
            "unknown-name",
            "36:16",
            "did you mean `pose`?",
        ),
        (
            "triggered_by = \"pose\"",
            "triggered_bye = \"pose\"",
            "unknown-key",
            "36:1",
            "did you mean `triggered_by`?",
        ),
        ("triggered_by = \"pose\"\n", "", "missing-key", "34:1", "has no `period`"),
        (
            "wcet = \"1ms\"",
            "wcet = \"1ms\"\nperiod = \"20ms\"",
            "useless-key",
            "38:1",
            "remove one of the two",
        ),
        (
            "wcet = \"1ms\"",
            "wcet = \"1ms\"\noffset = \"1ms\"",
            "useless-key",
            "38:1",
            "the first ring releases",
        ),
        (
            "wcet = \"1ms\"",
            "wcet = \"1ms\"\njitter = \"1ms\"",
            "useless-key",
            "38:1",
            "`ring_burst`",
        ),
        (
            "wcet = \"1ms\"",
            "wcet = \"1ms\"\nsporadic = true",
            "useless-key",
            "38:1",
            "always sporadic",
        ),
        (
            "wcet = \"1ms\"",
            "wcet = \"1ms\"\nrings = \"pose\"",
            "wrong-value",
            "38:9",
            "a channel that this VM writes",
        ),
        (
            "kernel = \"drive.bin\"",
            "kernel = \"drive.bin\"\nvcpus = 2",
            "wrong-value",
            "37:16",
            "write `vcpus = 1`",
        ),
        ("plan.route", "plan.rout", "unknown-name", "13:10", "did you mean `route`?"),
        ("\"plan.route\"", "\"route\"", "wrong-value", "13:10", "did you mean `plan.route`?"),
        (
            "\"plan.route\", ",
            "",
            "wrong-value",
            "14:11",
            "begin the chain with the task that rings",
        ),
        (
            "max_age = \"100ms\"",
            "maxage = \"100ms\"",
            "unknown-key",
            "14:1",
            "did you mean `max_age`?",
        ),
    ] {
        assert!(SYSTEM.contains(right), "{right}");
        let errors = made(&SYSTEM.replacen(right, wrong, 1)).expect_err(wrong);
        let shown = errors.to_string();
        assert_eq!(errors.iter().len(), 1, "`{wrong}`:\n{shown}");
        let entry = &errors.entries()[0];
        let at = entry.line.zip(entry.column).map(|(line, column)| format!("{line}:{column}"));
        assert_eq!((entry.code, at.as_deref()), (code, Some(place)), "`{wrong}`:\n{shown}");
        assert!(shown.contains(part) && entry.help.is_some(), "`{part}` is not in:\n{shown}");
    }
}

/// Where two ends do not fit each other, each end has its place.
#[test]
fn a_channel_that_leads_the_other_way_is_told_at_both_ends() {
    let text =
        SYSTEM.replace("from = \"plan\"\nto = [\"drive\"]", "from = \"drive\"\nto = [\"plan\"]");
    let errors = made(&text).unwrap_err();
    let lines: Vec<_> = errors.entries().iter().map(|it| it.line).collect();
    assert_eq!(lines, [Some(26), Some(36)], "{errors}");
}
