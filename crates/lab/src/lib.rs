//! Loads, boots, records, simulates and judges systems: what all commands, experiments and tests do with one.
//!
//! A file becomes a [`load::System`]. [`check`] judges it, [`advice`] says what would help. [`boot`] makes its image and starts it in a machine, [`record`] writes what happens
//! there as a trace, [`cachescope`] counts what happens in the caches, [`simulate`] does without a machine. [`run`] is one
//! run with its verdict, [`consoles`] shows each of its VMs on a socket. [`deadlines`] says whether the tasks of a run were in time, [`chains`] how long data took through
//! several tasks, [`decisions`] whether the scheduler
//! decided as its policies do, [`difference`] what changed from one system to another, [`comparison`] in what two
//! traces differ, and [`proof`] puts analysis, simulation and execution together.
//! [`verdicts`] is what was judged as one table, [`made`] says in a document when and by what it was made, and [`site`]
//! shows documents of many runs beside each other.
//!
//! Nothing here prints, reads options or ends a process.

#![forbid(unsafe_code)]

pub mod advice;
pub mod amount;
pub mod board;
pub mod boot;
pub mod cachescope;
pub mod certificate;
pub mod chains;
pub mod check;
pub mod comparison;
pub mod console;
pub mod consoles;
pub mod deadlines;
pub mod decisions;
pub mod difference;
pub mod explain;
mod failure;
pub mod header;
pub mod hypervisor;
pub mod keep;
pub mod kvm;
pub mod load;
pub mod made;
mod owner;
pub mod proof;
pub mod record;
pub mod responses;
pub mod run;
pub mod simulate;
pub mod site;
pub mod template;
pub mod verdicts;
mod watch;
pub mod workspace;

pub use failure::Failure;
pub use image::WholeFile;
pub use watch::Watch;
