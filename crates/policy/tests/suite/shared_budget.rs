//! CPUs whose VCPUs share a memory budget.

use policy::bandwidth::{Account, Parameters, Pool};
use policy::cpu::{Cpu, Decision, Event, Slot, WHOLE_CPU};
use policy::server::{self, Policy};
use policy::time::{Duration, Instant};
use proptest::prelude::*;

const END: u64 = 300;

fn parameters() -> impl Strategy<Value = Parameters> {
    (1u64..30, 1u64..40, 0u64..10).prop_map(|(budget, period, start)| {
        let (period, start) = (Duration(period), Instant(start));
        Parameters { budget, period, start }
    })
}

/// A VCPU that shares the budget or has none: its server.
type Vcpu = (Policy, bool);

fn vcpus() -> impl Strategy<Value = Vec<Vcpu>> {
    let times = (1u64..10, 0u64..20).prop_map(|(budget, rest)| server::Parameters {
        budget: Duration(budget),
        period: Duration(budget + rest),
        start: Instant(0),
        overrun: Duration::ZERO,
    });
    let policy = prop_oneof![
        times.clone().prop_map(Policy::Periodic),
        times.clone().prop_map(Policy::Deferrable),
        times.prop_map(Policy::Sporadic),
        Just(WHOLE_CPU),
    ];
    prop::collection::vec((policy, prop::bool::weighted(0.7)), 1..4)
}

/// CPU, VCPU, and whether it wakes or sleeps, at a tick.
type Change = (u64, usize, usize);

fn changes() -> impl Strategy<Value = Vec<Change>> {
    prop::collection::vec((0u64..9, 0usize..3, 0usize..3), 1..60).prop_map(|changes| {
        let mut now = 0;
        changes.into_iter().map(|(gap, cpu, vcpu)| ((now += gap, now).1, cpu, vcpu)).collect()
    })
}

/// A CPU with its VCPUs, and what the one that runs has made since that was told.
struct Machine {
    cpu: Cpu<Vec<Slot>>,
    shares: Vec<bool>,
    decision: Decision,
    made: u64,
    /// Accesses of its VCPUs that share the budget, in each tick.
    accesses: Vec<u64>,
}

impl Machine {
    fn new(vcpus: &[Vcpu], account: impl Fn() -> Account, pool: &mut Pool) -> Self {
        let slot = |&(policy, shares): &Vcpu| {
            let slot = Slot::new(policy).unwrap();
            if shares { slot.with_account(account()) } else { slot }
        };
        let mut cpu = Cpu::new(vcpus.iter().map(slot).collect::<Vec<_>>());
        let decision = cpu.step(Event::Tick, Instant(0), pool);
        let shares = vcpus.iter().map(|(_, shares)| *shares).collect();
        Self { cpu, shares, decision, made: 0, accesses: Vec::new() }
    }

    fn tell(&mut self, event: Event, now: u64, pool: &mut Pool) {
        if let Some(ran) = self.decision.run {
            self.cpu.account(ran, std::mem::take(&mut self.made));
        }
        self.decision = self.cpu.step(event, Instant(now), pool);
    }

