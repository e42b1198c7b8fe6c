//! The analysis of the vCache paper, as published (Kim and Rajkumar, ACM TECS 2017, section 5.1).
//!
//! - Eq. 1, VCPUs: [`crate::vcpu`] is the same.
//! - Eq. 2, tasks: [`workload`], for the functions of [`mod@crate::response`].
//! - Eq. 3, cache-related preemption delay: [`Caches::delay`].
//! - Eq. 4, utilisation: [`crate::utilization::utilization`].
//!
//! Eq. 2 is
//!
//! ```text
//! W_j = C_j + sum over h above j of ceil((W_j + J_h) / T_h) (C_h + gamma_{h,j})
//!           + ceil((W_j + C^v) / T^v) (T^v - C^v),         J_h = T^v - C^v
//! ```
//!
//! Its last term is the inverse of the supply bound function with `W^v = T^v`. It is sound for the
//! servers of `policy::server` under constrained deadlines, if the VCPU passes Eq. 1. It is larger
//! than necessary in two places: jitter of the tasks above is not needed, because budgets that come
//! late delay all tasks of the VCPU alike, and a VCPU that passes Eq. 1 with `W^v < T^v` waits for
//! less time than the last term. [`crate::hierarchy`] leaves both out.

use crate::response::Workload;
use crate::supply::{ServerSupply, Supply};
use crate::{Caches, Server, Task};

/// Returns the workload of Eq. 2 for the tasks of a VCPU with this server.
pub fn workload<'a>(tasks: &'a [Task], server: Server, caches: Option<Caches<'a>>) -> Workload<'a> {
    let supply = Supply::Server(ServerSupply::new(server));
    Workload { supply, caches, jitter: server.gap(), ..Workload::new(tasks) }
}
