//! Resources that VMs share, on the real hypervisor: a guest that makes every mistake, and dies with the
//! resource; another one that waits for it; guests that take more time than was planned.

mod real;

use real::{Recorded, project, succeeds};
use trace::Event;

/// A task with a critical section, as the plan has it.
fn section(length: &str) -> String {
    format!(
        "[[vm.task]]\nname = \"task\"\nvcpu = 0\nperiod = \"60s\"\nwcet = \"30s\"\n\
         sections = [{{ resource = \"bus\", length = {length:?} }}]\n"
    )
}

/// A task that is in sections all the time, so that the plan lets its VCPU enter them as often as it likes.
fn often() -> String {
    let sections = "{ resource = \"bus\", length = \"1us\" }, ".repeat(64);
    format!(
        "[[vm.task]]\nname = \"often\"\nvcpu = 0\nperiod = \"64us\"\nwcet = \"64us\"\n\
         sections = [{sections}]\n"
    )
}

#[test]
fn a_guest_hurts_only_itself_and_the_dead_leave_what_they_held() {
    let kernel = project().join("build/guests/rt-locks.bin");
    let vm = |name: &str, role: &str| {
        format!(
            "[[vm]]\nname = {name:?}\nboot = \"raw\"\nmemory = \"4MiB\"\nkernel = {kernel:?}\n\
             bootargs = \"locks.role={role}\"\n{}{}",
            section("5s"),
            often()
        )
    };
    let system = format!(
        "platform = \"qemu-virt\"\n\
         [[resource]]\nname = \"bus\"\nvms = [\"a\", \"b\", \"c\"]\n\
         [[resource]]\nname = \"own\"\nvms = [\"a\"]\n{}{}{}",
        vm("a", "holder"),
        vm("b", "waiter"),
        vm("c", "leaver")
    );
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("system.toml");
    std::fs::write(&path, system).expect("the folder is writable");
    let path = path.to_str().expect("a path in UTF-8");
    let out = succeeds(&["run", path, "--deterministic", "--until-off", "--timeout", "600s"]);
    assert_passed(&out, &[("a", 221), ("b", 9), ("c", 2)]);
}

/// What guests say: names of VMs, how many of their checks pass.
#[track_caller]
fn assert_passed(out: &str, vms: &[(&str, u32)]) {
    for (vm, count) in vms {
        let said = format!("locks: {count} passed, 0 failed");
        let mut lines = out.lines().filter_map(|line| line.strip_prefix('[')?.split_once("] "));
        let found = lines.any(|(label, text)| label.trim_end() == *vm && text.trim_end() == said);
        assert!(found, "{vm}: {out}");
    }
}

/// Stands behind P13 of the safety manual.
#[test]
fn sections_that_never_end_delay_nobody_for_longer_than_planned() {
    let guest = |name: &str| format!("{:?}", project().join(format!("build/guests/{name}.bin")));
    let (locks, periods) = (guest("rt-locks"), guest("rt-periods"));
    let vm = |name: &str, kernel: &str, arguments: &str, vcpu: &str| {
        format!(
            "[[vm]]\nname = {name:?}\nboot = \"raw\"\nmemory = \"4MiB\"\nkernel = {kernel}\n\
             bootargs = {arguments:?}\n[[vm.vcpu]]\n{vcpu}\n"
        )
    };
    let server = |priority: u32| {
        format!(
            "pcpu = 0\nserver = \"deferrable\"\nbudget = \"40ms\"\nperiod = \"100ms\"\n\
             priority = {priority}"
        )
    };
    let system = [
        "platform = \"qemu-virt\"\n[[resource]]\nname = \"bus\"\n\
         vms = [\"greedy\", \"patient\", \"stranger\"]\n"
            .to_owned(),
        vm("above", &periods, "periods.releases=200 periods.us=1300", &server(2)),
        vm("greedy", &locks, "locks.role=greedy", &server(1)) + &section("2ms") + &often(),
        vm("patient", &locks, "locks.role=patient", "pcpu = 1") + &section("2ms") + &often(),
        vm("stranger", &locks, "locks.role=stranger", "pcpu = 2"),
    ];
    let recorded = Recorded::new(&system.concat());
    assert_passed(&recorded.out, &[("greedy", 14), ("patient", 8), ("stranger", 7)]);
    recorded.replay();

    // 2 ms, 1 us and what two sections take besides, and the way from one VCPU to the other.
    let late = recorded.value("above", "periods: releases=", "late_max_ticks");
    let (hold, switch) = (2_201_000 / 16, 20_000 / 16);
    assert!((hold / 8..=hold + switch).contains(&late), "{late} ticks\n{}", recorded.out);

    let trace = recorded.trace();
    let ended = trace.merged().filter(|(_, entry)| matches!(entry.event, Event::EndGcs(_))).count();
    assert!(ended >= 2, "{ended}");
}

