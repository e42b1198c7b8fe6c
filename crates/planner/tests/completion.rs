//! What a description leaves open is decided such that deadlines are met; what it says stays.

#[path = "completion/chains.rs"]
mod chains;
#[path = "completion/explained.rs"]
mod explained;
#[path = "completion/fronts.rs"]
mod fronts;
#[path = "completion/helped.rs"]
mod helped;
#[path = "completion/priorities.rs"]
mod priorities;
#[path = "completion/repaired.rs"]
mod repaired;
#[path = "completion/slack.rs"]
mod slack;

use std::path::Path;

use planner::completion::{Objective, Options, Refusal, complete_with};
use policy::color::ColorSet;
use system::description::System;
use system::plan::{self, Plan};
use verdict::Verdict;

/// Completes it with as little processor time as possible.
fn least(system: &mut System) -> Result<(), Refusal> {
    let options = Options { objective: Objective::LeastTime, ..Options::default() };
    complete_with(system, &options).map(drop)
}

fn system(text: &str) -> System {
    System::from_toml("s.toml", text, Path::new("")).unwrap_or_else(|errors| panic!("{errors}"))
}

/// A raw VM with these lines.
fn vm(name: &str, lines: &str) -> String {
    let start = "boot = \"raw\"\nmemory = \"16MiB\"\nkernel = \"rt.bin\"";
    format!("[[vm]]\nname = \"{name}\"\n{start}\n{lines}\n")
}

fn vcpu(lines: &str) -> String {
    format!("[[vm.vcpu]]\n{lines}\n")
}

fn task(name: &str, period: &str, wcet: &str) -> String {
    format!("[[vm.task]]\nname = \"{name}\"\nperiod = \"{period}\"\nwcet = {wcet}\n")
}

const OPEN: &str = "server = \"sporadic\"\nperiod = \"10ms\"";

/// Completed and planned; all deadlines are met.
#[track_caller]
fn planned(text: &str) -> (System, Plan) {
    let mut system = system(text);
    assert!(system.is_open() && plan::make(&system).is_err(), "nothing is open");
    least(&mut system).unwrap_or_else(|refusal| panic!("{refusal:?}"));
    assert!(!system.is_open());
    let plan = plan::make(&system).unwrap_or_else(|errors| panic!("{errors}"));
    let verdict = Verdict::of_plan(&plan, Some(&system));
    assert!(verdict.schedulable, "{verdict:#?}");
    (system, plan)
}

#[track_caller]
fn refused(text: &str) -> String {
    let mut open = system(text);
    let (Refusal::NoPlan(errors) | Refusal::Input(errors)) = least(&mut open).unwrap_err();
    let errors = errors.to_string();
    assert!(errors.contains("cannot-plan"), "{errors}");
    errors
}

fn budgets(plan: &Plan) -> Vec<u64> {
    let vcpus = plan.vms.iter().flat_map(|vm| &vm.vcpus);
    vcpus.map(|vcpu| vcpu.server.unwrap().class.budget().unwrap().budget.0 / 1_000).collect()
}

fn pcpus(plan: &Plan) -> Vec<u32> {
    plan.vms.iter().flat_map(|vm| &vm.vcpus).map(|vcpu| vcpu.pcpu.0).collect()
}

#[test]
fn a_budget_is_the_least_that_is_enough() {
    let tasks = [task("fast", "20ms", "\"2ms\""), task("slow", "100ms", "\"9ms\"")].concat();
    let text = format!("platform = \"qemu-virt\"\n{}", vm("a", &(vcpu(OPEN) + &tasks)));
    let (_, plan) = planned(&text);
    let budget = budgets(&plan)[0];
    // Less is not enough: alone on its PCPU, the VCPU gets its budget as early as it can.
    let given = text.replace(OPEN, &format!("{OPEN}\nbudget = \"{}us\"", budget - 2));
    let mut system = system(&given);
    assert!(!system.is_open());
    least(&mut system).unwrap();
    let verdict = Verdict::of_plan(&plan::make(&system).unwrap(), Some(&system));
    assert!(!verdict.schedulable, "{budget}");
}

