//! `bulkhead reproduce` with a script in place of QEMU, and the experiments of
//! the project in quick mode, for which everything must have been built.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use testing::{Result, Sandbox, eventually, sandbox, signal};

/// Writes what cachescope would: the n-th boot has two jobs of task 3, the longer
/// of which takes 1000 / n ns.
const QEMU: &str = r#"#!/bin/sh
if [ "$1" = --version ]; then
    echo "QEMU emulator version 10.0.2 (fake)"
    exit
fi
for argument; do
    case $argument in
    *,out=*) out=${argument#*,out=}; out=${out%%,*}; echo "$argument" >> "$SANDBOX/plugin" ;;
    esac
done
echo >> "$SANDBOX/count"
n=$(wc -l < "$SANDBOX/count")
results() {
    echo 'vm,cpu,task,job,release_ns,start_ns,finish_ns,execution_ns,others_ns,instructions,stall_ns,bus_wait_ns,accesses,l1_misses,llc_misses' > "$out/jobs.csv"
    echo "rt,2,3,0,,0,9,$((1000 / n)),0,1,1,1,1,1,7" >> "$out/jobs.csv"
    echo "rt,2,3,1,,0,9,$((900 / n)),0,1,1,1,1,1,5" >> "$out/jobs.csv"
    echo "rt,2,4,1,,0,9,99999,0,1,1,1,1,1,5" >> "$out/jobs.csv"
    echo 'time_ns,owner,accesses,memory_read_bytes,memory_written_bytes' > "$out/timeseries.csv"
    echo "0,rt,5,$((64000 / n)),64" >> "$out/timeseries.csv"
    cp "$SANDBOX/summary" "$out/summary.json"
    exit 0
}
trap results TERM
echo '[bulkhead] ready'
. "$SANDBOX/script"
echo '[bulkhead] rt: off (power-off)'
while :; do sleep 0.01; done
"#;

const SUMMARY: &str = r#"{"format":"bulkhead-cachescope-summary-v1","started":true,
"model":{"llc":{"size_bytes":1048576,"ways":16}},
"owners":[{"name":"hypervisor","accesses":1,"l1_misses":1,"llc_misses":1}],
"evictions":{"suffered":[],"owners":["hypervisor","linux","rt"],"by_line":[[0,1,2],[0,9,3],[0,4,9]]}}"#;

const EXPERIMENT: &str = r#"
title = "Time by colours"
source = "a paper, Figure 1"
about = "What is done."
differences = "Why it differs."
plot = "lines"
x = "colours"
y = "time (1 colour = 1)"
divide_by = { x = "1" }
cachescope = { memory = "202ns" }

[[run]]
series = "rt"
system = "../../test.dts"
x = "1-4"
quick = "1-2"
append = { rt = "colors={colors}" }
measure.jobs = { vm = "rt", task = "3", take = "max" }
"#;

const PUBLISHED: &str = r#"
[[claim]]
text = "four colours take at most half of the time"
source = "a paper, section 1"
published = "a half"
at = "4"
check.at-most = { series = "rt", limit = 0.5 }

[[value]]
x = "4"
column = "Arm"
value = "0.4"
"#;

/// A folder with a system, an experiment and a QEMU.
fn sandbox() -> Sandbox {
    let sandbox = sandbox!();
    for folder in ["build", "experiments/time"] {
        fs::create_dir_all(sandbox.path(folder)).expect("a folder");
    }
    fs::copy(sandbox.path("hypervisor.elf"), sandbox.path("build/hypervisor.elf")).expect("a copy");
    sandbox.write("plugin.so", "");
    sandbox.write("script", "");
    sandbox.write("summary", SUMMARY);
    sandbox.write("qemu", QEMU);
    fs::set_permissions(sandbox.path("qemu"), PermissionsExt::from_mode(0o755)).expect("a mode");
    sandbox.write("experiments/time/experiment.toml", EXPERIMENT);
    sandbox.write("experiments/time/published.toml", PUBLISHED);
    sandbox
}

fn command(sandbox: &Sandbox, arguments: &[&str]) -> Command {
    let mut command = sandbox.command(&["reproduce", "--jobs", "1"]);
    command
        .args(arguments)
        .env("BULKHEAD_QEMU", sandbox.path("qemu"))
        .env("BULKHEAD_CACHESCOPE", sandbox.path("plugin.so"))
        .env("SANDBOX", sandbox.path("."));
    command
}

