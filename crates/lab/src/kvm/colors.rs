//! Findings of a run about the frames of VMs with colours.

use std::path::Path;

use host::colors::{Findings, VmFindings};
use host::survey::{HostCache, last_level_cache};
use report::verdicts::{Row, Rule};
use serde::Serialize;
use system::plan::Vm;
use units::Bytes;

use crate::load::System;
use crate::verdicts::places;

/// Returns true if frames are chosen for a VM.
pub fn has_some(vm: &Vm) -> bool {
    vm.colors().is_some() || vm.pool.is_some()
}

/// Returns the colours of a VM as text, if frames are chosen for it.
fn shown(vm: &Vm) -> Option<String> {
    let own = vm.colors().map(|it| it.to_string());
    let extra = vm.pool.map(|it| it.area.colors);
    match (own, extra) {
        (own, None) => own,
        (own, Some(extra)) => {
            Some(format!("{} and {extra} for tasks", own.as_deref().unwrap_or("all")))
        }
    }
}

/// Returns the parts of the machine that colours do not divide, if VMs have some.
pub fn remark(system: &System) -> Option<String> {
    let vms = &system.plan.vms;
    vms.iter().any(has_some).then(|| {
        let open = vms.iter().filter(|vm| vm.colors().is_none());
        let open: Vec<_> = open.map(|vm| format!("`{}`", vm.name)).collect();
        let others = match &*open {
            [] => String::new(),
            names => format!(" and VMs without colours ({})", names.join(", ")),
        };
        format!(
            "only RAM and descriptor tables of VMs have colours: Linux, KVM with its page tables, `bulkhead` itself{others} use all of \
             the cache"
        )
    })
}

/// Returns why the colours of VMs may divide no cache of this host: it has another one than the platform says, or Linux does not tell.
pub fn other_cache(system: &System, root: &Path) -> Option<String> {
    let vms = &system.plan.vms;
    let colored = vms.iter().find(|vm| has_some(vm))?;
    let stated = system.description.as_deref()?.platform.value.colors().ok()?.cache();
    let pcpu = colored.vcpus.first()?.pcpu.0 as usize;
    let cpu = system.plan.platform.cpus.get(pcpu)?.0 as usize;
    let of =
        |bytes, ways, line| format!("{} in {ways} ways with lines of {line} bytes", Bytes(bytes));
    let says = of(stated.bytes(), stated.ways(), stated.line_bytes());
    let said = match last_level_cache(root, cpu) {
        Some(HostCache { bytes, ways, line_bytes })
            if (bytes, ways, line_bytes)
                == (stated.bytes(), stated.ways(), stated.line_bytes()) =>
        {
            return None;
        }
        Some(HostCache { bytes, ways, line_bytes }) => {
            format!("Linux says that this host has {}", of(bytes, ways, line_bytes))
        }
        None => "Linux does not tell that of this host".into(),
    };
    Some(format!("colours divide a last-level cache of {says}, as the platform says, and {said}"))
}

/// The frames of VMs with colours, as they were found until the end of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Colors {
    /// Number of looks at all frames.
    pub looks: u64,
    /// The reason why they could not be looked at, if so.
    pub failure: Option<String>,
    /// The VMs with colours.
    pub vms: Vec<ColoredVm>,
}

/// The frames of a VM.
#[derive(Clone, Debug, Serialize)]
pub struct ColoredVm {
    /// Its name.
    pub name: String,
    /// Its colours.
    pub colors: String,
    /// Its pages.
    pub pages: u64,
    /// The most pages that lay at the same time in frames of other colours.
    pub lost: u64,
    /// The time at which the first of them was seen, from the start.
    pub lost_at_ms: Option<u64>,
}

impl Colors {
    /// Returns the findings about the VMs of a system.
    pub fn new(system: &System, findings: Findings) -> Self {
        let vm = |it: VmFindings| {
            let vm = system.plan.vms.get(usize::from(it.vm))?;
            Some(ColoredVm {
                name: vm.name.clone(),
                colors: shown(vm)?,
                pages: it.pages,
                lost: it.lost,
                lost_at_ms: it.lost_at_ms,
            })
        };
        let vms = findings.vms.into_iter().filter_map(vm).collect();
        Self { looks: findings.looks, failure: findings.failure, vms }
    }

    /// Returns the verdicts.
    pub(crate) fn rows(&self) -> Vec<Row> {
        let failure = self.failure.iter().map(|why| {
            let why = format!("the frames of VMs could not be looked at: {why}");
            Row::new(Rule::Colors, "frames").fails_if([why])
        });
        let vms = self.vms.iter().map(|vm| {
            let ColoredVm { name, colors, pages, lost, lost_at_ms } = vm;
            let why = (*lost > 0).then(|| {
                let time = lost_at_ms.unwrap_or_default();
                format!(
                    "Linux moved {lost} of {pages} pages of VM `{name}` to frames of other colours than {colors}; the first look that \
                     found some came {}.{:03} s after the start",
                    time / 1000,
                    time % 1000
                )
            });
            Row::new(Rule::Colors, places::vm(name)).figure("lost", lost.to_string()).fails_if(why)
        });
        failure.chain(vms).collect()
    }

    /// Returns the findings in a sentence, if all is well.
    pub(crate) fn note(&self) -> Option<String> {
        let is_well = self.failure.is_none() && self.vms.iter().all(|vm| vm.lost == 0);
        let vms = self.vms.iter();
        let vms =
            vms.map(|vm| format!("`{}` {} pages of colours {}", vm.name, vm.pages, vm.colors));
        let times = if self.looks == 1 { "once".into() } else { format!("{} times", self.looks) };
        is_well.then(|| {
            let vms = vms.collect::<Vec<_>>().join(", ");
            format!("all frames of VMs with colours were looked at {times}, and had their colours: {vms}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn colors(lost: u64, failure: Option<&str>) -> Colors {
        let vm = ColoredVm {
            name: "a".into(),
            colors: "0-3".into(),
            pages: 1_040,
            lost,
            lost_at_ms: (lost > 0).then_some(2_050),
        };
        Colors { looks: 3, failure: failure.map(str::to_owned), vms: vec![vm] }
    }

    #[test]
    fn frames_that_are_lost_or_unknown_fail_a_run() {
        let good = colors(0, None);
        assert!(good.rows().iter().all(|row| !row.fails()));
        let note = good.note().expect("all is well");
        assert!(
            note.contains("3 times") && note.contains("`a` 1040 pages of colours 0-3"),
            "{note}"
        );
        let lost = colors(7, None);
        let reasons = &lost.rows()[0].reasons[0];
        let expected = "7 of 1040 pages of VM `a` to frames of other colours than 0-3";
        assert!(reasons.contains(expected) && reasons.contains("2.050 s after"), "{reasons}");
        let unknown = colors(0, Some("why"));
        assert!(unknown.rows()[0].fails() && unknown.rows()[0].reasons[0].ends_with(": why"));
        assert_eq!((lost.note(), unknown.note()), (None, None));
    }
}
