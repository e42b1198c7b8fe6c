//! The costs of first touches and requests for colours.

use anyhow::{Context, Result};

use super::machine::{COLORING, Load, Machine};
use super::range::Range;
use super::rows::Rows;
use crate::workspace::Workspace;

/// Row of a page that is mapped when it is first touched; in a VM with and without colours.
pub const FIRST_TOUCH: &str = "first_touch";
pub const FIRST_TOUCH_PLAIN: &str = "first_touch_plain";
/// Row of a page that a request moves, and of one that is where it should be.
pub const MOVE: &str = "request_per_page";
pub const STAY: &str = "again_per_page";
/// Row of the longest chunk.
pub const CHUNK: &str = "request_chunk";
/// Rows of requests, and the number of pages that they find.
pub const REQUESTS: [(&str, u64); 6] = [
    ("request_256", 256),
    ("request_512", 512),
    ("request_1024", 1024),
    ("request_2048", 2048),
    ("request_4096", 4096),
    ("request_8192", 8192),
];

/// Pages that move in a chunk at most.
const CHUNK_MOVES: u64 = 8;
/// Pages and table entries at which a chunk looks at most.
const CHUNK_LOOKS: u64 = 32;

/// Measures, and adds the rows.
pub fn measure(workspace: &Workspace, rows: &mut Rows) -> Result<()> {
    // A VM without colours has blocks, or pages on first touch.
    let colors = |line: &str| line.starts_with("colors") || line.starts_with("extra_");
    let plain = Machine::new(workspace, COLORING, |line| !colors(line))?.run(Load::Guest)?;
    rows.add(FIRST_TOUCH_PLAIN, plain.get(FIRST_TOUCH)?);

    let colored = Machine::new(workspace, COLORING, |_| true)?.run(Load::Guest)?;
    rows.add(FIRST_TOUCH, colored.get(FIRST_TOUCH)?);
    for (name, _) in REQUESTS {
        rows.add(name, colored.get(name)?);
    }
    let [(_, least), .., (_, most)] = REQUESTS;
    let slope = |kind: &str| {
        let at = |pages| Ok::<_, anyhow::Error>(colored.get(&format!("{kind}_{pages}"))?.max);
        let rise = at(most)?.checked_sub(at(least)?).context("more pages cost less")?;
        Ok::<_, anyhow::Error>(rise.div_ceil(most - least))
    };
    let (moves, stays) = (slope("request")?, slope("again")?);
    rows.add(MOVE, Range::exact(moves));
    rows.add(STAY, Range::exact(stays));
    // No look costs more than one at a page that stays; what a chunk takes once is part of what
    // its moves take.
    let chunk = CHUNK_MOVES * moves + (CHUNK_LOOKS - CHUNK_MOVES) * stays;
    rows.add(CHUNK, Range::exact(chunk));
    Ok(())
}
