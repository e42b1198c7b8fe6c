//! The contents of a proof, as plain data.

pub mod cache;
pub mod chain;
pub mod memory;
pub mod origin;
pub mod run;
pub mod system;
pub mod task;
pub mod theorem;
pub mod timeline;
