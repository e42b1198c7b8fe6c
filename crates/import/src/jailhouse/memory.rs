//! Regions of memory: RAM, devices, and what is shared.

use abi::limits::PAGE_BYTES;
use system::diagnostic::{Diagnostic, Place};

use super::Cell;
use super::expression::flag;
use super::initializer::{Element, Value};
use crate::draft::{Device, Line, Vm, line_of};
use crate::toml::{address, size};

/// The address at which guests of Bulkhead see their RAM.
const RAM: u64 = 0x4000_0000;
/// RAM in which a raw guest has place, which is loaded at 512 KiB.
const RAW_MIN: u64 = 1 << 20;
/// Addresses above are no addresses of Arm.
const ADDRESS_MAX: u64 = 1 << 48;

/// A region of a cell.
struct Region {
    place: Place,
    host: u64,
    guest: u64,
    size: u64,
    flags: u64,
}

impl Cell<'_> {
    pub fn memory(&mut self, regions: Option<&Element>, vm: &mut Vm) {
        let mut ram: Vec<Region> = Vec::new();
        for element in regions.map_or(&[][..], Element::elements) {
            let Some(region) = self.region(element) else { continue };
            let is = |flag| region.flags & flag != 0;
            if is(flag::COMM_REGION) {
                self.left(
                    &region.place,
                    "there is no communication region: guests call the hypervisor",
                );
            } else if is(flag::EXECUTE) {
                ram.push(region);
            } else if is(flag::ROOTSHARED) && is(flag::IO) {
                self.left(
                    &region.place,
                    "the root cell uses it, too, and a device belongs to one VM",
                );
            } else if is(flag::ROOTSHARED) {
                self.left(
                    &region.place,
                    "memory shared with other cells: describe a `[[channel]]`",
                );
            } else if is(flag::IO) {
                self.device(region, vm);
            } else {
                ram.push(region);
            }
        }
        let largest = (0..ram.len()).max_by_key(|index| ram[*index].size);
        let largest = largest.map(|index| ram.remove(index));
        for other in ram {
            self.left(&other.place, "a VM has one RAM, from 0x4000_0000 on: make that larger");
        }
        vm.lines.extend(ram_lines(largest));
        let why = "if the inmate is no Linux; Linux needs no such line";
        vm.lines.push(Line::open("boot", "\"raw\"", why));
    }

    /// Returns a region that is not empty.
    fn region(&mut self, element: &Element) -> Option<Region> {
        let place = element.place.clone();
        if let Value::Expression(_) = element.value {
            self.left(
                &place,
                "a macro of Jailhouse's headers; memory that cells share is a `[[channel]]`",
            );
            return None;
        }
        let names = ["phys_start", "virt_start", "size", "flags"];
        let mut values = [0; 4];
        for (index, name) in names.into_iter().enumerate() {
            values[index] = self.number_of(element, name, index)?;
        }
        let [host, guest, size, flags] = values;
        if size == 0 {
            return None;
        }
        if [host, guest, size].iter().any(|it| *it > ADDRESS_MAX) {
            let mistake = Diagnostic::new("c-value", "expected addresses below 2^48");
            self.mistakes.push(mistake.at(&place, "this region").help("an Arm CPU has no others"));
            return None;
        }
        Some(Region { place, host, guest, size, flags })
    }

    fn device(&mut self, region: Region, vm: &mut Vm) {
        let whole = |it: u64| it.is_multiple_of(PAGE_BYTES);
        if !whole(region.host) || !whole(region.guest) {
            self.left(
                &region.place,
                "registers that begin within a page cannot be given to one VM alone",
            );
            return;
        }
        let called = self.comment(&region.place);
        vm.devices.push(Device {
            place: region.place,
            called,
            address: region.host,
            guest_address: region.guest,
            size: region.size.next_multiple_of(PAGE_BYTES),
            kind: "as the node with these registers says, in the tree of the board or of the inmate",
        });
    }

    /// Returns the comment before or behind the brace that begins a region.
    fn comment(&self, place: &Place) -> Option<String> {
        let text = self.unit.source.text();
        let brace = place.span();
        let beside = |it: &&std::ops::Range<usize>| {
            let between = if it.end <= brace.start {
                text.get(it.end..brace.start)
            } else {
                text.get(brace.end..it.start)
            };
            between.is_some_and(|it| it.trim().is_empty())
        };
        let comment = &text[self.unit.comments.iter().find(beside)?.clone()];
        let words = comment.trim_matches(['/', '*']).trim();
        (words.len() <= 60 && !words.is_empty()).then(|| words.to_owned())
    }
}

/// The keys for the RAM and the file that is loaded into it.
fn ram_lines(ram: Option<Region>) -> Vec<Line> {
    let loaded = "what `jailhouse cell load` or `jailhouse cell linux` loads";
    let Some(ram) = ram else {
        return vec![
            Line::open("memory", "\"16MiB\"", "the size of its RAM"),
            Line::open("kernel", "\"inmate.bin\"", loaded),
        ];
    };
    let bytes = ram.size.next_multiple_of(PAGE_BYTES);
    let memory = if bytes < RAW_MIN {
        let why = format!(
            "{} has {}; a guest is loaded 512 KiB into its RAM",
            line_of(&ram.place),
            size(bytes)
        );
        Line::open("memory", "\"1MiB\"", why)
    } else {
        Line::noted("memory", size(bytes), line_of(&ram.place))
    };
    let linked = match ram.guest {
        RAM => loaded.into(),
        other => {
            format!("{loaded}; its RAM is at {}, no longer at {}", address(RAM), address(other))
        }
    };
    vec![memory, Line::open("kernel", "\"inmate.bin\"", linked)]
}
