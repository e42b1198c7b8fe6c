//! What a proof consists of: plain data.

pub mod cache;
pub mod memory;
pub mod origin;
pub mod run;
pub mod system;
pub mod task;
pub mod timeline;
