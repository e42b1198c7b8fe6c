//! Writes a description out of the configurations of another hypervisor: domains of Xen for `xl`, cells of
//! Jailhouse.
//!
//! Nothing is invented. What the other system does not say is a comment with `fill in`, and what has no
//! counterpart is a comment with `left out`, the file and the line. Both are listed, too.

#![forbid(unsafe_code)]

mod draft;
mod jailhouse;
mod names;
mod text;
mod toml;
mod xl;

use std::sync::Arc;

use system::diagnostic::{Errors, Source};

/// A description to be completed.
#[derive(Debug)]
pub struct Imported {
    /// Its text, in TOML.
    pub text: String,
    /// Parts that are to be filled in: each is a comment in the text, too.
    pub open: Vec<String>,
    /// Parts that have no counterpart: each is a comment in the text, too.
    pub left: Vec<Left>,
}

/// Something of another system that has no counterpart.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Left {
    /// The name of the file, and the line from 1.
    pub file: String,
    /// See above.
    pub line: usize,
    /// Its text.
    pub what: String,
    /// The reason why it is left out, or a remedy.
    pub why: String,
}

/// Returns the system of these domains of Xen. `scripts` set parameters of Xen's scheduler RTDS: lines with
/// `xl sched-rtds`.
///
/// # Errors
///
/// All mistakes in the files, each with its place.
pub fn xl(domains: &[Arc<Source>], scripts: &[Arc<Source>]) -> Result<Imported, Errors> {
    let vms = xl::read(domains, scripts)?;
    text::write("domains of Xen", domains, vms)
}

/// Returns the system of these cells of Jailhouse, given by their sources in C.
///
/// # Errors
///
/// All mistakes in the files, each with its place.
pub fn jailhouse(cells: &[Arc<Source>]) -> Result<Imported, Errors> {
    let vms = jailhouse::read(cells)?;
    text::write("cells of Jailhouse", cells, vms)
}
