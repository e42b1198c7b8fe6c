//! Random descriptions over the whole grid of what can be described and left open.

use system::plan::{COUNT_MAX, RESOURCES_MAX};
use taskgen::Random;

use crate::draft::{Colors, Draft, Limit, Resource, Task, Vcpu, Vm};

/// Most PCPUs of a machine on which the hypervisor runs.
pub const PCPUS_MAX: u64 = COUNT_MAX as u64;
/// Most VCPUs of a VM.
const VCPUS_MAX: u64 = 4;
/// Most tasks of a VM.
const TASKS_MAX: u64 = 200;
/// Utilisation of all tasks, as a part of all PCPUs.
const LOAD: [f64; 2] = [0.1, 0.95];
const SERVERS: [&str; 3] = ["periodic", "deferrable", "sporadic"];

/// How large systems are.
#[derive(Clone, Copy)]
pub struct Size {
    /// Least number of VMs, and most.
    pub vms: [u64; 2],
    /// Most PCPUs.
    pub pcpus: u64,
    /// Colours of the shared cache, at least one for each VM.
    pub colors: [u64; 3],
}

/// As large as the hypervisor allows.
pub const BOARD: Size = Size { vms: [2, PCPUS_MAX], pcpus: PCPUS_MAX, colors: [8, 16, 32] };

/// What a system leaves to the planner, and what its tasks do.
#[derive(Clone, Copy)]
struct Kind {
    /// One in so many VCPUs has a given budget; none for 0.
    budgets_given: u64,
    /// One in so many periods is given.
    periods_given: u64,
    /// True if all PCPUs are given.
    pcpus_given: bool,
    /// True if the tasks of all VMs have given VCPUs.
    tasks_given: bool,
    /// True if VCPUs can have sporadic servers: no bound is known where these meet resources.
    sporadic: bool,
    /// True if some tasks suspend themselves: for these, too.
    suspends: bool,
    /// True if periods of tasks are those that engineers write.
    from_list: bool,
    /// Nanoseconds between two memory accesses of a task.
    access_ns: u64,
}

/// Returns the description with this number, and the utilisation of its tasks as a part of all
/// PCPUs.
pub fn draw(number: u64) -> (Draft, f64) {
    drawn(&mut Random::new(18, number), BOARD)
}

/// Returns a random description of this size, and the same.
pub fn drawn(random: &mut Random, size: Size) -> (Draft, f64) {
    // More light systems than heavy ones: of those few have a plan.
    let load = LOAD[0] + (LOAD[1] - LOAD[0]) * random.unit().powf(1.5);
    let count = random.between(size.vms[0], size.vms[1]) as usize;
    let pcpus = random.between((count as u64).div_ceil(2), size.pcpus);
    // One CPU shares no cache.
    let colored = one_in(random, 2) && pcpus > 1;
    let limited = one_in(random, 3);
    let resources = resources(random, count);
    let kind = kind(random, resources.is_empty());
    let colors = of(random, &size.colors);
    let reloads = colored && kind.sporadic && one_in(random, 2);
    let mut draft = Draft {
        pcpus,
        colors,
        overheads: !one_in(random, if resources.is_empty() { 6 } else { 2 }),
        reload_us: reloads.then(|| random.between(1, 50)),
        locks: if one_in(random, 4) { "mpcp" } else { "vmpcp" },
        section_overhead_us: of(random, &[200, 500, 1_000]),
        resources,
        vms: Vec::new(),
        chains: Vec::new(),
    };
    let fair = (colors / count as u64).max(1);
    // Given colours are taken from the end, so that each VM can have one.
    let mut end = colors;
    let shares = shares(random, count, load * pcpus as f64, 0.6 * VCPUS_MAX as f64);
    for (index, share) in shares.into_iter().enumerate() {
        let mut vm = vm(random, share, kind);
        vm.tasks = tasks(random, share, vm.vcpus.len(), kind);
        let by_colors = colored && !one_in(random, 4);
        for task in &mut vm.tasks {
            let time = task.wcet_ns[0].1;
            task.wcet_ns = self::by_colors(random, time, if by_colors { fair } else { 0 });
            sections(random, task, index, &draft.resources);
        }
        if colored {
            vm.colors = Colors::Planned;
            vm.vllc = one_in(random, 3);
            if one_in(random, 6) && end > count as u64 {
                let most = fair.clamp(1, end - count as u64);
                end -= most;
                (vm.colors, vm.vllc) = (Colors::Given(end, most), false);
            }
        }
        if limited {
            limits(random, &mut vm, kind);
        }
        draft.vms.push(vm);
    }
    budgets(random, &mut draft, kind, fair);
    overruns(random, &mut draft);
    if one_in(random, 20) {
        let mut number = 0;
        for vcpu in draft.vms.iter_mut().flat_map(|vm| &mut vm.vcpus) {
            number = (number * 5 + 3) % 64;
            vcpu.priority = vcpu.server.map(|_| number);
        }
    }
    best_effort(random, &mut draft, limited, size);
    (draft, load)
}

