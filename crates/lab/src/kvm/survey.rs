//! The parts that this host lacks for a system.

use std::path::Path;

use host::survey::{Effect, Lack, survey};
use system::diagnostic::{Diagnostic, Errors};
use system::plan::CounterSource;

use super::{colors, limits, shares};
use crate::failure::Failure;
use crate::load::System;

/// Refuses a system that this host cannot run, with all reasons. Returns remarks on the times of a run.
pub fn check(system: &System) -> Result<Vec<String>, Failure> {
    let vcpus = system.plan.vms.iter().flat_map(|vm| &vm.vcpus);
    let number = |pcpu: u32| system.plan.platform.cpus.get(pcpu as usize).map(|cpu| cpu.0 as usize);
    let mut cpus: Vec<usize> = vcpus.filter_map(|vcpu| number(vcpu.pcpu.0)).collect();
    cpus.sort_unstable();
    cpus.dedup();
    let colored = system.plan.vms.iter().any(colors::has_some);
    let limited = limits::are_in(&system.plan);
    let counter = system.plan.platform.bandwidth_counter.as_ref();
    // Linux counts time without help of the CPU.
    let counts_time = counter.is_some_and(|it| it.source == CounterSource::Clock);
    let lacks = survey(Path::new("/"), &cpus);
    let prevents = |lack: &Lack| match lack.effect {
        Effect::Prevents => true,
        Effect::PreventsColors => colored,
        Effect::PreventsLimits => limited && !(counts_time && lack.name == "counter"),
        Effect::PreventsWays => shares::are_in(system),
        Effect::Delays | Effect::WeakensColors => false,
    };
    let (prevents, rest): (Vec<_>, Vec<_>) = lacks.into_iter().partition(prevents);
    let mistake = |it: Lack| {
        let what = match it.effect {
            Effect::PreventsColors => "VMs with colours",
            Effect::PreventsLimits => "VMs with limits of memory accesses",
            Effect::PreventsWays => "VMs with `ways` or `bandwidth_percent`",
            _ => "VMs",
        };
        let message = format!("{what} cannot run on this host: {}", it.found);
        Diagnostic::new(it.name, message).help(it.help)
    };
    Errors::unless_none(prevents.into_iter().map(mistake).collect(), ())?;
    let remark = |effect, what: &str| {
        let names = rest.iter().filter(|lack| lack.effect == effect).map(|lack| lack.name);
        let names: Vec<_> = names.collect();
        let says = "`bulkhead measure host` says what to do";
        (!names.is_empty()).then(|| format!("this host can {what} ({}): {says}", names.join(", ")))
    };
    let weakens = colored.then(|| remark(Effect::WeakensColors, "weaken colours of VMs")).flatten();
    Ok(remark(Effect::Delays, "delay VMs").into_iter().chain(weakens).collect())
}
