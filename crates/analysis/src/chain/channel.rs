//! The way of a message through a channel of the hypervisor.

use crate::chain::Delay;
use crate::chain::bucket::Bucket;
use crate::{Duration, LONGEST};

/// The way of a message from the call of its sender to the activation of its reader.
///
/// The hypervisor copies the message, as work of the sender. It then interrupts the receiver, at
/// once or when the limit on its interrupts allows (`policy::channel::Moderation`); one interrupt
/// announces all messages that have come. The reader is activated when the VCPU of the receiver
/// could take the interrupt; that it may have no budget then belongs to the response time of the
/// reader.
///
/// The delay holds for messages that are not dropped: the sender's stream is
/// [admitted](Bucket::admits) by its bucket, and the queue has as many places as
/// [`crate::chain::queue`] says.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Passage {
    /// From the call to the end of the copy, shortest and longest time: with what the hypervisor
    /// and others may take from the sender meanwhile.
    pub copy: (Duration, Duration),
    /// The limit on interrupts of the receiver, if there is one.
    pub moderation: Option<Bucket>,
    /// From the instant at which the interrupt is due to the activation of the reader, shortest and
    /// longest time.
    pub signal: (Duration, Duration),
}

impl Passage {
    /// Returns the delay of the channel as a step of a chain; `None` if a shortest time is longer
    /// than its longest time, or the sum longer than [`LONGEST`].
    pub fn delay(&self) -> Option<Delay> {
        let Self { copy, moderation, signal } = self;
        if copy.0 > copy.1 || signal.0 > signal.1 {
            return None;
        }
        let waits = moderation.map_or(Duration(0), |it| it.moderates_for());
        let sum = |times: [Duration; 3]| {
            let sum = times.iter().fold(0u64, |sum, time| sum.saturating_add(time.0));
            Some(Duration(sum)).filter(|sum| *sum <= LONGEST)
        };
        Delay::new(sum([copy.0, signal.0, Duration(0)])?, sum([copy.1, waits, signal.1])?)
    }
}
