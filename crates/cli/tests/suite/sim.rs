//! `bulkhead sim`: what it finds, and how it ends.

use std::time::Duration;

use testing::{Result, sandbox, signal, terminal};

/// A VM with a task that needs 1.5 of 10 ms, and a budget of 1 of 5 ms.
const TASK: &str = r#"platform = "zcu102"
[[vm]]
name = "rt"
boot = "raw"
memory = "1MiB"
kernel = "rt.bin"
colors = "0-1"
[[vm.vcpu]]
pcpu = 1
server = "periodic"
budget = "1ms"
period = "5ms"
[[vm.task]]
name = "control"
period = "10ms"
wcet = { 1 = "2ms", 2 = "1.5ms", 4 = "1ms" }
bcet = "0.5ms"
"#;

/// Below it on the same PCPU.
const BACKGROUND: &str = r#"
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
period = "10ms"
wcet = "8ms"
"#;

fn sim(text: &str, arguments: &[&str]) -> Result {
    let sandbox = sandbox!();
    sandbox.write("s.toml", text);
    sandbox.bulkhead(&[&["sim", "s.toml"], arguments].concat())
}

#[test]
fn response_times_and_budgets_are_shown() {
    let result = sim(TASK, &["--until", "1s"]);
    result.assert_status(0);
    assert_eq!(
        result.stdout,
        "s.toml: no deadline was missed\n\
         simulated 1 s, 500 events\n\n\
         VM  VCPU  task     period  jobs    min us   mean us    max us  deadline us  missed\n\
         rt     0  control   10 ms   100  5500.000  5500.000  5500.000    10000.000       0\n\n\
         PCPU  VM  VCPU  server    budget  period  load   % of PCPU  % of budget  dispatches\n   \
            1  rt     0  periodic    1 ms    5 ms  tasks      15.00        75.00         200\n"
    );
}

#[test]
fn the_document_has_exact_numbers() {
    let found = sim(&[TASK, BACKGROUND].concat(), &["--until", "1s", "--json"]).json();
    assert_eq!((&found["ok"], &found["ended"]), (&true.into(), &"time".into()));
    assert_eq!(found["simulated_ns"], 1_000_000_000);
    let (control, low) = (&found["tasks"][0], &found["tasks"][1]);
    assert_eq!(
        (&control["task"], &control["response_max_ns"]),
        (&"control".into(), &5_500_000.into())
    );
    // 10 ms without the 1.5 ms that are used above it; the budget that goes by is not lost.
    assert_eq!((&low["vm"], &low["response_max_ns"]), (&"below".into(), &9_500_000.into()));
    assert_eq!(found["vcpus"][1]["supply_ppm"], 800_000);
    assert_eq!(found["vcpus"][0]["budget_used_ppm"], 750_000);
}

#[test]
fn a_missed_deadline_is_the_answer_no() {
    let tight = TASK.replace("bcet", "deadline = \"5.4ms\"\nbcet");
    let result = sim(&tight, &["--until", "1s"]);
    result.assert_status(1);
    assert!(result.stdout.starts_with("s.toml: 100 deadlines were missed\n"), "{}", result.stdout);
    // A job that never executes is late all the same.
    let (above, _) = TASK.split_once("[[vm.task]]").unwrap();
    let above = above.replace("budget = \"1ms\"", "budget = \"5ms\"");
    let result = sim(&[&above, BACKGROUND].concat(), &["--until", "15ms"]);
    result.assert_status(1);
    assert!(result.stdout.starts_with("s.toml: 1 deadline was missed\n"), "{}", result.stdout);
}

#[test]
fn jobs_that_pile_up_end_the_simulation() {
    let over = BACKGROUND.replace("8ms", "9ms");
    let found = sim(&[TASK, &over].concat(), &["--until", "1000s", "--json"]);
    found.assert_status(1);
    let found = found.json();
    assert_eq!(found["ended"], "overload");
    assert!(found["overload"].as_str().unwrap().contains("task low"), "{found}");
}

