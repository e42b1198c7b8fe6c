//! Connections between VCPUs: those of a PCPU, and those that may use the same resource.

use system::description::{Resource, System};

use crate::member::Member;

/// The VCPUs that a missing bound affects.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Reach {
    /// All VCPUs with a connection.
    All,
    /// Connected VCPUs of the same VM. The hypervisor limits the effect on others.
    Vm,
}

/// A VCPU that is affected.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Reached {
    /// The VCPU.
    pub place: usize,
    /// The nearest VCPU that affects it: itself or another one.
    pub from: usize,
}

/// Returns the VCPUs for which `is_so` holds, and those that are connected with them, directly or
/// not.
pub fn connected(
    system: &System,
    members: &[Member<'_>],
    places: &[usize],
    reach: Reach,
    is_so: impl Fn(&usize) -> bool,
) -> Vec<Reached> {
    let first = places.iter().copied().filter(is_so);
    let mut reached: Vec<Reached> = first.map(|place| Reached { place, from: place }).collect();
    let mut next = 0;
    while let Some(&Reached { place, from }) = reached.get(next) {
        next += 1;
        let member = &members[place];
        for &place in places {
            let to = &members[place];
            let is_neighbour = member.vcpu.pcpu == to.vcpu.pcpu
                || (0..system.resources.len()).any(|it| {
                    let resource = (it, &system.resources[it]);
                    may_use(member, resource) && may_use(to, resource)
                });
            let is_concerned = reach == Reach::All || member.vm_index == to.vm_index;
            if is_neighbour && is_concerned && !reached.iter().any(|it| it.place == place) {
                reached.push(Reached { place, from });
            }
        }
    }
    reached
}

/// Returns true if tasks of a VCPU use a resource, or the hypervisor would let them.
fn may_use(member: &Member<'_>, (number, resource): (usize, &Resource)) -> bool {
    let is_used = member.sections.iter().flatten().any(|section| section.resource == number);
    let may_open = resource.inter_vm && resource.vms.contains(&member.vm_index);
    is_used || may_open && member.vcpu.hold.0 > 0
}
