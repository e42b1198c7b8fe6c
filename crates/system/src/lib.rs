//! The description of a Bulkhead system, and the plan that is made from it.
//!
//! - [`units`]: addresses, sizes, times and interrupt numbers as types;
//! - [`plan`]: what the hypervisor does, the model behind `docs/reference/plan.md`;
//! - [`diagnostic`]: what is wrong with an input, and where.

#![forbid(unsafe_code)]

pub mod description;
pub mod diagnostic;
mod document;
pub mod plan;
pub mod platform;
mod suggest;
pub mod units;
