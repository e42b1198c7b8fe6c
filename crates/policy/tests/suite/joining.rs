//! A sporadic server as the ticks from which on each tick of its budget can be used, with replenishments that are joined.

use policy::server::REPLENISHMENTS_MAX;

use super::Happens;

/// Where joined replenishments end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Join {
    /// Where the later one ended: the rule.
    Later,
    /// Later than the earlier one ended only by the amount of the later one: a mistake.
    Earlier,
    /// Replenishments are not joined.
    Never,
}

/// Decides in which ticks the server uses its budget, from when its VCPU is ready and which ticks others take. Returns how often
/// replenishments were joined.
pub fn decide(budget: u64, period: u64, join: Join, happens: &mut [Happens]) -> usize {
    let mut ticks: Vec<u64> = (0..budget).collect();
    let (mut was_ready, mut joins) = (false, 0);
    for (now, it) in (0..).zip(happens) {
        if it.ready && !was_ready {
            lay(&mut ticks, now);
            let parts: Vec<_> = ticks.chunk_by(|a, b| a + 1 == *b).map(<[u64]>::len).collect();
            if parts.len() > REPLENISHMENTS_MAX && join != Join::Never {
                joins += 1;
                let (last, before) = (parts[parts.len() - 1], parts[parts.len() - 2]);
                let first = ticks.len() - last - before;
                let from = match join {
                    Join::Later => ticks[first + before] - before as u64,
                    _ => ticks[first],
                };
                ticks.truncate(first);
                ticks.extend((from..).take(last + before));
            }
        }
        was_ready = it.ready;
        it.used = it.ready && !it.taken && ticks[0] <= now;
        if it.used {
            lay(&mut ticks, (now + budget).saturating_sub(period));
            let used = ticks.remove(0);
            ticks.push(used + period);
        }
    }
    joins
}

/// No tick of the budget can be used before this one, and no two at the same time.
fn lay(ticks: &mut [u64], from: u64) {
    let mut from = from;
    for tick in ticks {
        *tick = from.max(*tick);
        from = *tick + 1;
    }
}
