//! Copies the images of a VM into its memory.

use super::{GicEnv, Vm, color_serial};
use crate::arch::cpu;
use crate::exits;
use crate::machine;
use crate::pcpu::Pcpu;

/// Bytes that are copied or cleaned before interrupts are looked at again.
const CHUNK: usize = 64 * 1024;

impl Vm {
    /// Loads the images at boot. The memory holds nothing of the VM yet.
    pub(super) fn load(&self) {
        for &(address, image) in &self.images {
            self.write_memory(address, image);
        }
        cpu::invalidate_instruction_caches();
    }

    /// Loads the images again. Serves the interrupts of this CPU in between, so
    /// that what else it does is delayed by one chunk at most.
    pub(super) fn reload(&self, pcpu: &'static Pcpu) {
        self.reset_pages(pcpu);
        // What the last run left in the caches must not come back over what the
        // next one writes while its caches are off.
        for (_, memory) in &self.memory {
            for offset in (0..memory.bytes()).step_by(CHUNK) {
                memory.clean_and_invalidate(offset, CHUNK as u64);
                exits::serve_interrupt(pcpu);
            }
        }
        for &(address, image) in &self.images {
            for (number, chunk) in image.chunks(CHUNK).enumerate() {
                self.write_memory(address + (number * CHUNK) as u64, chunk);
                exits::serve_interrupt(pcpu);
            }
        }
        cpu::invalidate_instruction_caches();
    }

    /// Puts the virtual devices into the state after reset.
    pub(super) fn reset_devices(&'static self) {
        if let Some(uart) = &self.uart {
            let mut uart = uart.lock();
            uart.reset();
            machine::set_uart_line(self, uart.interrupt());
        }
        color_serial::reset(self);
        self.gic.reset(&GicEnv::any(self));
    }
}
