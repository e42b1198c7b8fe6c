//! The processor time that the schemes need for one system.

use std::collections::HashMap;
use std::fmt;

use analysis::Duration;
use analysis::utilization::Share;
use planner::baseline::{Coloring, Packing, evenly, pack};
use planner::demand::{Demand, Vcpu};
use planner::exact::{self, system};
use planner::published::cache_aware_vm::{allocate, demand};
use planner::published::cache_to_vm::{Allocation, cache_to_vm};
use planner::search::Planner;
use planner::{Evaluator, Setting, Slot, Task, Vm, least_utilization, rate_monotonic};
use serde::{Deserialize, Serialize};
use taskgen::vcache::{Parameters, TABLE_3};
use taskgen::{Random, vcache};

use crate::Error;

/// Steps of the exact search for one task set.
const STEPS: u64 = 100_000_000;
/// Designs of the planner for one task set: a design serves several numbers of colours.
const DESIGNS: usize = 4;

/// A method of allocation.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheme {
    /// Best-fit decreasing, complete cache partitioning.
    BfdCcp,
    /// Worst-fit decreasing, complete cache partitioning.
    WfdCcp,
    /// First-fit decreasing, complete cache partitioning.
    FfdCcp,
    /// Best-fit decreasing, complete cache sharing.
    BfdCcs,
    /// Worst-fit decreasing, complete cache sharing.
    WfdCcs,
    /// First-fit decreasing, complete cache sharing.
    FfdCcs,
    /// Algorithms 1 to 5 of vCache.
    Cavm,
    /// CAVM with the exact cache-to-VM allocation.
    CavmKnapsack,
    /// The planner of this project.
    Planner,
    /// The optimum.
    Optimum,
    /// The utilisation that no allocation can be below.
    Bound,
}

/// Its name in files.
impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// The systems that are drawn. What is not said is as in vCache, Table 3.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Systems {
    /// Number of VMs.
    pub vms: usize,
    /// Fewest and most tasks.
    pub tasks: [u64; 2],
    /// Utilisation of all tasks with one colour each.
    pub utilization: f64,
    /// Number of VCPUs of each VM.
    pub vcpus: usize,
    /// Colours of the cache.
    pub colors: usize,
    /// Deadlines in percent of periods.
    pub deadline_percent: u64,
    /// Longest time to load a colour again, in microseconds.
    pub reload_us: u64,
}

/// Draws systems, and allocates them.
#[derive(Clone, Debug)]
pub struct Solver {
    systems: Systems,
    parameters: Parameters,
    setting: Setting,
}

impl Solver {
    /// Returns a solver for these systems.
    ///
    /// # Errors
    ///
    /// There are no VCPUs, or the number of colours is impossible.
    pub fn new(systems: Systems) -> Result<Self, Error> {
        let reload = Duration(systems.reload_us.saturating_mul(1_000));
        let setting = Setting::new(systems.colors, reload)?;
        if systems.vcpus == 0 {
            return Err(Error::Parameters("VMs need VCPUs".into()));
        }
        let parameters = Parameters {
            vms: systems.vms,
            tasks: systems.tasks,
            utilization: systems.utilization,
            colors: systems.colors,
            ..TABLE_3
        };
        Ok(Self { systems, parameters, setting })
    }

    /// Returns the VMs of a random system: a stream of a seed.
    ///
    /// # Errors
    ///
    /// The utilisation cannot be split among the tasks, or tasks are none that can be planned.
    pub fn draw(&self, seed: u64, stream: u64) -> Result<Vec<Vm>, Error> {
        let drawn = self.parameters.sample(&mut Random::new(seed, stream))?;
        Ok(drawn.into_iter().map(|vm| self.vm(vm)).collect::<Result<_, _>>()?)
    }

    fn vm(&self, vm: vcache::Vm) -> Result<Vm, planner::Error> {
        let task = |task: vcache::Task| {
            let wcet: Vec<_> = task.wcet.iter().map(|time| Duration(time.0)).collect();
            let part = task.period.0 / 100 * self.systems.deadline_percent;
            let deadline = Duration(part.max(wcet[0].0).min(task.period.0));
            let base = analysis::Task::new(wcet[0], Duration(task.period.0))?;
            let base = base.with_deadline(deadline)?;
            Ok(Task::new(base, &wcet)?.with_working_set(task.working_set))
        };
        let tasks: Result<Vec<Task>, planner::Error> = vm.tasks.into_iter().map(task).collect();
        let mut tasks = tasks?;
        rate_monotonic(&mut tasks);
        Vm::new(tasks, vec![Slot::new(Duration(vm.vcpu_period.0)); self.systems.vcpus])
    }

