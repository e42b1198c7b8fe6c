//! The random systems of vMPCP, section V.A (Table I).

use policy::time::Duration;

use crate::{Error, Random, error, uunifast};

/// Ways to share mutexes out before that is given up: with the numbers of Table I a few are
/// enough.
const TRIALS: u32 = 100_000;
/// The minimum time unit of the experiments, in nanoseconds.
const UNIT: u64 = 10_000;

/// The parameters of the drawn systems. Ranges include both ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// Physical cores.
    pub pcpus: usize,
    /// VCPUs of each core.
    pub vcpus_per_pcpu: usize,
    /// Tasks of each VCPU.
    pub tasks_per_vcpu: usize,
    /// Utilisation of the tasks of a VCPU together.
    pub utilization: f64,
    /// Period of tasks in microseconds.
    pub period_us: [u64; 2],
    /// Global critical sections of each task.
    pub sections_per_task: usize,
    /// Tasks that lock a mutex.
    pub lockers: usize,
    /// Length of a section.
    pub section: Duration,
}

/// Table I. The period of VCPUs, 5 ms there, is no matter of drawing.
pub const TABLE_1: Parameters = Parameters {
    pcpus: 8,
    vcpus_per_pcpu: 2,
    tasks_per_vcpu: 3,
    utilization: 0.15,
    period_us: [100_000, 500_000],
    sections_per_task: 1,
    lockers: 2,
    section: Duration(10_000),
};

/// A task whose deadline is its period.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Task {
    /// Time between two releases: `T`.
    pub period: Duration,
    /// Execution time, sections included: `C`.
    pub wcet: Duration,
    /// The mutexes that its sections lock, one after the other. All sections have the same length.
    pub mutexes: Vec<usize>,
}

/// A VCPU.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Vcpu {
    /// Priority in the whole system, which no other task has; a larger number is a higher priority.
    pub priority: u32,
    /// Its tasks, the shortest period first.
    pub tasks: Vec<Task>,
}

impl Parameters {
    /// Returns the PCPUs of a random system, each with its VCPUs, the highest priority first.
    ///
    /// Utilisations are drawn by UUniFast. If the share of a task is less than its sections need,
    /// the task executes for its sections. All VCPUs have the same period, so that their priorities
    /// are a random order. Each task has one section in each of `sections_per_task` rounds. A round
    /// divides all tasks evenly among mutexes of its own. All divisions are equally likely in which
    /// no mutex has the tasks of a single VCPU, because that mutex would be a local one.
    ///
    /// # Errors
    ///
    /// There is nothing to draw, the tasks cannot be divided evenly, or the parameters contradict
    /// each other.
    pub fn sample(&self, random: &mut Random) -> Result<Vec<Vec<Vcpu>>, Error> {
        let vcpus = error::count(self.pcpus.saturating_mul(self.vcpus_per_pcpu), 1 << 16)?;
        error::count(self.tasks_per_vcpu, 1 << 16)?;
        let mut priorities: Vec<u32> = (0..vcpus as u32).collect();
        random.shuffle(&mut priorities);
        let mut all: Vec<Vcpu> = Vec::with_capacity(vcpus);
        for priority in priorities {
            let shares = uunifast::sample(random, self.tasks_per_vcpu, self.utilization)?;
            let mut tasks: Vec<Task> =
                shares.into_iter().map(|share| self.task(random, share)).collect();
            tasks.sort_by_key(|task| task.period);
            all.push(Vcpu { priority, tasks });
        }
        for round in 0..self.sections_per_task {
            self.share_out(random, &mut all, round)?;
        }
        let mut pcpus: Vec<Vec<Vcpu>> =
            all.chunks(self.vcpus_per_pcpu).map(<[Vcpu]>::to_vec).collect();
        for pcpu in &mut pcpus {
            pcpu.sort_by_key(|vcpu| std::cmp::Reverse(vcpu.priority));
        }
        Ok(pcpus)
    }

