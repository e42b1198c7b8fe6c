//! Changes that help where the usual ones do not, alone or together.

use system::plan;
use verdict::Verdict;

use super::{least, system, task, vcpu, vm};

const OPEN: &str = "server = \"periodic\"\nperiod = \"10ms\"\npcpu = 0";

/// On a board without overheads: round numbers.
fn head() -> String {
    "platform = \"zcu102\"\n".into()
}

fn help(text: &str) -> String {
    let mut open = system(text);
    let refusal = format!("{:?}", least(&mut open).unwrap_err());
    let (_, help) = refusal.split_once("it fits ").unwrap_or_else(|| panic!("{refusal}"));
    help.split('"').next().unwrap().to_owned()
}

fn holds(text: &str) -> bool {
    least(&mut system(text)).is_ok()
}

/// Returns the time in microseconds behind these words.
fn time(help: &str, before: &str, after: &str) -> u64 {
    let (_, rest) = help.split_once(before).unwrap_or_else(|| panic!("{before}: {help}"));
    let (time, _) = rest.split_once(after).unwrap_or_else(|| panic!("{after}: {help}"));
    let (number, unit) = time.trim().split_once(' ').unwrap();
    let factor = if unit == "ms" { 1_000.0 } else { 1.0 };
    (number.parse::<f64>().unwrap() * factor).round() as u64
}

/// Two PCPUs are too full: no change of one VM empties both.
#[test]
fn two_changes_help_together() {
    let text = |one: u64, three: u64| {
        let of = |name: &str, pcpu: u64, wcet: u64| {
            let server = OPEN.replace("pcpu = 0", &format!("pcpu = {pcpu}"));
            vm(name, &(vcpu(&server) + &task("t", "40ms", &format!("\"{wcet}us\""))))
        };
        let vms = [of("a", 0, one), of("b", 0, 22_000), of("c", 1, three), of("d", 1, 22_000)];
        head() + &vms.concat()
    };
    let help = help(&text(22_000, 22_000));
    let (_, set) = help.split_once(", or ").expect("a set beside the percentage");
    assert!(set.contains(" and "), "{help}");
    let less = |vm: &str| match set.contains(&format!("`t` of `{vm}` takes ")) {
        true => time(set, &format!("`t` of `{vm}` takes "), " less"),
        false => 0,
    };
    let [a, b, c, d] = ["a", "b", "c", "d"].map(less);
    // One of each PCPU, which may be either, because they are alike.
    let (first, second) = (a + b, c + d);
    assert!(first > 0 && second > 0, "{help}");
    assert!(holds(&text(22_000 - first, 22_000 - second)), "{help}");
    assert!(!holds(&text(22_000 - first, 22_000)) && !holds(&text(22_000, 22_000 - second)));
}

/// Sections that delay a task of another VM.
#[test]
fn shorter_sections_help() {
    let text = |percent: u64| {
        let task = |name: &str, wcet: &str, deadline: &str, length: u64| {
            let length = (length * (100 - percent)).div_ceil(100);
            task(name, "40ms", wcet)
                + &format!(
                    "deadline = \"{deadline}\"\nsections = [{{ resource = \"bus\", after = \"1ms\", length = \"{length}us\" }}]\n"
                )
        };
        let resource = "[[resource]]\nname = \"bus\"\nvms = [\"a\", \"b\"]\n";
        let other = OPEN.replace("pcpu = 0", "pcpu = 1");
        format!(
            "{}{resource}{}{}",
            head(),
            vm("a", &(vcpu(OPEN) + &task("one", "\"6ms\"", "12ms", 1_000))),
            vm("b", &(vcpu(&other) + &task("two", "\"26ms\"", "40ms", 7_000))),
        )
    };
    let help = help(&text(0));
    assert!(help.contains("if sections of `bus` take "), "{help}");
    let (_, rest) = help.split_once("if sections of `bus` take ").unwrap();
    let percent: u64 = rest.split(' ').next().unwrap().parse().unwrap();
    assert!(holds(&text(percent)), "{help}");
}

/// 120 tasks: shorter execution times are tried.
#[test]
fn large_systems_get_cheap_advice() {
    let text = |wcet: u64| {
        let of = |index: u64| {
            let tasks: String = (0..30)
                .map(|i| task(&format!("t{i}"), "100ms", &format!("\"{wcet}us\"")))
                .collect();
            vm(&format!("v{index}"), &(vcpu("server = \"sporadic\"\nperiod = \"5ms\"") + &tasks))
        };
        head() + &(0..5).map(of).collect::<String>()
    };
    let help = help(&text(3_000));
    let percent = time(&help.replace(" %", " us"), "if the tasks take ", "less");
    // Two of five VCPUs share a PCPU.
    assert_eq!(percent, 50, "{help}");
    assert!(holds(&text(1_500)) && !holds(&text(2_100)), "a step less does not help");
}

/// What is said of a whole PCPU: a task is named only if it is late on one that has nothing else to
/// do, also where the planner's own model of that is too strict.
#[test]
fn a_task_that_is_said_to_need_more_than_a_pcpu_does() {
    let head = "platform = \"qemu-virt\"\n";
    // That one needs more, whatever else there is: always an obstacle.
    let other = "server = \"periodic\"\nperiod = \"5ms\"";
    let other = vcpu(other) + &task("late", "20ms", "\"12ms\"") + "deadline = \"11ms\"\n";
    let tasks =
        |wcet: u64| task("t", "10ms", &format!("\"{wcet}us\"")) + &task("slow", "40ms", "\"4ms\"");
    let mut said = Vec::new();
    for wcet in [8_900, 9_000] {
        let own = |server: &str| vm("a", &(vcpu(server) + &tasks(wcet)));
        let text = [head, &own("server = \"deferrable\""), &vm("b", &other)].concat();
        let refusal = format!("{:?}", least(&mut system(&text)).unwrap_err());
        let is_named = refusal.contains("of VM `a`");
        // All of a PCPU, as a server and without one.
        let whole = ["10ms", "5ms", "2ms", "1ms"].map(|period| {
            format!(
                "server = \"deferrable\"\nperiod = \"{period}\"\nbudget = \"{period}\"\npcpu = 0"
            )
        });
        let is_enough = whole.iter().any(|server| {
            let given = system(&format!("{head}{}", own(server)));
            let plan = plan::make(&given).unwrap_or_else(|errors| panic!("{errors}"));
            Verdict::of_plan(&plan, Some(&given)).schedulable
        });
        assert!(!(is_named && is_enough), "{wcet}: {refusal}");
        said.push((is_named, is_enough));
    }
    // Both happen, and where a PCPU is not enough that is said.
    assert!(said.iter().any(|it| it.0) && said.iter().any(|it| it.1), "{said:?}");
}
