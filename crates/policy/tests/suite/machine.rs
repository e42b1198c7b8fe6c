//! Random machines, and a reference that knows them frame by frame.

use std::collections::BTreeSet;
use std::ops::Range;

use policy::color::{Cache, Color, ColorSet, FrameAllocator, Geometry, IndexBits};
use proptest::prelude::*;

pub const PAGE: u64 = 4096;

#[derive(Clone, Debug)]
pub struct Machine {
    pub geometry: Geometry,
    /// Contiguous bytes of one colour.
    pub unit: u64,
    pub colors: u64,
    pub banks: Vec<Range<u64>>,
    pub reserved: Vec<Range<u64>>,
}

pub fn geometry() -> impl Strategy<Value = (Geometry, u64, u64)> {
    (0..=6u32, 0..=2u32).prop_map(|(color_bits, unit_bits)| {
        let (colors, unit) = (1 << color_bits, PAGE << unit_bits);
        let cache = Cache::new(8 * colors * unit, 8, 64).unwrap();
        let l1 = Cache::new(2 * unit, 2, 64).unwrap();
        let geometry = Geometry::new(cache, PAGE, IndexBits::AboveL1(l1)).unwrap();
        (geometry, unit, colors)
    })
}

/// Machines of up to 4 banks of up to 300 pages, anywhere and in any order.
pub fn machine() -> impl Strategy<Value = Machine> {
    let banks = prop::collection::vec((0..100u64, 1..300u64), 0..=4);
    let reserved = prop::collection::vec((0..6_000_000u64, 0..300_000u64), 0..4);
    (geometry(), 0..1000u64, banks, reserved, any::<u64>()).prop_map(
        |((geometry, unit, colors), base, sizes, reserved, turn)| {
            let mut end = base * PAGE;
            let mut banks = vec![];
            for (gap, pages) in sizes {
                let start = end + gap * PAGE;
                end = start + pages * PAGE;
                banks.push(start..end);
            }
            let turn = turn as usize % banks.len().max(1);
            banks.rotate_left(turn);
            let reserved =
                reserved.iter().map(|&(at, len)| base * PAGE + at..base * PAGE + at + len);
            Machine { geometry, unit, colors, reserved: reserved.collect(), banks }
        },
    )
}

impl Machine {
    pub fn color(&self, address: u64) -> u64 {
        address / self.unit % self.colors
    }

    /// All frames that may be given out, in the order of the banks.
    pub fn frames(&self) -> Vec<u64> {
        let touched = |frame: u64| {
            let page = frame / PAGE;
            let of = |r: &Range<u64>| r.start / PAGE <= page && page <= (r.end - 1) / PAGE;
            self.reserved.iter().any(|range| !range.is_empty() && of(range))
        };
        let pages = self.banks.iter().flat_map(|bank| bank.clone().step_by(PAGE as usize));
        pages.filter(|&frame| !touched(frame)).collect()
    }

    pub fn storage(&self) -> Vec<u64> {
        // What lies in the storage before must not matter.
        vec![0xdead_beef; FrameAllocator::storage_words(self.geometry, &self.banks).unwrap()]
    }

    pub fn allocator<'a>(&'a self, storage: &'a mut [u64]) -> FrameAllocator<'a> {
        FrameAllocator::new(self.geometry, &self.banks, &self.reserved, storage).unwrap()
    }
}

/// The free frames, by place in [`Machine::frames`].
#[derive(Clone, Debug)]
pub struct Model<'a> {
    pub machine: &'a Machine,
    pub frames: Vec<u64>,
    pub free: BTreeSet<usize>,
}

impl<'a> Model<'a> {
    pub fn new(machine: &'a Machine) -> Self {
        let frames = machine.frames();
        Self { machine, free: (0..frames.len()).collect(), frames }
    }

    pub fn allocate(&mut self, color: u64) -> Option<u64> {
        let of_color = |&&i: &&usize| self.machine.color(self.frames[i]) == color;
        let first = *self.free.iter().find(of_color)?;
        self.free.remove(&first);
        Some(self.frames[first])
    }

    pub fn place_of(&self, frame: u64) -> Option<usize> {
        self.frames.iter().position(|&f| f == frame)
    }

    pub fn is_free(&self, frame: u64) -> bool {
        self.place_of(frame).is_some_and(|place| self.free.contains(&place))
    }

    pub fn free_of(&self, color: u64) -> u64 {
        self.free.iter().filter(|&&i| self.machine.color(self.frames[i]) == color).count() as u64
    }

    /// Compares the counts of all colours.
    pub fn check(&self, frames: &FrameAllocator<'_>) -> Result<(), TestCaseError> {
        for color in ColorSet::first(64).iter() {
            let free = self.free_of(color.index() as u64);
            prop_assert_eq!(frames.free_of(color), free, "colour {}", color);
        }
        Ok(())
    }
}

pub fn color(index: u64) -> Color {
    Color::new(index as u8).unwrap()
}