fn reproduce(sandbox: &Sandbox, arguments: &[&str]) -> Result {
    Result::of(command(sandbox, arguments).output().expect("the command starts"))
}

fn result_file(sandbox: &Sandbox, name: &str) -> String {
    let file = sandbox.path("build/reproduce/time").join(name);
    fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

#[test]
fn values_stand_beside_published_ones_in_all_files() {
    let sandbox = sandbox();
    let result = reproduce(&sandbox, &["time"]);
    result.assert_status(0);
    for part in ["4        0.250  0.4", "confirmed: four colours", "at most 0.250, at 4"] {
        assert!(result.stdout.contains(part), "{part} is not in {}", result.stdout);
    }
    assert_eq!(result.stderr, "", "without a terminal there is no progress");

    let data = result_file(&sandbox, "data.csv");
    let lines: Vec<&str> = data.lines().collect();
    let heading = "series,x,measured,shown,jobs,min_ns,mean_ns,max_ns,llc_misses_max,placements";
    assert_eq!(lines[..2], [heading, "rt,1,1000.0,1.0,2,900,950,1000,7,"]);
    assert_eq!(lines.len(), 5);
    let page = result_file(&sandbox, "table.md");
    for part in ["| 4 | 0.250 | 0.4 |", "| confirmed |", "![Time by colours](plot.svg)"] {
        assert!(page.contains(part), "{part} is not in {page}");
    }
    assert!(result_file(&sandbox, "plot.svg").contains("Time by colours"));

    let plugin = fs::read_to_string(sandbox.path("plugin")).expect("arguments");
    assert!(plugin.lines().all(|line| line.contains(",memory=202ns")), "{plugin}");
}

#[test]
fn traffic_over_time_stands_beside_what_a_budget_allows() {
    let sandbox = sandbox();
    let text = EXPERIMENT.replace("divide_by = { x = \"1\" }\n", "").replace(
        "measure.jobs = { vm = \"rt\", task = \"3\", take = \"max\" }",
        "measure.traffic = { vm = \"rt\", task = 3, interval_us = 1, count = \"most\" }",
    );
    let allowed = "[[run]]\nseries = \"allowed\"\nx = \"1-4\"\n\
                   measure.allowed = { accesses = 100, period_us = 2, overshoot = 3, interval_us = 1 }\n";
    sandbox.write("experiments/time/experiment.toml", &format!("{text}{allowed}"));
    reproduce(&sandbox, &["time"]).assert_status(1);
    let data = result_file(&sandbox, "data.csv");
    let values: Vec<_> =
        data.lines().skip(1).filter_map(|line| line.strip_suffix(",,,,,,")).collect();
    let expected = [
        "rt,1,1001.0,1001.0",
        "rt,2,501.0,501.0",
        "rt,3,334.0,334.0",
        "rt,4,251.0,251.0",
        "allowed,1,203.0,203.0",
        "allowed,2,203.0,203.0",
        "allowed,3,303.0,303.0",
        "allowed,4,303.0,303.0",
    ];
    assert_eq!(values, expected);
}

/// Boots 1 to 3 are those of the first place, boots 10 to 12 those of the last one.
#[test]
fn the_median_of_placements_counts_and_pages_tell_the_spread() {
    let sandbox = sandbox();
    let text = EXPERIMENT.replace("colors={colors}", "colors={colors} placement={placement}");
    let text = text.replace("append =", "placements = 3\nappend =");
    sandbox.write("experiments/time/experiment.toml", &text);
    let result = reproduce(&sandbox, &["time"]);
    result.assert_status(0);
    assert!(result.stdout.contains("at most 0.180, at 4; holds in 3 of 3 placements, 6 jobs"));
    let data = result_file(&sandbox, "data.csv");
    assert_eq!(data.lines().nth(1), Some("rt,1,500.0,1.0,6,300,580,1000,7,1000 500 333"));
    assert_eq!(fs::read_to_string(sandbox.path("count")).map(|it| it.len()).ok(), Some(12));
    assert!(result_file(&sandbox, "took.json").contains("\"boots\":12"));
    let page = result_file(&sandbox, "table.md");
    let mut judge = sandbox.command(&["reproduce", "time", "--judge"]);
    Result::of(judge.output().expect("the command starts")).assert_status(0);
    assert_eq!(result_file(&sandbox, "table.md"), page, "values judged again");
    reproduce(&sandbox, &["time", "--quick"]).assert_status(0);
    assert_eq!(fs::read_to_string(sandbox.path("count")).map(|it| it.len()).ok(), Some(14));
}

#[test]
fn there_can_be_several_figures_and_options_of_a_run() {
    let sandbox = sandbox();
    let figure = |file: &str, series: &str| {
        format!(
            "[[figure]]\nfile = {file:?}\ntitle = \"Of {file}\"\nx = \"x\"\ny = \"y\"\nseries = [{series:?}]\n"
        )
    };
    let more = EXPERIMENT.split_once("[[run]]").expect("a run").1;
    let more = more.replace("\"rt\"\n", "\"fast\"\ncachescope = { memory = \"9ns\" }\n");
    let figures = figure("slow", "rt") + &figure("faster", "fast");
    let text = EXPERIMENT.replacen("[[run]]", &format!("{figures}[[run]]"), 1);
    sandbox.write("experiments/time/experiment.toml", &format!("{text}[[run]]{more}"));
    reproduce(&sandbox, &["time"]).assert_status(0);
    let page = result_file(&sandbox, "table.md");
    assert!(page.contains("![Of slow](slow.svg)\n\n![Of faster](faster.svg)"), "{page}");
    assert!(result_file(&sandbox, "slow.svg").contains("Of slow"));
    assert!(result_file(&sandbox, "faster.svg").contains("fast"));
    let plugin = fs::read_to_string(sandbox.path("plugin")).expect("arguments");
    let fast = plugin.lines().filter(|line| line.contains(",memory=9ns")).count();
    assert_eq!((plugin.lines().count(), fast), (8, 4), "{plugin}");

    let text = text.replace("series = [\"rt\"]", "series = [\"other\"]");
    sandbox.write("experiments/time/experiment.toml", &text);
    reproduce(&sandbox, &["time"]).assert_refused(&["no run is of the series `other`"]);
}

#[test]
fn what_a_guest_prints_stands_beside_what_is_promised() {
    let sandbox = sandbox();
    sandbox.write("k", "kernel");
    sandbox.write(
        "s.toml",
        "platform = \"qemu-virt\"\n[[vm]]\nname = \"rt\"\nboot = \"raw\"\nmemory = \"1MiB\"\n\
         kernel = \"k\"\n[[vm.task]]\nname = \"control\"\nperiod = \"4ms\"\ndeadline = \"3ms\"\n\
         wcet = \"2ms\"\n",
    );
    sandbox.write("script", "echo '[rt] task a max_ns=5'; echo '[rt] task b max_ns=7'");
    let console = "measure.console = { vm = \"rt\", key = \"max_ns\", after = \"task b\" }";
    let text = EXPERIMENT
        .replace("divide_by = { x = \"1\" }\n", "")
        .replace("measure.jobs = { vm = \"rt\", task = \"3\", take = \"max\" }", console);
    let promised = |task: &str, time: &str| {
        format!(
            "[[run]]\nseries = \"{time}\"\nsystem = \"../../s.toml\"\nx = \"1\"\n\
             measure.promised = {{ vm = \"rt\", task = \"{task}\", time = \"{time}\" }}\n"
        )
    };
    let experiment = [&text, &promised("control", "deadline"), &promised("control", "bound")];
    let file = "experiments/time/experiment.toml";
    sandbox.write(file, &experiment.map(String::as_str).concat());
    reproduce(&sandbox, &["time"]).assert_status(1);
    let data = result_file(&sandbox, "data.csv");
    for line in ["rt,4,7.0", "deadline,1,3000000.0", "bound,1,2030912.0"] {
        assert!(data.contains(line), "{line} is not in {data}");
    }

    sandbox.write(file, &format!("{text}{}", promised("contrl", "bound")));
    let result = reproduce(&sandbox, &["time"]);
    result.assert_status(2);
    assert!(result.stderr.contains("VM `rt` has no task `contrl`"), "{}", result.stderr);
    sandbox.write(file, &text.replace("task b", "task c"));
    let result = reproduce(&sandbox, &["time"]);
    result.assert_status(2);
    assert!(result.stderr.contains("`max_ns=number` after `task c`"), "{}", result.stderr);
}

#[test]
fn a_refuted_statement_is_status_1_and_missing_values_are_no_verdict() {
    let sandbox = sandbox();
    let strict = PUBLISHED.replace("limit = 0.5", "limit = 0.2");
    sandbox.write("experiments/time/published.toml", &strict);
    let result = reproduce(&sandbox, &["time", "--json"]);
    result.assert_status(1);
    let document = result.json();
    assert_eq!(document["ok"], false);
    let claim = &document["experiments"][0]["claims"][0];
    assert_eq!(claim["verdict"], "not-confirmed");
    assert_eq!(document["experiments"][0]["values"][3]["max_ns"], 250);

    let quick = reproduce(&sandbox, &["time", "--quick", "--json"]);
    quick.assert_status(0);
    let claim = &quick.json()["experiments"][0]["claims"][0];
    assert_eq!(claim["verdict"], "not-checkable");
    assert!(result_file(&sandbox, "table.md").contains("**Measured with `--quick`"));
}

#[test]
fn values_of_an_earlier_run_can_be_judged_again() {
    let sandbox = sandbox();
    reproduce(&sandbox, &["time"]).assert_status(0);
    let (data, page) = (result_file(&sandbox, "data.csv"), result_file(&sandbox, "table.md"));
    sandbox.write("script", "exit 1");
    let judge = || {
        Result::of(sandbox.command(&["reproduce", "time", "--judge"]).output().expect("it starts"))
    };
    judge().assert_status(0);
    assert_eq!(result_file(&sandbox, "data.csv"), data);
    assert_eq!(result_file(&sandbox, "table.md"), page);
    let strict = PUBLISHED.replace("limit = 0.5", "limit = 0.2");
    sandbox.write("experiments/time/published.toml", &strict);
    judge().assert_status(1);
    assert!(result_file(&sandbox, "table.md").contains("| not confirmed |"));
    let more = EXPERIMENT.replace("1-4", "1-5");
    sandbox.write("experiments/time/experiment.toml", &more);
    judge().assert_refused(&["no value of `rt` at 5", "without --judge"]);
}

/// A second experiment, whose boots are those after the first one's.
fn second(sandbox: &Sandbox) {
    fs::create_dir_all(sandbox.path("experiments/time10")).expect("a folder");
    sandbox.write("experiments/time10/experiment.toml", EXPERIMENT);
    sandbox.write("experiments/time10/published.toml", PUBLISHED);
    sandbox.write(
        "experiments/papers.toml",
        "[[paper]]\nname = \"a paper\"\ntitle = \"A Paper\"\n\
         [[paper.absent]]\nwhat = \"Figure 2\"\nwhy = \"no such machine\"\n\
         [[paper]]\nname = \"a pap\"\ntitle = \"Another\"\n",
    );
}

#[test]
fn all_experiments_are_one_page() {
    let sandbox = sandbox();
    second(&sandbox);
    reproduce(&sandbox, &["all"]).assert_status(1);
    let page = fs::read_to_string(sandbox.path("build/reproduce/published.md")).expect("the page");
    for part in [
        "| a paper | 2 | 1 | 1 | 0 |\n| a pap | 0 |",
        "| [time](time/table.md) | four colours take at most half of the time | a half | \
         at most 0.250, at 4 | confirmed |\n| [time10]",
        "| Figure 2 | no such machine |",
    ] {
        assert!(page.contains(part), "{part} is not in\n{page}");
    }
}

#[test]
fn all_experiments_go_on_after_one_that_fails() {
    let sandbox = sandbox();
    second(&sandbox);
    sandbox.write(
        "script",
        "[ $n -gt 1 ] || { echo '[bulkhead] rt: stopped (abort)'; while :; do sleep 0.01; done; }",
    );
    let result = reproduce(&sandbox, &["all"]);
    result.assert_status(2);
    for part in ["time: error: ", "stopped (abort)", "no complete results of time: see above"] {
        assert!(result.stderr.contains(part), "{part} is not in {}", result.stderr);
    }
    let page = fs::read_to_string(sandbox.path("build/reproduce/published.md")).expect("the page");
    assert!(page.contains("[time10](time10/table.md)"), "{page}");
}

#[test]
fn verdicts_are_held_against_earlier_ones() {
    let sandbox = sandbox();
    let strict = PUBLISHED.replace("limit = 0.5", "limit = 0.2");
    sandbox.write("experiments/time/published.toml", &strict);
    let earlier = sandbox.path("earlier");
    let earlier = earlier.to_str().expect("a path in UTF-8");
    let expect = ["time", "--expect", earlier];
    reproduce(&sandbox, &expect).assert_refused(&["earlier", "data.csv"]);
    reproduce(&sandbox, &["time", "-o", earlier]).assert_status(1);
    fs::remove_file(sandbox.path("count")).expect("boots are counted");
    let same = reproduce(&sandbox, &expect);
    same.assert_status(0);
    assert!(same.stdout.ends_with("/earlier\n"), "{}", same.stdout);

    let data = fs::read_to_string(format!("{earlier}/time/data.csv")).expect("values");
    let low = data.replace(",0.25,", ",0.15,");
    assert_ne!(low, data);
    fs::write(format!("{earlier}/time/data.csv"), low).expect("a file");
    fs::remove_file(sandbox.path("count")).expect("boots are counted");
    let changed = reproduce(&sandbox, &expect);
    changed.assert_status(1);
    let change =
        "time: four colours take at most half of the time: was confirmed, is not confirmed";
    assert!(changed.stdout.contains(change), "{}", changed.stdout);
    fs::remove_file(sandbox.path("count")).expect("boots are counted");
    reproduce(&sandbox, &["time", "--quick", "--expect", earlier]).assert_status(0);
}

/// Pages and figures in `docs` are what the values beside them say.
#[test]
fn published_pages_are_those_of_their_values() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reproduce");
    let folder = tempfile::tempdir().expect("a folder");
    let experiments: Vec<_> = fs::read_dir(&kept)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_dir())
        .collect();
    for experiment in &experiments {
        let copy = folder.path().join(experiment.file_name().expect("a name"));
        fs::create_dir(&copy).expect("a folder");
        for file in ["data.csv", "note.txt", "took.json"].map(|name| experiment.join(name)) {
            if file.exists() {
                fs::copy(&file, copy.join(file.file_name().expect("a name"))).expect("a copy");
            }
        }
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_bulkhead"));
    command.args(["reproduce", "all", "--judge", "--output"]).arg(folder.path());
    let output = command.current_dir(&kept).output().expect("it starts");
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    let same = |file: &Path| {
        let (kept, new) = (kept.join(file), folder.path().join(file));
        assert!(
            fs::read(&kept).ok() == fs::read(new).ok(),
            "{}: write it anew with `bulkhead reproduce all --judge --output docs/reproduce`",
            kept.display()
        );
    };
    same(Path::new("published.md"));
    for experiment in &experiments {
        let name = Path::new(experiment.file_name().expect("a name"));
        for written in fs::read_dir(folder.path().join(name)).expect("a folder") {
            same(&name.join(written.expect("an entry").file_name()));
        }
    }
}

