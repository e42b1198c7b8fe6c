//! Reads `[[resource]]`.

use super::Resource;
use crate::description::names::{refuse_twice, vm_named, vms_named};
use crate::description::{Located, PLANNED};
use crate::diagnostic::Diagnostic;
use crate::document::Fields;
use crate::plan::{Locks, VM_NAME_HELP, is_vm_name};

/// The known facts about resources while tasks are read: of a resource that cannot be read, the
/// name if there is one.
pub(in crate::description) struct Known {
    resources: Vec<(Option<String>, Option<Resource>)>,
    /// True if the header of resources has a typo: then there are others.
    misspelt: bool,
}

impl Known {
    /// Returns the names, in their order.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.resources.iter().filter_map(|(name, _)| name.as_deref())
    }

    /// Returns true if the names of all resources are known.
    pub(super) fn is_complete(&self) -> bool {
        !self.misspelt && self.resources.iter().all(|(name, _)| name.is_some())
    }

    /// Returns the resource of this name: its index, and itself if it can be read.
    pub(super) fn find(&self, name: &str) -> Option<(usize, Option<&Resource>)> {
        let index = self.resources.iter().position(|(known, _)| known.as_deref() == Some(name))?;
        Some((index, self.resources[index].1.as_ref()))
    }

    /// Returns all that can be read.
    pub(in crate::description) fn readable(&self) -> Vec<Resource> {
        self.resources.iter().filter_map(|(_, resource)| resource.clone()).collect()
    }

    /// All of them, if they can be read.
    pub(in crate::description) fn all(self) -> Option<Vec<Resource>> {
        self.resources.into_iter().map(|(_, resource)| resource).collect()
    }
}

/// Returns the protocol, if there is one; `None` in it leaves the choice to the planner.
pub(in crate::description) fn protocol(root: &Fields<'_>) -> Option<Located<Option<Locks>>> {
    let [vmpcp, mpcp] = Locks::ALL.map(|it| (it.as_str(), Some(it)));
    root.choice("locks", &[vmpcp, mpcp, (PLANNED, None)])
}

/// Returns the resources; `vms` are the tables of the VMs.
pub(in crate::description) fn read(root: &Fields<'_>, vms: &[Fields<'_>]) -> Known {
    let tables = root.tables("resource", "[[resource]]");
    refuse_twice(root, "resources", &tables);
    let vms: Vec<Option<String>> = vms.iter().map(|vm| Some(vm.peek("name")?.value)).collect();
    let resource = |at: &Fields<'_>| (at.peek("name").map(|it| it.value), resource(at, &vms));
    Known { resources: tables.iter().map(resource).collect(), misspelt: root.misspells("resource") }
}

fn resource(at: &Fields<'_>, vms: &[Option<String>]) -> Option<Resource> {
    let name = at.required("name", name(at), "\"bus\"");
    let inter_vm = at.has("vms");
    let vms = match inter_vm {
        true => {
            let help = "remove one of the two: with `vms` the hypervisor keeps the mutex";
            at.forbid("vm", "there are `vms`", help);
            at.located_strings("vms").and_then(|names| vms_named(at, &names, vms))
        }
        false => at
            .required_or(("vm", "vms"), at.string("vm"), "\"linux\"")
            .and_then(|name| Some(vec![vm_named(at, &name, vms)?])),
    };
    at.finish();
    Some(Resource { name: name?, vms: vms?, inter_vm })
}

fn name(at: &Fields<'_>) -> Option<Located<String>> {
    let name = at.string("name")?;
    if is_vm_name(&name.value) {
        return Some(name);
    }
    let message = format!("`{}` cannot name a resource", name.value.escape_debug());
    at.add(Diagnostic::new("wrong-value", message).at(&name.place, "here").help(VM_NAME_HELP));
    None
}