#[test]
fn tasks_and_vcpus_find_their_places() {
    // No two of these tasks fit into one VCPU.
    let tasks: String = (0..3).map(|i| task(&format!("t{i}"), "30ms", "\"16ms\"")).collect();
    let server = "server = \"periodic\"\nperiod = \"5ms\"";
    let text = format!(
        "platform = \"qemu-virt\"\n{}{}{}",
        vm("alone", &vcpu("pcpu = 3")),
        vm("a", &(vcpu(server).repeat(3) + &tasks)),
        vm("b", &(vcpu(&format!("{server}\npcpu = 2")) + &task("only", "50ms", "\"1ms\""))),
    );
    let (system, plan) = planned(&text);
    let mut on: Vec<usize> = system.vms[1].tasks.iter().map(|task| task.vcpu).collect();
    on.sort_unstable();
    assert_eq!(on, [0, 1, 2]);
    assert_eq!(pcpus(&plan)[4], 2, "as it was given");
    // No two of their VCPUs fit onto one PCPU, but one fits beside the small one.
    let mut used = pcpus(&plan).split_off(1);
    used.sort_unstable();
    used.dedup();
    assert_eq!(used.len(), 3, "{:?}", pcpus(&plan));
}

#[test]
fn given_vcpus_and_budgets_stay() {
    let tasks = task("here", "40ms", "\"4ms\"") + "vcpu = 1\n" + &task("there", "40ms", "\"4ms\"");
    let fixed = format!("{OPEN}\nbudget = \"7ms\"\npcpu = 3");
    let text =
        format!("platform = \"qemu-virt\"\n{}", vm("a", &(vcpu(&fixed) + &vcpu(OPEN) + &tasks)));
    let (system, plan) = planned(&text);
    assert_eq!(system.vms[0].tasks[0].vcpu, 1);
    assert_eq!((budgets(&plan)[0], pcpus(&plan)[0]), (7_000, 3));
}

/// `pilot` has a virtual cache, `plain` none, `linux` no tasks.
fn colored(reload: &str) -> String {
    let wcet = "{ 1 = \"8ms\", 2 = \"5ms\", 4 = \"3ms\" }";
    let tasks: String = (0..3).map(|i| task(&format!("t{i}"), "40ms", wcet)).collect();
    let colors = "colors = \"planned\"\n";
    format!(
        "[platform]\nboard = \"qemu-virt\"\nhypervisor_colors = \"15\"\ncolor_reload = \"{reload}\"\n{}{}{}",
        vm("pilot", &(format!("{colors}vllc = true\n") + &vcpu(OPEN) + &vcpu(OPEN) + &tasks)),
        vm("plain", &(colors.to_owned() + &vcpu(OPEN) + &task("only", "40ms", wcet))),
        vm("linux", &(colors.to_owned() + &vcpu(OPEN))),
    )
}

#[test]
fn colors_are_apart_and_belong_to_tasks_where_guests_color() {
    let (system, _) = planned(&colored("100us"));
    let sets: Vec<ColorSet> =
        system.vms.iter().map(|vm| vm.colors.as_ref().unwrap().value).collect();
    let all = sets.iter().fold(ColorSet::EMPTY, |all, &set| {
        assert!(all.is_disjoint(set), "{sets:?}");
        all | set
    });
    assert_eq!(all, ColorSet::first(15), "the last VM has what is left");
    assert!(sets[0].len().is_power_of_two());
    let [pilot, plain, _] = &system.vms[..] else { panic!("{} VMs", system.vms.len()) };
    for task in &pilot.tasks {
        let own = task.colors.as_ref().unwrap().value;
        assert!(!own.is_empty() && own.is_subset(sets[0]));
    }
    let on = |vcpu| {
        let tasks = pilot.tasks.iter().filter(move |task| task.vcpu == vcpu);
        tasks.fold(ColorSet::EMPTY, |all, task| all | task.colors.as_ref().unwrap().value)
    };
    assert!(on(0).is_disjoint(on(1)));
    assert_eq!(plain.tasks[0].colors, None);
}

#[test]
fn memory_needs_colors_too() {
    // 300 of less than 1024 MiB in 16 colours.
    let text = colored("100us");
    let large = text.replacen(
        "name = \"linux\"\nboot = \"raw\"\nmemory = \"16MiB\"",
        "name = \"linux\"\nboot = \"raw\"\nmemory = \"300MiB\"",
        1,
    );
    assert_ne!(text, large);
    let (system, plan) = planned(&large);
    let colors = system.vms[2].colors.as_ref().unwrap().value.len();
    assert!(colors >= 5, "{colors}");
    assert_eq!(plan.vms[2].memory_size().get(), 300 << 20);
}

