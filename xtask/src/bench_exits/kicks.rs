//! The costs of VCPUs on different CPUs to each other.
//!
//! The CPU that is interrupted cannot tell what that takes: by its counter the other one has executed meanwhile. So
//! instructions are counted in QEMU's log, from an exception that comes to EL2 until the return from it.

use anyhow::{Context, Result, ensure};

use super::log::{self, Event};
use super::machine::{KICKS, Machine};
use super::range::Range;
use super::rows::Rows;
use crate::workspace::Workspace;

/// Row of the write that sends a software-generated interrupt to a VCPU on another CPU.
pub const SEND: &str = "sgi_send";
/// Row of the interrupt by which that CPU is told, where the VCPU executes and goes on.
pub const KICK: &str = "kick";
/// Row of the interrupt by which that CPU is told, where the VCPU waits, and goes on waiting, while another one executes.
pub const KICK_WAITS_ON: &str = "kick_waits_on";
/// Row of the first, and of what the other CPU executes because of it, where the VCPU can do nothing with the interrupt.
pub const SEND_IDLE: &str = "sgi_send_idle";
pub const KICK_IDLE: &str = "kick_idle";
/// Row of an interrupt of a device for the VCPU that executes.
pub const DEVICE: &str = "device";
/// Row of an interrupt of the UART that several VMs share.
pub const CONSOLE: &str = "console";

/// Row of a switch from or to a VCPU with all interrupts pending.
pub const SWITCH_CROWDED: &str = "switch_crowded";

/// The sender's CPU, and the other one.
const SENDER: usize = 0;
const OTHER: usize = 1;
/// ESR_EL2 of a write to ICC_SGI1R_EL1: class, length, and the register without the one that is written from.
const SGI1R: u64 = 0x18 << 26 | 1 << 25 | 0x003a_3016;
const SOURCE: u64 = 0x1f << 5;
/// Functions of the hypervisor by parts of their names: what tells what an interrupt was for.
const LOOK: &str = "7look_at";
const ATTEND: &str = "6attend";
const WAITS_ON: &str = "8waits_on";
const GIVE: &str = "18hardware_interrupt";
const PUMP: &str = "4pump";
const SWITCH: &str = "load_registers";
/// Fewer would be chance; but the console interrupts CPUs that VCPUs share once in a millisecond at most.
const SAMPLES_LEAST: usize = 16;
const SWITCHES_LEAST: usize = 4;
const CONSOLES_LEAST: usize = 1;
/// Number of interrupts at first, until the VCPU waits as it is to.
const FIRST: usize = 16;

/// The numbers that were found.
#[derive(Default)]
struct Found {
    sends: Vec<u64>,
    kicks: Vec<u64>,
    devices: Vec<u64>,
    consoles: Vec<u64>,
    /// Instructions on the other CPU for kicks, whichever VCPU was in it, after the first interrupts were sent.
    late: u64,
}

/// Measures, and adds the rows.
pub fn measure(workspace: &Workspace, rows: &mut Rows) -> Result<()> {
    let found = run(workspace, "sgi-taking", 1)?;
    rows.add(SEND, range("sends", SAMPLES_LEAST, &found.sends)?);
    rows.add(KICK, range("kicks", SAMPLES_LEAST, &found.kicks)?);
    rows.add(
        DEVICE,
        range("devices", SAMPLES_LEAST, &run(workspace, "device-taking", 4)?.devices)?,
    );
    rows.add(
        CONSOLE,
        range("consoles", CONSOLES_LEAST, &run(workspace, "console-uart", 20)?.consoles)?,
    );
    let (mut sends, mut kicked) = (Vec::new(), Vec::new());
    for mode in ["sgi-waiting", "sgi-unstarted"] {
        let found = run(workspace, mode, 1)?;
        sends.extend(found.sends.get(FIRST..).context("too few interrupts were sent")?);
        kicked.push(found.late);
    }
    rows.add(SEND_IDLE, range("sends", SAMPLES_LEAST, &sends)?);
    let (min, max) = (kicked.iter().min(), kicked.iter().max());
    rows.add(KICK_WAITS_ON, kicks_in_vain(workspace)?);
    rows.add(SWITCH_CROWDED, Range::exact(crowded_switch(workspace)?));
    rows.add(KICK_IDLE, Range { min: *min.unwrap_or(&0), max: *max.unwrap_or(&0) });
    Ok(())
}

