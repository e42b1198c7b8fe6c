//! Tasks that rings release, and their chains, by hand.

use std::path::Path;

use analysis::Reason;
use system::description::System;
use system::plan;
use verdict::{TaskVerdict, Verdict};

const MS: u64 = 1_000_000;

/// A writer with a task every 10 ms that takes 2 ms, and a reader whose task takes `wcet` ms, on PCPUs of
/// their own.
fn described(rings: &str, wcet: u64, more: &str) -> Verdict {
    let vm = |name: &str, task: &str| {
        format!(
            "[[vm]]\nname = \"{name}\"\nboot = \"raw\"\nmemory = \"16MiB\"\nkernel = \"k\"\n\
             [[vm.task]]\nname = \"t\"\npriority = 2\n{task}\n"
        )
    };
    let text = format!(
        "platform = \"i7-2600\"\n[[channel]]\nname = \"pose\"\nfrom = \"a\"\nto = [\"b\"]\n{rings}\n\
         [[chain]]\nname = \"c\"\nsteps = [\"a.t\", \"b.t\"]\nmax_reaction = \"14ms\"\n{}{}{more}",
        vm("a", "period = \"10ms\"\nwcet = \"2ms\"\nrings = \"pose\""),
        vm("b", &format!("triggered_by = \"pose\"\nwcet = \"{wcet}ms\"\ndeadline = \"100ms\"")),
    );
    let system = System::from_toml("s.toml", &text, Path::new(""));
    let system = system.unwrap_or_else(|errors| panic!("{errors}"));
    Verdict::of_description(&system, &plan::assign(&system).expect("places"))
}

fn reader(verdict: &Verdict, name: &str) -> TaskVerdict {
    let mut tasks = verdict.tasks().filter(|(vcpu, _)| vcpu.vm == "b");
    tasks.find(|(_, task)| task.task == name).expect("a task").1.clone()
}

/// All jobs that the limit lets pass at once wait for each other.
#[test]
fn a_burst_is_released_at_once() {
    let task = |burst: u64, wcet: u64| {
        let verdict = described(&format!("ring_every = \"10ms\"\nring_burst = {burst}"), wcet, "");
        reader(&verdict, "t")
    };
    assert_eq!(task(1, 3).wcrt_ns, Some(3 * MS));
    assert_eq!(task(2, 3).wcrt_ns, Some(6 * MS));
    assert_eq!(task(4, 3).wcrt_ns, Some(12 * MS));
    let judged = task(2, 3);
    assert_eq!((judged.period_ns, judged.triggered_by.as_deref()), (10 * MS, Some("pose")));
    // A window of two jobs, and no jitter: the response counts from the ring.
    assert_eq!(judged.jobs, Some(2));
    assert_eq!(judged.terms.iter().map(|term| term.time_ns).sum::<u64>(), 6 * MS);
}

/// A task below has to wait for a burst, and for what comes then.
#[test]
fn others_wait_for_bursts() {
    let below = "[[vm.task]]\nname = \"below\"\nperiod = \"50ms\"\nwcet = \"3ms\"\npriority = 1\n";
    let wait = |burst: u64| {
        let rings = format!("ring_every = \"10ms\"\nring_burst = {burst}");
        reader(&described(&rings, 2, below), "below").wcrt_ns
    };
    assert_eq!([1, 2, 3, 4].map(wait), [Some(5 * MS), Some(7 * MS), Some(9 * MS), Some(13 * MS)]);
}

#[test]
fn a_chain_adds_the_response_from_the_ring() {
    let verdict = described("ring_every = \"10ms\"", 1, "");
    let chain = &verdict.chains[0];
    assert_eq!((chain.reaction_ns, chain.age_ns), (Some(14 * MS), Some(14 * MS)));
    assert_eq!(chain.steps[1].wait_ns, 0);
    assert!(chain.ok && verdict.schedulable);
    let late = described("ring_every = \"10ms\"\nring_burst = 3", 1, "");
    assert_eq!((late.chains[0].reaction_ns, late.schedulable), (Some(15 * MS), false));
}

/// A chain does not count on rings that the limit can refuse.
#[test]
fn a_chain_needs_all_rings() {
    for rings in
        ["ring_every = \"10ms\"\nring_burst = 1", "ring_every = \"10100us\"\nring_burst = 9"]
    {
        let verdict = described(rings, 1, "");
        let chain = &verdict.chains[0];
        assert_eq!((chain.refused_step, chain.reaction_ns, chain.ok), (Some(0), None, false));
        let why = chain.why().expect("a reason");
        assert!(why.contains("rings of its step `a.t` can be refused"), "{why}");
        // The task itself has a bound.
        assert!(reader(&verdict, "t").ok);
    }
}

/// More rings than the task can answer on average.
#[test]
fn an_overload_is_said() {
    let verdict = described("ring_every = \"10ms\"", 11, "");
    let (vcpu, task) = verdict.tasks().find(|(vcpu, _)| vcpu.vm == "b").expect("the reader");
    assert_eq!((task.wcrt_ns, task.failure, task.ok), (None, Some(Reason::Overload), false));
    let why = vcpu.why_no_bound(task);
    assert!(why.contains("rings for channel `pose` come as often as `ring_every` allows"), "{why}");
    let chain = &verdict.chains[0];
    assert_eq!((chain.unbounded_step, chain.reaction_ns), (Some(1), None));
}
