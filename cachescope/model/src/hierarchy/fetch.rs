//! Fetches of instructions.

use super::{Cost, Hierarchy, Request};
use crate::Found;

impl Hierarchy {
    /// A CPU fetches instructions of one line, through its instruction cache and
    /// the last-level cache. Instruction caches are not coherent, as on Arm:
    /// stores do not take lines from them.
    ///
    /// # Panics
    /// If fetches are not modelled ([`crate::Options::fetch`]).
    #[inline]
    pub fn fetch(&mut self, request: Request) -> Cost {
        let Request { cpu, who, line, .. } = request;
        let color = self.color(line);
        self.tally.at(who, color).fetches += 1;
        match self.instructions[cpu].touch(line, false) {
            Found::No => self.fetch_shared(request),
            _ => Cost::default(),
        }
    }

    fn fetch_shared(&mut self, request: Request) -> Cost {
        let Request { cpu, who, line, .. } = request;
        if let Some(cost) = self.bypass(request) {
            return cost;
        }
        let color = self.color(line);
        self.tally.at(who, color).l1i_misses += 1;
        let cost = self.demand(request, false);
        self.instructions[cpu].fill(line, false);
        cost
    }
}