#[test]
fn a_boot_without_result_is_told_and_finished_values_are_kept() {
    let sandbox = sandbox();
    sandbox.write(
        "script",
        "[ $n != 3 ] || { echo '[bulkhead] rt: stopped (abort)'; while :; do sleep 0.01; done; }",
    );
    let result = reproduce(&sandbox, &["time"]);
    result.assert_status(2);
    for part in ["VM `rt`: it is stopped (abort)", "end of the console", "--append 'rt=colors=0-2'"]
    {
        assert!(result.stderr.contains(part), "{part} is not in {}", result.stderr);
    }
    assert_eq!(result_file(&sandbox, "data.csv").lines().count(), 3);
    assert!(result_file(&sandbox, "table.md").contains("**Incomplete"));
}

#[test]
fn ctrl_c_keeps_finished_values() {
    let sandbox = sandbox();
    sandbox.write("script", "while [ $n = 2 ]; do sleep 0.01; done");
    let child = command(&sandbox, &["time"]).spawn().expect("the command starts");
    let second = || fs::read_to_string(sandbox.path("count")).is_ok_and(|it| it.len() == 2);
    eventually("the second boot starts", second);
    signal(&child, "INT");
    let result = Result::of(child.wait_with_output().expect("the command ends"));
    result.assert_status(130);
    assert_eq!(result_file(&sandbox, "data.csv").lines().count(), 2);
    assert!(result.stdout.contains("Incomplete"), "{}", result.stdout);
}

