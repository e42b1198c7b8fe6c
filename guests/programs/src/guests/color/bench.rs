//! The parts that all cases use: the colours of the VM, memory, and looks at where frames are.

use core::sync::atomic::Ordering::SeqCst;

use abi::hypercall::{COLOR_REQUEST, INFO_POOL_FREE_OF, VmInfo};
use abi::limits::PAGE_BYTES;
use policy::color::ColorSet;

use programs::checks::Checks;
use rt::arch::ram::{self, Arena, Words};
use rt::arch::tables::{Granule, Tables, Use};
use rt::arch::{RAM_BASE, USER_BASE};
use rt::doorbell::Doorbell;
use rt::{arguments, hypercall};

/// Bytes of a page.
pub const PAGE: u64 = PAGE_BYTES;
/// Words of a page.
pub const WORDS: usize = (PAGE / 8) as usize;
/// First virtual address of what cases map.
pub const BASE: u64 = USER_BASE as u64;

/// The VM under test.
pub struct Bench {
    /// Free RAM.
    pub arena: Arena,
    /// The doorbell.
    pub doorbell: Doorbell,
    /// Default colours.
    pub default: ColorSet,
    /// Colours that can be asked for.
    pub extra: ColorSet,
    /// Frames of the pool.
    pub pool: u64,
}

impl Bench {
    /// Asks the hypervisor; `None` if there are no extra colours.
    pub fn new() -> Option<Self> {
        let arena = Arena::take(arguments::ram_bytes_of_tree()?)?;
        let colors = |what| hypercall::vm_info(what).map(ColorSet::from_bits);
        Some(Self {
            arena,
            doorbell: Doorbell::find()?,
            default: colors(VmInfo::Colors)?,
            extra: colors(VmInfo::ExtraColors).filter(|colors| !colors.is_empty())?,
            pool: hypercall::vm_info(VmInfo::PoolFrames)?,
        })
    }

    /// Free frames of the pool.
    pub fn free(&self) -> u64 {
        hypercall::vm_info(VmInfo::PoolFree).unwrap_or(0)
    }

    /// Free frames of one colour.
    pub fn free_of(&self, color: usize) -> u64 {
        self.doorbell.info(INFO_POOL_FREE_OF + color as u64).max(0) as u64
    }

    /// The extra colour with this number, of which there are fewer perhaps: then one of them.
    pub fn color(&self, number: usize) -> u64 {
        let count = self.extra.len() as usize;
        self.extra.iter().nth(number % count).map_or(0, |color| color.index() as u64)
    }

    /// A set of one colour, as a bit field.
    pub fn only(&self, number: usize) -> u64 {
        1 << self.color(number)
    }

    /// A space with `pages` pages of 4 KiB, contiguous in both kinds of addresses, and filled.
    pub fn space(&mut self, pages: u64) -> Option<(Tables, Words)> {
        let tables = Tables::new(&mut self.arena, Granule::Kib4)?;
        let memory = self.memory(pages, PAGE)?;
        for page in 0..pages {
            let frame = ram::address(memory) + page * PAGE;
            tables.map(&mut self.arena, BASE + page * PAGE, frame, 3, Use::User)?;
        }
        Some((tables, memory))
    }

    /// Pages in which each word is its own address, aligned to `align`.
    pub fn memory(&mut self, pages: u64, align: u64) -> Option<Words> {
        let memory = self.arena.allocate(pages * PAGE, align)?;
        for word in memory {
            word.store(word.as_ptr() as u64, SeqCst);
        }
        Some(memory)
    }

    /// The colour of the frame behind each page of `memory`.
    pub fn colors_of(&self, memory: Words) -> impl Iterator<Item = i64> {
        memory.chunks(WORDS).map(|page| self.doorbell.color_of(page.as_ptr() as u64))
    }

    /// Returns true if all pages are in default colours: page i of RAM in the one with number i modulo their
    /// count.
    pub fn at_home(&self, memory: Words) -> bool {
        let first = (ram::address(memory) - RAM_BASE as u64) / PAGE;
        let count = u64::from(self.default.len());
        let home = |page: u64| {
            let color = self.default.iter().nth((page % count) as usize);
            color.map_or(-1, |color| color.index() as i64)
        };
        self.colors_of(memory).zip(first..).all(|(color, page)| color == home(page))
    }

    /// Returns true if the pages take turns in these colours, from the first on.
    pub fn spread(&self, memory: Words, colors: ColorSet) -> bool {
        let turns = colors.iter().map(|color| color.index() as i64).cycle();
        self.colors_of(memory).eq(turns.take(memory.len() / WORDS))
    }

    /// Checks that the pool is whole and the hypervisor's tables are right, after a case.
    pub fn leaves_nothing(&self, checks: &mut Checks) {
        checks.equal("pool-is-whole", self.free(), self.pool);
        checks.equal("audit", hypercall::audit(), 0);
    }
}

/// Returns true if the words are as [`Bench::memory`] has filled them.
pub fn intact(memory: Words) -> bool {
    memory.iter().all(|word| word.load(SeqCst) == word.as_ptr() as u64)
}

/// Requests colours for an address space.
pub fn request(tables: &Tables, colors: u64) -> i64 {
    tables.call(COLOR_REQUEST, colors)
}
