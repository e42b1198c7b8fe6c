//! A proof as `bulkhead prove` makes it, of a rover with four VMs; and others that ask more of the
//! page.

mod runs;
mod system;

use report::proof::{
    Chain, ChainTimes, Check, Checked, Command, Decision, Fact, File, Lane, Origin, Owner,
    Platform, Proof, Span, Theorem, Theorems, Unproved,
};

use runs::{cache, run, traffic};
use system::{tasks, vms};

const MS: u64 = 1_000_000;

/// The rover: not schedulable without isolation, and everything holds with its plan.
pub fn rover() -> Proof {
    let (without, with) = (true, false);
    Proof {
        measured: false,
        name: "rover".into(),
        holds: true,
        failures: Vec::new(),
        notes: vec!["Times are those of the cache model, not of a chip.".into()],
        platform: Platform {
            name: "qemu-virt".into(),
            pcpus: 4,
            llc_bytes: Some(1 << 20),
            llc_ways: Some(16),
            colors: Some(16),
            hypervisor_colors: vec![15],
        },
        vms: vms(),
        decisions: vec![Decision {
            name: "the limit of `linux`".into(),
            value: "1000 accesses in 1 ms".into(),
            trials: vec!["with 1001: task `terrain` of `drive` is late by 36 ns".into()],
        }],
        tasks: tasks(),
        chains: vec![chain()],
        theorems: Some(theorems()),
        check_without: Check {
            schedulable: Some(false),
            notes: vec!["Nothing limits the memory accesses of `linux` and `noise`.".into()],
        },
        check_with: Check {
            schedulable: Some(true),
            notes: vec!["Sporadic releases, fully preemptive tasks.".into()],
        },
        simulation: Some(run(with, None)),
        without: Some(run(without, Some(cache(without)))),
        with: Some(run(with, Some(cache(with)))),
        traffic: traffic(),
        origin: origin(),
    }
}

/// From the map to the wheels.
fn chain() -> Chain {
    let times = |ms: u64| ChainTimes { reaction_ns: Some(ms * MS), age_ns: Some(ms * MS) };
    Chain {
        name: "follow".into(),
        steps: vec!["nav.locate".into(), "drive.wheels".into()],
        max_reaction_ns: Some(80 * MS),
        bounds_with: times(70),
        simulated: times(60),
        without: times(65),
        with: times(61),
        ..Chain::default()
    }
}

/// The rover with names that want to leave their place.
pub fn hostile() -> Proof {
    let mut proof = rover();
    let evil =
        "</title><script>document.title='owned'</script><img src=x onerror=alert(1)>\"'&\u{202e}";
    proof.name = evil.into();
    proof.notes = vec![evil.into(), "x".repeat(5_000)];
    proof.failures = vec![evil.into()];
    proof.platform.name = evil.into();
    proof.check_without.notes = vec![evil.into()];
    for vm in &mut proof.vms {
        (vm.name, vm.guest) = (evil.into(), evil.into());
        vm.vcpus.iter_mut().for_each(|vcpu| vcpu.server = Some(evil.into()));
    }
    for task in &mut proof.tasks {
        task.name = evil.into();
        task.reason_without = Some(evil.into());
        task.terms.iter_mut().for_each(|term| term.name = evil.into());
    }
    for chain in &mut proof.chains {
        (chain.name, chain.steps) = (evil.into(), vec![evil.into(); 3]);
    }
    for run in [&mut proof.simulation, &mut proof.without, &mut proof.with].into_iter().flatten() {
        run.notes = vec![evil.into()];
        run.sections.iter_mut().for_each(|it| it.resource = evil.into());
        run.vms.iter_mut().for_each(|it| it.state = evil.into());
        let caches = run.cache.iter_mut().flat_map(|cache| &mut cache.owners);
        caches.for_each(|owner| owner.name = evil.into());
        if let Some(line) = &mut run.timeline {
            line.reason = evil.into();
            for lane in &mut line.lanes {
                lane.name = evil.into();
                lane.spans.iter_mut().for_each(|span| span.label = evil.into());
                lane.marks.iter_mut().for_each(|mark| mark.label = evil.into());
            }
        }
    }
    for command in &mut proof.origin.commands {
        (command.purpose, command.line) = (evil.into(), evil.into());
    }
    for file in &mut proof.origin.files {
        (file.purpose, file.name, file.sha256) = (evil.into(), evil.into(), evil.into());
    }
    for fact in &mut proof.origin.facts {
        (fact.name, fact.value) = (evil.into(), evil.into());
    }
    proof
}

