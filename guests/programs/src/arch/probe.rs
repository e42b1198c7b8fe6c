//! Accesses and instructions that a well-behaved guest does not use, made on purpose. A fault comes
//! back as a value.
//!
//! Nothing here changes memory of the program: addresses inside it are refused. (An interrupt controller
//! with LPIs could be told to write tables to memory; the machines that these guests run on have none.)

use core::arch::asm;

use rt::arch::mmu::{self, Window};
use rt::arch::{Fault, catch, cpu, owns};
use rt::{read_sysreg, write_sysreg};

/// The memory type with which an address is accessed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Through {
    /// Device memory (only the first GiB).
    Device,
    /// Normal memory, not cached: unaligned accesses go out as they are.
    Normal,
}

/// A way to access memory that gives a hypervisor no (complete) syndrome.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Form {
    /// `LDP`.
    LoadPair,
    /// `STP` of zeros.
    StorePair,
    /// `LDR` with post-index.
    LoadPostIndex,
    /// `STR` of zero with pre-index.
    StorePreIndex,
    /// `LDXR`.
    LoadExclusive,
    /// `DC CVAC`.
    CleanCache,
    /// `PRFM`, which must never fault.
    Prefetch,
}

impl Form {
    /// All forms.
    pub const ALL: [Self; 7] = [
        Self::LoadPair,
        Self::StorePair,
        Self::LoadPostIndex,
        Self::StorePreIndex,
        Self::LoadExclusive,
        Self::CleanCache,
        Self::Prefetch,
    ];
}

/// The address as it goes out, at most 40 bits.
fn outside(ipa: u64) -> u64 {
    let ipa = ipa & ((1 << 40) - 1);
    assert!(!owns(ipa) && !owns(ipa + 15), "{ipa:#x} belongs to this program");
    ipa
}

fn place(ipa: u64, through: Through) -> u64 {
    let ipa = outside(ipa);
    match through {
        Through::Device if ipa < 1 << 30 => ipa,
        _ => mmu::open_window(ipa, Window::ReadWrite),
    }
}

/// Reads 1, 2, 4 or 8 bytes (other sizes are taken as 8) at a guest physical address.
pub fn read(ipa: u64, bytes: usize, through: Through) -> Result<u64, Fault> {
    let at = place(ipa, through);
    let mut value = 0_u64;
    // SAFETY: the address is outside of the program; a skipped load leaves 0.
    let fault = unsafe {
        catch(|| match bytes {
            1 => asm!("ldrb {:w}, [{}]", inout(reg) value, in(reg) at, options(nostack)),
            2 => asm!("ldrh {:w}, [{}]", inout(reg) value, in(reg) at, options(nostack)),
            4 => asm!("ldr {:w}, [{}]", inout(reg) value, in(reg) at, options(nostack)),
            _ => asm!("ldr {}, [{}]", inout(reg) value, in(reg) at, options(nostack)),
        })
    };
    fault.map_or(Ok(value), Err)
}

/// Writes 1, 2, 4 or 8 bytes (other sizes are taken as 8) at a guest physical address.
///
/// # Panics
///
/// If the address belongs to this program.
pub fn write(ipa: u64, bytes: usize, value: u64, through: Through) -> Result<(), Fault> {
    let at = place(ipa, through);
    // SAFETY: the address is outside of the program.
    let fault = unsafe {
        catch(|| match bytes {
            1 => asm!("strb {:w}, [{}]", in(reg) value, in(reg) at, options(nostack)),
            2 => asm!("strh {:w}, [{}]", in(reg) value, in(reg) at, options(nostack)),
            4 => asm!("str {:w}, [{}]", in(reg) value, in(reg) at, options(nostack)),
            _ => asm!("str {}, [{}]", in(reg) value, in(reg) at, options(nostack)),
        })
    };
    fault.map_or(Ok(()), Err)
}

