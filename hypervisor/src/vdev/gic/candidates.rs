//! The most urgent of many interrupts.

use super::list_register::LISTS_MAX;

/// Keeps the most urgent interrupts of all that are offered, most urgent first.
///
/// Smaller priority values are more urgent, then smaller INTIDs.
#[derive(Debug)]
pub(super) struct Candidates {
    keys: [u32; LISTS_MAX],
    count: usize,
    room: usize,
    refused: bool,
}

impl Candidates {
    /// Keeps at most `room` interrupts (and never more than [`LISTS_MAX`]).
    pub fn new(room: usize) -> Self {
        Self { keys: [0; LISTS_MAX], count: 0, room: room.min(LISTS_MAX), refused: false }
    }

    /// Offers an interrupt.
    pub fn offer(&mut self, intid: u32, priority: u8) {
        let key = (priority as u32) << 16 | intid;
        // Insertion: each kept one that is less urgent moves one place down.
        let mut carried = key;
        for kept in self.keys.iter_mut().take(self.count) {
            if *kept > carried {
                core::mem::swap(kept, &mut carried);
            }
        }
        if self.count == self.room {
            self.refused = true;
        } else if let Some(end) = self.keys.get_mut(self.count) {
            *end = carried;
            self.count += 1;
        }
    }

    /// Returns true if some of the offered interrupts were not kept.
    pub fn is_short(&self) -> bool {
        self.refused
    }

    /// INTIDs of the kept interrupts, most urgent first.
    pub fn intids(&self) -> impl Iterator<Item = u32> {
        self.keys.iter().take(self.count).map(|key| key & 0xffff)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(room: usize, offers: &[(u32, u8)]) -> (Vec<u32>, bool) {
        let mut candidates = Candidates::new(room);
        for &(intid, priority) in offers {
            candidates.offer(intid, priority);
        }
        (candidates.intids().collect(), candidates.is_short())
    }

    #[test]
    fn the_most_urgent_are_kept_in_order() {
        let offers = [(40, 0x80), (41, 0x20), (42, 0xa0), (43, 0x20), (44, 0x10)];
        assert_eq!(kept(3, &offers), (vec![44, 41, 43], true));
        assert_eq!(kept(5, &offers), (vec![44, 41, 43, 40, 42], false));
    }

    #[test]
    fn without_room_all_are_refused() {
        assert_eq!(kept(0, &[(40, 0)]), (vec![], true));
        assert_eq!(kept(0, &[]), (vec![], false));
    }
}
