//! Systems that are made from a plan that holds, in which VCPUs share PCPUs in a random order. Budgets
//! and priorities are taken away, and the planner has to find a plan again.

use taskgen::Random;

use crate::draft::{Colors, Draft, Limit, Resource, Task, Vcpu, Vm};
use crate::draw::{of, one_in};
use crate::planted::loaded;
use crate::{judge, read};

/// Periods of VCPUs, in microseconds.
const PERIODS: [u64; 4] = [5_000, 6_000, 8_000, 10_000];
/// Periods of the tasks of a VM are some of these times that of its VCPU.
const TIMES: [u64; 5] = [1, 2, 4, 5, 10];
/// The part of a PCPU that budgets have.
const GIVEN: f64 = 0.85;

/// The length of critical sections, in nanoseconds: shorter than any task. They make that PCPUs affect
/// each other.
const SECTION: u64 = 400;

/// Returns a description without budgets and priorities, of which there is a plan; `None` if the plan
/// that was drawn holds with no work.
pub fn draw(number: u64) -> Option<Draft> {
    let mut random = Random::new(23, number);
    let plan = loaded(&plan(&mut random))?;
    let mut draft = urgent(plan, &mut random)?;
    for vcpu in draft.vms.iter_mut().flat_map(|vm| &mut vm.vcpus) {
        (vcpu.budget_us, vcpu.priority) = (None, None);
    }
    Some(draft)
}

/// Returns the plan with deadlines that are hardly longer than what tasks take there.
fn urgent(mut plan: Draft, random: &mut Random) -> Option<Draft> {
    let verdict = judge::verdict(&read(&plan))?;
    for (vcpu, task) in verdict.tasks() {
        let vm = plan.vms.iter_mut().enumerate().find(|(vm, _)| vcpu.vm == format!("v{vm}"))?.1;
        let index: usize = task.task.strip_prefix('t')?.parse().ok()?;
        let least = task.wcrt_ns? as f64 / 1_000.0;
        let drafted = &mut vm.tasks[index];
        let deadline = (least * random.real(1.01, 1.2)) as u64 + 1;
        drafted.deadline_us = drafted.deadline_us.min(deadline);
    }
    judge::passes(&read(&plan)).then_some(plan)
}

fn plan(random: &mut Random) -> Draft {
    let pcpus = random.between(1, 2);
    let common = one_in(random, 2).then(|| of(random, &PERIODS));
    let has_resource = one_in(random, 3);
    let mut vms = Vec::new();
    for pcpu in 0..pcpus {
        let count = random.between(2, 4) as usize;
        let shares: Vec<f64> = (0..count).map(|_| random.real(0.2, 1.0)).collect();
        let sum: f64 = shares.iter().sum();
        let mut priorities: Vec<u64> = (1..=count as u64).collect();
        for at in (1..count).rev() {
            priorities.swap(at, random.between(0, at as u64) as usize);
        }
        for (share, priority) in shares.iter().zip(priorities) {
            let period = common.unwrap_or_else(|| of(random, &PERIODS));
            let share = share / sum * GIVEN;
            vms.push(vm(random, (pcpu, priority), (period, share), has_resource));
        }
    }
    let resources = match has_resource {
        true => vec![Resource { vms: (0..vms.len()).collect(), between_vms: true }],
        false => Vec::new(),
    };
    Draft {
        pcpus,
        colors: 8,
        overheads: one_in(random, 2),
        reload_us: None,
        locks: "vmpcp",
        section_overhead_us: 100,
        resources,
        vms,
        chains: Vec::new(),
    }
}

fn vm(
    random: &mut Random,
    (pcpu, priority): (u64, u64),
    (period, share): (u64, f64),
    has_resource: bool,
) -> Vm {
    let vcpu = Vcpu {
        server: Some(if one_in(random, 6) { "deferrable" } else { "periodic" }),
        period_us: Some(period),
        budget_us: Some((period as f64 * share) as u64),
        pcpu: Some(pcpu),
        priority: Some(priority),
        overrun: false,
        limit: Limit::None,
    };
    let mut task = |_| {
        let period_us = period * of(random, &TIMES);
        let time = period_us as f64 * 1_000.0 * share * random.real(0.1, 0.6);
        let sections = match has_resource && one_in(random, 2) {
            true => vec![(0, 0, SECTION)],
            false => Vec::new(),
        };
        Task {
            vcpu: Some(0),
            period_us,
            deadline_us: period_us,
            jitter_us: 0,
            suspension_us: 0,
            exits: 0,
            wcet_ns: vec![(0, time as u64)],
            accesses: None,
            sections,
        }
    };
    let tasks = (0..2).map(&mut task).collect();
    Vm { colors: Colors::All, vllc: false, limit: Limit::None, vcpus: vec![vcpu], tasks }
}
