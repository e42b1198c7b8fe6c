//! The page of registers on which a guest asks for colours; see `abi::doorbell`.

use abi::doorbell::{AUDIT, INFO, LOCATE, MAGIC, MAGIC_VALUE, REQUEST, RESULT};
use abi::hypercall::Error;

use crate::arch::mmio::Registers;
use crate::arguments;

/// The doorbell of this VM.
#[derive(Clone, Copy, Debug)]
pub struct Doorbell(Registers);

impl Doorbell {
    /// The page that the device tree names, if it is one.
    pub fn find() -> Option<Self> {
        let registers = Registers::page(arguments::doorbell_of_tree()?)?;
        (registers.read64(MAGIC as usize) == MAGIC_VALUE).then_some(Self(registers))
    }

    /// Guest physical address of the page.
    pub const fn address(self) -> u64 {
        self.0.base()
    }

    /// Requests colours for the address space that is active: the number of pages, or an error.
    pub fn request(self, colors: u64) -> i64 {
        self.ask(REQUEST, colors)
    }

    /// The colour of the frame behind a virtual address, or an error.
    pub fn color_of(self, address: u64) -> i64 {
        self.ask(LOCATE, address)
    }

    fn ask(self, register: u64, value: u64) -> i64 {
        loop {
            self.0.write64(register as usize, value);
            let result = self.result();
            if result != Error::TryAgain as i64 {
                return result;
            }
        }
    }

    /// The result of the last request of this address space, if no other address space has made a request since.
    pub fn result(self) -> i64 {
        self.0.read64(RESULT as usize) as i64
    }

    /// Checks the hypervisor's tables: 0, or the first wrong address with bit 0 set.
    pub fn audit(self) -> u64 {
        self.0.read64(AUDIT as usize)
    }

    /// A fact about the VM; negative where it has none.
    pub fn info(self, selector: u64) -> i64 {
        self.0.read64((INFO + 8 * selector) as usize) as i64
    }
}
