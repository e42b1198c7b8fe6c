//! Resources that tasks share, and the critical sections in which they hold them (vMPCP,
//! section II.B).

mod check;
mod entries;
mod read;
mod sections;

pub(super) use check::check;
pub(super) use read::{Known, protocol, read};
pub(super) use sections::{check_lengths, read as sections};

use units::Duration;

use super::{Located, System, Task, Vm};
use crate::diagnostic::Place;
use crate::plan::Budget;
use crate::platform::Platform;

/// Default time that the hypervisor may take in a global critical section.
pub(super) const SECTION_OVERHEAD: Duration = Duration(100_000);

/// A resource that one task at a time may use.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Resource {
    /// Name: as one of a VM.
    pub name: Located<String>,
    /// Indices of the VMs that may open it, in ascending order; at least one.
    pub vms: Vec<usize>,
    /// True if the hypervisor keeps its mutex, so that VMs can share it. Otherwise it belongs to
    /// one VM, which keeps the mutex itself.
    pub inter_vm: bool,
}

/// A critical section of a task: the task holds one resource, and requests no other.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Section {
    /// Index of the resource in [`System::resources`].
    pub resource: usize,
    /// Execution before it, since the start of the job or the end of the section before: `C_{i,j}`.
    pub after: Duration,
    /// Execution in it: `E_{i,j}`; more than zero.
    pub length: Duration,
    /// Longest additional time because of memory accesses of other PCPUs
    /// ([`System::memory_delay`]): all accesses of the job may be in the section.
    pub delay: Duration,
    /// Place of its description.
    pub place: Place,
}

impl Section {
    /// Returns the longest time that the section takes on a processor that nothing else uses.
    pub fn longest(&self) -> Duration {
        Duration(self.length.0.saturating_add(self.delay.0))
    }
}

/// Sets the delay by memory accesses of each section, if they are known.
pub(super) fn count_delays<'a>(platform: &Platform, vms: impl Iterator<Item = &'a mut Vm>) {
    for task in vms.flat_map(|vm| &mut vm.tasks) {
        let delay = memory_delay(platform, task);
        task.sections.iter_mut().for_each(|section| section.delay = delay);
    }
}

fn memory_delay(platform: &Platform, task: &Task) -> Duration {
    let latency = platform.bandwidth.as_ref().and_then(|bandwidth| bandwidth.latency);
    let (Some(latency), Some(accesses)) = (latency, &task.accesses) else { return Duration(0) };
    let others = (platform.cpus.len() as u64).saturating_sub(1);
    let each = latency.0.saturating_mul(others);
    // One access of somebody else can be on its way when the job begins, when it gets a resource, and
    // when it continues after it has suspended itself.
    let suspends = task.self_suspension > Duration(0);
    let foreign = 1 + task.sections.len() as u64 + u64::from(suspends);
    Duration(accesses.value.saturating_add(foreign).saturating_mul(each))
}

/// Returns true if a resource is *global*: the hypervisor keeps its mutex, or tasks of several
/// VCPUs use it. Otherwise it is *local*: all its users are on one VCPU. The VCPUs of all tasks are
/// known.
pub(super) fn is_global(vms: &[&Vm], resources: &[Resource], resource: usize) -> bool {
    if resources.get(resource).is_some_and(|resource| resource.inter_vm) {
        return true;
    }
    let mut users = vms.iter().enumerate().flat_map(|(vm, it)| {
        let uses = move |task: &&Task| task.sections.iter().any(|it| it.resource == resource);
        it.tasks.iter().filter(uses).map(move |task| (vm, task.vcpu))
    });
    let first = users.next();
    users.any(|other| Some(other) != first)
}

