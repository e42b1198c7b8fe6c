//! Patching of code for the interrupt controller that the CPU has.
//!
//! Every place that depends on the controller is in the table `.gicv2_sites`: the place of an instruction,
//! and where to go instead, each relative to its own word. On a CPU without system registers of a
//! GICv3 the entry code (`arch::boot`) replaces each of these instructions by a branch, before the MMU is on.

/// Adds the instruction at local label 2 to the table.
macro_rules! site {
    ($instruction:expr, $otherwise:literal) => {
        concat!(
            "2: ",
            $instruction,
            "\n",
            ".pushsection .gicv2_sites, \"a\"\n",
            ".balign 4\n",
            ".long 2b - ., {",
            $otherwise,
            "} - .\n",
            ".popsection"
        )
    };
}

/// Writes a system register of a GICv3; on a GICv2, executes the block instead.
macro_rules! write_on_v3 {
    ($register:literal, $value:expr, $otherwise:block) => {{
        let value: u64 = $value;
        // SAFETY: the register is one of the interrupt controller's; interrupts
        // are masked at EL2, and what it changes for the guest is its purpose.
        unsafe {
            core::arch::asm!($crate::arch::gic::site!(concat!("msr ", $register, ", {value}"), "v2"),
                value = in(reg) value, v2 = label $otherwise,
                options(nostack, preserves_flags));
        }
    }};
}

pub(in crate::arch) use {site, write_on_v3};

/// Returns true if the machine's interrupt controller is a GICv2, which is driven through memory.
#[inline(always)]
pub fn is_v2() -> bool {
    // SAFETY: an instruction without effect, or a branch to the label.
    unsafe {
        core::arch::asm!(site!("nop", "v2"), v2 = label { return true },
            options(nomem, nostack, preserves_flags));
    }
    false
}
