//! Systems that are made from a plan that holds: with a little more work it does not. What was
//! decided is taken away, and the planner has to find a plan again, this one or another.
//!
//! Most VMs have a VCPU with all tasks, which has a PCPU of its own; VCPUs without tasks share the
//! last one.

use taskgen::Random;

use crate::draft::{Colors, Draft, Limit, Task, Vcpu, Vm};
use crate::draw::{of, one_in};
use crate::{judge, read};

/// Periods of VCPUs, in microseconds.
const PERIODS: [u64; 6] = [500, 1_000, 2_000, 4_000, 5_000, 10_000];
/// Periods of the tasks of a VM are some of these times the least.
const TIMES: [u64; 5] = [1, 2, 4, 5, 8];
/// Steps of the search for the most work with which the plan holds.
const STEPS: u32 = 9;
/// The work of tasks, as a part of that.
const PART: f64 = 0.995;

/// Returns a description in which much is open, and of which there is a plan; `None` if the plan
/// that was drawn holds with no work.
pub fn draw(number: u64) -> Option<Draft> {
    let mut random = Random::new(19, number);
    let plan = loaded(&plan(&mut random))?;
    Some(open(&plan, &mut random))
}

/// Returns a plan with nearly the most work with which it holds; `None` if it holds with none.
pub fn loaded(plan: &Draft) -> Option<Draft> {
    let holds = |work: f64| judge::passes(&read(&with_work(plan, work)));
    let (mut yes, mut no) = (0.02, 1.1);
    if !holds(yes) {
        return None;
    }
    for _ in 0..STEPS {
        let middle = (yes + no) / 2.0;
        if holds(middle) { yes = middle } else { no = middle }
    }
    let plan = with_work(plan, yes * PART);
    judge::passes(&read(&plan)).then_some(plan)
}

fn with_work(draft: &Draft, work: f64) -> Draft {
    let mut draft = draft.clone();
    for (_, time) in
        draft.vms.iter_mut().flat_map(|vm| &mut vm.tasks).flat_map(|it| &mut it.wcet_ns)
    {
        *time = ((*time as f64 * work) as u64).max(500);
    }
    draft
}

fn plan(random: &mut Random) -> Draft {
    let count = random.between(2, 4);
    let pcpus = count + random.between(0, 1);
    let colors = [8, 16, 32][random.between(0, 2) as usize];
    let mut draft = Draft {
        pcpus,
        colors,
        overheads: !one_in(random, 3),
        reload_us: one_in(random, 3).then(|| random.between(5, 20)),
        locks: "vmpcp",
        section_overhead_us: 500,
        resources: Vec::new(),
        vms: Vec::new(),
        chains: Vec::new(),
    };
    let mut first = 0;
    for index in 0..count {
        let left = count - index;
        let most = colors - first - (left - 1);
        let own = match left {
            1 => most,
            _ if one_in(random, 2) => (colors / count).min(most),
            _ => random.between(1, most),
        };
        draft.vms.push(vm(random, index, pcpus, (first, own), pcpus > count));
        first += own;
    }
    let mut loads = vec![1.0_f64; pcpus as usize];
    let is_empty = |vm: &Vm, index: usize| vm.tasks.iter().all(|task| task.vcpu != Some(index));
    let empty = |vm: &Vm| (0..vm.vcpus.len()).filter(|&it| is_empty(vm, it)).collect::<Vec<_>>();
    for vm in &draft.vms {
        for index in empty(vm) {
            loads[vm.vcpus[index].pcpu.unwrap_or(0) as usize] -= 0.013;
        }
    }
    for vm in &mut draft.vms {
        let empty = empty(vm);
        for (index, vcpu) in vm.vcpus.iter_mut().enumerate() {
            let period = vcpu.period_us.unwrap_or(1_000);
            let share = match empty.contains(&index) {
                true => 0.013,
                false => match loads[vcpu.pcpu.unwrap_or(0) as usize] {
                    all if all == 1.0 => all,
                    // Those beside it come at bad times.
                    rest => rest * 0.9,
                },
            };
            vcpu.budget_us = Some(((period as f64 * share) as u64).max(10));
        }
    }
    draft
}

fn vm(random: &mut Random, index: u64, pcpus: u64, (first, own): (u64, u64), apart: bool) -> Vm {
    let count = random.between(1, 4) as usize;
    let full = if one_in(random, 2) { 0 } else { random.between(0, count as u64 - 1) as usize };
    let vcpu = |at: usize, random: &mut Random| Vcpu {
        server: Some(if one_in(random, 2) { "periodic" } else { "deferrable" }),
        period_us: Some(of(random, &PERIODS)),
        budget_us: None,
        pcpu: Some(match (at == full, apart) {
            (true, _) => index,
            (false, true) => pcpus - 1,
            (false, false) => random.between(0, pcpus - 1),
        }),
        priority: None,
        overrun: false,
        limit: Limit::None,
    };
    let vcpus = (0..count).map(|at| vcpu(at, random)).collect();
    let base = of(random, &[1_000, 2_000, 5_000, 10_000, 20_000]);
    let weights: Vec<f64> = (0..random.between(2, 9)).map(|_| random.real(0.1, 1.1)).collect();
    let sum: f64 = weights.iter().sum();
    let is_tight = one_in(random, 2);
    let mut task = |weight: &f64| {
        let period_us = base * of(random, &TIMES);
        let time = period_us as f64 * 1_000.0 * weight / sum;
        let gain = random.real(0.0, 0.5);
        let with = |colors: u64| {
            let factor = own as f64 / colors as f64 - 1.0;
            let part = if colors < own { 0.5 } else { 0.3 };
            (time * (1.0 + gain * factor * part).clamp(0.4, 3.0)) as u64
        };
        let part = if is_tight { random.real(0.5, 1.0) } else { 1.0 };
        let wcet_ns = [1, 2, 4, 8, 16].map(|colors| (colors, with(colors)));
        Task {
            vcpu: Some(full),
            period_us,
            deadline_us: (period_us as f64 * part) as u64,
            jitter_us: if one_in(random, 5) { period_us / 40 } else { 0 },
            suspension_us: if one_in(random, 8) { period_us / 40 } else { 0 },
            exits: if one_in(random, 3) { random.between(1, 3) } else { 0 },
            wcet_ns: wcet_ns.to_vec(),
            accesses: None,
            sections: Vec::new(),
        }
    };
    let tasks = weights.iter().map(&mut task).collect();
    let (colors, limit) = (Colors::Given(first, own), Limit::None);
    Vm { colors, vllc: false, limit, vcpus, tasks }
}

/// Takes most of what was decided away.
fn open(plan: &Draft, random: &mut Random) -> Draft {
    let mut draft = plan.clone();
    for vm in &mut draft.vms {
        if !one_in(random, 7) {
            vm.colors = Colors::Planned;
        }
        for vcpu in &mut vm.vcpus {
            vcpu.budget_us = None;
            vcpu.period_us = vcpu.period_us.filter(|_| one_in(random, 3));
            vcpu.pcpu = vcpu.pcpu.filter(|_| one_in(random, 10));
        }
        for task in &mut vm.tasks {
            task.vcpu = task.vcpu.filter(|_| one_in(random, 7));
        }
    }
    draft
}
