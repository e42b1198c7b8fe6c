//! The page: one self-contained document, complete even if its script does not run.

mod bounds;
mod cache;
mod chains;
mod decisions;
mod histogram;
pub(crate) mod label;
mod memory;
mod origin;
mod plan;
mod resources;
pub(crate) mod shell;
mod story;
pub(crate) mod svg;
mod tasks;
mod theorems;
mod ticks;
mod timeline;
mod timelines;
pub(crate) mod units;
mod vms;

use crate::proof::Proof;

/// A part of the page.
pub struct Part {
    /// The identifier that links to it name.
    id: &'static str,
    /// Its name in the navigation.
    nav: &'static str,
    /// Its heading.
    title: &'static str,
    /// Its content.
    html: String,
}

/// Returns the page.
pub fn html(proof: &Proof) -> String {
    let parts = [
        plan::part(proof),
        decisions::part(proof),
        tasks::part(proof),
        chains::part(proof),
        theorems::part(proof),
        timelines::part(proof),
        cache::part(proof),
        memory::part(proof),
        vms::part(proof),
        resources::part(proof),
        origin::part(proof),
    ];
    let parts: Vec<Part> = parts.into_iter().flatten().collect();
    shell::document(proof, &story::header(proof, &parts), &parts)
}
