//! Time: nanoseconds since the start.

/// A time that never comes.
pub const NEVER: u64 = u64::MAX;
