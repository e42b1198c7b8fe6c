//! Maintenance of lines by address.

use super::Hierarchy;
use crate::LineOperation;
use crate::bus::Transfer;

impl Hierarchy {
    /// Writes a line back, or takes it out of the data caches of all CPUs, at a
    /// time in cycles. Nobody waits for it, but the bus is in use for a line
    /// that goes to memory. [`LineOperation::Zero`] is an access, and none of these.
    pub fn operate(&mut self, operation: LineOperation, line: u64, now: u64) {
        let remove = match operation {
            LineOperation::Zero => return,
            LineOperation::CleanToShared => {
                for cpu in 0..self.private.len() {
                    if self.private[cpu].clean(line) {
                        self.write_back(line, now);
                    }
                }
                return;
            }
            LineOperation::Clean => false,
            LineOperation::Remove => true,
        };
        let mut changed = false;
        for cache in self.private.iter_mut().chain([&mut self.shared]) {
            changed |=
                if remove { cache.invalidate(line) == Some(true) } else { cache.clean(line) };
        }
        if changed {
            let owner = self.owner(line);
            self.tally.written(owner);
            self.bus.transfer(Transfer { now, cpu: None });
        }
    }
}
