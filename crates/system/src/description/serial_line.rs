//! Reads `[[serial]]`.

use abi::limits::{RING_BURST_MAX, SERIAL_LINES_MAX};
use units::Duration;

use super::Vm;
use super::names::vms_named;
use crate::diagnostic::{Diagnostic, Place};
use crate::document::Fields;
use crate::plan::Rings;

/// Shortest time between two interrupts, and number of interrupts at once, if the description does not say.
const EVERY: Duration = Duration(1_000_000);
const BURST: u64 = 2;

/// Two virtual PL011s, one in each VM, whose lines cross.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SerialLine {
    /// The list of its VMs.
    pub place: Place,
    /// Indices of its VMs, in ascending order.
    pub between: [usize; 2],
    /// The limit on interrupts that one end causes at the other.
    pub tells: Rings,
}

/// Returns the serial lines; `vms` are the tables of the VMs.
pub(super) fn read(root: &Fields<'_>, vms: &[Fields<'_>]) -> Option<Vec<SerialLine>> {
    let tables = root.tables("serial", "[[serial]]");
    if let Some(more) = tables.get(SERIAL_LINES_MAX) {
        let message = format!("a system can have {SERIAL_LINES_MAX} serial lines");
        let help = "remove the lines from here on, or describe channels";
        root.add(Diagnostic::new("out-of-range", message).at(more.place(), "one more").help(help));
    }
    let vms: Vec<Option<String>> = vms.iter().map(|vm| Some(vm.peek("name")?.value)).collect();
    let lines: Vec<_> = tables.iter().map(|table| serial_line(table, &vms)).collect();
    lines.into_iter().collect()
}

/// Returns the mistakes of VMs that have serial lines and something that is not counted together with them.
pub(super) fn check(lines: &[SerialLine], vms: &[&Vm]) -> Vec<Diagnostic> {
    let mut mistakes = Vec::new();
    for (index, vm) in vms.iter().enumerate() {
        let Some(line) = lines.iter().find(|line| line.between.contains(&index)) else { continue };
        if vm.tasks.is_empty() || !vm.may_have_several_vcpus() {
            continue;
        }
        let name = &vm.name;
        let message = format!(
            "VM `{}` has a serial line, and bounds for tasks do not count yet how long its VCPUs wait for each other at an end",
            name.value
        );
        let help = "give it one VCPU, or let the VM talk by a channel";
        let mistake = Diagnostic::new("not-with-serial", message).at(&name.place, "several VCPUs");
        mistakes.push(mistake.also(&line.place, "the serial line").help(help));
    }
    mistakes
}

fn serial_line(at: &Fields<'_>, vms: &[Option<String>]) -> Option<SerialLine> {
    let example = "[\"plan\", \"drive\"]";
    let names = at.required("between", at.located_strings("between"), example);
    let tells = tells(at);
    at.finish();
    let names = names?;
    let place = at.key_place("between").unwrap_or_else(|| at.place().clone());
    let between = vms_named(at, &names, vms)?;
    if let ([one, other], 2) = (&between[..], names.len()) {
        return Some(SerialLine { place, between: [*one, *other], tells: tells? });
    }
    // A VM that is named twice was reported.
    if names.len() == between.len() {
        let message = format!("a serial line is between two VMs, and not {}", names.len());
        let help = format!("name the two, as in `between = {example}`");
        at.add(Diagnostic::new("wrong-value", message).at(&place, "here").help(help));
    }
    None
}

/// `tell_every` and `tell_burst`; `None`: they cannot be read.
fn tells(at: &Fields<'_>) -> Option<Rings> {
    // Both are read before one that is wrong ends this, so that none is unknown.
    let burst = match at.has("tell_burst") {
        true => at.integer("tell_burst", 1, RING_BURST_MAX).map(|it| it.value),
        false => Some(BURST),
    };
    let interval = match at.has("tell_every") {
        true => every(at),
        false => Some(EVERY),
    };
    let (burst, interval) = (burst?, interval?);
    Some(Rings { interval, early: Duration((burst - 1) * interval.0) })
}

/// `tell_every`; `None`: it cannot be read.
fn every(at: &Fields<'_>) -> Option<Duration> {
    let every = at.quantity::<Duration>("tell_every")?;
    let [shortest, longest] = Rings::INTERVALS;
    if every.value < shortest || every.value > longest {
        let message = format!("one interrupt each {} is not possible", every.value);
        let help = format!("{shortest} to {longest} is");
        at.add(Diagnostic::new("out-of-range", message).at(&every.place, "here").help(help));
        return None;
    }
    Some(every.value)
}