/// Runs the storm with this mode, for `ms` milliseconds.
fn run(workspace: &Workspace, mode: &str, ms: u64) -> Result<Found> {
    let mut machine = Machine::new(workspace, KICKS, is_alone)?;
    machine.tell(format!("storm.mode={mode} storm.ms={ms}"))?;
    let mut found = Found::default();
    log::follow(&machine, workspace, &[LOOK, SWITCH, GIVE, PUMP], |cpu, event, visited| {
        let has = |name: usize| visited.functions >> name & 1 != 0;
        let (looks, goes_on) = (has(0), !has(1) && !visited.waited);
        match event {
            Event::Call(esr) if cpu == SENDER && esr & !SOURCE == SGI1R => {
                found.sends.push(visited.instructions);
            }
            Event::Interrupt if looks => {
                if cpu == OTHER && goes_on {
                    found.kicks.push(visited.instructions);
                }
                if cpu == OTHER && found.sends.len() > FIRST {
                    found.late += visited.instructions;
                }
            }
            Event::Interrupt if has(2) && goes_on => found.devices.push(visited.instructions),
            Event::Interrupt if has(3) && goes_on => found.consoles.push(visited.instructions),
            _ => {}
        }
    })?;
    Ok(found)
}

/// The longest way over from one VM to another on the second CPU, where a VCPU has all interrupts pending.
fn crowded_switch(workspace: &Workspace) -> Result<u64> {
    let mut machine = Machine::new(workspace, KICKS, |_| true)?;
    machine.tell("storm.mode=many storm.ms=3".into())?;
    let mut switches = Vec::new();
    log::follow(&machine, workspace, &[SWITCH, LOOK, ATTEND], |cpu, _, visited| {
        // Interrupts of siblings are not part of it, and what they noted is served in the VCPU's own time.
        if cpu == OTHER && visited.functions == 1 && !visited.waited {
            switches.push(visited.instructions);
        }
    })?;
    Ok(range("switches", SWITCHES_LEAST, &switches)?.max)
}

/// Kicks for a VCPU that waits on, while the VCPU of another VM executes there.
fn kicks_in_vain(workspace: &Workspace) -> Result<Range> {
    let mut machine = Machine::new(workspace, KICKS, |_| true)?;
    machine.tell("storm.mode=pend-dozing storm.pause=300 storm.ms=2".into())?;
    let mut kicks = Vec::new();
    log::follow(&machine, workspace, &[WAITS_ON, SWITCH], |cpu, event, visited| {
        let interrupted = cpu == OTHER && event == Event::Interrupt;
        if interrupted && visited.functions == 1 && !visited.waited {
            kicks.push(visited.instructions);
        }
    })?;
    range("kicks in vain", SWITCHES_LEAST, &kicks)
}

/// Returns true if a line of the system is needed where no VCPUs take turns.
pub fn is_alone(line: &str) -> bool {
    !line.contains("# beside")
}

/// The range of samples, of which there have to be enough.
pub fn range(what: &str, least: usize, samples: &[u64]) -> Result<Range> {
    ensure!(
        samples.len() >= least,
        "only {} of {what} were seen, at least {least} are needed: let the storm last longer",
        samples.len()
    );
    let (min, max) = (samples.iter().min(), samples.iter().max());
    Ok(Range { min: min.copied().unwrap_or(0), max: max.copied().unwrap_or(0) })
}
