//! Where `bulkhead plan` finds no plan it says which change would help. Every change that it names
//! is made here: then there is a plan, and with one step less there is none.

use testing::sandbox;
use toml::{Table, Value};

/// Nanoseconds.
type Time = i64;

const MS: Time = 1_000_000;

/// A step of budgets, deadlines and execution times.
const STEP: Time = 1_000;

fn time(text: &str) -> Time {
    let (number, unit) = text.split_once(' ').unwrap_or_else(|| panic!("{text} is no time"));
    let unit = match unit {
        "ns" => 1,
        "us" => 1_000,
        "ms" => MS,
        "s" => 1_000 * MS,
        _ => panic!("{unit}"),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let fraction = format!("{fraction:0<9}").parse::<Time>().expect("decimals") * unit;
    whole.parse::<Time>().expect("a number") * unit + fraction / 1_000_000_000
}

/// What is to be changed by a piece of advice: VM, VCPU and task, by their indices.
#[derive(Clone, Copy)]
struct At {
    vm: usize,
    vcpu: usize,
    task: usize,
}

const FIRST: At = At { vm: 0, vcpu: 0, task: 0 };

fn entry<'a>(system: &'a mut Table, path: &[(&str, usize)]) -> &'a mut Table {
    path.iter().fold(system, |table, (key, index)| {
        table[*key][*index].as_table_mut().expect("an array of tables")
    })
}

fn written(time: Time) -> Value {
    Value::String(format!("{time}ns"))
}

fn read(value: &Value) -> Time {
    let text = value.as_str().expect("a time");
    let unit = text.find(|c: char| c.is_ascii_alphabetic()).expect("a unit");
    time(&format!("{} {}", &text[..unit], &text[unit..]))
}

fn map_wcet(task: &mut Table, map: impl Fn(Time) -> Time) {
    match &mut task["wcet"] {
        Value::Table(times) => times.iter_mut().for_each(|(_, it)| *it = written(map(read(it)))),
        fixed => *fixed = written(map(read(fixed))),
    }
}

/// The number of the VM with this name between `` ` ``.
fn vm_named(system: &Table, text: &str) -> usize {
    let name = text.split('`').nth(1).expect("a name");
    let vms = system["vm"].as_array().expect("VMs");
    vms.iter().position(|vm| vm["name"].as_str() == Some(name)).expect("this VM")
}

fn number(text: &str) -> i64 {
    text.split(|c: char| !c.is_ascii_digit())
        .find(|it| !it.is_empty())
        .expect("one")
        .parse()
        .expect("a number")
}

