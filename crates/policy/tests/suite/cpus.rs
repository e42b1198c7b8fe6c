//! Random CPUs without memory budgets, and events for them.

use policy::cpu::{Cpu, Slot};
use policy::lock::hold::Hold;
use policy::server::{Parameters, Policy};
use policy::time::{Duration, Instant};
use proptest::prelude::*;

/// A CPU, and how it was made.
#[derive(Clone, Debug)]
pub struct Drawn {
    pub cpu: Cpu<Vec<Slot>>,
    pub vcpus: usize,
    ceilings: bool,
    switch: u64,
    kick: u64,
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

fn hold() -> impl Strategy<Value = Hold> {
    prop_oneof![2 => Just(Hold::UNLIMITED), 3 => (0u64..6).prop_map(|it| Hold::new(Duration(it)))]
}

/// CPUs without memory budgets.
pub fn drawn() -> impl Strategy<Value = Drawn> {
    let vcpu = |server: BoxedStrategy<Policy>| (server, hold());
    let servers = prop::collection::vec(vcpu(server().boxed()), 0..4);
    let background = prop::collection::vec(vcpu(Just(Policy::Background).boxed()), 0..3);
    let some = |(servers, background): &(Vec<_>, Vec<_>)| servers.len() + background.len() > 0;
    let vcpus = (servers, background).prop_filter("no VCPU", some);
    (vcpus, any::<bool>(), 0u64..4, 0u64..4).prop_map(
        |((mut vcpus, background), ceilings, switch, kick)| {
            vcpus.extend(background);
            let slots = vcpus.into_iter();
            let slots = slots.map(|(server, hold)| Slot::new(server).unwrap().with_hold(hold));
            let slots: Vec<_> = slots.collect();
            let vcpus = slots.len();
            Drawn { cpu: cpu(slots, ceilings, switch, kick), vcpus, ceilings, switch, kick }
        },
    )
}

fn cpu(slots: Vec<Slot>, ceilings: bool, switch: u64, kick: u64) -> Cpu<Vec<Slot>> {
    let cpu = Cpu::new(slots).with_switch(Duration(switch)).with_kick(Duration(kick));
    if ceilings { cpu.with_ceilings() } else { cpu }
}

impl Drawn {
    /// The CPU with one VCPU more.
    pub fn cpu_with(&self, last: Slot) -> Cpu<Vec<Slot>> {
        let mut slots = self.cpu.slots().to_vec();
        slots.push(last);
        cpu(slots, self.ceilings, self.switch, self.kick)
    }
}

/// What happens.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Happens {
    Wakes(usize),
    Blocks(usize),
    IsKicked(usize),
    Nothing,
    Enters(usize),
    Leaves(usize),
    /// The VCPU to run executes, in the place of one that blocked.
    Executes,
}

/// Events, each with the time since the one before.
pub fn happenings() -> impl Strategy<Value = Vec<(u64, Happens)>> {
    let vcpu = || 0usize..6;
    let happens = prop_oneof![
        6 => vcpu().prop_map(Happens::Wakes),
        3 => vcpu().prop_map(Happens::Blocks),
        2 => vcpu().prop_map(Happens::IsKicked),
        2 => Just(Happens::Nothing),
        4 => vcpu().prop_map(Happens::Enters),
        3 => vcpu().prop_map(Happens::Leaves),
        1 => Just(Happens::Executes),
    ];
    let gap = prop_oneof![2 => Just(0u64), 3 => 0u64..6, 1 => 0u64..40];
    prop::collection::vec((gap, happens), 1..120)
}
