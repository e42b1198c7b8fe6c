//! The hypervisor's CPUs, as far as VCPUs take turns on them and send each other interrupts. Copied are `vdev/gic`,
//! `locks`, `pcpu/sharing.rs`, `exits/interrupt.rs`, `vm/gic_env.rs` and `vm/virtual_timer.rs`; the rest is a model.

pub mod arch;
pub mod exits;
pub mod lock;
pub mod locks;
pub mod machine;
pub mod pcpu;
pub mod plan;
pub mod vdev;
pub mod vm;

pub use hypervisor::{scheduler, timer};

pub use machine::run;
