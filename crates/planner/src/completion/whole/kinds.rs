//! Kinds of servers, overrun, and the protocol of locks, where they are open.
//!
//! They are decided in a few simple ways at first: all servers of one kind, all or none with
//! overrun, each of the protocols. Then single ones change: at random where no plan holds yet, and
//! one after the other where that makes budgets smaller.

use analysis::Duration;
use policy::server::kind::Kind;
use system::description::{Server, System};
use system::plan::{Budget, Class, Locks};

use super::super::memory::Limits;
use super::super::pcpus::{At, all, given, vcpu};
use super::super::problem::grain;
use super::super::{Obstacle, set_class, verdict};
use super::candidate::Candidate;
use super::fill::{Weights, fill};
use super::judge::{Judge, Share};
use super::open::{Kinds, Open};
use super::overrun::fit;
use super::random::Random;
use super::{Request, finish, is_plan, value};

#[cfg(test)]
mod tests;

/// The kinds, the preferred first where budgets are the same: a deferrable server keeps what its
/// VCPU does not use, and a sporadic one has it back sooner than a periodic one.
const KINDS: [Kind; 3] = [Kind::Deferrable, Kind::Sporadic, Kind::Periodic];

/// A single decision that can be changed.
#[derive(Clone, Copy, Debug)]
enum Decision {
    Kind(At),
    Overrun(At),
    Locks,
}

/// Returns the description with all of this decided in simple ways; only itself if nothing of it is
/// open.
pub fn starts(system: &System) -> Vec<System> {
    let open = Kinds::of(system);
    if open.is_empty() {
        return vec![system.clone()];
    }
    let kinds = match open.servers.is_empty() {
        true => &[Kind::Deferrable][..],
        false => &[Kind::Deferrable, Kind::Periodic, Kind::Sporadic][..],
    };
    let protocols = if open.locks { &Locks::ALL[..] } else { &[system.locks][..] };
    let overruns = if open.overruns.is_empty() { &[false][..] } else { &[false, true][..] };
    let mut all = Vec::new();
    for &kind in kinds {
        for &protocol in protocols {
            let may = |overrun: &&bool| !**overrun || protocol == Locks::Vmpcp;
            for &overrun in overruns.iter().filter(may) {
                all.push(decided(system, kind, protocol, overrun));
            }
        }
    }
    all
}

/// Returns the description with all of this as it is in a plan.
pub fn fixed(system: &System, planned: &System) -> System {
    let mut fixed = system.clone();
    if fixed.locks_open.take().is_some() {
        fixed.locks = planned.locks;
    }
    for at in all(system) {
        let chosen = vcpu(planned, at).server.as_ref();
        let server = fixed.vms[at.0].vcpus[at.1].server.as_mut();
        let (Some(server), Some(chosen)) = (server, chosen) else { continue };
        if let (Some(_), Some(kind)) = (server.kind_open.take(), kind_of(chosen)) {
            set_kind(server, kind);
        }
        if server.overrun_open.take().is_some() {
            server.overrun.clone_from(&chosen.overrun);
        }
    }
    fixed
}

fn decided(system: &System, kind: Kind, protocol: Locks, overrun: bool) -> System {
    let mut system = system.clone();
    if system.locks_open.take().is_some() {
        system.locks = protocol;
    }
    for server in system.vms.iter_mut().flat_map(|vm| &mut vm.vcpus) {
        let Some(server) = server.server.as_mut() else { continue };
        // Where overrun is given, there are kinds that cannot have it.
        if server.kind_open.take().is_some() && may_be(server, kind) {
            set_kind(server, kind);
        }
        if let Some(place) = server.overrun_open.take() {
            let may = kind_of(server).is_some_and(Kind::may_overrun);
            server.overrun = (overrun && may).then_some(place);
        }
    }
    system
}

/// Returns true if the server can be of this kind with the overrun that it has.
fn may_be(server: &Server, kind: Kind) -> bool {
    server.overrun.is_none() || kind.may_overrun()
}

