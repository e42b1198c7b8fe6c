//! Untrusted guests: what they can do with resources that VMs share, whatever their description is.
//!
//! The hypervisor limits how long a VCPU is in sections until it executes outside
//! ([`Enforced::hold`]), and how often it requests a resource ([`Enforced::interval`]). A VCPU of
//! another VM counts for what these limits allow. Each request is a section for as long as the VCPU
//! may be in sections, with the response time of such a section. In a window of length `t`, at most
//! `1 + floor((t + w + early) / interval)` requests are made, wait, or hold the resource. Here `w`
//! is a *turn* (acquisition bound), the longest time from a request to the end of its section: a
//! request that still waits in the window was made at most this time before.

use super::endless::Endless;
use super::guest::{Enforced, Guest};
use super::host::Host;
use super::protocol::Protocol;
use super::section;
use super::system::System;
use crate::supply::{ServerSupply, WholeGaps};
use crate::utilization::Share;
use crate::window::{self, Beside, Stream, TOO_LONG, sum};
use crate::{Duration, LONGEST};

/// The acquisition bounds for the guest of each VCPU.
#[derive(Clone, Debug, Default)]
pub struct Turns {
    /// `W^gcs` of the longest time for which a VCPU may be in sections without a pause; 0: in none.
    costs: Vec<u64>,
    /// Turns with each resource that the VCPU may request.
    turns: Vec<Vec<u64>>,
}

/// Requests of the VCPU itself that come before one of them: made at most a turn before, or while
/// it waits; a turn is the wait and its section.
#[derive(Clone, Copy)]
struct Own {
    cost: u64,
    interval: u64,
    early: u64,
}

impl Own {
    fn share(&self) -> Share {
        Share::down(Duration(self.cost), Duration(self.interval))
    }
}

impl Beside for Own {
    fn demand(&self, _: &[Stream], window: u64) -> u128 {
        let [window, cost, early] = [window, self.cost, self.early].map(u128::from);
        (2 * window + cost + early) / u128::from(self.interval) * cost
    }
}

impl Turns {
    /// Finds the turns, each in at most `passes` steps. Under vMPCP nothing depends on the budgets
    /// of VCPUs, and `supplies` may be empty.
    pub fn find(
        &mut self,
        system: &System,
        (hosts, supplies): (&[Host], &[Option<ServerSupply>]),
        protocol: Protocol,
        streams: &mut Vec<Stream>,
        passes: u32,
    ) {
        self.costs.clear();
        self.turns.clear();
        if !system.is_enforced() {
            return;
        }
        self.costs.extend((0..system.vcpus()).map(|vcpu| {
            let (held, preemption) = (system.vcpus[vcpu].held, system.held_above(vcpu));
            if held == 0 {
                return 0;
            }
            let supply = supplies.get(vcpu).and_then(Option::as_ref);
            section::response((held, preemption), &hosts[vcpu], supply, protocol)
        }));
        self.turns.extend(system.vcpus.iter().map(|vcpu| match &vcpu.guest {
            Some(guest) => vec![TOO_LONG; guest.resources.len()],
            None => Vec::new(),
        }));
        let mut order: Vec<usize> = (0..system.vcpus()).collect();
        order.sort_by_key(|vcpu| system.rank(*vcpu));
        // VCPUs that come first in queues before the others.
        for vcpu in order.into_iter().rev() {
            let Some(guest) = &system.vcpus[vcpu].guest else { continue };
            for (place, resource) in guest.resources.iter().enumerate() {
                let wait = self.wait(system, (vcpu, guest), *resource, streams, passes);
                let wait = wait.unwrap_or(TOO_LONG);
                self.turns[vcpu][place] = sum([wait, self.costs[vcpu]].into_iter());
            }
        }
    }

    /// Returns the longest time for which a request of a VCPU for a resource waits.
    fn wait(
        &self,
        system: &System,
        (vcpu, guest): (usize, &Guest),
        resource: usize,
        streams: &mut Vec<Stream>,
        mut passes: u32,
    ) -> Result<u64, Endless> {
        let others = (0..system.vcpus()).filter(|it| *it != vcpu && system.may(*it, resource));
        let (mut longest, mut known) = (0, 0);
        streams.clear();
        for other in others {
            if system.rank(other) < system.rank(vcpu) {
                longest = longest.max(self.costs[other]);
            } else {
                streams.push(self.requests(system, other, resource)?);
                known = known.max(self.costs[other]);
            }
        }
        let cost = self.costs[vcpu];
        let own = Own { cost, interval: guest.interval.get(), early: guest.early };
        let known = known.max(longest).max(cost);
        // Requests of its own count twice: see `Own`.
        let twice = [own.share(), own.share()].into_iter();
        let shares = streams.iter().map(Stream::share).chain(twice);
        if shares.sum::<Share>() >= Share::WHOLE {
            return Err(Endless::Others);
        }
        if known == 0 {
            return Ok(0);
        }
        let found =
            window::shortest((streams, own), longest, known, WholeGaps, LONGEST.0, &mut passes)?;
        Ok(found.window)
    }

