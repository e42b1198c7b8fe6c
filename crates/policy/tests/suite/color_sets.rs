//! Sets of colours are sets, and virtual colours are host colours.

use std::collections::BTreeSet;

use crate::machine::{PAGE, color, geometry};
use policy::color::{Cache, Ccsidr, CcsidrFormat, ColorSet, Geometry, IndexBits, VirtualLlc};
use proptest::prelude::*;

fn indices(set: ColorSet) -> BTreeSet<u64> {
    (0..64).filter(|&index| set.contains(color(index))).collect()
}

proptest! {
    #[test]
    fn sets_are_sets(a in any::<u64>(), b in any::<u64>()) {
        let (x, y) = (ColorSet::from_bits(a), ColorSet::from_bits(b));
        let (p, q) = (indices(x), indices(y));
        prop_assert_eq!(indices(x | y), &p | &q);
        prop_assert_eq!(indices(x & y), &p & &q);
        prop_assert_eq!(indices(x - y), &p - &q);
        prop_assert_eq!(x.is_subset(y), p.is_subset(&q));
        prop_assert!((x & y).is_subset(y));
        prop_assert_eq!(x.is_disjoint(y), p.is_disjoint(&q));
        prop_assert!((x - y).is_disjoint(y));
        prop_assert_eq!(x.len() as usize, p.len());
        prop_assert_eq!(x.is_empty(), p.is_empty());
        prop_assert!(x.iter().map(|color| color.index() as u64).eq(p.iter().copied()));
        prop_assert_eq!(x.iter().collect::<ColorSet>(), x);
        for index in 0..64 {
            prop_assert_eq!(x.rank(color(index)) as usize, p.range(..index).count());
        }
    }

    #[test]
    fn runs_are_maximal(bits in any::<u64>(), more in any::<u64>()) {
        let set = ColorSet::from_bits(bits | more);
        let mut seen = 0u128;
        let mut end = 0;
        for run in set.runs() {
            let first = run.first.index();
            prop_assert!(run.len > 0 && (first > end || seen == 0), "a gap before each run");
            end = first + run.len as usize;
            seen |= (1 << end) - (1 << first);
        }
        prop_assert_eq!(seen, u128::from(set.bits()));
    }

    #[test]
    fn text_round_trips(bits in 1..=u64::MAX) {
        let set = ColorSet::from_bits(bits);
        prop_assert_eq!(set.to_string().parse(), Ok(set));
    }

    #[test]
    fn text_never_panics(text in "[0-9, -]{0,12}|\\PC*") {
        if let Err(error) = text.parse::<ColorSet>() {
            prop_assert!(error.at <= text.len());
        }
    }

    #[test]
    fn guest_colors_are_host_colors(
        (geometry, unit, _) in geometry(),
        bits in any::<u64>(),
        format in prop_oneof![Just(CcsidrFormat::Bits32), Just(CcsidrFormat::Bits64)],
    ) {
        let present = ColorSet::from_bits(bits) & geometry.all();
        let Ok(vllc) = VirtualLlc::new(geometry, present) else {
            prop_assert!(!present.len().is_power_of_two());
            return Ok(());
        };
        // A bijection between the guest's colours and the host's.
        for (guest, host) in present.iter().enumerate() {
            let guest = color(guest as u64);
            prop_assert_eq!(vllc.to_host(guest), Some(host));
            prop_assert_eq!(vllc.to_guest(host), Some(guest));
        }
        let known = ColorSet::first(64).iter().filter(|&guest| vllc.to_host(guest).is_some());
        prop_assert_eq!(known.collect::<ColorSet>(), vllc.guest_colors());
        for other in (ColorSet::first(64) - present).iter() {
            prop_assert_eq!(vllc.to_guest(other), None);
        }
        // A guest that reads the virtual register finds these colours by itself,
        // and its pages lie where it believes them to lie.
        let sets = geometry.cache().sets() - 1;
        let value = match format {
            CcsidrFormat::Bits32 => sets << 13 | 7 << 3 | 2,
            CcsidrFormat::Bits64 => sets << 32 | 7 << 3 | 2,
        };
        let read = vllc.ccsidr(Ccsidr { value, format }).unwrap().cache().unwrap();
        prop_assert_eq!(read, vllc.cache());
        let l1 = Cache::new(2 * unit, 2, 64).unwrap();
        let seen = Geometry::new(read, PAGE, IndexBits::AboveL1(l1)).unwrap();
        prop_assert_eq!(seen.all(), vllc.guest_colors());
        for ipa in (0..1 << 20).step_by(PAGE as usize / 2) {
            prop_assert_eq!(vllc.guest_color_at(ipa), seen.color_of(ipa));
            prop_assert_eq!(Some(vllc.host_color_at(ipa)), vllc.to_host(seen.color_of(ipa)));
        }
    }
}
