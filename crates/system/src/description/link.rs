//! Reads `[[link]]`.

use abi::limits::{
    LINK_BURST_MAX, LINK_BURST_MIN, LINK_COUNTED_MIN, LINK_RATE_MAX, LINK_RATE_MIN, LINKS_MAX,
    RING_BURST_MAX,
};
use units::{Bytes, Duration, Rate};

use super::names::{refuse_twice, vm_named};
use super::{Bandwidth, Located, Vm};
use crate::diagnostic::{Diagnostic, Place};
use crate::document::Fields;
use crate::plan::{Mac, Rings, VM_NAME_HELP, is_vm_name};

/// Bytes at once, shortest time between two interrupts, and number of interrupts at once, if the description does not say.
const BURST: Bytes = Bytes(64 << 10);
const EVERY: Duration = Duration(1_000_000);
const INTERRUPTS: u64 = 2;

/// Two network cards, one in each VM, and the wire between them.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Link {
    /// Name.
    pub name: Located<String>,
    /// Indices of its VMs, in ascending order.
    pub between: [usize; 2],
    /// The addresses of its cards, in this order.
    pub macs: [Mac; 2],
    /// The rate at which each end may send.
    pub rate: Rate,
    /// The part of this that an end may send at once.
    pub burst: Bytes,
    /// The limit on interrupts that one end causes at the other.
    pub tells: Rings,
}

impl Link {
    /// Returns the limit on the shortest frames that an end may send, of which each longer one counts as several: in any time `t` at most
    /// `floor((burst + t rate) / 64)`, 64 being what the shortest one counts. Rounded so that it allows rather more.
    pub fn frames(&self) -> Rings {
        const SECOND: u128 = 1_000_000_000;
        let rate = u128::from(self.rate.0.max(1));
        let interval = u128::from(LINK_COUNTED_MIN) * SECOND / rate;
        let filled = (u128::from(self.burst.0) * SECOND).div_ceil(rate);
        let time = |time: u128| Duration(u64::try_from(time).unwrap_or(u64::MAX));
        Rings { interval: time(interval.max(1)), early: time(filled.saturating_sub(interval)) }
    }
}

/// Returns the links; `vms` are the tables of the VMs.
pub(super) fn read(root: &Fields<'_>, vms: &[Fields<'_>]) -> Option<Vec<Link>> {
    let tables = root.tables("link", "[[link]]");
    refuse_twice(root, "links", &tables);
    if let Some(more) = tables.get(LINKS_MAX) {
        let message = format!("a system can have {LINKS_MAX} links");
        let help = "remove the links from here on, or let a VM pass on what others send";
        root.add(Diagnostic::new("out-of-range", message).at(more.place(), "one more").help(help));
    }
    let vms: Vec<Option<String>> = vms.iter().map(|vm| Some(vm.peek("name")?.value)).collect();
    let links = tables.iter().enumerate();
    let links: Vec<_> = links.map(|(index, table)| link(table, index, &vms)).collect();
    links.into_iter().collect()
}

/// Returns the mistakes of VMs that have links and something that is not counted, or not done, together with them.
pub(super) fn check(
    links: &[Link],
    vms: &[&Vm],
    reload: Option<&Located<Duration>>,
) -> Vec<Diagnostic> {
    let mut mistakes = Vec::new();
    for (index, vm) in vms.iter().enumerate() {
        let Some(link) = links.iter().find(|link| link.between.contains(&index)) else { continue };
        let mut add = |message: &str, place: &Place, label: &str, help: &str| {
            let message = format!("VM `{}` has a link, and {message}", vm.name.value);
            let mistake = Diagnostic::new("not-with-link", message).at(place, label);
            mistakes.push(mistake.also(&link.name.place, "the link").help(help));
        };
        if let (false, Some(counted)) = (vm.tasks.is_empty(), counted(vm)) {
            let message = "bounds for tasks do not count yet the memory accesses of frames";
            let help = "remove this and count the time of accesses in each `wcet`, or let the VM talk by a channel";
            add(message, counted, "counts accesses", help);
        }
        let reload = reload.filter(|it| it.value > Duration(0));
        if let (false, Some(reload)) = (vm.tasks.is_empty(), reload) {
            let message = "bounds for tasks do not count yet what frames evict from the cache";
            let help = "remove this and count the time to load lines again in each `wcet`, or let the VM talk by a channel";
            add(message, &reload.place, "not part of `wcet`", help);
        }
        if !vm.tasks.is_empty() && vm.may_have_several_vcpus() {
            let message = "bounds for tasks do not count yet how long its VCPUs wait for each other at a card";
            let help = "give it one VCPU, or let the VM talk by a channel";
            add(message, &vm.name.place, "several VCPUs", help);
        }
        if let Some(extra) = &vm.extra {
            let message = "its pages move when tasks ask for colours";
            add(message, &extra.colors.place, "these colours", "remove one of the two");
        }
    }
    mistakes
}

/// Returns the first place at which the accesses of a VM are counted apart from the execution times of its tasks.
fn counted(vm: &Vm) -> Option<&Place> {
    let limits = vm.bandwidth.iter().chain(vm.vcpus.iter().filter_map(|it| it.bandwidth.as_ref()));
    let limits = limits.map(|Bandwidth { amount, .. }| &amount.place);
    let accesses = vm.tasks.iter().filter_map(|it| Some(&it.accesses.as_ref()?.place));
    limits.chain(&vm.critical).chain(accesses).next()
}

