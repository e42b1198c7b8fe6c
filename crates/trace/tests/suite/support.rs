//! A simulated system, and its trace.

use policy::server::kind::{BACKGROUND, Kind};
use policy::server::{Parameters, Policy};
use policy::time::{Duration, Instant};
use sim::{Accesses, Execution, Limits, Pcpu, Release, Simulation, System, Task, Vcpu};
use trace::{
    Header, Origin, Planned, Recorder, ServerHeader, TaskHeader, Trace, VcpuHeader, VcpuId,
    VmHeader,
};

/// VCPUs of one PCPU, each of a VM of its own: the server, and for each task period and
/// execution time in nanoseconds.
pub type Vcpus<'a> = &'a [ServerTasks<'a>];
type ServerTasks<'a> = (Policy, &'a [(u64, u64)]);

/// A deferrable, a sporadic, a periodic and a background VCPU, with 1 to 2 tasks each.
pub const ALL_KINDS: Vcpus<'static> = &[
    (reserved(Kind::Deferrable, 2_000, 10_000), &[(20_000, 3_000), (35_000, 1_000)]),
    (reserved(Kind::Sporadic, 3_000, 15_000), &[(15_000, 2_500)]),
    (reserved(Kind::Periodic, 4_000, 20_000), &[(40_000, 3_000)]),
    (Policy::Background, &[(50_000, 10_000)]),
];

pub const fn reserved(kind: Kind, budget: u64, period: u64) -> Policy {
    kind.policy(Parameters {
        budget: Duration(budget),
        period: Duration(period),
        start: Instant(0),
        overrun: Duration::ZERO,
    })
}

pub fn id(vm: usize) -> VcpuId {
    VcpuId { vm: vm as u8, vcpu: 0 }
}

pub fn header(vcpus: Vcpus<'_>) -> Header {
    let vm = |(number, (server, tasks)): (usize, &ServerTasks<'_>)| {
        let (kind, budget_ns, period_ns) = match server.reserved() {
            Some((kind, it)) => (kind.name(), Some(it.budget.0), Some(it.period.0)),
            None => (BACKGROUND, None, None),
        };
        let server = Some(ServerHeader { kind: kind.into(), budget_ns, period_ns });
        let task = |(number, &(period, _)): (usize, &(u64, u64))| TaskHeader {
            name: format!("t{number}"),
            period_ns: None,
            deadline_ns: Some(period),
        };
        let tasks = tasks.iter().enumerate().map(task).collect();
        VmHeader {
            name: format!("vm-{number}"),
            vcpus: vec![VcpuHeader { pcpu: 0, server, tasks }],
        }
    };
    Header {
        name: "test".into(),
        origin: Origin::Simulator,
        frequency_hz: trace::simulation::FREQUENCY_HZ,
        pcpus: 1,
        vms: vcpus.iter().enumerate().map(vm).collect(),
        resources: Vec::new(),
    }
}

pub fn plan(vcpus: Vcpus<'_>) -> Vec<(usize, Vec<Planned>)> {
    let servers = vcpus.iter().enumerate();
    let planned = servers.map(|(vm, &(server, _))| Planned {
        vcpu: id(vm),
        server: Some(server),
        memory: None,
        hold: None,
        may_hold: false,
    });
    vec![(0, planned.collect())]
}

/// The trace file of a simulation of so many nanoseconds.
pub fn simulate(vcpus: Vcpus<'_>, until: u64) -> Vec<u8> {
    let task = |(number, &(period, time)): (usize, &(u64, u64))| Task {
        name: format!("t{number}"),
        offset: 500 * number as u64,
        period,
        deadline: period,
        release: Release::Sporadic { delay_max: period / 10 },
        execution: Execution::Uniform { min: time / 2, max: time },
        accesses: Accesses::None,
    };
    let vcpu = |&(server, tasks): &ServerTasks<'_>| {
        Vcpu::new("", server, tasks.iter().enumerate().map(task).collect())
    };
    let system = System::new(vec![Pcpu { vcpus: vcpus.iter().map(vcpu).collect() }]);
    let ids = vec![(0..vcpus.len()).map(id).collect()];
    let mut recorder = Recorder::new(Vec::new(), &header(vcpus), &ids).expect("a vector takes all");
    let mut simulation = Simulation::new(&system, 7).expect("a possible system");
    let limits = Limits { until, events: u64::MAX };
    simulation.run(limits, &mut recorder).expect("no overload");
    recorder.finish().expect("a vector takes all")
}

pub fn read(file: &[u8]) -> Trace {
    Trace::read(file).expect("a trace")
}
