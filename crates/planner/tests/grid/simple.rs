//! Simple plans, as an engineer makes them with a table: each decides everything that is open by a
//! rule of a line or two, and looks at no bound.

use analysis::Duration;
use policy::color::{Color, ColorSet};
use system::description::{Amount, Located, System};
use system::plan::Budget;

use crate::places;

/// How tasks without VCPU come to VCPUs of their VM, the largest utilisation first.
#[derive(Clone, Copy, Debug)]
pub enum Spread {
    /// To the VCPU with the least utilisation.
    Worst,
    /// To the first VCPU that has less than 0.7 with it.
    First,
}

/// The period of VCPUs whose period is open.
#[derive(Clone, Copy, Debug)]
pub enum Period {
    /// This part of the shortest deadline in the VM.
    Part(u64),
    /// A power of two times 1 ms, or a part of it, at most half of the shortest deadline.
    Harmonic,
    /// A millisecond.
    Millisecond,
}

/// Which VCPU goes to which PCPU, those that need most first.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// To the PCPU of which least is taken.
    Worst,
    /// To the first PCPU of which less than 0.7 is taken with it.
    First,
    /// To one PCPU after the other.
    Turns,
}

/// The budgets of VCPUs whose budget is open. `plus`: so many percent of the PCPU are added to what
/// the tasks of each VCPU need, because switches and waiting take time as well.
#[derive(Clone, Copy, Debug)]
pub enum Share {
    /// So many percent of the need.
    Times { percent: u64, plus: u64 },
    /// What is given of the PCPU, in proportion to the needs, until so many percent of the PCPU are
    /// taken.
    Fill { percent: u64, plus: u64 },
    /// The same for each VCPU, until all of the PCPU is taken.
    Equal,
}

/// A rule for everything.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    pub spread: Spread,
    pub period: Period,
    pub place: Place,
    pub share: Share,
    /// Each limit of memory accesses is the whole rate of the memory divided by this; equal for all.
    pub limit: u64,
}

const SPREADS: [Spread; 2] = [Spread::Worst, Spread::First];
const PERIODS: [Period; 4] =
    [Period::Part(4), Period::Harmonic, Period::Part(2), Period::Millisecond];
const PLACES: [Place; 3] = [Place::Worst, Place::First, Place::Turns];
const SHARES: [Share; 8] = [
    Share::Fill { percent: 98, plus: 5 },
    Share::Times { percent: 150, plus: 5 },
    Share::Fill { percent: 80, plus: 10 },
    Share::Times { percent: 200, plus: 2 },
    Share::Equal,
    Share::Times { percent: 110, plus: 10 },
    Share::Times { percent: 250, plus: 10 },
    Share::Fill { percent: 100, plus: 2 },
];
const LIMITS: [u64; 4] = [16, 128, 1_024, 16_384];
/// The share of a PCPU that an empty VCPU gets, as if tasks needed it.
const EMPTY: f64 = 0.01;

/// Returns the rules that differ for a system, neighbours in the list as different as possible.
pub fn rules(system: &System) -> Vec<Rule> {
    let servers = || system.vms.iter().flat_map(|vm| &vm.vcpus).filter_map(|it| it.server.as_ref());
    let tasks_open = system.vms.iter().flat_map(|vm| &vm.tasks).any(|task| task.vcpu_open);
    let periods_open = servers().any(|server| server.period_open);
    let spreads = if tasks_open { &SPREADS[..] } else { &SPREADS[..1] };
    let periods = if periods_open { &PERIODS[..] } else { &PERIODS[..1] };
    let limits = if system.limits_open() { &LIMITS[..] } else { &LIMITS[..1] };
    let mut rules = Vec::new();
    for &spread in spreads {
        for &period in periods {
            for place in PLACES {
                for share in SHARES {
                    for &limit in limits {
                        rules.push(Rule { spread, period, place, share, limit });
                    }
                }
            }
        }
    }
    // A stride without a common divisor visits all of them.
    let stride = (rules.len() * 5 / 8..).find(|it| divisor(*it, rules.len()) == 1).unwrap_or(1);
    (0..rules.len()).map(|index| rules[index * stride % rules.len()]).collect()
}

