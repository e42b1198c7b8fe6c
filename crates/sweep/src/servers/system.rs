//! A random PCPU.

use analysis::Duration;
use taskgen::{Random, log_uniform, uunifast};

use crate::Error;

/// The parameters of the drawn systems. Ranges include both ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// Number of VCPUs.
    pub vcpus: usize,
    /// Tasks of each VCPU.
    pub tasks_per_vcpu: usize,
    /// Utilisation of all tasks together.
    pub utilization: f64,
    /// Period of tasks in microseconds.
    pub period_us: [u64; 2],
    /// Period of VCPUs in microseconds.
    pub vcpu_period_us: [u64; 2],
}

/// A PCPU.
#[derive(Clone, Debug)]
pub struct System {
    /// Its VCPUs, the highest priority first.
    pub vcpus: Vec<Vcpu>,
}

/// A VCPU.
#[derive(Clone, Debug)]
pub struct Vcpu {
    /// Its period: `T^v`.
    pub period: Duration,
    /// Its tasks, the highest priority first.
    pub tasks: Vec<Task>,
}

/// A task.
#[derive(Clone, Copy, Debug)]
pub struct Task {
    /// The task for the analysis; its deadline is its period.
    pub model: analysis::Task,
    /// Its first release in the simulation.
    pub offset: Duration,
}

impl Parameters {
    /// Returns a random PCPU.
    ///
    /// # Errors
    ///
    /// There is nothing to draw, or the parameters contradict each other.
    pub fn sample(&self, random: &mut Random) -> Result<System, Error> {
        let count = self.vcpus.saturating_mul(self.tasks_per_vcpu);
        let shares = uunifast::sample(random, count, self.utilization)?;
        let mut vcpus = Vec::with_capacity(self.vcpus);
        for shares in shares.chunks(self.tasks_per_vcpu) {
            let period = period(random, self.vcpu_period_us)?;
            let mut tasks: Vec<Task> = Vec::with_capacity(shares.len());
            for share in shares {
                tasks.push(self.task(random, *share)?);
            }
            tasks.sort_by_key(|task| task.model.period());
            vcpus.push(Vcpu { period, tasks });
        }
        vcpus.sort_by_key(|vcpu| vcpu.period);
        Ok(System { vcpus })
    }

    fn task(&self, random: &mut Random, share: f64) -> Result<Task, Error> {
        let period = period(random, self.period_us)?;
        let wcet = ((period.0 as f64 * share) as u64).max(1);
        let offset = Duration(random.between(0, period.0 - 1));
        Ok(Task { model: analysis::Task::new(Duration(wcet), period)?, offset })
    }
}

/// Returns a log-uniform period of whole microseconds.
fn period(random: &mut Random, us: [u64; 2]) -> Result<Duration, Error> {
    const STEP: policy::time::Duration = policy::time::Duration(1_000);
    let [min, max] = us.map(|us| policy::time::Duration(us.saturating_mul(STEP.0)));
    Ok(Duration(log_uniform::sample(random, min, max, STEP)?.0))
}
