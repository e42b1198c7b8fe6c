//! Guests that can only open a serial port ask for colours there.

use tests::{Case, Vm};

const EXTRA: [(&str, &str); 3] =
    [("colors", "0-3"), ("extra_colors", "4-7"), ("extra_memory", "4MiB")];

/// A VM with extra colours and the port.
fn closed(vm: Vm) -> Vm {
    let vm = EXTRA.iter().fold(vm, |vm, (key, value)| vm.key(key, value));
    vm.more("color_serial = true\n")
}

#[test]
fn the_task_that_waits_gets_the_colours() {
    let vm = Vm::rt("rt-color").number("vcpus", 2).bootargs("case=serial serial=0x0a010000");
    let run = Case::new("serial").vm(closed(vm)).run().ended();
    run.expect("color", "color: serial ok");
    run.expect("color", " passed, 0 failed");
    run.never("color", "skipped");
}

#[test]
fn a_reset_ends_a_request() {
    let vm = Vm::rt("rt-color").number("vcpus", 2).number("restart_limit", 1);
    let vm = vm.bootargs("case=serial-reset serial=0x0a010000 reset=1");
    let run = Case::new("serial-reset").vm(closed(vm)).run().ended();
    run.expect("bulkhead", "color: reset, restart 1 of 1");
    run.expect("color", "color: serial-reset ok");
    run.expect("color", " passed, 0 failed");
    run.never("color", "FAILED");
    run.summary("color", "off", "power-off", 1);
}

#[test]
fn linux_asks_from_a_process() {
    let vm = Vm::linux("coloring").memory("384MiB");
    let vm = vm.key("colors", "0-7").key("extra_colors", "8-15").key("extra_memory", "64MiB");
    let run = Case::new("linux-serial").vm(vm.more("color_serial = true\n")).run().ended();
    let start = "bhctl: serial ";
    assert!(run.value("linux", start, "pages") >= 32, "{}", run.log());
    assert!(run.value("linux", start, "attempts") <= 3, "{}", run.log());
    run.expect("linux", "bhctl: /dev/ttyAMA1, 1 attempts: these are not all extra colours");
    run.expect("linux", "bhctl: audit ok");
    run.summary("linux", "off", "power-off", 0);
}
