//! Reasons why no decisions make a plan.

use std::cmp::Reverse;

use system::description::{System, Task};

use super::super::pcpus::{all, vcpu};

/// Millionths of a millionth: an amount that is rounded away is no reason.
const WHOLE: u128 = 1_000_000_000_000;
/// Steps of the search for a way to put shares into PCPUs or VCPUs.
const STEPS: u64 = 50_000;

/// A condition that every plan fulfils, and that this description does not.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Certificate {
    /// All tasks together need more than all PCPUs: in hundredths of a PCPU.
    Pcpus { needed: u64, pcpus: usize },
    /// The tasks of a VM need more than its VCPUs can have.
    Vcpus { vm: usize, needed: u64, vcpus: usize },
    /// No assignment of these VCPUs to PCPUs gives each what its tasks, or its budget, need.
    Packing { vcpus: usize, pcpus: usize },
    /// No assignment of the tasks of a VM to its VCPUs gives each what it needs.
    Tasks { vm: usize, tasks: usize, vcpus: usize },
}

/// Returns a reason why there is no plan, if one is found. It rests on nothing but processor time:
/// each task needs at least its shortest execution time in each period, each VCPU its given budget,
/// and there is no more than all time of a PCPU.
pub fn certificate(system: &System) -> Option<Certificate> {
    let pcpus = system.platform.value.cpus.len();
    let vcpus = all(system);
    // What is given or pinned to each VCPU.
    let mut needs: Vec<Vec<u128>> = system.vms.iter().map(|vm| vec![0; vm.vcpus.len()]).collect();
    let mut loose: Vec<u128> = vec![0; system.vms.len()];
    for (vm, described) in system.vms.iter().enumerate() {
        for task in &described.tasks {
            match needs[vm].get_mut(task.vcpu).filter(|_| !task.vcpu_open) {
                Some(need) => *need += share(task),
                None => loose[vm] += share(task),
            }
        }
        let all: u128 = needs[vm].iter().sum::<u128>() + loose[vm];
        if all > WHOLE * described.vcpus.len() as u128 {
            let (needed, vcpus) = (hundredths(all), described.vcpus.len());
            return Some(Certificate::Vcpus { vm, needed, vcpus });
        }
        if described.tasks.iter().all(|task| task.vcpu_open) {
            let shares: Vec<u128> = described.tasks.iter().map(share).collect();
            if cannot_be_packed(shares, described.vcpus.len()) {
                let (tasks, vcpus) = (described.tasks.len(), described.vcpus.len());
                return Some(Certificate::Tasks { vm, tasks, vcpus });
            }
        }
    }
    for &(vm, index) in &vcpus {
        let described = vcpu(system, (vm, index));
        let need = &mut needs[vm][index];
        match &described.server {
            // It has all of its PCPU.
            None => *need = WHOLE,
            Some(server) if !server.open => {
                if let Some(budget) = server.class.value.budget() {
                    *need = budget.share() / 1_000_000;
                }
            }
            Some(_) => {}
        }
    }
    let all: u128 = needs.iter().flatten().sum::<u128>() + loose.iter().sum::<u128>();
    // Tasks that are not given to a VCPU may be on one whose budget is given.
    let is_plain = loose.iter().all(|need| *need == 0);
    if is_plain && all > WHOLE * pcpus as u128 {
        return Some(Certificate::Pcpus { needed: hundredths(all), pcpus });
    }
    let shares: Vec<u128> = needs.into_iter().flatten().filter(|need| *need > 0).collect();
    let vcpus = shares.len();
    cannot_be_packed(shares, pcpus).then_some(Certificate::Packing { vcpus, pcpus })
}

fn hundredths(share: u128) -> u64 {
    u64::try_from(share / (WHOLE / 100)).unwrap_or(u64::MAX)
}

/// Returns the least need of a task, rounded down.
fn share(task: &Task) -> u128 {
    u128::from(task.wcet.shortest().0) * WHOLE / u128::from(task.period.0.max(1))
}

/// Returns true if it is certain that these shares do not go into `places` places.
fn cannot_be_packed(mut shares: Vec<u128>, places: usize) -> bool {
    shares.sort_by_key(|share| Reverse(*share));
    let mut room = vec![WHOLE; places];
    let mut steps = STEPS;
    packed(&shares, &mut room, &mut steps) == Some(false)
}

/// Returns `Some(true)` if the shares go into the room, `Some(false)` if not; `None` if that is not known after all steps.
fn packed(shares: &[u128], room: &mut [u128], steps: &mut u64) -> Option<bool> {
    let Some((&next, rest)) = shares.split_first() else { return Some(true) };
    *steps = steps.checked_sub(1)?;
    if shares.iter().sum::<u128>() > room.iter().sum::<u128>() {
        return Some(false);
    }
    let mut tried = Vec::new();
    for place in 0..room.len() {
        // Places with the same room are alike.
        if room[place] < next || tried.contains(&room[place]) {
            continue;
        }
        tried.push(room[place]);
        room[place] -= next;
        let found = packed(rest, room, steps);
        room[place] += next;
        if found != Some(false) {
            return found;
        }
    }
    Some(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_packed_if_there_is_a_way() {
        let of = |parts: &[u128]| parts.iter().map(|part| WHOLE / 10 * part).collect::<Vec<_>>();
        assert!(!cannot_be_packed(of(&[5, 4, 3, 3, 3, 2]), 2));
        assert!(cannot_be_packed(of(&[6, 6, 6]), 2), "no two go together");
        assert!(!cannot_be_packed(of(&[6, 6, 4, 4]), 2));
        assert!(cannot_be_packed(of(&[7, 7, 4, 2]), 2));
        assert!(cannot_be_packed(of(&[11]), 4), "more than a place");
        assert!(!cannot_be_packed(Vec::new(), 0));
        // Not known within the steps: no reason.
        let many: Vec<u128> = (0..60).map(|it| WHOLE / 3 + it * 7_919).collect();
        assert!(!cannot_be_packed(many, 21));
    }
}
