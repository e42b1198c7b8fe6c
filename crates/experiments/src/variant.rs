//! A described system with some things different, so that an experiment needs no file for each.

use lab::Failure;
use lab::load::System;
use serde::Deserialize;
use system::plan::{self, Class, Locks};
use units::Duration;

const MS: u64 = 1_000_000;

/// The differences.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// The order of critical sections of VCPUs; default: as described.
    scheme: Option<Scheme>,
    /// The budget of each VCPU in us; default: as described.
    budget_us: Option<u64>,
    /// The period of each task in ms, which is its deadline too; default: as described.
    period_ms: Option<u64>,
    /// The hypervisor takes no time in simulations and bounds, as papers assume.
    #[serde(default)]
    no_overheads: bool,
}

/// The order of critical sections of VCPUs (vMPCP, section V.B).
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Scheme {
    /// MPCP, without overrun.
    Mpcp,
    /// vMPCP, without overrun.
    NoOverrun,
    /// vMPCP, with overrun where it is described.
    Overrun,
}

impl Variant {
    /// Returns true if more than the order of sections and the time of the hypervisor is different.
    pub fn has_other_numbers(&self) -> bool {
        self.budget_us.is_some() || self.period_ms.is_some()
    }

    /// Changes a system that was read from a description.
    pub fn apply(&self, system: &mut System) -> Result<(), Failure> {
        if *self == Self::default() {
            return Ok(());
        }
        let Some(described) = &mut system.description else {
            let text = format!(
                "{} is a plan, but a variant changes a description\nhelp: name the description that the plan was made from",
                system.file.display()
            );
            return Err(Failure::new("experiment", text));
        };
        if self.no_overheads {
            described.platform.value.overheads = None;
        }
        if let Some(scheme) = self.scheme {
            described.locks = match scheme {
                Scheme::Mpcp => Locks::Mpcp,
                Scheme::NoOverrun | Scheme::Overrun => Locks::Vmpcp,
            };
        }
        for vm in &mut described.vms {
            for server in vm.vcpus.iter_mut().filter_map(|vcpu| vcpu.server.as_mut()) {
                if matches!(self.scheme, Some(Scheme::Mpcp | Scheme::NoOverrun)) {
                    server.overrun = None;
                }
                let budget = match &mut server.class.value {
                    Class::Reserved(_, it) => it,
                    Class::Background => continue,
                };
                if let Some(us) = self.budget_us {
                    budget.budget = Duration(us * 1_000);
                }
            }
            if let Some(ms) = self.period_ms {
                for task in &mut vm.tasks {
                    (task.period, task.deadline) = (Duration(ms * MS), Duration(ms * MS));
                }
            }
        }
        system.plan = plan::make(described)?;
        Ok(())
    }
}
