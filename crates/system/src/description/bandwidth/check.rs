//! Checks that budgets of memory accesses fit the machine, and each other.

use units::{Bytes, Duration, Rate};

use super::{Amount, Bandwidth};
use crate::description::{Located, Task, Vm, servers};
use crate::diagnostic::{Diagnostic, Place};
use crate::plan::{BandwidthCounter, Compensation, MemoryBudget};
use crate::platform::{self, Platform};

/// Returns the mistakes in the budgets of VMs and VCPUs on a machine.
/// `all`: the description has no other VMs, which could not be read.
pub(in crate::description) fn check(
    platform: &Platform,
    vms: &[&Vm],
    all: bool,
) -> Vec<Diagnostic> {
    let mut mistakes = Vec::new();
    for vm in vms {
        mistakes.extend(both(vm));
        mistakes.extend(credits(vm, vms, all));
        mistakes.extend(vm.tasks.iter().filter_map(|task| accesses(platform, task)));
        let Some(counter) = &platform.bandwidth else {
            let budgets = vm.bandwidth.iter().chain(vm.vcpus.iter().flat_map(|it| &it.bandwidth));
            let places = budgets.map(|it| &it.amount.place).chain(&vm.critical);
            mistakes.extend(places.map(|place| no_counter(platform, place)));
            continue;
        };
        let credits = vm.compensation.as_ref().map(|credits| credits.value);
        let own = vm.vcpus.iter().filter_map(|vcpu| Some((vcpu.bandwidth.as_ref()?, None)));
        for (it, credits) in vm.bandwidth.iter().map(|it| (it, credits)).chain(own) {
            mistakes.extend(period(platform, &it.period));
            mistakes.extend(amount(platform, counter, it, credits));
        }
    }
    mistakes
}

fn no_counter(platform: &Platform, place: &Place) -> Diagnostic {
    let message = format!("`{}` has no counter of memory accesses", platform.name);
    Diagnostic::new("no-counter", message)
        .at(place, "needs one")
        .help("name the counter in `[platform.bandwidth]`, as in `counter = \"pmu\"`")
}

/// A budget of the VM, and one of a VCPU.
fn both(vm: &Vm) -> Option<Diagnostic> {
    let whole = vm.bandwidth.as_ref()?;
    let own = vm.vcpus.iter().find_map(|vcpu| vcpu.bandwidth.as_ref())?;
    let message = "a VM and one of its VCPUs have a budget of memory accesses";
    let mistake = Diagnostic::new("wrong-value", message)
        .at(&own.amount.place, "of the VCPU")
        .also(&whole.amount.place, "of all VCPUs of the VM together")
        .help("remove one of the two");
    Some(mistake)
}

/// Credits come from critical VMs, and go to others.
fn credits(vm: &Vm, vms: &[&Vm], all: bool) -> Option<Diagnostic> {
    let credits = vm.compensation.as_ref()?;
    if let Some(critical) = &vm.critical {
        let mistake = Diagnostic::new("wrong-value", "a critical VM gets credits")
            .at(&credits.place, "for accesses of critical VMs")
            .also(critical, "it is one")
            .help("remove one of the two");
        return Some(mistake);
    }
    if !all || vms.iter().any(|other| other.critical.is_some()) {
        return None;
    }
    let help = "say `critical = true` in the VM whose tasks have to be protected, or remove this";
    let mistake = Diagnostic::new("wrong-value", "no VM is critical");
    Some(mistake.at(&credits.place, "there are no accesses to get credits for").help(help))
}

/// Accesses of a task have a meaning only if the platform has the time of one access.
fn accesses(platform: &Platform, task: &Task) -> Option<Diagnostic> {
    let accesses = task.accesses.as_ref()?;
    if platform.bandwidth.as_ref().is_some_and(|it| it.latency.is_some()) {
        return None;
    }
    let message =
        format!("for `{}` it is not known how long an access delays another", platform.name);
    let help = "add `access_latency` to `[platform.bandwidth]`, as in `access_latency = \"64ns\"`: \
                measure it on the machine";
    let mistake = Diagnostic::new("missing-key", message);
    Some(mistake.at(&accesses.place, "so these accesses have no effect on bounds").help(help))
}

