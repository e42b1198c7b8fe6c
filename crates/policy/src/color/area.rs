//! The area of a VM with colours: its frames by number.

use core::ops::Range;

/// Frames of a pool of extra colours (vCache, section 4.2) of which one frame of the VM keeps the
/// state, 16 bytes for each.
const POOL_FRAMES: u64 = 4096 / 16;
/// Frames with the hypervisor's data for a VM, without its pool.
const DATA_FRAMES: u64 = 24;
/// Stage-2 tables whose number does not depend on RAM: the upper levels, and devices.
const TABLE_FRAMES: u64 = 40;

/// The frames of a VM's area by number: those of its RAM, then its stage-2 tables, then other data
/// that the hypervisor keeps for the VM. All have the VM's colours.
///
/// The tools make areas large enough, and the hypervisor uses them in this order.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Area {
    pages: u64,
    pool_frames: u64,
}

impl Area {
    /// Makes the area of a VM with `pages` pages of RAM and `pool_frames` frames in its pool of
    /// extra colours, which lies elsewhere.
    pub const fn new(pages: u64, pool_frames: u64) -> Self {
        Self { pages, pool_frames }
    }

    /// Returns the pages of its RAM.
    pub const fn ram(self) -> Range<u64> {
        0..self.pages
    }

    /// Returns its stage-2 tables: twice what pages of 4 KiB need, because RAM may start anywhere
    /// in what a table covers, and some for devices.
    pub const fn tables(self) -> Range<u64> {
        self.pages..self.pages + TABLE_FRAMES + self.pages / 256
    }

    /// Returns the hypervisor's data of the VM: VCPUs, virtual devices, bookkeeping of the pool.
    pub const fn data(self) -> Range<u64> {
        let start = self.tables().end;
        start..start + DATA_FRAMES + self.pool_frames.div_ceil(POOL_FRAMES)
    }

    /// Returns the number of frames that the area must have:
    /// `pages + 64 + pages / 256 + pool_frames / 256`, rounded up.
    pub const fn frames(self) -> u64 {
        self.data().end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_each_other() {
        for (pages, pool) in [(1, 0), (4096, 1), (65536, 257), (1 << 20, 1 << 18)] {
            let area = Area::new(pages, pool);
            assert_eq!(area.ram(), 0..pages);
            assert_eq!(area.tables().start, pages);
            assert_eq!(area.data().start, area.tables().end);
            assert_eq!(area.frames(), pages + 64 + pages / 256 + pool.div_ceil(256));
        }
    }

    /// RAM that starts on the last page of a table, of a table of tables as well.
    #[test]
    fn tables_suffice_for_ram_anywhere() {
        for pages in [1, 2, 513, 4096, 1 << 18, (1 << 18) + 2, 1 << 25] {
            let last_level = (pages + 511_u64).div_ceil(512);
            let middle = (pages + (1 << 18) - 1).div_ceil(1 << 18);
            let tables = Area::new(pages, 0).tables();
            // Eight devices, each in a gigabyte of its own.
            assert!(1 + middle + last_level + 8 * 2 <= tables.end - tables.start, "{pages}");
        }
    }
}
