//! VCPUs that always have something to do get exactly their budgets, period after period: seen in the
//! trace, where every decision stands with its time, and from inside.
//!
//! All limits are what the hypervisor needs to take turns, at most (`cargo xtask bench-exits`): it
//! cannot act earlier.

mod real;

use real::{Recorded, campaign, project};
use trace::{Entry, Event, VcpuId};

/// Ticks of QEMU's counter in 2 microseconds.
const TICKS_PER_2_US: u64 = 125;
/// Ticks for 800 instructions, the most from the end of a budget to the next VCPU's first one.
const SWITCH: u64 = 50;
/// How late a decision is at most: when something else is being decided just then.
const LATE: u64 = 2 * SWITCH;
/// Instructions, and ticks at most, after which guests look at the time.
const LOOK: u64 = 64;
const LOOK_TICKS: u64 = 6;

/// A server with its budget and period in ticks.
#[derive(Clone, Copy)]
struct Server {
    kind: &'static str,
    budget: u64,
    period: u64,
}

fn server(kind: &'static str, budget_us: u64, period_us: u64) -> Server {
    let ticks = |us| us * TICKS_PER_2_US / 2;
    Server { kind, budget: ticks(budget_us), period: ticks(period_us) }
}

/// A guest that takes all the time that it gets.
fn vm(name: &str, server: Option<Server>, periods: u64, bursts: u64) -> String {
    let kernel = project().join("build/guests/rt-supply.bin");
    let ns = |ticks: u64| ticks * 16;
    let lines = match server {
        Some(Server { kind, budget, period }) => format!(
            "server = {kind:?}\nbudget = \"{}ns\"\nperiod = \"{}ns\"\n",
            ns(budget),
            ns(period)
        ),
        None => "server = \"background\"\n".into(),
    };
    let period = server.map_or(0, |server| ns(server.period));
    format!(
        "[[vm]]\nname = {name:?}\nboot = \"raw\"\nmemory = \"4MiB\"\nkernel = {kernel:?}\n\
         bootargs = \"supply.bursts={bursts} supply.gap_ns=2500 supply.period_ns={period} \
         supply.look={LOOK} supply.skip={}\"\n[[vm.vcpu]]\npcpu = 1\n{lines}",
        // The others print while they end, later.
        if periods == bursts { 1_000 } else { 3_000 },
    )
}

/// What a VCPU got in its periods, decision by decision.
struct Account {
    vcpu: VcpuId,
    server: Server,
    /// When its first period began.
    zero: u64,
    periods: u64,
    /// Since when it runs, and the period for which it is counted.
    runs: Option<u64>,
    /// Ticks in each period.
    used: Vec<u64>,
}

impl Account {
    fn new(vm: u8, server: Server, zero: u64, periods: u64) -> Self {
        let used = vec![0; periods as usize];
        Self { vcpu: VcpuId { vm, vcpu: 0 }, server, zero, periods, runs: None, used }
    }

    fn follow(&mut self, entry: &Entry) {
        let next = match entry.event {
            Event::Run { vcpu, budget } if vcpu == self.vcpu => {
                assert!(budget.is_some_and(|budget| budget <= self.server.budget), "{entry:?}");
                Some(entry.ticks)
            }
            Event::Run { .. } | Event::Idle => None,
            _ => return,
        };
        if let Some(since) = self.runs {
            self.count(since, entry.ticks);
        }
        self.runs = next;
    }

    /// It ran from one time to another, in one period or several.
    fn count(&mut self, mut since: u64, until: u64) {
        while since < until {
            let Some(begun) = since.checked_sub(self.zero) else {
                since = self.zero.min(until);
                continue;
            };
            let period = begun / self.server.period;
            let end = until.min(self.zero + (period + 1) * self.server.period);
            if let Some(used) = self.used.get_mut(period as usize) {
                *used += end - since;
            }
            since = end;
        }
    }

    /// In each period the budget and no more; what was too much for a moment is missing in the next one.
    fn check(&self) {
        let Server { kind, budget, period } = self.server;
        let mut sum = 0;
        for (number, &used) in (1..).zip(&self.used) {
            sum += used;
            let due = number * budget;
            assert!(used <= budget + LATE, "{kind}: {used} of {budget} in period {number}");
            assert!(
                sum.abs_diff(due) <= LATE,
                "{kind} {budget}/{period}: {sum} of {due} after {number} periods"
            );
        }
        assert_eq!(self.used.len() as u64, self.periods);
    }
}

