//! The memory accesses of a described system, and the delays that they cause a VCPU.

use std::collections::{BTreeMap, BTreeSet};

use analysis::Duration;
use analysis::memory::{
    Bus, Contention, Curve, Interferer, Reservation, Source, Throttle, compensation, interferers,
};
use policy::bandwidth::overshoot;
use policy::pace::{CONSOLE_PER_SECOND, KICKS_MAX};
use system::description::{self, System};
use system::plan::{self, CounterSource, MemoryBudget, OnEvent};

/// The longest time for which the end of a period goes unnoticed: the longest path of the
/// hypervisor, which has less than 30,000 instructions.
const UNNOTICED: Duration = Duration(50_000);

/// The memory accesses of a system.
pub(crate) struct Accesses<'a> {
    system: &'a System,
    bus: Bus,
    /// All sources of accesses, in the order of the VMs.
    sources: Vec<Named<'a>>,
    /// The accesses of the hypervisor for the console.
    console: Option<Source>,
    crowd: Crowd,
    /// The most accesses that load one colour of the cache again.
    reload: u64,
}

/// A source of accesses, with its VM.
struct Named<'a> {
    vm: &'a description::Vm,
    /// The source for critical VMs, and for others.
    sources: [Source; 2],
}

/// The memory accesses of the tasks of a VCPU.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub(crate) struct OfVcpu {
    bus: Option<Bus>,
    /// Maximum number of accesses of a job of each task, in their order.
    pub accesses: Vec<Option<u64>>,
    /// The most accesses that load one colour of the cache again.
    pub reload: u64,
    interferers: Vec<Interferer>,
    /// Its own budget.
    pub throttle: Option<Throttle>,
    /// Names of VMs on other PCPUs without a limit.
    pub unlimited: Vec<String>,
    /// True if it has a limit, and others are on its PCPU.
    pub limited_beside_others: bool,
}

impl<'a> Accesses<'a> {
    /// Makes the accesses of a system; `None` if the system does not describe any: execution times
    /// then include their delays.
    pub fn new(system: &'a System, vcpus: &[&[plan::Vcpu]]) -> Option<Self> {
        let mut tasks = system.vms.iter().flat_map(|vm| &vm.tasks);
        let counts = system.counts_accesses() || tasks.any(|task| task.accesses.is_some());
        counts.then(|| Self::known(system, vcpus))
    }

    /// Makes the accesses of a system in which they are counted.
    pub fn known(system: &'a System, vcpus: &[&[plan::Vcpu]]) -> Self {
        let platform = &system.platform.value;
        let counter = platform.bandwidth.as_ref();
        let latency = counter.and_then(|counter| counter.latency);
        let pcpus = platform.cpus.len() as u64;
        // An access may wait for one of each PCPU before it is served. Also, each task may be
        // preempted while one of its accesses waits, and may continue to wait for that access
        // afterwards.
        let tasks = system.vms.iter().map(|vm| vm.tasks.len() as u64).max().unwrap_or(0);
        let served = latency.map_or(0, |latency| latency.0.saturating_mul(pcpus + 1 + tasks));
        let lines = (0..system.vms.len()).map(|vm| system.ends_of(vm)).max().unwrap_or(0);
        let bus = Bus {
            latency: latency.unwrap_or_default(),
            overshoot: overshoot::ANY.with_lines(lines).most(KICKS_MAX),
            lateness: Duration(UNNOTICED.max(late(system)).0.saturating_add(served)),
            in_flight: 1,
        };
        let crowd = Crowd::new(vcpus);
        let named = |(vm, vcpus): (&'a description::Vm, &&[plan::Vcpu])| {
            sources(system, vm, vcpus, &bus, &crowd)
        };
        let sources = match latency {
            Some(_) => system.vms.iter().zip(vcpus).flat_map(named).collect(),
            None => Vec::new(),
        };
        let console = console(system, vcpus, &bus);
        Self { system, bus, sources, console, crowd, reload: reload(system) }
    }

    /// Returns how accesses delay each other, if the platform states it.
    pub fn bus(&self) -> Option<Bus> {
        (self.bus.latency > Duration(0)).then_some(self.bus)
    }

    /// Returns all sources of accesses except these VMs, for the VM with this index.
    pub fn seen_by(&self, vm: usize, without: &[usize]) -> impl Iterator<Item = Source> {
        let view = self.view(vm);
        let without: Vec<_> = without.iter().filter_map(|vm| self.system.vms.get(*vm)).collect();
        let is_seen = move |it: &&Named<'_>| !without.iter().any(|vm| std::ptr::eq(*vm, it.vm));
        let seen = self.sources.iter().filter(is_seen).map(move |it| &it.sources[view]);
        seen.chain(&self.console).cloned()
    }

