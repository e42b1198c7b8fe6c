//! `bulkhead trace`: traces of simulations, exported, compared and decided again.

use testing::{Sandbox, sandbox};

/// Two VCPUs on a PCPU.
const SYSTEM: &str = r#"platform = "qemu-virt"
[[vm]]
name = "rt"
boot = "raw"
memory = "1MiB"
kernel = "rt.bin"
[[vm.vcpu]]
pcpu = 1
server = "sporadic"
budget = "1ms"
period = "5ms"
[[vm.task]]
name = "control"
period = "10ms"
wcet = "1.5ms"
bcet = "0.5ms"
[[vm]]
name = "below"
boot = "raw"
memory = "1MiB"
kernel = "rt.bin"
[[vm.vcpu]]
pcpu = 1
server = "background"
[[vm.task]]
name = "low"
period = "20ms"
wcet = "8ms"
"#;

/// A folder with the system and the trace of a simulation of it.
fn simulated() -> Sandbox {
    let sandbox = sandbox!();
    sandbox.write("s.toml", SYSTEM);
    simulate(&sandbox, "a.trace", &[]);
    sandbox
}

fn simulate(sandbox: &Sandbox, trace: &str, arguments: &[&str]) {
    let command = ["sim", "s.toml", "--until", "1s", "--trace", trace];
    sandbox.bulkhead(&[&command[..], arguments].concat()).assert_status(0);
}

fn text(sandbox: &Sandbox, name: &str) -> String {
    std::fs::read_to_string(sandbox.path(name)).expect("a text file")
}

#[test]
fn traces_are_written_in_all_formats() {
    let sandbox = simulated();
    for (format, ending) in [("csv", "csv"), ("html", "html"), ("perfetto", "pftrace")] {
        let result = sandbox.bulkhead(&["trace", "export", "a.trace", "--to", format]);
        result.assert_status(0);
        assert!(result.stdout.starts_with(&format!("wrote a.{ending} (")), "{}", result.stdout);
    }
    let csv = text(&sandbox, "a.csv");
    assert!(csv.contains("\n0,0,1,run,rt,0,,,,1000000\n"), "{csv}");
    assert!(csv.contains(",1,mark,rt,0,control,99,finish,\n"), "{csv}");
    let page = text(&sandbox, "a.html");
    assert!(page.contains("<td>control</td><td>rt/0</td><td>100</td>"), "{page}");
    let packets = std::fs::read(sandbox.path("a.pftrace")).expect("a file");
    let name = b"rt/0 on PCPU 1 (sporadic, 1 of 5 ms)";
    assert!(packets.windows(name.len()).any(|window| window == name));
    let window = ["--from", "10ms", "--until", "30ms"];
    let to_stdout = ["trace", "export", "a.trace", "--to", "svg", "-o", "-"];
    let result = sandbox.bulkhead(&[&to_stdout[..], &window].concat());
    result.assert_status(0);
    assert!(result.stdout.starts_with("<svg") && result.stdout.contains("control"));
    let to_csv = ["trace", "export", "a.trace", "--to", "csv"];
    sandbox.bulkhead(&[&to_csv[..], &window].concat()).assert_refused(&["are for charts"]);
}

#[test]
fn a_time_outside_of_what_was_recorded_is_told_which_there_is() {
    let sandbox = simulated();
    for (format, window, why) in [
        ("svg", &["--from", "10s"][..], "a.trace has nothing in this time"),
        ("html", &["--from", "10s", "--until", "20s"], "a.trace has nothing in this time"),
        ("svg", &["--until", "0s"], "a.trace has nothing in this time"),
        (
            "html",
            &["--from", "20ms", "--until", "10ms"],
            "`--from` (20 ms) is not before `--until` (10 ms)",
        ),
    ] {
        let command = ["trace", "export", "a.trace", "--to", format, "-o", "out"];
        let result = sandbox.bulkhead(&[&command[..], window].concat());
        result.assert_refused(&[why, "help: the trace goes from 0.000 ms to 9"]);
        assert!(!sandbox.path("out").exists());
    }
}

/// As `head` does when it has read enough.
#[test]
fn a_reader_that_goes_away_ends_the_command() {
    let sandbox = simulated();
    for format in ["csv", "html", "perfetto"] {
        // It has gone before the command writes anything.
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_bulkhead"))
            .args(["trace", "export", "a.trace", "--to", format, "-o", "-"])
            .current_dir(sandbox.path(""))
            .stdout(writer)
            .output()
            .expect("it starts");
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), &*error), (Some(141), ""), "{format}");
    }
}