/// Makes the change that the advice says, or one that is a step less; none if there is none.
fn change(system: &Table, advice: &str, at: At, less: bool) -> Option<Table> {
    let mut changed = system.clone();
    let step = if less { STEP } else { 0 };
    let words: Vec<&str> = advice.split(' ').collect();
    // A VCPU in words, or the one that needs none.
    let vcpu = |of: &str| {
        let vm = if of.contains('`') { vm_named(system, of) } else { at.vm };
        [("vm", vm), ("vcpu", if of.is_empty() { at.vcpu } else { number(of) as usize })]
    };
    let task = [("vm", at.vm), ("task", at.task)];
    if let Some(rest) = advice.strip_prefix("with a budget of ") {
        let (budget, of) = rest.split_once(" for ").unwrap_or((rest, ""));
        let vcpu = entry(&mut changed, &vcpu(of));
        // A smaller one that is a step less small is larger.
        let smaller = time(budget) < read(&vcpu["budget"]);
        let step = if smaller { -step } else { step };
        vcpu.insert("budget".into(), written(time(budget) - step));
    } else if let Some(period) = advice.strip_prefix("with a period of ") {
        let (period, of) = period.split_once(" for ").unwrap_or((period, ""));
        let vcpu = vcpu(of);
        let given = read(&entry(&mut changed, &vcpu)["period"]);
        let part = given / time(period) - i64::from(less);
        if part < 2 {
            return None;
        }
        entry(&mut changed, &vcpu).insert("period".into(), written(given / part / 16 * 16));
    } else if let Some(deadline) = advice.strip_prefix("with a deadline of ") {
        entry(&mut changed, &task).insert("deadline".into(), written(time(deadline) - step));
    } else if advice.starts_with("if it takes ") {
        let shorter = time(&words[3..5].join(" ")) - step;
        map_wcet(entry(&mut changed, &task), |wcet| wcet - shorter);
    } else if advice.starts_with("if the tasks take ") {
        let percent = number(advice) - i64::from(less);
        for vm in 0..system["vm"].as_array().expect("VMs").len() {
            let of_vm = entry(&mut changed, &[("vm", vm)]);
            let tasks = of_vm.get("task").map_or(0, |it| it.as_array().expect("tasks").len());
            for index in 0..tasks {
                let task = entry(&mut changed, &[("vm", vm), ("task", index)]);
                map_wcet(task, |wcet| (wcet * (100 - percent) + 99) / 100);
            }
        }
    } else if advice.contains(" VCPUs in `") {
        let (vm, count) = (vm_named(system, advice), number(advice) as usize - usize::from(less));
        let of_vm = entry(&mut changed, &[("vm", vm)]);
        let vcpus = of_vm["vcpu"].as_array_mut().expect("VCPUs");
        let model = vcpus.last().expect("one").clone();
        vcpus.resize(count, model);
    } else if advice.contains(" fewer for `") {
        let (_, fewer) = advice.split_once('(').expect("how many");
        let donor = entry(&mut changed, &[("vm", vm_named(system, fewer))]);
        let had = donor["colors"].as_str().expect("colours");
        let (first, last) = had.split_once('-').expect("a range");
        let last: i64 = last.parse().expect("a colour");
        let left = last - number(fewer) + i64::from(less);
        donor.insert("colors".into(), Value::String(format!("{first}-{left}")));
    } else {
        // More of the lowest ones that are free: those behind its own.
        let own = entry(&mut changed, &[("vm", at.vm)]);
        let count = number(advice) - i64::from(less);
        own.insert("colors".into(), Value::String(format!("0-{}", count - 1)));
    }
    Some(changed)
}

/// Tries all advice; returns it, piece by piece.
#[track_caller]
fn proven(text: &str, at: At) -> Vec<String> {
    let sandbox = sandbox!();
    let plan = |text: &str| {
        sandbox.write("s.toml", text);
        sandbox.bulkhead(&["plan", "s.toml", "-o", "s.plan.dts"])
    };
    let result = plan(text);
    result.assert_status(1);
    let shown = format!("{}{}", result.stdout, result.stderr);
    let (_, advice) = shown.rsplit_once("it fits ").unwrap_or_else(|| panic!("{shown}"));
    let advice = advice.lines().next().expect("a line").split(", or ");
    let system: Table = text.parse().expect("TOML");
    for advice in advice.clone() {
        let changed = change(&system, advice, at, false).expect("a change").to_string();
        let helped = plan(&changed);
        assert_eq!(
            helped.status,
            Some(0),
            "{advice}: {}\n{}{}",
            changed,
            helped.stdout,
            helped.stderr
        );
        let Some(less) = change(&system, advice, at, true) else { continue };
        let result = plan(&less.to_string());
        assert_eq!(
            result.status,
            Some(1),
            "less than {advice}: {less}\n{}{}",
            result.stdout,
            result.stderr
        );
    }
    advice.map(str::to_owned).collect()
}

/// A system of these VMs, on a board whose overheads are unknown: round numbers.
fn system(vms: &[String]) -> String {
    format!("[platform]\nboard = \"zcu102\"\n{}", vms.concat())
}

