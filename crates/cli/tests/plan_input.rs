//! Bad and extreme input of `bulkhead plan`: a clear answer in a short time, nothing half-written.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use testing::sandbox;

/// A raw VM with an open VCPU on QEMU's board, and these tasks.
fn system(tasks: &str) -> String {
    format!(
        "[platform]\nboard = \"zcu102\"\ncolor_reload = \"100us\"\n\n[[vm]]\nname = \"a\"\n\
         boot = \"raw\"\nmemory = \"16MiB\"\nkernel = \"rt.bin\"\ncolors = \"planned\"\n\n\
         [[vm.vcpu]]\nserver = \"sporadic\"\nperiod = \"5ms\"\n\n{tasks}"
    )
}

fn task(name: &str, lines: &str) -> String {
    format!("[[vm.task]]\nname = \"{name}\"\n{lines}\n")
}

/// The command, which leaves no plan behind if it does not say yes.
#[track_caller]
fn plan(text: &str, status: i32) -> String {
    let sandbox = sandbox!();
    sandbox.write("s.toml", text);
    let before = std::fs::read_dir(sandbox.path("")).expect("a folder").count();
    let result = sandbox.bulkhead(&["plan", "s.toml"]);
    assert_eq!(result.status, Some(status), "{}{}", result.stdout, result.stderr);
    let after = std::fs::read_dir(sandbox.path("")).expect("a folder").count();
    assert_eq!(after - before, usize::from(status == 0), "{}", result.stdout);
    assert!(!result.stderr.contains("panicked"), "{}", result.stderr);
    if status != 0 {
        let json = sandbox.bulkhead(&["plan", "s.toml", "--json"]).json();
        assert_eq!(json["ok"], false, "{json}");
        assert!(!json["errors"].as_array().expect("errors").is_empty(), "{json}");
    }
    result.stdout + &result.stderr
}

#[track_caller]
fn says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
}

#[test]
fn utilisation_above_one() {
    let tasks: String =
        (0..3).map(|i| task(&format!("t{i}"), "period = \"10ms\"\nwcet = \"4ms\"")).collect();
    // Of tasks that are given to a VCPU, or can be on no other one, the first that is late is named.
    says(&plan(&system(&tasks), 1), &["`t2`", "it fits if it takes ", " less"]);
    let vcpu = "[[vm.vcpu]]\nserver = \"sporadic\"\nperiod = \"5ms\"\n\n";
    let two = system(&tasks).replace(vcpu, &vcpu.repeat(2)).replace("\"4ms\"", "\"7ms\"");
    says(&plan(&two, 1), &["no plan was found for the tasks of `a`", "3 VCPUs in `a`", "% less"]);
}

/// One mistake, one message: what else is compared with the period is not said to be wrong.
#[test]
fn periods_of_zero() {
    let only = |text: &str| {
        let said = plan(text, 2);
        says(&said, &["error[out-of-range]: the period is zero"]);
        assert_eq!(said.matches("error[").count(), 1, "{said}");
    };
    for more in ["", "deadline = \"1ms\"", "deadline = \"0ms\"", "jitter = \"1ms\"\nbcet = \"1ms\""]
    {
        only(&system(&task("t", &format!("period = \"0ms\"\nwcet = \"1ms\"\n{more}"))));
    }
    let fine = system(&task("t", "period = \"10ms\"\nwcet = \"1ms\""));
    plan(&fine, 0);
    only(&fine.replace("period = \"5ms\"", "period = \"0ms\""));
    only(&fine.replace("period = \"5ms\"", "period = \"0ms\"\nbudget = \"1ms\""));
    says(&plan(&fine.replace("period = \"5ms\"", "budget = \"1ms\""), 2), &["`period`"]);
}

#[test]
fn deadlines_beyond_periods() {
    let late = task("t", "period = \"10ms\"\ndeadline = \"11ms\"\nwcet = \"1ms\"");
    plan(&system(&late), 0);
    // Nobody can be done before.
    let short = task("t", "period = \"10ms\"\ndeadline = \"1ms\"\nwcet = \"2ms\"");
    says(&plan(&system(&short), 1), &["task `t` of VM `a`"]);
}

#[test]
fn execution_times_that_grow_with_the_colours() {
    let grow = task("t", "period = \"10ms\"\nwcet = { 1 = \"2ms\", 2 = \"1ms\", 4 = \"3ms\" }");
    says(&plan(&system(&grow), 0), &["note: task `t` of VM `a` takes longer with more colours"]);
    // All of its times are 3 ms then: there is no budget below 30 %.
    let sandbox = sandbox!();
    sandbox.write("s.toml", &system(&grow));
    let document = sandbox.bulkhead(&["plan", "s.toml", "--json"]).json();
    assert_eq!(document["report"]["tasks"][0]["wcet_ns"], 3_000_000);
    assert!(document["report"]["vcpus"][0]["supply_ppm"].as_u64().expect("a number") >= 300_000);
    assert!(document["notes"][0].as_str().expect("a note").contains("`t`"));
}

