//! The address space of EL2, with nothing but what it needs: its image with the rights that
//! each part has, the payload read-only, RAM as data, and the devices that it drives.
//!
//! Addresses are those of the machine, with two exceptions. If the hypervisor has colours,
//! page i of its image, and behind that of its heap, is in the i-th frame of its area. And
//! what it keeps for a VM with colours is in frames of that VM's area: the page with the
//! VM's console output, and a *window* at the end of the address space, in which the VM
//! is built. So exits of one VM leave the lines of others alone.

use alloc::vec::Vec;

use crate::arch::boot::ImageLayout;
use crate::arch::heap;
use crate::arch::mmu::{self, Access, Move};
use crate::arch::page_table::{ADDRESS_END, PAGE_BYTES, PageTable};
use crate::board;
use crate::machine::CONSOLE;
use crate::plan::{Plan, Problem, Ram, Range, Refusal, Vm};

/// Bytes of a window; there is one for each VM.
const WINDOW_BYTES: u64 = 128 << 20;
const WINDOWS: u64 = ADDRESS_END - crate::plan::MAX_CPUS as u64 * WINDOW_BYTES;

/// Frames for tables of EL2, besides those that map what lies in the area of the hypervisor.
const TABLE_FRAMES: u64 = 48;
/// Bytes that a table of the last level maps.
const TABLE_SPAN: u64 = 2 << 20;

/// Where the hypervisor's memory is: image, payload, heap, in this order.
#[derive(Clone, Copy)]
pub struct Memory {
    /// The image.
    pub image: ImageLayout,
    /// First address of the heap.
    pub heap: u64,
}

/// The tables of EL2, and the pages that move when they come into use.
pub struct AddressSpace {
    /// The tables.
    pub tables: PageTable,
    /// The pages. Nothing may be allocated before they move.
    pub moves: Vec<Move>,
}

/// Where a VM with colours is built: its window.
pub fn window(index: usize, vm: &Vm<'_>) -> Option<Range> {
    let data = colored(vm)?.layout().data();
    let start = WINDOWS + index as u64 * WINDOW_BYTES;
    Some(Range { start, bytes: (data.end - data.start - 1) * PAGE_BYTES })
}

/// RAM of a VM that has colours.
fn colored<'a>(vm: &'a Vm<'_>) -> Option<&'a Ram> {
    vm.memory.first().filter(|ram| ram.colors.is_some())
}

/// Makes the tables, while the early ones are in use.
pub fn make<'a>(plan: &Plan<'a>, memory: &Memory) -> Result<AddressSpace, Refusal<'a>> {
    let platform = &plan.platform;
    for bank in &platform.memory {
        mmu::map_early_ram(bank.start, bank.end());
    }
    let own = platform.own.as_ref();
    let heap = heap_range(plan, memory)?;
    let frames = own.map_or(0, |own| own.frames());
    let numbers = frames - own.map_or(0, table_frames)..frames;
    let Some(tables) = PageTable::new(board::memory::own_table_frames(own, numbers)) else {
        let text = "no memory left for the tables of EL2";
        return Err(plan
            .root
            .nth("platform", 0)
            .nth("hypervisor", 0)
            .node_error(Problem::Text(text)));
    };
    let mut maker = Maker { plan, own, tables, moves: Vec::new(), number: 0 };
    let ImageLayout { text, rodata, data, end } = memory.image;
    for (start, end, access) in
        [(text, rodata, Access::Code), (rodata, data, Access::Constants), (data, end, Access::Data)]
    {
        maker.pages(Range { start: start as u64, bytes: (end - start) as u64 }, access)?;
    }
    let payload = match own {
        Some(_) => Access::UncachedConstants,
        None => Access::Constants,
    };
    maker.range(memory.image.end as u64, memory.heap, payload)?;
    let devices =
        [platform.gic.distributor, platform.gic.redistributors, platform.serial.registers];
    for device in devices {
        maker.range(device.start, device.end(), Access::Device)?;
    }
    for bank in &platform.memory {
        let loaded = platform.hypervisor;
        maker.ram(bank.start, bank.end().min(loaded.start))?;
        maker.ram(bank.start.max(loaded.end()), bank.end())?;
    }
    for (index, vm) in plan.vms.iter().enumerate() {
        if let (Some(ram), Some(window)) = (colored(vm), window(index, vm)) {
            // The first one is that of the console output.
            let first = ram.layout().data().start + 1;
            for page in 0..window.bytes / PAGE_BYTES {
                let frame = ram.stripe.frame(first + page);
                maker.map(window.start + page * PAGE_BYTES, frame, PAGE_BYTES, Access::Data)?;
            }
        }
    }
    match own {
        // Last, because the list of the pages in use grows in them.
        Some(_) => maker.pages(heap, Access::Data)?,
        None => maker.range(heap.start, heap.end(), Access::Data)?,
    }
    Ok(AddressSpace { tables: maker.tables, moves: maker.moves })
}

