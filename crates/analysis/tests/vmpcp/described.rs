//! Small systems, in ticks, as all tests here take them.

use analysis::vmpcp::{Analyzer, Bounds, Host, Protocol, Section, System, Task, Variant, Vcpu};
use analysis::{Duration, Kind, Server};

/// A resource or none, and a length.
pub type Segment = (Option<usize>, u64);

/// A task: segments in their order, a period, and a deadline, which need not be met.
#[derive(Clone, Debug)]
pub struct OneTask {
    pub segments: Vec<Segment>,
    pub period: u64,
    pub deadline: u64,
}

/// A VCPU: with its server, and its tasks, the highest first.
#[derive(Clone, Debug)]
pub struct OneVcpu {
    pub pcpu: usize,
    /// A larger one goes first.
    pub priority: u32,
    pub kind: Kind,
    pub budget: u64,
    pub period: u64,
    pub overrun: bool,
    pub tasks: Vec<OneTask>,
}

/// VCPUs, PCPU by PCPU, the highest of each first.
#[derive(Clone, Debug)]
pub struct Described {
    pub vcpus: Vec<OneVcpu>,
    pub protocol: Protocol,
}

pub fn normal(length: u64) -> Segment {
    (None, length)
}

pub fn section(resource: usize, length: u64) -> Segment {
    (Some(resource), length)
}

/// Its deadline is its period.
pub fn task(segments: &[Segment], period: u64) -> OneTask {
    OneTask { segments: segments.to_vec(), period, deadline: period }
}

impl OneTask {
    pub fn wcet(&self) -> u64 {
        self.segments.iter().map(|segment| segment.1).sum()
    }

    /// Critical sections: resource and length.
    pub fn sections(&self) -> impl Iterator<Item = (usize, u64)> {
        self.segments.iter().filter_map(|(resource, length)| Some(((*resource)?, *length)))
    }
}

impl Described {
    /// Returns true if tasks of several VCPUs use a resource.
    pub fn is_global(&self, resource: usize) -> bool {
        let uses = |vcpu: &&OneVcpu| {
            vcpu.tasks.iter().flat_map(OneTask::sections).any(|(it, _)| it == resource)
        };
        self.vcpus.iter().filter(uses).count() > 1
    }

    pub fn system(&self) -> System {
        self.system_with(|_| false)
    }

    /// The same where the hypervisor keeps the mutexes of all resources that are global.
    pub fn system_of_vms(&self) -> System {
        self.system_with(|resource| self.is_global(resource))
    }

    fn system_with(&self, inter_vm: impl Fn(usize) -> bool) -> System {
        let mut pcpus: Vec<Vec<Vcpu>> = Vec::new();
        for vcpu in &self.vcpus {
            pcpus.resize_with(pcpus.len().max(vcpu.pcpu + 1), Vec::new);
            let tasks = vcpu.tasks.iter().map(|it| Task {
                task: analysis::Task::new(Duration(it.wcet()), Duration(it.period))
                    .and_then(|task| task.with_deadline(Duration(it.deadline)))
                    .expect("a task"),
                sections: it
                    .sections()
                    .map(|(resource, length)| Section {
                        resource,
                        length: Duration(length),
                        inter_vm: inter_vm(resource),
                    })
                    .collect(),
            });
            let tasks = tasks.collect();
            pcpus[vcpu.pcpu].push(Vcpu { priority: vcpu.priority, tasks });
        }
        System::new(&pcpus).expect("a system")
    }

    pub fn hosts(&self) -> Vec<Host> {
        let host = |vcpu: &OneVcpu| {
            let server = Server::new(vcpu.kind, Duration(vcpu.budget), Duration(vcpu.period));
            Host::new(server.expect("a server"), vcpu.overrun)
        };
        self.vcpus.iter().map(host).collect()
    }

    pub fn bounds(&self, variant: Variant) -> Bounds {
        Analyzer::new(variant, self.protocol).response_times(&self.system(), &self.hosts())
    }

    /// The bounds of all tasks, if all VCPUs and tasks have one.
    pub fn all_bounds(&self, variant: Variant) -> Option<Vec<u64>> {
        let bounds = self.bounds(variant);
        let servers = bounds.servers.iter().all(Result::is_ok);
        times(&bounds).into_iter().collect::<Option<Vec<u64>>>().filter(|_| servers)
    }
}

/// Of tasks that have a bound.
pub fn times(bounds: &Bounds) -> Vec<Option<u64>> {
    bounds.tasks.iter().map(|bound| bound.map(|bound| bound.time.0).ok()).collect()
}
