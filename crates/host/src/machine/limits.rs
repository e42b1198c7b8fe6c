//! Limits of memory accesses: the budgets that the VCPUs of a VM share, on whatever PCPUs, and who gets credits.
//!
//! The lock of a budget serves in order, and is held for a constant number of instructions, as that of [`super::locks`].

use policy::bandwidth::{Compensation, Grant, Parameters, ParametersError, Pool, Side};
use policy::time::{Duration, Instant};
use spin::mutex::TicketMutex;
use vmm::Event;

use super::{Id, Seats};

/// The limits of memory accesses. The schedulers have those of single VCPUs.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The event that counts as an access.
    pub event: Event,
    /// The VMs in their order.
    pub vms: Vec<VmLimits>,
}

/// The limits of a VM.
#[derive(Clone, Copy, Debug, Default)]
pub struct VmLimits {
    /// Some of its VCPUs have limits of their own.
    pub own: bool,
    /// The limit for all of its VCPUs together.
    pub shared: Option<SharedLimit>,
    /// Others get credits for accesses that the VM does not make.
    pub critical: bool,
}

/// A limit for all VCPUs of a VM.
#[derive(Clone, Copy, Debug)]
pub struct SharedLimit {
    /// Accesses in each period.
    pub accesses: u64,
    /// Nanoseconds of a period.
    pub period: u64,
    /// Credits for accesses that critical VMs do not make.
    pub credits: Option<Credits>,
}

/// Credits of a VM.
#[derive(Clone, Copy, Debug)]
pub struct Credits {
    /// The VM gives them up after as many periods.
    pub periods: u32,
    /// It also gives them up if the guest of a critical VM has switched its address space.
    pub flush_task_switch: bool,
}

impl Limits {
    /// Returns true if accesses to memory are counted, and not time or instructions.
    pub fn counts_memory(&self) -> bool {
        !matches!(self.event, Event::Clock | Event::Cycles | Event::Instructions)
    }

    /// Returns the event that a PCPU with these VCPUs has to count, if it has to count.
    pub fn counted_on(&self, seats: &Seats) -> Option<Event> {
        let compensates = self.vms.iter().any(|vm| vm.credits().is_some());
        let counts = |id: &Id| {
            let vm = self.vms.get(usize::from(id.vm));
            vm.is_some_and(|vm| vm.own || vm.shared.is_some() || vm.critical && compensates)
        };
        seats.vcpus.iter().any(counts).then_some(self.event)
    }
}

impl VmLimits {
    fn credits(&self) -> Option<Credits> {
        self.shared?.credits
    }
}

/// The budgets of all VMs, as the threads of PCPUs have them in common.
#[derive(Debug)]
pub struct Pools {
    vms: Vec<(VmLimits, Option<TicketMutex<Pool>>)>,
    start: u64,
    counts_memory: bool,
}

impl Pools {
    /// Makes the budgets of VMs on these PCPUs. Their first periods begin at `start`.
    pub fn new(limits: &Limits, pcpus: &[Seats], start: u64) -> Result<Self, ParametersError> {
        let has = |seats: &Seats, is: &dyn Fn(usize) -> bool| {
            seats.vcpus.iter().any(|id| is(usize::from(id.vm)))
        };
        let is_critical = |vm: usize| limits.vms.get(vm).is_some_and(|vm| vm.critical);
        let critical = (0..u64::BITS).zip(pcpus).filter(|(_, seats)| has(seats, &is_critical));
        let sides = critical.fold(0, |sides, (pcpu, _)| sides | 1u64 << pcpu);
        let pool = |(number, vm): (usize, &VmLimits)| {
            let Some(shared) = vm.shared else { return Ok((*vm, None)) };
            let here = pcpus.iter().filter(|seats| has(seats, &|it| it == number)).count();
            let (budget, period) = (shared.accesses, Duration(shared.period));
            let parameters = Parameters { budget, period, start: Instant(start) };
            let pool = Pool::new(parameters, here as u64)?;
            let pool = match shared.credits {
                Some(it) => pool.with_compensation(Compensation::new(it.periods, sides)?),
                None => pool,
            };
            Ok((*vm, Some(TicketMutex::new(pool))))
        };
        let vms = limits.vms.iter().enumerate().map(pool).collect::<Result<_, _>>()?;
        Ok(Self { vms, start, counts_memory: limits.counts_memory() })
    }

    /// Returns true if accesses to memory are counted.
    pub fn counts_memory(&self) -> bool {
        self.counts_memory
    }

    /// Returns true if others get credits for accesses that the VM does not make.
    pub fn is_critical(&self, vm: u8) -> bool {
        self.vms.get(usize::from(vm)).is_some_and(|(limits, _)| limits.critical)
    }

