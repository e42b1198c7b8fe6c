//! A second opinion on the stage-2 tables of a VM: reads them as hardware does and
//! compares each entry with the plan. Shares no code with what made them.

use crate::arch::memory::Frame;
use crate::arch::page_table::{Found, PAGE_BYTES};
use crate::arch::stage2::Stage2;
use crate::exits;
use crate::pcpu::{Assignment, Pcpu};
use crate::plan::Vm;

/// Tables and mappings that are looked at in one piece.
const CHUNK: u32 = 64;

/// The first address that is mapped and should not be, or 0 if less is mapped than
/// the plan says. `moved` tells whether a page (IPA) may be in a frame that is not its home;
/// `pause` is called after each chunk.
#[inline(never)]
pub fn audit(
    stage2: &Stage2,
    vm: &Vm<'_>,
    moved: &mut dyn FnMut(u64, u64) -> bool,
    pause: &mut dyn FnMut(),
) -> Result<(), u64> {
    let mut ram_pages = 0;
    let mut wrong = 0;
    let mut looks = 0;
    let right = stage2.table().walk(&mut |found| {
        looks += 1;
        if looks % CHUNK == 0 {
            pause();
        }
        let (address, right) = match found {
            Found::Table(table) => (table, is_table_frame(vm, table)),
            Found::Leaf { input, output, bytes, attributes } if Stage2::is_ram(attributes) => {
                ram_pages += bytes / PAGE_BYTES;
                (output, is_ram(vm, input, output, bytes) || moved(input, output))
            }
            Found::Leaf { input, output, bytes, attributes } if Stage2::is_constant(attributes) => {
                (output, bytes == PAGE_BYTES && vm.time_page() == Some(input))
            }
            Found::Leaf { input, output, bytes, .. } => {
                (output, is_device(vm, input, output, bytes))
            }
        };
        wrong = address;
        right
    });
    if !right {
        return Err(wrong);
    }
    let planned: u64 = vm.memory.iter().map(|ram| ram.pages()).sum();
    // Without warm-up, pages are absent until they are touched.
    if ram_pages == planned || !vm.warm_up { Ok(()) } else { Err(0) }
}

impl super::Vm {
    /// Compares the tables with the plan while the VM runs. Does not return if it stops.
    #[inline(never)]
    pub fn audit(&'static self, at: &Assignment, pcpu: &'static Pcpu) -> Result<(), u64> {
        let moved = &mut |ipa, output| {
            let Some(coloring) = &self.coloring else { return false };
            let coloring = coloring.lock();
            // It may have moved since it was looked at.
            let now = self.stage2.frame(ipa).map(Frame::address);
            coloring.gave(output, ipa) || now != Some(output)
        };
        audit(&self.stage2, &self.plan, moved, &mut || exits::between_chunks(at, pcpu))
    }
}

/// Tables of a VM with colours lie in its frames for tables.
fn is_table_frame(vm: &Vm<'_>, table: u64) -> bool {
    let Some((ram, area)) = vm.colored() else { return true };
    ram.stripe.index_of(table).is_some_and(|frame| area.tables().contains(&frame))
}

/// Each page of RAM is the frame that the plan gives to it.
fn is_ram(vm: &Vm<'_>, input: u64, output: u64, bytes: u64) -> bool {
    vm.memory.iter().any(|ram| {
        let Some(first) = input.checked_sub(ram.guest.start) else { return false };
        if first + bytes > ram.guest.bytes {
            return false;
        }
        // Without colours the frames are contiguous: the first one tells.
        let pages = if ram.colors.is_some() { bytes / PAGE_BYTES } else { 1 };
        (0..pages).all(|page| {
            let frame = ram.stripe.index_of(output + page * PAGE_BYTES);
            frame == Some(first / PAGE_BYTES + page) && ram.host.start <= output
        })
    })
}

fn is_device(vm: &Vm<'_>, input: u64, output: u64, bytes: u64) -> bool {
    vm.devices.iter().any(|device| {
        let registers = device.registers;
        input.checked_sub(registers.guest.start).is_some_and(|offset| {
            offset + bytes <= registers.guest.bytes && output == registers.host + offset
        })
    })
}
