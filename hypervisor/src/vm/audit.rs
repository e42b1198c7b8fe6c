//! The audit: an independent check of the stage-2 tables of a VM. It reads the tables as hardware
//! does and compares each entry with the plan, in chunks, and shares no code with the code that
//! made the tables.

use crate::arch::memory::Frame;
use crate::arch::page_table::{Found, PAGE_BYTES, STRETCH};
use crate::arch::stage2::Stage2;
use crate::plan::{Mapping, Vm};

/// Lines that one chunk reads: of tables, and one line of other data for each mapping.
const CHUNK: u32 = 64;
/// Cost of a group of entries of a table, all of which may be empty. At the start of a chunk the
/// groups of three tables may be read again; the chunk must make progress even then.
const ENTRIES: u32 = STRETCH as u32 / 8;
const _: () = assert!(3 * (1 + ENTRIES) < CHUNK);

/// The progress of an audit.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// The address at which it continues (IPA).
    next: u64,
    /// Pages of RAM that it has found.
    ram_pages: u64,
}

/// Does one chunk. Returns the result when the audit is complete; the error is the first address
/// that is mapped but should not be, or 0 if less is mapped than planned. `moved` returns true if a
/// page (IPA) may be in a frame that is not its home.
#[inline(never)]
pub fn chunk(
    progress: &mut Progress,
    stage2: &Stage2,
    vm: &Vm<'_>,
    moved: &mut dyn FnMut(u64, u64) -> bool,
) -> Option<Result<(), u64>> {
    let mut wrong = None;
    let mut looks = 0;
    let from = progress.next;
    let done = stage2.table().walk(from, &mut |found| {
        let (input, cost) = match found {
            Found::Table { input, .. } => (input, 1),
            Found::Entries { input } => (input, ENTRIES),
            Found::Leaf { input, .. } => (input, 1),
        };
        if looks >= CHUNK {
            progress.next = input;
            return false;
        }
        looks += cost;
        let (address, right) = match found {
            Found::Table { address, .. } => (address, is_table_frame(vm, address)),
            Found::Entries { .. } => (0, true),
            Found::Leaf { input, output, bytes, attributes } if Stage2::is_ram(attributes) => {
                progress.ram_pages += bytes / PAGE_BYTES;
                (output, is_ram(vm, input, output, bytes) || moved(input, output))
            }
            Found::Leaf { input, output, bytes, attributes } if Stage2::is_constant(attributes) => {
                (output, bytes == PAGE_BYTES && vm.time_page() == Some(input))
            }
            Found::Leaf { input, output, bytes, attributes } => {
                let right = is_device(vm, input, output, bytes, attributes)
                    || is_channel(vm, input, output, bytes, attributes);
                (output, right)
            }
        };
        if !right {
            wrong = Some(address);
        }
        right
    });
    if let Some(address) = wrong {
        return Some(Err(address));
    }
    done.then(|| {
        let planned: u64 = vm.memory.iter().map(|ram| ram.pages()).sum();
        // Without warm-up, pages are absent until they are touched.
        if progress.ram_pages == planned || !vm.warm_up { Ok(()) } else { Err(0) }
    })
}

impl super::Vm {
    /// Compares the tables with the plan while the VM runs: does one chunk, and returns the result
    /// when the audit is complete.
    pub(super) fn audit(&self, progress: &mut Progress) -> Option<Result<(), u64>> {
        let moved = &mut |ipa, output| {
            let Some(coloring) = &self.coloring else { return false };
            let coloring = coloring.lock();
            // The page may have moved since it was read.
            let now = self.stage2.frame(ipa).map(Frame::address);
            coloring.gave(output, ipa) || now != Some(output)
        };
        chunk(progress, &self.stage2, &self.plan, moved)
    }
}

/// Returns true if a table lies in the frames for tables, for a VM with colours.
fn is_table_frame(vm: &Vm<'_>, table: u64) -> bool {
    let Some((ram, area)) = vm.colored() else { return true };
    ram.stripe.index_of(table).is_some_and(|frame| area.tables().contains(&frame))
}

/// Returns true if each page of RAM is the frame that the plan gives to it.
fn is_ram(vm: &Vm<'_>, input: u64, output: u64, bytes: u64) -> bool {
    vm.memory.iter().any(|ram| {
        let Some(first) = input.checked_sub(ram.guest.start) else { return false };
        if first + bytes > ram.guest.bytes {
            return false;
        }
        // Without colours the frames are contiguous, so the first one is enough.
        let pages = if ram.colors.is_some() { bytes / PAGE_BYTES } else { 1 };
        (0..pages).all(|page| {
            let frame = ram.stripe.index_of(output + page * PAGE_BYTES);
            frame == Some(first / PAGE_BYTES + page) && ram.host.start <= output
        })
    })
}

fn is_device(vm: &Vm<'_>, input: u64, output: u64, bytes: u64, attributes: u64) -> bool {
    let mut devices = vm.devices.iter().map(|device| device.registers).chain(vm.gic.cpu);
    Stage2::is_device(attributes) && devices.any(|it| maps(it, input, output, bytes))
}

/// Returns true if the plan gives this part of a channel to the VM, with the right to write or
/// without.
fn is_channel(vm: &Vm<'_>, input: u64, output: u64, bytes: u64, attributes: u64) -> bool {
    vm.channels.iter().any(|channel| {
        Stage2::is_channel(attributes, channel.writes) && maps(channel.memory, input, output, bytes)
    })
}

fn maps(planned: Mapping, input: u64, output: u64, bytes: u64) -> bool {
    input.checked_sub(planned.guest.start).is_some_and(|offset| {
        offset + bytes <= planned.guest.bytes && output == planned.host + offset
    })
}
