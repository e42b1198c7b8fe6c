//! The tools and the hypervisor read plans with code of their own: the two accept the same plans and refuse the same
//! ones, but for rules that one side has on purpose.

mod broken;
mod values;

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use crate::both::{Exception, HYPERVISOR_ONLY, TOOLS_ONLY, Verdict};
use broken::Node;
use hypervisor::plan::Tree;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use system::description::System;
use system::plan::{self, CounterSource, Locks, Plan, Vm};

/// Random plans besides those of `systems`.
const RANDOM: usize = 40;

/// The plans of the examples that leave nothing to the planner, and random ones.
fn plans() -> Vec<(String, Plan)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../systems");
    let mut plans = Vec::new();
    for entry in std::fs::read_dir(&folder).expect("the examples") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|it| it != "toml") {
            continue;
        }
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).expect("text");
        let system = System::from_toml(&name, &text, &folder);
        let system = system.unwrap_or_else(|errors| panic!("{errors}"));
        plans.extend(plan::make(&system).ok().map(|plan| (name, plan)));
    }
    plans.sort_by(|one, other| one.0.cmp(&other.0));
    assert!(plans.len() >= 8, "only {} examples have plans", plans.len());
    let mut runner = TestRunner::deterministic();
    for index in 0..RANDOM {
        let plan = crate::support::plan().new_tree(&mut runner).expect("a plan").current();
        plans.push((format!("random {index}"), plan));
    }
    plans
}

type Mistake = (&'static str, fn(&mut Plan));

/// Mistakes that are more than one change of the tree.
const MISTAKES: [Mistake; 5] = [
    ("locks without ceilings", |plan| plan.locks = Locks::Mpcp),
    ("virtual caches", |plan| plan.vms.iter_mut().for_each(|vm| vm.vllc = true)),
    ("no virtual caches", |plan| plan.vms.iter_mut().for_each(|vm| vm.vllc = false)),
    ("nine VCPUs", |plan| plan.vms[0].vcpus = vec![plan.vms[0].vcpus[0]; 9]),
    ("nine VMs", |plan| {
        let vm = plan.vms.remove(0);
        plan.vms = (0..9).map(|index| Vm { name: format!("vm{index}"), ..vm.clone() }).collect();
    }),
];

#[test]
fn good_plans_mean_the_same_to_both() {
    for (name, plan) in plans() {
        let tree = plan.to_dtb();
        let verdict = crate::both::read("nothing", &tree);
        assert!(matches!(verdict, Verdict::Good), "{name}: {verdict:?}\n{}", plan.to_dts());
        let tree = Tree::new(&tree).expect("a tree");
        let read = hypervisor::plan::read(tree, crate::both::FREQUENCY).expect("a plan");
        println!("{name}");
        values::compare(&plan, &read);
    }
}

#[test]
fn broken_plans_are_refused_by_both_or_an_exception_says_why() {
    let _ = both_refuse(1);
}

/// Differences can hide in plans that another change of the same kind does not reach.
#[test]
fn plans_broken_in_several_places_are_refused_by_both() {
    let used = both_refuse(3);
    for rule in TOOLS_ONLY.iter().chain(&HYPERVISOR_ONLY) {
        assert!(used.iter().any(|it| std::ptr::eq(*it, rule)), "not needed any more: {rule:?}");
    }
}

/// Makes each change of one property of a kind of nodes in this number of plans. Returns the exceptions that both readers need.
fn both_refuse(times: usize) -> Vec<&'static Exception> {
    let (mut counts, mut differences) = (HashMap::new(), BTreeMap::new());
    let mut used: Vec<&'static Exception> = Vec::new();
    let (mut trees, mut refused) = (0, 0);
    for (name, plan) in plans() {
        let tree = plan.to_dtb();
        let tree = Node::of(Tree::new(&tree).expect("a tree").root());
        let mut broken = tree.broken(times, &mut counts);
        broken.extend(MISTAKES.map(|(what, change)| {
            let mut plan = plan.clone();
            change(&mut plan);
            (what.to_owned(), plan.to_dtb())
        }));
        for (change, tree) in broken {
            trees += 1;
            match crate::both::read(&change, &tree) {
                Verdict::Good => {}
                Verdict::Bad => refused += 1,
                Verdict::Exception(rules) => used.extend(rules),
                Verdict::Differ(text) => drop(differences.insert(text, name.clone())),
            }
        }
    }
    assert!(trees > 1000 && refused > trees / 2, "{refused} of {trees} are refused by both");
    let texts: Vec<String> =
        differences.iter().map(|(text, plan)| format!("{plan}: {text}")).collect();
    assert!(texts.is_empty(), "{} of {trees}:\n{}", texts.len(), texts.join("\n"));
    used
}

#[test]
fn both_know_which_events_are_accesses_to_memory() {
    let counts = |plan: &Plan| plan.platform.bandwidth_counter.is_some();
    let mut plan = plans().into_iter().map(|it| it.1).find(counts).expect("a plan with a counter");
    for event in 0..=0xff {
        let counter = plan.platform.bandwidth_counter.as_mut().expect("a counter");
        counter.source = CounterSource::Pmu { event };
        let tree = plan.to_dtb();
        let tree = Tree::new(&tree).expect("a tree");
        let read = hypervisor::plan::read(tree, crate::both::FREQUENCY).expect("a plan");
        values::compare(&plan, &read);
    }
}
