//! The address space of EL2, with nothing but what EL2 needs: its image with the rights of each
//! part, the payload read-only, RAM as data, and the devices that EL2 drives.
//!
//! Addresses are those of the machine, with two exceptions. If the hypervisor has colours, page i
//! of its image, and behind that of its heap, is in the i-th frame of its area. These frames have
//! no other mapping, so that code stays read-only. One routine in assembler copies the image and
//! switches the tables, so that nothing is written between the copy and the switch. The image as it
//! was loaded remains for the entry code of the other CPUs, whose MMU is off. Before they start,
//! the payload becomes non-cacheable: when a VM restarts, its files are read from there and leave
//! no line in the cache except those of the VM.
//!
//! All that the hypervisor keeps for a VM with colours is in frames of that VM's area
//! (`policy::color::Area`): the page with the VM's console output, and a *window* at the end of the
//! address space, in which the VM is built. So exits of one VM evict no lines of others.

use alloc::vec::Vec;

use crate::arch::boot::{ImageLayout, boot_stack_guard};
use crate::arch::heap;
use crate::arch::mmu::{self, Access, Move};
use crate::arch::page_table::{ADDRESS_END, MapError, PAGE_BYTES, PageTable};
use crate::board;
use crate::machine::CONSOLE;
use crate::plan::{Plan, Problem, Ram, Range, Refusal, Vm};

/// Bytes of a window; there is one for each VM.
const WINDOW_BYTES: u64 = 128 << 20;
const WINDOWS: u64 = ADDRESS_END - crate::plan::MAX_CPUS as u64 * WINDOW_BYTES;

/// Frames for tables of EL2, besides those that map the area of the hypervisor.
const TABLE_FRAMES: u64 = 48;
/// Bytes that a table of the last level maps.
const TABLE_SPAN: u64 = 2 << 20;

/// The place of the hypervisor's memory: image, payload, heap, in this order.
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

/// Returns where a VM with colours is built: its window.
pub fn window(index: usize, vm: &Vm<'_>) -> Option<Range> {
    let data = vm.colored()?.1.data();
    let start = WINDOWS + index as u64 * WINDOW_BYTES;
    Some(Range { start, bytes: (data.end - data.start - 1) * PAGE_BYTES })
}

/// Makes the tables, while the early ones are in use. `guards` are pages of the heap that stay
/// unmapped, in the order of their addresses.
#[inline(never)]
pub fn make<'a>(
    plan: &Plan<'a>,
    memory: &Memory,
    guards: impl Iterator<Item = u64>,
) -> Result<AddressSpace, Refusal<'a>> {
    let guards = core::iter::once(boot_stack_guard()).chain(guards).collect();
    let platform = &plan.platform;
    let own = platform.own.as_ref();
    let moving = own.is_some() || plan.vms.iter().any(|vm| vm.colored().is_some());
    if moving {
        for bank in &platform.memory {
            mmu::map_early_ram(bank.start, bank.end());
        }
    }
    let ImageLayout { text, rodata, data, end } = memory.image;
    let mut heap_end = platform.hypervisor.end();
    let (mut numbers, mut payload) = (0..0, Access::Constants);
    if let Some(own) = own {
        numbers.end = own.frames();
        numbers.start = numbers.end.saturating_sub(TABLE_FRAMES + own.host.bytes / TABLE_SPAN);
        // The heap has as many pages as there are frames. If that is less than is in use,
        // the next allocation fails, and that ends the start with a message.
        let pages = numbers.start.saturating_sub((end - text) as u64 / PAGE_BYTES);
        heap_end = heap_end.min(memory.heap + pages * PAGE_BYTES);
        heap::limit(heap_end as usize);
        payload = Access::UncachedConstants;
    }
    let node = plan.root.nth("platform", 0);
    let Some(tables) = PageTable::new(board::memory::own_table_frames(own, numbers)) else {
        return Err(node.node_error(Problem::Text("there is no memory for the tables of EL2")));
    };
    let moves = Vec::new();
    let mut maker = Maker { plan, own, moving, guards, tables, moves, number: 0, failed: None };
    maker.pages(text as u64, rodata as u64, Access::Code);
    maker.pages(rodata as u64, data as u64, Access::Constants);
    maker.pages(data as u64, end as u64, Access::Data);
    maker.range(end as u64, memory.heap, payload);
    let others = platform.power_off.into_iter().chain([platform.serial.registers]);
    for device in platform.gic.frames(true).chain(others) {
        maker.range(device.start, device.end(), Access::Device);
    }
    // Not cached: CPUs that wait look at it with the MMU off.
    let mut last = None;
    for word in &platform.spin_table {
        let page = word & !(PAGE_BYTES - 1);
        if last.replace(page) != Some(page) {
            maker.range(page, page + PAGE_BYTES, Access::Device);
        }
    }
    for bank in &platform.memory {
        let loaded = platform.hypervisor;
        maker.ram(bank.start, bank.end().min(loaded.start));
        maker.ram(bank.start.max(loaded.end()), bank.end());
    }
    for (index, vm) in plan.vms.iter().enumerate() {
        if let (Some((ram, area)), Some(window)) = (vm.colored(), window(index, vm)) {
            // The first one is that of the console output.
            let first = area.data().start + 1;
            for page in 0..window.bytes / PAGE_BYTES {
                let frame = ram.stripe.frame(first + page);
                maker.map(window.start + page * PAGE_BYTES, frame, PAGE_BYTES, Access::Data);
            }
        }
    }
    match own {
        // Last, because the list of the pages in use grows in them.
        Some(_) => maker.pages(memory.heap, heap_end, Access::Data),
        None => maker.range(memory.heap, heap_end, Access::Data),
    }
    match maker.failed {
        None => Ok(AddressSpace { tables: maker.tables, moves: maker.moves }),
        Some((range, error)) => Err(node.node_error(Problem::Map(range, error))),
    }
}

