//! Changes of a description that may help.

use std::fmt;

use analysis::Duration;
use policy::color::ColorSet;
use system::description::{Located, System, Wcet};
use system::plan::{Budget, COUNT_MAX};

use super::problem::free_colors;

/// A change. VMs, VCPUs and tasks are those of the description, by their indices.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Change {
    /// This number of colours is available, some of which are taken from a VM.
    Colors {
        /// Number of colours of the VM, or of all VMs whose colours are planned.
        colors: usize,
        /// Colours that a VM has less: its name, and their number.
        fewer: Option<(String, usize)>,
    },
    /// A VCPU has this budget.
    Budget {
        /// The VCPU in words, if it is not clear which.
        of: Option<String>,
        /// The new budget.
        budget: Duration,
    },
    /// A VCPU has this period.
    Period {
        /// The VCPU in words, if it is not clear which.
        of: Option<String>,
        /// The new period.
        period: Duration,
    },
    /// A task has this deadline.
    Deadline(Duration),
    /// Each job of a task takes this much less time.
    Less(Duration),
    /// Each job of a named task takes this much less time.
    LessOf {
        /// The task in words.
        task: String,
        /// The time.
        less: Duration,
    },
    /// A named task has this deadline.
    DeadlineOf {
        /// The task in words.
        task: String,
        /// The new deadline.
        deadline: Duration,
    },
    /// A named task has this period.
    PeriodOf {
        /// The task in words.
        task: String,
        /// The new period.
        period: Duration,
    },
    /// Critical sections of a resource become shorter by a percentage.
    Sections {
        /// Name of the resource.
        resource: String,
        /// The percentage.
        percent: u64,
    },
    /// The number of memory accesses of tasks falls by a percentage.
    Accesses {
        /// The percentage.
        percent: u64,
    },
    /// The hypervisor may take this time in a global critical section.
    SectionOverhead(Duration),
    /// A chain has this limit.
    Chain {
        /// Name of the chain.
        chain: String,
        /// The key of the limit in a description.
        key: &'static str,
        /// The new limit.
        limit: Duration,
    },
    /// Execution times of tasks become shorter by this percentage.
    PercentLess(u64),
    /// The VM of this name has this number of VCPUs.
    Vcpus {
        /// Name of the VM.
        vm: String,
        /// Number of VCPUs.
        count: usize,
    },
}

/// `with a budget of 3.4 ms`.
impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Colors { colors, fewer } => {
                write!(f, "with {colors} colour{}", if *colors == 1 { "" } else { "s" })?;
                match fewer {
                    Some((vm, count)) => write!(f, " ({count} fewer for `{vm}`)"),
                    None => Ok(()),
                }
            }
            Self::Budget { of, budget } => {
                write!(f, "with a budget of {}{}", exact(*budget), named(of))
            }
            Self::Period { of, period } => {
                write!(f, "with a period of {}{}", exact(*period), named(of))
            }
            Self::Deadline(deadline) => write!(f, "with a deadline of {}", exact(*deadline)),
            Self::Less(time) => write!(f, "if it takes {} less", exact(*time)),
            Self::LessOf { task, less } => write!(f, "if {task} takes {} less", exact(*less)),
            Self::DeadlineOf { task, deadline } => {
                write!(f, "with a deadline of {} for {task}", exact(*deadline))
            }
            Self::PeriodOf { task, period } => {
                write!(f, "with a period of {} for {task}", exact(*period))
            }
            Self::Sections { resource, percent } => {
                write!(f, "if sections of `{resource}` take {percent} % less")
            }
            Self::Accesses { percent } => {
                write!(f, "if the tasks make {percent} % fewer accesses")
            }
            Self::SectionOverhead(time) => {
                write!(f, "with a `section_overhead` of {}", exact(*time))
            }
            Self::Chain { chain, key, limit } => {
                write!(f, "with a `{key}` of {} for chain `{chain}`", exact(*limit))
            }
            Self::PercentLess(percent) => write!(f, "if the tasks take {percent} % less"),
            Self::Vcpus { vm, count } => write!(f, "with {count} VCPUs in `{vm}`"),
        }
    }
}

