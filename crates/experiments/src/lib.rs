//! Published results, measured again: experiments as folders with systems, measurements and claims.
//!
//! [`folder`] finds experiments, [`measure`] boots their systems or draws random ones, [`results`] judges the values by the
//! claims of the paper and writes tables, figures and pages. [`published`] puts the pages of all experiments together,
//! [`expected`] compares results with those of an earlier run.

#![forbid(unsafe_code)]

mod allocation;
mod bench;
mod boot;
mod chains;
mod changes;
mod claim;
pub mod expected;
pub mod experiment;
mod figures;
pub mod folder;
mod job;
mod locks;
mod measure;
pub mod papers;
mod peers;
mod points;
mod promised;
pub mod published;
pub mod results;
mod sets;
mod template;
mod timeline;
mod took;
mod traffic;
mod values;
mod variant;
mod wanted;

pub use measure::{measure, project};