fn link(at: &Fields<'_>, index: usize, vms: &[Option<String>]) -> Option<Link> {
    let name = at.required("name", name(at), "\"lan\"");
    let names = at.required("between", at.located_strings("between"), "[\"plan\", \"drive\"]");
    let macs = match at.has("macs") {
        true => macs(at),
        false => Some([Mac::of(index, 0), Mac::of(index, 1)]),
    };
    let rate = at.required("rate", at.quantity::<Rate>("rate"), "\"10MB/s\"");
    let rate = rate.and_then(|it| {
        let range = [Rate(LINK_RATE_MIN), Rate(LINK_RATE_MAX)];
        within(at, it, range, |it| format!("a link for {it} is not possible"))
    });
    let burst = match at.has("burst") {
        true => at.quantity::<Bytes>("burst").and_then(|it| {
            let range = [Bytes(LINK_BURST_MIN), Bytes(LINK_BURST_MAX)];
            within(at, it, range, |it| format!("{it} at once are not possible"))
        }),
        false => Some(BURST),
    };
    let tells = tells(at);
    at.finish();
    let (between, macs) = between(at, &names?, vms, macs?)?;
    Some(Link { name: name?, between, macs, rate: rate?, burst: burst?, tells: tells? })
}

fn name(at: &Fields<'_>) -> Option<Located<String>> {
    let name = at.string("name")?;
    if !is_vm_name(&name.value) {
        let message = format!("`{}` cannot name a link", name.value.escape_debug());
        at.add(Diagnostic::new("wrong-value", message).at(&name.place, "here").help(VM_NAME_HELP));
        return None;
    }
    Some(name)
}

/// The value, if it is in the range.
fn within<T: Copy + PartialOrd + std::fmt::Display>(
    at: &Fields<'_>,
    value: Located<T>,
    [least, most]: [T; 2],
    message: impl Fn(T) -> String,
) -> Option<T> {
    if value.value < least || value.value > most {
        let message = message(value.value);
        let help = format!("{least} to {most} is");
        at.add(Diagnostic::new("out-of-range", message).at(&value.place, "here").help(help));
        return None;
    }
    Some(value.value)
}

/// The two VMs of these names in ascending order, and the addresses in the same order.
fn between(
    at: &Fields<'_>,
    names: &[Located<String>],
    vms: &[Option<String>],
    macs: [Mac; 2],
) -> Option<([usize; 2], [Mac; 2])> {
    let [one, other] = names else {
        let place = at.key_place("between").unwrap_or_else(|| at.place().clone());
        let message = format!("a link is between two VMs, and not {}", names.len());
        let help = "name the two, as in `between = [\"plan\", \"drive\"]`";
        at.add(Diagnostic::new("wrong-value", message).at(&place, "here").help(help));
        return None;
    };
    if one.value == other.value {
        let message = format!("`{}` is at both ends", one.value.escape_debug());
        let help = "name two different VMs";
        at.add(Diagnostic::new("duplicate-name", message).at(&other.place, "here").help(help));
        return None;
    }
    let (first, second) = (vm_named(at, one, vms), vm_named(at, other, vms));
    let (first, second) = (first?, second?);
    let turned = first > second;
    let in_order = |[a, b]: [usize; 2]| if turned { [b, a] } else { [a, b] };
    let macs = if turned { [macs[1], macs[0]] } else { macs };
    Some((in_order([first, second]), macs))
}

/// `macs`: one for each end.
fn macs(at: &Fields<'_>) -> Option<[Mac; 2]> {
    const EXAMPLE: &str = "`macs = [\"02:00:00:00:00:01\", \"02:00:00:00:00:02\"]`";
    let texts = at.located_strings("macs")?;
    let mut macs = Vec::new();
    for text in &texts {
        let mac = Mac::parse(&text.value).filter(|mac| mac.is_valid());
        if mac.is_none() {
            let message =
                format!("`{}` is not the address of one network card", text.value.escape_debug());
            let help = format!("write six bytes, of which the first one is even, as in {EXAMPLE}");
            at.add(Diagnostic::new("wrong-value", message).at(&text.place, "here").help(help));
        }
        macs.push(mac);
    }
    let macs: Vec<Mac> = macs.into_iter().collect::<Option<_>>()?;
    let place = at.key_place("macs").unwrap_or_else(|| at.place().clone());
    match macs[..] {
        [one, other] if one != other => Some([one, other]),
        [_, _] => {
            let message = "both ends have the same address";
            let help = "give each end its own";
            at.add(Diagnostic::new("wrong-value", message).at(&place, "here").help(help));
            None
        }
        _ => {
            let message = format!("a link has two ends, and here are {} addresses", macs.len());
            let help = format!("write one for each end, as in {EXAMPLE}");
            at.add(Diagnostic::new("wrong-value", message).at(&place, "here").help(help));
            None
        }
    }
}

/// `interrupt_every` and `interrupt_burst`; `None`: they cannot be read.
fn tells(at: &Fields<'_>) -> Option<Rings> {
    // Both are read before one that is wrong ends this, so that none is unknown.
    let burst = match at.has("interrupt_burst") {
        true => at.integer("interrupt_burst", 1, RING_BURST_MAX).map(|it| it.value),
        false => Some(INTERRUPTS),
    };
    let interval = match at.has("interrupt_every") {
        true => at.quantity::<Duration>("interrupt_every").and_then(|it| {
            let message = |every| format!("one interrupt each {every} is not possible");
            within(at, it, Rings::INTERVALS, message)
        }),
        false => Some(EVERY),
    };
    let (burst, interval) = (burst?, interval?);
    Some(Rings { interval, early: Duration((burst - 1) * interval.0) })
}
