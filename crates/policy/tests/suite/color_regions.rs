//! Regions are placed as a search through all frames would place them.

#![allow(clippy::single_range_in_vec_init, reason = "most machines have one bank of RAM")]

use std::collections::BTreeSet;

use crate::machine::{Machine, Model, PAGE, machine};
use policy::color::{ColorSet, Map, Region, RegionError, RegionMaps, VirtualLlc};
use proptest::prelude::*;

/// Runs of contiguous colours as (first, number).
fn runs(colors: ColorSet) -> Vec<(u64, u64)> {
    let mut runs: Vec<(u64, u64)> = vec![];
    for color in (0..64).filter(|color| colors.bits() >> color & 1 != 0) {
        match runs.last_mut() {
            Some((first, len)) if *first + *len == color => *len += 1,
            _ => runs.push((color, 1)),
        }
    }
    runs
}

/// First fit, page by page; `Err` is the number of the map without a place.
fn model_reserve(model: &mut Model<'_>, region: &Region) -> Result<Vec<Map>, usize> {
    let Machine { unit, colors, .. } = *model.machine;
    let mut maps = vec![];
    let mut offset = 0;
    for (first, len) in runs(region.colors).into_iter().cycle() {
        if offset == region.bytes {
            break;
        }
        let bytes = (len * unit).min(region.bytes - offset);
        let fits = |&base: &u64| {
            base % (colors * unit) == first * unit
                && (base..base + bytes).step_by(PAGE as usize).all(|page| model.is_free(page))
        };
        let starts = model.machine.banks.iter().find_map(|bank| {
            let in_bank = |&base: &u64| base + bytes <= bank.end;
            bank.clone().step_by(PAGE as usize).filter(in_bank).find(fits)
        });
        let address = starts.ok_or(maps.len())?;
        for page in (address..address + bytes).step_by(PAGE as usize) {
            let place = model.place_of(page).unwrap();
            model.free.remove(&place);
        }
        maps.push(Map { ipa: region.ipa + offset, address, bytes });
        offset += bytes;
    }
    Ok(maps)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn regions_are_those_of_the_reference(
        machine in machine(),
        holes in prop::collection::vec((0..8u64, any::<bool>()), 0..300),
        wishes in prop::collection::vec((any::<u64>(), any::<u64>(), 1..80u64), 1..5),
    ) {
        let geometry = machine.geometry;
        let mut storage = machine.storage();
        let mut frames = machine.allocator(&mut storage);
        let mut model = Model::new(&machine);
        // Fragments: some frames stay taken, some come back.
        let mut back = vec![];
        for (index, stays) in holes {
            if let Some(frame) = model.allocate(index) {
                prop_assert_eq!(frames.allocate(crate::machine::color(index)), Ok(frame));
                if !stays {
                    back.push(frame);
                }
            }
        }
        for frame in back {
            frames.free(frame).unwrap();
            let place = model.place_of(frame).unwrap();
            model.free.insert(place);
        }
        let mut areas = vec![vec![0; 200]; wishes.len()];
        let mut placed = vec![];
        let mut frames_used = BTreeSet::new();
        for ((a, b, pages), areas) in wishes.into_iter().zip(&mut areas) {
            let colors = ColorSet::from_bits(a | b) & geometry.all();
            let region = Region { ipa: 0x4000_0000 + a % 100 * PAGE, bytes: pages * PAGE, colors };
            let mut after = model.clone();
            let expected = model_reserve(&mut after, &region);
            let result = RegionMaps::reserve(region, &mut frames, areas);
            match (result, expected) {
                (Ok(maps), Ok(expected)) => {
                    prop_assert_eq!(maps.maps().collect::<Vec<_>>(), expected.clone());
                    prop_assert_eq!(RegionMaps::count(geometry, &region), Ok(expected.len()));
                    for map in expected {
                        for at in (0..map.bytes).step_by(PAGE as usize) {
                            let found = maps.translate(map.ipa + at + a % PAGE).unwrap();
                            prop_assert_eq!(found.frame, map.address + at);
                            prop_assert_eq!(found.color.index() as u64, machine.color(found.frame));
                            prop_assert!(colors.contains(found.color));
                            prop_assert!(frames_used.insert(found.frame), "given twice");
                        }
                    }
                    prop_assert_eq!(maps.translate(region.ipa - 1), None);
                    prop_assert_eq!(maps.translate(region.ipa + region.bytes), None);
                    model = after;
                    placed.push((maps, region));
                }
                (Err(RegionError::NoColors), _) => prop_assert!(colors.is_empty()),
                (Err(RegionError::Shortage(shortage)), Err(_)) => {
                    prop_assert!(shortage.free < shortage.needed);
                    prop_assert_eq!(shortage.free, model.free_of(shortage.color.index() as u64));
                }
                (Err(RegionError::Fragmented { map, .. }), Err(expected)) => {
                    prop_assert_eq!(map, expected);
                    let demand = RegionMaps::demand(geometry, &region);
                    prop_assert_eq!(frames.shortages(demand).count(), 0);
                }
                (result, expected) => prop_assert!(false, "{:?}, not {:?}", result, expected),
            }
            model.check(&frames)?;
        }
        // What has been placed comes back whole, and nothing but that.
        for (maps, region) in placed {
            let pages: Vec<Map> = maps.maps().collect();
            maps.release(&mut frames).unwrap();
            for map in pages {
                for page in (map.address..map.address + map.bytes).step_by(PAGE as usize) {
                    let place = model.place_of(page).unwrap();
                    prop_assert!(model.free.insert(place), "{:?}", region);
                }
            }
            model.check(&frames)?;
        }
    }

    #[test]
    fn aligned_regions_suit_the_virtual_llc(machine in machine(), bits in 1..u64::MAX, pages in 1..60u64) {
        let geometry = machine.geometry;
        let present = ColorSet::from_bits(bits) & geometry.all();
        let count = 1 << present.len().checked_ilog2().unwrap_or(0);
        let colors: ColorSet = present.iter().take(count).collect();
        prop_assume!(!colors.is_empty());
        let vllc = VirtualLlc::new(geometry, colors).unwrap();
        let mut storage = machine.storage();
        let mut frames = machine.allocator(&mut storage);
        let mut areas = [0; 64];
        let region = Region { ipa: 0x4000_0000, bytes: pages * PAGE, colors };
        if let Ok(maps) = RegionMaps::reserve(region, &mut frames, &mut areas) {
            for ipa in (region.ipa..region.ipa + region.bytes).step_by(PAGE as usize) {
                prop_assert_eq!(maps.translate(ipa).unwrap().color, vllc.host_color_at(ipa));
            }
        }
    }
}

