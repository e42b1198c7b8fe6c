//! The caches of this CPU, as its registers describe them.

use core::arch::asm;

use policy::color::{Cache, Ccsidr, CcsidrFormat, Clidr};

use super::regs;

/// The last-level cache, if it is unified and its shape makes sense.
#[inline(never)]
pub fn last_level() -> Option<Cache> {
    let level = Clidr(regs::clidr_el1::read()).last_level().ok()?;
    let ccidx = regs::id_aa64mmfr2_el1::read() >> 20 & 0xf == 1;
    let format = if ccidx { CcsidrFormat::Bits64 } else { CcsidrFormat::Bits32 };
    let before = regs::csselr_el1::read();
    regs::csselr_el1::write(u64::from(level - 1) << 1);
    let value;
    // SAFETY: reads the shape of the selected cache; the selection is restored below.
    unsafe { asm!("isb", "mrs {}, ccsidr_el1", out(reg) value, options(nostack, preserves_flags)) };
    regs::csselr_el1::write(before);
    Ccsidr { value, format }.cache().ok()
}
