//! What is said of described systems, where that is more than the analysis of tasks and VCPUs.

use std::path::Path;

use analysis::{LONGEST, Reason};
use system::description::System;
use system::plan;
use verdict::{TaskVerdict, VcpuVerdict, Verdict};

/// The VCPUs of the first PCPU.
fn vcpus(text: &str) -> (bool, Vec<VcpuVerdict>) {
    let text = format!("platform = {{ board = \"zcu102\", color_reload = \"1us\" }}\n{text}");
    let system = System::from_toml("test.toml", &text, Path::new("")).expect("a description");
    let vcpus = plan::assign(&system).expect("a place for each VCPU");
    let mut verdict = Verdict::of_description(&system, &vcpus);
    (verdict.schedulable, verdict.pcpus.remove(0).vcpus)
}

fn vm(name: &str, colors: &str, vcpus: &str, tasks: &str) -> String {
    format!(
        "[[vm]]\nname = \"{name}\"\nmemory = \"16MiB\"\nkernel = \"a\"\nboot = \"raw\"\n{colors}\n\
         {vcpus}\n{tasks}\n"
    )
}

const VCPU: &str =
    "[[vm.vcpu]]\npcpu = 0\nserver = \"periodic\"\nbudget = \"1ms\"\nperiod = \"4ms\"";

fn task(name: &str, vcpu: usize, rest: &str) -> String {
    format!("[[vm.task]]\nname = \"{name}\"\nvcpu = {vcpu}\n{rest}\n")
}

#[test]
fn others_of_the_pcpu_may_evict_too() {
    let short = "period = \"100ms\"\nwcet = \"1ms\"";
    let two = [VCPU, VCPU].join("\n");
    let shares = |text: String| -> Vec<bool> {
        vcpus(&text).1.iter().map(|vcpu| vcpu.shares_colors).collect()
    };
    // Two VCPUs of a VM, whose tasks have all its colours; or colours of their own.
    let tasks = task("a", 0, short) + &task("b", 1, short);
    assert_eq!(shares(vm("one", "colors = \"0-3\"", &two, &tasks)), [true, true]);
    let own = |colors| format!("{short}\ncolors = \"{colors}\"");
    let tasks = task("a", 0, &own("0-1")) + &task("b", 1, &own("2-3"));
    assert_eq!(shares(vm("one", "colors = \"0-3\"", &two, &tasks)), [false, false]);
    // A VM about whose tasks nothing is known, with colours of its own, and with all of them.
    let rt = vm("rt", "colors = \"0-3\"", VCPU, &task("a", 0, short));
    assert_eq!(shares(rt.clone() + &vm("other", "colors = \"4-7\"", VCPU, "")), [false, false]);
    assert_eq!(shares(rt + &vm("other", "", VCPU, "")), [true, false]);
}

#[test]
fn turns_of_others_take_accesses_of_a_limited_vcpu() {
    let task = task("a", 0, "period = \"100ms\"\nwcet = \"1ms\"");
    let limits = |text: String| -> Vec<bool> {
        vcpus(&text).1.iter().map(|vcpu| vcpu.limited_beside_others).collect()
    };
    let limited = format!("{VCPU}\nbandwidth = {{ accesses = 10, period = \"1ms\" }}");
    let other = vm("other", "", VCPU, "");
    assert_eq!(limits(vm("rt", "", &limited, &task)), [false]);
    assert_eq!(limits(vm("rt", "", &limited, &task) + &other), [true, false]);
    assert_eq!(limits(vm("rt", "", VCPU, &task) + &other), [false, false]);
}

#[test]
fn times_that_cannot_be_counted_have_no_bound() {
    // 2^60 ns are 36 years and a half, 2^64 ns more than 584.
    let hours = |hours: u64| format!("\"{}s\"", hours * 3_600);
    let (long, longer) = (hours(400_000), hours(4_000_000));
    let bound = |rest: String| -> TaskVerdict {
        let vcpu = "[[vm.vcpu]]\npcpu = 0";
        let (schedulable, mut vcpus) = vcpus(&vm("one", "", vcpu, &task("a", 0, &rest)));
        let task = vcpus.remove(0).tasks.remove(0);
        assert_eq!(schedulable, task.ok);
        task
    };
    let found = bound(format!("period = {longer}\nwcet = \"1s\""));
    assert!(found.ok && found.deadline_ns == LONGEST.0);
    for key in ["jitter", "blocking", "self_suspension"] {
        let found = bound(format!("period = {longer}\nwcet = \"1s\"\n{key} = {long}"));
        assert_eq!((found.ok, found.wcrt_ns), (false, None), "{key}");
    }
    let found = bound(format!("period = {longer}\nwcet = {long}"));
    assert_eq!((found.ok, found.wcrt_ns), (false, None));
}

#[test]
fn execution_times_with_fewer_colors_than_described_are_not_known() {
    let vcpu = "[[vm.vcpu]]\npcpu = 0";
    let tasks = task("a", 0, "period = \"10ms\"\nwcet = { 4 = \"1ms\", 6 = \"0.5ms\" }")
        + &task("b", 0, "period = \"100ms\"\nwcet = \"1ms\"");
    let failures = |colors| -> Vec<Option<Reason>> {
        let found = vcpus(&vm("one", &format!("colors = \"{colors}\""), vcpu, &tasks)).1;
        found[0].tasks.iter().map(|task| task.failure).collect()
    };
    assert_eq!(failures("0-3"), [None, None]);
    // Those below have no bound either, as if it never ended.
    assert_eq!(failures("0-2"), [Some(Reason::UnknownWcet), Some(Reason::Overload)]);
}
