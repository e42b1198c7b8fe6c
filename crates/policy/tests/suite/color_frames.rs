//! Frames are given out as a list of all of them would do it.

#![allow(clippy::single_range_in_vec_init, reason = "most machines have one bank of RAM")]

use crate::machine::{Machine, Model, PAGE, color, machine};
use policy::color::{
    Cache, ColorSet, Demand, FrameAllocator, FreeError, Geometry, IndexBits, OutOfFrames, RamError,
    Rotation, Shortage,
};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Allocate(u64),
    /// Allocate by one of two rotations.
    Next(usize),
    /// Free one of the frames that were allocated.
    Free(prop::sample::Index),
    /// Free what need not be an allocated frame.
    FreeAny(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => (0..64u64).prop_map(Step::Allocate),
        6 => (0..2usize).prop_map(Step::Next),
        4 => any::<prop::sample::Index>().prop_map(Step::Free),
        1 => (0..8_000_000u64).prop_map(Step::FreeAny),
        1 => (0..2000u64).prop_map(|page| Step::FreeAny(page * PAGE)),
    ]
}

/// What a rotation must give: colours in turn, those without a frame left out.
fn model_next(model: &mut Model<'_>, colors: ColorSet, next: &mut u64) -> Option<u64> {
    for turn in 0..64 {
        let index = (*next + turn) % 64;
        if colors.contains(color(index))
            && let Some(frame) = model.allocate(index)
        {
            *next = (index + 1) % 64;
            return Some(frame);
        }
    }
    None
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn frames_are_those_of_the_reference(
        machine in machine(),
        steps in prop::collection::vec(step(), 0..400),
        colors in any::<[u64; 2]>(),
        wanted in 0..3000u64,
    ) {
        let mut storage = machine.storage();
        let mut frames = machine.allocator(&mut storage);
        let mut model = Model::new(&machine);
        let mut taken: Vec<u64> = vec![];
        let colors = colors.map(ColorSet::from_bits);
        let mut rotations = colors.map(Rotation::new);
        let mut next = [0; 2];
        model.check(&frames)?;
        for step in steps {
            match step {
                Step::Allocate(index) => {
                    let expected = model.allocate(index);
                    let error = OutOfFrames(color(index).into());
                    prop_assert_eq!(frames.allocate(color(index)), expected.ok_or(error));
                    taken.extend(expected);
                }
                Step::Next(i) => {
                    let expected = model_next(&mut model, colors[i], &mut next[i]);
                    let given = frames.allocate_next(&mut rotations[i]);
                    prop_assert_eq!(given, expected.ok_or(OutOfFrames(colors[i])));
                    if let Some(frame) = expected {
                        prop_assert!(colors[i].contains(machine.geometry.color_of(frame)));
                    }
                    taken.extend(expected);
                }
                Step::Free(which) if !taken.is_empty() => {
                    let frame = taken.swap_remove(which.index(taken.len()));
                    prop_assert_eq!(frames.free(frame), Ok(()));
                    let place = model.place_of(frame).unwrap();
                    prop_assert!(model.free.insert(place));
                }
                Step::Free(_) => {}
                Step::FreeAny(address) => {
                    let is_ram = machine.banks.iter().any(|bank| bank.contains(&address));
                    let expected = match model.place_of(address) {
                        Some(place) if model.free.insert(place) => Ok(()),
                        Some(_) => Err(FreeError::NotAllocated(address)),
                        None if is_ram && address % PAGE == 0 => Err(FreeError::Reserved(address)),
                        None => Err(FreeError::NoFrame(address)),
                    };
                    prop_assert_eq!(frames.free(address), expected);
                    taken.retain(|&frame| frame != address);
                }
            }
        }
        model.check(&frames)?;
        let demand = Demand::rotating(colors[0], wanted);
        let expected = colors[0].iter().filter_map(|color| {
            let (needed, free) = (demand.of(color), model.free_of(color.index() as u64));
            (needed > free).then_some(Shortage { color, needed, free })
        });
        prop_assert!(frames.shortages(demand).eq(expected));
    }

    #[test]
    fn every_frame_is_given_out_once(machine in machine()) {
        let mut storage = machine.storage();
        let mut frames = machine.allocator(&mut storage);
        let mut all = Rotation::new(ColorSet::first(64));
        let mut given: Vec<u64> =
            std::iter::from_fn(|| frames.allocate_next(&mut all).ok()).collect();
        given.sort();
        let mut expected = machine.frames();
        expected.sort();
        prop_assert_eq!(given, expected);
    }

    #[test]
    fn pages_are_spread_as_the_demand_says(
        machine in machine(),
        colors in any::<u64>(),
        part in any::<prop::sample::Index>(),
    ) {
        let colors = ColorSet::from_bits(colors) & machine.geometry.all();
        let mut storage = machine.storage();
        let mut frames = machine.allocator(&mut storage);
        let before: Vec<u64> = colors.iter().map(|color| frames.free_of(color)).collect();
        // As many as there surely are.
        let most = before.iter().min().unwrap_or(&0) * u64::from(colors.len());
        let pages = part.index(most as usize + 1) as u64;
        let mut rotation = Rotation::new(colors);
        for _ in 0..pages {
            prop_assert!(frames.allocate_next(&mut rotation).is_ok());
        }
        for (color, before) in colors.iter().zip(before) {
            let taken = before - frames.free_of(color);
            prop_assert_eq!(taken, Demand::rotating(colors, pages).of(color));
        }
    }
}