fn vm(name: &str, lines: &str) -> String {
    let start = "boot = \"raw\"\nmemory = \"16MiB\"\nkernel = \"rt.bin\"";
    format!("[[vm]]\nname = \"{name}\"\n{start}\n{lines}\n")
}

fn vcpu(lines: &str) -> String {
    format!("[[vm.vcpu]]\nserver = \"sporadic\"\n{lines}\n")
}

fn task(name: &str, period: &str, wcet: &str) -> String {
    format!("[[vm.task]]\nname = \"{name}\"\nperiod = \"{period}\"\nwcet = {wcet}\n")
}

fn kinds(advice: &[String]) -> Vec<&str> {
    let kinds = ["colours", "budget", "period", "deadline", "it takes", "tasks take", "VCPUs"];
    let kind = |advice: &String| *kinds.iter().find(|kind| advice.contains(*kind)).expect("a kind");
    advice.iter().map(kind).collect()
}

/// The example of the first design: late, with too few colours and too little budget.
#[test]
fn more_colours_or_a_larger_budget() {
    let wcet = "{ 1 = \"3ms\", 2 = \"2.5ms\", 4 = \"2ms\" }\ndeadline = \"14ms\"";
    let pid = task("pid", "20ms", wcet);
    let given = vcpu("period = \"5ms\"\nbudget = \"1ms\"");
    let colors = "colors = \"planned\"\n".to_owned();
    let linux = vm("linux", "colors = \"1-15\"");
    let text = system(&[vm("pilot", &(colors + &given + &pid)), linux]);
    let advice = proven(&text, FIRST);
    assert_eq!(kinds(&advice), ["colours", "budget", "deadline", "it takes"], "{advice:?}");
    // As the documentation shows it.
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/planning.md");
    let page = std::fs::read_to_string(page).expect("there is a page");
    let expected = format!("      = help: it fits {}\n", advice.join(", or "));
    assert!(page.contains(&expected), "{expected}");
}

#[test]
fn a_task_that_no_vcpu_has_time_for() {
    let long = task("long", "20ms", "\"12ms\"") + "deadline = \"13ms\"\n";
    let given = vcpu("period = \"5ms\"\nbudget = \"1ms\"").repeat(2);
    let advice = proven(&system(&[vm("a", &(given + &long))]), FIRST);
    assert_eq!(kinds(&advice), ["budget", "it takes"], "{advice:?}");
    assert!(advice[0].contains("for VCPU "), "{advice:?}");
}

/// A whole PCPU is not enough: nothing but less work, later deadlines or other colours helps.
#[test]
fn tasks_that_are_given_to_a_vcpu() {
    let on = "vcpu = 0\n";
    let tasks = task("a", "10ms", "\"5ms\"")
        + on
        + &task("b", "20ms", "\"6ms\"")
        + on
        + "deadline = \"15ms\"\n";
    let open = vcpu("period = \"5ms\"");
    let advice = proven(&system(&[vm("a", &(open + &tasks))]), At { task: 1, ..FIRST });
    assert_eq!(kinds(&advice), ["deadline", "it takes"], "{advice:?}");
}

#[test]
fn tasks_that_do_not_fit_together() {
    let tasks: String = (0..3).map(|i| task(&format!("t{i}"), "10ms", "\"7ms\"")).collect();
    let advice = proven(&system(&[vm("a", &(vcpu("period = \"5ms\"").repeat(2) + &tasks))]), FIRST);
    assert_eq!(kinds(&advice), ["VCPUs", "tasks take"], "{advice:?}");
}

#[test]
fn vms_that_do_not_have_colours_enough() {
    let wcet = "{ 1 = \"9ms\", 6 = \"3ms\" }";
    let one = |name: &str| {
        let short = task("t", "10ms", wcet) + "deadline = \"8ms\"\n";
        vm(name, &("colors = \"planned\"\n".to_owned() + &vcpu("period = \"2ms\"") + &short))
    };
    let linux = vm("linux", "colors = \"7-15\"");
    let advice = proven(&system(&[one("a"), one("b"), linux]), FIRST);
    assert_eq!(kinds(&advice), ["colours", "tasks take"], "{advice:?}");
    assert_eq!(advice[0], "with 12 colours (5 fewer for `linux`)");
}

