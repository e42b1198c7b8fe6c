//! What this host lacks for a system.

use std::path::Path;

use host::survey::{Effect, Lack, survey};
use system::diagnostic::{Diagnostic, Errors};

use crate::failure::Failure;
use crate::load::System;

/// Refuses a system that this host cannot run, with all reasons. Returns what has to be known of the times of a run.
pub fn check(system: &System) -> Result<Vec<String>, Failure> {
    let vcpus = system.plan.vms.iter().flat_map(|vm| &vm.vcpus);
    let number = |pcpu: u32| system.plan.platform.cpus.get(pcpu as usize).map(|cpu| cpu.0 as usize);
    let mut cpus: Vec<usize> = vcpus.filter_map(|vcpu| number(vcpu.pcpu.0)).collect();
    cpus.sort_unstable();
    cpus.dedup();
    let lacks = survey(Path::new("/"), &cpus);
    let (prevents, delays): (Vec<_>, Vec<_>) =
        lacks.into_iter().partition(|lack| lack.effect == Effect::Prevents);
    let mistake = |it: Lack| {
        let message = format!("VMs cannot run on this host: {}", it.found);
        Diagnostic::new(it.name, message).help(it.help)
    };
    Errors::unless_none(prevents.into_iter().map(mistake).collect(), ())?;
    let names: Vec<&str> = delays.iter().map(|lack| lack.name).collect();
    let remark = format!(
        "this host can delay VMs ({}): `bulkhead measure host` says what to do",
        names.join(", ")
    );
    Ok(if names.is_empty() { Vec::new() } else { vec![remark] })
}
