//! The meaning of the numbers in a trace: the first part of its file.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::VcpuId;

/// The system that a trace is about, and its clock.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Header {
    /// Name of the system.
    pub name: String,
    /// Origin of the trace.
    pub origin: Origin,
    /// Frequency of the clock in Hz; more than 0.
    pub frequency_hz: u64,
    /// Number of PCPUs.
    pub pcpus: usize,
    /// The VMs, in the order of their indices.
    pub vms: Vec<VmHeader>,
    /// Names of the resources, in the order of their indices in this trace; may be empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<String>,
}

/// Origins of traces.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// The system ran.
    Hypervisor,
    /// The simulator wrote the trace.
    Simulator,
}

/// A VM of the system.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct VmHeader {
    /// Name of the VM.
    pub name: String,
    /// Its VCPUs, in the order of their indices.
    pub vcpus: Vec<VcpuHeader>,
}

/// A VCPU of the system.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct VcpuHeader {
    /// Index of its PCPU.
    pub pcpu: usize,
    /// The server; absent if the VCPU has a PCPU of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerHeader>,
    /// Its tasks, in the order of the numbers that marks carry; may be empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<TaskHeader>,
}

/// A task of a VCPU.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct TaskHeader {
    /// Name of the task.
    pub name: String,
    /// Nanoseconds from release to release, if that never differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period_ns: Option<u64>,
    /// Nanoseconds from release to deadline, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ns: Option<u64>,
}

/// The server of a VCPU.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct ServerHeader {
    /// The name of its kind ([`policy::server::kind`]).
    pub kind: String,
    /// Budget in nanoseconds, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_ns: Option<u64>,
    /// Period in nanoseconds, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period_ns: Option<u64>,
}

impl Header {
    /// Returns all VCPUs.
    pub fn vcpus(&self) -> impl Iterator<Item = (VcpuId, &VcpuHeader)> {
        self.vms.iter().zip(0..).flat_map(|(vm, index)| {
            let ids = (0..).map(move |vcpu| VcpuId { vm: index, vcpu });
            ids.zip(&vm.vcpus)
        })
    }

    /// Returns the header of a VCPU.
    pub fn vcpu(&self, id: VcpuId) -> Option<&VcpuHeader> {
        self.vms.get(usize::from(id.vm))?.vcpus.get(usize::from(id.vcpu))
    }

    /// Returns the header of a task of a VCPU.
    pub fn task(&self, id: VcpuId, task: u8) -> Option<&TaskHeader> {
        self.vcpu(id)?.tasks.get(usize::from(task))
    }

    /// Returns the name of a VM; its number if it has none.
    pub fn vm_name(&self, vm: u8) -> String {
        self.vms.get(usize::from(vm)).map_or_else(|| format!("vm{vm}"), |it| it.name.clone())
    }

    /// Returns the name of a VCPU, such as `linux/0`.
    pub fn vcpu_name(&self, id: VcpuId) -> String {
        format!("{}/{}", self.vm_name(id.vm), id.vcpu)
    }

    /// Returns the name of a resource; its number if it has none.
    pub fn resource_name(&self, resource: u8) -> String {
        let name = self.resources.get(usize::from(resource));
        name.map_or_else(|| format!("resource {resource}"), |name| format!("resource {name}"))
    }

    /// Returns the name of a task of a VCPU; its number if it has none.
    pub fn task_name(&self, id: VcpuId, task: u8) -> String {
        self.task(id, task).map_or_else(|| format!("task {task}"), |task| task.name.clone())
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hypervisor => "execution",
            Self::Simulator => "simulation",
        })
    }
}

impl fmt::Display for ServerHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        if let (Some(budget), Some(period)) = (self.budget_ns, self.period_ns) {
            write!(f, ", {} of {} ms", millis(budget), millis(period))?;
        }
        Ok(())
    }
}

fn millis(ns: u64) -> f64 {
    ns as f64 / 1e6
}