fn set_kind(server: &mut Server, kind: Kind) {
    if let Class::Reserved(_, budget) = server.class.value {
        server.class.value = Class::Reserved(kind, budget);
    }
}

fn kind_of(server: &Server) -> Option<Kind> {
    match server.class.value {
        Class::Reserved(kind, _) => Some(kind),
        Class::Background => None,
    }
}

/// Returns the best of the plans that `plan` makes of the description with all of this decided;
/// `plan` learns whether it is asked for the first time. If none holds, the result for the first.
pub fn best(
    system: &System,
    plan: impl Fn(&System, bool) -> Result<System, Obstacle>,
) -> Result<System, Obstacle> {
    let open = Open::of(system);
    if open.kinds.is_empty() {
        return plan(system, true);
    }
    let limits = open.limits.then(|| Limits::of(system));
    let (mut best, mut first) = (None, None);
    for (number, start) in starts(system).iter().enumerate() {
        let planned = plan(start, number == 0).map(|mut planned| {
            fit(&mut planned, &open);
            planned
        });
        match planned {
            Ok(planned) if is_plan(&planned) && holds(&planned) => {
                let value = value(limits.as_ref(), &planned);
                if best.as_ref().is_none_or(|(least, _)| value < *least) {
                    best = Some((value, planned));
                }
            }
            // Of the others, what is wrong is a choice that is not possible.
            Err(Obstacle::Input(errors)) if number == 0 => return Err(Obstacle::Input(errors)),
            other => _ = first.get_or_insert(other),
        }
    }
    match (best, first) {
        (Some((_, best)), _) => Ok(best),
        (None, Some(first)) => first,
        (None, None) => plan(system, true),
    }
}

fn holds(system: &System) -> bool {
    verdict(system).is_some_and(|verdict| verdict.schedulable)
}

/// Returns a plan that holds with single decisions changed, as far as that makes budgets smaller.
pub fn improved(system: &System, planned: System, request: &Request<'_>) -> System {
    let open = Open::of(system);
    improve(&Judge::new(request), &open, planned)
}

/// Improves a plan like [`improved`], with its judge and the open parts.
pub fn improve(judge: &Judge<'_>, open: &Open, planned: System) -> System {
    let mut best = planned;
    for decision in decisions_of(&open.kinds) {
        for changed in others(&best, open, decision) {
            if judge.is_done() {
                return best;
            }
            let starts = smaller(&changed, open, decision);
            let holding = std::iter::once(changed).chain(starts).find(|it| judge.holds(it));
            let Some(changed) = holding else { continue };
            // What the change allows to the VCPUs of the same PCPU.
            let pcpu = match decision {
                Decision::Kind(at) | Decision::Overrun(at) => given(&changed, at),
                Decision::Locks => None,
            };
            let is_near = |at: &At| pcpu.is_none() || given(&changed, *at) == pcpu;
            let budgets = open.budgets.iter().copied().filter(is_near).collect();
            let small = finish::shrink(judge, &Open { budgets, ..open.clone() }, changed);
            if cost(&small) < cost(&best) && judge.holds(&small) && is_plan(&small) {
                best = small;
            }
        }
    }
    best
}

/// Returns a description with smaller budgets of the VCPU of a decision, if its budget is open:
/// where the largest leaves too little for overrun, or for others, a smaller one can hold.
fn smaller(system: &System, open: &Open, decision: Decision) -> Vec<System> {
    let (Decision::Kind(at) | Decision::Overrun(at)) = decision else { return Vec::new() };
    let budget = vcpu(system, at).server.as_ref().and_then(|it| it.class.value.budget());
    let Some(budget) = budget.filter(|_| open.budgets.contains(&at)) else { return Vec::new() };
    let grain = grain(system).0.0.max(1);
    let part = |eighths: u64| {
        let less = Duration(budget.budget.0 / 8 * eighths / grain * grain);
        let mut changed = system.clone();
        set_class(&mut changed, at, |class| class.with_budget(Budget { budget: less, ..budget }));
        (less >= Budget::SHORTEST).then_some(changed)
    };
    (2..8).rev().filter_map(part).collect()
}