/// Tables in the making.
struct Maker<'p, 'a> {
    plan: &'p Plan<'a>,
    own: Option<&'p Ram>,
    /// True if there are pages that move.
    moving: bool,
    /// Pages that stay unmapped, in the order of their addresses.
    guards: Vec<u64>,
    tables: PageTable,
    moves: Vec<Move>,
    /// Number of the next page of image or heap.
    number: u64,
    /// A range that could not be mapped.
    failed: Option<(Range, MapError)>,
}

impl Maker<'_, '_> {
    #[inline(never)]
    fn map(&mut self, from: u64, to: u64, bytes: u64, access: Access) {
        if let Err(error) = self.tables.map(from, to, bytes, access.attributes()) {
            self.failed = Some((Range { start: from, bytes }, error));
        }
    }

    /// Maps addresses of the machine, but for guards.
    #[inline(never)]
    fn range(&mut self, mut start: u64, end: u64, access: Access) {
        for number in 0..=self.guards.len() {
            let guard = self.guards.get(number).map_or(end, |&guard| guard.min(end));
            if start < guard {
                self.map(start, start, guard - start, access);
            }
            if start <= guard {
                start = guard + PAGE_BYTES;
            }
        }
    }

    /// Maps RAM but for the frames that are the hypervisor's own.
    fn ram(&mut self, mut start: u64, end: u64) {
        if let Some(own) = self.own {
            for number in 0..own.frames() {
                let frame = own.stripe.frame(number);
                if start <= frame && frame < end {
                    self.range(start, frame, Access::Data);
                    start = frame + PAGE_BYTES;
                }
            }
        }
        self.range(start, end, Access::Data);
    }

    /// Maps pages of image or heap, each to its frame.
    #[inline(never)]
    fn pages(&mut self, mut page: u64, end: u64, access: Access) {
        if !self.moving {
            return self.range(page, end, access);
        }
        while page < end {
            let frame = self.frame(page);
            if !self.guards.contains(&page) {
                self.map(page, frame, PAGE_BYTES, access);
                if frame != page && page < heap::next() as u64 {
                    self.moves.push(Move { page, frame });
                }
            }
            self.number += 1;
            page += PAGE_BYTES;
        }
    }

    /// Returns where the next page of image or heap shall be.
    fn frame(&self, page: u64) -> u64 {
        for (index, vm) in self.plan.vms.iter().enumerate() {
            if CONSOLE.page(index) as u64 == page
                && let Some((ram, area)) = vm.colored()
            {
                return ram.stripe.frame(area.data().start);
            }
        }
        self.own.map_or(page, |own| own.stripe.frame(self.number))
    }
}
