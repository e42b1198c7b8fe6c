//! A view of a recording under way.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use abi::trace::Record;
use trace::live::View;
use trace::{Entry, Header};

/// The events in a machine that is recorded: the recording tells them, others look at them.
#[derive(Clone, Debug, Default)]
pub struct Live(Arc<Mutex<Option<trace::live::Live>>>);

impl Live {
    /// Returns the numbers since the last call; `None`: the hypervisor has not started yet.
    pub fn view(&self) -> Option<View> {
        self.counted().as_mut().map(trace::live::Live::view)
    }

    pub(super) fn begin(&self, header: &Header) {
        *self.counted() = Some(trace::live::Live::new(header));
    }

    pub(super) fn tell(&self, pcpu: usize, overwritten: u64, records: &[Record]) {
        if let Some(live) = self.counted().as_mut() {
            live.lose(pcpu, overwritten);
            records
                .iter()
                .filter_map(|it| Entry::from_record(*it))
                .for_each(|it| live.tell(pcpu, it));
        }
    }

    fn counted(&self) -> MutexGuard<'_, Option<trace::live::Live>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
