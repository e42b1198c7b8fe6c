//! Maintenance of lines by address.

use super::Hierarchy;
use crate::LineOperation;

impl Hierarchy {
    /// A CPU writes a line back, or takes it out of the data caches of all CPUs, at a
    /// time in cycles. No CPU waits for it, but the bus is in use for a line
    /// that goes to memory. [`LineOperation::Zero`] is an access, and none of these.
    pub fn operate(&mut self, cpu: usize, operation: LineOperation, line: u64, now: u64) {
        let remove = match operation {
            LineOperation::Zero => return,
            LineOperation::CleanToShared => {
                for holder in 0..self.private.len() {
                    if self.private[holder].clean(line) {
                        // Where CPUs share no cache, a line goes to that of its holder.
                        let by = if self.last.len() > 1 { holder } else { cpu };
                        self.write_back(by, line, now);
                    }
                }
                return;
            }
            LineOperation::Clean => false,
            LineOperation::Remove => true,
        };
        let mut changed = false;
        for cache in self.private.iter_mut().chain(&mut self.last) {
            changed |=
                if remove { cache.invalidate(line) == Some(true) } else { cache.clean(line) };
        }
        if changed {
            let owner = self.owner(line);
            self.write_to_memory(cpu, owner, now);
        }
    }
}