/// Accesses a guest physical address in an unusual form.
///
/// # Panics
///
/// If the address belongs to this program.
pub fn access(ipa: u64, form: Form, through: Through) -> Result<(), Fault> {
    let at = place(ipa, through);
    // SAFETY: the address is outside of the program; registers that a skipped instruction leaves are
    // not used.
    let fault = unsafe {
        catch(|| match form {
            Form::LoadPair => {
                asm!("ldp {}, {}, [{}]", out(reg) _, out(reg) _, in(reg) at, options(nostack))
            }
            Form::StorePair => asm!("stp wzr, wzr, [{}]", in(reg) at, options(nostack)),
            Form::LoadPostIndex => {
                asm!("ldr {:w}, [{}], #4", out(reg) _, inout(reg) at => _, options(nostack))
            }
            Form::StorePreIndex => asm!("str wzr, [{}, #4]!", inout(reg) at => _, options(nostack)),
            Form::LoadExclusive => {
                asm!("ldxr {:w}, [{}]", "clrex", out(reg) _, in(reg) at, options(nostack))
            }
            Form::CleanCache => asm!("dc cvac, {}", in(reg) at, options(nostack)),
            Form::Prefetch => asm!("prfm pldl1keep, [{}]", in(reg) at, options(nostack)),
        })
    };
    fault.map_or(Ok(()), Err)
}

/// Calls the function at a guest physical address. If there is code, it must return.
///
/// # Panics
///
/// If the address belongs to this program.
pub fn fetch(ipa: u64) -> Result<(), Fault> {
    let at = mmu::open_window(outside(ipa), Window::Execute);
    // SAFETY: the callers pass addresses without memory; a failed fetch returns to the caller.
    let fault = unsafe { catch(|| asm!("blr {}", in(reg) at, clobber_abi("C"))) };
    fault.map_or(Ok(()), Err)
}

