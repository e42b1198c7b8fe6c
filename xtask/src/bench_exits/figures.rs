//! The figures: their names, their limits, and the values that others have.

use anyhow::{Context, Result};

use super::coloring;
use super::holds;
use super::kicks;
use super::links;
use super::range::Range;
use super::regulation;
use super::rings;
use super::rows::{ENTRY, Rows};
use super::serial;
use super::switching;
use crate::size;

/// Names of the rows that are not a line of the guest.
pub const ENTRY_LARGE: &str = "entry_24k";
pub const LOAD_PER_MIB: &str = "load_per_mib";
pub const CODE_AND_RODATA: &str = "code_and_rodata";

/// Row of the loop that must not exit, and its instructions.
const FULL_SPEED: &str = "full_speed_10m";
const FULL_SPEED_INSTRUCTIONS: u64 = 10_000_000;

/// The hypervisors that were measured by the same method.
pub const PEERS: [&str; 3] = ["Bao (GICv3)", "hvisor (GICv3)", "Xvisor (GICv2)"];

/// The unit in which a figure counts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Unit {
    /// Instructions at EL2.
    Instructions,
    /// Bytes.
    Bytes,
}

impl Unit {
    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Instructions => "instructions",
            Self::Bytes => "bytes",
        }
    }
}

