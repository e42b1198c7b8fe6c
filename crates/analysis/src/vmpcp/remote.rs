//! Remote blocking: the time for which a task waits until a resource is granted (Eq. 10 and 11).

use super::endless::Endless;
use super::flat::FlatSection;
use super::pending::Pending;
use super::protocol::Variant;
use super::system::System;
use super::turns::Turns;
use crate::LONGEST;
use crate::supply::WholeGaps;
use crate::window::{self, Stop, Stream, TOO_LONG};

impl System {
    /// Returns `B^r` for one section, if it is not above `limit`. `responses`: `W^gcs` of all
    /// sections; `turns`: the limits of untrusted guests, whose sections do not count; `pending`:
    /// how long jobs of the others can be pending.
    pub(super) fn wait(
        &self,
        section: &FlatSection,
        (responses, turns, pending): (&[u64], &Turns, &Pending),
        variant: Variant,
        limit: u64,
        streams: &mut Vec<Stream>,
        passes: &mut u32,
    ) -> Result<u64, Endless> {
        let vcpu = self.tasks[section.task].vcpu;
        let is_trusted = |it: &u32| {
            let other = self.tasks[self.sections[*it as usize].task].vcpu;
            !(variant == Variant::Sound && section.inter_vm && self.is_stranger(vcpu, other))
        };
        let below = self.rivals[section.below.clone()].iter().filter(|it| is_trusted(it));
        let mut longest = below.map(|it| responses[*it as usize]).max().unwrap_or(0);
        streams.clear();
        if variant == Variant::Sound && section.inter_vm {
            let of_strangers = turns.of_strangers(self, (vcpu, section.resource), streams)?;
            longest = longest.max(of_strangers);
        }
        let mut known = streams.iter().map(|stream| stream.cost).fold(longest, u64::max);
        for it in self.ahead(section, variant).filter(is_trusted) {
            let (index, cost) = (self.sections[it as usize].task, responses[it as usize]);
            let pending = pending.of(index).ok_or(Endless::Others)?;
            streams.push(Stream::new(cost, self.tasks[index].period, pending));
            known = known.max(cost);
        }
        // If a bound is wanted, however long it is.
        if known >= TOO_LONG || limit == LONGEST.0 && window::leave_nothing(streams) {
            return Err(Endless::Others);
        }
        if streams.is_empty() {
            return if longest > limit { Err(Stop::Beyond(longest).into()) } else { Ok(longest) };
        }
        let found = window::shortest((streams, ()), longest, known, WholeGaps, limit, passes)?;
        Ok(found.window)
    }
}