#[test]
fn random_times_follow_the_seed() {
    let arguments = |seed| ["--until", "1s", "--json", "--execution", "uniform", "--seed", seed];
    let of = |seed| sim(TASK, &arguments(seed)).json();
    let (one, other) = (of("7"), of("8"));
    assert_eq!(one, of("7"));
    assert_ne!(one["tasks"], other["tasks"]);
    let task = &one["tasks"][0];
    assert!(task["response_min_ns"].as_u64() < Some(600_000), "{task}");
    assert_eq!(task["missed_deadlines"], 0);
    let sporadic = TASK.replace("bcet", "sporadic = true\nbcet");
    let found = sim(&sporadic, &arguments("7")).json();
    assert!((55..80).contains(&found["tasks"][0]["jobs"].as_u64().unwrap()), "{found}");
    let worst = sim(&sporadic, &["--until", "1s", "--json"]).json();
    assert_eq!(worst["tasks"][0]["jobs"], 100);
}

#[test]
fn it_ends_after_a_hyperperiod_or_some_events() {
    let shifted = TASK.replace("bcet", "offset = \"3ms\"\nbcet");
    let result = sim(&shifted, &["--until", "hyperperiod", "--json"]);
    assert_eq!(result.stderr, "simulating 23 ms: the largest offset and two hyperperiods\n");
    let found = result.json();
    assert_eq!(
        (&found["simulated_ns"], &found["until_ns"]),
        (&23_000_000.into(), &23_000_000.into())
    );
    let found = sim(TASK, &["--events", "50", "--json"]).json();
    assert_eq!((&found["ended"], &found["events"]), (&"events".into(), &50.into()));
    let sandbox = sandbox!();
    let endless = sandbox.bulkhead(&["sim", "test.dts", "--until", "hyperperiod"]);
    endless.assert_refused(&["nothing repeats here", "--until 10s"]);
}

#[test]
fn what_is_not_described_is_assumed_and_said() {
    let sandbox = sandbox!();
    let busy = sandbox.bulkhead(&["sim", "test.dts", "--until", "1s"]);
    busy.assert_status(0);
    assert!(busy.stdout.starts_with("test.dts: there are no tasks\n"), "{}", busy.stdout);
    assert!(busy.stdout.contains("these VCPUs are always busy: linux/0, linux/1, rt/0"));
    let idle = sandbox.bulkhead(&["sim", "test.dts", "--assume", "idle", "--json"]).json();
    assert_eq!(idle["vcpus"][0]["supply_ns"], 0);
    let linux = BACKGROUND.replace("boot = \"raw\"\nmemory = \"1MiB\"", "memory = \"64MiB\"");
    let linux = [TASK, &linux].concat();
    let found = sim(&linux, &["--json"]).json();
    assert_eq!(found["vcpus"][1]["load"], "tasks and more");
    assert_eq!(found["vcpus"][1]["supply_ppm"], 850_000);
    assert_eq!(found["tasks"].as_array().unwrap().len(), 2, "the rest is no task");
}

#[test]
fn a_trace_of_it_can_be_read() {
    let sandbox = sandbox!();
    sandbox.write("s.toml", TASK);
    sandbox.bulkhead(&["sim", "s.toml", "--until", "1s", "--trace", "t"]).assert_status(0);
    let file = std::fs::read(sandbox.path("t")).unwrap();
    let read = trace::Trace::read(&file[..]).unwrap();
    assert_eq!((read.header.name.as_str(), read.tracks.len()), ("s", 4));
    assert_eq!(read.header.vms[0].vcpus[0].tasks[0].name, "control");
    let runs = |entry: &&trace::Entry| matches!(entry.event, trace::Event::Run { .. });
    assert_eq!(read.tracks[1].iter().filter(runs).count(), 200);
    let refused = sandbox.bulkhead(&["sim", "s.toml", "--trace", "no/folder"]);
    refused.assert_refused(&["cannot write no/folder"]);
}

#[test]
fn an_interrupt_shows_the_results_so_far() {
    let sandbox = sandbox!();
    sandbox.write("s.toml", TASK);
    let arguments = ["sim", "s.toml", "--until", "10000000s", "--json"];
    let child = sandbox.command(&arguments).spawn().unwrap();
    std::thread::sleep(Duration::from_secs(1));
    signal(&child, "INT");
    let result = Result::of(child.wait_with_output().unwrap());
    result.assert_status(130);
    let found = result.json();
    assert_eq!(found["ended"], "interrupted");
    let (now, jobs) = (&found["simulated_ns"], &found["tasks"][0]["jobs"]);
    assert!(now.as_u64() >= jobs.as_u64().map(|jobs| (jobs - 1) * 10_000_000), "{found}");
}

