//! Device registers in memory.

use core::ptr;

/// A block of device registers.
///
/// Accesses are single, volatile loads and stores of the given size. They are
/// ordered among themselves by the device mapping, not against normal memory:
/// use barriers where that matters.
#[derive(Clone, Copy, Debug)]
pub struct Mmio {
    base: usize,
    bytes: usize,
}

impl Mmio {
    /// The registers in `bytes` bytes from address `base`.
    ///
    /// # Safety
    ///
    /// As long as the value or a copy of it lives: the range is mapped readable
    /// and writable, as device memory where it holds a device; it contains no
    /// Rust object; and no access in it has an effect on memory that Rust code
    /// relies on (a DMA engine, say, needs its own driver contract). `base` is
    /// a multiple of 8.
    pub const unsafe fn new(base: usize, bytes: usize) -> Self {
        Self { base, bytes }
    }

    /// Bytes of the block.
    pub const fn bytes(self) -> usize {
        self.bytes
    }

    /// The part of the block that starts at `offset` and has `bytes` bytes, or
    /// `None` if it is not inside the block or `offset` is no multiple of 8.
    pub fn part(self, offset: usize, bytes: usize) -> Option<Self> {
        let inside = offset.checked_add(bytes).is_some_and(|end| end <= self.bytes);
        (inside && offset.is_multiple_of(8)).then(|| Self { base: self.base + offset, bytes })
    }

    /// The part of the block that starts at `offset`, as [`Mmio::part`]; its size is known when
    /// the hypervisor is compiled, and so is whether a register is in it.
    pub fn block<const BYTES: usize>(self, offset: usize) -> Option<Block<BYTES>> {
        self.part(offset, BYTES).map(|part| Block(part.base))
    }

    /// Address of the register of type `T` at `offset`.
    #[inline]
    fn register<T>(self, offset: usize) -> *mut T {
        let inside = offset < self.bytes && self.bytes - offset >= size_of::<T>();
        assert!(inside && offset.is_multiple_of(size_of::<T>()), "no such device register");
        ptr::with_exposed_provenance_mut(self.base + offset)
    }
}

macro_rules! accessors {
    ($($read:ident $write:ident $type:ty;)*) => {
        impl Mmio {
            $(
                #[doc = concat!("Reads a `", stringify!($type), "` at byte `offset`. Panics outside the block or if not aligned.")]
                #[inline]
                pub fn $read(self, offset: usize) -> $type {
                    let register = self.register::<$type>(offset);
                    // SAFETY: `register` checked range and alignment; the rest is the contract of `new`.
                    unsafe { ptr::read_volatile(register) }
                }

                #[doc = concat!("Writes a `", stringify!($type), "` at byte `offset`. Panics outside the block or if not aligned.")]
                #[inline]
                pub fn $write(self, offset: usize, value: $type) {
                    let register = self.register::<$type>(offset);
                    // SAFETY: `register` checked range and alignment; the rest is the contract of `new`.
                    unsafe { ptr::write_volatile(register, value) }
                }
            )*
        }
    };
}

accessors! {
    read8 write8 u8;
    read32 write32 u32;
    read64 write64 u64;
}

/// A block of device registers whose size is known when the hypervisor is compiled: an access at
/// a constant offset is one instruction.
#[derive(Clone, Copy, Debug)]
pub struct Block<const BYTES: usize>(usize);

impl<const BYTES: usize> Block<BYTES> {
    #[inline(always)]
    fn register<T>(self, offset: usize) -> *mut T {
        let inside = offset < BYTES && BYTES - offset >= size_of::<T>();
        assert!(inside && offset.is_multiple_of(size_of::<T>()), "no such device register");
        ptr::with_exposed_provenance_mut(self.0 + offset)
    }

    /// Writes a `u8` at byte `offset`. Panics outside the block.
    #[inline(always)]
    pub fn write8(self, offset: usize, value: u8) {
        // SAFETY: as in `read32`.
        unsafe { ptr::write_volatile(self.register(offset), value) }
    }

    /// Reads a `u32` at byte `offset`. Panics outside the block or if not aligned.
    #[inline(always)]
    pub fn read32(self, offset: usize) -> u32 {
        // SAFETY: `register` checked range and alignment; the rest is the contract of `Mmio::new`.
        unsafe { ptr::read_volatile(self.register(offset)) }
    }

    /// Writes a `u32` at byte `offset`. Panics outside the block or if not aligned.
    #[inline(always)]
    pub fn write32(self, offset: usize, value: u32) {
        // SAFETY: as in `read32`.
        unsafe { ptr::write_volatile(self.register(offset), value) }
    }

    /// Reads a `u64` at byte `offset`. Panics outside the block or if not aligned.
    #[inline(always)]
    pub fn read64(self, offset: usize) -> u64 {
        // SAFETY: as in `read32`.
        unsafe { ptr::read_volatile(self.register(offset)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_block(test: impl FnOnce(Mmio)) {
        let mut memory = [0u64; 4];
        // SAFETY: the array outlives the block and is reached only through it.
        let block = unsafe { Mmio::new((&raw mut memory).expose_provenance(), 32) };
        test(block);
    }

    #[test]
    fn accesses_reach_their_bytes() {
        with_block(|block| {
            block.write64(8, 0x1122_3344_5566_7788);
            block.write8(9, 0xaa);
            assert_eq!(block.read32(8), 0x5566_aa88);
            let part = block.part(8, 16).unwrap();
            assert_eq!(part.read32(4), 0x1122_3344);
        });
    }

    #[test]
    fn parts_stay_inside() {
        with_block(|block| {
            assert!(block.part(8, 24).is_some());
            assert!(block.part(8, 25).is_none());
            assert!(block.part(4, 8).is_none());
            assert!(block.part(usize::MAX & !7, 16).is_none());
        });
    }

    #[test]
    #[should_panic(expected = "no such device register")]
    fn accesses_outside_panic() {
        with_block(|block| block.write32(32, 0));
    }

    #[test]
    #[should_panic(expected = "no such device register")]
    fn unaligned_accesses_panic() {
        with_block(|block| block.write64(4, 0));
    }
}