    /// Returns the maximum number of accesses of the VCPUs of a VM beyond its budget, in total.
    pub fn overshoot(&self, vm: usize, vcpus: &[plan::Vcpu]) -> u64 {
        let Some(vm) = self.system.vms.get(vm) else { return 0 };
        overshoot(self.system, vm, vcpus, &self.crowd)
    }

    fn view(&self, vm: usize) -> usize {
        usize::from(self.system.vms.get(vm).is_none_or(|vm| vm.critical.is_none()))
    }

    /// Returns the accesses of the tasks of a VCPU, in the order of their priorities.
    pub fn of(&self, vm: usize, tasks: &[&description::Task], vcpu: &plan::Vcpu) -> OfVcpu {
        let Some(described) = self.system.vms.get(vm) else { return OfVcpu::default() };
        let view = self.view(vm);
        let own = vcpu.pcpu.0;
        let elsewhere =
            |source: &Source| source.limit.is_none() && source.pcpus.iter().any(|it| *it != own);
        let unlimited = self.sources.iter().filter(|it| elsewhere(&it.sources[view]));
        let mut unlimited: Vec<String> = unlimited.map(|it| it.vm.name.value.clone()).collect();
        unlimited.dedup();
        let sources = self.sources.iter().map(|it| &it.sources[view]).chain(&self.console);
        let overshoot = overshoot(self.system, described, &[*vcpu], &self.crowd);
        OfVcpu {
            bus: Some(Bus { overshoot, ..self.bus }),
            accesses: tasks.iter().map(|task| Some(task.accesses.as_ref()?.value)).collect(),
            reload: self.reload,
            interferers: interferers(sources, own),
            throttle: throttle(self.system, described, vcpu),
            unlimited,
            limited_beside_others: is_limited(self.system, described, vcpu)
                && !self.crowd.has_for_itself(vcpu),
        }
    }
}

impl OfVcpu {
    /// Returns the contention for the analysis; `None` if no accesses are counted.
    pub fn contention(&self) -> Option<Contention<'_>> {
        Some(Contention {
            bus: self.bus?,
            accesses: &self.accesses,
            reload: self.reload,
            interferers: &self.interferers,
            throttle: self.throttle,
        })
    }
}

/// Returns the sources of a VM.
fn sources<'a>(
    system: &System,
    vm: &'a description::Vm,
    vcpus: &[plan::Vcpu],
    bus: &Bus,
    crowd: &Crowd,
) -> Vec<Named<'a>> {
    let limited = |budget: Option<MemoryBudget>, vcpus: &[plan::Vcpu]| {
        let pcpus: BTreeSet<u32> = vcpus.iter().map(|vcpu| vcpu.pcpu.0).collect();
        // Each PCPU can have accesses on their way.
        let overshoot = overshoot(system, vm, vcpus, crowd);
        let bus = Bus { overshoot, in_flight: bus.in_flight * pcpus.len() as u64, ..*bus };
        let n = vm.compensation.as_ref().map_or(1, |it| it.value.periods);
        let reservation = budget.and_then(|budget| reservation(system, budget));
        let of = |curve: fn(&Reservation, &Bus, u32) -> Curve| Source {
            pcpus: pcpus.clone(),
            limit: reservation.map(|reservation| curve(&reservation, &bus, n)),
        };
        let sources = [of(compensation::with_compensation), of(compensation::for_others)];
        Named { vm, sources }
    };
    match shared(system, vm) {
        Some(budget) => vec![limited(Some(budget), vcpus)],
        None => {
            let alone = vcpus.iter().map(std::slice::from_ref);
            alone.map(|vcpu| limited(vcpu[0].memory_budget, vcpu)).collect()
        }
    }
}

/// Returns the accesses of the hypervisor for the console, on the PCPU that serves it. VCPUs there pay for a part of them,
/// and nobody for the rest.
fn console(system: &System, vcpus: &[&[plan::Vcpu]], bus: &Bus) -> Option<Source> {
    let platform = &system.platform.value;
    let is_known = platform.boot.is_ok() && bus.latency > Duration(0);
    let used = |pcpu| vcpus.iter().copied().flatten().any(|vcpu| vcpu.pcpu.0 == pcpu);
    let period = Duration(1_000_000_000 / CONSOLE_PER_SECOND);
    // The UART, its timer, and VMs that begin a line; and the UART once before.
    let each = Reservation::new(3 * overshoot::CONSOLE, period).ok().filter(|_| is_known)?;
    let bus = Bus { overshoot: overshoot::CONSOLE, ..*bus };
    let pcpus = BTreeSet::from([plan::console(platform.cpus.len(), used)]);
    Some(Source { pcpus, limit: Some(Curve::new(&each, &bus)) })
}

/// The number of VCPUs of each PCPU.
#[derive(Debug)]
struct Crowd(BTreeMap<u32, usize>);

