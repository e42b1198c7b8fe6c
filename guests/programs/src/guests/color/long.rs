//! Long work of the hypervisor, over and over: for observers of its effect on others. Not
//! among the cases that run by default. `rounds=` is the number of rounds (100).

use abi::hypercall::VmInfo;

use super::bench::{Bench, request};
use programs::checks::Checks;
use rt::{arguments, hypercall, psci};

/// Pages of the task that asks: its requests take many chunks.
const PAGES: u64 = 512;

fn rounds() -> u64 {
    arguments::number("rounds", 100)
}

/// Requests of a large task.
pub fn requests(bench: &mut Bench, checks: &mut Checks) -> Option<()> {
    let (tables, memory) = bench.space(PAGES)?;
    let colors = [bench.only(0) | bench.only(1), bench.only(2) | bench.only(3)];
    let all_move = |&round: &u64| request(&tables, colors[(round % 2) as usize]) == PAGES as i64;
    checks.equal("moved", (0..rounds()).filter(all_move).count() as u64, rounds());
    checks.equal("free", request(&tables, 0), PAGES as i64);
    checks.equal("contents", super::bench::intact(memory), true);
    Some(())
}

/// Audits of all RAM, some pages of which are not at home.
pub fn audits(bench: &mut Bench, checks: &mut Checks) -> Option<()> {
    let (tables, _) = bench.space(PAGES)?;
    checks.equal("moved", request(&tables, bench.extra.bits()), PAGES as i64);
    let wrong = (0..rounds()).filter(|_| hypercall::audit() != 0);
    checks.equal("wrong", wrong.count(), 0);
    checks.equal("free", request(&tables, 0), PAGES as i64);
    Some(())
}

/// Restarts of the VM: `rounds=` is the number of them that its description allows.
pub fn restarts(_bench: &mut Bench, checks: &mut Checks) -> Option<()> {
    let restarts = hypercall::vm_info(VmInfo::Restarts)?;
    if restarts < rounds() {
        psci::system_reset();
    }
    checks.equal("restarts", restarts, rounds());
    Some(())
}
