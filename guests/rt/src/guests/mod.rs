//! The guests: each module has the `main` of the binary `rt-<module>`.

pub mod beacon;
pub mod bench;
pub mod busy;
pub mod cache;
pub mod chase;
pub mod coincide;
pub mod color;
pub mod demo;
pub mod hostile;
pub mod irq;
pub mod leech;
pub mod locks;
pub mod periods;
pub mod psci;
pub mod races;
pub mod remap;
pub mod storm;
pub mod supply;
pub mod switch;
pub mod tasks;
pub mod torture;
