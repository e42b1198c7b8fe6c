//! Random small systems, and random courses of events in them.

use analysis::Kind;
use analysis::vmpcp::Protocol;
use taskgen::Random;

use super::described::{Described, OneTask, OneVcpu, Segment};
use super::model::{Course, full, shorter};

/// How systems are drawn.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub pcpus: u64,
    pub vcpus_per_pcpu: u64,
    pub tasks_per_vcpu: u64,
    pub resources: u64,
    /// Most sections of a task.
    pub sections: u64,
    /// Longest section.
    pub length: u64,
    /// Whether there are local resources.
    pub local: bool,
    /// Whether tasks of one VCPU share global resources.
    pub siblings: bool,
}

/// Few enough that much is shared.
pub const SMALL: Shape = Shape {
    pcpus: 2,
    vcpus_per_pcpu: 2,
    tasks_per_vcpu: 2,
    resources: 2,
    sections: 2,
    length: 3,
    local: true,
    siblings: true,
};

/// Without local resources.
pub const GLOBAL: Shape = Shape { local: false, ..SMALL };

/// And no two users of a resource in one VCPU.
pub const APART: Shape = Shape { resources: 3, siblings: false, ..GLOBAL };

pub const WIDE: Shape = Shape {
    pcpus: 3,
    vcpus_per_pcpu: 2,
    tasks_per_vcpu: 3,
    resources: 3,
    sections: 2,
    length: 3,
    local: true,
    siblings: true,
};

pub fn described(random: &mut Random, shape: Shape, protocol: Protocol) -> Described {
    let pcpus = random.between(1, shape.pcpus) as usize;
    let mut priorities: Vec<u32> = (0..(pcpus as u32) * shape.vcpus_per_pcpu as u32).collect();
    random.shuffle(&mut priorities);
    // Mostly all servers are alike, as in the paper.
    let kind = |random: &mut Random| match random.between(0, 1) {
        0 => Kind::Periodic,
        _ => Kind::Deferrable,
    };
    let common = (random.between(0, 3) > 0).then(|| (kind(random), random.between(0, 1) > 0));
    let mut vcpus = Vec::new();
    for pcpu in 0..pcpus {
        let count = random.between(1, shape.vcpus_per_pcpu);
        for _ in 0..count {
            let (kind, overrun) =
                common.unwrap_or_else(|| (kind(random), random.between(0, 1) > 0));
            let period = random.between(4, 16);
            let most = if count == 1 { period } else { period.div_ceil(2) };
            let budget = random.between((period / 4).max(1), most);
            let tasks = random.between(1, shape.tasks_per_vcpu);
            let mut tasks: Vec<OneTask> = (0..tasks).map(|_| task(random, shape)).collect();
            tasks.sort_by_key(|task| task.period);
            if !shape.siblings {
                keep_apart(&mut tasks);
            }
            vcpus.push(OneVcpu {
                pcpu,
                priority: priorities.pop().expect("one for each"),
                kind,
                budget,
                period,
                overrun: overrun && budget < period,
                tasks,
            });
        }
    }
    vcpus.sort_by_key(|vcpu| (vcpu.pcpu, std::cmp::Reverse(vcpu.priority)));
    let mut described = Described { vcpus, protocol };
    if !shape.local {
        let global: Vec<_> =
            (0..shape.resources as usize).map(|it| described.is_global(it)).collect();
        for task in described.vcpus.iter_mut().flat_map(|vcpu| &mut vcpu.tasks) {
            task.segments.retain(|it| it.0.is_none_or(|resource| global[resource]));
        }
    }
    described
}

/// Leaves each resource to the first task that uses it.
fn keep_apart(tasks: &mut [OneTask]) {
    let mut taken = Vec::new();
    for task in tasks {
        task.segments.retain(|it| it.0.is_none_or(|resource| !taken.contains(&resource)));
        taken.extend(task.sections().map(|it| it.0));
    }
}

fn task(random: &mut Random, shape: Shape) -> OneTask {
    let mut segments: Vec<Segment> = Vec::new();
    for _ in 0..random.between(0, shape.sections + 1).min(shape.sections) {
        segments.push((None, random.between(0, 3)));
        let resource = random.between(0, shape.resources - 1) as usize;
        segments.push((Some(resource), random.between(1, shape.length)));
    }
    segments.push((None, random.between(1, 4)));
    super::described::task(
        &segments,
        [30, 60, 80, 120, 160, 240, 480][random.between(0, 6) as usize],
    )
}

/// Gives tasks deadlines that are not their periods: many will be late, and some may be.
pub fn other_deadlines(random: &mut Random, described: &mut Described) {
    for task in described.vcpus.iter_mut().flat_map(|vcpu| &mut vcpu.tasks) {
        task.deadline = (task.period * [1, 2, 4, 8][random.between(0, 3) as usize] / 4).max(1);
    }
}

pub fn course(random: &mut Random, described: &Described) -> Course {
    let tasks = described.vcpus.iter().flat_map(|vcpu| &vcpu.tasks);
    // Many things happen at the same time in the worst cases.
    let spread = [1, 4, 1_000_000][random.between(0, 2) as usize];
    Course {
        vcpu_offsets: described
            .vcpus
            .iter()
            .map(|vcpu| random.between(0, (vcpu.period - 1).min(spread)))
            .collect(),
        task_offsets: tasks
            .map(|task| random.between(0, (task.period - 1).min(4 * spread)))
            .collect(),
        eager: random.between(0, 1) > 0,
        last_first: random.between(0, 1) > 0,
        lengths: if random.between(0, 1) > 0 { full } else { shorter },
        seed: random.between(0, u64::MAX - 1),
    }
}

/// One thing changes.
pub fn neighbour(random: &mut Random, described: &Described, course: &Course) -> Course {
    let mut course = course.clone();
    for _ in 0..random.between(1, 3) {
        match random.between(0, 7) {
            0..=2 => {
                let vcpu = random.between(0, described.vcpus.len() as u64 - 1) as usize;
                course.vcpu_offsets[vcpu] = random.between(0, described.vcpus[vcpu].period - 1);
            }
            3..=5 => {
                let task = random.between(0, course.task_offsets.len() as u64 - 1) as usize;
                let mut periods = described.vcpus.iter().flat_map(|vcpu| &vcpu.tasks);
                let period = periods.nth(task).map_or(1, |task| task.period);
                course.task_offsets[task] = random.between(0, period - 1);
            }
            6 => course.eager = !course.eager,
            _ => {
                course.seed = random.between(0, u64::MAX - 1);
                course.lengths = if random.between(0, 1) > 0 { full } else { shorter };
            }
        }
    }
    course
}
