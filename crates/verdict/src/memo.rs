//! Verdicts on many variants of a description, for a search.
//!
//! A verdict on a PCPU is a function of its VCPUs as the analysis sees them: their tasks, servers
//! and overheads, and the memory accesses of other PCPUs that delay them. Where locks matter, it is a
//! function of all VCPUs of all PCPUs with critical sections. These facts are made anew for each
//! variant, and all of them are the key by which a known verdict is found: a change that the memo
//! does not know of makes another key, and no wrong answer.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

use system::description::System;
use system::plan;

use crate::judge::members;
use crate::member::Member;
use crate::memory::Accesses;
use crate::pcpu::Detail;
use crate::verdict::PcpuVerdict;
use crate::{locks, pcpu};

/// Bytes of keys that are kept.
const ROOM: usize = 32 << 20;

/// Known verdicts.
#[derive(Debug, Default)]
pub struct Memo {
    pcpus: HashMap<Vec<u8>, Rc<PcpuVerdict>>,
    locks: HashMap<Vec<u8>, Rc<[Option<locks::Bounds>]>>,
    kept: usize,
}

/// A verdict on a PCPU.
#[derive(Clone, Debug)]
pub struct Known {
    /// The verdict; its bounds have no terms.
    pub verdict: Rc<PcpuVerdict>,
    /// True if it was computed now.
    pub is_new: bool,
}

impl Memo {
    /// Returns the verdict on a description, as [`crate::Verdict::of_description`], PCPU by PCPU.
    pub fn of_description(&mut self, system: &System, vcpus: &[Vec<plan::Vcpu>]) -> Vec<Known> {
        let names = system.vms.iter().map(|vm| vm.name.value.as_str());
        let vms: Vec<_> = names.zip(vcpus.iter().map(Vec::as_slice)).collect();
        let used = |pcpu| vcpus.iter().flatten().any(|vcpu| vcpu.pcpu.0 == pcpu);
        let console = plan::console(system.platform.value.cpus.len(), used);
        let slices: Vec<_> = vcpus.iter().map(Vec::as_slice).collect();
        let accesses = Accesses::new(system, &slices);
        let all = members(&vms, Some(system), accesses.as_ref(), Some(console));
        let (bounds, new_bounds) = self.bounds(system, &all);
        let mut rest = &bounds[..];
        let same = |one: &Member<'_>, other: &Member<'_>| one.vcpu.pcpu == other.vcpu.pcpu;
        let pcpus = all.chunk_by(same).map(|members| {
            let (own, others) = rest.split_at(members.len());
            rest = others;
            match own.iter().any(Option::is_some) {
                // Nothing but its bounds takes time.
                true => Known {
                    verdict: Rc::new(pcpu::verdict(members, own, Detail::Bounds)),
                    is_new: new_bounds,
                },
                false => self.pcpu(members, own),
            }
        });
        pcpus.collect()
    }

