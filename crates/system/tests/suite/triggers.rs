//! Tasks that rings of channels release, tasks that ring, and their chains.

use system::description::System;
use units::Duration;

use crate::mistakes::{Mistake, found, read};

const RIGHT: &str = r#"
platform = "qemu-virt"

[[channel]]
name = "pose"
from = "plan"
to = ["drive"]
ring_every = "20ms"
ring_burst = 3

[[channel]]
name = "log"
from = "drive"
to = ["plan"]

[[chain]]
name = "follow"
steps = ["plan.route", "drive.control"]
max_age = "40ms"

[[vm]]
name = "plan"
boot = "raw"
memory = "16MiB"
kernel = "rt.bin"

[[vm.task]]
name = "route"
period = "20ms"
rings = "pose"
exits = 2
wcet = "2ms"

[[vm]]
name = "drive"
boot = "raw"
memory = "16MiB"
kernel = "rt.bin"

[[vm.vcpu]]
server = "deferrable"
budget = "2ms"
period = "5ms"

[[vm.task]]
name = "control"
triggered_by = "pose"
wcet = "1ms"
"#;

#[test]
fn the_limit_on_rings_is_that_on_releases() {
    let system: System = read(RIGHT).unwrap_or_else(|errors| panic!("{errors}"));
    let (route, control) = (&system.vms[0].tasks[0], &system.vms[1].tasks[0]);
    let index = |it: &Option<system::description::Located<usize>>| it.as_ref().map(|it| it.value);
    assert_eq!((index(&route.triggered_by), index(&route.rings)), (None, Some(0)));
    assert_eq!((index(&control.triggered_by), index(&control.rings)), (Some(0), None));
    let ms = |time: u64| Duration(time * 1_000_000);
    assert!(control.sporadic);
    assert_eq!((control.period, control.deadline, control.jitter), (ms(20), ms(20), ms(40)));
    // The ring is an exit more.
    assert_eq!((route.all_exits(), control.all_exits()), (3, 0));
    assert!(!system.chains[0].begins_with_events(&system.vms));
}

/// A deadline is given from the ring on, also beyond `ring_every`.
#[test]
fn a_released_task_has_a_deadline_of_its_own() {
    let text = format!("{RIGHT}deadline = \"30ms\"\n");
    let system: System = read(&text).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(system.vms[1].tasks[0].deadline, Duration(30_000_000));
}

#[test]
fn mistakes_are_found_where_they_are() {
    const BY: &str = "triggered_by = \"pose\"";
    let wrong: [Mistake; 22] = [
        (BY, "triggered_by = \"posed\"", "unknown-name", "posed", "did you mean `pose`?"),
        (BY, "trigger_by = \"pose\"", "unknown-key", "trigger_by", "did you mean"),
        (BY, "", "missing-key", "[[vm.task]]", "`period`"),
        (BY, "triggered_by = \"log\"", "wrong-value", "log", "the VM writes channel `log`"),
        (BY, "triggered_by = \"pose\"\nperiod = \"1ms\"", "useless-key", "period", "remove one"),
        (BY, "triggered_by = \"pose\"\noffset = \"1ms\"", "useless-key", "offset", "first ring"),
        (BY, "triggered_by = \"pose\"\njitter = \"1ms\"", "useless-key", "jitter", "ring_burst"),
        (BY, "triggered_by = \"pose\"\nsporadic = true", "useless-key", "sporadic", "always"),
        (
            "triggered_by = \"pose\"\nwcet",
            "triggered_by = \"pose\"\nsections = [{ resource = \"r\", length = \"1us\" }]\nwcet",
            "useless-key",
            "sections",
            "not analysed",
        ),
        (
            "ring_every = \"20ms\"\nring_burst = 3",
            "",
            "wrong-value",
            "triggered_by",
            "has no rings",
        ),
        ("ring_every = \"20ms\"\nring_burst = 3", "", "wrong-value", "rings = ", "has no rings"),
        (
            "from = \"plan\"\nto = [\"drive\"]",
            "from = \"plan\"\nto = [\"other\"]",
            "unknown-name",
            "other",
            "there is no VM",
        ),
        (
            "to = [\"plan\"]\n",
            "to = [\"plan\"]\n[[channel]]\nname = \"more\"\nfrom = \"plan\"\nto = [\"drive\"]\n\
             ring_every = \"1ms\"\n",
            "wrong-value",
            "triggered_by",
            "also reads channel `more`",
        ),
        (
            "[[vm.vcpu]]\nserver = \"deferrable\"\nbudget = \"2ms\"\nperiod = \"5ms\"\n",
            "vcpus = 2\n",
            "wrong-value",
            "triggered_by",
            "has one VCPU",
        ),
        (
            "server = \"deferrable\"\nbudget = \"2ms\"\nperiod = \"5ms\"",
            "server = \"background\"",
            "wrong-value",
            "triggered_by",
            "in the background",
        ),
        (
            "[[vm.task]]\nname = \"control\"",
            "[[vm.task]]\nname = \"more\"\nwcet = \"1ms\"\ntriggered_by = \"pose\"\n[[vm.task]]\nname = \"control\"",
            "wrong-value",
            "triggered_by",
            "a channel triggers one task of a VM",
        ),
        (
            "[[vm.task]]\nname = \"route\"",
            "[[vm.task]]\nname = \"more\"\nwcet = \"1ms\"\nperiod = \"1s\"\nrings = \"pose\"\n[[vm.task]]\nname = \"route\"",
            "wrong-value",
            "rings",
            "one task of a VM rings for a channel",
        ),
        ("rings = \"pose\"", "rings = \"log\"", "wrong-value", "rings = ", "does not write"),
        ("rings = \"pose\"", "rings = \"pos\"", "unknown-name", "rings = ", "did you mean `pose`?"),
        ("rings = \"pose\"", "", "wrong-value", "steps", "does not ring for task `control`"),
        ("rings = \"pose\"", "", "wrong-value", "steps", "add `rings = \"pose\"` to task `route`"),
        (
            "steps = [\"plan.route\", \"drive.control\"]",
            "steps = \"drive.control\"",
            "wrong-value",
            "max_age",
            "begin the chain with the task that rings",
        ),
    ];
    for mistake in &wrong {
        assert!(found(RIGHT, mistake) > 0);
    }
}

/// A VM that does not read the channel, which another one does.
#[test]
fn a_channel_of_others_triggers_nothing() {
    let text = RIGHT.replace("to = [\"drive\"]", "to = [\"third\"]");
    let third =
        "[[vm]]\nname = \"third\"\nboot = \"raw\"\nmemory = \"16MiB\"\nkernel = \"rt.bin\"\n";
    let errors = read(&format!("{text}{third}")).map(|_| ()).expect_err("not a reader");
    assert!(errors.to_string().contains("the VM does not read channel `pose`"), "{errors}");
    assert!(!errors.to_string().contains("period"), "no message for what follows: {errors}");
}

/// Rings that somebody sends without a task that is described begin a chain.
#[test]
fn rings_begin_a_chain() {
    let text = RIGHT.replace("[\"plan.route\", \"drive.control\"]", "\"drive.control\"");
    let text = text.replace("max_age", "max_reaction");
    let system: System = read(&text).unwrap_or_else(|errors| panic!("{errors}"));
    assert!(system.chains[0].begins_with_events(&system.vms));
}
