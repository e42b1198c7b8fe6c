//! Translation of one virtual address after another, as the Arm ARM tells it in words.

use super::*;

/// The block or page of EL0 that contains `va`, as
/// `(ipa of its start, bytes)`; `None` if EL0 cannot read there.
pub fn translate(space: Space, memory: &Memory, va: u64) -> Option<(u64, u64)> {
    let bits = 64 - (space.tcr & 63);
    let page_bits = [12, 16, 14][(space.tcr >> 14 & 3) as usize];
    let index_bits = page_bits - 3;
    let hierarchical = space.tcr & HPD0 == 0;
    if space.tcr & EPD0 != 0 || va >> bits != 0 {
        return None;
    }
    // Where the fields of the levels begin in the address: level 3 at the page, ...
    let mut lows = vec![page_bits];
    while lows.last().unwrap() + index_bits < bits {
        lows.push(lows.last().unwrap() + index_bits);
    }
    let mut high = bits;
    let mut table = space.ttbr0 & 0xffff_ffff_ffff;
    table -= table % (8 << (bits - lows.last().unwrap())).max(64);
    for (level, &low) in lows.iter().enumerate().rev() {
        let index = va % (1 << high) / (1 << low);
        let descriptor = memory.get(table + 8 * index)?;
        let output = |bits: u64| descriptor % (1 << 48) / (1 << bits) * (1 << bits);
        let leaf = (descriptor & USER != 0).then(|| (output(low), 1 << low));
        // Levels are counted from the pages here: 0, 1, 2, 3.
        match (descriptor & 3, level) {
            (3, 0) => return leaf,
            (3, _) if hierarchical && descriptor & NO_USER_BEHIND != 0 => return None,
            (3, _) => table = output(page_bits),
            (1, 1) => return leaf,
            (1, 2) if page_bits == 12 => return leaf,
            _ => return None,
        }
        high = low;
    }
    unreachable!("level 3 has pages")
}

/// The pages and blocks that contain these virtual addresses, which ascend.
pub fn pages(space: Space, memory: &Memory, vas: impl Iterator<Item = u64>) -> Vec<(u64, u64)> {
    let mut found = Vec::new();
    let mut end = 0;
    for va in vas {
        if va >= end
            && let Some((ipa, bytes)) = translate(space, memory, va)
        {
            found.push((ipa, bytes));
            end = va - va % bytes + bytes;
        }
    }
    found
}
