//! What this host lacks for a system.

use std::path::Path;

use host::survey::{Effect, survey};

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
    if !prevents.is_empty() {
        let reasons = prevents.iter().map(|it| format!("\n- {}\n  help: {}", it.found, it.help));
        let reasons = reasons.collect::<String>();
        return Err(Failure::new("host", format!("VMs cannot run on this host:{reasons}")));
    }
    let names: Vec<&str> = delays.iter().map(|lack| lack.name).collect();
    let remark = format!(
        "this host can delay VMs ({}): `bulkhead measure host` says what to do",
        names.join(", ")
    );
    Ok(if names.is_empty() { Vec::new() } else { vec![remark] })
}