/// How late the first server, which goes before all others, began to run in each of its periods.
fn lateness(track: &[Entry], first: &Account) -> Vec<u64> {
    let end = first.zero + first.periods * first.server.period;
    let starts = track.iter().filter(|entry| {
        let is_start = matches!(entry.event, Event::Run { vcpu, .. } if vcpu == first.vcpu);
        is_start && (first.zero..end).contains(&entry.ticks)
    });
    let mut late = Vec::with_capacity(first.used.len());
    for (number, entry) in (0..).zip(starts) {
        let due = first.zero + number * first.server.period;
        let it = entry.ticks.wrapping_sub(due);
        assert!(it <= LATE, "period {number} began {} ticks late", it as i64);
        late.push(it);
    }
    assert_eq!(late.len(), first.used.len(), "it begins once in each period");
    late
}

/// Two servers and the rest of the time, always all of them busy.
fn hold(first: Server, second: Server) {
    let periods = campaign("BULKHEAD_PERIODS", 100_000);
    let others = periods * first.period / second.period;
    let system = [
        "platform = \"qemu-virt\"\n".into(),
        vm("first", Some(first), periods, periods),
        // Its bursts are interrupted: more of them than periods.
        vm("second", Some(second), others, periods),
        vm("rest", None, 0, periods),
    ];
    let run = Recorded::new(&system.concat());
    let trace = run.trace();
    let epoch = trace.epoch().expect("there are servers");
    let measured = run.value("first", "supply: first_tick", "first_tick") as u64;
    let track = &trace.tracks[1];

    // All servers but the sporadic one renew their budgets at multiples of their periods after the epoch.
    let zero = |server: Server| epoch + (measured - epoch).div_ceil(server.period) * server.period;
    let first_zero = match first.kind {
        // It begins when its VCPU first woke up; the most punctual instant tells when that was.
        "sporadic" => {
            let starts = track.iter().filter(|entry| {
                let is_first = matches!(entry.event, Event::Run { vcpu, .. } if vcpu.vm == 0);
                is_first && entry.ticks >= measured
            });
            let starts = starts.take(periods as usize - 1);
            let zeros = (0..).zip(starts).map(|(number, it)| it.ticks - number * first.period);
            zeros.min().expect("it runs")
        }
        _ => zero(first),
    };
    let mut accounts = [
        Account::new(0, first, first_zero, periods - 1),
        Account::new(1, second, zero(second), others - 1),
    ];
    for entry in track {
        accounts.iter_mut().for_each(|account| account.follow(entry));
    }
    accounts.iter().for_each(Account::check);

    let late = lateness(track, &accounts[0]);
    let (early_half, late_half) = late.split_at(late.len() / 2);
    assert_eq!(early_half.iter().min(), late_half.iter().min(), "the instants drift");

    // From inside: switching costs the VCPU that gets the PCPU, and so does what it got too much before.
    let burst = |key| run.value("first", "supply: bursts", key) as u64;
    let (least, most) = (burst("burst_min_ticks"), burst("burst_max_ticks"));
    assert!(most <= first.budget, "{most} of {} ticks", first.budget);
    let slack = LATE + SWITCH + 2 * LOOK_TICKS;
    assert!(least >= first.budget - slack, "{least} of {} ticks", first.budget);
    println!(
        "{} {}/{}: {} periods, {}..{} ticks late, bursts of {least}..{most} ticks",
        first.kind,
        first.budget,
        first.period,
        late.len(),
        late.iter().min().expect("periods"),
        late.iter().max().expect("periods"),
    );
    run.replay();
}

#[test]
#[ignore = "takes half a minute"]
fn deferrable_and_periodic_servers_hold_budgets_and_instants() {
    hold(server("deferrable", 8, 20), server("periodic", 10, 32));
}

#[test]
#[ignore = "takes half a minute"]
fn sporadic_and_deferrable_servers_hold_budgets_and_instants() {
    hold(server("sporadic", 8, 20), server("deferrable", 10, 32));
}
