//! The costs of calls about critical sections and shared resources, and of calls that do not exist.

use anyhow::Result;

use super::machine::{LOCKS, Load, Machine};
use super::rows::Rows;
use crate::workspace::Workspace;

/// Rows of the guest.
pub const ROWS: [&str; 11] = [
    "hvc_unknown",
    "smc_unknown",
    "trace_mark",
    "gcs_start",
    "gcs_finish",
    "lock_open_new",
    "lock_open",
    "lock_destroy",
    "lock",
    "trylock",
    "unlock",
];

/// Measures, and adds the rows.
pub fn measure(workspace: &Workspace, rows: &mut Rows) -> Result<()> {
    let found = Machine::new(workspace, LOCKS, |_| true)?.run(Load::Guest)?;
    for name in ROWS {
        rows.add(name, found.get(name)?);
    }
    Ok(())
}
