//! The open parts of a description.

use system::description::{Server, System};

use super::super::pcpus::{At, all, given, vcpu};

/// The open parts of a description: VCPUs by VM and index, tasks alike.
#[derive(Clone, Debug, Default)]
pub struct Open {
    /// VCPUs whose budgets are open.
    pub budgets: Vec<At>,
    /// Those of them whose periods are open, too.
    pub periods: Vec<At>,
    /// Tasks whose VCPUs are open.
    pub tasks: Vec<At>,
    /// VCPUs with a server whose PCPUs are open.
    pub pcpus: Vec<At>,
    /// VCPUs with a server whose priorities are not given.
    pub priorities: Vec<At>,
    /// VMs whose colours are open.
    pub colors: Vec<usize>,
    /// True if limits of memory accesses are open.
    pub limits: bool,
    /// Kinds of servers, overrun, and the protocol of locks.
    pub kinds: Kinds,
    /// True if PCPUs without VCPUs are to stay so.
    pub packs: bool,
    /// True if VCPUs of a PCPU may have another order than that of their periods.
    pub orders: bool,
    /// True if VCPUs without tasks need not get their budgets in each period.
    pub lenient: bool,
}

impl Open {
    /// Returns the open parts of a description.
    pub fn of(system: &System) -> Self {
        let server = |at: At| vcpu(system, at).server.as_ref();
        let vcpus = || all(system).into_iter();
        let tasks = |vm: usize| (0..system.vms[vm].tasks.len()).map(move |task| (vm, task));
        let vms = 0..system.vms.len();
        let is_open = |&(vm, task): &At| system.vms[vm].tasks[task].vcpu_open;
        Self {
            budgets: vcpus().filter(|&at| server(at).is_some_and(|it| it.open)).collect(),
            periods: vcpus().filter(|&at| server(at).is_some_and(|it| it.period_open)).collect(),
            tasks: vms.clone().flat_map(tasks).filter(is_open).collect(),
            pcpus: vcpus()
                .filter(|&at| server(at).is_some() && given(system, at).is_none())
                .collect(),
            priorities: vcpus()
                .filter(|&at| server(at).is_some_and(|it| it.priority.is_none()))
                .collect(),
            colors: vms.filter(|&vm| system.vms[vm].colors_open.is_some()).collect(),
            limits: system.limits_open(),
            kinds: Kinds::of(system),
            packs: false,
            orders: false,
            lenient: false,
        }
    }
}

/// The open kinds of servers, overrun, and protocol of locks.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Kinds {
    /// VCPUs whose kinds of servers are open.
    pub servers: Vec<At>,
    /// VCPUs of which it is open whether they overrun.
    pub overruns: Vec<At>,
    /// True if the protocol of locks is open.
    pub locks: bool,
}

impl Kinds {
    /// Returns the kinds of servers, the overruns and the protocol that a description leaves open.
    pub fn of(system: &System) -> Self {
        let which = |is_open: &dyn Fn(&Server) -> bool| -> Vec<At> {
            let server = |at: At| vcpu(system, at).server.as_ref();
            all(system).into_iter().filter(|&at| server(at).is_some_and(is_open)).collect()
        };
        Self {
            servers: which(&|server| server.kind_open.is_some()),
            overruns: which(&|server| server.overrun_open.is_some()),
            locks: system.locks_open.is_some(),
        }
    }

    /// Returns true if nothing is open.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