    /// Returns the stream of the time that a VCPU, which may request the resource, takes from those
    /// that wait behind it.
    fn requests(&self, system: &System, vcpu: usize, resource: usize) -> Result<Stream, Endless> {
        let guest = system.vcpus[vcpu].guest.as_ref().ok_or(Endless::Others)?;
        let place = guest.resources.iter().position(|it| *it == resource);
        let turn = place.and_then(|place| self.turns[vcpu].get(place)).ok_or(Endless::Others)?;
        stream(guest, self.costs[vcpu], *turn)
    }

    /// Returns the demand of other VMs before a section that waits for a resource: the longest
    /// section of a VCPU below, and the recurring sections that can be ahead.
    pub fn of_strangers(
        &self,
        system: &System,
        (vcpu, resource): (usize, usize),
        streams: &mut Vec<Stream>,
    ) -> Result<u64, Endless> {
        let mut longest = 0;
        for other in 0..system.vcpus() {
            if !system.is_stranger(vcpu, other) || !system.may(other, resource) {
                continue;
            }
            if system.rank(other) < system.rank(vcpu) {
                longest = longest.max(self.costs[other]);
            } else {
                streams.push(self.requests(system, other, resource)?);
            }
        }
        Ok(longest)
    }

    /// Returns the stream of the time that sections of a VCPU take from its PCPU: for each entry,
    /// the longest time that it may be in sections.
    pub fn stretches(&self, system: &System, vcpu: usize) -> Result<Option<Stream>, Endless> {
        let it = &system.vcpus[vcpu];
        let Some(guest) = it.guest.as_ref().filter(|_| it.held > 0) else { return Ok(None) };
        let turns = self.turns.get(vcpu).into_iter().flatten().copied();
        let turn = turns.chain(self.costs.get(vcpu).copied()).max().unwrap_or(TOO_LONG);
        stream(guest, it.held, turn).map(Some)
    }
}

/// Returns the stream of requests that are at most `turn` old.
fn stream(guest: &Guest, cost: u64, turn: u64) -> Result<Stream, Endless> {
    if turn >= TOO_LONG || guest.early >= TOO_LONG {
        return Err(Endless::Others);
    }
    // `ceil((t + w + early + 1) / interval)`.
    Ok(Stream::new(cost, guest.interval, turn + guest.early + 1))
}

impl System {
    /// Returns the same system with the limits that the hypervisor enforces for each VCPU. For
    /// tasks of other VMs these limits count in place of the description; for all tasks, so does
    /// the time that VCPUs may be in sections without a pause. All VCPUs have different priorities.
    #[must_use]
    pub fn enforced(mut self, enforced: &[Enforced]) -> Self {
        for (vcpu, it) in self.vcpus.iter_mut().zip(enforced) {
            vcpu.held = it.hold.0.min(TOO_LONG);
            vcpu.guest = Some(Guest::new(it));
        }
        section::sizes(&mut self);
        self
    }

    fn is_enforced(&self) -> bool {
        self.vcpus.iter().any(|vcpu| vcpu.guest.is_some())
    }

    /// Returns true if a VCPU belongs to another VM, whose guest is not trusted.
    pub(super) fn is_stranger(&self, vcpu: usize, other: usize) -> bool {
        let vm = |vcpu: usize| self.vcpus[vcpu].guest.as_ref().map(|guest| guest.vm);
        vm(vcpu).zip(vm(other)).is_some_and(|(own, other)| own != other)
    }

    /// Returns true if a VCPU may request a resource from the hypervisor.
    fn may(&self, vcpu: usize, resource: usize) -> bool {
        let it = &self.vcpus[vcpu];
        it.held > 0 && it.guest.as_ref().is_some_and(|guest| guest.resources.contains(&resource))
    }
}
