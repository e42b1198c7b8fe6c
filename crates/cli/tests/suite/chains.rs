//! Chains: what the commands say about how long data takes through tasks.

use serde_json::{Value, json};
use testing::sandbox;

/// Two tasks on PCPUs of their own, and a chain through them with these lines.
fn description(chain: &str) -> String {
    let vm = |name: &str, task: &str| {
        format!(
            "[[vm]]\nname = \"{name}\"\nboot = \"raw\"\nmemory = \"16MiB\"\nkernel = \"rt.bin\"\n\
             [[vm.task]]\n{task}\n"
        )
    };
    format!(
        "platform = \"zcu102\"\n[[chain]]\nname = \"steer\"\n{chain}\n{}{}",
        vm("plan", "name = \"route\"\nperiod = \"20ms\"\nwcet = \"3ms\""),
        vm("drive", "name = \"control\"\nperiod = \"10ms\"\nwcet = \"1ms\"\noffset = \"2ms\"")
    )
}

const STEPS: &str = "steps = [\"plan.route\", \"drive.control\"]";

fn run(command: &str, text: &str, rest: &[&str]) -> (testing::Result, Value) {
    let sandbox = sandbox!();
    sandbox.write("s.toml", text);
    let arguments = [&[command, "s.toml"], rest].concat();
    (sandbox.bulkhead(&arguments), sandbox.bulkhead(&[&arguments[..], &["--json"]].concat()).json())
}

#[test]
fn a_chain_is_bounded_by_periods_and_response_times() {
    let limits = "max_reaction = \"34ms\"\nmax_age = \"35ms\"";
    let (shown, document) = run("check", &description(&format!("{STEPS}\n{limits}")), &[]);
    shown.assert_status(0);
    let expected = "\
        chain  steps                        reaction  may be  data age  may be  in time\n\
        steer  plan.route -> drive.control     34 ms   34 ms     34 ms   35 ms  yes\n";
    assert!(shown.stdout.contains(expected), "{}", shown.stdout);
    let chain = &document["analysis"]["chains"][0];
    assert_eq!((&document["ok"], &chain["ok"]), (&json!(true), &json!(true)));
    assert_eq!((&chain["chain"], &chain["reaction_ns"]), (&json!("steer"), &json!(34_000_000)));
    assert_eq!(
        chain["steps"][0],
        json!({ "vm": "plan", "task": "route", "wait_ns": 20_000_000, "wcrt_ns": 3_000_000 })
    );
    let (shown, document) = run("check", &description(STEPS), &[]);
    shown.assert_status(0);
    let expected = "steer  plan.route -> drive.control     34 ms       -     34 ms       -  -\n";
    assert!(shown.stdout.contains(expected), "{}", shown.stdout);
    assert_eq!(document["analysis"]["chains"][0]["max_age_ns"], json!(null));
}

#[test]
fn a_chain_that_can_be_late_is_a_no_with_its_longest_parts() {
    let text = description(&format!("{STEPS}\nmax_reaction = \"32ms\""));
    let (shown, document) = run("check", &text, &[]);
    shown.assert_status(1);
    assert!(shown.stdout.starts_with("s.toml: not schedulable\n"), "{}", shown.stdout);
    let expected = "\
        \nthe reaction of chain `steer` can take 34 ms: 2 ms longer than `max_reaction`\n         \
        23 ms  `plan.route` reads once in 20 ms, and responds in 3 ms\n         \
        11 ms  `drive.control` reads once in 10 ms, and responds in 1 ms\n";
    assert!(shown.stdout.contains(expected), "{}", shown.stdout);
    assert_eq!(document["ok"], json!(false));
    assert_eq!(document["analysis"]["schedulable"], json!(false));
    let (shown, document) = run("plan", &text, &[]);
    shown.assert_status(1);
    assert!(shown.stdout.contains(expected), "{}", shown.stdout);
    assert_eq!(document["ok"], json!(false));
}

/// Each change that `check` names was tried, and helps by itself.
#[test]
fn a_late_chain_is_helped_by_a_shorter_period_or_a_larger_budget() {
    let server = "[[vm.vcpu]]\nserver = \"periodic\"\nbudget = \"4ms\"\nperiod = \"8ms\"\n[[vm.task]]\nname = \"route\"";
    let text = description(&format!("{STEPS}\nmax_reaction = \"37ms\""))
        .replace("[[vm.task]]\nname = \"route\"", server);
    let (shown, document) = run("check", &text, &[]);
    shown.assert_status(1);
    let help = document["advice"][0].as_str().expect("help");
    assert!(shown.stdout.contains(&format!("\nhelp: {help}\n")), "{}", shown.stdout);
    let (_, changes) = help.split_once("chain `steer`: it fits with ").expect(help);
    let changes: Vec<&str> = changes.split(", or with ").collect();
    let [route, control, budget] = changes[..] else { panic!("three changes: {help}") };
    let time = |change: &str| change.split(" of ").nth(1)?.split(" for ").next().map(str::to_owned);
    for (change, whose, from) in [
        (route, "task `route` of `plan`", "period = \"20ms\""),
        (control, "task `control` of `drive`", "period = \"10ms\""),
        (budget, "VCPU 0 of `plan`", "budget = \"4ms\""),
    ] {
        let (key, _) = from.split_once(' ').expect("a key");
        let to = format!("{key} = {:?}", time(change).expect(change));
        assert!(change.ends_with(whose), "{help}");
        run("check", &text.replacen(from, &to, 1), &[]).0.assert_status(0);
    }
}

