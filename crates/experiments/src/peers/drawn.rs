//! Random systems that all methods can plan: VMs with equal VCPUs, and tasks with deadlines as long
//! as their periods. Nothing but processor time matters.

use analysis::Duration;
use planner::rate_monotonic;
use sweep::Error;
use taskgen::{Random, uunifast_discard};

use crate::experiment::Peers;

/// Periods of tasks, in milliseconds.
const PERIODS_MS: [u64; 8] = [10, 20, 25, 40, 50, 80, 100, 200];
/// Utilisation of a task at most.
const TASK_MOST: f64 = 0.6;
/// Four Cortex-A53, for which no overheads are stated: the methods of others have none either.
pub const BOARD: &str = "zcu102";
/// The PCPUs of this board.
const PCPUS: usize = 4;
/// Part of a VM's VCPUs that its tasks use at most.
const VM_MOST: f64 = 0.9;
const TRIALS: u32 = 100_000;

/// A system without a plan.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// The tasks of each VM, the shortest period first.
    pub vms: Vec<Vec<planner::Task>>,
    /// VCPUs of each VM.
    pub vcpus: usize,
    /// Number of PCPUs.
    pub pcpus: usize,
    /// The period of all VCPUs.
    pub period: Duration,
}

impl Drawn {
    /// Draws the system with this number, with tasks that use `percent` percent of all PCPUs.
    pub fn new(settings: &Peers, percent: u64, number: u64) -> Result<Self, Error> {
        let mut random = Random::new(settings.seed, number);
        let sum = PCPUS as f64 * percent as f64 / 100.0;
        let most = VM_MOST * settings.vcpus as f64;
        let shares = uunifast_discard::sample(&mut random, settings.vms, sum, most, TRIALS)?;
        let mut vms = Vec::new();
        for share in shares {
            let [least, most] = settings.tasks;
            // So many that each can be small enough.
            let least = least.max((share / TASK_MOST).ceil() as u64 + 1);
            let count = random.between(least, most.max(least)) as usize;
            let parts = uunifast_discard::sample(&mut random, count, share, TASK_MOST, TRIALS)?;
            let mut tasks = Vec::new();
            for part in parts {
                let ms = PERIODS_MS[random.between(0, PERIODS_MS.len() as u64 - 1) as usize];
                let period = Duration(ms * 1_000_000);
                let wcet = Duration((period.0 as f64 * part) as u64 + 1_000);
                let task = analysis::Task::new(wcet, period)?;
                tasks.push(planner::Task::new(task, &[wcet])?);
            }
            rate_monotonic(&mut tasks);
            vms.push(tasks);
        }
        let period = Duration(settings.vcpu_period_us.saturating_mul(1_000));
        Ok(Self { vms, vcpus: settings.vcpus, pcpus: PCPUS, period })
    }
}

/// Returns the utilisation of a task.
pub fn utilization(task: &planner::Task) -> f64 {
    task.wcet(1).0 as f64 / task.period().0 as f64
}
