//! Documents for machines.

use std::io::{self, Write};

use serde::Serialize;

/// Prints one document to the standard output.
pub fn print(document: &impl Serialize) -> io::Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, document)?;
    writeln!(out)?;
    out.flush()
}