/// Returns true if a task that is or can come to be on this VCPU has a section whose resource is
/// global, or can be once all tasks have their VCPUs.
pub(super) fn may_be_inside(vms: &[&Vm], resources: &[Resource], vm: usize, vcpu: usize) -> bool {
    let Some(of_vm) = vms.get(vm) else { return false };
    let can_be = |task: &&Task| task.vcpu == vcpu || task.vcpu_open;
    let may_be_global = |resource: usize| {
        let uses = |task: &&Task| task.sections.iter().any(|it| it.resource == resource);
        let users: Vec<&Task> = vms.iter().flat_map(|vm| &vm.tasks).filter(uses).collect();
        is_global(vms, resources, resource)
            || users.len() > 1 && users.iter().any(|task| task.vcpu_open)
    };
    let mut sections = of_vm.tasks.iter().filter(can_be).flat_map(|task| &task.sections);
    sections.any(|section| may_be_global(section.resource))
}

/// Returns the longest time for which the tasks of a VCPU hold global resources if each of them
/// waited for one: `ght` (vMPCP, Eq. 1).
pub(super) fn holding_time(
    vms: &[&Vm],
    resources: &[Resource],
    vm: usize,
    vcpu: usize,
) -> Duration {
    let own = vms.get(vm).into_iter().flat_map(|vm| &vm.tasks).filter(|task| task.vcpu == vcpu);
    let longest = |task: &Task| {
        let sections = task.sections.iter();
        let global = sections.filter(|section| is_global(vms, resources, section.resource));
        global.map(|section| section.longest().0).max().unwrap_or(0)
    };
    Duration(own.map(longest).fold(0, u64::saturating_add))
}

/// The same, and `section_overhead` more for each task that is in some.
pub(super) fn hold(
    (vms, section_overhead): (&[&Vm], Duration),
    resources: &[Resource],
    vm: usize,
    vcpu: usize,
) -> Duration {
    let own = vms.get(vm).into_iter().flat_map(|vm| &vm.tasks).filter(|task| task.vcpu == vcpu);
    let is_inside = |task: &&Task| {
        task.sections.iter().any(|section| is_global(vms, resources, section.resource))
    };
    let tasks = own.filter(is_inside).count() as u64;
    let overhead = section_overhead.0.saturating_mul(tasks);
    let hold = holding_time(vms, resources, vm, vcpu).0.saturating_add(overhead);
    Duration(hold.min(Budget::LONGEST_PERIOD.0))
}

impl System {
    fn all_vms(&self) -> Vec<&Vm> {
        self.vms.iter().collect()
    }

    /// Returns true if a resource is *global*: the hypervisor keeps its mutex, or tasks of several
    /// VCPUs use it. Otherwise it is *local*: all its users are on one VCPU.
    pub fn is_global(&self, resource: usize) -> bool {
        is_global(&self.all_vms(), &self.resources, resource)
    }

    /// Returns the longest time that a job waits for memory accesses of other PCPUs: each of its
    /// own accesses for one access of each other PCPU, and accesses that are on their way when it
    /// begins or continues. Zero if its accesses or the time of an access are not known.
    pub fn memory_delay(&self, task: &Task) -> Duration {
        memory_delay(&self.platform.value, task)
    }

    /// Returns the longest time for which the tasks of a VCPU hold global resources if each of them
    /// has waited for one: `ght` (vMPCP, Eq. 1).
    pub fn holding_time(&self, vm: usize, vcpu: usize) -> Duration {
        holding_time(&self.all_vms(), &self.resources, vm, vcpu)
    }

    /// Returns the time that a VCPU may execute in global critical sections before it executes
    /// outside of them: [`System::holding_time`] plus [`System::section_overhead`] for each of its
    /// tasks with such sections. Zero: it may enter none.
    pub fn hold(&self, vm: usize, vcpu: usize) -> Duration {
        hold((&self.all_vms(), self.section_overhead), &self.resources, vm, vcpu)
    }

    /// Returns the time that a VCPU may execute beyond its budget in each period, only in global
    /// critical sections: `O` (vMPCP, section IV.A). Zero without overrun.
    pub fn overrun(&self, vm: usize, vcpu: usize) -> Duration {
        let server = self.vms.get(vm).and_then(|vm| vm.vcpus.get(vcpu)?.server.as_ref());
        match server.is_some_and(|server| server.overrun.is_some()) {
            true => self.hold(vm, vcpu),
            false => Duration(0),
        }
    }
}
