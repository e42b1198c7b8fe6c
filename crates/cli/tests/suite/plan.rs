//! `bulkhead plan` and `bulkhead check` of descriptions that leave budgets, VCPUs of tasks and
//! colours open.

use testing::sandbox;

const OPEN: &str = r#"
[platform]
board = "qemu-virt"
color_reload = "100us"

[[vm]]
name = "pilot"
boot = "raw"
memory = "16MiB"
kernel = "rt.bin"
colors = "planned"
vllc = true

[[vm.vcpu]]
server = "sporadic"
period = "5ms"

[[vm.vcpu]]
server = "sporadic"
period = "5ms"

[[vm.task]]
name = "gyro"
period = "10ms"
wcet = { 1 = "7ms", 2 = "5ms", 8 = "2ms" }

[[vm.task]]
name = "pid"
period = "20ms"
wcet = { 1 = "16ms", 4 = "11ms" }
"#;

#[test]
fn what_is_open_is_planned_and_shown() {
    let sandbox = sandbox!();
    sandbox.write("s.toml", OPEN);
    let result = sandbox.bulkhead(&["plan", "s.toml"]);
    result.assert_status(0);
    for part in
        ["wrote s.plan.dts", "in the guest", "sporadic", "in time", "gyro", "pid", "all VCPUs"]
    {
        assert!(result.stdout.contains(part), "{part}: {}", result.stdout);
    }
    // The plan is complete: it says the same when it is read.
    let planned = sandbox.bulkhead(&["plan", "s.toml", "--json"]).json();
    assert_eq!(planned["ok"], true);
    let slack = planned["search"]["slack_ppm"].as_u64().expect("a slack");
    assert!(slack > 100_000, "{slack}");
    assert!(result.stdout.contains("all execution times can grow by "), "{}", result.stdout);
    let of_plan = sandbox.bulkhead(&["check", "s.plan.dts", "--json"]).json();
    let vcpu = |document: &serde_json::Value| {
        document["analysis"]["pcpus"][0]["vcpus"][0]["budget_ns"].as_u64().expect("a budget")
    };
    assert_eq!(vcpu(&planned), vcpu(&of_plan));
    let options = ["plan", "s.toml", "--objective", "least-time", "--json"];
    let least = sandbox.bulkhead(&options).json();
    assert!(vcpu(&least) < vcpu(&planned) && vcpu(&planned) <= 5_000_000);
    for task in planned["report"]["tasks"].as_array().expect("tasks") {
        let count = |key: &str| task[key].as_array().expect("colours").len();
        assert!(count("colors") > 0 && count("colors") == count("guest_colors"), "{task}");
    }
    // `check` decides the same.
    let checked = sandbox.bulkhead(&["check", "s.toml", "--json"]).json();
    assert_eq!(checked["analysis"], planned["analysis"]);
    assert_eq!(checked["ok"], true);
}

#[test]
fn no_plan_is_an_answer_with_advice() {
    let sandbox = sandbox!();
    let other =
        "\n[[vm]]\nname = \"linux\"\nmemory = \"64MiB\"\nkernel = \"k\"\ncolors = \"1-15\"\n";
    let late =
        OPEN.replace("{ 1 = \"7ms\"", "{ 1 = \"11ms\"").replace("8 = \"2ms\"", "8 = \"4ms\"");
    sandbox.write("s.toml", &(late + other));
    let result = sandbox.bulkhead(&["plan", "s.toml"]);
    result.assert_status(1);
    let message = "task `gyro` of VM `pilot` needs more time than there is on any VCPU";
    assert!(result.stderr.contains(message), "{}", result.stderr);
    assert!(
        result.stderr.contains("help: it fits with 2 colours (1 fewer for `linux`)"),
        "{}",
        result.stderr
    );
    let document = sandbox.bulkhead(&["check", "s.toml", "--json"]).json();
    assert_eq!(
        (&document["ok"], &document["errors"][0]["code"]),
        (&false.into(), &"cannot-plan".into())
    );
}

