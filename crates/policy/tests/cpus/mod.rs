//! Random CPUs with everything that VCPUs can have, and what happens to them.

#![allow(dead_code, reason = "each test file uses a part of it")]

use policy::bandwidth::{self, Account, Pool};
use policy::cpu::{Cpu, Slot};
use policy::lock::hold::Hold;
use policy::server::{Parameters, Policy};
use policy::time::{Duration, Instant};
use proptest::prelude::*;

/// A CPU, and the budget of the VM that some of its VCPUs share.
#[derive(Clone, Debug)]
pub struct Drawn {
    pub cpu: Cpu<Vec<Slot>>,
    pub pool: Pool,
    pub vcpus: usize,
    ceilings: bool,
    switch: u64,
    wait: u64,
}

fn parameters() -> impl Strategy<Value = Parameters> {
    (1u64..8, 0u64..20, 0u64..10, 0u64..12).prop_map(|(budget, rest, start, overrun)| Parameters {
        budget: Duration(budget),
        period: Duration(budget + rest),
        start: Instant(start),
        overrun: Duration(overrun.saturating_sub(6).min(rest)),
    })
}

fn server() -> impl Strategy<Value = Policy> {
    let sporadic = |parameters| Parameters { overrun: Duration::ZERO, ..parameters };
    prop_oneof![
        parameters().prop_map(Policy::Periodic),
        parameters().prop_map(Policy::Deferrable),
        parameters().prop_map(move |it| Policy::Sporadic(sporadic(it))),
    ]
}

fn memory() -> impl Strategy<Value = bandwidth::Parameters> {
    (1u64..7, 1u64..24, 0u64..10).prop_map(|(budget, period, start)| bandwidth::Parameters {
        budget,
        period: Duration(period),
        start: Instant(start),
    })
}

fn account() -> impl Strategy<Value = Account> {
    prop_oneof![
        3 => memory().prop_map(|own| Account::own(own).unwrap()),
        1 => Just(Account::shared()),
    ]
}

fn hold() -> impl Strategy<Value = Hold> {
    prop_oneof![2 => Just(Hold::UNLIMITED), 3 => (0u64..6).prop_map(|it| Hold::new(Duration(it)))]
}

/// VCPUs may have memory budgets (`accounts`) and limits of their sections (`holds`).
pub fn drawn(accounts: bool, holds: bool) -> impl Strategy<Value = Drawn> {
    let vcpu =
        |server: BoxedStrategy<Policy>| (server, hold(), prop::option::weighted(0.6, account()));
    let servers = prop::collection::vec(vcpu(server().boxed()), 0..4);
    let background = prop::collection::vec(vcpu(Just(Policy::Background).boxed()), 0..3);
    let some = |(servers, background): &(Vec<_>, Vec<_>)| servers.len() + background.len() > 0;
    let vcpus = (servers, background).prop_filter("no VCPU", some);
    let pool = memory().prop_map(|memory| Pool::new(memory, 2).unwrap());
    (vcpus, pool, any::<bool>(), 0u64..4, 0u64..4).prop_map(
        move |((mut vcpus, background), pool, ceilings, switch, wait)| {
            vcpus.extend(background);
            for (_, hold, account) in &mut vcpus {
                *account = account.take().filter(|_| accounts);
                *hold = if holds { *hold } else { Hold::UNLIMITED };
            }
            let slots = vcpus.into_iter().map(|(server, hold, account)| {
                let slot = Slot::new(server).unwrap().with_hold(hold);
                match account {
                    Some(account) => slot.with_account(account),
                    None => slot,
                }
            });
            let slots: Vec<_> = slots.collect();
            let vcpus = slots.len();
            Drawn { cpu: cpu(slots, ceilings, switch, wait), pool, vcpus, ceilings, switch, wait }
        },
    )
}

fn cpu(slots: Vec<Slot>, ceilings: bool, switch: u64, wait: u64) -> Cpu<Vec<Slot>> {
    let cpu = Cpu::new(slots).with_switch(Duration(switch)).with_wait(Duration(wait));
    if ceilings { cpu.with_ceilings() } else { cpu }
}

impl Drawn {
    /// The CPU with one VCPU more.
    pub fn cpu_with(&self, last: Slot) -> Cpu<Vec<Slot>> {
        let mut slots = self.cpu.slots().to_vec();
        slots.push(last);
        cpu(slots, self.ceilings, self.switch, self.wait)
    }
}

/// What happens.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Happens {
    Wakes(usize),
    Blocks(usize),
    Nothing,
    Overflows,
    Enters(usize),
    Leaves(usize),
    /// The VCPU to run executes, in the place of one that blocked.
    Executes,
}

/// How long after the last one what happens, and how many accesses whoever ran has made.
pub fn happenings() -> impl Strategy<Value = Vec<(u64, u64, Happens)>> {
    let vcpu = || 0usize..6;
    let happens = prop_oneof![
        6 => vcpu().prop_map(Happens::Wakes),
        3 => vcpu().prop_map(Happens::Blocks),
        2 => Just(Happens::Nothing),
        2 => Just(Happens::Overflows),
        4 => vcpu().prop_map(Happens::Enters),
        3 => vcpu().prop_map(Happens::Leaves),
        1 => Just(Happens::Executes),
    ];
    let gap = prop_oneof![2 => Just(0u64), 3 => 0u64..6, 1 => 0u64..40];
    prop::collection::vec((gap, 0u64..5, happens), 1..120)
}
