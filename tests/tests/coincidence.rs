//! The end of a budget, virtual timers and a device's interrupt at the same instant: each VCPU gets its own,
//! once, whatever the order.
//!
//! The guests sweep each pair of them across each other, instruction by instruction, and then all of
//! them by chance (`guests/programs/src/coincidence.rs`).

use tests::{Case, Run, Vm};

/// Trials in all, and those in which each source fires.
const TRIALS: i64 = 3014;
const SOURCE: i64 = 3 * 401 + 600;
/// Those in which nothing but a budget ends.
const ALONE: i64 = 8;
/// Ticks, which are instructions.
const US: i64 = 1_000;
/// How exactly the runner knows when its budget ended: it looks after so many instructions.
const LOOK_EVERY: i64 = 50;
/// The longest time for which a runner goes on when its budget has ended: until it is renewed.
const PERIOD: i64 = 1_000_000_000;

const DEVICE: &str = r#"
[[vm.device]]
compatible = ["arm,pl031", "arm,primecell"]
address = 0x0901_0000
size = "4KiB"
interrupt = 34
"#;

/// A VM in a role of `rt-coincide`, on the same PCPU as the other one.
fn vm(role: &str, server: &str, has_device: bool) -> Vm {
    let (device, number) = if has_device { (DEVICE, 1) } else { ("", 0) };
    Vm::rt("rt-coincide")
        .named(role)
        .bootargs(&format!("coincide.role={role} coincide.device={number}"))
        .more(&format!("[[vm.vcpu]]\npcpu = 1\n{server}{device}"))
}

/// Everything came once, and not before its time.
fn all_came(run: &Run, vm: &str, timers: i64, device: bool) {
    let value = |key| run.value(vm, "coincide: trials", key);
    let devices = if device { SOURCE } else { 0 };
    assert_eq!((value("timer"), value("device")), (timers, devices), "{}", run.log());
    for wrong in ["early", "spurious", "missing"] {
        assert_eq!(value(wrong), 0, "{wrong}: {}", run.log());
    }
}

/// In time, `late` ticks at most after it fired.
fn in_time(run: &Run, vm: &str, late: i64) {
    for key in ["timer_late_max_ticks", "device_late_max_ticks"] {
        let found = run.value(vm, "coincide: timer_late", key);
        assert!(found <= late, "{vm}: {key} is {found}, not {late}");
    }
}

/// The kinds of the runner's server, and whether the runner has the device.
const HALF: [(&str, bool); 2] = [("deferrable", true), ("sporadic", false)];
const OTHER_HALF: [(&str, bool); 2] = [("deferrable", false), ("sporadic", true)];

/// A runner whose budget ends, and another VCPU. `late`: how late interrupts of the latter are at most.
#[track_caller]
fn meet(runners: [(&str, bool); 2], role: &str, server: &str, late: i64) {
    for (kind, runner_has_device) in runners {
        let runner = format!("server = {kind:?}\nbudget = \"50us\"\nperiod = \"1s\"\n");
        let run = Case::new(&format!("coincide-{role}-{kind}-{runner_has_device}"))
            .tick_is_an_instruction()
            .vm(vm("runner", &runner, runner_has_device))
            .vm(vm(role, server, !runner_has_device))
            .run()
            .ended();
        // One interrupt to be there in time, or for the pause afterwards, one to set the alarm.
        let timers = |device| TRIALS + SOURCE + if device { SOURCE } else { 0 };
        all_came(&run, "runner", timers(runner_has_device), runner_has_device);
        all_came(&run, role, timers(!runner_has_device), !runner_has_device);
        in_time(&run, "runner", PERIOD + 20 * US);
        in_time(&run, role, late);
        // The trials were what they should be: budgets ended when they should have.
        let expiry = |key| run.value("runner", "coincide: expiries", key);
        assert_eq!(expiry("expiries"), SOURCE + ALONE, "{}", run.log());
        let off = expiry("off_min_ticks").abs().max(expiry("off_max_ticks").abs());
        assert!(off <= LOOK_EVERY, "budgets end {off} ticks beside: {}", run.log());
    }
}

/// It gets the PCPU when the budget ends or the runner waits, 12.5 us after the instant.
const AFTER_THE_RUNNER: i64 = 20 * US;

fn beside_each(runners: [(&str, bool); 2]) {
    meet(runners, "waiter", "server = \"background\"\n", AFTER_THE_RUNNER);
    meet(runners, "busy", "server = \"background\"\n", AFTER_THE_RUNNER);
    // The shorter period has the higher priority.
    let first = "server = \"deferrable\"\nbudget = \"20ms\"\nperiod = \"500ms\"\n";
    meet(runners, "waiter", first, 5 * US);
}

/// One that waits and gives way, one that was stopped, and one that goes first.
#[test]
fn beside_each_other_vcpu() {
    beside_each(HALF);
}

#[test]
#[ignore = "the other half: `make campaign`"]
fn beside_each_other_vcpu_with_the_other_kind() {
    beside_each(OTHER_HALF);
}
