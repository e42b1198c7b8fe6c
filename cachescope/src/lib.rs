//! A QEMU plugin that models the caches and the memory bus of the chip that
//! QEMU emulates, and tells which owners use them and evict lines of each other.
//!
//! The model is `bulkhead-cachescope-model`; here is what connects it with QEMU.
//! Options, results and limits: README.md.

mod plugin;