/// A budget and a period are those of one VCPU, which is named where there are several.
#[test]
fn advice_names_the_vcpu_of_a_vm_that_has_several() {
    let vcpu = |lines: &str| format!("[[vm.vcpu]]\nserver = \"sporadic\"\n{lines}");
    let task = |name: &str, vcpu: u8| {
        format!(
            "[[vm.task]]\nname = \"{name}\"\nvcpu = {vcpu}\nperiod = \"20ms\"\nwcet = \"6ms\"\n"
        )
    };
    let vm = "platform = \"zcu102\"\n[[vm]]\nname = \"a\"\nboot = \"raw\"\nmemory = \"16MiB\"\n\
              kernel = \"rt.bin\"\n";
    let sandbox = sandbox!();
    let advice = |text: String| {
        sandbox.write("s.toml", &text);
        let result = sandbox.bulkhead(&["plan", "s.toml"]);
        result.assert_status(1);
        assert!(
            result.stderr.contains("task `late` of VM `a` needs more time"),
            "{}",
            result.stderr
        );
        result.stderr
    };
    let given = vcpu("budget = \"1ms\"\nperiod = \"5ms\"\n");
    let two = advice(format!("{vm}{}{given}{}{}", vcpu(""), task("fine", 0), task("late", 1)));
    assert!(two.contains("it fits with a budget of 1.5 ms for VCPU 1, or"), "{two}");
    // The only one needs no name. Something has to be open for a search.
    let only = format!("{vm}colors = \"planned\"\n{given}{}", task("late", 0));
    let only = advice(only);
    assert!(only.contains("it fits with a budget of 1.5 ms, or"), "{only}");
}

#[test]
fn a_plan_in_which_tasks_are_late_is_written_all_the_same() {
    let sandbox = sandbox!();
    let given = "platform = \"zcu102\"\n[[vm]]\nname = \"a\"\nboot = \"raw\"\nmemory = \"16MiB\"\n\
                 kernel = \"rt.bin\"\n[[vm.vcpu]]\nserver = \"sporadic\"\nbudget = \"1ms\"\n\
                 period = \"5ms\"\n[[vm.task]]\nname = \"t\"\nperiod = \"20ms\"\nwcet = \"6ms\"\n";
    sandbox.write("s.toml", given);
    let advice =
        "help: VCPU 0 of VM `a`: it fits with a budget of 1.5 ms, or if it takes 2 ms less";
    for command in ["check", "plan"] {
        let result = sandbox.bulkhead(&[command, "s.toml"]);
        result.assert_status(1);
        assert!(result.stdout.contains("task `t` on VCPU 0 of VM `a` "), "{}", result.stdout);
        assert!(result.stdout.contains(advice), "{}", result.stdout);
        let document = sandbox.bulkhead(&[command, "s.toml", "--json"]).json();
        assert_eq!(document["ok"], false);
        assert_eq!(document["advice"][0], advice.trim_start_matches("help: "));
    }
    assert!(sandbox.path("s.plan.dts").is_file());
}

#[test]
fn a_plan_does_not_replace_its_description() {
    let sandbox = sandbox!();
    sandbox.write("s.toml", OPEN);
    let result = sandbox.bulkhead(&["plan", "s.toml", "-o", "./s.toml"]);
    result.assert_refused(&["s.toml is the description", "name another file"]);
    assert_eq!(std::fs::read_to_string(sandbox.path("s.toml")).expect("a file"), OPEN);
}

#[test]
fn a_plan_does_not_replace_files_of_its_description() {
    let sandbox = sandbox!();
    sandbox.write("s.toml", OPEN);
    sandbox.write("rt.bin", "a guest");
    for (options, file) in [
        (vec!["plan", "s.toml", "-o", "rt.bin"], "rt.bin"),
        (vec!["plan", "s.toml", "--front=rt.bin"], "rt.bin"),
        (vec!["plan", "s.toml", "--front=s.toml"], "s.toml"),
    ] {
        let before = std::fs::read(sandbox.path(file)).expect("a file");
        let what = if file == "s.toml" { "the description" } else { "a file that the description" };
        sandbox.bulkhead(&options).assert_refused(&[&format!("{file} is {what}"), "another file"]);
        assert_eq!(std::fs::read(sandbox.path(file)).expect("a file"), before);
    }
    for words in [
        ["run", "s.toml", "--trace", "rt.bin"],
        ["run", "s.toml", "--log", "s.toml"],
        ["run", "s.toml", "--image-only", "rt.bin"],
        ["sim", "s.toml", "--trace", "rt.bin"],
        ["top", "s.toml", "--log", "rt.bin"],
    ] {
        let refused = format!("{} is ", words[3]);
        sandbox.bulkhead(&words).assert_refused(&[&refused, "name another file"]);
    }
    sandbox.bulkhead(&["plan", "s.toml", "--front=-"]).assert_refused(&["--front=FILE.svg"]);
}

/// The message speaks of the limit, and not of others on the PCPU, of which there are none.
#[test]
fn a_limit_that_is_too_small_is_named() {
    let sandbox = sandbox!();
    sandbox.write(
        "s.toml",
        "[platform]\nboard = \"qemu-virt\"\nbandwidth = { access_latency = \"20ns\", counter = \"cachescope\" }\n\
         [[vm]]\nname = \"a\"\nboot = \"raw\"\nmemory = \"8MiB\"\nkernel = \"a.bin\"\n\
         bandwidth = { accesses = 100, period = \"1ms\" }\n[[vm.vcpu]]\nserver = \"deferrable\"\n\
         [[vm.task]]\nname = \"t\"\nperiod = \"10ms\"\ndeadline = \"5ms\"\nwcet = \"4ms\"\naccesses = 900\n",
    );
    let result = sandbox.bulkhead(&["plan", "s.toml"]);
    result.assert_status(1);
    assert!(
        result.stderr.contains("a limit on memory accesses can stop its VCPU"),
        "{}",
        result.stderr
    );
    assert!(result.stderr.contains("a larger limit (`bandwidth`)"), "{}", result.stderr);
    assert!(!result.stderr.contains("shares a PCPU"), "{}", result.stderr);
}