fn divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { divisor(b, a % b) }
}

impl Rule {
    /// Returns the description, with everything decided by this rule.
    pub fn complete(self, open: &System) -> System {
        let mut system = open.clone();
        colors(&mut system);
        limits(&mut system, self.limit);
        for vm in 0..system.vms.len() {
            self.spread(&mut system, vm);
            self.periods(&mut system, vm);
        }
        places::place(&mut system, self.place);
        self.budgets(&mut system);
        system
    }

    fn spread(self, system: &mut System, vm: usize) {
        let mut order: Vec<(usize, f64)> = (0..system.vms[vm].tasks.len())
            .filter(|&task| system.vms[vm].tasks[task].vcpu_open)
            .map(|task| (task, utilization(system, vm, task)))
            .collect();
        order.sort_by(|one, other| other.1.total_cmp(&one.1));
        let vcpus: Vec<usize> = (0..system.vms[vm].vcpus.len())
            .filter(|&vcpu| {
                let server = &system.vms[vm].vcpus[vcpu].server;
                server.as_ref().is_none_or(|it| it.class.value.budget().is_some())
            })
            .collect();
        let mut loads: Vec<f64> = vcpus.iter().map(|&vcpu| need(system, (vm, vcpu))).collect();
        for (task, utilization) in order {
            let least = (0..loads.len()).min_by(|a, b| loads[*a].total_cmp(&loads[*b]));
            let first = (0..loads.len()).find(|&vcpu| loads[vcpu] + utilization < 0.7);
            let chosen = match self.spread {
                Spread::Worst => least,
                Spread::First => first.or(least),
            };
            let Some(chosen) = chosen else { continue };
            loads[chosen] += utilization;
            let task = &mut system.vms[vm].tasks[task];
            (task.vcpu, task.vcpu_open) = (vcpus[chosen], false);
        }
    }

    fn periods(self, system: &mut System, vm: usize) {
        let deadlines = system.vms[vm].tasks.iter().map(|task| task.deadline.0);
        let shortest = deadlines.min().unwrap_or(10_000_000);
        let period = match self.period {
            Period::Part(part) => shortest / part,
            Period::Millisecond => 1_000_000.min(shortest / 2),
            Period::Harmonic => {
                let powers = (0..20).map(|power| 125_000 << power);
                powers.take_while(|it| *it <= shortest / 2).last().unwrap_or(125_000)
            }
        };
        let period = Duration(whole_ticks(period));
        for vcpu in &mut system.vms[vm].vcpus {
            let Some(server) = vcpu.server.as_mut().filter(|server| server.period_open) else {
                continue;
            };
            server.class.value = server.class.value.with_budget(Budget { budget: period, period });
            server.period_open = false;
        }
    }

    fn budgets(self, system: &mut System) {
        let pcpus = system.platform.value.cpus.len() as u64;
        for pcpu in 0..pcpus {
            let on = places::on(system, pcpu);
            let open = |at: &(usize, usize)| {
                system.vms[at.0].vcpus[at.1].server.as_ref().is_some_and(|server| server.open)
            };
            let open: Vec<(usize, usize)> = on.iter().copied().filter(open).collect();
            let given: f64 = on.iter().map(|&at| given_share(system, at).unwrap_or(0.0)).sum();
            let plus = match self.share {
                Share::Times { plus, .. } | Share::Fill { plus, .. } => plus as f64 / 100.0,
                Share::Equal => 0.0,
            };
            let needs = open.iter().map(|&at| match need(system, at) {
                0.0 => EMPTY,
                need => need + plus,
            });
            let needs: Vec<f64> = needs.collect();
            let sum: f64 = needs.iter().sum();
            for (&at, need) in open.iter().zip(needs) {
                let share = match self.share {
                    Share::Times { percent, .. } => need * percent as f64 / 100.0,
                    Share::Fill { percent, .. } => (percent as f64 / 100.0 - given) * need / sum,
                    Share::Equal => (1.0 - given) / open.len() as f64,
                };
                set_budget(system, at, share);
            }
        }
    }
}

