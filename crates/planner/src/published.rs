//! Algorithms 1 to 5 of the vCache paper (Kim and Rajkumar, ACM TECS 2017), as published.
//!
//! Where the text cannot be followed to the letter, the module says what is done instead.

pub mod best_fit_with_cache;
pub mod break_bundle;
pub mod cache_aware_vm;
pub mod cache_to_task;
pub mod cache_to_vm;