#[test]
fn simulations_are_decided_again_and_another_plan_is_not() {
    let sandbox = simulated();
    let result = sandbox.bulkhead(&["trace", "replay", "a.trace", "--plan", "s.toml"]);
    result.assert_status(0);
    assert!(result.stdout.ends_with("\nall decisions are the same\n"), "{}", result.stdout);
    sandbox.write("other.toml", &SYSTEM.replace("1ms", "1.2ms"));
    let result = sandbox.bulkhead(&["trace", "replay", "a.trace", "--plan", "other.toml"]);
    result.assert_status(1);
    let expected = "PCPU 1 at 0.000 us: rt/0 had a budget of 1000000 ticks, but its recorded inputs \
                    lead to 1200000 ticks\n";
    assert!(result.stdout.ends_with(expected), "{}", result.stdout);
    sandbox.write("elsewhere.toml", &SYSTEM.replace("pcpu = 1", "pcpu = 2"));
    sandbox
        .bulkhead(&["trace", "replay", "a.trace", "--plan", "elsewhere.toml"])
        .assert_refused(&["is no trace of elsewhere.toml: the VCPUs of `rt` ran on PCPUs 1"]);
    sandbox.write("named.toml", &SYSTEM.replace("\"rt\"", "\"other\""));
    sandbox
        .bulkhead(&["trace", "replay", "a.trace", "--plan", "named.toml"])
        .assert_refused(&["its VMs are `rt`, `below`, those of the plan `other`, `below`"]);
    let result = sandbox.bulkhead(&["--json", "trace", "replay", "a.trace", "--plan", "s.toml"]);
    let document = result.json();
    assert_eq!((&document["ok"], &document["pcpus"][0]["pcpu"]), (&true.into(), &1.into()));
    assert!(document["pcpus"][0]["decisions"].as_u64() > Some(200), "{document}");
}

#[test]
fn the_first_difference_is_named() {
    let sandbox = simulated();
    simulate(&sandbox, "b.trace", &["--execution", "uniform"]);
    let same = sandbox.bulkhead(&["trace", "compare", "a.trace", "a.trace", "--tolerance", "0ns"]);
    same.assert_status(0);
    assert!(same.stdout.ends_with("no difference above 0.000 us\n"), "{}", same.stdout);
    let result = sandbox.bulkhead(&["trace", "compare", "a.trace", "b.trace"]);
    result.assert_status(1);
    let first = result.stdout.lines().last().expect("text");
    assert!(first.starts_with("first difference: "), "{first}");
    assert!(result.stdout.contains("  max us A "), "{}", result.stdout);
    let control = result.stdout.lines().find(|line| line.contains("control")).expect("the task");
    assert!(control.contains("  99  99 ") && control.contains("  5506.400  "), "{control}");
    let document = sandbox.bulkhead(&["--json", "trace", "compare", "a.trace", "b.trace"]).json();
    assert_eq!(document["ok"], false);
    assert!(first.contains(document["first_difference"]["text"].as_str().expect("text")));
    assert_eq!(document["sides"], serde_json::json!(["A", "B"]));
    assert_eq!(document["tasks"][1]["task"], "low");
    assert_eq!(document["tasks"][0]["missed_deadlines"], serde_json::json!([0, 0]));
    let used = &document["vcpus"][0]["used_in_period_max_ns"];
    assert_eq!(
        (&document["vcpus"][0]["budget_ns"], &used[0]),
        (&1_000_000.into(), &1_000_000.into())
    );
    sandbox.write("s.toml", &SYSTEM.replace("\"below\"", "\"under\""));
    simulate(&sandbox, "c.trace", &[]);
    sandbox.bulkhead(&["trace", "compare", "a.trace", "c.trace"]).assert_refused(&[
        "different systems",
        "below (1 VCPUs)",
        "under (1 VCPUs)",
    ]);
}

#[test]
fn other_files_are_no_traces() {
    let sandbox = simulated();
    let export = |file| sandbox.bulkhead(&["trace", "export", file, "--to", "csv"]);
    export("s.toml").assert_refused(&["s.toml: it is no trace"]);
    export("none.trace").assert_refused(&["cannot read none.trace"]);
    let file = std::fs::read(sandbox.path("a.trace")).expect("a file");
    std::fs::write(sandbox.path("cut.trace"), &file[..file.len() - 7]).expect("a folder");
    let result = export("cut.trace");
    result.assert_status(0);
    assert!(result.stderr.contains("cut.trace was not written to its end"), "{}", result.stderr);
}

#[test]
fn a_run_without_rings_is_not_well() {
    let sandbox = sandbox!();
    let result = sandbox.run("echo '[bulkhead] power off'", &["--trace", "run.trace"]);
    result.assert_status(1);
    let expected = "there is no complete trace in run.trace: the hypervisor did not say where";
    assert!(result.stdout.contains(expected), "{}", result.stdout);
    let folder = sandbox.run("true", &["--trace", "no/such/folder"]);
    folder.assert_refused(&["cannot write no/such/folder"]);
}

/// What is missing was not decided again.
#[test]
fn a_trace_that_is_cut_off_is_not_replayed_whole() {
    let sandbox = simulated();
    let trace = std::fs::read(sandbox.path("a.trace")).expect("a trace");
    std::fs::write(sandbox.path("cut.trace"), &trace[..trace.len() * 3 / 4]).expect("written");
    let result = sandbox.bulkhead(&["trace", "replay", "cut.trace", "--plan", "s.toml"]);
    result.assert_status(1);
    assert!(result.stdout.contains("the trace was not written to its end"), "{}", result.stdout);
    let result = sandbox.bulkhead(&["--json", "trace", "replay", "cut.trace", "--plan", "s.toml"]);
    let document = result.json();
    assert_eq!((&document["ok"], &document["cut_off"]), (&false.into(), &true.into()));
}
