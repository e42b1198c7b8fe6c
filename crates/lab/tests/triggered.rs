//! Tasks that rings release, simulated: no task responds later than its bound, and no chain takes longer
//! than its bound, whatever rings.

use std::cell::RefCell;
use std::path::Path;

use lab::chains::Watch;
use model::{Assumptions, Execution, Model};
use sim::{Event, Limits, Simulation};
use system::description::System;
use system::plan;
use testing::Random;
use verdict::Verdict;

/// Random systems.
const CASES: u64 = 400;

/// A VM on a server, with a task `t` and others.
fn vm(random: &mut Random, name: &str, release: &str, more: &str) -> String {
    let period = random.of(&[1_000, 2_000, 5_000]);
    let budget = period * random.between(2, 6) / 10;
    let server = random.of(&["deferrable", "periodic", "sporadic"]);
    let wcet = random.between(100, 900);
    let mut text = format!(
        "[[vm]]\nname = \"{name}\"\nboot = \"raw\"\nmemory = \"16MiB\"\nkernel = \"k\"\n\
         [[vm.vcpu]]\npcpu = {}\nserver = \"{server}\"\nbudget = \"{budget}us\"\nperiod = \"{period}us\"\n\
         [[vm.task]]\nname = \"t\"\n{release}\nwcet = \"{wcet}us\"\nbcet = \"{}us\"\ndeadline = \"1s\"\n\
         priority = 2\n{more}\n",
        random.below(2),
        random.between(1, wcet),
    );
    for (task, priority) in [("above", 3), ("below", 1)] {
        if random.one_in(2) {
            let wcet = random.between(50, 400);
            let period = random.of(&[4_000, 7_000, 10_000]);
            text += &format!(
                "[[vm.task]]\nname = \"{task}\"\nperiod = \"{period}us\"\nwcet = \"{wcet}us\"\n\
                 offset = \"{}us\"\ndeadline = \"1s\"\npriority = {priority}\n",
                random.below(5_000)
            );
        }
    }
    text
}

/// A chain of a task that rings, one or two that are released by rings, and perhaps one that is not.
fn drawn(random: &mut Random) -> String {
    let period = random.of(&[10_000, 15_000, 20_000]);
    let mut text = match random.one_in(2) {
        true => "platform = \"qemu-virt\"\n".to_owned(),
        false => "[platform]\nboard = \"qemu-virt\"\n[platform.overheads]\nswitch = \"1ns\"\n\
             tick = \"1ns\"\nkick = \"1ns\"\ninterrupt = \"1ns\"\nexit = \"1ns\"\nconsole = \"1ns\"\n\
             chunk = \"1ns\"\nlock = \"1ns\"\n"
            .to_owned(),
    };
    let mut channel = |name: &str, from: &str, to: &str, random: &mut Random| {
        let every = period / random.of(&[1, 1, 1, 2]);
        let burst = random.between(1, 4);
        text += &format!(
            "[[channel]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = [\"{to}\"]\n\
             ring_every = \"{every}us\"\nring_burst = {burst}\n"
        );
    };
    let second = random.one_in(2);
    channel("one", "a", "b", random);
    if second {
        channel("two", "b", "c", random);
    }
    // Sometimes nobody is said to ring: then as often as the limit lets them.
    let rings = !random.one_in(4);
    let samples = random.one_in(3);
    let mut steps = vec!["\"b.t\""];
    if rings {
        steps.insert(0, "\"a.t\"");
    }
    if second {
        steps.push("\"c.t\"");
    }
    if samples {
        steps.push("\"d.t\"");
    }
    text += &format!("[[chain]]\nname = \"c\"\nsteps = [{}]\n", steps.join(", "));
    let offset = random.below(5_000);
    let release = match random.one_in(4) && rings {
        true => format!("period = \"{period}us\"\nsporadic = true"),
        false => format!("period = \"{period}us\"\noffset = \"{offset}us\""),
    };
    text += &vm(random, "a", &release, if rings { "rings = \"one\"" } else { "" });
    text += &vm(random, "b", "triggered_by = \"one\"", if second { "rings = \"two\"" } else { "" });
    if second {
        text += &vm(random, "c", "triggered_by = \"two\"", "");
    }
    if samples {
        let release = format!("period = \"{}us\"", random.of(&[5_000, 12_000]));
        text += &vm(random, "d", &release, "");
    }
    text
}

