//! The caches of this CPU, as its registers describe them to the hypervisor and to a guest.
//!
//! In a VM with `vllc` the cache registers trap (HCR_EL2.TID2), and the last level has as many sets
//! as the VM's share of the colours. The guest's CSSELR_EL1 is the register of its CPU, which the
//! hypervisor itself uses only before guests run. The VM's colours appear to the guest in their
//! order: page i modulo k of its RAM has colour i modulo k.

use core::arch::asm;

use policy::color::{Cache, Ccsidr, CcsidrFormat, Clidr};

use super::regs;

/// The last-level cache, if it is unified and its shape makes sense.
#[inline(never)]
pub fn last_level() -> Option<Cache> {
    let level = Clidr(regs::clidr_el1::read()).last_level().ok()?;
    let before = regs::csselr_el1::read();
    select(u64::from(level - 1) << 1);
    let selected = selected();
    select(before);
    selected.cache().ok()
}

/// Selects the cache that CCSIDR_EL1 describes: level and kind.
pub fn select(selector: u64) {
    regs::csselr_el1::write(selector & 0xf);
}

/// Returns true if CCSIDR_EL1 has 64 bits.
pub fn has_ccidx() -> bool {
    regs::id_aa64mmfr2_el1::read() >> 20 & 0xf == 1
}

/// CCSIDR_EL1 of the selected cache.
fn selected() -> Ccsidr {
    let value;
    // SAFETY: reads the shape of the selected cache.
    unsafe { asm!("isb", "mrs {}, ccsidr_el1", out(reg) value, options(nostack, preserves_flags)) };
    let format = if has_ccidx() { CcsidrFormat::Bits64 } else { CcsidrFormat::Bits32 };
    Ccsidr { value, format }
}

/// CCSIDR_EL1 of the selected cache for a guest whose last-level cache has
/// `2^share` times fewer sets than that of the CPU.
pub fn selected_by_guest(share: u8) -> u64 {
    let (clidr, csselr) = (Clidr(regs::clidr_el1::read()), regs::csselr_el1::read());
    if !clidr.selects_cache(csselr) {
        // For a cache that does not exist, the register may be undefined even for EL2.
        return 0;
    }
    let real = selected();
    // A VM has colours only where [`last_level`] has found a cache.
    if !clidr.selects_last_level(csselr) {
        return real.value;
    }
    // Fewer sets than there are always have room.
    real.with_sets(real.sets() >> share).unwrap_or(real).value
}