impl Crowd {
    fn new(vcpus: &[&[plan::Vcpu]]) -> Self {
        let mut all = BTreeMap::new();
        for vcpu in vcpus.iter().copied().flatten() {
            *all.entry(vcpu.pcpu.0).or_default() += 1;
        }
        Self(all)
    }

    fn has_for_itself(&self, vcpu: &plan::Vcpu) -> bool {
        self.0.get(&vcpu.pcpu.0).is_some_and(|vcpus| *vcpus == 1)
    }
}

/// Returns the maximum number of accesses of the VCPUs of a VM beyond their budget, in total: each
/// VCPU can be stopped late.
fn overshoot(system: &System, vm: &description::Vm, vcpus: &[plan::Vcpu], crowd: &Crowd) -> u64 {
    let index = system.vms.iter().position(|it| std::ptr::eq(it, vm));
    // What a VM sends by a link is long work, too.
    let is_simple = vm.extra.is_none()
        && index.is_none_or(|vm| system.links_of(vm).next().is_none())
        && [vm.lifecycle.on_crash, vm.lifecycle.on_reset]
            .iter()
            .all(|event| *event == OnEvent::Stop);
    let is_together =
        shared(system, vm).is_some() || system.vms.iter().any(|vm| vm.critical.is_some());
    let lines = index.map_or(0, |vm| system.ends_of(vm));
    let of = |vcpu: &plan::Vcpu| {
        if !crowd.has_for_itself(vcpu) {
            return overshoot::ANY;
        }
        // If the planner is to find the budget, it is a budget of the VM.
        let is_own = vcpu.memory_budget.is_some() && !is_together;
        let alone = if is_own { overshoot::ALONE } else { overshoot::TOGETHER };
        if is_simple { alone } else { alone.with_long_paths() }
    };
    // Without a server or sections the VCPU keeps its PCPU while it waits, and the hypervisor does
    // nothing for that.
    let waits = |vcpu: &plan::Vcpu| {
        vcpu.server.is_some() || vcpu.hold > Duration(0) || !crowd.has_for_itself(vcpu)
    };
    let most =
        |vcpu| of(vcpu).with_lines(lines).most(if waits(vcpu) { vm.interrupts_max() } else { 0 });
    let all: u64 = vcpus.iter().map(most).sum();
    // A loaded line counts once, and evicted lines do not count.
    let counter = system.platform.value.bandwidth.as_ref();
    let refills = counter.is_some_and(|counter| counter.source == CounterSource::REFILLS);
    let all = if refills { all / 2 } else { all };
    // Under KVM a VCPU executes until a signal has stopped it, which takes as long as a tick.
    let latency = counter.and_then(|counter| counter.latency).filter(|it| *it > Duration(0));
    let late = latency.map_or(0, |latency| late(system).0.div_ceil(latency.0));
    all.max(late.saturating_mul(vcpus.len() as u64))
}

/// Returns the time by which Linux notices the end of a period or of a limit late, as far as the platform states it.
fn late(system: &System) -> Duration {
    let platform = &system.platform.value;
    let overheads = platform.overheads.as_ref().filter(|_| platform.kvm);
    overheads.map_or(Duration(0), |it| it.tick)
}

fn is_limited(system: &System, vm: &description::Vm, vcpu: &plan::Vcpu) -> bool {
    vcpu.memory_budget.is_some() || shared(system, vm).is_some()
}

/// Returns the budget that the VCPUs of a VM share, if there is one.
fn shared(system: &System, vm: &description::Vm) -> Option<MemoryBudget> {
    vm.bandwidth.as_ref()?.budget(system.platform.value.bandwidth.as_ref()?)
}

/// Returns a budget as a limit on accesses; `None` if the counter counts something else.
fn reservation(system: &System, budget: MemoryBudget) -> Option<Reservation> {
    let counter = system.platform.value.bandwidth.as_ref()?;
    let counts = counter.source.counts_memory();
    counts.then(|| Reservation::new(budget.accesses, budget.period).ok())?
}

/// Returns the budget for which the VCPU itself has to wait.
fn throttle(system: &System, vm: &description::Vm, vcpu: &plan::Vcpu) -> Option<Throttle> {
    let shared = shared(system, vm);
    let budget = shared.or(vcpu.memory_budget)?;
    let alone = shared.is_none() || vm.vcpus.len() == 1;
    let own = reservation(system, budget).filter(|_| alone);
    Some(own.map_or(Throttle::Shared, Throttle::Own))
}

/// Returns the number of lines of a colour that are loaded, and as many that are written back.
fn reload(system: &System) -> u64 {
    let platform = &system.platform.value;
    let (Ok(geometry), Some(counter)) = (platform.colors(), &platform.bandwidth) else { return 0 };
    let colors = u64::from(geometry.colors()).max(1);
    let line = counter.access.map_or(1, |access| access.get()).max(1);
    2 * (geometry.cache().bytes() / colors).div_ceil(line)
}
