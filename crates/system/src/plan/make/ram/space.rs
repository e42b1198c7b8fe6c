//! Free RAM of the machine, by colours.

use std::collections::BTreeMap;

use policy::color::{Color, ColorSet, Geometry};
use units::Bytes;

use crate::address::{PhysicalAddress, Region};
use crate::description::System;
use crate::diagnostic::{Diagnostic, Place};
use crate::plan::Frames;
use crate::plan::coloring::{frames, period};

/// Alignment of RAM without colours: the hypervisor can map it in blocks.
const ALIGNMENT: Bytes = Bytes::mib(2);

type Part = Region<PhysicalAddress>;

/// The RAM of the machine, and its owners.
pub(super) struct Space<'a> {
    system: &'a System,
    hypervisor: Part,
    llc: Option<Geometry>,
    taken: Vec<Frames>,
}

/// A region that is wanted, and why.
pub(super) struct Wanted<'a> {
    /// The owner, for messages.
    pub owner: String,
    /// The requested size.
    pub size: Bytes,
    /// Bytes of the region.
    pub bytes: Bytes,
    /// The colours in it that are wanted; all if there are none.
    pub colors: Option<ColorSet>,
    /// The place of the request.
    pub place: &'a Place,
}

impl<'a> Space<'a> {
    /// Returns all RAM but that where the hypervisor is loaded and these frames.
    pub fn new(
        system: &'a System,
        hypervisor: Part,
        llc: Option<Geometry>,
        taken: Vec<Frames>,
    ) -> Self {
        Self { system, hypervisor, llc, taken }
    }

    /// Takes the first place that is large enough.
    ///
    /// # Errors
    ///
    /// There is none; the message says how much is free.
    pub fn take(&mut self, wanted: &Wanted<'_>) -> Result<PhysicalAddress, Box<Diagnostic>> {
        let parts = self.free(wanted.colors);
        let Some(part) = parts.iter().find(|part| part.size >= wanted.bytes) else {
            let some = wanted.colors.zip(self.llc);
            return Err(Box::new(match some.filter(|(it, llc)| it.len() < llc.colors()) {
                None => self.no_room(wanted),
                Some((colors, llc)) => self.too_few_frames(wanted, colors, llc),
            }));
        };
        let region = Region { start: part.start, size: wanted.bytes };
        self.taken.push(Frames { region, colors: wanted.colors });
        Ok(part.start)
    }

    /// Returns the pieces of RAM without an owner in one of these colours, from their first aligned
    /// address on.
    fn free(&self, colors: Option<ColorSet>) -> Vec<Part> {
        let mut free = self.system.platform.value.memory.clone();
        remove(&mut free, self.hypervisor);
        for taken in &self.taken {
            let wanted = Frames { region: taken.region, colors };
            if !wanted.is_apart_by_colors(taken) {
                remove(&mut free, taken.region);
            }
        }
        let alignment = colors.and(self.llc).map_or(ALIGNMENT, period);
        free.iter().filter_map(|part| aligned(part, alignment)).collect()
    }

    /// Bytes of the largest piece.
    fn largest(&self, colors: Option<ColorSet>) -> Bytes {
        self.free(colors).iter().map(|part| part.size).max().unwrap_or_default()
    }

    fn no_room(&self, Wanted { owner, size, colors, place, .. }: &Wanted<'_>) -> Diagnostic {
        let largest = self.largest(*colors);
        let all = sum(self.system.vms.iter().map(|vm| vm.memory.value));
        let message =
            format!("{owner} needs {size} of RAM in one piece, but at most {largest} are free");
        let help = format!("{}, {all} wanted by VMs; make a VM smaller", self.machine());
        Diagnostic::new("no-memory", message).at(place, "does not fit").help(help)
    }

    fn too_few_frames(&self, wanted: &Wanted<'_>, colors: ColorSet, llc: Geometry) -> Diagnostic {
        let Wanted { owner, size, bytes, place, .. } = wanted;
        let of_each = |area| frames(llc, colors, area) / u64::from(colors.len());
        let (needed, free) = (of_each(*bytes), of_each(self.largest(Some(colors))));
        let mut by_count: BTreeMap<u64, ColorSet> = BTreeMap::new();
        for color in colors.iter() {
            let set = by_count.entry(self.frames_free(color, llc)).or_default();
            *set = *set | color.into();
        }
        let alone: Vec<String> =
            by_count.iter().rev().map(|(count, colors)| format!("{count} of {colors}")).collect();
        let alone = match by_count.keys().all(|count| *count == free) {
            true => String::new(),
            false => format!(" ({}, each by itself)", alone.join(", ")),
        };
        let message = format!(
            "{owner} needs {needed} frames of each of its colours ({colors}) in one piece of \
             RAM, but at most {free} are free{alone}"
        );
        let help = format!(
            "{}; {size} in these colours take an area of {bytes}: give it more colours, or less \
             memory",
            self.machine()
        );
        Diagnostic::new("no-memory", message).at(place, "does not fit").help(help)
    }

    /// Frames of one colour in the largest piece in which it is free.
    fn frames_free(&self, color: Color, llc: Geometry) -> u64 {
        frames(llc, color.into(), self.largest(Some(color.into())))
    }

    /// Names the owners of RAM before VMs have some.
    fn machine(&self) -> String {
        let platform = &self.system.platform.value;
        let all = sum(platform.memory.iter().map(|bank| bank.size));
        format!("`{}` has {all}: {} for the hypervisor", platform.name, self.hypervisor.size)
    }
}

fn sum(sizes: impl Iterator<Item = Bytes>) -> Bytes {
    Bytes(sizes.fold(0, |sum: u64, size| sum.saturating_add(size.0)))
}

/// Returns the rest of `part` from the first aligned address on.
fn aligned(part: &Part, alignment: Bytes) -> Option<Part> {
    let start = part.start.0.checked_next_multiple_of(alignment.0)?;
    Some(Region::new(start, part.end().0.checked_sub(start)?))
}

/// Removes a region from the free parts.
fn remove(free: &mut Vec<Part>, taken: Part) {
    let rest = free.iter().flat_map(|part| {
        if !part.overlaps(&taken) {
            return vec![*part];
        }
        let between = |start: u64, end: u64| Region::new(start, end.saturating_sub(start));
        vec![
            between(part.start.0, taken.start.0.max(part.start.0)),
            between(taken.end().0.min(part.end().0), part.end().0),
        ]
    });
    *free = rest.filter(|part| part.size > Bytes(0)).collect();
}
