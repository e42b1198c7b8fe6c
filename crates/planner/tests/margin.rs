//! What is planned is enough for what the hypervisor takes, and for a margin.

use std::path::Path;

use planner::completion::{Objective, Options, Refusal, complete_with};
use system::description::System;
use system::plan::{self, Plan};
use verdict::{Sensitivity, Verdict};

const TASKS: &str = "[[vm.task]]\nname = \"fast\"\nperiod = \"10ms\"\nwcet = \"1ms\"\n\
    [[vm.task]]\nname = \"slow\"\nperiod = \"40ms\"\nwcet = \"6ms\"\n";

/// Completes it with as little processor time as possible.
fn least(system: &mut System) -> Result<(), Refusal> {
    let options = Options { objective: Objective::LeastTime, ..Options::default() };
    complete_with(system, &options).map(drop)
}

fn system(first: &str, board: &str) -> System {
    let vm = |name: &str, server: &str| {
        format!(
            "[[vm]]\nname = \"{name}\"\nboot = \"raw\"\nmemory = \"16MiB\"\nkernel = \"rt.bin\"\n\
             [[vm.vcpu]]\npcpu = 0\nserver = \"{server}\"\nperiod = \"5ms\"\n{TASKS}"
        )
    };
    let [one, two] = [vm("one", "sporadic"), vm("two", "deferrable")];
    let text = format!("{first}platform = \"{board}\"\n{one}{two}");
    System::from_toml("s.toml", &text, Path::new("")).unwrap_or_else(|errors| panic!("{errors}"))
}

fn planned(first: &str, board: &str) -> (System, Plan) {
    let mut system = system(first, board);
    least(&mut system).unwrap_or_else(|refusal| panic!("{refusal:?}"));
    let plan = plan::make(&system).unwrap();
    assert!(Verdict::of_plan(&plan, Some(&system)).schedulable);
    (system, plan)
}

fn budgets((_, plan): &(System, Plan)) -> Vec<u64> {
    let vcpus = plan.vms.iter().flat_map(|vm| &vm.vcpus);
    vcpus.map(|vcpu| vcpu.server.unwrap().class.budget().unwrap().budget.0).collect()
}

#[test]
fn budgets_have_room_for_the_hypervisor() {
    let (without, with) = (planned("", "zcu102"), planned("", "qemu-virt"));
    let (without, with) = (budgets(&without), budgets(&with));
    assert!(with.iter().zip(&without).all(|(with, without)| with > without), "{with:?}");
}

#[test]
fn with_a_margin_execution_times_can_grow() {
    let grows = |(system, plan): &(System, Plan)| Sensitivity::new(system, Some(plan)).all_ppm;
    let (without, with) = (planned("", "qemu-virt"), planned("margin = \"10%\"\n", "qemu-virt"));
    let described = |(system, _): &(System, Plan)| system.vms[0].tasks[0].wcet.longest().0;
    assert_eq!((described(&without), described(&with)), (1_000_000, 1_000_000));
    let (without, with) = (grows(&without).unwrap(), grows(&with).unwrap());
    // Budgets are a little larger than they need be, because they have a grain.
    assert!(without < 20_000, "{without}");
    assert!((100_000..120_000).contains(&with), "{with}");
}

#[test]
fn a_margin_is_a_percentage() {
    for (text, ppm) in [("10%", 100_000), ("0.5 %", 5_000), ("100%", 1_000_000), ("0%", 0)] {
        assert_eq!(system(&format!("margin = \"{text}\"\n"), "zcu102").margin_ppm, ppm);
    }
    for wrong in ["10", "101%", "-1%", "1.23456%", "%", "x%"] {
        let text = format!(
            "margin = \"{wrong}\"\nplatform = \"zcu102\"\n[[vm]]\nname = \"a\"\nboot = \"raw\"\nmemory = \"1MiB\"\nkernel = \"k\"\n"
        );
        let errors = System::from_toml("s.toml", &text, Path::new("")).unwrap_err();
        assert_eq!(errors.entries()[0].code, "wrong-value", "{wrong}");
    }
}
