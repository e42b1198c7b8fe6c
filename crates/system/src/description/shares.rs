//! Reads the parts of the last-level cache and of the memory bandwidth that Linux gives a VM under KVM (resctrl).

use policy::color::ColorSet;

use super::{Located, Shares, Vm};
use crate::diagnostic::Diagnostic;
use crate::document::Fields;
use crate::platform::Platform;

/// Ways have numbers below this.
const WAYS_MAX: u32 = 32;

/// Reads the keys `ways` and `bandwidth_percent` of a VM.
pub(super) fn read(at: &Fields<'_>) -> Shares {
    let ways = at.string("ways").and_then(|text| {
        let ways: Option<ColorSet> = text.value.parse().ok();
        let known = ways.filter(|ways| ways.is_subset(ColorSet::first(WAYS_MAX)));
        if known.is_none() {
            let message = format!("`{}` are no ways of a cache", text.value.escape_debug());
            let help = "write ways and ranges of them, the first is 0, as in `ways = \"0-3\"`";
            at.add(Diagnostic::new("wrong-value", message).at(&text.place, "here").help(help));
        }
        known.map(|ways| Located::new(ways, &text.place))
    });
    let percent = at.integer("bandwidth_percent", 1, 100);
    if at.has("ways") {
        let help = "remove one of the two: they divide the same cache";
        at.forbid("colors", "the VM has `ways`", help);
    }
    Shares { ways, percent: percent.map(|it| it.map(|percent| percent as u8)) }
}

/// Reports ways and percentages of VMs on a platform that gives none.
pub(super) fn check(platform: &Platform, vms: &[&Vm]) -> Vec<Diagnostic> {
    let mut mistakes = Vec::new();
    for vm in vms.iter().filter(|_| !platform.kvm) {
        let message = "a board gives VMs no parts of its cache or bandwidth by hardware";
        let help = "use `colors` and `bandwidth`, or a platform with `kvm = true`";
        let ways = vm.shares.ways.iter().map(|it| &it.place);
        let places = ways.chain(vm.shares.percent.iter().map(|it| &it.place));
        let mistake =
            |place| Diagnostic::new("not-for-boards", message).at(place, "here").help(help);
        mistakes.extend(places.map(mistake));
    }
    mistakes
}
