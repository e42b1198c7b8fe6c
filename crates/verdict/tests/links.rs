//! Bounds of tasks whose VM sends and receives frames by links.

use std::path::Path;

use analysis::overheads::Source;
use system::description::System;
use system::plan;
use verdict::{Part, TaskVerdict, Verdict};

/// Those of `qemu-virt`, in whole ticks of 16 ns.
const TICK: u64 = 16;
const INTERRUPT: u64 = 912;
const EXIT: u64 = 5_008;
const LATE: u64 = 30_000;
/// The kick with one end to bring up to date.
const KICK: u64 = 5_216;
/// A frame of 64 bytes.
const FRAME: u64 = 2 * EXIT;

fn verdict(text: &str) -> Verdict {
    let system = System::from_toml("s.toml", text, Path::new(""));
    let system = system.unwrap_or_else(|errors| panic!("{errors}"));
    Verdict::of_plan(&plan::make(&system).unwrap(), Some(&system))
}

fn task<'v>(verdict: &'v Verdict, name: &str) -> &'v TaskVerdict {
    let mut all = verdict.pcpus.iter().flat_map(|it| &it.vcpus).flat_map(|it| &it.tasks);
    all.find(|task| task.task == name).unwrap()
}

/// The time of a source in the bound of a task.
fn taken(task: &TaskVerdict, source: Source) -> u64 {
    let of = |it: &&verdict::Term| it.term == Part::Overhead(source);
    task.terms.iter().find(of).map_or(0, |it| it.time_ns)
}

/// A link with this limit, or none.
fn link(limit: Option<(u64, u64)>) -> String {
    limit.map_or(String::new(), |(rate, burst)| {
        format!(
            "[[link]]\nname = \"lan\"\nbetween = [\"a\", \"b\"]\nrate = \"{rate}B/s\"\nburst = \"{burst}B\"\n\
             interrupt_every = \"10ms\"\ninterrupt_burst = 1\n"
        )
    })
}

/// Two VMs, each with a PCPU of its own; `a` has a task that executes for `wcet_us` every 100 ms, and one below it.
fn alone(link: &str, wcet_us: u64) -> String {
    let vm = |name: &str, more: &str| {
        format!(
            "[[vm]]\nname = \"{name}\"\nboot = \"raw\"\nmemory = \"16MiB\"\nkernel = \"rt.bin\"\n{more}"
        )
    };
    let tasks = format!(
        "[[vm.task]]\nname = \"t\"\nperiod = \"100ms\"\nwcet = \"{wcet_us}us\"\n\
         [[vm.task]]\nname = \"below\"\nperiod = \"200ms\"\nwcet = \"1ms\"\n"
    );
    format!("platform = \"qemu-virt\"\n{link}{}{}", vm("a", &tasks), vm("b", ""))
}

/// The least window that has room for the job and for everything of EL2, by the definition of the limits and in steps of 1 ns: all frames
/// as short as possible.
fn naive(rate: u64, burst: u64, wcet_us: u64) -> u64 {
    let frames = |window: u64| {
        // A frame that is on its way when the window begins took its tokens before.
        let time = u128::from(window + TICK + LATE);
        let tokens = u128::from(burst) + time * u128::from(rate) / 1_000_000_000;
        (tokens / 64) as u64
    };
    let interrupts = |early: u64, window: u64| 1 + (window + early + LATE) / 10_000_000;
    let demand = |window: u64| {
        let told = interrupts(10_000_000, window) + interrupts(0, window);
        let told = told * (KICK + INTERRUPT);
        let excess = 2 * FRAME;
        1_000 * wcet_us + 2 * INTERRUPT + LATE + excess + told + FRAME * frames(window)
    };
    let mut window = 1;
    while demand(window) > window {
        window = demand(window);
    }
    window
}

#[test]
fn frames_are_counted_as_their_limit_reads() {
    for (rate, burst, wcet) in [
        (1_000, 1_514, 1_000),
        (100_000, 1_514, 2_000),
        (100_000, 65_536, 500),
        (1_000_000, 4_096, 20_000),
        (2_000_003, 2_000, 7_777),
    ] {
        let verdict = verdict(&alone(&link(Some((rate, burst))), wcet));
        let (bound, expected) = (task(&verdict, "t").wcrt_ns.unwrap(), naive(rate, burst, wcet));
        // Rounded up to whole ns, once.
        assert!(
            (expected..=expected + 2 * FRAME).contains(&bound),
            "{bound} {expected} {rate} {burst}"
        );
        let sum: u64 = task(&verdict, "t").terms.iter().map(|it| it.time_ns).sum();
        assert_eq!(sum, bound);
    }
}

#[test]
fn bounds_grow_with_the_limit_of_a_link() {
    let rates = [1_000, 50_000, 100_000, 1_000_000, 2_000_000];
    let bursts = [1_514, 2_048, 16_384, 65_536];
    let bound = |limit: Option<(u64, u64)>| {
        task(&verdict(&alone(&link(limit), 2_000)), "t").wcrt_ns.unwrap()
    };
    let without = bound(None);
    for burst in bursts {
        let bounds = rates.map(|rate| bound(Some((rate, burst))));
        assert!(bounds.is_sorted(), "{bounds:?}");
        // What the burst alone needs.
        assert!(bounds[0] > without + burst / 64 * FRAME, "{bounds:?}");
    }
    for rate in rates {
        let bounds = bursts.map(|burst| bound(Some((rate, burst))));
        assert!(bounds.is_sorted_by(|one, other| one < other), "{bounds:?}");
    }
    // More than all of the time.
    let verdict = verdict(&alone(&link(Some((10_000_000, 1_514))), 2_000));
    assert_eq!(task(&verdict, "t").wcrt_ns, None);
    assert!(!verdict.schedulable);
}

