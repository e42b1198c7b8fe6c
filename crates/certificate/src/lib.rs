//! Certificates: bounds of response times as theorems that Coq checks.
//!
//! A bound of [`Vcpu`] becomes a theorem in a file of its VCPU: the parameters, a window for each
//! job of the task's longest busy window, and the statement. The proofs in `proofs/` say what such a
//! theorem means, and Coq computes whether the windows lead to the bound. Nothing in this crate has
//! to be correct for that: a file with a mistake is refused.
//!
//! This crate takes numbers and returns text. The windows are searched for here, and not taken from
//! the analysis.
//!
//! ```
//! use certificate::{Place, Task, Vcpu};
//!
//! let task = Task { wcet: 2, ..Task::new("control", 10, Ok(2)) };
//! let vcpu = Vcpu { tasks: vec![task], ..Vcpu::new("rt", 0, Place::Whole) };
//! let certificate = certificate::write(&vcpu);
//! assert_eq!(certificate.bounds.len(), 1);
//! assert!(certificate.text.contains("Theorem bound_of_control : safe system 0 2."));
//! ```

#![forbid(unsafe_code)]

pub mod folder;
mod lack;
mod names;
mod parameters;
mod text;
mod windows;

pub use lack::Lack;
pub use parameters::{Interferer, Limit, Place, Server, Source, Task, Vcpu};
pub use text::{Bound, Certificate, write};