    /// Returns the processor time that a scheme needs for these VMs, for each total number of
    /// colours in `places`; `None` where the scheme fails. Numbers of colours are at most those of
    /// the cache.
    pub fn totals(&self, scheme: Scheme, vms: &[Vm], places: &[usize]) -> Vec<Option<Share>> {
        use Coloring::{Partitioned, Shared};
        let pack = |packing, coloring| self.pack(vms, places, packing, coloring);
        match scheme {
            Scheme::BfdCcp => pack(Packing::Best, Partitioned),
            Scheme::WfdCcp => pack(Packing::Worst, Partitioned),
            Scheme::FfdCcp => pack(Packing::First, Partitioned),
            Scheme::BfdCcs => pack(Packing::Best, Shared),
            Scheme::WfdCcs => pack(Packing::Worst, Shared),
            Scheme::FfdCcs => pack(Packing::First, Shared),
            Scheme::Cavm => self.cavm(vms, places, cache_to_vm),
            Scheme::CavmKnapsack => self.cavm(vms, places, exact::cache_to_vm),
            Scheme::Planner => self.planner(vms, places),
            Scheme::Optimum => {
                let optimum = |&k: &usize| system::least_total(vms, &self.setting, k, STEPS);
                // A search that is too long counts as a failure of the scheme.
                places.iter().map(|k| optimum(k).ok().flatten()).collect()
            }
            Scheme::Bound => {
                let mut tasks: Vec<&Task> = vms.iter().flat_map(|vm| vm.tasks()).collect();
                tasks.sort_by_key(|task| task.period());
                let bounds = least_utilization::by_colors(&tasks, &self.setting);
                places.iter().map(|&k| bounds.get(k).copied().flatten()).collect()
            }
        }
    }

    fn pack(
        &self,
        vms: &[Vm],
        places: &[usize],
        packing: Packing,
        coloring: Coloring,
    ) -> Vec<Option<Share>> {
        let mut evaluator = Evaluator::new(self.setting);
        let vcpus = self.systems.vcpus;
        let mut total = |&k: &usize| {
            let colors = evenly(k, vms.len() * vcpus);
            let mut of_vm = |(vm, colors): (&Vm, &[usize])| {
                let period = vm.vcpus()[0].period;
                let packed = pack(&mut evaluator, vm.tasks(), colors, period, packing, coloring)?;
                Some(packed.iter().map(|vcpu| Share::up(vcpu.budget, period)).sum::<Share>())
            };
            vms.iter().zip(colors.chunks(vcpus)).map(&mut of_vm).sum()
        };
        places.iter().map(&mut total).collect()
    }

    /// CAVM for each number of colours, as if the machine had no more.
    fn cavm(
        &self,
        vms: &[Vm],
        places: &[usize],
        to_vms: fn(&[&Demand], usize) -> Vec<Option<Allocation>>,
    ) -> Vec<Option<Share>> {
        let mut evaluator = Evaluator::new(self.setting);
        // What a VCPU needs does not depend on the number of all colours.
        let mut known: Vec<HashMap<Vec<usize>, Vcpu>> = vec![HashMap::new(); vms.len()];
        let mut total = |&k: &usize| {
            let mut used = Vec::new();
            for (vm, known) in vms.iter().zip(&mut known) {
                let period = vm.vcpus()[0].period;
                let count = vm.vcpus().len();
                for tasks in allocate(&mut evaluator, vm.tasks(), count, k, period)? {
                    let colors = self.systems.colors;
                    let vcpu = known.entry(tasks).or_insert_with_key(|tasks| {
                        let demand = demand(&mut evaluator, vm.tasks(), tasks, colors, period);
                        Vcpu { tasks: tasks.clone(), demand }
                    });
                    used.push(vcpu.demand.clone());
                }
            }
            Some(to_vms(&used.iter().collect::<Vec<_>>(), k).pop()??.total)
        };
        places.iter().map(&mut total).collect()
    }

    /// Designs for some of the places, of which each place takes the best.
    fn planner(&self, vms: &[Vm], places: &[usize]) -> Vec<Option<Share>> {
        let mut planner = Planner::new(vms, &self.setting);
        let mut best: Vec<Option<Share>> = vec![None; self.systems.colors + 1];
        // Evenly, the first and the last one among them.
        let number = DESIGNS.min(places.len()).max(2);
        let at = |design: usize| places.get(design * (places.len() - 1) / (number - 1));
        for &k in (0..number).filter_map(at) {
            let Some(design) = planner.design(k) else { continue };
            let demands: Vec<&Demand> = design.demands().collect();
            let found = exact::cache_to_vm(&demands, self.systems.colors);
            for (best, found) in best.iter_mut().zip(found) {
                let total = found.map(|allocation| allocation.total);
                *best = [*best, total].into_iter().flatten().min();
            }
        }
        places.iter().map(|&k| best[k]).collect()
    }
}
