//! The description of a Bulkhead system, and the plan that is made from it.
//!
//! - [`units`]: addresses, sizes, times and interrupt numbers as types;
//! - [`plan`]: what the hypervisor does, the model behind `docs/reference/plan.md`.

#![forbid(unsafe_code)]

pub mod plan;
pub mod units;
