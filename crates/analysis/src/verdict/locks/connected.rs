//! Which VCPUs have to do with each other: those of a PCPU, and those that may use the same resource.

use bulkhead_system::description::{Resource, System};

use crate::verdict::member::Member;

/// Whom something that is not known of a VCPU concerns.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Reach {
    /// All with which it is connected.
    All,
    /// Those of its VM with which it is connected. The hypervisor limits what it does to others.
    Vm,
}

/// The VCPUs for which something is so, and those with which they are connected, directly or not.
pub fn connected(
    system: &System,
    members: &[Member<'_>],
    places: &[usize],
    reach: Reach,
    is_so: impl Fn(&usize) -> bool,
) -> Vec<usize> {
    let mut reached: Vec<usize> = places.iter().copied().filter(is_so).collect();
    let mut next = 0;
    while let Some(from) = reached.get(next).map(|place| &members[*place]) {
        next += 1;
        for place in places {
            let to = &members[*place];
            let is_neighbour = from.vcpu.pcpu == to.vcpu.pcpu
                || (0..system.resources.len()).any(|it| {
                    let resource = (it, &system.resources[it]);
                    may_use(from, resource) && may_use(to, resource)
                });
            let is_concerned = reach == Reach::All || from.vm_index == to.vm_index;
            if is_neighbour && is_concerned && !reached.contains(place) {
                reached.push(*place);
            }
        }
    }
    reached
}

/// Returns true if tasks of a VCPU use a resource, or the hypervisor lets them.
fn may_use(member: &Member<'_>, (number, resource): (usize, &Resource)) -> bool {
    let is_used = member.sections.iter().flatten().any(|section| section.resource == number);
    let may_open = resource.inter_vm && resource.vms.contains(&member.vm_index);
    is_used || may_open && member.vcpu.hold.0 > 0
}