/// An instruction and its name.
pub type Named<T> = (&'static str, T);

/// Executes an instruction without operands.
pub type Instruction = fn() -> Result<(), Fault>;

macro_rules! instruction {
    ($name:literal, $text:literal) => {
        ($name, || {
            // SAFETY: the instruction is undefined at EL1, or has no effect on memory.
            unsafe { catch(|| asm!($text, options(nostack))) }.map_or(Ok(()), Err)
        })
    };
}

/// Instructions that are undefined at EL1 or stop in a debugger.
pub const UNDEFINED: [Named<Instruction>; 6] = [
    instruction!("udf", "udf #0"),
    instruction!("all-ones", ".inst 0xffffffff"),
    instruction!("hlt", "hlt #0"),
    instruction!("brk", "brk #0"),
    instruction!("dcps2", "dcps2"),
    instruction!("drps", ".inst 0xd6bf03e0"),
];

/// Reads or writes a system register, which may trap.
pub type Register = fn() -> Result<u64, Fault>;

macro_rules! read {
    ($name:expr, $register:expr) => {
        (concat!("read-", $name), || {
            let mut value = 0_u64;
            // SAFETY: reading this register has no effect on memory; a skipped read leaves 0.
            let fault = unsafe {
                catch(|| asm!(concat!("mrs {}, ", $register), inout(reg) value, options(nostack)))
            };
            fault.map_or(Ok(value), Err)
        })
    };
}

macro_rules! write {
    ($name:literal, $register:literal, $value:literal) => {
        (concat!("write-", $name), || {
            let value: u64 = $value;
            // SAFETY: this register has no effect on memory of the program.
            let fault = unsafe {
                catch(|| asm!(concat!("msr ", $register, ", {}"), in(reg) value, options(nostack)))
            };
            fault.map_or(Ok(value), Err)
        })
    };
}

/// System registers that a hypervisor traps or that do not exist at EL1.
pub const REGISTERS: [Named<Register>; 48] = [
    read!("actlr", "actlr_el1"),
    write!("actlr", "actlr_el1", 0),
    read!("afsr0", "afsr0_el1"),
    read!("aidr", "aidr_el1"),
    read!("cpuactlr", "S3_1_C15_C2_0"),
    write!("cpuactlr", "S3_1_C15_C2_0", 0),
    read!("l2ctlr", "S3_1_C11_C0_2"),
    write!("l2ctlr", "S3_1_C11_C0_2", 0),
    read!("cbar", "S3_1_C15_C3_0"),
    read!("pmcr", "pmcr_el0"),
    write!("pmcr", "pmcr_el0", 7),
    read!("pmcntenset", "pmcntenset_el0"),
    write!("pmcntenset", "pmcntenset_el0", 0xffff_ffff),
    write!("pmintenset", "pmintenset_el1", 0xffff_ffff),
    write!("pmccntr", "pmccntr_el0", 0xffff_fff0),
    read!("pmevcntr5", "pmevcntr5_el0"),
    write!("pmevcntr5", "pmevcntr5_el0", 0xffff_fff0),
    read!("mdscr", "mdscr_el1"),
    write!("mdscr", "mdscr_el1", 0),
    read!("oslsr", "oslsr_el1"),
    write!("oslar", "oslar_el1", 1),
    read!("osdlr", "osdlr_el1"),
    read!("dbgbcr0", "dbgbcr0_el1"),
    write!("dbgbvr0", "dbgbvr0_el1", 0),
    read!("mdrar", "mdrar_el1"),
    read!("lorid", "S3_0_C10_C4_7"),
    write!("lorc", "S3_0_C10_C4_3", 0),
    read!("id-aa64pfr0", "id_aa64pfr0_el1"),
    read!("id-aa64mmfr1", "id_aa64mmfr1_el1"),
    read!("midr", "midr_el1"),
    read!("ctr", "ctr_el0"),
    read!("clidr", "clidr_el1"),
    write!("csselr", "csselr_el1", 2),
    read!("ccsidr", "ccsidr_el1"),
    read!("icc-iar0", "S3_0_C12_C8_0"),
    read!("icc-sre", "S3_0_C12_C12_5"),
    write!("icc-sgi0r", "S3_0_C12_C11_7", 1),
    write!("icc-asgi1r", "S3_0_C12_C11_6", 1),
    read!("icc-ctlr-el3", "S3_6_C12_C12_4"),
    read!("cntpct", "cntpct_el0"),
    read!("cntp-ctl", "cntp_ctl_el0"),
    write!("cntp-cval", "cntp_cval_el0", 0xffff_ffff_ffff),
    read!("hcr-el2", "S3_4_C1_C1_0"),
    write!("hcr-el2", "S3_4_C1_C1_0", 0),
    read!("vttbr-el2", "S3_4_C2_C1_0"),
    write!("vttbr-el2", "S3_4_C2_C1_0", 0),
    read!("cnthctl-el2", "S3_4_C14_C1_0"),
    read!("scr-el3", "S3_6_C1_C1_0"),
];

macro_rules! identification {
    ($($crm:literal)*) => {
        [$(identification!(@row $crm, 0 1 2 3 4 5 6 7)),*]
    };
    (@row $crm:literal, $($op2:literal)*) => {
        [$(read!(concat!("C", $crm, "_", $op2), concat!("S3_0_C0_C", $crm, "_", $op2))),*]
    };
}

/// The identification registers `S3_0_C0_C<m>_<n>`, for each m from 1 on those with n from 0 on.
pub const IDENTIFICATION: [[Named<Register>; 8]; 7] = identification!(1 2 3 4 5 6 7);

/// Enters streaming mode, which needs an instruction of FEAT_SME to be there.
pub fn start_streaming() -> Result<(), Fault> {
    const SMEN: u64 = 3 << 24;
    let before = read_sysreg!("cpacr_el1");
    write_sysreg!("cpacr_el1", before | SMEN);
    cpu::synchronize();
    // SAFETY: `SMSTART`: undefined, or it changes vector registers, which nobody uses here.
    let fault = unsafe { catch(|| asm!(".inst 0xd503477f", options(nostack))) };
    write_sysreg!("cpacr_el1", before);
    cpu::synchronize();
    fault.map_or(Ok(()), Err)
}

/// Tries to stop the performance monitors of the CPU, to change what they have counted, and to take their
/// interrupts back.
pub fn attack_monitors() {
    const ATTACKS: [Named<Register>; 12] = [
        write!("pmcr", "pmcr_el0", 6),
        write!("pmcntenclr", "pmcntenclr_el0", 0xffff_ffff),
        write!("pmintenclr", "pmintenclr_el1", 0xffff_ffff),
        write!("pmovsclr", "pmovsclr_el0", 0xffff_ffff),
        write!("pmovsset", "pmovsset_el0", 0xffff_ffff),
        write!("pmselr", "pmselr_el0", 0),
        write!("pmxevcntr", "pmxevcntr_el0", 0),
        write!("pmevcntr0", "pmevcntr0_el0", 0),
        write!("pmevtyper0", "pmevtyper0_el0", 0),
        write!("pmccntr", "pmccntr_el0", 0),
        write!("pmccfiltr", "pmccfiltr_el0", 0xf800_0000),
        write!("pmuserenr", "pmuserenr_el0", 0xf),
    ];
    for (name, attack) in ATTACKS {
        assert!(attack().is_err(), "{name} takes effect");
    }
}

/// Cleans and invalidates all data caches by set and way, as `CLIDR_EL1` and `CCSIDR_EL1` describe
/// them (Arm DDI 0487, D7.5.9). Returns the number of operations.
pub fn clean_caches_by_set_and_way() -> u64 {
    let mut operations = 0;
    let clidr = read_sysreg!("clidr_el1");
    for level in (0..7_u64).take_while(|level| clidr >> (3 * level) & 7 != 0) {
        if clidr >> (3 * level) & 7 == 1 {
            continue; // instructions only
        }
        write_sysreg!("csselr_el1", level << 1);
        cpu::synchronize();
        let ccsidr = read_sysreg!("ccsidr_el1");
        let line_shift = (ccsidr & 7) + 4;
        let last_way = (ccsidr >> 3 & 0x3ff) as u32;
        let last_set = ccsidr >> 13 & 0x7fff;
        let way_shift = last_way.leading_zeros().min(31);
        for set in 0..=last_set {
            for way in 0..=last_way {
                let line = u64::from(way) << way_shift | set << line_shift | level << 1;
                // SAFETY: cleaning keeps the contents of memory.
                unsafe { asm!("dc cisw, {}", in(reg) line, options(nostack, preserves_flags)) }
                operations += 1;
            }
        }
    }
    cpu::synchronize();
    operations
}

/// Goes on at `ipa` with exception vectors there as well: when nothing is there, an endless series
/// of exceptions.
///
/// # Panics
///
/// If the address belongs to this program.
pub fn crash(ipa: u64) -> ! {
    let at = mmu::open_window(outside(ipa), Window::Execute);
    // SAFETY: the program ends here: nothing of it runs any more.
    unsafe { asm!("msr vbar_el1, {0}", "isb", "br {0}", in(reg) at & !0x7ff, options(noreturn)) }
}

/// Goes on with translation tables at `ipa`.
///
/// # Panics
///
/// If the address belongs to this program.
pub fn translate_by(ipa: u64) -> ! {
    let table = outside(ipa) & !0xfff;
    // SAFETY: the program ends here: no address of it is mapped any more.
    unsafe {
        asm!(
            "msr ttbr0_el1, {}", "isb", "tlbi vmalle1", "dsb nsh", "isb", "2: b 2b",
            in(reg) table, options(noreturn)
        )
    }
}