pub fn one_in(random: &mut Random, count: u64) -> bool {
    count > 0 && random.between(1, count) == 1
}

pub fn of<T: Copy>(random: &mut Random, all: &[T]) -> T {
    all[random.between(0, all.len() as u64 - 1) as usize]
}

fn kind(random: &mut Random, alone: bool) -> Kind {
    let mut kind = Kind {
        budgets_given: 0,
        periods_given: 0,
        pcpus_given: false,
        tasks_given: false,
        sporadic: alone || one_in(random, 12),
        suspends: one_in(random, if alone { 8 } else { 60 }),
        from_list: one_in(random, 2),
        access_ns: of(random, &[1_000, 5_000, 20_000]),
    };
    match random.between(0, 5) {
        0 | 1 => {}
        2 => kind.periods_given = 1,
        3 => (kind.periods_given, kind.tasks_given) = (1, true),
        4 => (kind.periods_given, kind.budgets_given) = (2, 6),
        _ => (kind.periods_given, kind.pcpus_given) = (3, true),
    }
    kind
}

/// Returns random shares with this sum (UUniFast), each at most `most`: what is above is lost.
pub fn shares(random: &mut Random, count: usize, sum: f64, most: f64) -> Vec<f64> {
    let mut left = sum;
    let mut shares = Vec::new();
    for after in (0..count).rev() {
        let rest = match after {
            0 => 0.0,
            after => left * random.unit().powf(1.0 / after as f64),
        };
        shares.push((left - rest).clamp(0.001, most));
        left = rest;
    }
    shares
}

fn resources(random: &mut Random, vms: usize) -> Vec<Resource> {
    let count = match random.between(0, 9) {
        0..=4 => 0,
        5 | 6 => random.between(1, 2),
        7 | 8 => random.between(3, 6),
        _ => random.between(7, RESOURCES_MAX as u64),
    };
    let resource = |_| {
        let between_vms = !one_in(random, 3);
        let mut all: Vec<usize> = (0..vms).collect();
        random.shuffle(&mut all);
        all.truncate(if between_vms { random.between(2, vms.min(4) as u64) as usize } else { 1 });
        all.sort_unstable();
        Resource { vms: all, between_vms }
    };
    (0..count).map(resource).collect()
}

/// A VM with VCPUs; without tasks and budgets.
fn vm(random: &mut Random, share: f64, kind: Kind) -> Vm {
    let fewest = (share / 0.6).ceil().clamp(1.0, VCPUS_MAX as f64) as u64;
    let count = match random.between(0, 9) {
        0..=6 => fewest,
        7 | 8 => fewest + 1,
        _ => random.between(fewest, VCPUS_MAX),
    };
    let servers = if kind.sporadic { &SERVERS[..] } else { &SERVERS[..2] };
    let vcpu = |_| Vcpu {
        server: Some(of(random, servers)),
        period_us: one_in(random, kind.periods_given).then(|| of(random, &[1_000, 1_600, 2_000])),
        budget_us: None,
        pcpu: None,
        priority: None,
        overrun: false,
        limit: Limit::None,
    };
    let vcpus = (0..count.min(VCPUS_MAX)).map(vcpu).collect();
    Vm { colors: Colors::All, vllc: false, limit: Limit::None, vcpus, tasks: Vec::new() }
}

