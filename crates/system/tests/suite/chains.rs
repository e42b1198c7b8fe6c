//! Chains: how they are described and refused.

use system::plan;
use units::Duration;

use crate::mistakes::{Mistake, found, read};

const CHAINS: &str = r#"platform = "qemu-virt"

[[chain]]
name = "steer"
steps = ["plan.route", "drive.control"]
max_reaction = "60ms"
max_age = "50ms"

[[chain]]
name = "stop"
steps = ["drive.button", "plan.route", "drive.control"]
max_reaction = "90ms"

[[chain]]
name = "shown"
steps = "drive.control"

[[vm]]
name = "drive"
boot = "raw"
memory = "1MiB"
kernel = "k"

[[vm.task]]
name = "button"
period = "100ms"
sporadic = true
wcet = "1ms"

[[vm.task]]
name = "control"
period = "10ms"
wcet = "1ms"

[[vm]]
name = "plan"
boot = "raw"
memory = "1MiB"
kernel = "k"

[[vm.task]]
name = "route"
period = "20ms"
wcet = "1ms"

[[vm]]
name = "idle"
boot = "raw"
memory = "1MiB"
kernel = "k"
"#;

#[test]
fn chains_are_read_in_the_order_of_their_data() {
    let system = read(CHAINS).unwrap_or_else(|errors| panic!("{errors}"));
    let ms = |time: u64| Some(Duration(time * 1_000_000));
    let chain = |index: usize| {
        let chain = &system.chains[index];
        let steps: Vec<(usize, usize)> = chain.steps.iter().map(|it| (it.vm, it.task)).collect();
        let limits = [&chain.max_reaction, &chain.max_age];
        let limits = limits.map(|it| it.as_ref().map(|it| it.value));
        (chain.name.value.as_str(), steps, limits, chain.begins_with_events(&system.vms))
    };
    assert_eq!(chain(0), ("steer", vec![(1, 0), (0, 1)], [ms(60), ms(50)], false));
    assert_eq!(chain(1), ("stop", vec![(0, 0), (1, 0), (0, 1)], [ms(90), None], true));
    assert_eq!(chain(2), ("shown", vec![(0, 1)], [None, None], false));
    assert!(!system.chains[2].has_deadline());
    plan::make(&system).unwrap_or_else(|errors| panic!("{errors}"));
}

#[test]
fn each_mistake_is_found_at_its_place() {
    let mistakes: [Mistake; 21] = [
        ("name = \"steer\"\n", "", "missing-key", "[[chain]]", "`name = \"steer\"`"),
        ("\"steer\"", "\"stop\"", "duplicate-name", "\"stop\"", "two chains are called `stop`"),
        (
            "steps = \"drive.control\"\n",
            "",
            "missing-key",
            "[[chain]]",
            "add `steps = [\"plan.route\", \"drive.control\"]`",
        ),
        ("\"drive.control\"\n", "[]\n", "wrong-value", "steps", "the list is empty"),
        ("\"drive.control\"\n", "3\n", "wrong-type", "steps", "expected a string"),
        (
            "\"drive.control\"]",
            "\"plan.route\"]",
            "duplicate-name",
            "steps",
            "`plan.route` is a step twice",
        ),
        ("\"plan.route\"", "\"plans.route\"", "unknown-name", "steps", "did you mean `plan`?"),
        (
            "\"plan.route\"",
            "\"radio.route\"",
            "unknown-name",
            "steps",
            "known are `drive`, `plan` and `idle`",
        ),
        ("\"plan.route\"", "\"plan.routes\"", "unknown-name", "steps", "did you mean `route`?"),
        ("\"plan.route\"", "\"plan.\"", "unknown-name", "steps", "VM `plan` has no task ``"),
        ("\"plan.route\"", "\"route\"", "wrong-value", "steps", "did you mean `plan.route`?"),
        ("\"plan.route\"", "\"x\"", "wrong-value", "steps", "name VM and task, as in `plan.route`"),
        (
            "\"plan.route\"",
            "\"idle.route\"",
            "unknown-name",
            "steps",
            "describe them under `[[vm.task]]`",
        ),
        ("\"60ms\"", "\"0ms\"", "out-of-range", "max_reaction", "`max_reaction` is zero"),
        ("\"50ms\"", "\"0ms\"", "out-of-range", "max_age", "`max_age` is zero"),
        ("\"60ms\"", "60", "missing-unit", "max_reaction", "add a unit"),
        ("max_reaction", "max-reaction", "unknown-key", "max-", "did you mean `max_reaction`?"),
        ("max_age", "max_ages", "unknown-key", "max_ages", "did you mean `max_age`?"),
        (
            "\"20ms\"\nwcet",
            "\"20ms\"\nsporadic = true\nwcet",
            "wrong-value",
            "steps = [\"drive.button\", \"plan.route\"",
            "nothing limits how long data waits until it reads",
        ),
        (
            "max_reaction = \"90ms\"",
            "max_age = \"90ms\"",
            "wrong-value",
            "max_age = \"90ms\"",
            "nothing limits how old its output becomes",
        ),
        (
            "[[chain]]\nname = \"shown\"",
            "[[chains]]\nname = \"shown\"",
            "unknown-key",
            "[[chains]]",
            "did you mean `chain`?",
        ),
    ];
    for mistake in &mistakes {
        let all = found(CHAINS, mistake);
        // A sporadic task in the middle begins the first chain, whose age has a limit.
        let expected = if mistake.1.contains("sporadic") { 2 } else { 1 };
        assert_eq!(all, expected, "{}", mistake.1);
    }
}

