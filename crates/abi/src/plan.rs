//! The names of the plan: nodes and properties of its device tree, and the words that are values.
//!
//! `docs/reference/plan.md` describes the tree. The tools write and read a plan, and the hypervisor reads it again with
//! code of its own; both take the names from here. [`limits`](crate::limits) has the numbers.

/// `compatible` of the root: name and version of the tree.
pub const COMPATIBLE: &str = "bulkhead,plan-v1";

/// Names of nodes and properties. `CONTRIBUTING.md` says where else a property stands.
#[expect(missing_docs, reason = "docs/reference/plan.md says what each one means")]
pub mod names {
    // Nodes.
    pub const PLATFORM: &str = "platform";
    pub const HYPERVISOR: &str = "hypervisor";
    pub const CPUS: &str = "cpus";
    pub const CPU: &str = "cpu";
    pub const INTERRUPT_CONTROLLER: &str = "interrupt-controller";
    pub const POWER_OFF: &str = "power-off";
    pub const SERIAL: &str = "serial";
    pub const LLC: &str = "llc";
    pub const BANDWIDTH_COUNTER: &str = "bandwidth-counter";
    pub const VMS: &str = "vms";
    pub const VM: &str = "vm";
    pub const VCPUS: &str = "vcpus";
    pub const VCPU: &str = "vcpu";
    pub const MEMORY: &str = "memory";
    pub const DEVICE: &str = "device";
    pub const BOOT: &str = "boot";
    pub const KERNEL: &str = "kernel";
    pub const INITRD: &str = "initrd";
    pub const DEVICE_TREE: &str = "device-tree";
    pub const COLORING: &str = "coloring";
    pub const COLOR_SERIAL: &str = "color-serial";
    pub const RESOURCES: &str = "resources";
    pub const RESOURCE: &str = "resource";
    pub const CHANNELS: &str = "channels";
    pub const CHANNEL: &str = "channel";
    pub const BELL: &str = "bell";
    pub const SERIAL_LINES: &str = "serial-lines";
    pub const SERIAL_LINE: &str = "serial-line";
    pub const LINKS: &str = "links";
    pub const LINK: &str = "link";

