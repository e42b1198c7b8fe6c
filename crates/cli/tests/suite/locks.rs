//! `bulkhead reproduce` for experiments that analyse random task sets with locks.

use std::fs;

use testing::{Result, Sandbox, sandbox};

const EXPERIMENT: &str = r#"
title = "Schedulable task sets by length of sections"
source = "a paper, Figure 6"
about = "What is done."
differences = "Why it differs."
x = "length (us)"
y = "schedulable (%)"
plot = "lines"

[locks]
sets = 120
quick_sets = 60
seed = 7
vary = "section-us"

[[run]]
series = "PSwO"
x = "10,300,500"
measure.schedulable = { server = "periodic", overrun = true, analysis = "published" }

[[run]]
series = "DSwO"
x = "10,300,500"
measure.schedulable = { server = "deferrable", overrun = true, analysis = "published" }

[[run]]
series = "DSwO, sound"
x = "10,300,500"
measure.schedulable = { server = "deferrable", overrun = true, analysis = "sound" }
"#;

const PUBLISHED: &str = r#"
[[claim]]
text = "longer sections make it worse"
source = "a paper, section 5"
published = "it decreases"
check.falls = { series = "DSwO" }

[[claim]]
text = "the sound analysis says yes to no fewer"
source = "this project"
published = "-"
check.above = { series = "DSwO, sound", of = ["DSwO"], least = 0.0 }
"#;

fn sandbox(experiment: &str) -> Sandbox {
    let sandbox = sandbox!();
    fs::create_dir_all(sandbox.path("experiments/locks")).expect("a folder");
    sandbox.write("experiments/locks/experiment.toml", experiment);
    sandbox.write("experiments/locks/published.toml", PUBLISHED);
    sandbox
}

fn reproduce(sandbox: &Sandbox, arguments: &[&str]) -> Result {
    let mut command = sandbox.command(&["reproduce", "locks"]);
    command.args(arguments);
    Result::of(command.output().expect("the command starts"))
}

fn file(sandbox: &Sandbox, name: &str) -> String {
    fs::read_to_string(sandbox.path("build/reproduce/locks").join(name)).unwrap_or_default()
}

#[test]
fn shares_of_schedulable_task_sets_do_not_depend_on_threads() {
    let sandbox = sandbox(EXPERIMENT);
    reproduce(&sandbox, &["--jobs", "1"]).assert_status(0);
    let data = file(&sandbox, "data.csv");
    reproduce(&sandbox, &["--jobs", "3"]).assert_status(0);
    assert_eq!(file(&sandbox, "data.csv"), data);
    let page = file(&sandbox, "table.md");
    assert!(page.contains("Shares are of 120 task sets at each place."), "{page}");
    assert_eq!(page.matches("| confirmed |").count(), 2, "{page}");
    assert!(file(&sandbox, "plot.svg").contains("DSwO, sound"));
    assert_eq!(file(&sandbox, "parts.jsonl"), "", "nothing is left to go on from");
    let value = |series: &str, x: &str| -> f64 {
        let row = csv::Reader::from_reader(data.as_bytes())
            .into_records()
            .filter_map(|row| row.ok())
            .find(|row| &row[0] == series && &row[1] == x)
            .expect("a row");
        row[2].parse().expect("a number")
    };
    assert!(value("DSwO", "10") > 50.0 && value("DSwO", "500") == 0.0, "{data}");
}

#[test]
fn mistakes_name_their_place() {
    let vary = |what, x: &str| {
        EXPERIMENT.replace("section-us", what).replace("x = \"10,300,500\"", &format!("x = {x}"))
    };
    let lockers = "`x` = 5: 48 tasks cannot be shared out to mutexes with 5 lockers each";
    let cases = [
        (vary("lockers", "\"5\""), lockers),
        (vary("lockers", "[\"few\"]"), "`x` of `PSwO`: `few` is no number"),
        (vary("length", "\"5\""), "unknown variant `length`"),
        (EXPERIMENT.replace("\"periodic\"", "\"sporadic\""), "unknown variant `sporadic`"),
        (EXPERIMENT.replace("seed = 7\n", ""), "missing field `seed`"),
    ];
    for (experiment, message) in cases {
        reproduce(&sandbox(&experiment), &["--quick"]).assert_refused(&[message]);
    }
    let start = EXPERIMENT.find("[locks]").expect("a table");
    let end = EXPERIMENT.find("[[run]]").expect("a run");
    let without = [&EXPERIMENT[..start], &EXPERIMENT[end..]].concat();
    let message = "`PSwO` analyses task sets: say which in `[locks]`";
    reproduce(&sandbox(&without), &[]).assert_refused(&[message]);
}
