//! The default: execution times can grow.

use planner::completion::{Objective, Options, complete, complete_with};
use system::description::System;
use system::plan;
use verdict::{Sensitivity, Verdict};

use super::{OPEN, budgets, system, task, vcpu, vm};

fn slack(system: &System) -> u64 {
    let plan = plan::make(system).unwrap();
    assert!(Verdict::of_plan(&plan, Some(system)).schedulable);
    Sensitivity::new(system, Some(&plan)).all_ppm.unwrap_or(0)
}

/// Two VMs, of which the first needs more, with these lines at the top.
fn two(top: &str, more: &str) -> String {
    let tasks = task("fast", "20ms", "\"2ms\"") + &task("slow", "100ms", "\"19ms\"");
    format!(
        "{top}platform = \"qemu-virt\"\n{}{}{more}",
        vm("a", &(vcpu(&format!("{OPEN}\npcpu = 0")) + &tasks)),
        vm("b", &(vcpu(&format!("{OPEN}\npcpu = 0")) + &task("only", "40ms", "\"4ms\""))),
    )
}

fn completed(text: &str, objective: Objective) -> System {
    let mut system = system(text);
    let options = Options { objective, ..Options::default() };
    complete_with(&mut system, &options).unwrap_or_else(|refusal| panic!("{refusal:?}"));
    system
}

#[test]
fn by_default_execution_times_can_grow() {
    let least = slack(&completed(&two("", ""), Objective::LeastTime));
    let mut default = system(&two("", ""));
    complete(&mut default).unwrap();
    assert!(least < 20_000, "{least}");
    // The tasks need 40 % of the PCPU.
    assert!(slack(&default) > 700_000, "{}", slack(&default));
    let default = plan::make(&default).unwrap();
    let asked = completed(&two("", ""), Objective::MostSlack);
    let named = completed(&two("objective = \"most-slack\"\n", ""), Objective::Described);
    for same in [asked, named] {
        assert_eq!(plan::make(&same).unwrap(), default);
    }
}

#[test]
fn a_description_names_its_objective() {
    let named = completed(&two("objective = \"least-time\"\n", ""), Objective::Described);
    let asked = completed(&two("", ""), Objective::LeastTime);
    assert_eq!(plan::make(&named).unwrap(), plan::make(&asked).unwrap());
    // What is asked for counts more.
    let asked = completed(&two("objective = \"least-time\"\n", ""), Objective::MostSlack);
    assert!(slack(&asked) > slack(&named) + 500_000);
}

#[test]
fn half_of_what_tasks_do_not_need_is_left_to_the_background() {
    let background = vm("linux", &vcpu("server = \"background\"\npcpu = 0"));
    // Of a period of 10 ms, in millionths.
    let share = |system: &System| -> u64 {
        let vcpus = system.vms.iter().flat_map(|vm| &vm.vcpus);
        let budgets = vcpus.filter_map(|vcpu| vcpu.server.as_ref()?.class.value.budget());
        budgets.map(|it| it.budget.0 / 10).sum()
    };
    let text = two("", &background);
    let least = share(&completed(&text, Objective::LeastTime));
    let default = share(&completed(&text, Objective::Described));
    // Tasks need 39 %.
    assert!(default > least && (685_000..=705_000).contains(&default), "{least} {default}");
    assert!(share(&completed(&two("", ""), Objective::Described)) > 980_000);
}

/// One PCPU is enough for all of them.
#[test]
fn vcpus_go_apart_for_slack() {
    let one = |index: u64| vm(&format!("v{index}"), &(vcpu(OPEN) + &task("t", "40ms", "\"3ms\"")));
    let text = format!("platform = \"zcu102\"\n{}", (0..4).map(one).collect::<String>());
    let pcpus = |system: &System| {
        let vcpus = system.vms.iter().flat_map(|vm| &vm.vcpus);
        let mut used: Vec<u64> = vcpus.map(|it| it.pcpu.as_ref().unwrap().value).collect();
        used.sort_unstable();
        used.dedup();
        used.len()
    };
    let packed = completed(&text, Objective::FewestPcpus);
    let default = completed(&text, Objective::Described);
    assert!(pcpus(&packed) < 4 && pcpus(&default) == 4, "{} {}", pcpus(&packed), pcpus(&default));
    // Each needs a thirteenth of a PCPU.
    assert!(slack(&default) > 10_000_000, "{}", slack(&default));
}

/// Limits are as large as a slack of a tenth allows, and never nothing.
#[test]
fn limits_leave_some_slack() {
    let text = |deadline: &str| {
        let task = format!(
            "critical = true\n[[vm.task]]\nname = \"control\"\nperiod = \"40ms\"\n\
             deadline = \"{deadline}\"\nwcet = \"10ms\"\naccesses = 1_000_000"
        );
        format!(
            "[platform]\nboard = \"qemu-virt\"\n[platform.bandwidth]\naccess_latency = \"64ns\"\n{}{}",
            vm("rt", &task),
            vm("linux", "bandwidth = \"planned\"")
        )
    };
    let limit =
        |system: &System| plan::make(system).unwrap().vms[1].memory_budget.unwrap().accesses;
    for (deadline, expected) in [("20ms", 95_000..=105_000), ("12ms", 42_000..=52_000)] {
        let (least, default) = (
            completed(&text(deadline), Objective::LeastTime),
            completed(&text(deadline), Objective::Described),
        );
        assert!(slack(&least) < 2_000, "{deadline}: {}", slack(&least));
        let grows = slack(&default);
        assert!(expected.contains(&grows), "{deadline}: {grows}");
        assert!(limit(&default) < limit(&least));
        assert!(limit(&default) > limit(&least) / 3, "{}", limit(&default));
        // One access more, and it is less than the target.
        let mut more = default.clone();
        let limit = more.vms[1].bandwidth.as_mut().unwrap();
        let accesses = limit.budget(default.platform.value.bandwidth.as_ref().unwrap()).unwrap();
        limit.amount.value = system::description::Amount::Accesses(accesses.accesses + 20);
        assert!(slack(&more) < grows);
    }
}

/// A task that nothing helps does not keep the others from having slack.
#[test]
fn what_is_given_and_late_keeps_nobody_from_slack() {
    let late = vm(
        "late",
        &(vcpu("server = \"sporadic\"\nperiod = \"10ms\"\nbudget = \"1ms\"\npcpu = 1")
            + &task("t", "40ms", "\"20ms\"")),
    );
    let mut system = system(&two("", &late));
    complete(&mut system).unwrap();
    let plan = plan::make(&system).unwrap();
    assert!(!Verdict::of_plan(&plan, Some(&system)).schedulable);
    let open: u64 = budgets(&plan)[..2].iter().sum();
    assert!(open > 9_500, "{open}");
}

/// The name of a VM that is not there, and one that has no open limit.
#[test]
fn objectives_of_vms_are_checked() {
    let read = |objective: &str| {
        let text = two(&format!("objective = \"{objective}\"\n"), "");
        System::from_toml("s.toml", &text, std::path::Path::new(""))
    };
    let error = read("most-bandwidth=c").unwrap_err().to_string();
    assert!(error.contains("there is no VM `c`") && error.contains("`a`, `b`"), "{error}");
    assert!(read("fast").unwrap_err().to_string().contains("`fast` is no objective"));
    let mut closed = read("most-bandwidth=a").unwrap();
    let error = format!("{:?}", complete(&mut closed).unwrap_err());
    assert!(error.contains("no limit of memory accesses of VM `a`"), "{error}");
}