/// Mostly few tasks.
fn tasks(random: &mut Random, share: f64, vcpus: usize, kind: Kind) -> Vec<Task> {
    let count = match random.between(0, 99) {
        0..=84 => random.between(3, 8),
        85..=96 => random.between(9, 30),
        _ => random.between(31, TASKS_MAX),
    };
    let pinned = kind.tasks_given || one_in(random, 5);
    let shares = shares(random, count as usize, share, 0.5);
    let mut loads = vec![0.0; vcpus];
    let task = |share: f64| {
        let period_us = match kind.from_list {
            true => of(random, &[5_000, 10_000, 20_000, 25_000, 40_000, 50_000, 100_000, 200_000]),
            false => (4.0 * 50_f64.powf(random.unit()) * 10.0) as u64 * 100,
        };
        let deadline_us = match random.between(0, 9) {
            0..=6 => period_us,
            7 | 8 => (period_us as f64 * random.real(0.7, 1.0)) as u64,
            _ => (period_us as f64 * random.real(1.0, 1.5)) as u64,
        };
        let vcpu = (pinned || one_in(random, 12)).then(|| {
            let least = (0..vcpus).min_by(|a, b| f64::total_cmp(&loads[*a], &loads[*b]));
            let vcpu = least.unwrap_or(0);
            loads[vcpu] += share;
            vcpu
        });
        let suspends = kind.suspends && one_in(random, 4);
        Task {
            vcpu,
            period_us,
            deadline_us,
            jitter_us: if one_in(random, 10) { random.between(1, period_us / 20) } else { 0 },
            suspension_us: if suspends { random.between(1, period_us / 20) } else { 0 },
            exits: if one_in(random, 6) { random.between(1, 4) } else { 0 },
            wcet_ns: vec![(0, (period_us as f64 * 1e3 * share) as u64 + 1_000)],
            accesses: None,
            sections: Vec::new(),
        }
    };
    shares.into_iter().map(task).collect()
}

/// Returns an execution time by colours that has this value with a fair number of colours; 0: it
/// does not depend on colours.
fn by_colors(random: &mut Random, time: u64, fair: u64) -> Vec<(u64, u64)> {
    if fair == 0 {
        return vec![(0, time)];
    }
    let gain = random.real(0.0, 0.4);
    let with = |colors: u64| {
        let doublings = (colors as f64 / fair as f64).log2();
        let factor = 1.0 - gain * doublings * if doublings > 0.0 { 0.3 } else { 1.0 };
        ((time as f64 * factor.max(0.5)) as u64).max(1)
    };
    let first = if fair > 1 && one_in(random, 8) { 2 } else { 1 };
    [1, 2, 4, 8, 16].into_iter().filter(|it| *it >= first).map(|it| (it, with(it))).collect()
}

/// Gives one in three tasks critical sections, of resources that its VM may use.
fn sections(random: &mut Random, task: &mut Task, vm: usize, resources: &[Resource]) {
    let may: Vec<usize> =
        (0..resources.len()).filter(|&it| resources[it].vms.contains(&vm)).collect();
    if may.is_empty() || !one_in(random, 3) {
        return;
    }
    let mut left = task.wcet(u64::MAX) / 2;
    for _ in 0..random.between(1, 2) {
        let length = random.between(1_000, 50_000);
        let after = random.between(0, left / 4 + 1);
        if length + after > left {
            break;
        }
        left -= length + after;
        task.sections.push((of(random, &may), after, length));
    }
}

/// Gives tasks accesses to memory, and VMs or VCPUs limits; those with critical sections have no
/// limit, because then no bound is known.
fn limits(random: &mut Random, vm: &mut Vm, kind: Kind) {
    for task in &mut vm.tasks {
        task.accesses = (!one_in(random, 200)).then(|| task.wcet_ns[0].1 / kind.access_ns + 1);
    }
    if vm.tasks.iter().any(|task| !task.sections.is_empty()) {
        return;
    }
    // Within a period a limit can stop a task for as long as the period.
    let period = of(random, &[100, 100, 1_000]);
    match random.between(0, 11) {
        0..=7 => {}
        8 => vm.limit = Limit::Given(random.between(4, 12) * period, period),
        9 => vm.vcpus.iter_mut().for_each(|vcpu| vcpu.limit = Limit::Planned(period)),
        _ => vm.limit = Limit::Planned(period),
    }
}

