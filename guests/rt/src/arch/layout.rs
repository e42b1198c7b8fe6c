//! The memory that is the program's: its image, and the device tree.

use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

unsafe extern "C" {
    static __image_start: u8;
    static __rodata_start: u8;
    static __data_start: u8;
    static __image_end: u8;
}

/// Addresses of the parts of the image, each a multiple of 4 KiB.
pub(super) struct Layout {
    /// Start of the image: header and code.
    pub image: usize,
    /// Start of the constants.
    pub rodata: usize,
    /// Start of data, stacks and zeroed memory.
    pub data: usize,
    /// End of the image.
    pub end: usize,
}

pub(super) fn layout() -> Layout {
    Layout {
        image: (&raw const __image_start) as usize,
        rodata: (&raw const __rodata_start) as usize,
        data: (&raw const __data_start) as usize,
        end: (&raw const __image_end) as usize,
    }
}

/// Start and end of the device tree, once it has been found.
static TREE: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// Remembers where the device tree lies.
pub(super) fn keep_tree(tree: Range<u64>) {
    TREE[0].store(tree.start, Relaxed);
    TREE[1].store(tree.end, Relaxed);
}

/// Returns true if this address belongs to the program: its image with all its memory, or its device tree.
pub fn owns(address: u64) -> bool {
    let layout = layout();
    let [tree_start, tree_end] = [0, 1].map(|i: usize| TREE[i].load(Relaxed));
    (layout.image as u64..layout.end as u64).contains(&address)
        || (tree_start..tree_end).contains(&address)
}
