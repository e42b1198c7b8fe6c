//! Linux's `SCHED_DEADLINE`: a script that gives the threads of QEMU's VCPUs their CPUs, budgets and periods, on a host
//! with KVM and without `bulkhead`.

use std::collections::BTreeMap;

use system::plan::{Budget, Class, Plan, Vcpu, Vm};
use system::platform::Platform;
use units::Duration;

use crate::text::{Comment, names, word};
use crate::{Draft, Part};

/// The shortest runtime, in nanoseconds (`DL_SCALE` of `kernel/sched/deadline.c`): no setting changes it.
const RUNTIME_MIN: Duration = Duration(1 << 10);
/// The periods that Linux takes unless `sched_deadline_period_min_us` or `sched_deadline_period_max_us` is set.
const PERIODS: [Duration; 2] = [Duration(100_000), Duration((1 << 22) * 1_000)];
/// The share of a CPU, of [`WHOLE`], that Linux gives unless `sched_rt_runtime_us` is set.
const GIVEN: u64 = 950_000;
/// All of a CPU, in the shares of the script.
const WHOLE: u64 = 1_000_000;

/// The part of the script behind the values of the plan.
const SCRIPT: &str = include_str!("sched_deadline/deadline.sh");

pub fn part(plan: &Plan, platform: Option<&Platform>) -> Part {
    let mut part = Part::default();
    lost(plan, &mut part.missing);
    let shares = shares(plan);
    for (pcpu, share) in &shares {
        limited(*pcpu, *share, &mut part);
    }
    let mut periods: Vec<Duration> = Vec::new();
    for (vm, index, _, Budget { budget, period }) in reserved(plan) {
        if budget < RUNTIME_MIN {
            part.impossible.push(format!(
                "the budget of VCPU {index} of `{}` is {budget}, and the shortest one of Linux is {RUNTIME_MIN}",
                vm.name
            ));
        }
        periods.push(period);
    }
    periods.sort_unstable();
    let [shortest, longest] = PERIODS;
    if let Some(period) = periods.first().filter(|period| **period < shortest) {
        part.left.push(format!(
            "set the shortest period, because one is {period} and Linux takes none below {shortest}: \
             `sysctl -w kernel.sched_deadline_period_min_us={}`",
            period.0 / 1_000
        ));
    }
    if let Some(period) = periods.last().filter(|period| **period > longest) {
        part.left.push(format!(
            "set the longest period, because one is {period} and Linux takes none above {longest}: \
             `sysctl -w kernel.sched_deadline_period_max_us={}`",
            period.0.div_ceil(1_000)
        ));
    }
    let cpus: Vec<(u32, u64)> = shares.keys().map(|pcpu| (*pcpu, cpu(*pcpu, platform))).collect();
    part.left.extend(steps(plan, &cpus));
    let body = values(plan, &shares, &cpus) + SCRIPT;
    part.files.push(Draft::new("deadline.sh", Comment::Hash { first: "#!/bin/sh" }, body));
    part
}

/// Returns the number that Linux has for a PCPU: that of the platform file if this is a host with KVM, else that of the
/// plan.
fn cpu(pcpu: u32, platform: Option<&Platform>) -> u64 {
    let host = platform.filter(|platform| platform.kvm);
    let cpu = host.and_then(|platform| platform.cpus.get(pcpu as usize));
    cpu.map_or(u64::from(pcpu), |cpu| cpu.mpidr.0)
}

/// The VCPUs, with the index of each in its VM.
fn vcpus(plan: &Plan) -> impl Iterator<Item = (&Vm, usize, &Vcpu)> {
    plan.vms.iter().flat_map(|vm| vm.vcpus.iter().enumerate().map(move |(i, vcpu)| (vm, i, vcpu)))
}

/// The VCPUs with a budget.
fn reserved(plan: &Plan) -> impl Iterator<Item = (&Vm, usize, &Vcpu, Budget)> {
    vcpus(plan)
        .filter_map(|(vm, index, vcpu)| Some((vm, index, vcpu, vcpu.server?.class.budget()?)))
}

/// Returns the share that the budgets have of each PCPU that has VCPUs, of [`WHOLE`], each rounded up.
fn shares(plan: &Plan) -> BTreeMap<u32, u64> {
    let mut shares: BTreeMap<u32, u64> = vcpus(plan).map(|(.., vcpu)| (vcpu.pcpu.0, 0)).collect();
    for (.., vcpu, Budget { budget, period }) in reserved(plan) {
        let share =
            (u128::from(budget.0) * u128::from(WHOLE)).div_ceil(u128::from(period.0.max(1)));
        let sum = shares.entry(vcpu.pcpu.0).or_default();
        *sum = sum.saturating_add(u64::try_from(share).unwrap_or(u64::MAX));
    }
    shares
}