/// XvIso's example machine: 8 colours of 8 KiB.
fn raspberry_pi_2() -> Machine {
    use policy::color::{Cache, Geometry, IndexBits};
    let l1 = Cache::new(32 << 10, 4, 64).unwrap();
    let l2 = Cache::new(512 << 10, 8, 64).unwrap();
    let geometry = Geometry::new(l2, PAGE, IndexBits::AboveL1(l1)).unwrap();
    Machine { geometry, unit: 2 * PAGE, colors: 8, banks: vec![0..1 << 20], reserved: vec![] }
}

#[test]
fn xviso_section_3a_number_of_maps() {
    // m = ceil(s / (x * C)), four contiguous colours of 8 KiB as in section V-A.
    let machine = raspberry_pi_2();
    for (bytes, maps) in [(4096, 1), (32 << 10, 1), (36 << 10, 2), (512 << 10, 16)] {
        let region = Region { ipa: 0, bytes, colors: "0-3".parse().unwrap() };
        assert_eq!(RegionMaps::count(machine.geometry, &region), Ok(maps));
    }
}

#[test]
fn regions_that_cannot_be_are_refused_with_the_reason() {
    let machine = raspberry_pi_2();
    let mut storage = machine.storage();
    let mut frames = machine.allocator(&mut storage);
    let mut refused = |ipa, bytes, colors: &str, words: usize| {
        let region = Region { ipa, bytes, colors: colors.parse().unwrap_or_default() };
        RegionMaps::reserve(region, &mut frames, &mut vec![0; words]).unwrap_err()
    };
    for (ipa, bytes) in [(0, 0), (1, PAGE), (0, PAGE + 1), (!(PAGE - 1), PAGE)] {
        assert_eq!(refused(ipa, bytes, "0", 9), RegionError::Range);
    }
    assert_eq!(refused(0, PAGE, "", 9), RegionError::NoColors);
    assert_eq!(refused(0, PAGE, "7-9", 9).to_string(), "no such colours: 8-9; the cache has 0-7");
    assert_eq!(refused(0, 1 << 16, "0", 7), RegionError::Storage { needed: 8, given: 7 });
    assert_eq!(refused(0, 300 << 10, "0-1", 99).to_string(), "colour 0: 38 frames needed, 32 free");
}

#[test]
fn fragments_are_named_as_the_reason() {
    let machine = raspberry_pi_2();
    let mut storage = machine.storage();
    let mut frames = machine.allocator(&mut storage);
    // Of every second place colour 0 is taken, of the others colour 1.
    for place in 0..16 {
        let taken = place * 8 * machine.unit + place % 2 * machine.unit;
        let color = machine.geometry.color_of(taken);
        let mut kept = vec![];
        loop {
            let frame = frames.allocate(color).unwrap();
            if frame == taken {
                break;
            }
            kept.push(frame);
        }
        kept.into_iter().for_each(|frame| frames.free(frame).unwrap());
    }
    let region = Region { ipa: 0, bytes: 4 * machine.unit, colors: "0-1".parse().unwrap() };
    let error = RegionMaps::reserve(region, &mut frames, &mut [0; 9]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "no 16 KiB contiguous in the colours 0-1 for map 1 of 2: there are enough free frames, \
         but not side by side; place this region first, or give it colours that are not contiguous"
    );
}
