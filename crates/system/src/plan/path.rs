//! Paths of the nodes of a plan.

use abi::plan::names;

pub(super) use super::tree::unit;
use super::{Channel, Link, SerialLine};

/// `/vms/vm@0`.
pub(super) fn vm(index: usize) -> String {
    format!("/{}/{}", names::VMS, unit(names::VM, index))
}

/// `/vms/vm@0/vcpus/vcpu@1`.
pub(super) fn vcpu(vm_index: usize, index: usize) -> String {
    format!("{}/{}/{}", vm(vm_index), names::VCPUS, unit(names::VCPU, index))
}

/// `/resources/resource@0`.
pub(super) fn resource(index: usize) -> String {
    format!("/{}/{}", names::RESOURCES, unit(names::RESOURCE, index))
}

/// `/channels/channel@30000000`.
pub(super) fn channel(channel: &Channel) -> String {
    format!("/{}/{}", names::CHANNELS, unit(names::CHANNEL, channel.memory.ipa.0))
}

/// `/serial-lines/serial-line@a030000`.
pub(super) fn serial_line(line: &SerialLine) -> String {
    format!("/{}/{}", names::SERIAL_LINES, unit(names::SERIAL_LINE, line.registers.start.0))
}

/// `/links/link@a040000`.
pub(super) fn link(link: &Link) -> String {
    format!("/{}/{}", names::LINKS, unit(names::LINK, link.registers.start.0))
}
