//! Remote blocking: how long a task waits until a resource is granted (Eq. 10 and 11).

use super::Variant;
use super::flat::{FlatSection, FlatTask};
use super::system::System;
use crate::supply::WholeGaps;
use crate::window::{self, Stop, Stream};

impl System {
    /// `B^r` for one section, if it is not above `limit`. `responses`: `W^gcs` of all sections.
    pub(super) fn wait(
        &self,
        section: &FlatSection,
        responses: &[u64],
        variant: Variant,
        limit: u64,
        streams: &mut Vec<Stream>,
        passes: &mut u32,
    ) -> Result<u64, Stop> {
        let below = self.rivals[section.below.clone()].iter();
        let longest = below.map(|it| responses[*it as usize]).max().unwrap_or(0);
        streams.clear();
        let mut known = longest;
        for it in self.ahead(section, variant) {
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
