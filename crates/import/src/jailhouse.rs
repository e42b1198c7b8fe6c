//! Cells of Jailhouse, from the sources in C of their configurations.

mod expression;
mod initializer;
mod memory;
mod tokens;

use std::sync::Arc;

use abi::limits::ANALYZED_VCPUS_MAX;
use system::diagnostic::{Diagnostic, Errors, Place, Source};

use crate::Left;
use crate::draft::{Line, Vcpu, Vm, left};
use crate::toml::quoted;
use initializer::{Element, Value, field};
use tokens::{Kind, Unit};

/// Elements that have names in all cells.
const NAMED: usize = usize::MAX;
/// Interrupts that a device of the machine can have.
const SHARED: std::ops::RangeInclusive<u64> = 32..=1019;
/// Most bits of sets of CPUs and of interrupts.
const WORDS_MAX: usize = 32;

/// Reads cells.
pub fn read(cells: &[Arc<Source>]) -> Result<Vec<Vm>, Errors> {
    let mut mistakes = Vec::new();
    let mut vms = Vec::new();
    for source in cells {
        match cell(source) {
            Ok(vm) => vms.push(vm),
            Err(errors) => mistakes.extend(errors.into_vec()),
        }
    }
    Errors::unless_none(mistakes, vms)
}

fn cell(source: &Arc<Source>) -> Result<Vm, Errors> {
    let unit = tokens::read(source)?;
    let config = initializer::read(&unit)?;
    if let Some(root) =
        config.iter().find(|it| matches!(it.field.as_deref(), Some("header" | "root_cell")))
    {
        let root_cell =
            Diagnostic::new("c-value", "this is a root cell, which has the whole machine");
        let help = "give the cells of inmates; `bulkhead import dtb` reads the board";
        return Err(root_cell.at(&root.place, "here").help(help).into());
    }
    let Some(desc) = field(&config, "cell", 0) else {
        return Err(lacks(source, "`.cell`", ".cell = { .name = \"NAME\", ... },"));
    };
    let (name, place) = name(source, desc)?;
    let mut cell = Cell { unit: &unit, mistakes: Vec::new(), left: unit.left.clone() };
    let mut vm = Vm {
        name,
        place,
        vcpus: cell.vcpus(field(&config, "cpus", NAMED), source),
        lines: Vec::new(),
        devices: Vec::new(),
        interrupts: Vec::new(),
        left: Vec::new(),
    };
    cell.memory(field(&config, "mem_regions", NAMED), &mut vm);
    cell.colors(field(&config, "cache_regions", NAMED), &mut vm);
    cell.interrupts(field(&config, "irqchips", NAMED), &mut vm);
    let pci = field(&config, "pci_devices", NAMED);
    cell.without_those_of_pci(desc, pci, &mut vm);
    cell.rest(&config, desc);
    vm.left = cell.left;
    vm.left.sort_by_key(|it| it.line);
    Errors::unless_none(cell.mistakes, vm)
}

fn lacks(source: &Arc<Source>, what: &str, example: &str) -> Errors {
    let place = Place::new(source, 0..0);
    let missing = Diagnostic::new("missing-key", format!("the cell has no {what}"));
    missing.at(&place, "this file").help(format!("add {example}")).into()
}

fn name(source: &Arc<Source>, desc: &Element) -> Result<(String, Place), Errors> {
    let Some(name) = field(desc.elements(), "name", NAMED) else {
        return Err(lacks(source, "`.name`", ".name = \"NAME\","));
    };
    if let Value::Expression(tokens) = &name.value
        && let [token] = &tokens[..]
        && let Kind::Text(text) = &token.kind
    {
        return Ok((text.clone(), name.place.clone()));
    }
    let mistake = Diagnostic::new("c-value", "expected a text in quotes");
    Err(mistake.at(&name.place, "here").help("write .name = \"NAME\",").into())
}

/// A cell that is read.
struct Cell<'u> {
    unit: &'u Unit,
    mistakes: Vec<Diagnostic>,
    left: Vec<Left>,
}