fn named(of: &Option<String>) -> String {
    of.as_ref().map_or(String::new(), |of| format!(" for {of}"))
}

/// Returns the colours of a VM, or those that are free if they are planned, and more of them: the
/// free ones first, then those of a VM that has them for nothing but its memory.
pub(super) fn more_colors(system: &System, vm: usize, more: usize) -> Option<(System, Change)> {
    let mut changed = system.clone();
    let free = free_colors(system);
    let own = system.vms[vm].colors.as_ref().map(|colors| colors.value);
    let unused = if own.is_some() { free.len() as usize } else { 0 };
    let wanted = more.saturating_sub(unused);
    let mut added: ColorSet = free.iter().take(if own.is_some() { more } else { 0 }).collect();
    let fewer = match wanted {
        0 => None,
        _ => {
            let donor = donor(system, vm).filter(|(_, colors)| colors.len() as usize > wanted);
            let (donor, colors) = donor?;
            let given: Vec<_> = colors.iter().collect();
            let given: ColorSet = given[given.len() - wanted..].iter().copied().collect();
            let donor = &mut changed.vms[donor];
            let place = donor.colors.as_ref()?.place.clone();
            donor.colors = Some(Located::new(colors - given, &place));
            added = added | given;
            Some((donor.name.value.clone(), wanted))
        }
    };
    let colors = match own {
        Some(own) => {
            let place = system.vms[vm].colors.as_ref()?.place.clone();
            changed.vms[vm].colors = Some(Located::new(own | added, &place));
            own.len() as usize + more
        }
        None => free.len() as usize + more,
    };
    Some((changed, Change::Colors { colors, fewer }))
}

/// Returns the VM that can give away the most of its given colours; nothing says that it needs
/// these for another purpose.
fn donor(system: &System, but: usize) -> Option<(usize, ColorSet)> {
    let vms =
        system.vms.iter().enumerate().filter(|(index, vm)| {
            *index != but && vm.tasks.is_empty() && !vm.vllc && !vm.share_colors
        });
    let sets = vms.filter_map(|(index, vm)| Some((index, vm.colors.as_ref()?.value)));
    sets.max_by_key(|(index, set)| (set.len(), std::cmp::Reverse(*index)))
}

/// Returns the system with another budget for a VCPU.
pub(super) fn budget(system: &System, vm: usize, vcpu: usize, budget: Duration) -> Option<System> {
    let given = system.vms[vm].vcpus[vcpu].server.as_ref()?.class.value.budget()?;
    server(system, vm, vcpu, Budget { budget, ..given })
}

/// Returns the system with another period for a VCPU; an open budget stays open.
pub(super) fn period(system: &System, vm: usize, vcpu: usize, period: Duration) -> Option<System> {
    let described = system.vms[vm].vcpus[vcpu].server.as_ref()?;
    let given = described.class.value.budget()?;
    let budget = if described.open { period } else { given.budget };
    (budget <= period).then(|| server(system, vm, vcpu, Budget { budget, period }))?
}

fn server(system: &System, vm: usize, vcpu: usize, budget: Budget) -> Option<System> {
    let mut changed = system.clone();
    let server = changed.vms[vm].vcpus[vcpu].server.as_mut()?;
    server.class.value = server.class.value.with_budget(budget);
    Some(changed)
}

/// Returns the system with another deadline for a task.
pub(super) fn deadline(system: &System, vm: usize, task: usize, deadline: Duration) -> System {
    let mut changed = system.clone();
    changed.vms[vm].tasks[task].deadline = deadline;
    changed
}

/// Returns the system with another period for a task, and a deadline that is not later than that.
pub(super) fn task_period(system: &System, vm: usize, task: usize, period: Duration) -> System {
    let mut changed = system.clone();
    let task = &mut changed.vms[vm].tasks[task];
    (task.period, task.deadline) = (period, task.deadline.min(period));
    changed
}

