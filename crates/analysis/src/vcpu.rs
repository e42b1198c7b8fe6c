//! VCPUs on a PCPU: whether each gets its budget in each period (vCache, Eq. 1).
//!
//! ```text
//! W_i = C_i + sum over h above i of ceil((W_i + J_h) / T_h) * C_h,   W_i <= T_i
//! ```
//!
//! with the jitter of [`Server::jitter`]. As published; it is sound for the servers of
//! `policy::server`: a periodic server behaves like a periodic task, because it uses its budget
//! even while its VCPU waits; a deferrable one takes at most `C` in each period, so that a window
//! that begins `C` before the end of one holds one budget more; for a sporadic one, any two uses of
//! the same budget begin at least `T` apart, and what it could have used before the busy period
//! began counts from the time at which it wakes.
//!
//! If the hypervisor takes time, a VCPU waits once for it when it wakes or gets budget, for at most
//! `B`, and each VCPU above can have been stopped `B` after the end of a budget, which it pays back
//! later. So the VCPU with `h` others above waits for `(h + 1) B` more ([`crate::overheads`]). Only
//! the first one, if its budget is its period, never waits.
//!
//! A VCPU is charged from the time at which it waits for others, not only from the start of a
//! period: within every `W_i` of waiting, those above leave at least `C_i`. [`crate::supply`] rests
//! on that.

use crate::supply::WholeGaps;
use crate::window::{self, Stop, Stream, TOO_LONG};
use crate::{Duration, Failure, Limits, Server};

/// Returns the response times of the servers of a PCPU, in their order, the highest priority first.
pub fn response_times(servers: &[Server]) -> Vec<Result<Duration, Failure>> {
    late_response_times(servers, Duration(0))
}

/// Returns the same for a hypervisor that sometimes serves no interrupt for `late`: `B`.
pub fn late_response_times(servers: &[Server], late: Duration) -> Vec<Result<Duration, Failure>> {
    let mut responses = Vec::with_capacity(servers.len());
    each(&mut Vec::with_capacity(servers.len()), servers, late, |response| {
        responses.push(response);
        true
    });
    responses
}

/// Calls `visit` with the response time of each server, until it says `false`.
#[inline]
pub(crate) fn each(
    streams: &mut Vec<Stream>,
    servers: &[Server],
    late: Duration,
    mut visit: impl FnMut(Result<Duration, Failure>) -> bool,
) {
    streams.clear();
    let mut passes = Limits::default().passes;
    let mut known = 0;
    for (task, server) in servers.iter().enumerate() {
        let (budget, deadline) = (server.budget().0, server.period());
        let late = match task {
            // This server never waits for others, and always has budget.
            0 if budget == deadline.0 => 0,
            above => late.0.saturating_mul(above as u64 + 1).min(TOO_LONG),
        };
        known = (known + budget + if task == 0 { late } else { 0 }).min(TOO_LONG);
        let found = window::shortest(
            (streams, ()),
            budget + late,
            known,
            WholeGaps,
            deadline.0,
            &mut passes,
        );
        let response = match found {
            Ok(found) => {
                known = found.demand;
                Ok(found.duration())
            }
            Err(Stop::Beyond(at_least)) => {
                Err(Failure::Unschedulable { task, at_least: Duration(at_least), deadline })
            }
            Err(Stop::Passes) => Err(Failure::LimitReached { task }),
        };
        if !visit(response) {
            return;
        }
        streams.push(Stream::of_server(server));
    }
}
