//! The cost of a VCPU that uses its memory budget up.
//!
//! While a PCPU idles no guest can tell what EL2 does. So its instructions are counted in QEMU's log: from the
//! interrupt at an overflow to the WFI, and from there to the return to the guest.

use anyhow::{Result, ensure};

use super::machine::{IMAGE_START, Machine, REGULATION};
use super::range::Range;
use super::rows::Rows;
use crate::workspace::Workspace;

/// Row from the interrupt at an overflow until the PCPU idles.
pub const STOP: &str = "overflow";
/// Row from the renewal of a budget until the guest goes on.
pub const RESUME: &str = "replenishment";
/// Row of the part beyond its budget that the VCPU has when that is noticed: cycles, which are instructions.
pub const OVERSHOOT: &str = "overshoot";

/// Waits for an interrupt.
pub(super) const WFI: u32 = 0xd503_207f;
/// A read of PMCCNTR_EL0 into register 0.
const READ_CYCLES: u32 = 0xd53b_9d00;
/// A write to PMOVSCLR_EL0 from register 0: only an overflow leads to it.
const CLEAR_OVERFLOW: u32 = 0xd51b_9c60;
/// A read of ICC_IAR1_EL1 into register 0: an interrupt is served.
const ACKNOWLEDGE: u32 = 0xd538_cc00;
const REGISTER: u32 = 0x1f;

/// Returns true if this instruction takes an interrupt from the interrupt controller, to serve it.
pub(super) fn acknowledges(instruction: Option<u32>) -> bool {
    instruction.is_some_and(|instruction| instruction & !REGISTER == ACKNOWLEDGE)
}

/// Instructions that are the machine's own: it takes the interrupt behind the one that overflows.
const MACHINE: u64 = 1;
/// Fewer would be chance.
const SAMPLES_LEAST: usize = 16;

/// The activity of the CPU.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    /// The guest, or something else that is not to be counted.
    Other,
    /// EL2, after an interrupt of a guest.
    Interrupted,
    /// EL2, after an overflow.
    Overflowed,
    /// EL2, after it has waited.
    Woken,
}

/// Measures, and adds the rows.
pub fn measure(workspace: &Workspace, rows: &mut Rows) -> Result<()> {
    let (mut state, mut count) = (State::Other, 0);
    let (mut stops, mut resumes, mut overshoots) = (Vec::new(), Vec::new(), Vec::new());
    let mut overshoot = None;
    // Another one, the console's, may be served on the way: that is no sample.
    let mut served = 0;
    Machine::new(workspace, REGULATION, |_| true)?.instructions(|line, image| {
        if line.starts_with("Taking exception 5 [IRQ]") {
            (state, count, overshoot, served) = (State::Interrupted, 0, None, 0);
        } else if line.starts_with("Exception return") {
            if state == State::Woken && served == 1 {
                resumes.push(count);
            }
            state = State::Other;
        } else if state != State::Other
            && let Some(instruction) = instruction(line, image)
        {
            count += 1;
            match (state, instruction & !REGISTER) {
                (State::Interrupted, CLEAR_OVERFLOW) => state = State::Overflowed,
                (State::Overflowed, READ_CYCLES) => {
                    overshoot = overshoot.or(Some(count + MACHINE));
                }
                (_, ACKNOWLEDGE) => served += 1,
                _ => {}
            }
            if instruction == WFI {
                if let Some(overshoot) = overshoot.take().filter(|_| served == 1) {
                    stops.push(count);
                    overshoots.push(overshoot);
                }
                // After another one the period may be over.
                state = if served == 1 { State::Woken } else { State::Other };
                (count, served) = (0, 0);
            }
        }
    })?;
    rows.add(STOP, middle(&stops)?);
    rows.add(RESUME, middle(&resumes)?);
    rows.add(OVERSHOOT, middle(&overshoots)?);
    Ok(())
}

/// The instruction that a line of the log is about, if it is about one: its address is the second number in
/// brackets.
fn instruction(line: &str, image: &[u8]) -> Option<u32> {
    let address = line.strip_prefix("Trace ")?.split('/').nth(1)?;
    let offset = u64::from_str_radix(address, 16).ok()?.checked_sub(IMAGE_START)?;
    instruction_at(offset, image)
}

/// The instruction at an offset in the image.
pub(super) fn instruction_at(offset: u64, image: &[u8]) -> Option<u32> {
    let bytes = image.get(usize::try_from(offset).ok()?..)?;
    Some(u32::from_le_bytes(*bytes.first_chunk()?))
}

/// Smallest and largest of the middle half: at the start and in the end the guest prints.
fn middle(samples: &[u64]) -> Result<Range> {
    let samples = &samples[samples.len() / 4..samples.len() * 3 / 4];
    ensure!(
        samples.len() >= SAMPLES_LEAST,
        "only {} overflows were seen, at least {SAMPLES_LEAST} are needed: \
         give the guest more bursts",
        samples.len()
    );
    let (min, max) = (samples.iter().min(), samples.iter().max());
    Ok(Range { min: min.copied().unwrap_or(0), max: max.copied().unwrap_or(0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_found_by_their_address() {
        let line = "Trace 0: 0x7f9f20000280 [00000000/0000000040080004/00000461/ff022201] ";
        let image = [0, 0, 0, 0, 0x7f, 0x20, 0x03, 0xd5];
        assert_eq!(instruction(line, &image), Some(WFI));
        assert_eq!(instruction(line, &image[..7]), None);
        assert_eq!(instruction("...from EL1 to EL2", &image), None);
    }
}