/// Frames for the tables of EL2 in its area.
fn table_frames(own: &Ram) -> u64 {
    TABLE_FRAMES + own.host.bytes / TABLE_SPAN
}

/// The pages of the heap: all to the end of the memory in which the image was loaded; with
/// colours no more than there are frames. Limits the heap to them.
fn heap_range<'a>(plan: &Plan<'a>, memory: &Memory) -> Result<Range, Refusal<'a>> {
    let platform = &plan.platform;
    let mut bytes = platform.hypervisor.end() - memory.heap;
    if let Some(own) = &platform.own {
        let used = (heap::next() as u64 - memory.heap).div_ceil(PAGE_BYTES);
        let image = (memory.image.end - memory.image.text) as u64 / PAGE_BYTES;
        let (frames, fixed) = (own.frames(), image + table_frames(own));
        if frames < fixed + used {
            let node = plan.root.nth("platform", 0).nth("hypervisor", 0);
            return Err(node.error("host-reg", Problem::Frames(frames, fixed + used)));
        }
        bytes = bytes.min((frames - fixed) * PAGE_BYTES);
        heap::limit((memory.heap + bytes) as usize);
    }
    Ok(Range { start: memory.heap, bytes })
}

/// Tables in the making.
struct Maker<'p, 'a> {
    plan: &'p Plan<'a>,
    own: Option<&'p Ram>,
    tables: PageTable,
    moves: Vec<Move>,
    /// Number of the next page of image or heap.
    number: u64,
}

impl<'a> Maker<'_, 'a> {
    #[inline(never)]
    fn map(&mut self, from: u64, to: u64, bytes: u64, access: Access) -> Result<(), Refusal<'a>> {
        self.tables.map(from, to, bytes, access.attributes()).map_err(|error| {
            let range = Range { start: from, bytes };
            self.plan.root.nth("platform", 0).node_error(Problem::Map(range, error))
        })
    }

    /// Maps addresses of the machine, if there are any.
    fn range(&mut self, start: u64, end: u64, access: Access) -> Result<(), Refusal<'a>> {
        if start < end { self.map(start, start, end - start, access) } else { Ok(()) }
    }

    /// Maps RAM but for the frames that are the hypervisor's own.
    fn ram(&mut self, mut start: u64, end: u64) -> Result<(), Refusal<'a>> {
        if let Some(own) = self.own {
            for number in 0..own.frames() {
                let frame = own.stripe.frame(number);
                if start <= frame && frame < end {
                    self.range(start, frame, Access::Data)?;
                    start = frame + PAGE_BYTES;
                }
            }
        }
        self.range(start, end, Access::Data)
    }

    /// Maps pages of image or heap, each to its frame.
    fn pages(&mut self, pages: Range, access: Access) -> Result<(), Refusal<'a>> {
        for page in (pages.start..pages.end()).step_by(PAGE_BYTES as usize) {
            let frame = self.frame(page);
            self.number += 1;
            self.map(page, frame, PAGE_BYTES, access)?;
            if frame != page && (page as usize) < heap::next() {
                self.moves.push(Move { page, frame });
            }
        }
        Ok(())
    }

    /// Where the next page of image or heap shall be.
    fn frame(&self, page: u64) -> u64 {
        for (index, vm) in self.plan.vms.iter().enumerate() {
            if CONSOLE.page(index) as u64 == page
                && let Some(ram) = colored(vm)
            {
                return ram.stripe.frame(ram.layout().data().start);
            }
        }
        self.own.map_or(page, |own| own.stripe.frame(self.number))
    }
}