#[test]
fn a_chain_has_no_bound_where_a_step_has_none() {
    let text = description(&format!("{STEPS}\nmax_age = \"90ms\"")).replace("3ms", "30ms");
    let (shown, document) = run("check", &text, &[]);
    shown.assert_status(1);
    let expected = "\nchain `steer` has no bound, because its step `plan.route` has none\n";
    assert!(shown.stdout.contains(expected), "{}", shown.stdout);
    assert_eq!(document["analysis"]["chains"][0]["unbounded_step"], json!(0));
}

#[test]
fn what_is_wrong_with_a_chain_is_told_with_its_place() {
    let sandbox = sandbox!();
    sandbox.write("s.toml", &description("steps = [\"plan.routes\", \"drive.control\"]"));
    sandbox.bulkhead(&["check", "s.toml"]).assert_refused(&[
        "error[unknown-name]: VM `plan` has no task `routes`",
        "s.toml:4:10",
        "did you mean `route`?",
    ]);
}

/// `control` reads 2 ms after `route` is released, which is 1 ms before its output: the next job 10
/// ms later gets it.
#[test]
fn a_simulation_shows_how_long_data_took() {
    let text = description(&format!("{STEPS}\nmax_reaction = \"34ms\""));
    let (shown, document) = run("sim", &text, &["--until", "1s"]);
    shown.assert_status(0);
    let chain = &document["chains"][0];
    // Read at 0, shown at 13; what changes at 0 is read at 20, and shown at 33.
    assert_eq!(chain["reaction_max_ns"], json!(33_000_000));
    assert_eq!(chain["age_max_ns"], json!(33_000_000));
    assert_eq!((&chain["reaction_ns"], &chain["outputs"]), (&json!(34_000_000), &json!(99)));
    let expected = "\
        chain  outputs  reaction  bound  may be  data age  bound  may be\n\
        steer       99     33 ms  34 ms   34 ms     33 ms  34 ms       -\n";
    assert!(shown.stdout.contains(expected), "{}", shown.stdout);
    let late = text.replace("34ms", "32ms");
    let (shown, document) = run("sim", &late, &["--until", "1s", "--trace", "s.trace"]);
    shown.assert_status(1);
    let first = "s.toml: no deadline was missed; 1 chain took longer than it may\n";
    assert!(shown.stdout.starts_with(first), "{}", shown.stdout);
    assert_eq!(document["chains"][0]["reaction_max_ns"], json!(33_000_000));
}

/// Each task of the example would be in time with less: the budgets are larger because of the
/// chains.
#[test]
fn budgets_of_the_example_follow_from_its_chains() {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../systems/chains.toml");
    let text = std::fs::read_to_string(example).expect("the example");
    let budgets = |text: &str| {
        let sandbox = sandbox!();
        sandbox.write("s.toml", text);
        let shown = sandbox.bulkhead(&["plan", "s.toml", "--json"]);
        shown.assert_status(0);
        let document = shown.json();
        let vcpus = document["analysis"]["pcpus"][0]["vcpus"].as_array().cloned();
        let budgets = vcpus.expect("VCPUs").into_iter().map(|it| it["budget_ns"].as_u64());
        (
            budgets.map(|it| it.expect("a budget")).sum::<u64>(),
            document["analysis"]["chains"].clone(),
        )
    };
    let (with, chains) = budgets(&text);
    assert!(chains.as_array().is_some_and(|it| it.iter().all(|chain| chain["ok"] == true)));
    let without: String =
        text.lines().filter(|it| !it.starts_with("max_")).collect::<Vec<_>>().join("\n");
    let (without, _) = budgets(&without);
    assert!(with > without, "{with} {without}");
    // Too little time for any plan.
    let sandbox = sandbox!();
    sandbox.write("s.toml", &text.replace("28ms", "15ms"));
    let parts = ["no plan was found", "chain `avoid`", "this chain", "name = \"avoid\""];
    let refused = sandbox.bulkhead(&["plan", "s.toml"]);
    refused.assert_status(1);
    parts.iter().for_each(|part| assert!(refused.stderr.contains(part), "{}", refused.stderr));
}

/// A chain over VMs tells how data gets from one to the other, or says that nobody knows.
#[test]
fn a_chain_over_vms_needs_a_channel() {
    const NOTE: &str =
        "note: no channel leads from VM `plan` to VM `drive`: how data of chain `steer` gets there";
    let (shown, _) = run("check", &description(STEPS), &[]);
    assert!(shown.stdout.contains(NOTE), "{}", shown.stdout);
    let channel = |from: &str, to: &str| {
        let channel = format!("[[channel]]\nname = \"c\"\nfrom = {from:?}\nto = [{to:?}]\n");
        let (shown, _) = run("check", &description(&format!("{STEPS}\n{channel}")), &[]);
        shown.assert_status(0);
        shown.stdout.contains("note: no channel leads")
    };
    assert!(!channel("plan", "drive"));
    assert!(channel("drive", "plan"), "the other way");
    let (shown, _) = run("check", &description("steps = [\"plan.route\"]"), &[]);
    assert!(!shown.stdout.contains("note: no channel"), "{}", shown.stdout);
}
