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
    assert_passed(&recorded.out, &[("greedy", 12), ("patient", 4), ("stranger", 7)]);
    recorded.replay();

    // 2 ms, 1 us and what two sections take besides, and the way from one VCPU to the other.
    let late = recorded.value("above", "periods: releases=", "late_max_ticks");
    let (hold, switch) = (2_101_000 / 16, 20_000 / 16);
    assert!((hold / 8..=hold + switch).contains(&late), "{late} ticks\n{}", recorded.out);

    let trace = recorded.trace();
    let ended = trace.merged().filter(|(_, entry)| matches!(entry.event, Event::EndGcs(_))).count();
    assert!(ended >= 2, "{ended}");
}
