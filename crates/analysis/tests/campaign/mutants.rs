//! Analyses with a mistake: the search refutes each of them, and what remains of the
//! counterexample is small.

use analysis::response::Response;
use analysis::{Duration, Failure, LONGEST};

use crate::search::{self, search};
use crate::shrink::shrink;
use crate::system::{Bounds, ServerKind, System, Task, Vcpu};

/// Bounds of another system, which lacks something that this one has.
fn bounds_of(system: &System, change: impl Fn(&mut Vcpu)) -> Bounds {
    let mut changed = system.clone();
    changed.vcpu.iter_mut().for_each(change);
    changed.bounds()
}

/// Bounds of a system which for each task lacks something else.
fn bounds_of_each(system: &System, change: impl Fn(&mut Vcpu, usize)) -> Bounds {
    let bounds = |vcpu: usize, task: usize| -> Result<Response, Failure> {
        let mut changed = system.clone();
        change(&mut changed.vcpu[vcpu], task);
        changed.bounds()[vcpu][task]
    };
    let tasks = |vcpu: usize| (0..system.vcpu[vcpu].task.len()).map(move |task| (vcpu, task));
    let of_vcpu = |vcpu: usize| tasks(vcpu).map(|(vcpu, task)| bounds(vcpu, task)).collect();
    (0..system.vcpu.len()).map(of_vcpu).collect()
}

/// The search refutes this analysis with a system of at most so many jobs.
fn is_refuted(analysis: impl Fn(&System) -> Bounds, jobs: usize) {
    for number in 0..20_000 {
        let (_, drawn, mut random) = search::drawn(7, number);
        let bounds = analysis(&drawn);
        let Some(violation) = search(drawn, &bounds, 3, &mut random).violation else { continue };
        let small = shrink(violation, |it| search::is_violation(it, &analysis(it)));
        assert!(!search::is_violation(&small, &small.bounds()), "{}", small.to_toml());
        let left: usize = small.vcpu.iter().flat_map(|it| &it.task).map(|it| it.job.len()).sum();
        let text = small.to_toml();
        assert!(left <= jobs, "{left} jobs:\n{text}");
        // What was written is what was found.
        assert_eq!(toml::from_str::<System>(&text).unwrap(), small);
        return;
    }
    panic!("nothing refuted it");
}

fn each_task(vcpu: &mut Vcpu, change: impl Fn(&mut Task)) {
    vcpu.task.iter_mut().for_each(change);
}

#[test]
fn no_double_hit_of_deferrable_servers() {
    let forget = |vcpu: &mut Vcpu| {
        if let Some(server) = &mut vcpu.server {
            server.kind = ServerKind::Periodic;
        }
    };
    is_refuted(|system| bounds_of(system, forget), 3);
}

#[test]
fn no_server_above() {
    let alone = |system: &System| {
        let bounds = |vcpu: &Vcpu| {
            let alone = System { vcpu: vec![vcpu.clone()], ..*system };
            alone.bounds().remove(0)
        };
        system.vcpu.iter().map(bounds).collect()
    };
    is_refuted(alone, 3);
}

#[test]
fn no_jitter_of_tasks_above() {
    let forget = |vcpu: &mut Vcpu, task: usize| {
        vcpu.task[..task].iter_mut().for_each(|task| task.jitter = 0);
    };
    is_refuted(|system| bounds_of_each(system, forget), 4);
}

#[test]
fn no_blocking() {
    let forget = |vcpu: &mut Vcpu| each_task(vcpu, |task| task.blocking = 0);
    is_refuted(|system| bounds_of(system, forget), 3);
}

#[test]
fn suspension_as_jitter() {
    let forget = |vcpu: &mut Vcpu, task: usize| {
        for task in &mut vcpu.task[..task] {
            task.jitter += std::mem::take(&mut task.suspension);
        }
    };
    is_refuted(|system| bounds_of_each(system, forget), 5);
}

#[test]
fn only_the_first_job() {
    // As if no other came: of a busy period that goes on, later jobs can take longer.
    let forget = |vcpu: &mut Vcpu, task: usize| vcpu.task[task].period = LONGEST.0;
    is_refuted(|system| bounds_of_each(system, forget), 12);
}

#[test]
fn no_colors_of_tasks_between() {
    let forget = |vcpu: &mut Vcpu, task: usize| {
        let own = vcpu.task[task].colors;
        vcpu.task[..task].iter_mut().for_each(|task| task.colors &= own);
    };
    is_refuted(|system| bounds_of_each(system, forget), 5);
}

#[test]
fn one_nanosecond_less() {
    let forget = |system: &System| {
        let mut bounds = system.bounds();
        for bound in bounds.iter_mut().flatten().flatten() {
            bound.time = Duration(bound.time.0 - 1);
        }
        bounds
    };
    is_refuted(forget, 1);
}
