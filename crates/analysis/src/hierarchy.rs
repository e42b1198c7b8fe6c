//! Both levels together: PCPUs with VCPUs, and VCPUs with tasks.

use crate::response::{Analyzer, Response, Workload};
use crate::supply::{ServerSupply, Supply};
use crate::window::Stream;
use crate::{Caches, Duration, Failure, Limits, Server, Task, vcpu};

/// A VCPU of a PCPU. Its priority is its place in a slice of VCPUs: the first one has the highest
/// priority, those without server come last.
#[derive(Clone, Copy, Debug)]
pub struct Vcpu<'a> {
    /// Server with which the VCPU shares the PCPU; `None`: the VCPU gets the time that those above
    /// it leave, which is all of the PCPU if there is no other.
    pub server: Option<Server>,
    /// Its tasks, the one with the highest priority first.
    pub tasks: &'a [Task],
    /// The colours of the tasks, if they evict lines of each other.
    pub caches: Option<Caches<'a>>,
}

impl<'a> Vcpu<'a> {
    /// A VCPU with a server whose tasks evict no lines of each other.
    pub fn new(server: Server, tasks: &'a [Task]) -> Self {
        Self { server: Some(server), tasks, caches: None }
    }

    fn workload<'s>(&self, supply: Supply<'s>) -> Workload<'s>
    where
        'a: 's,
    {
        Workload { caches: self.caches, ..Workload::new(self.tasks).with_supply(supply) }
    }
}

/// The first VCPU or task that fails.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Unmet {
    /// A VCPU does not get its budget in each period.
    #[error("VCPU {}: {}", .0.task(), .0)]
    Vcpu(Failure),
    /// A task does not meet its deadline.
    #[error("VCPU {vcpu}: {failure}")]
    Task {
        /// The VCPU, by its place.
        vcpu: usize,
        /// The failure.
        failure: Failure,
    },
}

/// Bounds for a VCPU and its tasks.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct VcpuResponses {
    /// Longest time until the VCPU has its budget, from the start of a period or of its waiting;
    /// `None` without server.
    pub server: Option<Result<Duration, Failure>>,
    /// Bounds for the tasks, in their order.
    pub tasks: Vec<Result<Response, Failure>>,
}

/// Analyses PCPUs, without allocating memory for each.
#[derive(Clone, Debug, Default)]
pub struct PcpuAnalyzer {
    tasks: Analyzer,
    streams: Vec<Stream>,
    servers: Vec<Server>,
}

impl PcpuAnalyzer {
    /// Makes an analyzer with these limits for each VCPU.
    pub fn new(limits: Limits) -> Self {
        Self { tasks: Analyzer::new(limits), ..Self::default() }
    }

    /// Checks that all VCPUs of a PCPU get their budgets and all their tasks meet their deadlines;
    /// returns the first failure if not.
    pub fn schedulable(&mut self, vcpus: &[Vcpu<'_>]) -> Result<(), Unmet> {
        self.collect(vcpus);
        let Self { tasks, streams, servers } = self;
        let mut answer = Ok(());
        let mut place = 0;
        vcpu::each(streams, servers, Duration(0), |response| {
            let vcpu = place;
            place += 1;
            answer = response.map_err(Unmet::Vcpu).and_then(|response| {
                let Some(workload) = with_server(&vcpus[vcpu], response) else { return Ok(()) };
                tasks.schedulable(&workload).map_err(|failure| Unmet::Task { vcpu, failure })
            });
            answer.is_ok()
        });
        answer?;
        for (vcpu, it) in vcpus.iter().enumerate().skip(servers.len()) {
            let answer = match vcpu == servers.len() {
                true => tasks.schedulable(&it.workload(Supply::Leftover(servers))),
                false if it.tasks.is_empty() => Ok(()),
                false => Err(Failure::NoSupply { task: 0 }),
            };
            answer.map_err(|failure| Unmet::Task { vcpu, failure })?;
        }
        Ok(())
    }

    /// Returns bounds for all VCPUs of a PCPU and their tasks, in their order.
    pub fn response_times(&mut self, vcpus: &[Vcpu<'_>]) -> Vec<VcpuResponses> {
        self.collect(vcpus);
        let responses = vcpu::response_times(&self.servers);
        let mut all = Vec::with_capacity(vcpus.len());
        for (place, vcpu) in vcpus.iter().enumerate() {
            let server = responses.get(place).copied();
            let workload = match server {
                Some(Ok(response)) => with_server(vcpu, response),
                Some(Err(_)) => None,
                None if place == self.servers.len() => {
                    Some(vcpu.workload(Supply::Leftover(&self.servers)))
                }
                None => None,
            };
            let mut bounds = Vec::new();
            match workload {
                Some(workload) => self.tasks.response_times(&workload, &mut bounds),
                None => {
                    bounds.extend((0..vcpu.tasks.len()).map(|task| Err(Failure::NoSupply { task })))
                }
            }
            all.push(VcpuResponses { server, tasks: bounds });
        }
        all
    }

    fn collect(&mut self, vcpus: &[Vcpu<'_>]) {
        self.servers.clear();
        self.servers.extend(vcpus.iter().map_while(|vcpu| vcpu.server));
    }
}

/// Returns the tasks of a VCPU whose server has this response time.
fn with_server<'a>(vcpu: &Vcpu<'a>, response: Duration) -> Option<Workload<'a>> {
    let supply = ServerSupply::with_response(vcpu.server?, response)?;
    Some(vcpu.workload(Supply::Server(supply)))
}