    /// The tick that begins at `now`; whoever runs makes so many accesses, but no more than it may.
    fn tick(&mut self, now: u64, wakes: &[usize], accesses: u64, pool: &mut Pool) {
        for vcpu in wakes {
            let vcpu = vcpu % self.cpu.slots().len();
            let ready = self.cpu.slots()[vcpu].is_ready();
            self.tell(if ready { Event::Block(vcpu) } else { Event::Wake(vcpu) }, now, pool);
        }
        if let (Some(ran), Some(most)) = (self.decision.run, self.cpu.accesses())
            && self.made >= most
        {
            self.tell(Event::Overflow(ran), now, pool);
        }
        if self.decision.timer.is_some_and(|timer| timer.0 <= now) {
            self.tell(Event::Tick, now, pool);
        }
        let made = match (self.decision.run, self.cpu.accesses()) {
            (None, _) => 0,
            (_, None) => accesses,
            (_, Some(most)) => accesses.min(most - self.made),
        };
        let shares = self.decision.run.is_some_and(|run| self.shares[run]);
        assert_eq!(self.cpu.accesses().is_some(), shares);
        self.made += made;
        self.accesses.push(if shares { made } else { 0 });
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(2_000)))]

    #[test]
    fn all_together_make_the_accesses_of_the_budget(
        parameters in parameters(),
        cpus in prop::collection::vec((vcpus(), 0u64..5), 1..4),
        changes in changes(),
    ) {
        let mut pool = Pool::new(parameters, cpus.len() as u64).unwrap();
        let mut machines: Vec<_> =
            cpus.iter().map(|(vcpus, _)| Machine::new(vcpus, Account::shared, &mut pool)).collect();
        for now in 0..END {
            for (number, (machine, (_, accesses))) in machines.iter_mut().zip(&cpus).enumerate() {
                let here = |&&(at, cpu, _): &&Change| at == now && cpu % cpus.len() == number;
                let wakes: Vec<_> = changes.iter().filter(here).map(|change| change.2).collect();
                machine.tick(now, &wakes, *accesses, &mut pool);
            }
        }
        let Parameters { budget, period, start } = parameters;
        let in_tick = |tick: u64| machines.iter().map(|it| it.accesses[tick as usize]).sum::<u64>();
        prop_assert_eq!((0..start.0).map(in_tick).sum::<u64>(), 0, "before the first period");
        for from in (start.0..END).step_by(period.0 as usize) {
            let got: u64 = (from..END.min(from + period.0)).map(in_tick).sum();
            prop_assert!(got <= budget, "{} from {}", got, from);
        }
    }

    /// Who is the only one that is awake gets all of the budget, also of a VM on many CPUs.
    #[test]
    fn nothing_is_lost_to_those_who_sleep(parameters in parameters(), cpus in 1u64..6) {
        let mut pool = Pool::new(parameters, cpus).unwrap();
        let mut machine = Machine::new(&[(WHOLE_CPU, true)], Account::shared, &mut pool);
        let per_tick = parameters.budget / parameters.period.0 + 1;
        for now in 0..END {
            let wakes: &[usize] = if now == 0 { &[0] } else { &[] };
            // A tick ends when a grant does: enough of them.
            machine.tick(now, wakes, per_tick, &mut pool);
        }
        let Parameters { budget, period, start } = parameters;
        if cpus == 1 || budget <= period.0 {
            for from in (start.0..END - period.0).step_by(period.0 as usize) {
                let ticks = &machine.accesses[from as usize..(from + period.0) as usize];
                prop_assert_eq!(ticks.iter().sum::<u64>(), budget, "from {}", from);
            }
        }
    }

    /// VCPUs of one CPU that share a budget are one, and one that has it alone has an own one.
    #[test]
    fn shared_by_one_it_is_an_own_one(
        parameters in parameters(),
        mut vcpus in vcpus(),
        accesses in 0u64..5,
        changes in changes(),
    ) {
        let mut others = vcpus.iter_mut().skip_while(|(_, shares)| !*shares).skip(1);
        others.by_ref().for_each(|(_, shares)| *shares = false);
        let mut pool = Pool::new(parameters, 1).unwrap();
        let mut shared = Machine::new(&vcpus, Account::shared, &mut pool);
        let mut own = Machine::new(&vcpus, || Account::own(parameters).unwrap(), &mut pool);
        for now in 0..END {
            let here = changes.iter().filter(|&&(at, ..)| at == now);
            let wakes: Vec<_> = here.map(|change| change.2).collect();
            shared.tick(now, &wakes, accesses, &mut pool);
            own.tick(now, &wakes, accesses, &mut pool);
            prop_assert_eq!(shared.decision.run, own.decision.run, "at {}", now);
            prop_assert_eq!(shared.cpu.accesses(), own.cpu.accesses(), "at {}", now);
        }
    }
}

/// A VCPU that is preempted or sleeps gives back its grant before another one asks.
#[test]
fn siblings_on_a_cpu_get_what_the_other_one_left() {
    let parameters = Parameters { budget: 100, period: Duration(50), start: Instant(0) };
    let mut pool = Pool::new(parameters, 1).unwrap();
    let slot = || Slot::new(WHOLE_CPU).unwrap().with_account(Account::shared());
    let mut cpu = Cpu::new([slot(), slot()]);
    cpu.step(Event::Wake(1), Instant(0), &mut pool);
    assert_eq!(cpu.accesses(), Some(100));
    cpu.account(1, 30);
    cpu.step(Event::Wake(0), Instant(10), &mut pool);
    assert_eq!(cpu.accesses(), Some(70));
    cpu.account(0, 60);
    assert_eq!(cpu.step(Event::Block(0), Instant(20), &mut pool).run, Some(1));
    assert_eq!(cpu.accesses(), Some(10));
}

/// The excess of a grant is paid with the next one.
#[test]
fn what_was_made_beyond_a_grant_is_paid_with_the_next_one() {
    let parameters = Parameters { budget: 80, period: Duration(50), start: Instant(0) };
    let mut pool = Pool::new(parameters, 2).unwrap();
    let slot = Slot::new(WHOLE_CPU).unwrap().with_account(Account::shared());
    let mut cpu = Cpu::new([slot]);
    cpu.step(Event::Wake(0), Instant(0), &mut pool);
    for _ in 0..7 {
        assert_eq!(cpu.accesses(), Some(10));
        cpu.account(0, 11);
        cpu.step(Event::Overflow(0), Instant(10), &mut pool);
    }
    assert_eq!(cpu.accesses(), Some(3), "80 - 7 * 11");
    cpu.account(0, 5);
    let none = cpu.step(Event::Overflow(0), Instant(20), &mut pool);
    assert_eq!((none.run, none.timer), (None, Some(Instant(50))));
    cpu.step(Event::Tick, Instant(50), &mut pool);
    assert_eq!(cpu.accesses(), Some(10), "2 more were taken");
    assert_eq!(pool.take(u64::MAX, Instant(50)).accesses, 68);
}
