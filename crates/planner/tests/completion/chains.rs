//! Chains: their limits decide like deadlines of tasks.

use planner::completion::complete;
use system::plan;
use verdict::Verdict;

use crate::{OPEN, budgets, planned, refused, system, task, vcpu, vm};

/// Two VMs on one PCPU, each with an open budget, and a chain through both; `limit` is a line.
fn text(limit: &str) -> String {
    let open = |name: &str| {
        let vcpu = vcpu(&format!("{OPEN}\npcpu = 1"));
        vm(name, &format!("{vcpu}{}", task("t", "40ms", "\"2ms\"")))
    };
    let chain = format!("[[chain]]\nname = \"way\"\nsteps = [\"a.t\", \"b.t\"]\n{limit}\n");
    format!("platform = \"zcu102\"\n{chain}{}{}", open("a"), open("b"))
}

/// Bounds of the chain with a plan, and all budgets, in us.
fn found(limit: &str) -> (u64, u64) {
    let (system, plan) = planned(&text(limit));
    let verdict = Verdict::of_plan(&plan, Some(&system));
    let reaction = verdict.chains[0].reaction_ns.expect("a bound");
    (reaction / 1_000, budgets(&plan).iter().sum())
}

#[test]
fn a_shorter_limit_needs_larger_budgets() {
    let (free, least) = found("");
    // Twice the periods, and what tasks may take.
    assert!(free > 110_000 && free <= 160_000, "{free}");
    let mut before = (free, least);
    for limit in [130_000, 115_000, 105_000, 100_000] {
        let now = found(&format!("max_reaction = \"{limit}us\""));
        assert!(now.0 <= limit && now.1 >= before.1, "{limit}: {now:?} after {before:?}");
        before = now;
    }
    assert!(before.1 > least, "{before:?} {least}");
    let (age, _) = found("max_age = \"100ms\"");
    assert!(age <= 100_000, "{age}");
}

#[test]
fn a_limit_that_no_plan_keeps_is_refused_at_the_chain() {
    // Less than both periods.
    let errors = refused(&text("max_reaction = \"79ms\""));
    assert!(errors.contains("the reaction of chain `way` can take"), "{errors}");
    assert!(errors.contains("name = \"way\"") && errors.contains("this chain"), "{errors}");
    let advice = errors.split("it fits with a `max_reaction` of ").nth(1).expect(&errors);
    let limit = advice.split(" for chain `way`").next().expect(&errors).replace(' ', "");
    // With this limit a plan is found.
    planned(&text(&format!("max_reaction = \"{limit}\"")));
}

/// Where nothing of its VMs is open, a late chain is not the planner's.
#[test]
fn given_chains_that_are_late_are_left_to_the_analysis() {
    let given = |name: &str| {
        let vcpu = vcpu("server = \"sporadic\"\nperiod = \"10ms\"\nbudget = \"2ms\"\npcpu = 1");
        vm(name, &format!("{vcpu}{}", task("t", "40ms", "\"2ms\"")))
    };
    let other = vm("c", &format!("{}{}", vcpu(OPEN), task("t", "40ms", "\"2ms\"")));
    let chain = "[[chain]]\nname = \"way\"\nsteps = [\"a.t\", \"b.t\"]\nmax_reaction = \"79ms\"\n";
    let text = format!("platform = \"zcu102\"\n{chain}{}{}{other}", given("a"), given("b"));
    let mut open = system(&text);
    complete(&mut open).unwrap_or_else(|refusal| panic!("{refusal:?}"));
    let plan = plan::make(&open).expect("a plan");
    let verdict = Verdict::of_plan(&plan, Some(&open));
    assert!(!verdict.schedulable && verdict.tasks().all(|(_, task)| task.ok));
}
