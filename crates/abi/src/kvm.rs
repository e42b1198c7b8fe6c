//! The interface between a guest of Linux/KVM and the program that runs it: x86-64, long mode, CPL 3.
//!
//! RAM starts at [`crate::guest::RAM`], and virtual addresses are physical ones. Each VCPU has a page there, its *block*
//! ([`block`]), and a stack, and starts at the entry of the plan with the address of its block in `rdi`. There are no
//! interrupts. A guest calls with `out` of 32 bits to [`PORT`] ([`Call`]); arguments and results are words of the block.
//!
//! Time is that of the host in nanoseconds (`CLOCK_MONOTONIC`): see [`nanoseconds`]. The block's words for it are renewed
//! when the VCPU gets its processor, or goes on, and they are older than 10 ms.
//!
//! Marks need no call: the guest writes them into a ring of its block, and they are read when the VCPU stops.

use crate::guest::RAM;

/// The port on which guests call.
pub const PORT: u16 = 0xb0;

/// Most bytes of RAM of a VM.
pub const RAM_MAX: u64 = 2 << 30;

/// Bytes of a block.
pub const BLOCK_BYTES: u64 = 4096;
/// Most VCPUs of a VM.
pub const VCPUS_MAX: usize = crate::limits::COUNT_MAX;
/// Bytes of a stack.
pub const STACK_BYTES: u64 = 32 << 10;
/// Bytes at the start of RAM that blocks and stacks take: nothing is loaded there.
pub const RESERVED_BYTES: u64 = VCPUS_MAX as u64 * (BLOCK_BYTES + STACK_BYTES);

/// Returns the address of the block of a VCPU.
pub const fn block(vcpu: usize) -> u64 {
    RAM + vcpu as u64 * BLOCK_BYTES
}

/// Returns the first address behind the stack of a VCPU.
pub const fn stack_end(vcpu: usize) -> u64 {
    RAM + VCPUS_MAX as u64 * BLOCK_BYTES + (vcpu as u64 + 1) * STACK_BYTES
}

/// Number of the word with [`VERSION`].
pub const VERSION_WORD: usize = 0;
/// The index of the VCPU.
pub const VCPU_WORD: usize = 1;
/// The time at which the first period of all servers starts.
pub const SERVERS_START_WORD: usize = 2;
/// The length of the boot arguments, which begin at [`ARGUMENTS_OFFSET`].
pub const ARGUMENTS_WORD: usize = 3;
/// A value of the time-stamp counter, and in the next words the time then and the nanoseconds of a tick in 1/2^32.
pub const CLOCK_WORD: usize = 4;
/// The argument of a call, and behind it its result, if it has one: that of calls about resources and colours is a number, or
/// an [`Error`](crate::hypercall::Error).
pub const ARGUMENT_WORD: usize = 8;
/// Number of marks that the guest has written since it started.
pub const MARKS_WORD: usize = 9;
/// Number of marks that were read.
pub const MARKS_READ_WORD: usize = 10;
/// The second argument of a call, and behind [`Call::Granted`] its second result.
pub const SECOND_WORD: usize = 11;
/// Number of times that tasks of the VCPU got resources for which they waited: one more each time that [`Call::Granted`] has
/// something new to say.
pub const GRANTS_WORD: usize = 12;
/// The third argument of a call.
pub const THIRD_WORD: usize = 13;

/// Version of this layout.
pub const VERSION: u64 = 2;

/// Offset of the boot arguments in the block.
pub const ARGUMENTS_OFFSET: u64 = 1024;
/// Most bytes of boot arguments.
pub const ARGUMENTS_MAX: u64 = 1024;
/// Offset of the text of [`Call::Console`].
pub const TEXT_OFFSET: u64 = 2048;
/// Most bytes of such a text.
pub const TEXT_MAX: u64 = crate::hypercall::CONSOLE_WRITE_MAX;
/// Offset of the ring of marks: for each its time and its value ([`crate::hypercall::mark`]).
pub const MARKS_OFFSET: u64 = 3072;
/// Marks that the ring holds.
pub const MARKS_MAX: u64 = 64;