/// How long a task takes with fewer colours than are described is not known.
#[test]
fn execution_times_with_fewer_colours_than_described() {
    let few = task("t", "period = \"10ms\"\nwcet = { 4 = \"1ms\", 6 = \"0.5ms\" }");
    let sandbox = sandbox!();
    sandbox.write("s.toml", &system(&few));
    let document = sandbox.bulkhead(&["plan", "s.toml", "--json"]).json();
    assert_eq!(document["ok"], true, "{document}");
    let colors = document["report"]["tasks"][0]["colors"].as_array().expect("colours");
    assert!(colors.len() >= 4, "{colors:?}");
    let given = system(&few).replace("colors = \"planned\"", "colors = \"0-2\"");
    says(&plan(&given, 1), &["task `t` of VM `a` needs more time than there is", "with 4 colours"]);
}

/// 10,000 tasks, with all given, and with budget and colours open.
#[test]
#[cfg_attr(debug_assertions, ignore = "bounds are computed twice here: too slow for so many")]
fn ten_thousand_tasks() {
    let start = Instant::now();
    let mut tasks = String::new();
    for index in 0..10_000 {
        let period = 20 + index * 7_919 % 980;
        let wcet = period * 50;
        let _ = writeln!(
            tasks,
            "[[vm.task]]\nname = \"t{index}\"\nperiod = \"{period}ms\"\nwcet = \"{wcet}ns\""
        );
    }
    let open = system(&tasks).replace("color_reload = \"100us\"\n", "");
    says(&plan(&open, 0), &["t9999"]);
    let given = open
        .replace("colors = \"planned\"", "colors = \"0-3\"")
        .replace("period = \"5ms\"", "budget = \"4.5ms\"\nperiod = \"5ms\"");
    says(&plan(&given, 0), &["t9999", "all VCPUs together have 0.90 PCPUs"]);
    // Some seconds, on a machine that does other things, and without optimisation.
    assert!(start.elapsed() < Duration::from_secs(240), "{:?}", start.elapsed());
}

/// 128 tasks in each of 8 VMs.
#[test]
fn a_thousand_tasks() {
    let start = Instant::now();
    let one = |vm: usize| {
        let tasks = (0..128).map(|index| {
            let period = 20 + index * 7_919 % 980;
            let wcet = format!("period = \"{period}ms\"\nwcet = \"{}ns\"", period * 1_500);
            task(&format!("t{index}"), &wcet)
        });
        let open = "[[vm.vcpu]]\nserver = \"sporadic\"\nperiod = \"10ms\"\n".repeat(2);
        format!(
            "[[vm]]\nname = \"v{vm}\"\nboot = \"raw\"\nmemory = \"16MiB\"\nkernel = \"rt.bin\"\n\
             {open}{}",
            tasks.collect::<String>()
        )
    };
    let vms: String = (0..8).map(one).collect();
    says(&plan(&format!("platform = \"zcu102\"\n{vms}"), 0), &["v7", "t127"]);
    assert!(start.elapsed() < Duration::from_secs(240), "{:?}", start.elapsed());
}

#[test]
fn times_near_overflow() {
    let most = u64::MAX;
    for (lines, status) in [
        (format!("period = \"{most}ns\"\nwcet = \"1ms\""), 0),
        (format!("period = \"{most}ns\"\nwcet = \"{}ns\"", most / 32), 0),
        // What cannot be counted is in time for no budget.
        (format!("period = \"{most}ns\"\nwcet = \"{}ns\"", most / 4), 1),
        (format!("period = \"{most}ns\"\nwcet = \"{most}ns\""), 1),
        (format!("period = \"10ms\"\nwcet = \"{most}ns\""), 1),
        (format!("period = \"10ms\"\njitter = \"{most}ns\"\nwcet = \"1ms\""), 1),
        (format!("period = \"{most}0ns\"\nwcet = \"1ms\""), 2),
        ("period = \"1ns\"\nwcet = \"1ns\"".into(), 0),
        ("period = \"2ns\"\nwcet = \"1ns\"".into(), 0),
    ] {
        let said = plan(&system(&task("t", &lines)), status);
        assert!(!said.is_empty(), "{lines}");
        // Also where the period of the VCPU is left open.
        let open = system(&task("t", &lines)).replace("period = \"5ms\"\n\n", "\n");
        let sandbox = sandbox!();
        sandbox.write("s.toml", &open);
        let result = sandbox.bulkhead(&["plan", "s.toml"]);
        assert!(matches!(result.status, Some(0..=2)), "{lines}: {}", result.stderr);
        assert!(!result.stderr.contains("panicked"), "{lines}: {}", result.stderr);
    }
    let long = system(&task("t", "period = \"10ms\"\nwcet = \"1ms\""));
    plan(&long.replace("\"5ms\"", &format!("\"{most}ns\"")), 2);
    plan(&long.replace("100us", &format!("{most}ns")), 0);
}