/// Two VCPUs of one VM that take a resource in turns, as fast as they are let, and one of another VM that
/// comes after both. Whatever they do, it is in time.
#[test]
fn who_takes_turns_all_the_time_keeps_nobody_waiting_for_longer_than_analysed() {
    let guest = |name: &str| format!("{:?}", project().join(format!("build/guests/{name}.bin")));
    let vm = |name: &str, kernel: &str, arguments: &str| {
        format!(
            "[[vm]]\nname = {name:?}\nboot = \"raw\"\nmemory = \"4MiB\"\nkernel = {}\n\
             bootargs = {arguments:?}\n",
            guest(kernel)
        )
    };
    // The CPUs of the emulator take turns, so that a task takes three times as long as it executes.
    let task = |vcpu: u32, wcet: &str, after: &str, length: &str| {
        format!(
            "[[vm.task]]\nname = \"task-{vcpu}\"\nvcpu = {vcpu}\nperiod = \"20ms\"\nwcet = {wcet:?}\n\
             sections = [{{ resource = \"bus\", after = {after:?}, length = {length:?} }}]\n"
        )
    };
    let system = [
        "platform = \"qemu-virt\"\n[[resource]]\nname = \"bus\"\nvms = [\"hostile\", \"victim\"]\n"
            .to_owned(),
        vm("hostile", "rt-locks", "locks.role=turns locks.ms=150 locks.us=120") + "vcpus = 2\n",
        task(0, "1ms", "0us", "100us"),
        task(1, "1ms", "0us", "100us"),
        vm(
            "victim",
            "rt-tasks",
            "tasks.start_ms=20 tasks.ms=100 task0=victim/0/20000/0/200+bus:100+200",
        ),
        task(0, "2ms", "800us", "400us"),
    ];
    let system = system.concat();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("system.toml");
    std::fs::write(&path, &system).expect("the folder is writable");
    let checked = succeeds(&["--json", "check", path.to_str().expect("a path in UTF-8")]);
    let checked: serde_json::Value = serde_json::from_str(&checked).expect("JSON");
    let bound = checked.pointer("/analysis/pcpus/2/vcpus/0/tasks/0/wcrt_ns");
    let bound = bound.and_then(|it| it.as_i64()).unwrap_or_else(|| panic!("{checked}"));
    assert!(bound < 5_000_000, "{checked}");

    let recorded = Recorded::new(&system);
    recorded.replay();
    let hostile = |key| recorded.value("hostile", "locks: ", key);
    let (entries, refusals) = (hostile("entries"), hostile("refusals"));
    // Each of the two: one in each period, and one more.
    assert!((10..=20).contains(&entries) && refusals > 100, "{}", recorded.out);
    let victim = |key| recorded.value("victim", "tasks: task victim ", key);
    assert!(victim("jobs") == 5 && victim("misses") == 0, "{}", recorded.out);
    let response = victim("response_max_ns");
    assert!(response <= bound, "{response} ns, analysed {bound}\n{}", recorded.out);
    let trace = recorded.trace();
    let refused = trace.merged().filter(|it| matches!(it.1.event, Event::TooOften { .. })).count();
    assert!((5..=entries as usize).contains(&refused), "{refused}\n{}", recorded.out);
}
