//! Copies the images of a VM into its memory.

use core::sync::atomic::Ordering;

use super::{GicEnv, Vm, color_serial, link, port};
use crate::arch::cpu;
use crate::machine;
use crate::plan::Range;

/// Bytes that a chunk of a restart resets or copies: few enough for VMs with a memory budget
/// (`policy::bandwidth::overshoot`).
const CHUNK: usize = 4096;

impl Vm {
    /// Loads the images at boot. The memory contains nothing of the VM yet.
    pub(super) fn load(&self) {
        for &(address, image) in &self.images {
            self.write_memory(address, image);
        }
        cpu::invalidate_instruction_caches();
    }

    /// Does one chunk of the reset of the devices, which is the first one, and of the memory; `number` counts the chunks from 0.
    /// Returns false if no chunk remains.
    pub(super) fn reload(&'static self, number: usize) -> bool {
        let Some(mut number) = number.checked_sub(1) else {
            self.reset_devices();
            self.reset_coloring();
            return true;
        };
        for &(guest, memory) in &self.memory {
            let chunks = (guest.bytes as usize).div_ceil(CHUNK);
            if number < chunks {
                let offset = (number * CHUNK) as u64;
                let start = guest.start + offset;
                let bytes = (CHUNK as u64).min(guest.bytes - offset);
                self.reset_pages(Range { start, bytes });
                // Lines of the last run in the caches must not overwrite what the next run writes
                // while its caches are off.
                memory.clean_and_invalidate(offset, bytes);
                return true;
            }
            number -= chunks;
        }
        for &(address, image) in &self.images {
            let mut chunks = image.chunks(CHUNK);
            if let Some(chunk) = chunks.nth(number) {
                self.write_memory(address + (number * CHUNK) as u64, chunk);
                return true;
            }
            number -= image.len().div_ceil(CHUNK);
        }
        cpu::invalidate_instruction_caches();
        false
    }

    /// Puts the virtual devices into the state after reset.
    pub(super) fn reset_devices(&'static self) {
        if let Some(uart) = &self.uart {
            let mut uart = uart.lock();
            uart.reset();
            machine::set_uart_line(self, uart.interrupt());
        }
        color_serial::reset(self);
        port::reset(self);
        link::reset(self);
        self.rung.store(false, Ordering::SeqCst);
        self.gic.reset(&GicEnv::any(self));
    }
}