/// Tasks whose releases repeat after 24.6 days, two of which are simulated. One is always late.
fn long() -> String {
    let tasks =
        [("1.009ms", "0.1ms"), ("1.013ms", "0.1ms"), ("1.019ms", "0.1ms"), ("1.021ms", "0.6ms")];
    let tasks = tasks.into_iter().enumerate().map(|(number, (period, wcet))| {
        let deadline = if wcet == "0.6ms" { "0.61ms" } else { period };
        format!(
            "[[vm.task]]\nname = \"task{number}\"\nperiod = \"{period}\"\nwcet = \"{wcet}\"\n\
             deadline = \"{deadline}\"\npriority = {}\n",
            9 - number
        )
    });
    let tasks: Vec<_> = tasks.collect();
    let vm = &TASK[..TASK.find("[[vm.task]]").unwrap()];
    let whole = vm.split("[[vm.vcpu]]").next().unwrap();
    [whole, "[[vm.vcpu]]\npcpu = 1\n", &tasks.concat()].concat()
}

#[test]
fn a_long_hyperperiod_is_told_before_and_can_be_ended() {
    let sandbox = sandbox!();
    sandbox.write("s.toml", &long());
    let arguments = ["sim", "s.toml", "--until", "hyperperiod"];
    let mut child = sandbox.command(&arguments).spawn().unwrap();
    let mut said = String::new();
    let mut errors = std::io::BufReader::new(child.stderr.take().unwrap());
    for _ in 0..2 {
        std::io::BufRead::read_line(&mut errors, &mut said).unwrap();
    }
    signal(&child, "INT");
    let result = Result::of(child.wait_with_output().unwrap());
    // Late jobs do not hide that it did not come to its end.
    result.assert_status(130);
    let [first, second] = [0, 1].map(|line| said.lines().nth(line).unwrap().to_owned());
    assert_eq!(first, "simulating 25 days: the largest offset and two hyperperiods");
    assert!(second.starts_with("this takes about "), "{second}");
    assert!(second.ends_with(" more; Ctrl-C shows the results so far"), "{second}");
    let line = result.stdout.lines().nth(1).unwrap();
    assert!(line.contains(" s of 2126819.") && line.ends_with(", interrupted"), "{line}");
    assert!(result.stdout.contains("deadlines were missed"), "{}", result.stdout);
}