#[test]
fn mistakes_name_their_place() {
    let sandbox = sandbox();
    reproduce(&sandbox, &["tme"]).assert_refused(&["no experiment `tme`", "there are time"]);
    reproduce(&sandbox, &["./tme"]).assert_refused(&["cannot read ./tme/experiment.toml"]);
    let cases = [
        ("plot = \"lines\"", "plot = \"pie\"", "unknown variant `pie`"),
        ("x = \"1-4\"", "x = \"4-1\"", "`4-1` is no number"),
        ("x = \"1-4\"", "y = \"1-4\"", "unknown field `y`"),
        ("x = \"1-4\"", "x = []", "the run of `rt` has no place in `x`"),
        ("system =", "# system =", "the run of `rt` names no `system`"),
        ("series = \"rt\"", "series = \"linux\"", "no run is of the series `rt`"),
        ("append =", "placements = 0\nappend =", "placements"),
        ("append =", "placements = 2\nappend =", "all placements of `rt` are alike"),
        ("colors={colors}", "placement={placement}", "`rt` has one placement: say how many"),
    ];
    for (from, to, message) in cases {
        let text = EXPERIMENT.replacen(from, to, 2);
        sandbox.write("experiments/time/experiment.toml", &text);
        reproduce(&sandbox, &["time"]).assert_refused(&["time/experiment.toml", message]);
    }
}

