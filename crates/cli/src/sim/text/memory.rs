//! Memory accesses of VCPUs, for people.

use lab::simulate::results::Vcpu;
use report::text;
use units::Duration;

use super::{micros, percent};

/// Returns the limits of VCPUs, the accesses that they made, and the time for which they waited.
pub fn table(vcpus: &[Vcpu]) -> String {
    let row = |vcpu: &Vcpu| {
        let memory = vcpu.memory.as_ref()?;
        let of = match memory.budget {
            None => "-",
            Some(_) if memory.shared => "VM",
            Some(_) => "VCPU",
        };
        Some(vec![
            vcpu.pcpu.to_string(),
            vcpu.vm.clone(),
            vcpu.vcpu.to_string(),
            of.into(),
            memory.budget.map_or("-".into(), |budget| budget.to_string()),
            memory.period_ns.map_or("-".into(), |ns| Duration(ns).to_string()),
            memory.accesses.to_string(),
            percent(memory.throttled_ppm),
            micros(Some(memory.delayed_ns)),
        ])
    };
    let rows: Vec<_> = vcpus.iter().filter_map(row).collect();
    let heading = [
        ">PCPU",
        "VM",
        ">VCPU",
        "budget of",
        ">accesses",
        ">period",
        ">made",
        ">% throttled",
        ">delayed us",
    ];
    text::table(&heading, &rows)
}