/// A request of a guest.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(u32)]
pub enum Call {
    /// Shows text of the length in [`ARGUMENT_WORD`], which becomes 0 if the console is busy: the guest calls again later.
    Console = 1,
    /// The VCPU waits until the time in [`ARGUMENT_WORD`], or until [`GRANTS_WORD`] is not [`SECOND_WORD`] any more.
    Wait = 2,
    /// The ring of marks is full.
    Marks = 3,
    /// Switches the VM off.
    Off = 4,
    /// [`LOCK_OPEN`](crate::hypercall::LOCK_OPEN): the name is in [`ARGUMENT_WORD`] and [`SECOND_WORD`].
    Open = 5,
    /// [`LOCK`](crate::hypercall::LOCK): the resource is in [`ARGUMENT_WORD`], the task in [`SECOND_WORD`]. What a task gets
    /// later is told in [`GRANTS_WORD`]; there is no interrupt.
    Lock = 6,
    /// [`UNLOCK`](crate::hypercall::UNLOCK), with the same arguments.
    Unlock = 7,
    /// [`LOCK_GRANTED`](crate::hypercall::LOCK_GRANTED): the task is in [`ARGUMENT_WORD`], and how it got its resource in
    /// [`SECOND_WORD`].
    Granted = 8,
    /// Resets the VM, which starts again if its description says so (`on_reset`): with its images, and RAM of zeros.
    Reset = 9,
    /// Requests extra colours, as [`COLOR_REQUEST`](crate::hypercall::COLOR_REQUEST) does, for a range of virtual addresses:
    /// the colours are in [`ARGUMENT_WORD`], the first address is in [`SECOND_WORD`], and the number of bytes in [`THIRD_WORD`].
    /// The result is the number of pages that the request found, or an [`Error`](crate::hypercall::Error) that changed
    /// nothing. The pages with blocks are never found. The call completes when all pages have moved; they keep their addresses.
    Colors = 10,
}

impl Call {
    /// Returns the call with this number, or `None` if there is none.
    pub const fn from_number(number: u32) -> Option<Self> {
        Some(match number {
            1 => Self::Console,
            2 => Self::Wait,
            3 => Self::Marks,
            4 => Self::Off,
            5 => Self::Open,
            6 => Self::Lock,
            7 => Self::Unlock,
            8 => Self::Granted,
            9 => Self::Reset,
            10 => Self::Colors,
            _ => return None,
        })
    }
}

/// Returns the time when the time-stamp counter shows `tsc`, from the three words at [`CLOCK_WORD`]. Times before the first
/// word count as equal to it.
pub const fn nanoseconds(tsc: u64, [since, time, scale]: [u64; 3]) -> u64 {
    let ticks = tsc.saturating_sub(since) as u128;
    time.saturating_add(((ticks * scale as u128) >> 32) as u64)
}

const _: () = {
    assert!(ARGUMENTS_OFFSET + ARGUMENTS_MAX <= TEXT_OFFSET);
    assert!(TEXT_OFFSET + TEXT_MAX <= MARKS_OFFSET);
    assert!(MARKS_OFFSET + MARKS_MAX * 16 <= BLOCK_BYTES);
    // Where raw guests are loaded.
    assert!(RESERVED_BYTES <= 512 << 10);
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_and_numbers_are_the_same() {
        let calls = (0..20).filter_map(|number| Some((number, Call::from_number(number)?)));
        assert!(calls.clone().all(|(number, call)| call as u32 == number));
        assert_eq!(calls.count(), 10);
    }

    #[test]
    fn time_goes_on_at_the_speed_of_the_counter() {
        // 2.5 GHz: 0.4 ns a tick.
        let clock = [1_000, 5_000, (1 << 32) * 2 / 5];
        assert_eq!(nanoseconds(1_000, clock), 5_000);
        assert_eq!(nanoseconds(1_000 + 2_500_000, clock), 5_000 + 999_999);
        assert_eq!(nanoseconds(10, clock), 5_000);
    }

    #[test]
    fn blocks_and_stacks_do_not_overlap() {
        assert_eq!(block(VCPUS_MAX - 1) + BLOCK_BYTES, stack_end(0) - STACK_BYTES);
        assert_eq!(stack_end(VCPUS_MAX - 1), RAM + RESERVED_BYTES);
    }
}