    fn pcpu(&mut self, members: &[Member<'_>], none: &[Option<locks::Bounds>]) -> Known {
        let mut key = Key::default();
        members.hash(&mut key);
        if let Some(known) = self.pcpus.get(&key.0) {
            return Known { verdict: Rc::clone(known), is_new: false };
        }
        let verdict = Rc::new(pcpu::verdict(members, none, Detail::Bounds));
        self.make_room(key.0.len());
        self.pcpus.insert(key.0, Rc::clone(&verdict));
        Known { verdict, is_new: true }
    }

    /// Returns the bounds of VCPUs that locks affect, and true if they were computed now.
    fn bounds(
        &mut self,
        system: &System,
        all: &[Member<'_>],
    ) -> (Rc<[Option<locks::Bounds>]>, bool) {
        if all.iter().flat_map(|it| &it.sections).all(Vec::is_empty) {
            return (vec![None; all.len()].into(), false);
        }
        let mut key = Key::default();
        system.locks.hash(&mut key);
        for resource in &system.resources {
            (resource.inter_vm, &resource.vms).hash(&mut key);
        }
        // All: also the order of priorities counts.
        all.hash(&mut key);
        if let Some(known) = self.locks.get(&key.0) {
            return (Rc::clone(known), false);
        }
        let bounds: Rc<[_]> = locks::bounds(system, all).into();
        self.make_room(key.0.len());
        self.locks.insert(key.0, Rc::clone(&bounds));
        (bounds, true)
    }

    fn make_room(&mut self, bytes: usize) {
        self.kept += bytes;
        if self.kept > ROOM {
            self.pcpus.clear();
            self.locks.clear();
            self.kept = bytes;
        }
    }
}

/// Keeps all that is hashed: equal keys are equal facts, and no two others have one key.
#[derive(Default)]
struct Key(Vec<u8>);

impl Hasher for Key {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn finish(&self) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use analysis::Duration;
    use system::description::{Amount, Located};
    use system::plan::Budget;
    use testing::{Large, Random};

    use super::*;
    use crate::Verdict;

    fn system(seed: u64) -> System {
        let random = &mut Random::new(seed);
        let large = Large {
            pcpus: random.between(2, 4),
            vms: random.between(2, 4),
            vcpus: random.between(1, 3),
            tasks: random.between(4, 16),
            resources: [0, 2, 4][random.below(3) as usize],
            colors: random.one_in(2),
            limits: random.one_in(2),
            load: random.between(20, 80),
            seed,
            ..Large::default()
        };
        let text = large.to_toml();
        System::from_toml("s.toml", &text, Path::new("")).unwrap_or_else(|it| panic!("{it}"))
    }

    /// Changes one decision.
    fn change(system: &mut System, random: &mut Random) {
        let pcpus = system.platform.value.cpus.len() as u64;
        let vm = random.below(system.vms.len() as u64) as usize;
        let vm = &mut system.vms[vm];
        let place = vm.name.place.clone();
        let vcpu = random.below(vm.vcpus.len() as u64) as usize;
        match random.below(6) {
            0 => vm.vcpus[vcpu].pcpu = Some(Located::new(random.below(pcpus), &place)),
            1 | 2 => {
                let period = random.of(&[2_000_000, 4_000_000, 5_000_000]);
                let budget = Duration(random.between(1, period / 8_000) * 4_000);
                let budget = Budget { budget, period: Duration(period) };
                let server = vm.vcpus[vcpu].server.as_mut().expect("a server");
                server.class.value = server.class.value.with_budget(budget);
            }
            3 => {
                let task = random.below(vm.tasks.len().max(1) as u64) as usize;
                vm.tasks.iter_mut().skip(task).take(1).for_each(|task| task.vcpu = vcpu);
            }
            4 => {
                let limits = vm.vcpus.iter_mut().filter_map(|vcpu| vcpu.bandwidth.as_mut());
                limits.for_each(|it| it.amount.value = Amount::Accesses(random.between(1, 2_000)));
            }
            _ => {
                let fewer = |set: &mut Located<policy::color::ColorSet>| {
                    let count = random.between(1, set.value.len().into());
                    set.value = set.value.iter().take(count as usize).collect();
                };
                vm.colors.iter_mut().for_each(fewer);
            }
        }
    }

    /// A known verdict is the one that is computed anew, for changes of one system and for others with the
    /// same memo.
    #[test]
    fn it_says_what_the_verdict_says() {
        let mut memo = Memo::default();
        let (mut known, mut new, mut yes) = (0, 0, 0);
        for seed in 0..60 {
            let mut system = system(seed);
            let mut random = Random::new(seed);
            let mut before = Vec::new();
            for _ in 0..25 {
                // Back to one that is known, sometimes.
                if random.one_in(4)
                    && let Some(old) = before.pop()
                {
                    system = old;
                }
                before.push(system.clone());
                change(&mut system, &mut random);
                let vcpus = plan::assign(&system).expect("PCPUs");
                let mut fresh = Verdict::of_description(&system, &vcpus);
                let tasks = fresh.pcpus.iter_mut().flat_map(|pcpu| &mut pcpu.vcpus);
                tasks.flat_map(|vcpu| &mut vcpu.tasks).for_each(|task| task.terms.clear());
                let found = memo.of_description(&system, &vcpus);
                new += found.iter().filter(|it| it.is_new).count();
                known += found.iter().filter(|it| !it.is_new).count();
                yes += usize::from(fresh.schedulable);
                let found: Vec<_> = found.iter().map(|it| (*it.verdict).clone()).collect();
                assert_eq!(found, fresh.pcpus, "{seed}");
            }
        }
        assert!(known > 200 && new > 200 && yes > 20, "{known} {new} {yes}");
    }

    #[test]
    fn it_forgets_before_it_grows_too_large() {
        let system = system(1);
        let vcpus = plan::assign(&system).expect("PCPUs");
        let mut memo = Memo { kept: ROOM, ..Memo::default() };
        memo.of_description(&system, &vcpus);
        assert!(memo.kept < ROOM / 2);
    }
}