fn period(platform: &Platform, period: &Located<Duration>) -> Option<Diagnostic> {
    let (shortest, longest) = (MemoryBudget::SHORTEST_PERIOD, MemoryBudget::LONGEST_PERIOD);
    let help = if period.value < shortest {
        format!("enforcement would take a large part of it: a period is at least {shortest}")
    } else if period.value > longest {
        format!("a period is at most {longest}")
    } else {
        return servers::ticks(platform, period.value, &period.place);
    };
    let message = format!("the period is {}", period.value);
    Some(Diagnostic::new("out-of-range", message).at(&period.place, "here").help(help))
}

fn amount(
    platform: &Platform,
    counter: &platform::Bandwidth,
    it: &Bandwidth,
    credits: Option<Compensation>,
) -> Option<Diagnostic> {
    let wrong = |code, message: String, help: String| {
        Some(Diagnostic::new(code, message).at(&it.amount.place, "here").help(help))
    };
    let rate = match it.amount.value {
        Amount::Accesses(0) | Amount::Rate(Rate(0)) => {
            let help = "its VCPUs would never run: give a larger budget, or remove it".into();
            return wrong("out-of-range", "the budget is 0".into(), help);
        }
        Amount::Accesses(_) => None,
        Amount::Rate(rate) => Some(rate),
        Amount::Planned => return planned(platform, counter, &it.amount.place),
    };
    let Some(budget) = it.budget(counter) else {
        let message = format!("`{}` does not count accesses to memory", platform.name);
        let help = "write the budget as a number of counted events, as in `{ accesses = 100_000, period = \"1ms\" }`";
        return wrong("wrong-value", message, help.into());
    };
    let MemoryBudget { accesses, period } = budget;
    if let (0, Some(rate), Some(access)) = (accesses, rate, counter.access) {
        return too_slow(platform, &it.amount.place, rate, access, period);
    }
    // Budgets of cycles or instructions are no time of the memory.
    let latency = counter.latency.filter(|_| counter.access.is_some());
    if let Some(latency) = latency
        && u128::from(accesses) * u128::from(latency.0) > u128::from(period.0)
    {
        let most = period.0 / latency.0.max(1);
        let shown = counter
            .access
            .map_or(String::new(), |access| format!(", {}", Rate::of(most, access, period)));
        let message = format!("{accesses} accesses of {latency} each are more than {period}");
        let help = format!(
            "a period serves {most} (with `access_latency`){shown}: give it less, or remove it, \
             since it limits nothing"
        );
        return wrong("out-of-range", message, help);
    }
    let (most, largest) = (budget.most(credits), BandwidthCounter::largest_budget(counter.bits));
    if most > largest {
        let message = format!("a counter of {} bits cannot wait for {most}", counter.bits);
        let help = format!(
            "budget and credits of a period are at most {largest} accesses: give it less, or a \
             shorter period"
        );
        return wrong("out-of-range", message, help);
    }
    None
}

/// Returns the mistake that prevents the planning of a limit.
fn planned(
    platform: &Platform,
    counter: &platform::Bandwidth,
    place: &Place,
) -> Option<Diagnostic> {
    let (why, help) = if counter.access.is_none() {
        (format!("`{}` does not count accesses to memory", platform.name), "give a limit")
    } else if counter.latency.is_none() {
        let why =
            format!("for `{}` it is not known how long an access delays another", platform.name);
        (why, "add `access_latency` to `[platform.bandwidth]`, or give a limit")
    } else {
        return None;
    };
    Some(Diagnostic::new("missing-key", why).at(place, "cannot be planned").help(help))
}

/// A rate that is no access in a period.
fn too_slow(
    platform: &Platform,
    place: &Place,
    rate: Rate,
    access: Bytes,
    period: Duration,
) -> Option<Diagnostic> {
    let message = format!("{rate} are not one access of {access} in {period}");
    let tick = platform.counter.map_or(1, |counter| counter.common_period().0);
    let shortest = rate.shortest_period(access).0.div_ceil(tick).saturating_mul(tick);
    let longer = match Duration(shortest) {
        shortest if shortest > MemoryBudget::LONGEST_PERIOD => String::new(),
        shortest => format!(", or a period of at least {shortest}"),
    };
    let help = format!("give it at least {}{longer}", Rate::least(access, period));
    Some(Diagnostic::new("out-of-range", message).at(place, "here").help(help))
}