    fn task(&self, random: &mut Random, share: f64) -> Task {
        let [least, most] = self.period_us.map(|period| period * 1_000 / UNIT);
        let period = random.between(least, most) * UNIT;
        let sections = self.section.0.saturating_mul(self.sections_per_task as u64);
        let wcet = ((period as f64 * share) as u64).max(sections).max(1);
        let mutexes = Vec::with_capacity(self.sections_per_task);
        Task { period: Duration(period), wcet: Duration(wcet), mutexes }
    }

    /// Gives each task a mutex of this round.
    fn share_out(
        &self,
        random: &mut Random,
        vcpus: &mut [Vcpu],
        round: usize,
    ) -> Result<(), Error> {
        let count = vcpus.len() * self.tasks_per_vcpu;
        if self.lockers < 2 || !count.is_multiple_of(self.lockers) {
            return Err(Error::Lockers { tasks: count, lockers: self.lockers });
        }
        let mut tasks: Vec<usize> = (0..count).collect();
        let vcpu = |task: &usize| task / self.tasks_per_vcpu;
        for _ in 0..TRIALS {
            random.shuffle(&mut tasks);
            let is_global =
                |users: &[usize]| users.iter().any(|task| vcpu(task) != vcpu(&users[0]));
            if tasks.chunks(self.lockers).all(is_global) {
                let first = round * (count / self.lockers);
                for (mutex, users) in tasks.chunks(self.lockers).enumerate() {
                    for user in users {
                        let task = &mut vcpus[vcpu(user)].tasks[user % self.tasks_per_vcpu];
                        task.mutexes.push(first + mutex);
                    }
                }
                return Ok(());
            }
        }
        Err(Error::Trials { trials: TRIALS })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systems_have_the_parameters_of_table_1() {
        let parameters = Parameters { sections_per_task: 3, ..TABLE_1 };
        for set in 0..200 {
            let pcpus = parameters.sample(&mut Random::new(1, set)).unwrap();
            assert_eq!(pcpus.len(), 8);
            let mut users = vec![Vec::new(); 3 * 24];
            let mut priorities = Vec::new();
            for (number, vcpu) in pcpus.iter().flatten().enumerate() {
                priorities.push(vcpu.priority);
                let share = |task: &Task| task.wcet.0 as f64 / task.period.0 as f64;
                let total: f64 = vcpu.tasks.iter().map(share).sum();
                // Short tasks are as long as their sections.
                assert!((0.15 - 1e-6..0.15 + 3.0 * 3e-4).contains(&total), "{total}");
                assert!(vcpu.tasks.is_sorted_by_key(|task| task.period));
                for task in &vcpu.tasks {
                    assert!((100_000_000..=500_000_000).contains(&task.period.0));
                    assert!(task.period.0.is_multiple_of(UNIT) && task.wcet.0 >= 30_000);
                    assert_eq!(task.mutexes.len(), 3);
                    task.mutexes.iter().for_each(|mutex| users[*mutex].push(number));
                }
            }
            assert!(pcpus.iter().all(|it| it.len() == 2 && it[0].priority > it[1].priority));
            priorities.sort_unstable();
            assert!(priorities.iter().copied().eq(0..16));
            for users in users {
                assert!(users.len() == 2 && users[0] != users[1]);
            }
        }
    }

    #[test]
    fn mutexes_can_have_all_numbers_of_lockers_that_divide_the_tasks() {
        for lockers in [3, 4, 6, 8, 12, 16, 24, 48] {
            let parameters = Parameters { lockers, ..TABLE_1 };
            let pcpus = parameters.sample(&mut Random::new(1, 0)).unwrap();
            let tasks = pcpus.iter().flatten().flat_map(|vcpu| &vcpu.tasks);
            let mutexes: Vec<usize> = tasks.flat_map(|task| task.mutexes.clone()).collect();
            let users = |mutex| mutexes.iter().filter(|it| **it == mutex).count();
            assert!((0..48 / lockers).all(|mutex| users(mutex) == lockers));
        }
        for lockers in [0, 1, 5, 96] {
            let drawn = Parameters { lockers, ..TABLE_1 }.sample(&mut Random::new(1, 0));
            assert_eq!(drawn, Err(Error::Lockers { tasks: 48, lockers }));
        }
    }
}
