//! Reads how VCPUs share a PCPU.

use abi::limits::{
    BUDGET_MIN_NS, PERIOD_MAX_NS, SECTIONS_EARLY_MAX_NS, SECTIONS_INTERVAL_MAX_NS,
    SECTIONS_INTERVAL_MIN_NS,
};
use abi::plan::{names, words};
use policy::rate::Rate;
use policy::server;
use policy::time::{Duration, Instant};

use super::{Clock, Node, Problem, Refusal};

/// A budget that fills its period, as a part of the PCPU.
pub const WHOLE: u64 = 1 << 24;

/// The server of a VCPU that shares its PCPU with others.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Server {
    /// Larger goes first; no two VCPUs of a PCPU have the same.
    pub priority: u32,
    policy: server::Policy,
}

impl Server {
    /// Returns the policy that decides when the VCPU runs; periods are counted from `start`. Times are ticks of
    /// the system counter: budgets are rounded down, periods exact.
    pub fn policy(self, start: Instant) -> server::Policy {
        self.policy.starting(start)
    }

    /// Returns true if the server gets the time that others leave.
    pub fn is_background(self) -> bool {
        self.policy == server::Policy::Background
    }

    /// Its part of the PCPU, of `WHOLE`; rounded down.
    pub fn part(self) -> u64 {
        // Less than 2^38 ticks: 60 s of a counter with 32 bits of frequency.
        self.policy.reserved().map_or(0, |(_, it)| it.budget.0 * WHOLE / it.period.0)
    }
}

/// The server of a VCPU, if it has one.
pub fn read(node: Node<'_>, clock: Clock) -> Result<Option<Server>, Refusal<'_>> {
    if node.value(names::SERVER).is_none() {
        refuse(
            node,
            &[names::BUDGET_NS, names::PERIOD_NS, names::OVERRUN_NS, names::PRIORITY],
            "needs server",
        )?;
        return Ok(None);
    }
    let class = node.expect_text(names::SERVER, &words::SERVERS)?;
    let policy = if class == 3 {
        let budget = [names::BUDGET_NS, names::PERIOD_NS, names::OVERRUN_NS];
        refuse(node, &budget, "has no meaning in the background")?;
        server::Policy::Background
    } else {
        let parameters = parameters(node, clock)?;
        match class {
            0 => server::Policy::Periodic(parameters),
            1 => server::Policy::Deferrable(parameters),
            _ => {
                refuse(node, &[names::OVERRUN_NS], "has no meaning for a sporadic server")?;
                server::Policy::Sporadic(parameters)
            }
        }
    };
    Ok(Some(Server { priority: node.number(names::PRIORITY)?, policy }))
}

/// Returns the number of ticks that the VCPU may execute in global critical sections at a stretch, rounded down as overrun
/// is; 0: it may be in none.
pub fn hold(node: Node<'_>, clock: Clock) -> Result<u64, Refusal<'_>> {
    if node.value(names::HOLD_NS).is_none() {
        return Ok(0);
    }
    let hold = node.long(names::HOLD_NS)?;
    if hold == 0 || hold > PERIOD_MAX_NS {
        return Err(node.error(names::HOLD_NS, Problem::Text("must be 1 ns to one minute")));
    }
    Ok(clock.ticks(hold).max(1))
}

/// Returns how often the VCPU may enter global critical sections, in ticks, rounded so that it may rather more often; `None`:
/// it may be in none.
pub fn rate(node: Node<'_>, clock: Clock) -> Result<Option<Rate>, Refusal<'_>> {
    let [interval, early] = [names::SECTIONS_INTERVAL_NS, names::SECTIONS_EARLY_NS];
    if node.value(names::HOLD_NS).is_none() {
        refuse(node, &[interval, early], "needs hold-ns")?;
        return Ok(None);
    }
    let [between, before] = [node.long(interval)?, node.long(early)?];
    if !(SECTIONS_INTERVAL_MIN_NS..=SECTIONS_INTERVAL_MAX_NS).contains(&between) {
        return Err(node.error(interval, Problem::Text("must be 1 us to one hour")));
    }
    if before > SECTIONS_EARLY_MAX_NS {
        return Err(node.error(early, Problem::Text("must be at most 2^56 ns")));
    }
    let ticks = Duration(clock.ticks(between).max(1));
    Ok(Some(Rate::new(ticks, Duration(clock.ticks(before) + 1))))
}

/// Refuses properties that are there.
pub fn refuse<'a>(
    node: Node<'a>,
    properties: &[&'static str],
    why: &'static str,
) -> Result<(), Refusal<'a>> {
    for property in properties {
        if node.value(property).is_some() {
            return Err(node.error(property, Problem::Text(why)));
        }
    }
    Ok(())
}

fn parameters(node: Node<'_>, clock: Clock) -> Result<server::Parameters, Refusal<'_>> {
    let (budget, period) = (node.long(names::BUDGET_NS)?, node.long(names::PERIOD_NS)?);
    if period > PERIOD_MAX_NS {
        return Err(node.error(names::PERIOD_NS, Problem::Text("is longer than one minute")));
    }
    if budget < BUDGET_MIN_NS || budget > period {
        let text = "must be 1 us to the whole period";
        return Err(node.error(names::BUDGET_NS, Problem::Text(text)));
    }
    let overrun = match node.value(names::OVERRUN_NS) {
        Some(_) => node.long(names::OVERRUN_NS)?,
        None => 0,
    };
    if overrun > period - budget {
        let text = "is more than the budget leaves of the period";
        return Err(node.error(names::OVERRUN_NS, Problem::Text(text)));
    }
    // Together rounded down: others get no less than in nanoseconds.
    let both = clock.ticks(budget + overrun);
    let period = clock.whole(node, names::PERIOD_NS, period)?;
    let budget = clock.ticks(budget);
    if budget == 0 {
        return Err(
            node.error(names::BUDGET_NS, Problem::Text("is less than a tick of the counter"))
        );
    }
    Ok(server::Parameters {
        budget: Duration(budget),
        period: Duration(period),
        start: Instant(0),
        overrun: Duration(both - budget),
    })
}