#[test]
fn incomplete_results_do_not_replace_complete_ones() {
    let sandbox = sandbox();
    reproduce(&sandbox, &["time"]);
    let complete = result_file(&sandbox, "data.csv");
    let text = EXPERIMENT.replace("task = \"3\"", "task = \"8\"");
    sandbox.write("experiments/time/experiment.toml", &text);
    reproduce(&sandbox, &["time"]).assert_status(2);
    assert_eq!(result_file(&sandbox, "data.csv"), complete);
    assert!(result_file(&sandbox, "../time.incomplete/table.md").contains("**Incomplete"));
}

#[test]
fn tasks_without_jobs_and_vms_that_do_not_exist_are_told() {
    let sandbox = sandbox();
    let write = |from: &str, to: &str| {
        sandbox.write("experiments/time/experiment.toml", &EXPERIMENT.replace(from, to));
    };
    write("task = \"3\"", "task = \"8\"");
    let result = reproduce(&sandbox, &["time"]);
    result.assert_status(2);
    assert!(result.stderr.contains("marked no job of the task 8"), "{}", result.stderr);
    assert!(result_file(&sandbox, "table.md").contains("**Incomplete"));
    write("vm = \"rt\"", "vm = \"qnx\"");
    let result = reproduce(&sandbox, &["time"]);
    assert!(result.stderr.contains("there is no VM `qnx`"), "{}", result.stderr);
}

