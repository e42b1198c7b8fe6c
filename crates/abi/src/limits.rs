//! Limits that the tools and the hypervisor check, each with code of its own.
//!
//! The limit on resources that VMs share is `policy::lock::RESOURCES_MAX`.

use core::ops::Range;

/// Most PCPUs, most VMs, and most VCPUs of a VM.
pub const COUNT_MAX: usize = 8;

/// Most PCPUs and most VMs of a machine that is only analysed: traces have 8 bits for their numbers.
pub const ANALYZED_MAX: usize = 256;

/// Most VCPUs of a VM on such a machine.
pub const ANALYZED_VCPUS_MAX: usize = 64;

/// Most channels of a system.
pub const CHANNELS_MAX: usize = 16;

/// Most bytes of a channel.
pub const CHANNEL_BYTES_MAX: u64 = 8 << 20;

/// Most serial lines of a system.
pub const SERIAL_LINES_MAX: usize = 8;

/// Most links of a system.
pub const LINKS_MAX: usize = 8;

/// Fewest and most bytes that an end of a link may be allowed to send in a second.
pub const LINK_RATE_MIN: u64 = 1_000;
/// See [`LINK_RATE_MIN`].
pub const LINK_RATE_MAX: u64 = 10_000_000_000;

/// Fewest and most bytes that an end of a link may send at once: one frame, and 1 MiB.
pub const LINK_BURST_MIN: u64 = 1514;
/// See [`LINK_BURST_MIN`].
pub const LINK_BURST_MAX: u64 = 1 << 20;

/// Fewest bytes that a frame counts in what an end of a link may send.
pub const LINK_COUNTED_MIN: u64 = 64;

/// Shortest time in nanoseconds from one ring of a channel to the next, which interrupts its readers, and from one
/// interrupt of an end of a serial line or of a link to the next.
pub const RING_INTERVAL_MIN_NS: u64 = 20_000;

/// Longest time in nanoseconds from one ring of a channel, or interrupt of a serial line or of a link, to the next.
pub const RING_INTERVAL_MAX_NS: u64 = SECTIONS_INTERVAL_MAX_NS;

/// Most rings of a channel, or interrupts of a serial line or of a link, in one burst.
pub const RING_BURST_MAX: u64 = 64;

/// Most nanoseconds by which they may come early: that of the longest burst.
pub const RING_EARLY_MAX_NS: u64 = (RING_BURST_MAX - 1) * RING_INTERVAL_MAX_NS;

/// Most characters in the name of a VM, of a resource that VMs share, of a channel, or of a link.
pub const NAME_MAX: usize = 15;

/// Bytes of a page: the alignment of every region.
pub const PAGE_BYTES: u64 = 4096;

/// End of the addresses that guests and hypervisor can have: 39 bits.
pub const ADDRESS_END: u64 = 1 << 39;

/// Alignment of what is loaded into the RAM of a VM, and of the word at which a CPU waits for its start.
pub const WORD_BYTES: u64 = 8;

/// Bytes of the distributor of a GICv3.
pub const DISTRIBUTOR_BYTES: u64 = 0x1_0000;

/// Bytes of the redistributor frames of one CPU.
pub const REDISTRIBUTOR_BYTES: u64 = 0x2_0000;

/// Bytes of a CPU interface of a GICv2.
pub const CPU_INTERFACE_BYTES: u64 = 0x2000;

/// INTIDs of private interrupts that can be wired to a device of one CPU.
pub const PRIVATE_INTERRUPTS: Range<u32> = 16..32;

/// Private interrupts that the hypervisor uses: maintenance of virtual interrupts, the timer of EL2, the
/// virtual timer.
pub const RESERVED_INTERRUPTS: [u32; 3] = [25, 26, 27];

/// INTIDs of shared interrupts.
pub const SHARED_INTERRUPTS: Range<u32> = 32..1020;

/// Shortest budget of a server in nanoseconds.
pub const BUDGET_MIN_NS: u64 = 1_000;

/// Longest period of a server or of a memory budget, and longest time in critical sections, in nanoseconds:
/// products of times stay within 64 bits.
pub const PERIOD_MAX_NS: u64 = 60_000_000_000;

/// Shortest period of a memory budget in nanoseconds. In each one a VCPU that uses its budget up costs its PCPU two
/// interrupts and a switch to another VCPU and back, some 2,000 instructions.
pub const MEMORY_PERIOD_MIN_NS: u64 = 20_000;

/// Fewest periods after which credits are given up: in the first one of them there are none yet.
pub const COMPENSATION_MIN: u32 = 2;

/// Longest time in nanoseconds that a VCPU pays when it stops or wakes.
pub const PRICE_MAX_NS: u64 = 10_000_000;

/// Shortest time in nanoseconds from one entry into a global critical section to the next.
pub const SECTIONS_INTERVAL_MIN_NS: u64 = 1_000;

/// Longest time in nanoseconds from one entry into a global critical section to the next.
pub const SECTIONS_INTERVAL_MAX_NS: u64 = 3_600_000_000_000;

/// Most nanoseconds by which entries into global critical sections may come early.
pub const SECTIONS_EARLY_MAX_NS: u64 = 1 << 56;