/// One header with a typo is one mistake, not one for each step through what it hides.
#[test]
fn steps_through_what_cannot_be_read_are_no_second_mistake() {
    for (from, to) in [
        ("[[vm.task]]\nname = \"route\"", "[[vm.tasks]]\nname = \"route\""),
        ("name = \"plan\"", "nome = \"plan\""),
        ("name = \"route\"", "nome = \"route\""),
    ] {
        assert!(CHAINS.contains(from), "{from}");
        let shown = read(&CHAINS.replace(from, to)).map(|_| ()).expect_err(to).to_string();
        assert_eq!(shown.matches("error[").count(), 1, "{to}\n{shown}");
    }
    let shown = read(&CHAINS.replace("[[chain]]", "[chain]")).map(|_| ()).expect_err("one table");
    assert!(shown.to_string().contains("[[chain]]"), "{shown}");
}

#[test]
fn what_is_too_much_is_refused_at_its_line() {
    let chain =
        |index: usize| format!("[[chain]]\nname = \"c{index}\"\nsteps = [\"drive.control\"]\n\n");
    let chains = |count: usize| -> String {
        let chains: String = (0..count).map(chain).collect();
        CHAINS.replacen("[[vm]]", &format!("{chains}[[vm]]"), 1)
    };
    assert!(read(&chains(253)).is_ok());
    let errors = read(&chains(254)).map(|_| ()).expect_err("one more");
    let entries = errors.entries();
    assert_eq!((entries.len(), entries[0].code), (1, "out-of-range"));
    assert!(entries[0].message.contains("256 chains"), "{errors}");
    let tasks: String = (0..64)
        .map(|index| format!("[[vm.task]]\nname = \"t{index}\"\nperiod = \"1s\"\nwcet = \"1us\"\n"))
        .collect();
    let long = |count: usize| {
        let steps: Vec<String> = (0..count).map(|index| format!("\"idle.t{index}\"")).collect();
        let steps = format!("{}, \"drive.control\"", steps.join(", "));
        CHAINS.replace("steps = \"drive.control\"", &format!("steps = [{steps}]")) + &tasks
    };
    assert!(read(&long(63)).is_ok());
    let errors = read(&long(64)).map(|_| ()).expect_err("one more");
    assert!(errors.to_string().contains("a chain can have 64 steps"), "{errors}");
}