#[test]
fn the_planner_says_what_would_help() {
    let wcet = "{ 1 = \"18ms\", 8 = \"3ms\" }\ndeadline = \"15ms\"";
    let pilot = |extra: &str, vcpu: &str| {
        vm("pilot", &(extra.to_owned() + vcpu + &task("pid", "20ms", wcet)))
    };
    // All colours but two are taken.
    let others = vm("linux", "colors = \"0-13\"\n");
    let head = "[platform]\nboard = \"qemu-virt\"\n";
    let text = format!("{head}{}{others}", pilot("colors = \"planned\"\n", &vcpu(OPEN)));
    let errors = refused(&text);
    assert!(errors.contains("task `pid` of VM `pilot` is late by 3 ms on VCPU 0"), "{errors}");
    assert!(errors.contains("a whole PCPU and all 2 colours that are free"), "{errors}");
    assert!(errors.contains("it fits with 8 colours"), "{errors}");

    // A budget that is too small for a task whose colours are planned.
    let small = vcpu(&format!("{OPEN}\nbudget = \"1ms\""));
    let errors = refused(&format!("{head}{}", pilot("colors = \"planned\"\n", &small)));
    assert!(errors.contains("with a budget of 1 ms"), "{errors}");
    assert!(errors.contains("it fits with a budget of "), "{errors}");

    // Two of three fit.
    let much: String = (0..3).map(|i| task(&format!("t{i}"), "10ms", "\"9ms\"")).collect();
    let two = vcpu(OPEN).repeat(2);
    let errors = refused(&format!("platform = \"qemu-virt\"\n{}", vm("a", &(two + &much))));
    assert!(errors.contains("no plan was found for the tasks of `a`"), "{errors}");
    assert!(errors.contains("no plan can hold: the tasks of VM `a` need 2.70 of 2"), "{errors}");
    assert!(
        errors.contains("it fits with 3 VCPUs in `a`, or if the tasks take 46 % less"),
        "{errors}"
    );
}

#[test]
fn pcpus_that_are_too_few_are_named() {
    let one = |i: usize| vm(&format!("v{i}"), &(vcpu(OPEN) + &task("t", "40ms", "\"25ms\"")));
    let text: String = (0..5).map(one).collect();
    let errors = refused(&format!("platform = \"qemu-virt\"\n{text}"));
    assert!(errors.contains("no way was found to share 4 PCPUs"), "{errors}");
    assert!(errors.contains("VCPU 0 of `v4` "), "{errors}");
    assert!(errors.contains("no plan can hold: no assignment of 5 VCPUs to 4 PCPUs"), "{errors}");
}

#[test]
fn contradictions_are_refused() {
    let read =
        |text: &str| System::from_toml("s.toml", text, Path::new("")).unwrap_err().to_string();
    let own = task("t", "40ms", "\"1ms\"") + "colors = \"1\"\n";
    let text = vm("a", &("colors = \"planned\"\n".to_owned() + &own));
    let errors = read(&format!("platform = \"qemu-virt\"\n{text}"));
    assert!(errors.contains("the colours of the VM are to be planned"), "{errors}");
    let text = vm("a", "colors = \"planed\"\n");
    assert!(read(&format!("platform = \"qemu-virt\"\n{text}")).contains("`colors`, "), "a typo");
    let text = vm("a", "colors = \"planned\"\n");
    let errors = read(&format!("platform = \"athlon-64-x2\"\n{text}"));
    assert!(errors.contains("`athlon-64-x2` has no colours"), "{errors}");
    // Only VCPUs of the background for a task that is to be planned.
    let two =
        vcpu("server = \"background\"\npcpu = 0") + &vcpu("server = \"background\"\npcpu = 1");
    let text = vm("a", &(two + &task("t", "40ms", "\"1ms\"")));
    let errors = refused(&format!("platform = \"qemu-virt\"\n{text}"));
    assert!(errors.contains("all VCPUs of the VM are of the background"), "{errors}");
}
