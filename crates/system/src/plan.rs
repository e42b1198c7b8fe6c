//! The plan: everything that the hypervisor does, decided.
//!
//! The types mirror the device tree of `docs/reference/plan.md` node by node.
//! PCPUs, VMs and VCPUs are known by their index.

mod model;

pub use model::{
    Boot, Device, DeviceInterrupts, File, Gic, Mapping, OnEvent, Plan, Platform, Serial,
    SerialKind, Vcpu, VirtualGic, VirtualSerial, Vm,
};
