//! What descriptions say about tasks for analyses.

use std::path::Path;

use policy::color::ColorSet;
use system::description::{System, Task};
use system::diagnostic::Errors;
use system::plan;
use units::Duration;

/// A task in a VM with colours, with `lines` more.
fn read(task: &str, platform: &str) -> Result<System, Errors> {
    let text = format!(
        "platform = {platform}\n[[vm]]\nname = \"a\"\nboot = \"raw\"\nmemory = \"1MiB\"\n\
         kernel = \"k\"\ncolors = \"0-3\"\nextra_colors = \"8\"\nextra_memory = \"4KiB\"\n\
         [[vm.task]]\nname = \"t\"\nperiod = \"20ms\"\n{task}"
    );
    System::from_toml("s.toml", &text, Path::new(""))
}

fn task(lines: &str) -> Task {
    let system = read(lines, "\"qemu-virt\"").unwrap_or_else(|errors| panic!("{errors}"));
    system.vms[0].tasks[0].clone()
}

fn mistakes(lines: &str) -> String {
    let errors = read(lines, "\"qemu-virt\"").expect_err("a mistake").to_string();
    assert_eq!(errors.matches("error").count(), 1, "{errors}");
    errors
}

/// The ninth VM is too many where there is to be a plan.
#[test]
fn a_system_has_at_most_eight_vms() {
    let vm = |index: u64| {
        format!("[[vm]]\nname = \"v{index}\"\nboot = \"raw\"\nmemory = \"1MiB\"\nkernel = \"k\"\n")
    };
    let vms =
        |count| format!("platform = \"qemu-virt\"\n{}", (0..count).map(vm).collect::<String>());
    let read = |text: &str| System::from_toml("s.toml", text, Path::new(""));
    assert!(read(&vms(8)).is_ok());
    let errors = read(&vms(20)).unwrap_err();
    let entries = errors.entries();
    let [mistake] = &entries[..] else { panic!("{errors}") };
    assert_eq!((mistake.code, mistake.line), ("out-of-range", Some(2 + 8 * 5)));
    assert!(errors.to_string().contains("a system can have 8 VMs"), "{errors}");
}

#[test]
fn waiting_and_colors_are_read() {
    let plain = task("wcet = \"1ms\"\n");
    let none = Duration(0);
    assert_eq!((plain.jitter, plain.blocking, plain.self_suspension), (none, none, none));
    assert_eq!((plain.colors, plain.wcet_raised), (None, false));
    let all = task(
        "wcet = \"1ms\"\njitter = \"2ms\"\nblocking = \"30us\"\nself_suspension = \"4ms\"\n\
         colors = \"1-2,8\"\n",
    );
    let ms = |time: u64| Duration(time * 1_000_000);
    assert_eq!((all.jitter, all.self_suspension), (ms(2), ms(4)));
    assert_eq!(all.blocking, Duration(30_000));
    assert_eq!(all.colors.map(|colors| colors.value), "1-2,8".parse::<ColorSet>().ok());
    let system = read("wcet = \"1ms\"\n", "{ board = \"qemu-virt\", color_reload = \"207us\" }");
    let reload = system.unwrap_or_else(|errors| panic!("{errors}")).color_reload;
    assert_eq!(reload.map(|reload| reload.value), Some(Duration(207_000)));
}

#[test]
fn longer_times_with_more_colors_hold_for_fewer() {
    let task = task("wcet = { 1 = \"3ms\", 2 = \"1ms\", 4 = \"2ms\" }\n");
    assert!(task.wcet_raised);
    for (colors, time) in [(1, 3), (2, 2), (3, 2), (4, 2), (9, 2)] {
        assert_eq!(task.wcet.with_colors(colors), Duration(time * 1_000_000), "{colors}");
    }
}

/// Whether a deadline can be met is a question for analyses, and no mistake.
#[test]
fn deadlines_that_nobody_can_meet_are_read() {
    let ms = |time: u64| Duration(time * 1_000_000);
    let late = task("deadline = \"1ms\"\nwcet = \"30ms\"\njitter = \"2ms\"\nblocking = \"5s\"\n");
    assert_eq!((late.deadline, late.jitter, late.blocking), (ms(1), ms(2), ms(5_000)));
    assert_eq!(task("deadline = \"70ms\"\nwcet = \"1ms\"\n").deadline, ms(70));
    let errors = mistakes("deadline = \"0ms\"\nwcet = \"1ms\"\n");
    assert!(errors.contains("the deadline is zero"), "{errors}");
}

#[test]
fn colors_of_tasks_are_colors_of_their_vm() {
    let errors = mistakes("wcet = \"1ms\"\ncolors = \"3-4\"\n");
    assert!(errors.contains("`a` does not have the colours 4"), "{errors}");
    assert!(errors.contains("extra_colors"), "{errors}");
}

#[test]
fn machines_without_colors_have_none_to_reload() {
    let text = |platform: &str, colors: &str| {
        format!(
            "[platform]\nboard = \"{platform}\"\ncolor_reload = \"1ms\"\n[[vm]]\nname = \"a\"\n\
             boot = \"raw\"\nmemory = \"1MiB\"\nkernel = \"k\"\n[[vm.task]]\nname = \"t\"\n\
             period = \"20ms\"\nwcet = \"1ms\"\n{colors}"
        )
    };
    let read = |text: String| System::from_toml("s.toml", &text, Path::new(""));
    let errors = read(text("athlon-64-x2", "")).expect_err("no colours").to_string();
    assert!(errors.contains("s.toml:3:1"), "{errors}");
    // A VM with all of the cache can have tasks with a part of it.
    assert!(read(text("qemu-virt", "colors = \"0-15\"\n")).is_ok());
    let errors = read(text("qemu-virt", "colors = \"16\"\n")).expect_err("16 colours").to_string();
    assert!(errors.contains("colour"), "{errors}");
}

#[test]
fn vcpus_are_assigned_on_machines_without_plan() {
    let text = |platform: &str| {
        format!(
            "platform = \"{platform}\"\n[[vm]]\nname = \"a\"\nboot = \"raw\"\nmemory = \"1MiB\"\n\
             kernel = \"k\"\n[[vm.vcpu]]\n[[vm.vcpu]]\npcpu = 0\nserver = \"periodic\"\n\
             budget = \"1ms\"\nperiod = \"5ms\"\n"
        )
    };
    let system = |platform| System::from_toml("s.toml", &text(platform), Path::new("")).unwrap();
    let assigned = plan::assign(&system("i7-2600")).unwrap();
    let planned = plan::make(&system("qemu-virt")).unwrap();
    assert_eq!(assigned, [planned.vms[0].vcpus.clone()]);
}