/// Returns the system with shorter execution times of a task, whatever its colours.
pub(super) fn less(system: &System, vm: usize, task: usize, less: Duration) -> System {
    let mut changed = system.clone();
    let shorter = |time: Duration| Duration(time.0.saturating_sub(less.0).max(1));
    map_wcet(&mut changed.vms[vm].tasks[task].wcet, shorter);
    changed
}

/// Returns the system with execution times of the tasks of some VMs that are shorter by this
/// percentage.
pub(super) fn percent_less(system: &System, vms: &[usize], percent: u64) -> System {
    let mut changed = system.clone();
    let rest = u128::from(100_u64.saturating_sub(percent));
    let shorter =
        |time: Duration| Duration((u128::from(time.0) * rest).div_ceil(100).max(1) as u64);
    for &vm in vms {
        for task in &mut changed.vms[vm].tasks {
            map_wcet(&mut task.wcet, shorter);
        }
    }
    changed
}

/// Returns the system with shorter sections of a resource. The execution times stay.
pub(super) fn sections(system: &System, resource: usize, percent: u64) -> System {
    let mut changed = system.clone();
    let rest = u128::from(100_u64.saturating_sub(percent));
    let tasks = changed.vms.iter_mut().flat_map(|vm| &mut vm.tasks);
    for section in tasks.flat_map(|task| &mut task.sections) {
        if section.resource == resource {
            let shorter = (u128::from(section.length.0) * rest).div_ceil(100).max(1);
            section.length = Duration(shorter as u64);
        }
    }
    changed
}

/// Returns the system with fewer memory accesses of all tasks.
pub(super) fn accesses(system: &System, percent: u64) -> System {
    let mut changed = system.clone();
    let rest = u128::from(100_u64.saturating_sub(percent));
    for task in changed.vms.iter_mut().flat_map(|vm| &mut vm.tasks) {
        if let Some(accesses) = &mut task.accesses {
            let fewer = (u128::from(accesses.value) * rest).div_ceil(100);
            // Sections wait for the accesses that they were described with, which are more.
            accesses.value = u64::try_from(fewer).unwrap_or(u64::MAX);
        }
    }
    changed
}

fn map_wcet(wcet: &mut Wcet, map: impl Fn(Duration) -> Duration) {
    match wcet {
        Wcet::Fixed(time) => *time = map(*time),
        Wcet::ByColors(times) => times.values_mut().for_each(|time| *time = map(*time)),
    }
}

/// Returns the system with this number of VCPUs in a VM: the new ones are of the same kind as the
/// last VCPU whose budget is open.
pub(super) fn vcpus(system: &System, vm: usize, count: usize) -> Option<System> {
    let open = |vcpu: &&_| {
        let vcpu: &system::description::Vcpu = vcpu;
        vcpu.server.as_ref().is_some_and(|server| server.open && server.priority.is_none())
            && vcpu.pcpu.is_none()
    };
    let model = system.vms[vm].vcpus.iter().rev().find(open)?.clone();
    let mut changed = system.clone();
    (count <= COUNT_MAX).then(|| changed.vms[vm].vcpus.resize(count, model))?;
    Some(changed)
}

/// Shows the exact time in the largest possible unit, with decimals: `3.4 ms`.
pub(super) fn exact(time: Duration) -> String {
    let (unit, name) = match time.0 {
        0..1_000 => return format!("{} ns", time.0),
        1_000..1_000_000 => (1_000, "us"),
        1_000_000..10_000_000_000 => (1_000_000, "ms"),
        _ => (1_000_000_000, "s"),
    };
    let width = unit.to_string().len() - 1;
    let digits = format!("{}.{:0width$}", time.0 / unit, time.0 % unit);
    format!("{} {name}", digits.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact() {
        for (nanoseconds, shown) in [
            (999, "999 ns"),
            (1_500, "1.5 us"),
            (3_400_000, "3.4 ms"),
            (1_000_001, "1.000001 ms"),
            (12_000_000_000, "12 s"),
        ] {
            assert_eq!(exact(Duration(nanoseconds)), shown);
        }
    }
}
