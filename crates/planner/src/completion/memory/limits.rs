//! Open limits of memory accesses, and their numbers.
//!
//! All open limits first get the same rate, the largest that is found. Then each limit, in the
//! order of the description, gets what is possible beyond that. A limit delays not only others: the
//! tasks of its own VCPU wait for it, so a larger limit is not always worse. Therefore rates are
//! tried from the largest down, in steps of a quarter, before the last step is searched.

use analysis::Duration;
use system::description::{Amount, Bandwidth, System};
use system::plan::BandwidthCounter;

use super::largest_between;

/// Nanoseconds of a second.
const SECOND: u128 = 1_000_000_000;

/// The owner of a limit: a VM, and one of its VCPUs or all of them.
type Owner = (usize, Option<usize>);

/// The limits that are open.
#[derive(Clone, Debug)]
pub struct Limits {
    owners: Vec<Owner>,
    /// The most accesses that each can have: more limit nothing, or cannot be counted.
    most: Vec<u64>,
    periods: Vec<Duration>,
}

impl Limits {
    /// Returns the limits of a description that are open.
    pub fn of(system: &System) -> Self {
        let owners = (0..system.vms.len()).flat_map(|vm| {
            let vcpus = (0..system.vms[vm].vcpus.len()).map(Some);
            std::iter::once(None).chain(vcpus).map(move |vcpu| (vm, vcpu))
        });
        let is_open = |&owner: &Owner| given(system, owner).is_some_and(Bandwidth::is_open);
        let owners: Vec<Owner> = owners.filter(is_open).collect();
        let period =
            |&owner: &Owner| given(system, owner).map_or(Duration(1), |limit| limit.period.value);
        let periods: Vec<Duration> = owners.iter().map(period).collect();
        let most = owners.iter().zip(&periods).map(|(owner, period)| most(system, *owner, *period));
        Self { most: most.collect(), periods, owners }
    }

    /// Returns the system with these numbers of accesses.
    fn with(&self, system: &System, accesses: &[u64]) -> System {
        let mut system = system.clone();
        for (&owner, &accesses) in self.owners.iter().zip(accesses) {
            if let Some(limit) = given_mut(&mut system, owner) {
                limit.amount.value = Amount::Accesses(accesses);
            }
        }
        system
    }

    /// Returns the system with limits of one access in each period.
    pub(super) fn least(&self, system: &System) -> System {
        self.with(system, &vec![1; self.owners.len()])
    }

    /// Returns the limits that allow this number of accesses in each second, as far as possible.
    fn at_rate(&self, rate: u64) -> Vec<u64> {
        let each = self.periods.iter().zip(&self.most).map(|(period, most)| {
            let accesses = u128::from(rate) * u128::from(period.0) / SECOND;
            u64::try_from(accesses).unwrap_or(u64::MAX).clamp(1, *most)
        });
        each.collect()
    }

    /// Returns the largest rate that limits something, in accesses of a second.
    fn highest(&self) -> Option<u64> {
        let rates = self.periods.iter().zip(&self.most).map(|(period, most)| {
            let rate = (u128::from(*most) * SECOND).div_ceil(u128::from(period.0.max(1)));
            u64::try_from(rate).unwrap_or(u64::MAX)
        });
        rates.max()
    }

    /// Returns common rates, each half of the one before, down to one access in each period.
    pub fn rates(&self) -> Vec<u64> {
        let mut rates: Vec<u64> = self.highest().into_iter().collect();
        while let Some(&last) = rates.last()
            && self.at_rate(last).iter().any(|accesses| *accesses > 1)
        {
            rates.push(last / 2);
        }
        rates
    }

    /// Returns the system with limits of this common rate, as far as possible.
    pub fn with_rate(&self, system: &System, rate: u64) -> System {
        self.with(system, &self.at_rate(rate))
    }

    /// Returns the accesses of each limit.
    pub fn accesses(&self, system: &System) -> Vec<u64> {
        let each = self.owners.iter().map(|&owner| match given(system, owner)?.amount.value {
            Amount::Accesses(accesses) => Some(accesses),
            _ => None,
        });
        each.map(|accesses| accesses.unwrap_or(1)).collect()
    }

    /// Returns the system with the limits of another one.
    pub fn of_other(&self, system: &System, other: &System) -> System {
        self.with(system, &self.accesses(other))
    }

    /// Returns the system with limits that are no more than they can be.
    pub fn capped(&self, system: &System) -> System {
        let accesses = self.accesses(system).into_iter().zip(&self.most);
        self.with(system, &accesses.map(|(it, most)| it.clamp(1, *most)).collect::<Vec<_>>())
    }

