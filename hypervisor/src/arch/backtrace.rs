//! Return addresses on the stack of EL2, by frame pointers.

/// Calls `each` with the return addresses of up to `limit` frames, innermost
/// first, starting at a frame pointer.
pub fn walk(mut frame: u64, limit: usize, mut each: impl FnMut(u64)) {
    let Some(stacks) = super::percpu::stack_range(frame) else { return };
    for _ in 0..limit {
        if !frame.is_multiple_of(8) || !stacks.contains(&frame) || !stacks.contains(&(frame + 8)) {
            return;
        }
        // SAFETY: both words lie in a stack of this hypervisor (checked above).
        let (next, return_address) = unsafe {
            ((frame as *const u64).read_volatile(), (frame as *const u64).add(1).read_volatile())
        };
        if return_address == 0 {
            return;
        }
        each(return_address);
        // Frames lie at ever higher addresses: anything else is damage.
        if next <= frame {
            return;
        }
        frame = next;
    }
}

/// Frame pointer of the function that calls.
#[inline(always)]
pub fn frame_pointer() -> u64 {
    let value;
    // SAFETY: reading a register changes nothing.
    unsafe {
        core::arch::asm!("mov {}, x29", out(reg) value, options(nomem, nostack, preserves_flags))
    };
    value
}
