//! Guests that do not keep to what is described of their tasks: they enter sections as often, and are in
//! them for as long, as the hypervisor lets them. Those who trust no other VM are in time all the same.

use analysis::vmpcp::{Analyzer, Bounds, Enforced, Protocol, Variant};
use analysis::{Duration, Kind};
use policy::rate::Rate;
use policy::time::{self, Instant};
use taskgen::Random;

use super::described::{Described, OneTask, OneVcpu, normal, section, task, times};
use super::model::{self, Course, full};
use super::random::{self, APART, GLOBAL, Shape, WIDE};

/// What the hypervisor holds a VCPU to.
#[derive(Clone, Debug)]
pub struct Guard {
    pub vm: usize,
    pub hold: u64,
    pub interval: u64,
    pub early: u64,
}

/// How often a VCPU entered sections.
pub struct Entries {
    rate: Rate,
    from: i64,
}

impl Entries {
    pub fn new(guard: &Guard) -> Self {
        let [interval, early] = [guard.interval, guard.early].map(time::Duration);
        Self { rate: Rate::new(interval, early), from: Rate::START }
    }

    /// It wants to enter one: from when on it may, if it may not.
    pub fn enter(&mut self, now: u64) -> Option<u64> {
        if !Rate::may_enter(self.from, Instant(now)) {
            return Some(self.from as u64);
        }
        self.from = self.rate.enter(self.from, Instant(now));
        None
    }
}

/// What guests do, and what is enforced.
#[derive(Clone, Debug)]
pub struct Attack {
    pub guards: Vec<Option<Guard>>,
    pub is_hostile: Vec<bool>,
    pub global: Vec<bool>,
    /// When it begins: until then nobody has used anything.
    pub begin: u64,
    naps: Vec<u64>,
}

impl Attack {
    /// How long a task rests between jobs.
    pub fn nap(&self, task: usize) -> u64 {
        self.naps[task % self.naps.len()]
    }
}

/// A multiple of all periods that are drawn.
const UNIT: u64 = 960;

/// What the hypervisor is told of a VCPU.
pub fn guard(described: &Described, vcpu: &OneVcpu, vm: usize) -> Guard {
    let (mut often, mut sections, mut hold) = (0, 0, 0);
    for task in &vcpu.tasks {
        let global = || task.sections().filter(|it| described.is_global(it.0)).map(|it| it.1);
        hold += global().max().unwrap_or(0);
        sections += global().count() as u64;
        often += global().count() as u64 * UNIT / task.period;
    }
    let interval = (UNIT / often.max(1)).max(1);
    // Whoever is done within the deadline, or within the period.
    let pending: u64 = vcpu
        .tasks
        .iter()
        .map(|task| {
            let global = task.sections().filter(|it| described.is_global(it.0)).count() as u64;
            (global * task.deadline.max(task.period) * interval).div_ceil(task.period)
        })
        .sum();
    let early = pending + interval * sections.saturating_sub(1);
    Guard { vm, hold, interval, early }
}

/// A task that wants what others have, without a pause.
fn script(random: &mut Random, resources: &[usize]) -> OneTask {
    let mut segments = Vec::new();
    for _ in 0..random.between(1, 3) {
        segments.push((None, random.between(0, 2)));
        if !resources.is_empty() {
            let resource = resources[random.between(0, resources.len() as u64 - 1) as usize];
            segments.push((Some(resource), random.between(1, 8)));
        }
    }
    segments.push((None, random.between(1, 2)));
    task(&segments, 1)
}

/// Bounds where each VCPU may ask for all of these resources.
pub fn bounds(described: &Described, guards: &[Guard], shared: &[usize]) -> Bounds {
    let enforced = guards.iter().map(|guard| Enforced {
        vm: guard.vm,
        hold: Duration(guard.hold),
        interval: Duration(guard.interval),
        early: Duration(guard.early),
        resources: shared.to_vec(),
    });
    let system = described.system_of_vms().enforced(&enforced.collect::<Vec<_>>());
    let mut analyzer = Analyzer::new(Variant::Sound, described.protocol);
    analyzer.response_times(&system, &described.hosts())
}