/// The rover with a plan that does not hold: a response above its bound, a missed deadline, an
/// overdrawn budget, an eviction across VMs.
pub fn broken() -> Proof {
    let mut proof = rover();
    proof.holds = false;
    proof.failures = vec!["`drive/0 slow` took longer than its bound.".into()];
    if let Some(with) = &mut proof.tasks[2].with {
        (with.max_ns, with.missed) = (Some(6 * MS), 1);
    }
    if let Some(cache) = proof.with.as_mut().and_then(|run| run.cache.as_mut()) {
        cache.evictions[1][2] = 1;
    }
    proof.traffic[0].with_accesses[9] = 100_000;
    proof
}

/// More of everything than a page can show.
pub fn huge() -> Proof {
    let mut proof = rover();
    let task = proof.tasks[0].clone();
    proof.tasks.resize(2_000, task);
    let vm = proof.vms[0].clone();
    proof.vms.resize(100, vm);
    let traffic = proof.traffic[0].clone();
    proof.traffic.resize(100, traffic);
    for traffic in &mut proof.traffic {
        traffic.with_accesses = (0..100_000).map(|it| it % 9_000).collect();
        traffic.throttled_windows = (0..100_000).step_by(7).collect();
    }
    let line = proof.with.as_mut().and_then(|run| run.timeline.as_mut());
    if let Some(line) = line {
        let span = |at: i64| Span {
            time_ns: at * 1_000..at * 1_000 + 500,
            label: "x".repeat(300),
            ..Span::default()
        };
        line.window_ns = 0..1_000_000;
        let lane = Lane { spans: (0..1_000).map(span).collect(), ..Lane::default() };
        line.lanes = vec![lane; 100];
    }
    if let Some(cache) = proof.with.as_mut().and_then(|run| run.cache.as_mut()) {
        let owner = Owner { accesses_by_color: vec![5; 4_096], ..cache.owners[1].clone() };
        cache.owners = vec![owner; 200];
        cache.evictions = vec![vec![1; 200]; 200];
    }
    proof
}

fn origin() -> Origin {
    let command =
        |purpose: &str, line: &str| Command { purpose: purpose.into(), line: line.into() };
    let fact = |name: &str, value: &str| Fact { name: name.into(), value: value.into() };
    let file = |purpose: &str, name: &str| File {
        purpose: purpose.into(),
        name: name.into(),
        sha256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08".into(),
    };
    Origin {
        commands: vec![
            command("All of it", "bulkhead prove systems/rover.toml -o build/demo"),
            command("The plan", "bulkhead plan systems/rover.toml -o build/demo/with.plan.dts"),
        ],
        files: vec![
            file("description", "systems/rover.toml"),
            file("trace of the run with the plan", "build/demo/with.trace"),
        ],
        facts: vec![fact("Bulkhead", "0.1.0"), fact("QEMU", "10.0.2")],
    }
}

/// One bound is a theorem, and one is not.
fn theorems() -> Theorems {
    Theorems {
        folder: "build/demo/certificate".into(),
        bounds: vec![Theorem {
            vm: "drive".into(),
            vcpu: 0,
            task: "wheels".into(),
            file: "vm_drive_0.v".into(),
            theorem: "bound_of_wheels".into(),
            response_ns: 154_796,
            hypotheses: vec!["the VCPU has its budget".into()],
        }],
        without: vec![Unproved {
            vm: "drive".into(),
            vcpu: 0,
            task: "slip".into(),
            reason: "it waits for memory accesses of other PCPUs".into(),
        }],
        checked: Checked::By { version: "8.16.1".into(), earlier: false },
    }
}
