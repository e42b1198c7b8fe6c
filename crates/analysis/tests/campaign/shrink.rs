//! Makes a counterexample as small as it goes.

use crate::system::{Job, System};

/// The smallest system found that is possible and for which `holds` still says yes.
pub fn shrink(system: System, holds: impl Fn(&System) -> bool) -> System {
    let mut best = system;
    loop {
        let smaller = candidates(&best).into_iter().find(|it| it.is_possible() && holds(it));
        match smaller {
            Some(smaller) => best = smaller,
            None => return best,
        }
    }
}

/// Systems that are a step smaller, the largest steps first.
fn candidates(system: &System) -> Vec<System> {
    let mut all = Vec::new();
    let mut add = |change: &dyn Fn(&mut System)| {
        let mut smaller = system.clone();
        change(&mut smaller);
        if smaller != *system {
            all.push(smaller);
        }
    };
    for vcpu in 0..system.vcpu.len() {
        add(&|it| drop(it.vcpu.remove(vcpu)));
        add(&|it| it.vcpu[vcpu].server = None);
        add(&|it| it.vcpu[vcpu].below.clear());
        add(&|it| it.vcpu[vcpu].task.clear());
        for task in 0..system.vcpu[vcpu].task.len() {
            add(&|it| drop(it.vcpu[vcpu].task.remove(task)));
            add(&|it| it.vcpu[vcpu].task[task].job.clear());
            for job in (0..system.vcpu[vcpu].task[task].job.len()).rev() {
                add(&|it| drop(it.vcpu[vcpu].task[task].job.remove(job)));
                add(&|it| merge(&mut it.vcpu[vcpu].task[task].job[job]));
            }
        }
        for below in (0..system.vcpu[vcpu].below.len()).rev() {
            add(&|it| {
                it.vcpu[vcpu].below.remove(below);
            });
        }
    }
    // All times together, where something begins at some time.
    let earliest = instants(&mut system.clone()).into_iter().map(|it| *it).min().unwrap_or(0);
    for step in [earliest, 1] {
        add(&|it| instants(it).into_iter().for_each(|time| *time = time.saturating_sub(step)));
    }
    // One time after the other, and an execution time with those of the jobs.
    for number in 0..numbers(&mut system.clone()).len() {
        add(&|it| *numbers(it)[number] = 0);
        add(&|it| *numbers(it)[number] /= 2);
        add(&|it| {
            let mut all = numbers(it);
            *all[number] = all[number].saturating_sub(1);
        });
    }
    for vcpu in 0..system.vcpu.len() {
        for task in 0..system.vcpu[vcpu].task.len() {
            add(&|it| {
                let task = &mut it.vcpu[vcpu].task[task];
                task.wcet -= 1;
                for job in &mut task.job {
                    if let Some(part) = job.run.iter_mut().step_by(2).find(|part| **part > 1) {
                        *part -= 1;
                    }
                }
            });
            add(&|it| {
                let task = &mut it.vcpu[vcpu].task[task];
                task.suspension = task.suspension.saturating_sub(1);
                for job in &mut task.job {
                    if let Some(part) = job.run.iter_mut().skip(1).step_by(2).find(|it| **it > 1) {
                        *part -= 1;
                    }
                }
            });
        }
    }
    all
}

/// The same execution without suspension.
fn merge(job: &mut Job) {
    job.run = vec![job.execution()];
}

/// The instants of a system.
fn instants(system: &mut System) -> Vec<&mut u64> {
    let mut all = Vec::new();
    for vcpu in &mut system.vcpu {
        all.extend(vcpu.server.as_mut().map(|server| &mut server.start));
        all.extend(vcpu.below.iter_mut().map(|below| &mut below.at));
        let jobs = vcpu.task.iter_mut().flat_map(|task| &mut task.job);
        all.extend(jobs.map(|job| &mut job.arrival));
    }
    all
}

/// All numbers of a system.
fn numbers(system: &mut System) -> Vec<&mut u64> {
    let mut all = vec![&mut system.reload];
    for vcpu in &mut system.vcpu {
        if let Some(server) = &mut vcpu.server {
            all.extend([&mut server.budget, &mut server.period, &mut server.start]);
        }
        for below in &mut vcpu.below {
            all.extend([&mut below.at, &mut below.time]);
        }
        for task in &mut vcpu.task {
            all.extend([&mut task.wcet, &mut task.period, &mut task.jitter, &mut task.blocking]);
            all.extend([&mut task.suspension, &mut task.colors]);
            for job in &mut task.job {
                all.extend([&mut job.arrival, &mut job.delay, &mut job.section]);
                all.extend(&mut job.run);
            }
        }
    }
    all
}
