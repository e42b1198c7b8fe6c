//! Channels between VMs: which messages of a sender pass, and when the receiver is interrupted.
//!
//! A sender has a [`Bucket`] of tokens, which is refilled at a constant rate. A message takes as
//! many tokens as it costs, for example one for each byte, or is dropped. So the work that a sender
//! causes for others is limited, whatever it does. A [`Moderation`] limits how often messages
//! interrupt a receiver, whatever its sender does: messages that come too early are announced
//! together, a bounded time later.
//!
//! A [`Channel`] is both, with a queue of limited length between them. The hypervisor keeps the
//! messages; this module decides about them.
//!
//! Instants of calls may be those of different CPUs: one that is earlier than that of a call before
//! counts as the same. All limits are about the instants that count.

mod bucket;
mod moderation;
mod parameters;
mod queue;

pub use bucket::Bucket;
pub use moderation::{Moderation, Signal};
pub use parameters::{Parameters, ParametersError};
pub use queue::{Channel, Dropped};
