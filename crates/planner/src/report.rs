//! The guarantees of a plan, and the use of the PCPUs' time. Field names carry their units; `ppm`
//! are millionths of a PCPU.

use policy::color::{Color, ColorSet};
use serde::Serialize;
use system::description::{System, Vm};
use verdict::{PcpuVerdict, TaskVerdict, VcpuVerdict, Verdict};

/// A whole PCPU.
const WHOLE: u64 = 1_000_000;

/// Tasks, VCPUs and PCPUs of a plan.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Share of all VCPUs together.
    pub total_ppm: u64,
    /// The protocol of locks, if tasks have critical sections.
    pub locks: Option<&'static str>,
    /// All tasks.
    pub tasks: Vec<Task>,
    /// All VCPUs.
    pub vcpus: Vec<Vcpu>,
    /// The PCPUs on which a VCPU runs.
    pub pcpus: Vec<Pcpu>,
}

/// A task.
#[derive(Debug, Serialize)]
pub struct Task {
    /// Name of its VM.
    pub vm: String,
    /// Index of its VCPU in the VM.
    pub vcpu: usize,
    /// Name of the task.
    pub task: String,
    /// `C`, with its colours.
    pub wcet_ns: u64,
    /// `T`.
    pub period_ns: u64,
    /// `D`.
    pub deadline_ns: u64,
    /// `R`, if there is a bound.
    pub wcrt_ns: Option<u64>,
    /// `D - R`: negative if it can be late.
    pub slack_ns: Option<i64>,
    /// True if the analysis guarantees the deadline.
    pub ok: bool,
    /// Colours of the machine: its own or those of its VM; none if that has all of the cache.
    pub colors: Option<Vec<usize>>,
    /// These colours as a guest with a virtual cache sees them.
    pub guest_colors: Option<Vec<usize>>,
}

/// A VCPU.
#[derive(Debug, Serialize)]
pub struct Vcpu {
    /// Index of its PCPU.
    pub pcpu: u32,
    /// Name of its VM.
    pub vm: String,
    /// Its index in the VM.
    pub vcpu: usize,
    /// Class of the server; `None` if the VCPU has a PCPU of its own.
    pub server: Option<&'static str>,
    /// `C`.
    pub budget_ns: Option<u64>,
    /// `T`.
    pub period_ns: Option<u64>,
    /// Its priority on the PCPU, if it was given, or decided; a larger number is a higher one. None
    /// where the shorter period goes first.
    pub priority: Option<u64>,
    /// Time beyond the budget in each period, in global critical sections only; 0 without overrun.
    pub overrun_ns: u64,
    /// `C / T`; none in the background, which gets the rest.
    pub supply_ppm: Option<u64>,
    /// Share that its tasks need, with the cache lines that they load again (vCache, Eq. 4).
    pub tasks_ppm: u64,
    /// The longest time without supply.
    pub blackout_ns: Option<u64>,
    /// True if the VCPU gets its budget in each period.
    pub ok: bool,
}

/// The use of the time of a PCPU.
#[derive(Debug, Serialize)]
pub struct Pcpu {
    /// Index of the PCPU.
    pub pcpu: u32,
    /// Share of all VCPUs.
    pub load_ppm: u64,
    /// Execution times of tasks.
    pub execution_ppm: u64,
    /// Share for loading cache lines again after preemptions.
    pub cache_ppm: u64,
    /// Share that VCPUs with tasks have beyond their tasks' needs, to meet deadlines.
    pub margin_ppm: u64,
    /// Share of VCPUs without tasks.
    pub other_ppm: u64,
    /// Share that no VCPU has, less the needs of tasks in the background.
    pub free_ppm: u64,
}

impl Report {
    /// Returns the report for a verdict on a plan, and its description, if there is one.
    pub fn new(verdict: &Verdict, described: Option<&System>) -> Self {
        let locks = described.filter(|system| {
            system.vms.iter().flat_map(|vm| &vm.tasks).any(|task| !task.sections.is_empty())
        });
        let locks = locks.map(|system| system.locks.as_str());
        let (tasks, vcpus, pcpus) = (Vec::new(), Vec::new(), Vec::new());
        let mut report = Self { total_ppm: 0, locks, tasks, vcpus, pcpus };
        for pcpu in &verdict.pcpus {
            for vcpu in &pcpu.vcpus {
                let of_name = |vm: &Vm| vm.name.value == vcpu.vm;
                let index = described.and_then(|system| system.vms.iter().position(of_name));
                let vm = described.zip(index).map(|(system, index)| &system.vms[index]);
                let overrun_ns = described.zip(index).map(|(it, vm)| it.overrun(vm, vcpu.vcpu).0);
                let server = vm.and_then(|vm| vm.vcpus.get(vcpu.vcpu)?.server.as_ref());
                let priority = server.and_then(|it| Some(it.priority.as_ref()?.value));
                report.tasks.extend(vcpu.tasks.iter().map(|task| Task::new(vm, vcpu, task)));
                report.vcpus.push(Vcpu::new(pcpu.pcpu, vcpu, priority, overrun_ns.unwrap_or(0)));
            }
            let pcpu = Pcpu::new(pcpu);
            report.total_ppm += pcpu.load_ppm;
            report.pcpus.push(pcpu);
        }
        report
    }
}

