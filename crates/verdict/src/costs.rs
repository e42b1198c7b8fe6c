//! The costs of the operations of the hypervisor on the platform of a system, and of the requests of tasks.

use analysis::Duration;
use analysis::overheads::Costs;
use system::description::System;
use units::Frequency;

/// Nanoseconds.
const SECOND: u128 = 1_000_000_000;

/// Requests of the jobs of a task to the hypervisor.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Calls {
    /// Number of calls of a job and of its accesses to virtual devices.
    pub exits: u64,
    /// Its global critical sections.
    pub sections: u64,
}

/// Returns the costs on the platform of a system, in whole ticks of its counter; none if they are
/// not known. `waits`: the number of lock holders for which calls and interrupts of the VM wait
/// ([`system::description::Vm::lock_waits`]).
pub fn costs(system: &System, waits: u64) -> Option<Costs> {
    let platform = &system.platform.value;
    let given = platform.overheads?;
    let in_ticks = |time: Duration, ticks: fn(u128) -> u128| match platform.counter {
        Some(Frequency(counter)) if counter > 0 => {
            let ticks = ticks(u128::from(time.0) * u128::from(counter));
            Duration((ticks * SECOND).div_ceil(counter.into()) as u64)
        }
        _ => time,
    };
    let ticks = |time| in_ticks(time, |ticks| ticks.div_ceil(SECOND));
    // The hypervisor rounds its charges in the same way.
    let charged = |time| in_ticks(time, |ticks| ticks / SECOND + 1);
    // At the end of a budget another VCPU may continue, or the same one.
    let switch = charged(given.switch.max(given.tick));
    let (kick, kicks) = system.kicks()?;
    let all_kicks = charged(Duration(kick.0.saturating_mul(kicks.into())));
    let kick = charged(kick);
    let waits = given.lock_waits(waits).0;
    let waiting = |time: Duration| ticks(Duration(time.0.saturating_add(waits)));
    let [interrupt, exit] = [given.interrupt, given.exit].map(waiting);
    let console = ticks(given.console);
    // The time that a VCPU pays from its block to its next first instruction.
    let pays = Duration(switch.0.saturating_add(all_kicks.0));
    // An interrupt waits for an access that is on its way: that waits for one of each other CPU, and is served.
    let latency = platform.bandwidth.as_ref().and_then(|counter| counter.latency);
    let access = latency.map_or(0, |it| it.0.saturating_mul(platform.cpus.len() as u64));
    let all = [ticks(given.chunk), pays, interrupt, exit, console, ticks(Duration(access))];
    let late = all.into_iter().fold(kick, Duration::max);
    Some(Costs { switch, kick, kicks: kicks.into(), interrupt, exit, console, late })
}
