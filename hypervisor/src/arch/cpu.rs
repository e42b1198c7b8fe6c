//! Single instructions: barriers, waiting, cache maintenance, time.

use core::arch::asm;

/// Makes stores to translation tables visible to the table walkers of all CPUs.
#[inline(always)]
pub fn publish_tables() {
    // SAFETY: barriers only.
    unsafe { asm!("dsb ishst", "isb", options(nostack, preserves_flags)) }
}

/// Makes writes to system registers take effect.
#[inline(always)]
pub fn isb() {
    // SAFETY: a barrier only.
    unsafe { asm!("isb", options(nostack, preserves_flags)) }
}

/// Waits until an interrupt is pending (interrupts stay masked in EL2).
#[inline(always)]
pub fn wait_for_interrupt() {
    // SAFETY: returns when an interrupt is pending; changes nothing else.
    unsafe { asm!("dsb sy", "wfi", options(nostack, preserves_flags)) }
}

/// Tells that this CPU only waits for another one.
#[inline(always)]
pub fn relax() {
    // SAFETY: a hint.
    unsafe { asm!("yield", options(nomem, nostack, preserves_flags)) }
}

/// Shows in a log of instructions that a lock was taken: a hint that does nothing.
#[cfg(feature = "lock-marks")]
#[inline(always)]
pub fn mark_taken() {
    // SAFETY: hints that no architecture gives a meaning do nothing.
    unsafe { asm!("hint #0x70", options(nostack, preserves_flags)) }
}

/// The same when it is about to be released.
#[cfg(feature = "lock-marks")]
#[inline(always)]
pub fn mark_released() {
    // SAFETY: as above.
    unsafe { asm!("hint #0x71", options(nostack, preserves_flags)) }
}

/// Returns true if an interrupt is waiting to be taken.
#[inline(always)]
pub fn interrupt_pending() -> bool {
    super::regs::isr_el1::read() & (1 << 7 | 1 << 6) != 0
}

/// Returns true if an SError is pending that was noticed until now: EL2 masks them.
#[inline(always)]
pub fn error_pending() -> bool {
    super::regs::isr_el1::read() & 1 << 8 != 0
}

/// Returns true if an SError is pending, when all accesses until now have been completed, as far as the buses tell.
/// Synchronises the context too.
#[inline(always)]
pub fn error_pending_after_accesses() -> bool {
    // SAFETY: barriers only.
    unsafe { asm!("dsb sy", "isb", options(nostack, preserves_flags)) }
    error_pending()
}

/// Takes the SError that is pending; returns its syndrome, or 0 if there is none.
#[cold]
pub fn take_error() -> u64 {
    let syndrome;
    // SAFETY: EL2 unmasks SErrors only here, and the vector for them (`vectors`) expects that: it changes
    // x0 and masks them again. What it overwrites of EL2 nobody needs: the guest's program counter and PSTATE
    // were saved at the exit.
    unsafe {
        asm!("mov x0, #0", "msr daifclr, #4", "isb", "msr daifset, #4",
            out("x0") syndrome, options(nostack));
    }
    syndrome
}

/// Current time in ticks of the system counter.
#[inline(always)]
pub fn now() -> u64 {
    let value;
    // SAFETY: reads the counter after everything before it.
    unsafe { asm!("isb", "mrs {}, cntpct_el0", out(reg) value, options(nostack, preserves_flags)) }
    value
}

/// Current time in ticks, without ordering against the code around it.
#[inline(always)]
pub fn now_unordered() -> u64 {
    super::regs::cntpct_el0::read()
}

/// Bytes of the smallest data cache line.
pub fn cache_line_bytes() -> usize {
    4 << (super::regs::ctr_el0::read() >> 16 & 0xf)
}

/// Writes a range back to memory and drops it from the caches, so that readers
/// without cache see it, and what they write is seen later.
pub fn clean_and_invalidate(start: usize, bytes: usize) {
    let line = cache_line_bytes();
    let mut address = start & !(line - 1);
    while address < start + bytes {
        // SAFETY: cleaning and invalidating a line changes no value.
        unsafe { asm!("dc civac, {}", in(reg) address, options(nostack, preserves_flags)) }
        address += line;
    }
    // SAFETY: a barrier only.
    unsafe { asm!("dsb sy", options(nostack, preserves_flags)) }
}

/// Makes new code in memory visible to the instruction fetch of all CPUs.
pub fn invalidate_instruction_caches() {
    // SAFETY: dropping cached instructions changes no value.
    unsafe { asm!("dsb ish", "ic ialluis", "dsb ish", "isb", options(nostack, preserves_flags)) }
}