/// Returns a cost that is least for the best plan: that of budgets, and then that of kinds by preference.
fn cost(system: &System) -> (u64, usize) {
    let kinds = all(system).into_iter().filter_map(|at| kind_of(vcpu(system, at).server.as_ref()?));
    let rank = |kind: Kind| KINDS.iter().position(|it| *it == kind).unwrap_or(KINDS.len());
    (finish::share(system), kinds.map(rank).sum())
}

fn decisions_of(open: &Kinds) -> Vec<Decision> {
    let kinds = open.servers.iter().map(|at| Decision::Kind(*at));
    let overruns = open.overruns.iter().map(|at| Decision::Overrun(*at));
    kinds.chain(overruns).chain(open.locks.then_some(Decision::Locks)).collect()
}

/// Returns a complete description with each other choice for this decision that is possible.
fn others(system: &System, open: &Open, decision: Decision) -> Vec<System> {
    let mut all: Vec<System> = match decision {
        Decision::Kind((vm, index)) => {
            let of = |kind: Kind| {
                let mut changed = system.clone();
                let server = changed.vms[vm].vcpus[index].server.as_mut()?;
                // Overrun that is given stays, and one that was chosen goes.
                let keeps = !open.kinds.overruns.contains(&(vm, index));
                let is_other = kind_of(server).is_some_and(|own| own != kind);
                (is_other && (!keeps || may_be(server, kind))).then(|| set_kind(server, kind))?;
                Some(changed)
            };
            KINDS.into_iter().filter_map(of).collect()
        }
        Decision::Overrun((vm, index)) => {
            let mut changed = system.clone();
            let place = changed.vms[vm].name.place.clone();
            if let Some(server) = changed.vms[vm].vcpus[index].server.as_mut() {
                server.overrun = server.overrun.is_none().then_some(place);
            }
            vec![changed]
        }
        Decision::Locks => {
            let other = Locks::ALL.into_iter().filter(|it| *it != system.locks);
            other.map(|locks| System { locks, ..system.clone() }).collect()
        }
    };
    all.iter_mut().for_each(|changed| fit(changed, open));
    all.retain(|changed| changed != system);
    all
}

/// Returns the candidate with one random change of what is open here: kinds on the PCPU of `it`,
/// overrun anywhere, or the protocol.
pub fn change(
    open: &Open,
    from: &Candidate,
    it: &Share,
    random: &mut Random,
) -> Option<(System, Weights)> {
    let mut decisions = decisions_of(&open.kinds);
    decisions.retain(|decision| match decision {
        Decision::Kind(at) => given(&from.system, *at) == Some(it.pcpu as usize),
        Decision::Overrun(_) | Decision::Locks => true,
    });
    let decision = *random.of(&decisions)?;
    let mut changed = random.of(&others(&from.system, open, decision))?.clone();
    let mut weights = from.weights.clone();
    if let Decision::Kind(at) | Decision::Overrun(at) = decision {
        let pcpu = given(&changed, at)?;
        weights.caps[pcpu] = super::judge::WHOLE;
        fill(&mut changed, open, &weights, pcpu);
    }
    Some((changed, weights))
}

/// Returns all of this that is decided in a complete description, as numbers.
pub fn decisions(system: &System) -> Vec<u64> {
    let of = |server: &Server| {
        let kind = kind_of(server).map_or(0, |kind| 1 + kind as u64);
        2 * kind + u64::from(server.overrun.is_some())
    };
    let each = |at: At| vcpu(system, at).server.as_ref().map_or(0, of);
    let protocol = u64::from(system.locks == Locks::Mpcp);
    all(system).into_iter().map(each).chain([protocol]).collect()
}
