//! Reads `[[channel]]`.

use abi::limits::{CHANNEL_BYTES_MAX, CHANNELS_MAX, RING_BURST_MAX};
use units::{Bytes, Duration};

use super::Located;
use super::names::{refuse_twice, vm_named, vms_named};
use crate::address::PhysicalAddress;
use crate::diagnostic::Diagnostic;
use crate::document::Fields;
use crate::plan::{PAGE, Rings, VM_NAME_HELP, is_vm_name};

/// Rings in one burst, if the description does not say: a ring may be late by an interval, and the next one in time.
const RING_BURST: u64 = 2;

/// Memory that one VM writes and others read.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Channel {
    /// Name.
    pub name: Located<String>,
    /// Index of the VM that writes.
    pub from: usize,
    /// Indices of the VMs that read, in ascending order.
    pub to: Vec<usize>,
    /// Bytes: whole pages.
    pub size: Located<Bytes>,
    /// Start of its memory in the machine, if given.
    pub memory_at: Option<Located<PhysicalAddress>>,
    /// The limit on rings, if the writer may ring.
    pub rings: Option<Rings>,
}

/// Returns the channels; `vms` are the tables of the VMs.
pub(super) fn read(root: &Fields<'_>, vms: &[Fields<'_>]) -> Option<Vec<Channel>> {
    let tables = root.tables("channel", "[[channel]]");
    refuse_twice(root, "channels", &tables);
    if let Some(more) = tables.get(CHANNELS_MAX) {
        let message = format!("a system can have {CHANNELS_MAX} channels");
        let help = "remove the channels from here on, or put more into the messages of one";
        root.add(Diagnostic::new("out-of-range", message).at(more.place(), "one more").help(help));
    }
    let vms: Vec<Option<String>> = vms.iter().map(|vm| Some(vm.peek("name")?.value)).collect();
    let channels: Vec<_> = tables.iter().map(|table| channel(table, &vms)).collect();
    // Who names a channel then is not told that there is none.
    if root.misspells("channel") || root.is_table("channel") {
        return None;
    }
    channels.into_iter().collect()
}

fn channel(at: &Fields<'_>, vms: &[Option<String>]) -> Option<Channel> {
    let name = at.required("name", name(at), "\"pose\"");
    let writer = at.required("from", at.string("from"), "\"plan\"");
    let readers = at.required("to", at.located_strings("to"), "[\"drive\"]");
    let size = match at.has("size") {
        true => size(at),
        false => Some(Located::new(PAGE, at.place())),
    };
    let memory_at = match at.has("memory_at") {
        true => memory_at(at).map(Some),
        false => Some(None),
    };
    let rings = rings(at);
    at.finish();
    let from = writer.as_ref().and_then(|name| vm_named(at, name, vms));
    let to = readers.as_ref().and_then(|names| vms_named(at, names, vms));
    let (from, to, readers) = (from?, to?, readers?);
    if let Some(reader) =
        readers.iter().find(|it| Some(&it.value) == writer.as_ref().map(|it| &it.value))
    {
        let message =
            format!("`{}` writes this channel and cannot be a reader of it", reader.value);
        let help = "remove it from `to`: a VM can read what it wrote; for both directions describe two channels";
        at.add(Diagnostic::new("wrong-value", message).at(&reader.place, "here").help(help));
        return None;
    }
    Some(Channel { name: name?, from, to, size: size?, memory_at: memory_at?, rings: rings? })
}

fn name(at: &Fields<'_>) -> Option<Located<String>> {
    let name = at.string("name")?;
    if is_vm_name(&name.value) {
        return Some(name);
    }
    let message = format!("`{}` cannot name a channel", name.value.escape_debug());
    at.add(Diagnostic::new("wrong-value", message).at(&name.place, "here").help(VM_NAME_HELP));
    None
}

fn size(at: &Fields<'_>) -> Option<Located<Bytes>> {
    let size = at.quantity::<Bytes>("size")?;
    let most = Bytes(CHANNEL_BYTES_MAX);
    let (message, help) = if size.value > most {
        let message = format!("a channel of {} is too large", size.value);
        (message, format!("at most {most} are possible"))
    } else if size.value.0 == 0 || !size.value.is_multiple_of(PAGE) {
        let up = Bytes(size.value.0.max(1).next_multiple_of(PAGE.0)).to_string().replace(' ', "");
        let message = format!("{} are no whole pages of {PAGE}", size.value);
        (message, format!("write `size = \"{up}\"`"))
    } else {
        return Some(size);
    };
    at.add(Diagnostic::new("out-of-range", message).at(&size.place, "here").help(help));
    None
}

fn memory_at(at: &Fields<'_>) -> Option<Located<PhysicalAddress>> {
    let start = at.address::<PhysicalAddress>("memory_at")?;
    if start.value.0.is_multiple_of(PAGE.0) {
        return Some(start);
    }
    let message = format!("{} is not the start of a page", start.value);
    let help = format!("start at a multiple of {PAGE}");
    at.add(Diagnostic::new("wrong-value", message).at(&start.place, "here").help(help));
    None
}

/// `ring_every` and `ring_burst`; `None`: they cannot be read, which was said, so that nobody is told that there are no
/// rings.
fn rings(at: &Fields<'_>) -> Option<Option<Rings>> {
    let why = "limits nothing: the writer cannot ring";
    at.forbid_without("ring_every", "ring_burst", why, "add `ring_every = \"1ms\"`, or remove it");
    let burst = match at.has("ring_burst") {
        true => at.integer("ring_burst", 1, RING_BURST_MAX).map(|it| it.value),
        false => Some(RING_BURST),
    };
    if !at.has("ring_every") {
        let said = at.misspells("ring_every") || at.has("ring_burst");
        return if said { None } else { Some(None) };
    }
    let every = at.quantity::<Duration>("ring_every")?;
    let [shortest, longest] = Rings::INTERVALS;
    if every.value < shortest || every.value > longest {
        let message = format!("one ring each {} is not possible", every.value);
        let help = format!("{shortest} to {longest} is; each ring interrupts all readers");
        at.add(Diagnostic::new("out-of-range", message).at(&every.place, "here").help(help));
        return None;
    }
    let early = Duration((burst? - 1) * every.value.0);
    Some(Some(Rings { interval: every.value, early }))
}
