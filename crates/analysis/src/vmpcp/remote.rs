//! Remote blocking: how long a task waits until a resource is granted (Eq. 10 and 11).

use super::Variant;
use super::flat::{FlatSection, FlatTask};
use super::guests::Turns;
use super::system::System;
use crate::supply::WholeGaps;
use crate::window::{self, Stop, Stream};

impl System {
    /// `B^r` for one section, if it is not above `limit`. `responses`: `W^gcs` of all sections; `turns`: what guests
    /// that are not trusted can do, whose sections do not count.
    pub(super) fn wait(
        &self,
        section: &FlatSection,
        (responses, turns): (&[u64], &Turns),
        variant: Variant,
        limit: u64,
        streams: &mut Vec<Stream>,
        passes: &mut u32,
    ) -> Result<u64, Stop> {
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
            let (task, cost) =
                (&self.tasks[self.sections[it as usize].task], responses[it as usize]);
            streams.push(Stream::new(cost, task.period, pending(task, variant)));
            known = known.max(cost);
        }
        if streams.is_empty() {
            return if longest > limit { Err(Stop::Beyond(longest)) } else { Ok(longest) };
        }
        window::shortest((streams, ()), longest, known, WholeGaps, limit, passes)
            .map(|found| found.window)
    }
}

/// How long before a window begins a job can be released that makes requests in it.
pub fn pending(task: &FlatTask, variant: Variant) -> u64 {
    match variant {
        // `ceil(t / T) + 1`.
        Variant::Published => task.period.get(),
        // It is in time.
        Variant::Sound => task.deadline.min(task.period.get()),
    }
}