/// What was compared.
#[derive(Debug, Default)]
struct Compared {
    tasks: u64,
    chains: u64,
    refused: u64,
    /// The largest share of a bound of a chain that was simulated, in percent.
    nearest: u64,
}

fn compare(text: &str, execution: Execution, seed: u64, all: &mut Compared) {
    let system = System::from_toml("s.toml", text, Path::new(""));
    let system = match system {
        // Drawn budgets can be more than a PCPU has.
        Err(errors) if errors.to_string().contains("are more than its time") => return,
        system => system.unwrap_or_else(|errors| panic!("{errors}\n{text}")),
    };
    let plan = plan::make(&system).unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    let verdict = Verdict::of_plan(&plan, Some(&system));
    let model = Model::new(&plan, Some(&system), &Assumptions { execution, ..Default::default() });
    let mut simulation = Simulation::new(&model.system, seed).expect("a system");
    let key = |vm: usize, name: &str| {
        model.vcpus().filter(|(.., vcpu)| vcpu.vm == vm).find_map(|(pcpu, index, vcpu)| {
            Some((pcpu, index, vcpu.tasks.iter().position(|task| task.name == name)?))
        })
    };
    let watch = RefCell::new(Watch::new(&system, key));
    let mut observer = |at: u64, pcpu: usize, event: Event| match event {
        Event::Release { vcpu, task } => watch.borrow_mut().release(at, &(pcpu, vcpu, task)),
        Event::Complete { vcpu, task, .. } => watch.borrow_mut().complete(at, &(pcpu, vcpu, task)),
        _ => {}
    };
    let limits = Limits { until: 600_000_000, events: u64::MAX };
    // With too much to do jobs pile up, and the simulation ends early.
    let _ = simulation.run(limits, &mut observer);
    let chain = &verdict.chains[0];
    for (pcpu, index, vcpu) in model.vcpus() {
        let found = verdict.pcpus.iter().flat_map(|pcpu| &pcpu.vcpus);
        let found = found.filter(|it| it.vm == vcpu.vm_name && it.vcpu == vcpu.index);
        let judged: Vec<_> = found.flat_map(|it| &it.tasks).collect();
        for (number, task) in vcpu.tasks.iter().enumerate() {
            let judged = judged.iter().find(|it| it.task == task.name).expect("a verdict");
            let Some(bound) = judged.bound_ns() else { continue };
            let found = simulation.task(pcpu, index, number).response_max_ns;
            assert!(found <= bound, "{}.{}: {found} > {bound}\n{text}", vcpu.vm_name, task.name);
            all.tasks += 1;
        }
    }
    let found = watch.borrow().observed()[0];
    for (found, bound) in
        [(found.reaction_max_ns, chain.reaction_ns), (found.age_max_ns, chain.age_ns)]
    {
        let (Some(found), Some(bound)) = (found, bound) else { continue };
        assert!(found <= bound, "the chain took {found} > {bound}\n{chain:#?}\n{text}");
        all.chains += 1;
        all.nearest = all.nearest.max(found * 100 / bound);
    }
    let refused: u64 = (0..model.system.channels.len()).map(|it| simulation.refused(it)).sum();
    if chain.reaction_ns.is_some() {
        assert_eq!(refused, 0, "a chain with a bound counts on all rings\n{text}");
    }
    all.refused += refused;
}

#[test]
fn no_simulated_chain_takes_longer_than_its_bound() {
    let mut all = Compared::default();
    for seed in 0..CASES {
        let text = drawn(&mut Random::new(seed));
        for execution in [Execution::Worst, Execution::Uniform] {
            compare(&text, execution, seed, &mut all);
        }
    }
    println!("{all:?}");
    assert!(all.tasks > CASES && all.chains > CASES / 2, "too few bounds to compare: {all:?}");
    assert!(all.refused > 0, "no limit refused a ring: {all:?}");
    assert!(all.nearest >= 60, "no chain came near its bound: {all:?}");
}