/// Only a longer period than the given one above leaves that its deadline: none of the usual ones is.
#[test]
fn a_period_behind_a_given_one_is_found() {
    let sandbox = sandbox!();
    for wcet in ["4ms", "5ms"] {
        let text = format!(
            "platform = \"qemu-virt\"\n[[vm]]\nname = \"a\"\nboot = \"raw\"\nmemory = \"8MiB\"\n\
             kernel = \"a.bin\"\n[[vm.vcpu]]\npcpu = 0\nserver = \"deferrable\"\nbudget = \"3ms\"\n\
             period = \"10ms\"\n[[vm.task]]\nname = \"t\"\nperiod = \"10ms\"\ndeadline = \"9ms\"\n\
             wcet = \"1.5ms\"\n[[vm]]\nname = \"b\"\nboot = \"raw\"\nmemory = \"8MiB\"\n\
             kernel = \"a.bin\"\n[[vm.vcpu]]\npcpu = 0\nserver = \"deferrable\"\n[[vm.task]]\n\
             name = \"t\"\nperiod = \"20ms\"\nwcet = \"{wcet}\"\n"
        );
        sandbox.write("s.toml", &text);
        sandbox.bulkhead(&["plan", "s.toml"]).assert_status(0);
    }
    // Where none is found, nothing is written, though only a task of the given VM is late.
    let text = std::fs::read_to_string(sandbox.path("s.toml")).expect("a file");
    sandbox.write("late.toml", &text.replace("\"9ms\"", "\"1.6ms\""));
    let late = sandbox.bulkhead(&["plan", "late.toml"]);
    late.assert_status(1);
    assert!(!sandbox.path("late.plan.dts").exists(), "{}{}", late.stdout, late.stderr);
}

/// The example of choices, with the table that the documentation shows.
#[test]
fn choices_are_planned_and_shown() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let read = |file: &str| std::fs::read_to_string(format!("{root}/{file}")).expect("a file");
    let sandbox = sandbox!();
    sandbox.write("s.toml", &read("systems/choices.toml"));
    let shown = sandbox.bulkhead(&["plan", "s.toml"]);
    shown.assert_status(0);
    let page = read("docs/reference/planning.md");
    let start = shown.stdout.find("PCPU  VM     VCPU  server").expect("a table");
    let table = shown.stdout[start..].lines().take_while(|line| !line.is_empty());
    let last = "critical sections follow vmpcp";
    for line in table.chain([last]) {
        assert!(shown.stdout.contains(line) && page.contains(&format!("    {line}\n")), "{line}");
    }
    let planned = sandbox.bulkhead(&["plan", "s.toml", "--json"]).json();
    let report = &planned["report"];
    assert_eq!(report["locks"], "vmpcp");
    let overruns = report["vcpus"].as_array().expect("VCPUs").iter().map(|it| &it["overrun_ns"]);
    assert_eq!(overruns.collect::<Vec<_>>(), [0, 0, 950_000]);
    assert!(planned["plan_dts"].as_str().expect("a plan").contains("overrun-ns"));
    // `check` decides the same, and the plan says the same by itself.
    let checked = sandbox.bulkhead(&["check", "s.toml", "--json"]).json();
    assert_eq!(checked["analysis"], planned["analysis"]);
    sandbox.bulkhead(&["check", "s.plan.dts"]).assert_status(0);
}

/// One message with its place, and nothing is written.
#[test]
fn a_choice_that_cannot_be_left_open_is_refused() {
    let sandbox = sandbox!();
    for (key, message) in [
        ("server = \"plannd\"", "did you mean `planned`?"),
        ("server = \"planned\"\noverrun = \"planned\"", "no task of the VCPU has a global"),
    ] {
        let text = OPEN.replacen("server = \"sporadic\"", key, 1);
        sandbox.write("s.toml", &text);
        let result = sandbox.bulkhead(&["plan", "s.toml"]);
        result.assert_status(2);
        assert!(result.stderr.contains(message), "{}", result.stderr);
        assert!(result.stderr.contains("s.toml:15") || key.contains('\n'), "{}", result.stderr);
        assert_eq!(result.stderr.matches("error[").count(), 1, "{}", result.stderr);
        assert!(!sandbox.path("s.plan.dts").exists());
    }
}