fn a53() -> Geometry {
    Geometry::new(Cache::new(1 << 20, 16, 64).unwrap(), PAGE, IndexBits::AbovePage).unwrap()
}

#[test]
fn ram_that_cannot_be_used_is_refused() {
    let words = |banks: &[_]| FrameAllocator::storage_words(a53(), banks);
    assert_eq!(words(&[0..PAGE, PAGE..PAGE]), Err(RamError::Bank(1)));
    assert_eq!(words(&[1..PAGE]), Err(RamError::Bank(0)));
    assert_eq!(words(&[0..PAGE + 1]), Err(RamError::Bank(0)));
    let overlap = words(&[0..4 * PAGE, 8 * PAGE..9 * PAGE, 3 * PAGE..5 * PAGE]);
    assert_eq!(overlap, Err(RamError::Overlap(0, 2)));
    assert_eq!(words(&[0..(PAGE << 32)]), Err(RamError::TooLarge));
    assert_eq!(words(&[0..!(PAGE - 1)]), Err(RamError::TooLarge));
    assert_eq!(words(&[]), Ok(0));
    // 1 GiB: 32 KiB of bits, and 1/63 of that above them.
    assert_eq!(words(&[0x4000_0000..0x8000_0000]), Ok(4096 + 64 + 1));
}

#[test]
fn storage_must_suffice() {
    let banks = [0x4000_0000..0x8000_0000];
    let mut storage = [0; 4160];
    let error = FrameAllocator::new(a53(), &banks, &[], &mut storage).unwrap_err();
    assert_eq!(error, RamError::Storage { needed: 4161, given: 4160 });
}

#[test]
fn the_highest_addresses_are_memory_like_any_other() {
    let end = !(PAGE - 1);
    let machine = Machine {
        geometry: a53(),
        unit: PAGE,
        colors: 16,
        banks: vec![end - 10 * PAGE..end],
        reserved: vec![end - 1..u64::MAX],
    };
    let mut storage = machine.storage();
    let mut frames = machine.allocator(&mut storage);
    assert_eq!(frames.allocate(color(14)), Err(OutOfFrames(color(14).into())), "reserved");
    assert_eq!(frames.allocate(color(13)), Ok(end - 2 * PAGE));
    assert_eq!(frames.free(end), Err(FreeError::NoFrame(end)));
    assert_eq!(frames.free(end - PAGE), Err(FreeError::Reserved(end - PAGE)));
    assert_eq!(frames.free(end - 2 * PAGE), Ok(()));
}
