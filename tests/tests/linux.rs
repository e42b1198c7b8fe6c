//! Debian's unmodified Linux, alone and beside a real-time guest.

use std::time::Duration;

use qemu::Time;
use tests::{Case, Run, Vm};

#[test]
fn both_cpus_run_and_one_can_be_unplugged() {
    let run = Case::new("linux-smp").vm(Vm::linux("smp")).run().ended();
    run.expect("linux", "shell reached");
    run.expect("linux", "2 CPUs");
    run.expect("linux", "linux: smp ok");
    run.summary("linux", "off", "power-off", 0);
}

/// With all features that the emulator knows, of which Linux finds those that are listed.
#[test]
fn a_cpu_with_everything_runs_linux() {
    let run = Case::new("linux-max").cpu("max").vm(Vm::linux("smp")).run().ended();
    run.expect("linux", "linux: smp ok");
    run.summary("linux", "off", "power-off", 0);
}

#[test]
fn two_guests_run_side_by_side() {
    let run = Case::new("linux-and-rt")
        .vm(Vm::linux("demo"))
        .vm(Vm::rt("rt-demo").named("rt").bootargs("rt.seconds=1"))
        .run()
        .ended();
    run.expect("linux", "linux: job done");
    for task in ["fast", "medium", "slow"] {
        let start = format!("rt: task {task} ");
        assert_eq!(run.value("rt", &start, "misses"), 0);
        assert!(run.value("rt", &start, "jobs") >= 50);
    }
    run.summary("linux", "off", "power-off", 0);
    run.summary("rt", "off", "power-off", 0);
    run.expect("bulkhead", "power off");
}

/// Registers and interrupt of a device that the VM owns.
#[test]
fn an_assigned_clock_ticks_and_interrupts() {
    const CLOCK: &str = r#"
[[vm.device]]
compatible = ["arm,pl031", "arm,primecell"]
address = 0x0901_0000
size = "4KiB"
interrupt = 34
"#;
    let run = Case::new("linux-rtc").vm(Vm::linux("rtc").more(CLOCK)).run().ended();
    run.expect("linux", "linux: rtc ok");
}

/// Resets itself until its restart limit ends that.
#[test]
fn a_reboot_starts_linux_again() {
    let run =
        Case::new("linux-reboot").vm(Vm::linux("reboot").number("restart_limit", 1)).run().ended();
    run.expect("bulkhead", "linux: reset, restart 1 of 1");
    let shells = run.lines("linux").iter().filter(|line| line.contains("shell reached")).count();
    assert_eq!(shells, 2, "{}", run.log());
    run.summary("linux", "stopped", "reset", 1);
}

/// The shell of one VM and the other's output, switched by keys.
#[test]
fn both_consoles_work() {
    let case = Case::new("linux-consoles")
        .vm(Vm::linux("shell"))
        .vm(Vm::rt("rt-beacon").named("beacon").bootargs("beacon.lines=100000"));
    let mut session = case.start(&case.image().bytes, Time::Deterministic);
    let second = Duration::from_secs(1);
    let wait = 60 * second;
    let expect = |session: &mut qemu::Session, text: &str| {
        session.wait_for(text, wait).unwrap_or_else(|error| panic!("{error}"))
    };
    expect(&mut session, "[beacon] beacon: 10 ");
    expect(&mut session, "shell reached");
    // Focus on Linux: raw output, and its shell answers.
    session.send(b"\x1d0");
    expect(&mut session, "console: linux");
    session.send(b"\recho $((6*7))-answer\r");
    let shown = expect(&mut session, "\n42-answer");
    assert!(!shown.contains("beacon:"), "the other VM is not shown:\n{shown}");
    // The other VM ran on.
    session.send(b"\x1da");
    expect(&mut session, "console: all VMs");
    expect(&mut session, "[beacon] beacon: ");
    // Input in the labelled view still goes to the last VM in focus.
    session.send(b"poweroff -f\r");
    expect(&mut session, "linux: off (power-off)");
    let outcome = session.stop();
    assert!(outcome.log.contains("lines of other VMs"), "{outcome}");
}

/// The same image gives the same run, bit by bit.
#[test]
fn deterministic_runs_are_equal() {
    let case = Case::new("linux-twice").vm(Vm::linux("smp")).vm(Vm::rt("rt-periods").named("rt"));
    let image = case.image();
    let runs: Vec<Run> = (0..2).map(|_| case.boot(&image.bytes).ended()).collect();
    assert_eq!(runs[0].log(), runs[1].log());
}
