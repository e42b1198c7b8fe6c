//! Given limits of memory accesses that are below the accesses of the tasks behind them.

use system::description::{Amount, Bandwidth, System};
use system::diagnostic::Diagnostic;

use super::cannot_plan;

/// Nanoseconds of a second.
const SECOND: u128 = 1_000_000_000;

/// Returns the message about the first limit that is too low for its own tasks, whatever is planned.
pub(super) fn starved(system: &System) -> Option<Diagnostic> {
    let counter = system.platform.value.bandwidth.as_ref()?;
    for vm in &system.vms {
        let made = |of: &dyn Fn(usize) -> bool| -> u128 {
            let tasks = vm.tasks.iter().filter(|task| !task.vcpu_open && of(task.vcpu));
            let rate = |task: &system::description::Task| {
                let accesses = task.accesses.as_ref().map_or(0, |it| it.value);
                u128::from(accesses) * SECOND / u128::from(task.period.0.max(1))
            };
            tasks.map(rate).sum()
        };
        let all: u128 = made(&|_| true);
        let own = vm.vcpus.iter().enumerate();
        let own = own.filter_map(|(index, vcpu)| {
            Some((Some(index), vcpu.bandwidth.as_ref()?, made(&|vcpu| vcpu == index)))
        });
        let whole = vm.bandwidth.as_ref().map(|limit| (None, limit, all));
        for (index, limit, made) in whole.into_iter().chain(own) {
            let Some(budget) = limit.budget(counter) else { continue };
            let credits = vm.compensation.as_ref().filter(|_| index.is_none());
            let most = u128::from(budget.most(credits.map(|it| it.value)));
            let allowed = most * SECOND / u128::from(budget.period.0.max(1));
            if made > allowed {
                return Some(mistake(vm, index, limit, [made, allowed]));
            }
        }
    }
    None
}

fn mistake(
    vm: &system::description::Vm,
    index: Option<usize>,
    limit: &Bandwidth,
    [made, allowed]: [u128; 2],
) -> Diagnostic {
    let name = &vm.name.value;
    let of = match index {
        Some(index) => format!("VCPU {index} of VM `{name}`"),
        None => format!("VM `{name}`"),
    };
    let message = format!(
        "the tasks of {of} make {made} memory accesses in a second, and its limit allows {allowed}"
    );
    let period = limit.period.value;
    let needed = (made * u128::from(period.0)).div_ceil(SECOND);
    let mistake = cannot_plan(message).at(&limit.amount.place, "this limit");
    match limit.amount.value {
        Amount::Planned => mistake,
        _ => mistake.help(format!("they need more than {needed} accesses in {period}")),
    }
}