/// Something that is measured.
#[derive(Debug)]
pub struct Figure {
    /// The row with the measurement; a stable name.
    pub key: &'static str,
    /// The name for people.
    pub name: &'static str,
    /// The unit in which it counts.
    pub unit: Unit,
    /// The most that is allowed; `None` where it is only reported.
    pub limit: Option<u64>,
    /// The figures that [`PEERS`] have; empty where that was not measured.
    pub peers: [&'static str; 3],
}

const fn figure(
    key: &'static str,
    name: &'static str,
    limit: Option<u64>,
    peers: [&'static str; 3],
) -> Figure {
    Figure { key, name, unit: Unit::Instructions, limit, peers }
}

const NONE: [&str; 3] = [""; 3];

/// The longest path of EL2 without a chunk for which the scheduler's timer waits: a kick or a call
/// that waits for a lock once for each other CPU. Computed.
pub const LATEST_TICK: &str = "latest_tick";
/// The other CPUs of the machine.
pub const OTHER_CPUS: u64 = 3;

/// The longest part of a stop or a restart of a VM with eight links, in which no interrupt is served, and the longest frame on its
/// way to the VM. Computed.
pub const LATEST_STOP: &str = "latest_stop";

/// All figures, in the order in which they are shown.
const FIGURES: &[Figure] = &[
    figure("hvc_rejected", "HVC that is rejected", Some(130), ["146", "150", ""]),
    figure("hvc_unknown", "HVC with an unknown function, whatever its number", Some(130), NONE),
    figure("smc_unknown", "... SMC", Some(135), NONE),
    figure("trace_mark", "HVC with function 0xC6000002 (trace mark)", Some(130), NONE),
    figure("psci_version", "PSCI_VERSION", Some(170), ["188", "121 (by SMC)", "396"]),
    figure("gicd_typer_read", "read of GICD_TYPER", Some(200), ["224", "327", "718"]),
    figure(
        "gicd_isenabler1_write",
        "write to GICD_ISENABLER1",
        Some(700),
        ["3,562", "745", "1,267"],
    ),
    figure("gicr_typer_read", "read of GICR_TYPER", None, NONE),
    figure("gicr_isenabler0_write", "write to GICR_ISENABLER0", None, NONE),
    figure("uart_flags_read", "read of the UART's flags", None, NONE),
    figure("uart_data_write", "write of a byte to the UART", None, NONE),
    figure(
        "timer_to_handler",
        "from the virtual timer's time to the guest's handler",
        Some(180),
        ["200", "~228", "~2,040-2,178"],
    ),
    figure(
        FULL_SPEED,
        "added to 10 million instructions of a guest without device access",
        Some(0),
        NONE,
    ),
    figure(
        ENTRY,
        "from reset to the guest's first instruction",
        Some(400_000),
        ["400,136", "~660,400", "49,476,939"],
    ),
    figure(ENTRY_LARGE, "... of 24 KiB", Some(400_000), NONE),
    figure(LOAD_PER_MIB, "for each MiB more to verify and load", None, NONE),
    figure(coloring::FIRST_TOUCH_PLAIN, "first touch of a page, VM without colours", None, NONE),
    figure(coloring::FIRST_TOUCH, "first touch of a page, VM with colours", None, NONE),
    figure(coloring::MOVE, "request for colours: each page that moves", None, NONE),
    figure(coloring::STAY, "request for colours: each page that stays", None, NONE),
    figure(coloring::CHUNK, "request for colours: longest chunk (bound)", Some(30_000), NONE),
    figure("request_256", "request for colours: task of 256 pages", None, NONE),
    figure("request_512", "... 512 pages", None, NONE),
    figure("request_1024", "... 1,024 pages", None, NONE),
    figure("request_2048", "... 2,048 pages", None, NONE),
    figure("request_4096", "... 4,096 pages", None, NONE),
    figure("request_8192", "... 8,192 pages", None, NONE),
    figure(
        switching::SWITCH,
        "switch between two VCPUs of two VMs, all accounting included",
        Some(740),
        NONE,
    ),
    figure(
        switching::EXPIRY,
        "budget expiry to the next VCPU's first instruction",
        Some(800),
        NONE,
    ),
    figure(switching::WAIT, "WFI to the next VCPU's first instruction", None, NONE),
    figure(
        switching::WAKE,
        "timer of a waiting VCPU to its first instruction, in the place of another",
        None,
        NONE,
    ),
    figure(regulation::STOP, "memory budget used up, until the PCPU idles", Some(235), NONE),
    figure(
        regulation::RESUME,
        "memory budget renewed, until the guest's next instruction",
        Some(300),
        NONE,
    ),
    figure(
        regulation::OVERSHOOT,
        "counted beyond a memory budget until that is noticed",
        Some(100),
        NONE,
    ),
    figure(kicks::SEND, "SGI to a VCPU on another CPU: sender", Some(500), NONE),
    figure(kicks::KICK, "... that CPU, whose VCPU executes and goes on", Some(1_600), NONE),
    figure(
        kicks::KICK_WAITS_ON,
        "... that CPU, whose VCPU goes on waiting while another one executes",
        Some(1_900),
        NONE,
    ),
    figure(kicks::DEVICE, "interrupt of a device for the VCPU that executes", Some(900), NONE),
    figure(kicks::CONSOLE, "interrupt of the console", Some(1_000), NONE),
    figure(
        kicks::SWITCH_CROWDED,
        "switch from or to a VCPU whose interrupts are all pending",
        Some(1_500),
        NONE,
    ),
    figure(kicks::SEND_IDLE, "SGI with which a VCPU can do nothing: sender", Some(500), NONE),
    figure(kicks::KICK_IDLE, "... the VCPU's CPU", Some(0), NONE),
    figure(rings::RING, "ring for a channel: writer", Some(360), NONE),
    figure(
        rings::KICK,
        "... the CPU of the reader, where a VCPU executes, and the switch to the reader",
        Some(4_900),
        NONE,
    ),
    figure(serial::ACCESS, "access to an end of a serial line", Some(5_000), NONE),
    figure(
        serial::TELL,
        "... the CPU of a VM that is told, or tells late, where its VCPU executes",
        Some(6_100),
        NONE,
    ),
    figure(serial::SERVED, "... of that, one end is brought up to date", Some(2_700), NONE),
    figure(links::FRAME, "frame for a link: longest chunk", Some(30_000), NONE),
    figure(
        links::STOP,
        "VM with eight links and serial lines stops or restarts: longest part without a look for interrupts",
        None,
        NONE,
    ),
    figure(LATEST_STOP, "... that waits for a frame on its way (bound)", Some(30_000), NONE),
    figure(LATEST_TICK, "latest tick of the scheduler without chunks (bound)", Some(20_000), NONE),
    figure("hold_gic", "longest hold of a lock: interrupt controller of a VM", Some(5_000), NONE),
    figure("hold_machine", "... that of the machine", Some(100), NONE),
    figure("hold_resources", "... resources of several VMs", Some(100), NONE),
    figure("hold_console", "... console, and UART of a VM", Some(6_000), NONE),
    figure(holds::RING, "... ring of a link into which others send", Some(10_000), NONE),
    figure(
        "hold_card",
        "... card of a link, and ring out of which its VM sends",
        Some(20_000),
        NONE,
    ),
    figure("hold_other", "... any other", Some(100), NONE),
    figure(
        holds::EXIT,
        "longest call or access of a guest, where no lock is waited for",
        Some(5_000),
        NONE,
    ),
    figure(holds::EXIT_CONSOLE, "... that writes to the console", Some(10_000), NONE),
    figure("gcs_start", "start of a global critical section (vmpcp_start_gcs)", Some(200), NONE),
    figure("gcs_finish", "its end (vmpcp_finish_gcs)", Some(200), NONE),
    figure("lock_open_new", "resource of several VMs: open, first VM", None, NONE),
    figure("lock_open", "... open, another time", None, NONE),
    figure("lock_destroy", "... destroy", None, NONE),
    figure("lock", "... lock, uncontended", Some(350), NONE),
    figure("trylock", "... trylock, uncontended", Some(350), NONE),
    figure("unlock", "... unlock, uncontended", Some(350), NONE),
    Figure {
        key: CODE_AND_RODATA,
        name: "code and read-only data",
        unit: Unit::Bytes,
        limit: Some(size::LIMIT),
        peers: ["70.6 KB", "190 KB", "1,690 KB"],
    },
];

/// A figure and its measurements.
#[derive(Debug)]
pub struct Judged {
    /// The figure.
    pub figure: &'static Figure,
    /// The measurements.
    pub measured: Range,
}

impl Judged {
    /// Returns the difference by which the largest measurement is above the limit.
    pub fn over(&self) -> u64 {
        self.figure.limit.map_or(0, |limit| self.measured.max.saturating_sub(limit))
    }
}

/// Finds every figure in the rows.
pub fn judge(rows: &Rows) -> Result<Vec<Judged>> {
    FIGURES
        .iter()
        .map(|figure| {
            let mut measured = rows.get(figure.key)?;
            if figure.key == FULL_SPEED {
                measured = beyond(measured, FULL_SPEED_INSTRUCTIONS)?;
            }
            Ok(Judged { figure, measured })
        })
        .collect()
}

/// Returns the rest of a measurement without the guest's own instructions.
fn beyond(measured: Range, own: u64) -> Result<Range> {
    let min = measured
        .min
        .checked_sub(own)
        .with_context(|| format!("{own} instructions took only {} ticks", measured.min))?;
    Ok(Range { min, max: measured.max - own })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use system::description::System;
    use system::platform::Platform;

    use super::*;

    fn rows(change: impl Fn(&str, u64) -> u64) -> Rows {
        let mut rows = Rows::default();
        for figure in FIGURES {
            let own = if figure.key == FULL_SPEED { FULL_SPEED_INSTRUCTIONS } else { 0 };
            let value = change(figure.key, figure.limit.unwrap_or(5)) + own;
            rows.add(figure.key, Range { min: own, max: value });
        }
        rows
    }

    /// The values with which analyses count on QEMU's machine are those allowed here.
    #[test]
    fn the_platform_has_these_limits() {
        let platform = Platform::named("qemu-virt").unwrap();
        let overheads = platform.overheads.unwrap();
        let limit = |key| FIGURES.iter().find(|it| it.key == key).and_then(|it| it.limit).unwrap();
        for (key, time) in [
            (kicks::SWITCH_CROWDED, overheads.switch),
            (kicks::DEVICE, overheads.interrupt),
            (holds::EXIT, overheads.exit),
            ("hold_gic", overheads.lock),
            (coloring::CHUNK, overheads.chunk),
            (links::FRAME, overheads.chunk),
            (LATEST_STOP, overheads.chunk),
        ] {
            assert_eq!(limit(key), time.0, "{key}");
        }
        // With more VCPUs than the two of the measurement it takes longer.
        assert!(limit(kicks::KICK).max(limit(kicks::KICK_WAITS_ON)) <= overheads.kick.0);
        // Who is woken pays for the switch.
        let ring = overheads.kick.0 + overheads.interrupt.0;
        assert_eq!(limit(rings::KICK), ring + overheads.switch.0);
        assert_eq!(limit(serial::ACCESS), overheads.exit.0);
        assert_eq!(limit(serial::SERVED), overheads.serial_end().0);
        // What analyses count each time that something is told, with one line and PCPUs that nobody shares.
        let vm = |name| {
            format!(
                "[[vm]]\nname = \"{name}\"\nboot = \"raw\"\nmemory = \"1MiB\"\nkernel = \"vm.bin\"\n"
            )
        };
        let line = "platform = \"qemu-virt\"\n[[serial]]\nbetween = [\"a\", \"b\"]\n";
        let text = format!("{line}{}{}", vm("a"), vm("b"));
        let system = System::from_toml("line.toml", &text, Path::new("")).unwrap();
        let kick = system.kicks().unwrap().0;
        assert_eq!(limit(serial::TELL), kick.0 + overheads.interrupt.0);
        let path = limit(kicks::KICK).max(limit(holds::EXIT));
        assert_eq!(limit(LATEST_TICK), path + OTHER_CPUS * limit("hold_gic"));
        // A write to the console counts as two exits. Nobody waits for another one who has its lock.
        assert!(limit(holds::EXIT_CONSOLE) <= 2 * overheads.exit.0);
    }

    #[test]
    fn a_limit_is_kept_up_to_itself() {
        let judged = judge(&rows(|_, limit| limit)).unwrap();
        assert!(judged.iter().all(|judged| judged.over() == 0), "{judged:#?}");
    }

    #[test]
    fn the_largest_measurement_counts() {
        let judged = judge(&rows(|key, limit| limit + u64::from(key == "psci_version") * 3));
        let judged = judged.unwrap();
        let over: Vec<_> = judged.iter().map(|judged| (judged.figure.key, judged.over())).collect();
        let expected = |key| (key, if key == "psci_version" { 3 } else { 0 });
        assert_eq!(over, FIGURES.iter().map(|figure| expected(figure.key)).collect::<Vec<_>>());
    }

    #[test]
    fn one_exit_of_a_guest_at_full_speed_is_too_much() {
        let judged = judge(&rows(|key, limit| limit + u64::from(key == FULL_SPEED))).unwrap();
        let full_speed = judged.iter().find(|judged| judged.figure.key == FULL_SPEED).unwrap();
        assert_eq!((full_speed.measured.max, full_speed.over()), (1, 1));
    }

    #[test]
    fn a_guest_that_skips_instructions_is_not_believed() {
        let mut short = rows(|_, limit| limit);
        short.add(FULL_SPEED, Range::exact(FULL_SPEED_INSTRUCTIONS - 1));
        assert!(judge(&short).unwrap_err().to_string().contains("9999999 ticks"));
    }
}
