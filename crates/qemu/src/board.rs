//! The boards of QEMU that Bulkhead runs on.

/// A board of QEMU as command-line values. The fields may be changed before the start.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Board {
    /// Value of `-machine`.
    pub machine: String,
    /// Value of `-cpu`; `None` where the board has a fixed CPU.
    pub cpu: Option<String>,
    /// Number of CPUs; `None` where the board has a fixed one.
    pub cpus: Option<u32>,
    /// RAM in bytes; `None` where the board has a fixed amount.
    pub memory_bytes: Option<u64>,
}

impl Board {
    /// Returns QEMU's `virt` with GICv3, four Cortex-A53, 1 GiB, started at EL2.
    pub fn virt() -> Self {
        Self {
            machine: "virt,virtualization=on,gic-version=3".into(),
            cpu: Some("cortex-a53".into()),
            cpus: Some(4),
            memory_bytes: Some(1 << 30),
        }
    }

    /// Returns true if QEMU generates a device tree with random seeds for this board.
    pub(crate) fn has_random_device_tree(&self) -> bool {
        self.machine.split(',').next() == Some("virt")
    }
}
