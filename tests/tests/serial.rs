//! Serial lines between VMs: bytes come through whole and in order, and no end costs the other one more than the line lets it.

use tests::{Case, Vm};

fn guest(name: &str, bootargs: &str) -> Vm {
    Vm::rt("rt-serial").named(name).bootargs(bootargs)
}

fn line(more: &str) -> String {
    format!("[[serial]]\nbetween = [\"plan\", \"drive\"]\n{more}")
}

#[test]
fn bytes_go_both_ways() {
    for platform in ["qemu-virt", "zcu102", "raspberry-pi-4"] {
        let arguments = "serial.send=3000 serial.receive=3000 serial.us=500000";
        let run = Case::new("serial")
            .on(platform)
            .vm(guest("plan", arguments))
            .vm(guest("drive", arguments))
            .more(&line(""))
            .run()
            .ended();
        for vm in ["plan", "drive"] {
            run.expect(vm, "serial: sent=3000 ");
            run.expect(vm, "serial: received=3000 wrong=0 ");
            // One each millisecond, one more in a burst, and one when the other VM ends.
            let of = |key| run.value(vm, "serial: received", key);
            assert!(of("interrupts") <= 2 + (of("us") + 1000) / 1000, "{}", run.log());
            run.summary(vm, "off", "power-off", 0);
        }
    }
}

/// One end writes to its registers whatever and whenever it can: the other one is interrupted as often as the line lets it,
/// and gets all bytes in order.
///
/// Stands behind P21 of the safety manual.
#[test]
fn a_flood_is_limited() {
    let run = Case::new("serial-flood")
        .vm(guest("plan", "serial.flood=1 serial.us=100000"))
        .vm(guest("drive", "serial.us=150000 serial.hold=1"))
        .more(&line("tell_every = \"2ms\"\ntell_burst = 4\n"))
        .run()
        .ended();
    let of = |key| run.value("drive", "serial: received", key);
    // In 100 ms, and the burst, and one each: at the start, for what is left at the end, and when the VM ends.
    assert!((40..=56).contains(&of("interrupts")), "{}", run.log());
    // It sends less than the line takes in this time, so that nothing is lost.
    assert_eq!(of("received"), run.value("plan", "serial:", "sent"), "{}", run.log());
    assert_eq!(of("wrong"), 0, "{}", run.log());
}

/// A sender that has filled the line waits until the other end reads: nothing is lost or comes twice.
///
/// Stands behind P21 of the safety manual.
#[test]
fn a_full_line_loses_nothing() {
    for platform in ["qemu-virt", "raspberry-pi-4"] {
        let run = Case::new("serial-full")
            .on(platform)
            .vm(guest("plan", "serial.send=5000 serial.us=500000"))
            .vm(guest("drive", "serial.receive=5000 serial.wait_us=20000 serial.us=500000"))
            .more(&line(""))
            .run()
            .ended();
        // The line, the FIFO of the sender, and what the reader's has taken when the reader set it up.
        let full = run.value("plan", "serial: sent", "full");
        assert!((1024 + 32..=1024 + 2 * 32).contains(&full), "{}", run.log());
        run.expect("plan", "serial: sent=5000 ");
        run.expect("drive", "serial: received=5000 wrong=0 ");
        assert!(run.value("drive", "serial: received", "us") > 20_000, "{}", run.log());
        // Its limit counts what it sends and that it has read.
        let (interrupts, us) = (
            run.value("drive", "serial: received", "interrupts"),
            run.value("drive", "serial: received", "us"),
        );
        assert!(interrupts <= 2 + (us + 1000) / 1000, "{}", run.log());
    }
}

/// An end that restarts again and again goes on with the line: nothing that it has sent is lost.
#[test]
fn an_end_that_restarts_goes_on() {
    let run = Case::new("serial-restart")
        .vm(guest("plan", "serial.send=256 serial.end=reset").number("restart_limit", 2))
        .vm(guest("drive", "serial.receive=768 serial.us=500000"))
        .more(&line(""))
        .run()
        .ended();
    run.expect("drive", "serial: received=768 wrong=0 ");
}

/// Where VCPUs share a PCPU, the sender waits for the time at which it may tell.
#[test]
fn vcpus_with_budgets_have_lines() {
    let server =
        "[[vm.vcpu]]\npcpu = 1\nserver = \"deferrable\"\nbudget = \"2ms\"\nperiod = \"5ms\"\n";
    let arguments = "serial.send=1000 serial.receive=1000 serial.us=900000";
    let run = Case::new("serial-shared")
        .vm(guest("plan", arguments).more(&format!("{server}priority = 2\n")))
        .vm(guest("drive", arguments).more(&format!("{server}priority = 1\n")))
        .more(&line("tell_every = \"3ms\"\n"))
        .run()
        .ended();
    for vm in ["plan", "drive"] {
        run.expect(vm, "serial: received=1000 wrong=0 ");
    }
}

/// A VCPU owes the other end something when it goes off, while its sibling waits and does not know: the sibling wakes to tell it.
#[test]
fn who_goes_off_leaves_what_is_late_to_a_sibling() {
    let vcpus = "[[vm.vcpu]]\npcpu = 1\nserver = \"deferrable\"\nbudget = \"4ms\"\nperiod = \"5ms\"\n\
                 [[vm.vcpu]]\npcpu = 2\n";
    let run = Case::new("serial-leaves")
        .vm(guest("plan", "serial.leave=128 serial.us=200000").more(vcpus))
        .vm(guest("drive", "serial.receive=256 serial.us=200000"))
        .more(&line("tell_every = \"20us\"\ntell_burst = 1\n"))
        .run()
        .ended();
    run.expect("drive", "serial: received=256 wrong=0 ");
    // The sibling wakes by itself only 400 us after the first byte of a pair.
    assert!(run.value("drive", "serial: received", "pair_us") < 100, "{}", run.log());
}