/// Says what to set, or refuses, if Linux does not give a PCPU's share.
fn limited(pcpu: u32, share: u64, part: &mut Part) {
    let percent = share.div_ceil(WHOLE / 10_000);
    let percent = format!("{}.{:02} %", percent / 100, percent % 100);
    if share > WHOLE {
        part.impossible.push(format!(
            "the budgets of PCPU {pcpu} are {percent} of it, and SCHED_DEADLINE refuses more than a CPU"
        ));
    } else if share > GIVEN {
        part.left.push(format!(
            "let Linux give more than 95 % of a CPU, because the budgets of PCPU {pcpu} are {percent}: \
             `sysctl -w kernel.sched_rt_runtime_us={share}` with a period of 1 s; -1 would switch the test of \
             budgets off"
        ));
    }
}

/// Adds properties that this target alone loses.
fn lost(plan: &Plan, missing: &mut Vec<String>) {
    if reserved(plan).next().is_some() {
        missing.push(
            "exact ends of budgets: Linux sees an end at its next tick (4 ms apart with CONFIG_HZ=250) and takes the \
             excess from the next budget, unless its feature HRTICK_DL is on"
                .into(),
        );
    }
    let mut lost = |what: &str, vms: Option<String>| {
        missing.extend(vms.map(|vms| format!("{what} ({vms})")));
    };
    let vms = &plan.vms;
    let any = |vm: &Vm, is: fn(&Vcpu) -> bool| vm.vcpus.iter().any(is);
    lost(
        "the order of VCPUs in the background: they share what is left, as threads of SCHED_OTHER",
        names(vms, |vm| {
            any(vm, |vcpu| vcpu.server.is_some_and(|server| server.class == Class::Background))
        }),
    );
    lost(
        "time beyond the budget in global critical sections",
        names(vms, |vm| {
            any(vm, |vcpu| vcpu.server.is_some_and(|server| server.overrun > Duration(0)))
        }),
    );
    lost("cache colours", names(vms, |vm| vm.colors().is_some()));
    if plan.platform.hypervisor_area.is_some() {
        missing.push("colours of the hypervisor".into());
    }
    missing.push(
        "a stop or an abort at accesses where a VM has nothing: QEMU reads zeros there and drops stores".into(),
    );
}

/// Returns the steps that a user has to take.
fn steps(plan: &Plan, cpus: &[(u32, u64)]) -> Vec<String> {
    let starts = plan.vms.iter().map(|vm| {
        let (name, vcpus, mib) =
            (&vm.name, vm.vcpus.len(), vm.memory_size().get().div_ceil(1 << 20));
        format!("`-name {name},debug-threads=on -accel kvm -smp {vcpus} -m {mib}M`")
    });
    let starts: Vec<String> = starts.collect();
    let cpus: Vec<String> =
        cpus.iter().map(|(pcpu, cpu)| format!("PCPU {pcpu} is CPU {cpu}")).collect();
    let mut steps = vec![
        format!("start each VM in QEMU, and not by libvirt, which moves threads itself: {}", starts.join(", ")),
        "start this script as root after that, and again after a restart of a VM; `--check` changes nothing, and \
         `--undo` takes back"
            .into(),
        format!(
            "compare CPUs: {}; `CPUS='2 3' sh deadline.sh` names others, and one has to be left for Linux",
            cpus.join(", ")
        ),
    ];
    let devices = names(&plan.vms, |vm| !vm.devices.is_empty());
    steps.extend(devices.map(|vms| format!("give QEMU the devices ({vms})")));
    steps
}

/// The values of the plan, as variables of the script.
fn values(plan: &Plan, shares: &BTreeMap<u32, u64>, cpus: &[(u32, u64)]) -> String {
    let list = |numbers: Vec<String>| word(&numbers.join(" "));
    let mut lines = Vec::new();
    for (vm, index, vcpu) in vcpus(plan) {
        let budget = vcpu.server.and_then(|server| server.class.budget());
        let [budget, period] = budget.map_or([0, 0], |it| [it.budget.0, it.period.0]);
        lines.push(format!("{} {index} {} {budget} {period}", vm.name, vcpu.pcpu));
    }
    // The name becomes a part of those of folders.
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    format!(
        "system={}\n\
         # PCPUs, their CPUs, and the shares of these that budgets have, in millionths.\n\
         pcpus={}\ndefault_cpus={}\nshares={}\n\
         # VM, VCPU, PCPU, budget and period in nanoseconds; 0 0 is no budget.\n\
         vcpus={}\n\n",
        word(&plan.name.chars().map(plain).collect::<String>()),
        list(cpus.iter().map(|(pcpu, _)| pcpu.to_string()).collect()),
        list(cpus.iter().map(|(_, cpu)| cpu.to_string()).collect()),
        list(shares.values().map(u64::to_string).collect()),
        word(&lines.join("\n")),
    )
}