/// Chains of which one has published values, beside which it is judged.
const CHAINS: &str = r#"
title = "Data age"
source = "a paper, Figure 1"
about = "What is done."
differences = "Why it differs."
x = "chain"
y = "age"

[[run]]
series = "bound"
x = ["a", "b"]
measure.chain = "reduced-data-age"

[[run]]
series = "offsets known"
x = ["a"]
measure.job-by-job = "given"

[[chain]]
name = "a"
tasks = [{ period = 10, interval = 4 }, { period = 10, offset = 4, wcrt = 2 }]

[[chain]]
name = "b"
tasks = [{ period = 5, wcrt = 1 }, { period = 7, wcrt = 3 }]
"#;

#[test]
fn statements_can_name_published_numbers() {
    let sandbox = sandbox();
    let published = |value: &str| {
        format!(
            "[[claim]]\ntext = \"the bound is at most twice as long\"\nsource = \"a paper\"\npublished = \"6\"\n\
             check.ratios = {{ series = [\"bound\"], of = \"tool\", most = 2.0 }}\n\
             [[value]]\nx = \"a\"\ncolumn = \"tool\"\nvalue = \"{value}\"\n"
        )
    };
    sandbox.write("experiments/time/experiment.toml", CHAINS);
    // 10 + 4 + 2 with any offsets, 6 with these.
    for (value, status, ratio) in [("6", 1, "2.667 (bound, at a)"), ("8", 0, "2.000 (bound, at a)")]
    {
        sandbox.write("experiments/time/published.toml", &published(value));
        let result = reproduce(&sandbox, &["time"]);
        result.assert_status(status);
        assert!(result.stdout.contains(ratio), "{ratio} is not in {}", result.stdout);
    }
    let data = result_file(&sandbox, "data.csv");
    let values: Vec<_> = data.lines().filter_map(|line| line.strip_suffix(",,,,,,")).collect();
    assert_eq!(values, ["bound,a,16.0,16.0", "bound,b,9.0,9.0", "offsets known,a,6.0,6.0"]);
    assert!(!data.contains("tool"), "published numbers are not measured: {data}");
    let mut judge = sandbox.command(&["reproduce", "time", "--judge"]);
    Result::of(judge.output().expect("the command starts")).assert_status(0);

    sandbox.write("experiments/time/published.toml", &published("6 ms"));
    let result = reproduce(&sandbox, &["time"]);
    result.assert_status(0);
    assert!(result.stdout.contains("not checkable"), "{}", result.stdout);

    let file = "experiments/time/experiment.toml";
    sandbox
        .write(file, &CHAINS.replace("x = \"chain\"", "x = \"chain\"\ndivide_by = { x = \"a\" }"));
    reproduce(&sandbox, &["time"]).assert_refused(&["the published `tool`", "remove `divide_by`"]);
    sandbox.write(file, &CHAINS.replace("\"offsets known\"", "\"tool\""));
    reproduce(&sandbox, &["time"]).assert_refused(&["`tool` is a series and a column"]);
    sandbox.write(file, &CHAINS.replace("x = [\"a\", \"b\"]", "x = [\"a\", \"c\"]"));
    reproduce(&sandbox, &["time"]).assert_status(2);
    sandbox.write(
        file,
        &CHAINS.replace(
            "chain = \"reduced-data-age\"",
            "reduction = { bound = \"data-age\", take = \"mean\" }",
        ),
    );
    reproduce(&sandbox, &["time"])
        .assert_refused(&["`bound` draws chains: say which in `[chains]`"]);
}