/// Forgets all stage-1 and stage-2 translations of the VM in VTTBR_EL2, on all CPUs.
pub fn invalidate_guest_translations() {
    // SAFETY: the translations are read again from the tables.
    unsafe {
        asm!("dsb ishst", "tlbi vmalls12e1is", "dsb ish", "isb", options(nostack, preserves_flags));
    }
}

/// Forgets the stage-1 translations of the VM in VTTBR_EL2 on this CPU.
pub fn invalidate_own_translations() {
    // SAFETY: the translations are read again from the tables.
    unsafe { asm!("tlbi vmalle1", "dsb nsh", "isb", options(nostack, preserves_flags)) }
}

/// Forgets a stage-2 translation of the VM in VTTBR_EL2, on all CPUs, once
/// [`invalidate_combined_translations`] has followed.
pub fn invalidate_stage_2(ipa: u64) {
    // SAFETY: the translation is read again from the tables.
    unsafe { asm!("tlbi ipas2e1is, {}", in(reg) ipa >> 12, options(nostack, preserves_flags)) }
}

/// Completes [`invalidate_stage_2`]: translations from virtual addresses go as well, which
/// may be cached without a trace of the IPA between. Accesses through them are over.
pub fn invalidate_combined_translations() {
    // SAFETY: the translations are read again from the tables.
    unsafe {
        asm!("dsb ish", "tlbi vmalle1is", "dsb ish", "isb", options(nostack, preserves_flags));
    }
}

/// Returns true if instruction caches find lines by physical address alone (CTR_EL0.L1Ip).
pub fn instruction_caches_are_physical() -> bool {
    super::regs::ctr_el0::read() >> 14 & 3 == 3
}

/// Makes new code in a range that is clean visible to the instruction fetch of all CPUs,
/// with physical instruction caches.
pub fn invalidate_instructions(start: usize, bytes: usize) {
    let line = 4 << (super::regs::ctr_el0::read() & 0xf);
    for address in (start..start + bytes).step_by(line) {
        // SAFETY: dropping cached instructions changes no value.
        unsafe { asm!("ic ivau, {}", in(reg) address, options(nostack, preserves_flags)) }
    }
    // SAFETY: barriers only.
    unsafe { asm!("dsb ish", "isb", options(nostack, preserves_flags)) }
}

/// Address to which the guest of this CPU translates a virtual address when it reads as EL0
/// or EL1 (IPA).
pub fn translate_for_guest(address: u64, as_el0: bool) -> Option<u64> {
    let before = super::regs::par_el1::read();
    // SAFETY: a translation changes nothing but PAR_EL1, which is the guest's: put back below.
    unsafe {
        if as_el0 {
            asm!("at s1e0r, {}", "isb", in(reg) address, options(nostack, preserves_flags));
        } else {
            asm!("at s1e1r, {}", "isb", in(reg) address, options(nostack, preserves_flags));
        }
    }
    let result = super::regs::par_el1::read();
    super::regs::par_el1::write(before);
    (result & 1 == 0).then_some(result & 0x000f_ffff_ffff_f000 | address & 0xfff)
}

/// Shows a mark of a guest to observers of the machine: the `NOP` `hint #0x50`, with the
/// mark in `x0`.
#[inline(always)]
pub fn show_mark(mark: u64) {
    // SAFETY: a hint that no architecture version assigns does nothing.
    unsafe {
        asm!("hint #{}", const abi::hypercall::MARK_HINT, in("x0") mark,
            options(nomem, nostack, preserves_flags));
    }
}

/// Shows an observer of the machine where the counter of this CPU shall be, and by which
/// interrupt it tells that the threshold is passed: the `NOP` `hint #0x51`.
pub fn show_counter(block: u64, intid: u32) {
    // SAFETY: a hint that no architecture version assigns does nothing. Who observes the
    // machine writes into the block, which consists of atomics.
    unsafe {
        asm!("hint #{}", const abi::counter::HINT, in("x0") block,
            in("x1") u64::from(intid), options(nostack, preserves_flags));
    }
}

/// Stops this CPU for ever.
pub fn halt() -> ! {
    loop {
        // SAFETY: masks everything and waits; nothing runs here any more.
        unsafe { asm!("msr daifset, #15", "wfi", options(nostack)) }
    }
}

/// The physical address behind an address, if EL2 can read it with the current tables.
/// Loses the guest's PAR_EL1: for boot and fatal reports.
pub fn physical(address: usize) -> Option<u64> {
    // SAFETY: a translation changes nothing but PAR_EL1.
    unsafe { asm!("at s1e2r, {}", "isb", in(reg) address, options(nostack, preserves_flags)) };
    let result = super::regs::par_el1::read();
    (result & 1 == 0).then_some(result & 0x0000_ffff_ffff_f000 | address as u64 & 0xfff)
}

/// Returns true if EL2 can read an address with the current tables.
pub fn is_readable(address: usize) -> bool {
    physical(address).is_some()
}