    /// Returns what a PCPU with critical VCPUs has to count, for each VM that gets credits.
    pub fn sides(&self) -> impl Iterator<Item = (usize, Side, Credits)> {
        let start = Instant(self.start);
        self.vms.iter().enumerate().filter_map(move |(vm, (limits, _))| {
            let shared = limits.shared?;
            Some((vm, Side::new(Duration(shared.period), start), shared.credits?))
        })
    }

    /// Calls `act` with the budget of a VM, if its VCPUs share one. `act` must wait for nothing.
    pub fn with<T>(&self, vm: usize, act: impl FnOnce(&mut Pool) -> T) -> Option<T> {
        let (_, pool) = self.vms.get(vm)?;
        Some(act(&mut pool.as_ref()?.lock()))
    }

    /// Returns true if a grant of a VM at `now` ends with the period after the current one, because other PCPUs are in the next
    /// period already.
    pub fn is_later(&self, vm: usize, grant: Grant, now: Instant) -> bool {
        let shared = self.vms.get(vm).and_then(|(limits, _)| limits.shared);
        let period = shared.map_or(0, |it| it.period);
        now.0 >= self.start && (grant.until - now).0 > period
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: u64 = 1_000;
    const START: u64 = 10_000;

    fn limits(credits: Option<Credits>) -> Limits {
        let shared = Some(SharedLimit { accesses: 800, period: PERIOD, credits });
        let critical = VmLimits { critical: true, ..VmLimits::default() };
        let vms = vec![VmLimits { shared, ..VmLimits::default() }, critical, VmLimits::default()];
        Limits { event: Event::CacheMisses, vms }
    }

    /// The first VM is on PCPUs 0 and 1, the critical one on 2, the third on 3.
    fn pcpus() -> Vec<Seats> {
        let seats = |vm, vcpu| Seats { cpu: 0, vcpus: vec![Id { vm, vcpu }] };
        vec![seats(0, 0), seats(0, 1), seats(1, 0), seats(2, 0)]
    }

    #[test]
    fn vcpus_on_several_pcpus_take_parts_and_give_back_what_is_left() {
        let pools = Pools::new(&limits(None), &pcpus(), START).expect("budgets");
        let take = |now| pools.with(0, |pool| pool.take(0, Instant(now))).expect("a budget");
        assert_eq!(take(START - 1).accesses, 0);
        // A quarter of the share of each PCPU.
        let grants: Vec<u64> = (0..9).map(|_| take(START).accesses).collect();
        assert_eq!(grants, [100, 100, 100, 100, 100, 100, 100, 100, 0]);
        let rest = Grant { accesses: 30, until: Instant(START + PERIOD) };
        pools.with(0, |pool| pool.give_back(rest));
        assert_eq!(take(START + PERIOD - 1).accesses, 30);
        let next = take(START + PERIOD);
        assert!(pools.is_later(0, next, Instant(START)));
        assert!(!pools.is_later(0, next, Instant(START + PERIOD)));
        assert!(pools.with(2, |_| ()).is_none() && pools.with(9, |_| ()).is_none());
    }

    #[test]
    fn only_pcpus_with_critical_vcpus_report_accesses() {
        let credits = Some(Credits { periods: 2, flush_task_switch: false });
        let pools = Pools::new(&limits(credits), &pcpus(), START).expect("budgets");
        let all = |now| {
            let grants = (0..20).map(|_| pools.with(0, |pool| pool.take(0, Instant(now))));
            grants.map(|it| it.expect("a budget").accesses).sum::<u64>()
        };
        let report =
            |pcpu, accesses, end| pools.with(0, |pool| pool.report(pcpu, accesses, Instant(end)));
        assert_eq!(all(START), 800);
        // Each access of the critical VM waits for one of each of the two PCPUs.
        report(3, 0, START + PERIOD);
        report(2, 100, START + PERIOD);
        assert_eq!(all(START + PERIOD), 800 + 600);
        assert_eq!(
            pools.sides().map(|(vm, side, _)| (vm, side.end().0)).collect::<Vec<_>>(),
            [(0, START)]
        );
    }

    #[test]
    fn pcpus_count_where_it_matters() {
        let counts = |credits| {
            let limits = limits(credits);
            pcpus().iter().map(|seats| limits.counted_on(seats).is_some()).collect::<Vec<_>>()
        };
        assert_eq!(counts(None), [true, true, false, false]);
        let credits = Some(Credits { periods: 2, flush_task_switch: false });
        assert_eq!(counts(credits), [true, true, true, false]);
        assert!(limits(None).counts_memory());
        assert!(!Limits { event: Event::Clock, vms: Vec::new() }.counts_memory());
    }
}
