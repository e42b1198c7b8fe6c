//! `rt-torture`, which executes what no guest should, beside a critical VM on the same PCPUs: the hypervisor
//! survives, starts it again when it has to, and no deadline and no bound of the critical VM is
//! exceeded. `make torture` does this for as long as it is told to. Hypervisor, guests and cachescope must have been built.

mod real;

use std::process::Command;
use std::time::Instant;

use real::{campaign, project};
use serde_json::Value;

/// How a run is timed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Time {
    /// By instructions: deadlines and bounds are checked.
    Deterministic,
    /// By the clock of this machine, which may be busy: only who goes on is checked. VCPUs may take exceptions for
    /// ever here, with which QEMU's counted time would stand still.
    Real,
}

/// What a run was about.
#[derive(Debug, Default)]
struct Totals {
    runs: u64,
    lives: u64,
    operations: u64,
    faults: u64,
    exits: u64,
    stuck: u64,
    jobs: u64,
}

/// The critical VM shares both of its PCPUs with VCPUs that execute anything.
fn system(seed: u64, milliseconds: u64, time: Time) -> String {
    let kernel = |name: &str| project().join(format!("build/guests/{name}.bin"));
    let (critical, hostile) = (kernel("rt-demo"), kernel("rt-torture"));
    let seconds = milliseconds / 1000;
    let lost = match time {
        Time::Deterministic => "",
        Time::Real => " torture.lost=1 torture.stuck_ms=1000",
    };
    // What the hostile VM may use changes from run to run.
    let colors =
        |set| if seed.is_multiple_of(2) { format!("colors = {set:?}\n") } else { String::new() };
    let extra =
        if seed % 4 == 2 { "extra_colors = \"12-14\"\nextra_memory = \"4MiB\"\n" } else { "" };
    let (of_critical, of_hostile) = (colors("0-7"), colors("8-11"));
    format!(
        r#"
name = "torture"

[platform]
board = "qemu-virt"

[[vm]]
name = "critical"
boot = "raw"
memory = "16MiB"
kernel = {critical:?}
bootargs = "rt.seconds={seconds} rt.cpus=2"
{of_critical}
[[vm.vcpu]]
pcpu = 0
server = "periodic"
budget = "3ms"
period = "5ms"

[[vm.vcpu]]
pcpu = 1
server = "sporadic"
budget = "5ms"
period = "8ms"

[[vm.task]]
name = "fast"
vcpu = 0
period = "5ms"
wcet = "0.5ms"
priority = 3

[[vm.task]]
name = "medium"
vcpu = 0
period = "10ms"
wcet = "1.5ms"
priority = 2

[[vm.task]]
name = "slow"
vcpu = 0
period = "20ms"
wcet = "5ms"
priority = 1

[[vm.task]]
name = "sense"
vcpu = 1
period = "10ms"
wcet = "2.5ms"
priority = 2

[[vm.task]]
name = "plan"
vcpu = 1
period = "40ms"
wcet = "9ms"
priority = 1

[[vm]]
name = "hostile"
boot = "raw"
memory = "8MiB"
kernel = {hostile:?}
bootargs = "torture.seed={seed} torture.ms={milliseconds}{lost}"
on_crash = "restart"
restart_limit = 1000000
{of_hostile}{extra}
[[vm.vcpu]]
pcpu = 2
server = "deferrable"
budget = "500us"
period = "2ms"

[[vm.vcpu]]
pcpu = 0
server = "background"

[[vm.vcpu]]
pcpu = 1
server = "background"
"#
    )
}

fn bulkhead(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bulkhead"));
    command.current_dir(project()).args(arguments);
    command
}

