//! Errors of a plan. An error only refers to the tree; its text is made
//! when it is printed.

use alloc::boxed::Box;
use core::fmt;

use super::tree::{Node, Tree};
use super::{MAX_CPUS, Missing, Range};
use crate::arch::page_table::{ADDRESS_END, MapError};
use crate::payload::BlobName;
use crate::vdev::gic::ConfigError;

/// An error in a plan, and its place.
#[derive(Clone, Copy, Debug)]
pub struct PlanError<'a> {
    /// The node.
    pub node: Node<'a>,
    /// Name of the property, if one is to blame.
    pub property: Option<&'static str>,
    /// The mistake, and what was expected.
    pub problem: Problem<'a>,
}

/// An error on its way: small to hand on, and on the heap, which lives for ever.
pub type Refusal<'a> = Box<PlanError<'a>>;

/// A mistake, and what was expected. All numbers have 64 bits: there is one routine that prints them.
#[derive(Clone, Copy, Debug)]
pub enum Problem<'a> {
    /// A mistake that needs no details.
    Text(&'static str),
    /// The binding has no property of this name here.
    UnknownProperty(&'a str),
    /// The binding has no node of this name here.
    UnknownNode(&'a str),
    /// A node that must be there.
    MissingNode(&'static str),
    /// A node that may be there once.
    NodeTwice(&'static str),
    /// A text that must be one of these.
    Expected(&'a str, &'static [&'static str]),
    /// Cells that do not come in groups of this size.
    Groups(usize),
    /// Ranges whose number is not this.
    Ranges(usize),
    /// Too few or too many of something.
    Count(usize, &'static str),
    /// Two CPUs with one affinity.
    SameAffinity(u64),
    /// Two VMs with one name.
    SameName(&'a str),
    /// An interrupt that is not shared.
    Interrupt(u64),
    /// A PCPU that there is not, and the number of PCPUs.
    NoPcpu(usize, usize),
    /// A PCPU that runs a VCPU of this VM, and one of the two has no server.
    PcpuTaken(usize, &'a str),
    /// A priority that another VCPU of the PCPU has, which is of this VM.
    PriorityTaken(u64, &'a str),
    /// Nanoseconds that are no ticks of a counter of this frequency, and the nearest that are.
    Ticks(u64, u64, u64),
    /// Accesses that are none, or more than a counter can wait for.
    Accesses(u64, u64),
    /// Nanoseconds that are not from the first to the second of these.
    Period(u64, u64, u64),
    /// Index of a PCPU, and the part that it lacks of the counter of memory accesses.
    Counter(usize, Missing),
    /// Bytes of `host-reg` and of `reg`.
    Sizes(u64, u64),
    /// Number of interrupts in the machine and in the guest.
    InterruptCounts(usize, usize),
    /// A range that is not in one bank of the machine.
    NotInBank(Range),
    /// A range beyond the reach of translation tables.
    Beyond(Range),
    /// Redistributors of this size are needed.
    Redistributors(u64),
    /// CPU interfaces of this size are needed.
    CpuInterface(u64),
    /// Frames of a virtual interrupt controller that are needed.
    GicFrames(u64, u64),
    /// A range, another that it overlaps, and the owner of that.
    Overlap(Range, Range, &'a str),
    /// A range, another that it overlaps, and the node of that.
    OverlapNode(Range, Range, Node<'a>),
    /// A device in a memory bank.
    IsRam(Range, Range),
    /// An interrupt that belongs to another.
    InterruptTaken(u64, &'a str),
    /// An interrupt that the guest has twice.
    InterruptTwice(u64),
    /// A blob that is not in the image.
    NoBlob(BlobName<'a>),
    /// A number of bytes, and an address: these bytes are not in the memory of the VM.
    LoadOutside(u64, u64),
    /// An entry that is not in the memory of the VM.
    NotCode(u64),
    /// Frames of the colours in the area, and frames that are needed.
    Frames(u64, u64),
    /// The last-level cache of this CPU: bytes, ways, bytes of a line.
    Llc([u64; 3]),
    /// An address that stage 2 maps, though the VM owns it not.
    Audit(u64),
    /// Memory that the machine described by this tree does not have.
    NotInMachine(Range, Tree<'a>),
    /// A range that cannot be mapped.
    Map(Range, MapError),
    /// A virtual interrupt controller that cannot be made.
    Gic(ConfigError),
}

impl fmt::Display for PlanError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("plan: ")?;
        self.node.fmt(f)?;
        if let Some(property) = self.property {
            f.write_str(": ")?;
            f.write_str(property)?;
        }
        f.write_str(": ")?;
        self.problem.fmt(f)
    }
}

impl fmt::Display for Problem<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Text(text) => f.write_str(text),
            Self::UnknownProperty(name) => write!(f, "unknown property {name}"),
            Self::UnknownNode(name) => write!(f, "unknown node {name}"),
            Self::MissingNode(name) => write!(f, "node {name} is missing"),
            Self::NodeTwice(name) => write!(f, "node {name} stands here twice"),
            Self::Expected(found, expected) => {
                write!(f, "is \"{found}\", expected ")?;
                for (index, text) in expected.iter().enumerate() {
                    write!(f, "{}\"{text}\"", if index == 0 { "" } else { " or " })?;
                }
                Ok(())
            }
            Self::Groups(cells) => write!(f, "must have cells in groups of {cells}"),
            Self::Ranges(count) => write!(f, "must be {count} ranges of address and size"),
            Self::Count(count, what) => write!(f, "{count} {what}, expected 1 to {MAX_CPUS}"),
            Self::SameAffinity(mpidr) => write!(f, "two CPUs have the affinity {mpidr:#x}"),
            Self::SameName(name) => write!(f, "two VMs are called {name}"),
            Self::Interrupt(intid) => write!(f, "is {intid}, expected 32 to 1019"),
            Self::NoPcpu(pcpu, cpus) => {
                write!(f, "is {pcpu}, but the platform has PCPUs 0 to {}", cpus.saturating_sub(1))
            }
            Self::PcpuTaken(pcpu, owner) => {
                write!(f, "PCPU {pcpu} runs a VCPU of {owner} already, and not both have a server")
            }
            Self::PriorityTaken(priority, owner) => {
                write!(f, "is {priority}, as that of a VCPU of {owner} on the same PCPU")
            }
            Self::Ticks(time, frequency, good) => write!(
                f,
                "{time} ns are no whole number of ticks of the counter ({frequency} Hz), {good} are"
            ),
            Self::Accesses(accesses, most) => {
                write!(f, "{accesses} accesses, expected 1 to {most} in a period, with all credits")
            }
            Self::Period(period, least, most) => {
                write!(f, "is {period} ns, expected at least {least} and at most {most}")
            }
            Self::Counter(pcpu, missing) => write!(f, "PCPU {pcpu} {missing}"),
            Self::Sizes(host, guest) => {
                write!(f, "has {host:#x} bytes, but reg has {guest:#x}: they must be equal")
            }
            Self::InterruptCounts(host, guest) => {
                write!(f, "has {host} interrupts, but interrupts has {guest}")
            }
            Self::NotInBank(range) => write!(f, "{range} does not lie in one memory bank"),
            Self::Beyond(range) => write!(f, "{range} lies beyond {ADDRESS_END:#x}"),
            Self::Redistributors(bytes) => {
                write!(f, "the redistributors of all CPUs need {bytes:#x} bytes")
            }
            Self::CpuInterface(bytes) => write!(f, "GICC and GICV need {bytes:#x} bytes"),
            Self::GicFrames(distributor, other) => {
                write!(f, "needs {distributor:#x} and {other:#x} bytes")
            }
            Self::Overlap(range, other, owner) => {
                write!(f, "{range} overlaps {other}, which belongs to {owner}")
            }
            Self::OverlapNode(range, other, node) => {
                write!(f, "{range} overlaps {other} of {node}")
            }
            Self::IsRam(range, bank) => write!(f, "{range} is RAM ({bank}), not a device"),
            Self::InterruptTaken(intid, owner) => {
                write!(f, "interrupt {intid} belongs to {owner} already")
            }
            Self::InterruptTwice(intid) => write!(f, "interrupt {intid} is used twice"),
            Self::NoBlob(name) => write!(f, "the image has no blob {name}"),
            Self::LoadOutside(bytes, address) => write!(
                f,
                "{bytes:#x} bytes at {address:#x} do not lie in the memory of the VM (8-byte aligned)"
            ),
            Self::NotCode(entry) => {
                write!(f, "{entry:#x} is not an instruction in the memory of the VM")
            }
            Self::Frames(found, needed) => {
                write!(f, "holds {found} frames of these colours, {needed} are needed")
            }
            Self::Llc([bytes, ways, line]) => {
                write!(f, "this CPU has {bytes:#x} bytes, {ways} ways, {line}-byte lines")
            }
            Self::Audit(address) => write!(f, "audit: {address:#x} is mapped and should not be"),
            Self::NotInMachine(bank, tree) => {
                write!(f, "is {bank}, but the machine has RAM at")?;
                let mut result = Ok(());
                tree.for_each_memory(&mut |range| {
                    result = result.and_then(|()| write!(f, " {range}"));
                });
                result
            }
            Self::Map(range, error) => write!(f, "{range} cannot be mapped: {error}"),
            Self::Gic(error) => error.fmt(f),
        }
    }
}
