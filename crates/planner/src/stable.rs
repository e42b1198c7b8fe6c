//! A stable sort whose algorithm is compiled once.
//!
//! The standard library's is compiled anew for each type and each key: with it, a third of this crate's code were sorts.

use std::cmp::Ordering;

/// Slices that can be sorted in this way.
pub trait StableSort<T> {
    /// Sorts by key; where keys are equal, the order stays. The key of each element is computed once.
    fn stable_sort_by_key<K: Ord>(&mut self, key: impl FnMut(&T) -> K);
}

impl<T> StableSort<T> for [T] {
    fn stable_sort_by_key<K: Ord>(&mut self, key: impl FnMut(&T) -> K) {
        let keys: Vec<K> = self.iter().map(key).collect();
        let mut from: Vec<usize> = (0..self.len()).collect();
        sort(&mut from, &|one, other| keys[one].cmp(&keys[other]));
        for place in 0..self.len() {
            let mut source = from[place];
            // What was there has made room for an earlier place.
            while source < place {
                source = from[source];
            }
            self.swap(place, source);
        }
    }
}

#[inline(never)]
fn sort(places: &mut [usize], compare: &dyn Fn(usize, usize) -> Ordering) {
    places.sort_by(|one, other| compare(*one, *other));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_sorts_as_the_standard_library_does(keys in prop::collection::vec(0..8u8, 0..40)) {
            let mut items: Vec<(u8, usize)> = keys.into_iter().zip(0..).collect();
            let mut expected = items.clone();
            expected.sort_by_key(|(key, _)| *key);
            items.stable_sort_by_key(|(key, _)| *key);
            prop_assert_eq!(items, expected);
        }
    }
}