    /// Changes one of the limits by one of four factors.
    pub fn change(&self, system: &mut System, which: usize, how: usize) {
        const FACTORS: [(u64, u64); 4] = [(1, 2), (3, 4), (4, 3), (2, 1)];
        let mut accesses = self.accesses(system);
        let which = which % accesses.len().max(1);
        let (up, down) = FACTORS[how % FACTORS.len()];
        if let Some(it) = accesses.get_mut(which) {
            *it = (it.saturating_mul(up) / down).clamp(1, self.most[which]);
        }
        *system = self.with(system, &accesses);
    }

    /// Returns the system with the largest limits that are found; none if none are low enough.
    pub fn largest(&self, system: &System, fits: &dyn Fn(&System) -> bool) -> Option<System> {
        let ok = |rate: u64| fits(&self.with_rate(system, rate));
        let mut above = self.highest()?;
        let mut rate = above;
        let common = loop {
            if ok(rate) {
                break largest_between(rate, above, ok);
            }
            if self.at_rate(rate).iter().all(|accesses| *accesses == 1) {
                return None;
            }
            (above, rate) = (rate, rate - rate.div_ceil(4));
        };
        Some(self.grown(&self.with_rate(system, common), fits))
    }

    /// Returns the system, which fits, with each limit as large as possible, one after the other.
    pub fn grown(&self, system: &System, fits: &dyn Fn(&System) -> bool) -> System {
        self.grown_in(system, &(0..self.owners.len()).collect::<Vec<_>>(), fits)
    }

    /// Returns the same with larger limits of one VM only.
    pub fn grown_first(
        &self,
        system: &System,
        vm: usize,
        fits: &dyn Fn(&System) -> bool,
    ) -> System {
        let own = (0..self.owners.len()).filter(|&index| self.owners[index].0 == vm);
        self.grown_in(system, &own.collect::<Vec<_>>(), fits)
    }

    /// Returns the system with this part of the limits of all other VMs.
    pub fn lower(&self, system: &System, vm: usize, part: u64) -> System {
        let accesses = self
            .accesses(system)
            .into_iter()
            .zip(&self.owners)
            .map(|(it, owner)| if owner.0 == vm { it } else { (it / part.max(1)).max(1) });
        self.with(system, &accesses.collect::<Vec<_>>())
    }

    /// Returns the accesses that a VM may make in a second.
    pub fn of_vm(&self, system: &System, vm: usize) -> u128 {
        let all = self.accesses(system).into_iter().zip(&self.periods).zip(&self.owners);
        let own = all.filter(|(_, owner)| owner.0 == vm).map(|(it, _)| it);
        own.map(|(it, period)| u128::from(it) * SECOND / u128::from(period.0.max(1))).sum()
    }

    /// Returns the same with limits that grow in this order.
    fn grown_in(&self, system: &System, order: &[usize], fits: &dyn Fn(&System) -> bool) -> System {
        let mut accesses = self.accesses(system);
        for &index in order {
            let with = |count: u64| {
                let mut accesses = accesses.clone();
                accesses[index] = count;
                self.with(system, &accesses)
            };
            let more = largest_between(accesses[index], self.most[index].saturating_add(1), |it| {
                it <= self.most[index] && fits(&with(it))
            });
            accesses[index] = more;
        }
        self.with(system, &accesses)
    }

    /// Returns true if no limit can be larger.
    pub fn are_most(&self, system: &System) -> bool {
        self.accesses(system).iter().zip(&self.most).all(|(accesses, most)| accesses >= most)
    }

    /// Returns the accesses that all VMs may make in a second.
    pub fn sum(&self, system: &System) -> u128 {
        let pairs = self.accesses(system).into_iter().zip(&self.periods);
        pairs.map(|(it, period)| u128::from(it) * SECOND / u128::from(period.0.max(1))).sum()
    }
}

fn given(system: &System, (vm, vcpu): Owner) -> Option<&Bandwidth> {
    let vm = &system.vms[vm];
    match vcpu {
        Some(vcpu) => vm.vcpus[vcpu].bandwidth.as_ref(),
        None => vm.bandwidth.as_ref(),
    }
}

fn given_mut(system: &mut System, (vm, vcpu): Owner) -> Option<&mut Bandwidth> {
    let vm = &mut system.vms[vm];
    match vcpu {
        Some(vcpu) => vm.vcpus[vcpu].bandwidth.as_mut(),
        None => vm.bandwidth.as_mut(),
    }
}

/// Returns the most accesses of a limit that is one: as many as the memory serves in a period, and
/// as its counter can wait for.
fn most(system: &System, (vm, vcpu): Owner, period: Duration) -> u64 {
    let Some(counter) = &system.platform.value.bandwidth else { return 1 };
    let served = counter.latency.map_or(u64::MAX, |latency| period.0 / latency.0.max(1));
    let credits = system.vms[vm].compensation.as_ref().filter(|_| vcpu.is_none());
    let factor = credits.map_or(1, |it| u64::from(it.value.periods)).max(1);
    served.min(BandwidthCounter::largest_budget(counter.bits) / factor).max(1)
}