    // Properties. `vms` names those of a resource, of a serial line, and of a link, too.
    pub const COMPATIBLE: &str = "compatible";
    pub const MODEL: &str = "model";
    pub const ADDRESS_CELLS: &str = "#address-cells";
    pub const SIZE_CELLS: &str = "#size-cells";
    pub const REG: &str = "reg";
    pub const HOST_REG: &str = "host-reg";
    pub const LOCKS: &str = "locks";
    pub const BOARD: &str = "board";
    pub const GIC_VERSION: &str = "gic-version";
    pub const SWITCH_NS: &str = "switch-ns";
    pub const KICK_NS: &str = "kick-ns";
    pub const DEVICE_TYPE: &str = "device_type";
    pub const ENABLE_METHOD: &str = "enable-method";
    pub const CPU_RELEASE_ADDR: &str = "cpu-release-addr";
    pub const INTERRUPTS: &str = "interrupts";
    pub const HOST_INTERRUPTS: &str = "host-interrupts";
    pub const PCPU: &str = "pcpu";
    pub const CACHE_SIZE: &str = "cache-size";
    pub const WAYS: &str = "ways";
    pub const LINE_SIZE: &str = "line-size";
    pub const SLICES: &str = "slices";
    pub const COLOR_MASK: &str = "color-mask";
    pub const NOT_IN_REGISTERS: &str = "not-in-registers";
    pub const SOURCE: &str = "source";
    pub const EVENT: &str = "event";
    pub const BITS: &str = "bits";
    pub const ACCESS_BYTES: &str = "access-bytes";
    pub const RESOURCE_NAME: &str = "resource-name";
    pub const CHANNEL_NAME: &str = "channel-name";
    pub const FROM: &str = "from";
    pub const TO: &str = "to";
    pub const RING_INTERVAL_NS: &str = "ring-interval-ns";
    pub const RING_EARLY_NS: &str = "ring-early-ns";
    pub const TELL_INTERVAL_NS: &str = "tell-interval-ns";
    pub const TELL_EARLY_NS: &str = "tell-early-ns";
    pub const LINK_NAME: &str = "link-name";
    pub const MACS: &str = "macs";
    pub const BYTES_PER_SECOND: &str = "bytes-per-second";
    pub const BURST_BYTES: &str = "burst-bytes";
    pub const VM_NAME: &str = "vm-name";
    pub const ON_CRASH: &str = "on-crash";
    pub const ON_RESET: &str = "on-reset";
    pub const RESTART_LIMIT: &str = "restart-limit";
    pub const ABORTS: &str = "aborts";
    pub const VLLC: &str = "vllc";
    pub const WARM_UP: &str = "warm-up";
    pub const MEMORY_BUDGET: &str = "memory-budget";
    pub const MEMORY_PERIOD_NS: &str = "memory-period-ns";
    pub const COMPENSATION: &str = "compensation";
    pub const FLUSH_TASK_SWITCH: &str = "flush-task-switch";
    pub const CRITICAL: &str = "critical";
    pub const SERVER: &str = "server";
    pub const BUDGET_NS: &str = "budget-ns";
    pub const PERIOD_NS: &str = "period-ns";
    pub const OVERRUN_NS: &str = "overrun-ns";
    pub const HOLD_NS: &str = "hold-ns";
    pub const SECTIONS_INTERVAL_NS: &str = "sections-interval-ns";
    pub const SECTIONS_EARLY_NS: &str = "sections-early-ns";
    pub const PRIORITY: &str = "priority";
    pub const COLORS: &str = "colors";
    pub const FRAMES: &str = "frames";
    pub const ENTRY: &str = "entry";
    pub const BOOTARGS: &str = "bootargs";
    pub const FILE: &str = "file";
    pub const LOAD: &str = "load";
}

/// Words that are values of properties.
pub mod words {
    /// `device_type` of RAM.
    pub const MEMORY: &str = "memory";
    /// `compatible` of a GICv2.
    pub const GIC_V2: &str = "arm,gic-400";
    /// `compatible` of a GICv3.
    pub const GIC_V3: &str = "arm,gic-v3";
    /// Both.
    pub const GICS: [&str; 2] = [GIC_V2, GIC_V3];
    /// `compatible` of the UARTs for which the hypervisor has a driver: PL011, that of the Zynq UltraScale+.
    pub const UARTS: [&str; 2] = ["arm,pl011", "xlnx,zynqmp-uart"];
    /// `compatible` of the UARTs that guests see.
    pub const VIRTUAL_UART: &str = UARTS[0];
    /// `compatible` of the network cards that guests see.
    pub const NETWORK_CARD: &str = "virtio,mmio";
    /// `compatible` of the devices that turn the machine off.
    pub const POWER_OFFS: [&str; 1] = ["brcm,bcm2835-pm"];
    /// `enable-method` of a CPU that waits in a spin table.
    pub const SPIN_TABLE: &str = "spin-table";
    /// `source` of a counter of memory accesses: an event of the PMU, its cycles, the cache model.
    pub const COUNTERS: [&str; 3] = ["pmu", "cycles", "cachescope"];
    /// `on-crash` and `on-reset`.
    pub const EVENTS: [&str; 2] = ["stop", "restart"];
    /// `server`: the kinds of servers; the last one gets what others leave.
    pub const SERVERS: [&str; 4] = ["periodic", "deferrable", "sporadic", "background"];
    /// `locks`: whether VCPUs in global critical sections go before all others, or keep their priorities.
    pub const LOCKS: [&str; 2] = ["vmpcp", "mpcp"];
}

/// Events of the PMU that are no accesses to memory (Arm Architecture Reference Manual, D13.12).
pub mod events {
    /// Instructions.
    pub const INSTRUCTIONS: u16 = 0x08;
    /// Cycles.
    pub const CYCLES: u16 = 0x11;
}
