//! Paths of the nodes of a plan.

use std::fmt::LowerHex;

/// `memory@40000000`.
pub(super) fn unit(name: &str, address: impl LowerHex) -> String {
    format!("{name}@{address:x}")
}

/// `/vms/vm@0`.
pub(super) fn vm(index: usize) -> String {
    format!("/vms/vm@{index:x}")
}

/// `/vms/vm@0/vcpus/vcpu@1`.
pub(super) fn vcpu(vm_index: usize, index: usize) -> String {
    format!("{}/vcpus/vcpu@{index:x}", vm(vm_index))
}

/// `/resources/resource@0`.
pub(super) fn resource(index: usize) -> String {
    format!("/resources/resource@{index:x}")
}