/// Gives VCPUs budgets of 1.5 times an equal part of what their VM needs, and PCPUs, each the one
/// of which least is taken.
fn budgets(random: &mut Random, draft: &mut Draft, kind: Kind, fair: u64) {
    let mut loads = vec![0.0; draft.pcpus as usize];
    for vm in &mut draft.vms {
        let need = |task: &Task| task.wcet(fair) as f64 / (task.period_us as f64 * 1e3);
        let need: f64 = vm.tasks.iter().map(need).sum();
        let share = (1.5 * need / vm.vcpus.len() as f64).clamp(0.02, 0.9);
        for vcpu in &mut vm.vcpus {
            if one_in(random, kind.budgets_given) {
                let period = *vcpu.period_us.get_or_insert(2_000);
                vcpu.budget_us = Some((period as f64 * share) as u64);
            }
            let least = (0..loads.len()).min_by(|a, b| f64::total_cmp(&loads[*a], &loads[*b]));
            let pcpu = least.unwrap_or(0);
            if (kind.pcpus_given || one_in(random, 3 * kind.budgets_given))
                && loads[pcpu] + share <= 1.0
            {
                loads[pcpu] += share;
                vcpu.pcpu = Some(pcpu as u64);
            }
        }
    }
}

/// Lets some VCPUs exceed budgets that are given.
fn overruns(random: &mut Random, draft: &mut Draft) {
    if draft.locks == "mpcp" {
        return;
    }
    for vm in &mut draft.vms {
        if vm.tasks.iter().any(|task| task.vcpu.is_none() || task.accesses.is_some()) {
            continue;
        }
        for (index, vcpu) in vm.vcpus.iter_mut().enumerate() {
            let global = |it: &&(usize, u64, u64)| draft.resources[it.0].between_vms;
            let own = vm.tasks.iter().filter(|task| task.vcpu == Some(index));
            let longest = own.filter_map(|task| {
                let lengths = task.sections.iter().filter(global).map(|(_, _, length)| *length);
                lengths.max()
            });
            let longest: Vec<u64> = longest.collect();
            let hold = longest.iter().map(|it| it / 1_000 + 1 + draft.section_overhead_us);
            let (Some(budget), Some(period)) = (vcpu.budget_us, vcpu.period_us) else { continue };
            let fits = budget + hold.sum::<u64>() < period && !longest.is_empty();
            vcpu.overrun = fits && vcpu.server != Some("sporadic") && one_in(random, 2);
        }
    }
}

/// Some systems have a VM without tasks: with a small budget, or on a PCPU of its own.
fn best_effort(random: &mut Random, draft: &mut Draft, limited: bool, size: Size) {
    if draft.vms.len() as u64 == size.vms[1] || !(limited || one_in(random, 4)) {
        return;
    }
    let colored = draft.vms.iter().any(|vm| vm.colors != Colors::All);
    let shares_pcpu = draft.pcpus < 3 || one_in(random, 2);
    let vcpu = Vcpu {
        server: shares_pcpu.then_some("deferrable"),
        period_us: shares_pcpu.then_some(10_000),
        budget_us: (shares_pcpu && one_in(random, 2)).then_some(300),
        pcpu: None,
        priority: None,
        overrun: false,
        limit: Limit::None,
    };
    // Priorities are given to all VCPUs of a PCPU, or none.
    let priorities = draft.vms.iter().flat_map(|vm| &vm.vcpus).any(|it| it.priority.is_some());
    let priority = (priorities && shares_pcpu).then_some(0);
    draft.vms.push(Vm {
        colors: if colored { Colors::Planned } else { Colors::All },
        vllc: false,
        limit: if limited { Limit::Planned(1_000) } else { Limit::None },
        vcpus: vec![Vcpu { priority, ..vcpu }],
        tasks: Vec::new(),
    });
}
