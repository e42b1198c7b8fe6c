//! Limits of the searches.

use analysis::{LONGEST, Limits};

/// Enough for all but systems that need all of their time.
pub const LIMITS: Limits = Limits { window: LONGEST, passes: 200_000 };