#[test]
fn memory_that_does_not_fit_into_the_colours_that_are_free() {
    let large = vm("a", "colors = \"planned\"").replace("16MiB", "200MiB");
    let linux = vm("linux", "colors = \"1-15\"");
    let advice = proven(&system(&[large, linux]), FIRST);
    assert_eq!(kinds(&advice), ["colours"], "{advice:?}");
}

#[test]
fn pcpus_that_are_too_few() {
    let open = |i: usize| {
        vm(&format!("v{i}"), &(vcpu("period = \"10ms\"") + &task("t", "40ms", "\"25ms\"")))
    };
    let given = vm("linux", &vcpu("period = \"10ms\"\nbudget = \"6ms\""));
    let vms: Vec<String> = (0..4).map(open).chain([given]).collect();
    let advice = proven(&system(&vms), FIRST);
    assert_eq!(kinds(&advice), ["budget", "tasks take"], "{advice:?}");
    assert!(advice[0].contains("for VCPU 0 of `linux`"), "{advice:?}");
}

/// The budget comes too late in its period for a short deadline.
#[test]
fn a_shorter_period() {
    let tasks = task("quick", "10ms", "\"2ms\"") + "deadline = \"4ms\"\n";
    let more = |i: usize| vm(&format!("v{i}"), &vcpu("period = \"5ms\"\nbudget = \"2ms\"\n"));
    let vms = [vm("a", &(vcpu("period = \"10ms\"") + &tasks)), more(0), more(1), more(2), more(3)];
    let pinned = |(i, vm): (usize, &String)| {
        vm.replace("budget", &format!("pcpu = {}\nbudget", i.saturating_sub(1)))
    };
    let vms: Vec<String> = vms.iter().enumerate().map(pinned).collect();
    let advice = proven(&system(&vms), FIRST);
    assert_eq!(kinds(&advice)[4..], ["period"], "{advice:?}");
}

/// Of descriptions that leave nothing open the same is said by `check`, beside its bounds.
#[test]
fn nothing_is_open() {
    let tasks = task("fast", "10ms", "\"1ms\"") + &task("pid", "20ms", "\"3ms\"");
    let given = vcpu("period = \"5ms\"\nbudget = \"1ms\"");
    let advice = proven(&system(&[vm("a", &(given + &tasks))]), At { task: 1, ..FIRST });
    assert_eq!(kinds(&advice), ["budget", "it takes"], "{advice:?}");

    // With colours that are given, of which there are more.
    let wcet = "{ 1 = \"9ms\", 5 = \"3ms\" }";
    let given = vcpu("period = \"5ms\"\nbudget = \"2ms\"");
    let text = vm("a", &("colors = \"0-1\"\n".to_owned() + &given + &task("t", "20ms", wcet)));
    let advice = proven(&system(&[text]), FIRST);
    assert_eq!(kinds(&advice), ["colours", "budget", "it takes"], "{advice:?}");
}

/// A VCPU that is kept from its budget by one above it.
#[test]
fn a_vcpu_above_that_takes_too_much() {
    let above = vm(
        "above",
        &vcpu("pcpu = 0\nperiod = \"4ms\"\nbudget = \"2ms\"").replace("sporadic", "deferrable"),
    );
    let below = vm(
        "below",
        &(vcpu("pcpu = 0\nperiod = \"6ms\"\nbudget = \"2.5ms\"") + &task("t", "60ms", "\"9ms\"")),
    );
    let advice = proven(&system(&[above, below]), At { vm: 1, ..FIRST });
    assert!(advice.iter().any(|it| it.contains("for VCPU 0 of `above`")), "{advice:?}");
}
