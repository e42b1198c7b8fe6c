//! A VM that resets itself during a request.

use abi::hypercall::{Error, VmInfo};

use super::bench::{Bench, request};
use super::requests;
use super::second::while_repeating;
use programs::checks::Checks;
use rt::arch::cpu;
use rt::arch::lock::InterruptLock;
use rt::arch::tables::Tables;
use rt::{hypercall, psci};

/// Pages of the task: its requests take many chunks.
const PAGES: u64 = 256;
const REQUESTS: usize = 10_000;

static ASKING: InterruptLock<Option<(Tables, u64)>> = InterruptLock::new(None);

/// Resets the VM while a request of the first VCPU is under way, which the answer to this one tells.
fn reset_if_busy(_round: u64) {
    let Some((tables, colors)) = ASKING.with(|asking| *asking) else { return };
    if request(&tables, colors) == Error::Busy as i64 {
        psci::system_reset();
    }
}

/// Resets the VM in its first life; in the second one everything is as at the start. Not among the
/// cases that run by default.
pub fn during_request(bench: &mut Bench, checks: &mut Checks) -> Option<()> {
    if hypercall::vm_info(VmInfo::Restarts) == Some(0) {
        let (tables, _) = bench.space(PAGES)?;
        let (second, _) = bench.space(1)?;
        ASKING.with(|asking| *asking = Some((second, bench.only(0))));
        while_repeating(reset_if_busy, || {
            for number in 0..REQUESTS {
                if request(&tables, bench.only(number)) == Error::Busy as i64 {
                    // The other one's turn: an emulator may run processors one after the other.
                    cpu::relax();
                }
            }
        });
        checks.equal("reset", false, true);
        return Some(());
    }
    bench.leaves_nothing(checks);
    requests::basic(bench, checks)
}