#[test]
fn random_chains_are_the_same_however_many_threads_draw_them() {
    let sandbox = sandbox();
    let chains = "decimals = 3\n[chains]\nsets = 120\nquick_sets = 3\nseed = 1\ntasks = \"automotive\"\nchains = [2, 4]\n";
    let run = |series: &str, measure: &str| {
        format!("[[run]]\nseries = \"{series}\"\nx = \"50,90\"\nmeasure.{measure}\n")
    };
    let begin = CHAINS.split_once("\n[[run]]").expect("a run").0;
    let text = [
        begin,
        "\n",
        chains,
        &run("least", "reduction = { bound = \"reaction-time\", take = \"least\" }"),
        &run("mean", "reduction = { bound = \"reduced-data-age\", take = \"mean\" }"),
        &run("ms", "length = { bound = \"data-age\", take = \"median\" }"),
    ];
    sandbox.write("experiments/time/experiment.toml", &text.concat());
    sandbox.write(
        "experiments/time/published.toml",
        &PUBLISHED.replace("\"rt\"", "\"least\"").replace("at = \"4\"\n", ""),
    );
    let data = |jobs: &str| {
        let mut command = sandbox.command(&["reproduce", "time", "--jobs", jobs]);
        Result::of(command.output().expect("the command starts")).assert_status(0);
        result_file(&sandbox, "data.csv")
    };
    let one = data("1");
    assert_eq!(one.lines().count(), 7, "{one}");
    assert_eq!(data("3"), one);
    let note = result_file(&sandbox, "note.txt");
    assert!(note.starts_with("Chains of 120 task sets: "), "{note}");
    let full = text.concat().replace("x = \"50,90\"", "x = \"0,90\"");
    sandbox.write("experiments/time/experiment.toml", &full);
    reproduce(&sandbox, &["time"]).assert_refused(&["`x` of `least`: `0` is no percentage"]);
}

#[test]
fn the_list_has_all_experiments() {
    let result = reproduce(&sandbox(), &["--list"]);
    result.assert_status(0);
    assert_eq!(result.stdout, "experiment  shows\ntime        Time by colours\n");
}