impl Task {
    fn new(vm: Option<&Vm>, vcpu: &VcpuVerdict, judged: &TaskVerdict) -> Self {
        let of_vm = vm.and_then(|vm| Some(vm.colors.as_ref()?.value));
        let task = vm.and_then(|vm| vm.tasks.iter().find(|task| task.name.value == judged.task));
        let own = task.and_then(|task| Some(task.colors.as_ref()?.value)).or(of_vm);
        let in_guest = own.zip(of_vm.filter(|_| vm.is_some_and(|vm| vm.vllc)));
        let indices = |set: ColorSet| set.iter().map(Color::index).collect();
        Self {
            vm: vcpu.vm.clone(),
            vcpu: vcpu.vcpu,
            task: judged.task.clone(),
            wcet_ns: judged.wcet_ns,
            period_ns: judged.period_ns,
            deadline_ns: judged.deadline_ns,
            wcrt_ns: judged.wcrt_ns,
            slack_ns: judged.slack_ns,
            ok: judged.ok,
            colors: own.map(indices),
            guest_colors: in_guest
                .map(|(own, all)| own.iter().map(|color| all.rank(color) as usize).collect()),
        }
    }
}

impl Vcpu {
    fn new(pcpu: u32, vcpu: &VcpuVerdict, priority: Option<u64>, overrun_ns: u64) -> Self {
        Self {
            pcpu,
            vm: vcpu.vm.clone(),
            vcpu: vcpu.vcpu,
            server: vcpu.server,
            budget_ns: vcpu.budget_ns,
            period_ns: vcpu.period_ns,
            priority,
            overrun_ns,
            supply_ppm: supply(vcpu),
            tasks_ppm: vcpu.utilization_ppm,
            blackout_ns: vcpu.blackout_ns,
            ok: vcpu.ok,
        }
    }
}

impl Pcpu {
    fn new(verdict: &PcpuVerdict) -> Self {
        let mut sum = Self {
            pcpu: verdict.pcpu,
            load_ppm: 0,
            execution_ppm: 0,
            cache_ppm: 0,
            margin_ppm: 0,
            other_ppm: 0,
            free_ppm: 0,
        };
        for vcpu in &verdict.vcpus {
            let parts = vcpu.tasks.iter().map(|task| ppm(task.wcet_ns, task.period_ns));
            let execution = parts.fold(0, u64::saturating_add);
            let needed = vcpu.utilization_ppm.max(execution);
            sum.execution_ppm = sum.execution_ppm.saturating_add(execution);
            sum.cache_ppm = sum.cache_ppm.saturating_add(needed - execution);
            let Some(supply) = supply(vcpu) else { continue };
            sum.load_ppm = sum.load_ppm.saturating_add(supply);
            match vcpu.tasks.is_empty() {
                true => sum.other_ppm += supply,
                false => sum.margin_ppm += supply.saturating_sub(needed),
            }
        }
        let used = [sum.execution_ppm, sum.cache_ppm, sum.margin_ppm, sum.other_ppm];
        sum.free_ppm = WHOLE.saturating_sub(used.into_iter().fold(0, u64::saturating_add));
        sum
    }
}

/// Returns the part of its PCPU that a VCPU has; none in the background.
fn supply(vcpu: &VcpuVerdict) -> Option<u64> {
    match (vcpu.server, vcpu.budget_ns, vcpu.period_ns) {
        (None, ..) => Some(WHOLE),
        (_, Some(budget), Some(period)) => Some(ppm(budget, period)),
        _ => None,
    }
}

/// Part of a period in millionths, rounded down.
fn ppm(time: u64, period: u64) -> u64 {
    let ppm = u128::from(time) * u128::from(WHOLE) / u128::from(period.max(1));
    u64::try_from(ppm).unwrap_or(u64::MAX)
}