/// Gives all VMs whose colours are open equally many.
fn colors(system: &mut System) {
    let Ok(geometry) = system.platform.value.colors() else { return };
    let taken = system.vms.iter().fold(ColorSet::EMPTY, |all, vm| all | vm.all_colors());
    let free: Vec<Color> = (ColorSet::first(geometry.colors()) - taken).iter().collect();
    let open = system.vms.iter().filter(|vm| vm.colors_open.is_some()).count();
    let mut left = free.chunks_exact((free.len() / open.max(1)).max(1));
    for vm in &mut system.vms {
        let Some(place) = vm.colors_open.clone() else { continue };
        // Without any, the plan is refused.
        let Some(own) = left.next() else { continue };
        let count = if vm.vllc { 1 << own.len().ilog2() } else { own.len() };
        vm.colors_open = None;
        vm.colors = Some(Located::new(own.iter().copied().take(count).collect(), &place));
    }
}

/// Gives all open limits an equal rate.
fn limits(system: &mut System, part: u64) {
    let latency = system.platform.value.bandwidth.as_ref().and_then(|it| it.latency);
    let Some(latency) = latency else { return };
    let vms = system.vms.iter_mut();
    let limits = vms.flat_map(|vm| {
        vm.bandwidth.iter_mut().chain(vm.vcpus.iter_mut().filter_map(|it| it.bandwidth.as_mut()))
    });
    for limit in limits.filter(|limit| limit.is_open()) {
        let accesses = limit.period.value.0 / latency.0.max(1) / part;
        limit.amount.value = Amount::Accesses(accesses.max(1));
    }
}

/// Returns the utilisation of a task, with the colours that its VM has.
fn utilization(system: &System, vm: usize, task: usize) -> f64 {
    let colors = system.vms[vm].colors.as_ref().map(|colors| u64::from(colors.value.len()));
    let task = &system.vms[vm].tasks[task];
    let wcet = colors.map_or(task.wcet.longest(), |colors| task.wcet.with_colors(colors));
    wcet.0 as f64 / task.period.0 as f64
}

/// Returns what the tasks of a VCPU need.
pub fn need(system: &System, (vm, vcpu): (usize, usize)) -> f64 {
    let tasks = system.vms[vm].tasks.iter().enumerate();
    let own = tasks.filter(|(_, task)| !task.vcpu_open && task.vcpu == vcpu);
    own.map(|(task, _)| utilization(system, vm, task)).sum()
}

/// Returns the share of a VCPU with a given budget.
pub fn given_share(system: &System, (vm, vcpu): (usize, usize)) -> Option<f64> {
    let server = system.vms[vm].vcpus[vcpu].server.as_ref().filter(|server| !server.open)?;
    let budget = server.class.value.budget()?;
    Some(budget.budget.0 as f64 / budget.period.0 as f64)
}

fn set_budget(system: &mut System, (vm, vcpu): (usize, usize), share: f64) {
    let Some(server) = system.vms[vm].vcpus[vcpu].server.as_mut() else { return };
    let Some(Budget { period, .. }) = server.class.value.budget() else { return };
    let budget = whole_ticks((period.0 as f64 * share.max(0.0)) as u64);
    let budget = Duration(budget).max(Budget::SHORTEST).min(period);
    server.class.value = server.class.value.with_budget(Budget { budget, period });
    server.open = false;
}

/// Rounds down to ticks of the counter.
fn whole_ticks(time: u64) -> u64 {
    const TICK: u64 = 16;
    (time / TICK).max(1) * TICK
}
