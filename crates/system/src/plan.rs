//! The plan: everything that the hypervisor does, decided.
//!
//! The types mirror the device tree of `docs/reference/plan.md` node by node.
//! PCPUs, VMs and VCPUs are known by their index.

mod check;
mod coloring;
mod dtb;
mod dts;
mod files;
mod lifecycle;
mod make;
mod model;
mod path;
mod read;
mod room;
mod tree;
mod write;

pub use abi::limits::{ANALYZED_MAX, ANALYZED_VCPUS_MAX, COUNT_MAX};
pub use check::PAGE;
pub(crate) use check::VM_NAME_HELP;
pub use check::{check, is_vm_name};
pub use coloring::frames_needed;
pub(crate) use coloring::virtual_cache;
pub(crate) use files::moved;
pub use files::{FileReport, check_files};
pub use lifecycle::{Lifecycle, OnEvent, Values};
pub use make::{HYPERVISOR_MEMORY, assign, check_given, console, make, outline};
pub use model::{
    Area, BandwidthCounter, Boot, Budget, Channel, Class, Coloring, Compensation, CounterSource,
    Device, DeviceInterrupts, Entries, File, Frames, Gic, Link, Llc, Locks, Mac, Mapping, Memory,
    MemoryBudget, Plan, Platform, Pool, PowerOff, Resource, Rings, Serial, SerialKind, SerialLine,
    Server, Vcpu, VirtualDevice, VirtualGic, Vm,
};
pub use policy::lock::RESOURCES_MAX;
pub use room::{check_described_files, check_room};

use crate::diagnostic::{Errors, Source};

impl Plan {
    /// Returns the plan as device tree source, written to be read and compared.
    pub fn to_dts(&self) -> String {
        dts::print(&write::tree(self))
    }

    /// Returns the plan as a flattened device tree, the form that the hypervisor reads.
    pub fn to_dtb(&self) -> Vec<u8> {
        dtb::print(&write::tree(self))
    }

    /// Reads device tree source; `name` is what messages call the text.
    ///
    /// # Errors
    ///
    /// Syntax, nodes and properties that are unknown, missing or of a wrong
    /// form, and everything that [`check`] finds, each with its line.
    pub fn from_dts(name: &str, text: &str) -> Result<Self, Errors> {
        let source = Source::new(name, text);
        let tree = dts::parse(&source)?;
        let plan = read::plan(&tree)?;
        check(&plan).map_err(|errors| tree.locate(errors))?;
        Ok(plan)
    }

    /// Reads a flattened device tree.
    ///
    /// # Errors
    ///
    /// As [`Plan::from_dts`]; the mistakes name node and property.
    pub fn from_dtb(bytes: &[u8]) -> Result<Self, Errors> {
        let plan = read::plan(&dtb::parse(bytes)?)?;
        check(&plan)?;
        Ok(plan)
    }
}

/// Compiles device tree source without checks: it need not be a plan.
///
/// # Errors
///
/// Mistakes of syntax.
pub fn compile(name: &str, text: &str) -> Result<Vec<u8>, Errors> {
    Ok(dtb::print(&dts::parse(&Source::new(name, text))?))
}
