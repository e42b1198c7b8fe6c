//! The random systems of vCache, section 6.2 (Table 3).

use policy::time::Duration;

use crate::wcet::{Latencies, Program};
use crate::{Error, Random, uunifast_discard};

/// Draws of utilisations before a task set is given up: with the numbers of Table 3 a
/// few are enough.
const TRIALS: u32 = 100_000;

/// The parameters of the drawn systems. Ranges include both ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// Number of VMs.
    pub vms: usize,
    /// Number of tasks of all VMs.
    pub tasks: [u64; 2],
    /// Utilisation of all tasks if each has one colour.
    pub utilization: f64,
    /// Period of the VCPUs of a VM in microseconds.
    pub vcpu_period_us: [u64; 2],
    /// Colours of the cache: `N_cache`.
    pub colors: usize,
    /// Size of the cache in bytes.
    pub cache_bytes: u64,
    /// Delay of a hit and of a miss.
    pub latencies: Latencies,
    /// Memory accesses of a job.
    pub accesses: [u64; 2],
    /// Size of a neighbourhood.
    pub neighborhood: [f64; 2],
    /// Locality.
    pub locality: [f64; 2],
    /// Memory that a task uses, in bytes.
    pub memory: [u64; 2],
}

/// Table 3.
pub const TABLE_3: Parameters = Parameters {
    vms: 2,
    tasks: [10, 15],
    utilization: 3.0,
    vcpu_period_us: [1_000, 10_000],
    colors: 32,
    cache_bytes: 2048 << 10,
    latencies: Latencies { hit: Duration(26), miss: Duration(202) },
    accesses: [100_000, 1_000_000],
    neighborhood: [16.0, 64.0],
    locality: [1.5, 3.0],
    memory: [8 << 20, 40 << 20],
};

/// A task whose deadline is its period.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Task {
    /// Time between two releases: `T`.
    pub period: Duration,
    /// Execution time with 1, 2, ... colours: `C(1), C(2), ...`.
    pub wcet: Vec<Duration>,
    /// Bytes that a job touches.
    pub working_set: u64,
}

/// A VM and its tasks.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Vm {
    /// Period of its VCPUs: `T^v`.
    pub vcpu_period: Duration,
    /// Its tasks; none is possible.
    pub tasks: Vec<Task>,
}

impl Parameters {
    /// Returns the VMs of a random system. The period of a task is `C(1)` by its utilisation, of
    /// which none is above 1; each task belongs to each VM with the same probability.
    ///
    /// # Errors
    ///
    /// The utilisation cannot be split among the tasks, or there is no VM.
    pub fn sample(&self, random: &mut Random) -> Result<Vec<Vm>, Error> {
        crate::error::count(self.vms, usize::MAX)?;
        let between = |random: &mut Random, range: [u64; 2]| random.between(range[0], range[1]);
        let count = between(random, self.tasks) as usize;
        let split = uunifast_discard::sample(random, count, self.utilization, 1.0, TRIALS)?;
        let empty = |random: &mut Random| Vm {
            vcpu_period: Duration(between(random, self.vcpu_period_us) * 1_000),
            tasks: Vec::new(),
        };
        let mut vms: Vec<Vm> = (0..self.vms).map(|_| empty(random)).collect();
        for utilization in split {
            let program = Program {
                accesses: between(random, self.accesses),
                neighborhood: random.real(self.neighborhood[0], self.neighborhood[1]),
                locality: random.real(self.locality[0], self.locality[1]),
                memory: between(random, self.memory),
            };
            let vm = random.between(0, self.vms as u64 - 1) as usize;
            vms[vm].tasks.push(self.task(&program, utilization));
        }
        Ok(vms)
    }

    fn task(&self, program: &Program, utilization: f64) -> Task {
        let bytes = |colors: usize| self.cache_bytes / self.colors as u64 * colors as u64;
        let wcet = |colors| program.wcet(self.latencies, bytes(colors));
        let wcet: Vec<_> = (1..=self.colors).map(wcet).collect();
        // Beyond days the period of a task with next to no utilisation changes nothing.
        const LONGEST: f64 = 1e15;
        let period = libm::ceil((wcet[0].0 as f64 / utilization).min(LONGEST));
        Task { period: Duration(period as u64), wcet, working_set: program.working_set() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systems_have_the_parameters_of_table_3() {
        let (mut least, mut greatest) = (u64::MAX, 0);
        let (mut smallest, mut largest) = (u64::MAX, 0);
        for set in 0..500 {
            let vms = TABLE_3.sample(&mut Random::new(1, set)).unwrap();
            assert_eq!(vms.len(), 2);
            let tasks: Vec<_> = vms.iter().flat_map(|vm| &vm.tasks).collect();
            assert!((10..=15).contains(&tasks.len()));
            let utilization = |task: &&Task| task.wcet[0].0 as f64 / task.period.0 as f64;
            let total: f64 = tasks.iter().map(utilization).sum();
            assert!((total - 3.0).abs() < 1e-5, "{total}");
            for task in tasks {
                assert!(task.wcet[0] <= task.period && task.wcet.len() == 32);
                assert!(task.working_set > 40 << 10 && task.working_set <= 40 << 20);
                smallest = smallest.min(task.working_set);
                largest = largest.max(task.working_set);
                least = least.min(task.wcet[0].0);
                greatest = greatest.max(task.wcet[0].0);
            }
            let periods = vms.iter().map(|vm| vm.vcpu_period.0);
            assert!(periods.clone().all(|period| (1_000_000..=10_000_000).contains(&period)));
        }
        // vCache, Table 3: 8.47 to 202.02 ms.
        assert!((8_470_000..30_000_000).contains(&least), "{least}");
        assert!((190_000_000..=202_020_000).contains(&greatest), "{greatest}");
        // Working sets of one colour, 64 KiB, to 40 MB; only tasks that are extreme in three
        // ways at once have the largest.
        assert!(smallest <= 64 << 10 && largest >= 30_000_000, "{smallest} {largest}");
    }
}
