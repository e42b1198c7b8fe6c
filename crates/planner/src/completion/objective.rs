//! Objectives, with VMs by their indices.

use system::description::{self, Aim, System};
use system::diagnostic::Diagnostic;

use super::cannot_plan;

/// The objective of a plan.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Objective {
    /// The objective of the description; [`Objective::MostSlack`] if it names none.
    #[default]
    Described,
    /// Limits of memory accesses as large as possible, then as little processor time as possible.
    LeastTime,
    /// The largest factor by which all execution times can grow, as far as limits of memory
    /// accesses and VCPUs of the background leave something of it.
    MostSlack,
    /// As few PCPUs as possible, then as [`Objective::LeastTime`].
    FewestPcpus,
    /// The largest limit of memory accesses for the VM with this index.
    MostBandwidth(usize),
    /// Several of them.
    Weighted(Weights),
}

/// Weights of objectives: 0 for those that do not count.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Weights {
    /// Weight of [`Objective::LeastTime`].
    pub time: u32,
    /// Weight of [`Objective::MostSlack`].
    pub slack: u32,
    /// Weight of [`Objective::FewestPcpus`].
    pub pcpus: u32,
    /// Weight of [`Objective::MostBandwidth`], after the VM.
    pub bandwidth: Option<(usize, u32)>,
}

impl Objective {
    /// Returns the objective that a text names.
    ///
    /// # Errors
    ///
    /// It names a VM that there is not, or one whose limit is not to be planned.
    pub fn of(system: &System, named: &description::Objective) -> Result<Self, Box<Diagnostic>> {
        let index = |name: &str| {
            let names: Vec<&str> = system.vms.iter().map(|vm| vm.name.value.as_str()).collect();
            let found = names.iter().position(|other| *other == name);
            found.ok_or_else(|| {
                let message = format!("there is no VM `{}`", name.escape_debug());
                let help = format!("the VMs are `{}`", names.join("`, `"));
                Box::new(Diagnostic::new("unknown-vm", message).help(help))
            })
        };
        let objective = match named {
            description::Objective::Only(Aim::LeastTime) => Self::LeastTime,
            description::Objective::Only(Aim::MostSlack) => Self::MostSlack,
            description::Objective::Only(Aim::FewestPcpus) => Self::FewestPcpus,
            description::Objective::Only(Aim::MostBandwidth(vm)) => Self::MostBandwidth(index(vm)?),
            description::Objective::Weighted(aims) => {
                let mut weights = Weights::default();
                for (aim, weight) in aims {
                    match aim {
                        Aim::LeastTime => weights.time = *weight,
                        Aim::MostSlack => weights.slack = *weight,
                        Aim::FewestPcpus => weights.pcpus = *weight,
                        Aim::MostBandwidth(vm) => weights.bandwidth = Some((index(vm)?, *weight)),
                    }
                }
                Self::Weighted(weights)
            }
        };
        objective.can_be_reached(system).map(|()| objective)
    }

    /// Returns the objective that counts for this description.
    pub(super) fn for_system(self, system: &System) -> Result<Self, Box<Diagnostic>> {
        match (self, &system.objective) {
            (Self::Described, Some(named)) => {
                Self::of(system, &named.value).map_err(|mistake| match mistake.place {
                    None => Box::new(mistake.at(&named.place, "here")),
                    Some(_) => mistake,
                })
            }
            (Self::Described, None) => Ok(Self::MostSlack),
            (other, _) => other.can_be_reached(system).map(|()| other),
        }
    }

    /// Refuses the largest limit of memory accesses for a VM that has none to be planned.
    fn can_be_reached(self, system: &System) -> Result<(), Box<Diagnostic>> {
        let vm = match self {
            Self::MostBandwidth(vm) => vm,
            Self::Weighted(Weights { bandwidth: Some((vm, _)), .. }) => vm,
            _ => return Ok(()),
        };
        let Some(described) = system.vms.get(vm) else { return Ok(()) };
        let of_vcpus = described.vcpus.iter().filter_map(|vcpu| vcpu.bandwidth.as_ref());
        if described.bandwidth.iter().chain(of_vcpus).any(|limit| limit.is_open()) {
            return Ok(());
        }
        let name = &described.name;
        let message =
            format!("no limit of memory accesses of VM `{}` is to be planned", name.value);
        Err(Box::new(
            cannot_plan(message)
                .at(&name.place, "this VM")
                .help("say `bandwidth = \"planned\"` there, or name another VM"),
        ))
    }
}