/// For VMs without links nothing changes.
#[test]
fn a_task_counts_each_link_of_its_vm() {
    let other =
        "[[link]]\nname = \"wan\"\nbetween = [\"a\", \"b\"]\nrate = \"1kB/s\"\nburst = \"4096B\"\n";
    let of = |links: &str| {
        let third = "[[vm]]\nname = \"c\"\nboot = \"raw\"\nmemory = \"16MiB\"\nkernel = \"rt.bin\"\n\
                     [[vm.task]]\nname = \"third\"\nperiod = \"100ms\"\nwcet = \"1ms\"\n";
        verdict(&format!("{}{third}", alone(links, 1_000)))
    };
    let one = link(Some((1_000, 1_514)));
    let (none, one, two) = (of(""), of(&one), of(&format!("{one}{other}")));
    for name in ["t", "below"] {
        let frames = |verdict: &Verdict| taken(task(verdict, name), Source::Frame);
        assert_eq!(frames(&none), 0);
        assert!(frames(&one) >= 23 * FRAME + 2 * FRAME, "{name}");
        assert!(frames(&two) >= frames(&one) + 64 * FRAME, "{name}");
    }
    assert_eq!(taken(task(&two, "third"), Source::Frame), 0);
}

/// A task below may have sent too much while a job waited, each time.
#[test]
fn a_job_that_waits_finds_frames_that_are_dropped() {
    let of = |limit: Option<(u64, u64)>, more: &str| {
        let text = alone(&link(limit), 1_000);
        let text = text.replacen("wcet = \"1000us\"\n", &format!("wcet = \"1000us\"\n{more}"), 1);
        let verdict = verdict(&text);
        let calls = task(&verdict, "t").terms.iter().find(|it| it.term == Part::OverheadJob);
        calls.map_or(0, |it| it.time_ns)
    };
    let suspends = "self_suspension = \"1ms\"\n";
    assert_eq!(of(Some((1_000, 1_514)), ""), 0);
    // The kicks of a link are longer, too, of which three can come meanwhile.
    let kicks = 3 * (KICK - 2_512);
    let more = of(Some((1_000, 1_514)), suspends) - of(None, suspends);
    assert!((2 * FRAME + kicks..=2 * FRAME + kicks + 100).contains(&more), "{more}");
}

/// A task below may have sent too much when a job gets its resource: that is in its section, once, beside what the limit lets through.
#[test]
fn a_section_finds_frames_that_are_dropped() {
    let of = |limit: Option<(u64, u64)>| {
        let head =
            "section_overhead = \"2ms\"\n[[resource]]\nname = \"bus\"\nvms = [\"a\", \"b\"]\n";
        let section = "sections = [{ resource = \"bus\", after = \"10us\", length = \"10us\" }]\n";
        let other =
            format!("[[vm.task]]\nname = \"other\"\nperiod = \"100ms\"\nwcet = \"1ms\"\n{section}");
        let text = alone(&link(limit), 1_000).replacen('\n', &format!("\n{head}"), 1);
        let text =
            text.replacen("wcet = \"1000us\"\n", &format!("wcet = \"1000us\"\n{section}"), 1);
        let verdict = verdict(&(text + &other));
        let calls = task(&verdict, "t").terms.iter().find(|it| it.term == Part::OverheadJob);
        calls.map_or(0, |it| it.time_ns)
    };
    let more = of(Some((1_000, 1_514))) - of(None);
    // What the limit lets through in the section, interrupts and kicks.
    const REST: u64 = 410_976;
    // Frames that are dropped: where the job waits for the resource, and in its section.
    assert_eq!(more, REST + 2 * 2 * FRAME);
}

/// What Coq is told of the VCPU has the frames, as events and once.
#[test]
fn certificates_have_the_frames() {
    let of = |limit: Option<(u64, u64)>| {
        let system = System::from_toml("s.toml", &alone(&link(limit), 1_000), Path::new(""));
        let (system, plan) = (system.as_ref().unwrap(), plan::make(system.as_ref().unwrap()));
        let plan = plan.unwrap();
        let verdict = Verdict::of_plan(&plan, Some(system));
        let vcpu = verdict.certificates(&plan, system).into_iter().find(|it| it.vm == "a");
        let vcpu = vcpu.expect("it has tasks");
        let bounds = vcpu.tasks.iter().map(|it| it.bound.clone().expect("a bound"));
        let sources = vcpu.sources.iter().map(|it| (it.cost, it.spacing, it.early));
        (vcpu.once, sources.collect::<Vec<_>>(), bounds.collect::<Vec<_>>())
    };
    let (none, some) = (of(None), of(Some((100_000, 4_096))));
    assert_eq!(some.0, none.0 + 2 * FRAME);
    let early = 40_960_000 - 640_000 + TICK + LATE + 1;
    assert!(some.1.contains(&(FRAME, 640_000, early)), "{:?}", some.1);
    assert!(some.2[0] > none.2[0] && some.2[1] > none.2[1]);
}