#[test]
fn progress_is_shown_on_a_terminal() {
    let sandbox = sandbox!();
    sandbox.write("s.toml", &long());
    let (ours, theirs) = terminal();
    let mut child = sandbox
        .command(&["sim", "s.toml", "--until", "hyperperiod"])
        .stdout(std::process::Stdio::null())
        .stderr(theirs)
        .spawn()
        .unwrap();
    let mut shown = Vec::new();
    let mut reader = std::fs::File::from(ours);
    while !String::from_utf8_lossy(&shown).contains(" events") {
        let mut bytes = [0; 4096];
        let count = std::io::Read::read(&mut reader, &mut bytes).unwrap();
        shown.extend_from_slice(&bytes[..count]);
    }
    signal(&child, "INT");
    // The bar is cleared at the end: somebody has to read that.
    std::thread::spawn(move || std::io::copy(&mut reader, &mut std::io::sink()));
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn the_example_has_all_kinds_of_servers_and_meets_its_deadlines() {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../systems/servers.toml");
    let sandbox = sandbox!();
    let arguments = ["sim", example, "--until", "hyperperiod", "--json"];
    let result = sandbox.bulkhead(&arguments);
    result.assert_status(0);
    let vcpus = result.json()["vcpus"].as_array().unwrap().clone();
    assert_eq!(vcpus.len(), 8);
    for kind in ["periodic", "deferrable", "sporadic", "background"] {
        assert!(vcpus.iter().any(|vcpu| vcpu["server"] == kind), "{kind}");
    }
    // Linux always has something to do, and gets its budgets whatever the others do.
    for pcpu in [0, 1] {
        let linux = vcpus.iter().find(|vcpu| vcpu["vm"] == "linux" && vcpu["pcpu"] == pcpu);
        assert_eq!(linux.unwrap()["budget_used_ppm"], 1_000_000);
    }
}

#[test]
fn a_trace_tells_when_jobs_are_released_and_how_long_they_execute() {
    let sandbox = sandbox!();
    let above = TASK.replace("bcet", "offset = \"3ms\"\nbcet");
    sandbox.write("s.toml", &[&above, BACKGROUND].concat());
    let first = ["sim", "s.toml", "--until", "1s", "--execution", "uniform", "--json"];
    let first = sandbox.bulkhead(&[&first[..], &["--trace", "t"]].concat()).json();
    // The same system, but for what the trace tells.
    sandbox.write("s.toml", &[TASK, BACKGROUND].concat());
    let again = ["sim", "s.toml", "--until", "1s", "--like", "t", "--json"];
    let again = sandbox.bulkhead(&again).json();
    assert_eq!(again["execution"], "traced");
    assert_eq!(again["tasks"], first["tasks"]);
    assert_eq!(again["vcpus"], first["vcpus"]);

    sandbox.write("other.toml", &TASK.replace("name = \"control\"", "name = \"x\"\nvcpu = 0"));
    sandbox.bulkhead(&["sim", "other.toml", "--until", "5ms", "--trace", "short"]).assert_status(0);
    let refused = sandbox.bulkhead(&["sim", "s.toml", "--like", "short"]);
    refused.assert_refused(&["no complete job of task", "marks its jobs"]);
    let refused = sandbox.bulkhead(&["sim", "s.toml", "--like", "s.toml"]);
    refused.assert_refused(&["s.toml: it is no trace"]);
}

/// `count` tasks on VCPU 0, one of which can execute at a time.
fn many(count: usize) -> String {
    let head = TASK.split("[[vm.vcpu]]").next().unwrap();
    let task = |number: usize| {
        format!("[[vm.task]]\nname = \"t{number}\"\nperiod = \"100ms\"\nwcet = \"20us\"\n")
    };
    [head, "[[vm.vcpu]]\npcpu = 1\n", &(0..count).map(task).collect::<String>()].concat()
}

#[test]
fn a_vcpu_can_have_a_thousand_tasks() {
    let found = sim(&many(1_000), &["--until", "1s", "--json"]);
    found.assert_status(0);
    let found = found.json();
    assert_eq!(found["tasks"].as_array().unwrap().len(), 1_000);
    assert_eq!((&found["tasks"][999]["jobs"], &found["missed_deadlines"]), (&10.into(), &0.into()));
    // It waits for all the others.
    let longest = found["tasks"][999]["response_max_ns"].as_u64().unwrap();
    assert!((20_000_000..30_000_000).contains(&longest), "{longest}");

    let more = sim(&many(1_026), &[]);
    more.assert_refused(&["a simulated VCPU can have 1024 tasks", "s.toml:", "one more of VCPU 0"]);
    let line = more.stderr.lines().find(|line| line.contains("s.toml:")).unwrap();
    let line: usize =
        line.split("s.toml:").nth(1).unwrap().split(':').next().unwrap().parse().unwrap();
    let text = many(1_026);
    assert_eq!(text.lines().nth(line - 1), Some("name = \"t1024\""));
}

#[test]
fn a_trace_numbers_256_tasks() {
    let sandbox = sandbox!();
    sandbox.write("s.toml", &many(256));
    sandbox.bulkhead(&["sim", "s.toml", "--until", "1s", "--trace", "t"]).assert_status(0);
    let csv = sandbox.bulkhead(&["trace", "export", "t", "--to", "csv", "-o", "-"]);
    assert_eq!(csv.stdout.matches(",t255,").count(), 30, "10 jobs with three steps each");
    sandbox.write("s.toml", &many(257));
    let refused = sandbox.bulkhead(&["sim", "s.toml", "--until", "1s", "--trace", "u"]);
    refused.assert_refused(&["VCPU rt/0 has 257 tasks", "help: simulate without a trace"]);
    assert!(!sandbox.path("u").exists());
}