/// Bounds of tasks of the first VM, and their longest response times while the others attack.
fn search(seed: u64, (systems, courses): (u64, u64), shape: Shape, protocol: Protocol) -> [u64; 3] {
    let (mut bounded, mut late, mut reached) = (0, 0, 0);
    for set in 0..systems {
        let mut random = Random::new(seed, set);
        let mut described = random::described(&mut random, shape, protocol);
        // With few sections, so that there are bounds.
        for task in described.vcpus.iter_mut().flat_map(|vcpu| &mut vcpu.tasks) {
            (task.period, task.deadline) = (2 * task.period, 2 * task.deadline);
        }
        if set % 2 > 0 {
            random::other_deadlines(&mut random, &mut described);
        }
        let vms: Vec<usize> =
            described.vcpus.iter().map(|_| random.between(0, 2) as usize).collect();
        let resources = shape.resources as usize;
        let global: Vec<bool> = (0..resources).map(|it| described.is_global(it)).collect();
        let shared: Vec<usize> = (0..resources).filter(|it| global[*it]).collect();
        if shared.is_empty() || !vms.contains(&0) {
            continue;
        }
        let zip = described.vcpus.iter().zip(&vms);
        let guards: Vec<Guard> = zip.map(|(vcpu, vm)| guard(&described, vcpu, *vm)).collect();
        let bounds = times(&bounds(&described, &guards, &shared));
        let longest = described.vcpus.iter().flat_map(|vcpu| &vcpu.tasks).map(|task| task.period);
        let end = 3 * longest.max().unwrap_or(0);
        let mut worst = vec![0; bounds.len()];
        for _ in 0..courses {
            let mut attacked = described.clone();
            for ((vcpu, vm), guard) in attacked.vcpus.iter_mut().zip(&vms).zip(&guards) {
                if *vm == 0 {
                    continue;
                }
                let resources = if guard.hold > 0 { &shared[..] } else { &[] };
                let tasks = random.between(1, 3);
                vcpu.tasks = (0..tasks).map(|_| script(&mut random, resources)).collect();
            }
            let naps = (0..7).map(|_| [0, 0, 3, 40, 200][random.between(0, 4) as usize]).collect();
            let attack = Attack {
                guards: guards.iter().cloned().map(Some).collect(),
                is_hostile: vms.iter().map(|vm| *vm != 0).collect(),
                global: global.clone(),
                begin: random.between(0, end / 2),
                naps,
            };
            let mut course = random::course(&mut random, &attacked);
            for (offset, task) in course
                .task_offsets
                .iter_mut()
                .zip(attacked.vcpus.iter().flat_map(|vcpu| &vcpu.tasks))
            {
                // All at about the time at which it begins, or at any.
                if task.period > 1 && random.between(0, 1) > 0 {
                    *offset = (attack.begin + random.between(0, 3)) % task.period;
                }
            }
            let responses = model::run_with(&attacked, &course, end, Some(&attack));
            let (mut of_described, mut of_attacked) = (0, 0);
            for (vcpu, vm) in vms.iter().enumerate() {
                let (own, scripts) = (&described.vcpus[vcpu], &attacked.vcpus[vcpu]);
                for task in 0..own.tasks.len() {
                    let at = of_described + task;
                    if let Some(bound) = bounds[at].filter(|_| *vm == 0) {
                        let (response, refused) = responses[of_attacked + task];
                        assert!(
                            response <= bound && !refused,
                            "task {at}: {response} of {bound}, {refused}: {described:?} {vms:?} \
                             {attacked:?} {attack:?} {course:?}",
                        );
                        worst[at] = response.max(worst[at]);
                    }
                }
                of_described += own.tasks.len();
                of_attacked += scripts.tasks.len();
            }
        }
        let mut task = 0;
        for (vcpu, vm) in described.vcpus.iter().zip(&vms) {
            for it in &vcpu.tasks {
                if let Some(bound) = bounds[task].filter(|_| *vm == 0) {
                    bounded += 1;
                    late += u64::from(bound > it.deadline);
                    reached += u64::from(worst[task] == bound);
                }
                task += 1;
            }
        }
    }
    [bounded, late, reached]
}

fn none_is_above(seed: u64, size: (u64, u64)) {
    let mut all = 0;
    for protocol in [Protocol::Vmpcp, Protocol::Mpcp] {
        for shape in [GLOBAL, APART, WIDE] {
            let [bounded, late, reached] = search(seed, size, shape, protocol);
            println!("{protocol:?}: {bounded} bounds, {late} of late tasks, {reached} reached");
            assert!(bounded > size.0 / 10, "{bounded}");
            all += late;
        }
    }
    assert!(all > size.0 / 50, "{all}");
}

#[test]
fn whatever_other_vms_do_nobody_is_late() {
    none_is_above(21, (150, 8));
}

#[test]
#[ignore = "minutes"]
fn whatever_other_vms_do_nobody_of_many_is_late() {
    none_is_above(22, (5_000, 30));
}

/// A guest uses a resource that its tasks are not described to use, as long and as often as it may be in
/// sections with another one.
#[test]
fn what_is_described_of_others_is_not_believed() {
    let vcpu = |pcpu: usize, task| OneVcpu {
        pcpu,
        priority: pcpu as u32,
        kind: Kind::Deferrable,
        budget: 10,
        period: 10,
        overrun: false,
        tasks: vec![task],
    };
    let victim = vcpu(0, task(&[normal(1), section(1, 1), normal(1)], 480));
    let friend = vcpu(1, task(&[section(0, 1), normal(1), section(1, 1), normal(1)], 480));
    let hostile = vcpu(2, task(&[section(0, 8), normal(1)], 480));
    let described = Described { vcpus: vec![victim, friend, hostile], protocol: Protocol::Vmpcp };
    let guards: Vec<Guard> =
        described.vcpus.iter().enumerate().map(|(vm, it)| guard(&described, it, vm)).collect();
    let believed = described.all_bounds(Variant::Sound).expect("bounds")[0];
    let bound = bounds(&described, &guards, &[0, 1]).tasks[0].expect("a bound").time.0;

    let mut attacked = described.clone();
    attacked.vcpus[2].tasks = vec![task(&[section(1, 8), normal(1)], 1); 2];
    let responses = (0..20).map(|begin| {
        let attack = Attack {
            guards: guards.iter().cloned().map(Some).collect(),
            is_hostile: vec![false, false, true],
            global: vec![true, true],
            begin,
            naps: vec![0],
        };
        let course = Course {
            vcpu_offsets: vec![0; 3],
            task_offsets: vec![0; 4],
            eager: false,
            last_first: true,
            lengths: full,
            seed: 0,
        };
        model::run_with(&attacked, &course, 960, Some(&attack))[0].0
    });
    let worst = responses.max().expect("some");
    assert!(worst > believed && worst <= bound, "{worst}, {believed} if believed, {bound} if not");
}