impl Cell<'_> {
    fn ok<T>(&mut self, result: Result<T, Errors>) -> Option<T> {
        result.map_err(|errors| self.mistakes.extend(errors.into_vec())).ok()
    }

    fn number(&mut self, element: &Element) -> Option<u64> {
        self.ok(element.number(self.unit))
    }

    /// The value of a field; 0 if it is not there, as in C.
    fn number_of(&mut self, element: &Element, name: &str, place: usize) -> Option<u64> {
        field(element.elements(), name, place).map_or(Some(0), |it| self.number(it))
    }

    fn left(&mut self, place: &Place, why: &str) {
        self.left.push(left(place, why));
    }

    /// A set of CPUs in words of 64 bits, or a list of the addresses of CPUs.
    fn vcpus(&mut self, cpus: Option<&Element>, source: &Arc<Source>) -> Vec<Vcpu> {
        let elements = cpus.map_or(&[][..], Element::elements);
        let mut vcpus = Vec::new();
        for (word, element) in elements.iter().enumerate().take(WORDS_MAX) {
            if let Value::List(_) = element.value {
                let Some(id) = self.number_of(element, "phys_id", 0) else { continue };
                vcpus.push(vcpu(id, id <= 0xff));
                continue;
            }
            let Some(mask) = self.number(element) else { continue };
            let bits = (0..64).filter(|bit| mask >> bit & 1 == 1);
            vcpus.extend(bits.map(|bit| vcpu(word as u64 * 64 + bit, true)));
        }
        vcpus.truncate(ANALYZED_VCPUS_MAX);
        if vcpus.is_empty() && self.mistakes.is_empty() {
            let missing = lacks(source, "CPU in `.cpus`", ".cpus = { 0x2 },");
            self.mistakes.extend(missing.into_vec());
        }
        vcpus
    }

    /// `cache_regions` of Arm are colours, those of x86 are ways.
    fn colors(&mut self, regions: Option<&Element>, vm: &mut Vm) {
        let mut runs = Vec::new();
        for element in regions.map_or(&[][..], Element::elements) {
            if field(element.elements(), "type", 2).is_some() {
                self.left(&element.place, "ways of a cache; VMs have `colors`");
                continue;
            }
            let start = self.number_of(element, "start", 0);
            let size = self.number_of(element, "size", 1).filter(|it| *it > 0);
            if let Some((start, size)) = start.zip(size) {
                let last = start.saturating_add(size - 1);
                runs.push(if size == 1 { format!("{start}") } else { format!("{start}-{last}") });
            }
        }
        if !runs.is_empty() {
            let note = "one for each page of a way, as Jailhouse counts them";
            vm.lines.push(Line::noted("colors", quoted(&runs.join(",")), note));
        }
    }

    fn interrupts(&mut self, chips: Option<&Element>, vm: &mut Vm) {
        for chip in chips.map_or(&[][..], Element::elements) {
            let Some(base) = self.number_of(chip, "pin_base", 2) else { continue };
            let Some(bitmap) = field(chip.elements(), "pin_bitmap", 3) else { continue };
            for (word, element) in bitmap.elements().iter().enumerate().take(WORDS_MAX) {
                let Some(bits) = self.number(element) else { continue };
                let pins = (0..32).filter(|bit| bits >> bit & 1 == 1);
                let pins = pins.map(|bit| base.saturating_add(word as u64 * 32 + bit));
                vm.interrupts.extend(pins.filter(|it| SHARED.contains(it)));
            }
        }
        vm.interrupts.sort_unstable();
        vm.interrupts.dedup();
    }

    /// Shared memory comes as PCI devices, whose interrupts no device of the machine has.
    fn without_those_of_pci(&mut self, desc: &Element, pci: Option<&Element>, vm: &mut Vm) {
        let devices = pci.map_or(&[][..], Element::elements);
        for device in devices {
            let kind = field(device.elements(), "type", 0).map(|it| self.number(it));
            self.left(&device.place, match kind {
                Some(Some(3)) => "memory shared with other cells: describe a `[[channel]]`, with `ring_every` for its interrupts",
                _ => "only devices with registers in memory can be given to a VM",
            });
        }
        let Some(base) = field(desc.elements(), "vpci_irq_base", NAMED) else { return };
        let Some(base) = self.number(base) else { return };
        let first = base.saturating_add(*SHARED.start());
        let last = first.saturating_add(devices.len() as u64);
        vm.interrupts.retain(|it| !(first..last).contains(it));
    }

    /// Lists the parts that have no counterpart.
    fn rest(&mut self, config: &[Element], desc: &Element) {
        let reasons = [
            ("pio_regions", "ports are those of x86"),
            ("pio_bitmap", "ports are those of x86"),
            ("pci_caps", "only devices with registers in memory can be given to a VM"),
            ("stream_ids", "nothing isolates the DMA of devices"),
        ];
        for (name, why) in reasons {
            if let Some(element) = field(config, name, NAMED).filter(|it| !it.elements().is_empty())
            {
                self.left(&element.place, why);
            }
        }
        if let Some(console) = field(desc.elements(), "console", NAMED) {
            self.left(&console.place, "the guest has a PL011 of its own, a virtual one");
        }
    }
}

/// Returns the VCPU for the CPU with this number, or with this address (MPIDR).
fn vcpu(number: u64, is_index: bool) -> Vcpu {
    let (pcpu, line) = match is_index {
        true => (Some(number), Line::key("pcpu", number.to_string())),
        false => {
            let why = format!("the index of the CPU with MPIDR {number:#x} in the platform");
            (None, Line::open("pcpu", "0", why))
        }
    };
    Vcpu { pcpu, server: false, lines: vec![line] }
}