/// The answer of a command, and what it said.
fn answer(arguments: &[&str]) -> (Value, String, Option<i32>) {
    let output = bulkhead(arguments).output().expect("bulkhead starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let answer = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    (answer, said, output.status.code())
}

/// The numbers in the last line of each life: what a life did not get to print does not count.
fn lives(lines: &str, seed: u64) -> impl Iterator<Item = (u64, u64)> {
    let mut lives = std::collections::BTreeMap::new();
    let start = format!(" seed={seed} operations=");
    for line in lines.lines() {
        let Some((_, numbers)) = line.split_once("] torture: life=") else { continue };
        let Some((life, numbers)) = numbers.split_once(&start) else { continue };
        let mut numbers = numbers.split([' ', '=']);
        let operations = numbers.next().and_then(|number| number.parse().ok());
        let faults = numbers.nth(1).and_then(|number| number.parse().ok());
        if let (Ok(life), Some(operations), Some(faults)) =
            (life.parse::<u64>(), operations, faults)
        {
            lives.insert(life, (operations, faults));
        }
    }
    lives.into_values()
}

/// One run; panics with how to repeat it when anything is not as it has to be.
fn torture(seed: u64, milliseconds: u64, time: Time, totals: &mut Totals) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("torture.toml");
    std::fs::write(&path, system(seed, milliseconds, time)).expect("the folder is writable");
    let path = path.to_str().expect("a path in UTF-8");
    let again = format!("again: make torture SECONDS=1 SEED={seed}");

    let (checked, said, status) = answer(&["check", path, "--json"]);
    assert_eq!(status, Some(0), "{said}\n{again}");
    let log = folder.path().join("log");
    let mut arguments = vec!["run", path, "--json", "--until-off", "--timeout", "1800s", "--log"];
    arguments.push(log.to_str().expect("a path in UTF-8"));
    if time == Time::Deterministic {
        arguments.extend(["--deterministic", "--short-turns"]);
    }
    let (run, said, status) = answer(&arguments);
    let tail = said.lines().rev().take(60).collect::<Vec<_>>();
    let tail = tail.into_iter().rev().collect::<Vec<_>>().join("\n");
    let fail =
        |what: &str| -> ! { panic!("{what} (seed {seed}, {time:?})\n{tail}\n{run:#}\n{again}") };

    let vm = |name: &str| {
        let vms = run["vms"].as_array().into_iter().flatten();
        vms.into_iter().find(|vm| vm["name"] == name).unwrap_or(&Value::Null)
    };
    let (critical, hostile) = (vm("critical"), vm("hostile"));
    if status.is_none_or(|status| status > 1)
        || critical["state"] != "off"
        || critical["restarts"] != 0
    {
        fail("the critical VM did not end as it should");
    }
    if hostile["state"] != "off" || hostile["reason"] != "power-off" {
        fail("the hostile VM did not go on to its end");
    }
    let tasks = critical["tasks"].as_array().map_or(&[][..], Vec::as_slice);
    let items = |value: &'_ Value, name| value[name].as_array().cloned().unwrap_or_default();
    let vcpus =
        items(&checked["analysis"], "pcpus").into_iter().flat_map(|pcpu| items(&pcpu, "vcpus"));
    let bounds: Vec<Value> = vcpus.flat_map(|vcpu| items(&vcpu, "tasks")).collect();
    if tasks.len() != 5 || bounds.len() != 5 {
        fail("there are not five tasks with bounds");
    }
    for task in tasks {
        if time == Time::Real {
            continue;
        }
        let jobs = task["jobs"].as_u64().unwrap_or(0);
        totals.jobs += jobs;
        let named = |bound: &&Value| bound["task"] == task["name"];
        let bound = bounds.iter().find(named).and_then(|bound| bound["wcrt_ns"].as_u64());
        let expected = 1000 * milliseconds / task["period_us"].as_u64().unwrap_or(1);
        let response = task["response_max_ns"].as_u64();
        if jobs != expected || task["misses"] != 0 || response.is_none() || response > bound {
            fail(&format!("task {} is not as analysed: {bound:?}", task["name"]));
        }
    }
    totals.runs += 1;
    totals.lives += 1 + hostile["restarts"].as_u64().unwrap_or(0);
    totals.exits += hostile["exits"].as_u64().unwrap_or(0);
    let log = String::from_utf8_lossy(&std::fs::read(&log).expect("there is a log")).into_owned();
    totals.stuck += log.lines().filter(|line| line.contains(" stuck vcpu=")).count() as u64;
    for (operations, faults) in lives(&log, seed) {
        totals.operations += operations;
        totals.faults += faults;
    }
}

/// Stands behind P2 of the safety manual.
#[test]
fn no_deadline_is_missed_beside_a_vm_that_executes_anything() {
    let mut totals = Totals::default();
    torture(2, 1000, Time::Deterministic, &mut totals);
    assert!(totals.operations > 5_000 && totals.exits > 5_000 && totals.lives > 1, "{totals:?}");
}

/// `make torture`: SECONDS=3600 from SEED=1.
#[test]
#[ignore = "takes as long as it is told to"]
fn campaign_of_torture() {
    let seconds = campaign("BULKHEAD_SECONDS", 60);
    let first = campaign("BULKHEAD_SEED", 1);
    let start = Instant::now();
    let mut totals = Totals::default();
    for seed in first.. {
        if seed > first && start.elapsed().as_secs() >= seconds {
            break;
        }
        torture(seed, 2000, Time::Deterministic, &mut totals);
        torture(seed, 10_000, Time::Real, &mut totals);
        let elapsed = start.elapsed().as_secs().max(1);
        println!(
            "torture: seed {seed}, {elapsed} s: {} operations ({} an hour), {} exits to the hypervisor, {} faults \
             of its own; the hostile VM lived {} times and was stuck {} times; {} critical jobs in time",
            totals.operations,
            totals.operations * 3600 / elapsed,
            totals.exits,
            totals.faults,
            totals.lives,
            totals.stuck,
            totals.jobs,
        );
    }
}
