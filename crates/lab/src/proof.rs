//! The proof that a system is isolated: its analysis, simulation and runs, without and with its plan, put together.

mod caches;
mod chains;
mod described;
pub(crate) mod document;
mod evidence;
mod execute;
pub(crate) mod folder;
mod isolation;
mod judge;
mod kept;
mod lanes;
mod measured;
mod origin;
mod prove;
mod sections;
mod tasks;
mod theorems;
mod traffic;

pub use prove::{On, Options, Proven, prove};

use evidence::Evidence;
use traffic::bin_ns;

use crate::load::{self, System};

/// Returns the system without isolation, if it has isolation and can be planned without; and if it
/// cannot, the reason.
fn plain(system: &System) -> (Option<System>, Vec<String>) {
    let without = system.description.as_deref().and_then(isolation::without);
    let Some(without) = without else {
        let kvm = system.platform.as_ref().is_some_and(|it| it.kvm);
        let what =
            if kvm { "servers nor colours" } else { "colours nor limits of memory accesses" };
        let why = format!("the system has neither {what}: there is nothing to compare it with");
        return (None, vec![why]);
    };
    match load::plan_or_outline(&without) {
        Ok(plan) => {
            let plain = System {
                file: system.file.clone(),
                folder: system.folder.clone(),
                plan,
                platform: system.platform.clone(),
                description: Some(Box::new(without)),
                open: None,
            };
            (Some(plain), Vec::new())
        }
        Err(errors) => {
            let why = errors.entries().into_iter().map(|it| it.message);
            let why = why.map(|why| format!("without isolation it cannot be planned: {why}"));
            (None, why.collect())
        }
    }
}
