//! Links between VMs: frames come through whole, and no end costs the other one more than the link lets it, whatever it does.

use std::time::Duration;

use qemu::Time;
use tests::{Case, Run, Vm};

fn guest(name: &str, bootargs: &str) -> Vm {
    Vm::rt("rt-network").named(name).bootargs(bootargs)
}

fn link(more: &str) -> String {
    format!("[[link]]\nname = \"lan\"\nbetween = [\"plan\", \"drive\"]\n{more}")
}

/// What the hypervisor says at the end of what this VM has sent.
fn count(run: &Run, from: &str, what: &str) -> i64 {
    run.value("bulkhead", &format!("link lan from={from}"), what)
}

#[test]
fn frames_go_both_ways() {
    for platform in ["qemu-virt", "zcu102", "raspberry-pi-4"] {
        // The first ones can come before the other end has started, so that none waits for all.
        let arguments = "network.send=300 network.hold=1 network.us=60000";
        let run = Case::new("link")
            .on(platform)
            .vm(guest("plan", arguments))
            .vm(guest("drive", arguments))
            .more(&link("rate = \"100MB/s\"\n"))
            .run()
            .ended();
        for (vm, other) in [("plan", "drive"), ("drive", "plan")] {
            run.expect(vm, "network: sent=300 ");
            run.expect(vm, "network: done");
            let of = |key| run.value(vm, "network: received", key);
            assert_eq!((of("wrong"), of("received") + of("lost")), (0, 300), "{}", run.log());
            assert!(of("lost") <= 10, "{}", run.log());
            // One each millisecond, one more in a burst, and one when the other VM ends.
            assert!(of("interrupts") <= 3 + of("us") / 1000, "{}", run.log());
            assert_eq!(count(&run, other, "frames"), of("received"), "{}", run.log());
            run.summary(vm, "off", "power-off", 0);
        }
    }
}

/// One end sends without a pause: the other one gets no more than the link lets it send, and is interrupted as often as the link lets it.
///
/// Stands behind P22 of the safety manual.
#[test]
fn a_flood_is_limited() {
    let run = Case::new("link-flood")
        .vm(guest("plan", "network.flood=1 network.us=100000"))
        .vm(guest("drive", "network.us=150000 network.hold=1"))
        .more(&link(
            "rate = \"1MB/s\"\nburst = \"16KiB\"\ninterrupt_every = \"2ms\"\ninterrupt_burst = 4\n",
        ))
        .run()
        .ended();
    let of = |key| run.value("drive", "network: received", key);
    assert_eq!(of("wrong"), 0, "{}", run.log());
    // In 100 ms, and the burst, and one each: for what is left at the end, and when the VM ends.
    assert!((30..=56).contains(&of("interrupts")), "{}", run.log());
    // Short frames count more than they have, and some were sent before there was a driver.
    let bytes = count(&run, "plan", "bytes");
    assert!((50_000..=100_000 + 16_384 + 1_000).contains(&bytes), "{bytes}: {}", run.log());
    assert_eq!(count(&run, "plan", "frames"), of("received"), "{}", run.log());
    assert!(count(&run, "plan", "rate") > 1_000, "{}", run.log());
}

/// An end that takes nothing loses what does not fit, and the sender goes on.
#[test]
fn a_full_ring_drops() {
    let run = Case::new("link-full")
        .vm(guest("plan", "network.send=100 network.hold=1 network.us=30000"))
        .vm(guest("drive", "network.deaf=1 network.hold=1 network.us=50000"))
        .more(&link("rate = \"100MB/s\"\n"))
        .run()
        .ended();
    run.expect("plan", "network: sent=100 ");
    // So many buffers has the driver.
    assert_eq!(count(&run, "plan", "frames"), 64, "{}", run.log());
    assert_eq!(count(&run, "plan", "full") + count(&run, "plan", "away"), 36, "{}", run.log());
}

/// An end that restarts again and again goes on with the link. What is sent to it meanwhile is lost.
#[test]
fn an_end_that_restarts_goes_on() {
    let run = Case::new("link-restart")
        .vm(guest("plan", "network.send=100 network.end=reset network.us=15000")
            .number("restart_limit", 2))
        .vm(guest("drive", "network.send=1000 network.hold=1 network.us=200000"))
        .more(&link("rate = \"100MB/s\"\n"))
        .run()
        .ended();
    let of = |key| run.value("drive", "network: received", key);
    assert_eq!((of("received") + of("lost"), of("wrong")), (300, 0), "{}", run.log());
    assert!(of("lost") <= 10, "{}", run.log());
    run.summary("plan", "stopped", "reset", 2);
    // It never was without a driver for long.
    assert!(count(&run, "drive", "frames") >= 100, "{}", run.log());
    run.expect("drive", "network: done");
}

/// One end does for a while what no driver does, and behaves then; the other one, which sends and receives, and a third VM, which
/// has tasks on one of their PCPUs, only see the link's limits.
///
/// Stands behind P22 of the safety manual.
#[test]
fn what_one_end_does_to_its_card_hurts_nobody_else() {
    for (seed, platform) in [(1, "qemu-virt"), (2, "qemu-virt"), (3, "raspberry-pi-4")] {
        let abuse = format!(
            "network.abuse=200000 network.seed={seed} network.send=100 network.hold=1 network.us=100000"
        );
        let server = |pcpu, priority| {
            format!(
                "[[vm.vcpu]]\npcpu = {pcpu}\nserver = \"deferrable\"\nbudget = \"2ms\"\nperiod = \"5ms\"\n\
                 priority = {priority}\n"
            )
        };
        let task = "[[vm.task]]\nname = \"control\"\nperiod = \"5ms\"\nwcet = \"1.1ms\"\n";
        let run = Case::new(&format!("link-abuse-{seed}"))
            .on(platform)
            .vm(guest("plan", &abuse).more(&server(1, 1)))
            .vm(guest(
                "drive",
                "network.send=2000 network.gap_us=250 network.hold=1 network.us=800000",
            )
            .more(&server(2, 2)))
            .vm(Vm::rt("rt-tasks")
                .named("other")
                .bootargs("tasks.ms=500 task0=control/0/5000/0/1000")
                .more(&format!("{}{task}", server(1, 2))))
            .more(&link("rate = \"10MB/s\"\ninterrupt_every = \"1ms\"\n"))
            .run()
            .ended();
        assert!(run.value("plan", "network: abused", "abused") > 1_000, "{}", run.log());
        run.expect("plan", "network: sent=100 ");
        run.expect("plan", "network: done");
        run.expect("drive", "network: done");
        let of = |key| run.value("drive", "network: received", key);
        assert!(of("received") >= 100, "{}", run.log());
        assert!(of("interrupts") <= 3 + of("us") / 1000, "{}", run.log());
        // Frames come to the end that misbehaved as well.
        assert!(run.value("plan", "network: received", "received") >= 100, "{}", run.log());
        run.expect("other", "misses=0");
    }
}

/// Two VCPUs of one end do it at the same card, also in time of the host, where QEMU executes all of them at once.
///
/// Stands behind P22 of the safety manual.
#[test]
fn two_vcpus_at_one_card_hurt_nobody_else() {
    let abuse =
        "network.abuse=200000 network.two=1 network.send=100 network.hold=1 network.us=300000";
    let case = Case::new("link-two")
        .vm(guest("plan", abuse).number("vcpus", 2))
        .vm(guest("drive", "network.send=2000 network.gap_us=250 network.hold=1 network.us=900000"))
        .more(&link("rate = \"10MB/s\"\ninterrupt_every = \"1ms\"\n"));
    for time in [Time::Deterministic, Time::Real] {
        let image = case.image();
        let run = Run::of(case.start(&image.bytes, time).finish(Duration::from_secs(120))).ended();
        for steps in ["abused", "beside"] {
            assert!(run.value("plan", "network: abused", steps) > 1_000, "{}", run.log());
        }
        for vm in ["plan", "drive"] {
            run.expect(vm, "network: done");
            run.summary(vm, "off", "power-off", 0);
            let received = run.value(vm, "network: received", "received");
            assert!(received >= 50, "{}", run.log());
        }
        let of = |key| run.value("drive", "network: received", key);
        assert!(of("interrupts") <= 3 + of("us") / 1000, "{}", run.log());
    }
}

/// Where VCPUs share a PCPU, the sender waits for the time at which it may tell.
#[test]
fn vcpus_with_budgets_have_links() {
    let server =
        "[[vm.vcpu]]\npcpu = 1\nserver = \"deferrable\"\nbudget = \"2ms\"\nperiod = \"5ms\"\n";
    let arguments = "network.send=200 network.hold=1 network.us=300000";
    let run = Case::new("link-shared")
        .vm(guest("plan", arguments).more(&format!("{server}priority = 2\n")))
        .vm(guest("drive", arguments).more(&format!("{server}priority = 1\n")))
        .more(&link("rate = \"10MB/s\"\ninterrupt_every = \"3ms\"\n"))
        .run()
        .ended();
    for vm in ["plan", "drive"] {
        let of = |key| run.value(vm, "network: received", key);
        assert_eq!(of("wrong"), 0, "{}", run.log());
        assert!(of("received") >= 100, "{}", run.log());
    }
}

/// Two Linux with the drivers of Debian: they ping each other, and a file comes back as it was sent.
///
/// Stands behind P22 of the safety manual.
#[test]
fn two_linux_talk() {
    let linux = |name: &str, own: u32, other: u32, more: &str| {
        let job = format!("network job.own={own} job.other={other} {more}");
        Vm::linux(&job).named(name).memory("256MiB")
    };
    let run = Case::new("link-linux")
        .vm(linux("plan", 1, 2, "job.first=1"))
        .vm(linux("drive", 2, 1, ""))
        .more(&link("rate = \"10MB/s\"\nmacs = [\"02:00:00:00:00:0a\", \"02:00:00:00:00:0b\"]\n"))
        .timeout(300)
        .run()
        .ended();
    for (vm, mac) in [("plan", "02:00:00:00:00:0a"), ("drive", "02:00:00:00:00:0b")] {
        run.expect(vm, &format!("linux: job card {mac} mtu 1500"));
        run.expect(vm, "linux: job pings 20 packets received");
        run.expect(vm, "linux: job done");
        run.summary(vm, "off", "power-off", 0);
    }
    let sum = |vm: &str, what: &str| run.expect(vm, what).rsplit(what).next().map(str::to_owned);
    let sent = sum("plan", "linux: job sends ");
    assert_eq!(sent, sum("drive", "linux: job gets "), "{}", run.log());
    assert_eq!(sent, sum("plan", "linux: job has back "), "{}", run.log());
}

/// As many VCPUs and links as a system may have: frames come and go by each card of a Linux.
#[test]
#[ignore = "takes a minute"]
fn eight_vcpus_have_eight_links() {
    let server = |pcpu: u32, budget: u32| {
        format!(
            "[[vm.vcpu]]\npcpu = {pcpu}\nserver = \"deferrable\"\nbudget = \"{budget}ms\"\nperiod = \"10ms\"\n"
        )
    };
    let all: String = (0..8).map(|number| server(number % 4, 4)).collect();
    let two = [2, 3].map(|pcpu| server(pcpu, 1)).concat();
    let link = |number| {
        format!(
            "[[link]]\nname = \"lan{number}\"\nbetween = [\"plan\", \"drive\"]\nrate = \"10MB/s\"\n"
        )
    };
    let run = Case::new("link-eight")
        .vm(Vm::linux("cards").named("plan").vcpus(8).more(&all))
        .vm(Vm::rt("rt-storm")
            .named("drive")
            .bootargs("storm.mode=link-short storm.pause=20000 storm.ms=5000")
            .more(&two))
        .more(&(0..8).map(link).collect::<String>())
        .timeout(300)
        .run()
        .ended();
    run.expect("plan", "linux: job cpus 8");
    run.expect("plan", "linux: job done");
    for number in 0..8 {
        let came = run.value("plan", &format!("linux: job eth{number} "), "came");
        assert!(came >= 100, "{}", run.log());
        for (from, least) in [("plan", 1), ("drive", 100)] {
            let sent = run.value("bulkhead", &format!("link lan{number} from={from}"), "frames");
            assert!(sent >= least, "{}", run.log());
        }
    }
    for vm in ["plan", "drive"] {
        run.summary(vm, "off", "power-off", 0);
    }
}

/// The longest frame in as many buffers as are allowed on both sides takes less than EL2 may take without looking for interrupts,
/// also where pages have many colours.
#[test]
fn a_frame_is_a_short_chunk() {
    for colors in ["", "colors = \"0-6\"\n"] {
        let (plan, drive) = (
            "network.send=20 network.gap_us=1000 network.parts=8 network.bytes=1500 network.hold=1 network.us=30000",
            // It takes no frame, and executes nothing meanwhile.
            "network.parts=8 network.deaf=1 network.sleep=1 network.hold=1 network.us=30000",
        );
        let run = Case::new("link-chunk")
            .tick_is_an_instruction()
            .vm(guest("plan", plan).more(colors))
            .vm(guest("drive", drive).more(&colors.replace("0-6", "9-15")))
            .more(&link("rate = \"100MB/s\"\n"))
            .run()
            .ended();
        assert_eq!(count(&run, "plan", "frames"), 1, "{}", run.log());
        // With what the guest does to fill the buffers.
        let longest = run.value("plan", "network: sent", "longest");
        assert!(longest < 24_000, "{}", run.log());
    }
}

/// What `check` counts: two exits for a frame that counts as 64 bytes, four for any, five for a store after which everything is dropped.
#[test]
fn frames_take_no_longer_than_is_counted() {
    const EXIT: i64 = 5_000;
    let deaf = "network.parts=8 network.deaf=1 network.sleep=1 network.hold=1 network.us=60000";
    let run = |plan: &str, limit: &str| {
        Case::new("link-cost")
            .tick_is_an_instruction()
            .vm(guest("plan", plan))
            .vm(guest("drive", deaf))
            .more(&link(limit))
            .run()
            .ended()
    };
    for (bytes, most) in [(24, 2 * EXIT), (113, 2 * EXIT), (1_500, 4 * EXIT)] {
        let plan = format!(
            "network.send=20 network.gap_us=1000 network.parts=8 network.bytes={bytes} network.hold=1 network.us=30000"
        );
        let run = run(&plan, "rate = \"100MB/s\"\n");
        assert_eq!(count(&run, "plan", "frames"), 1, "{}", run.log());
        // With the store, and with what the guest does to fill the buffers.
        let longest = run.value("plan", "network: sent", "longest");
        assert!(longest < most, "{bytes}: {}", run.log());
    }
    let plan = "network.tasks=50000 network.batch=63 network.bytes=1500 network.us=1000";
    let run = run(plan, "rate = \"1kB/s\"\nburst = \"1514B\"\n");
    assert_eq!(count(&run, "plan", "rate"), 5 * 63 - 1, "{}", run.log());
    let [shortest, longest] =
        ["shortest", "longest"].map(|it| run.value("plan", "network: stores", it));
    assert!(shortest < 5 * EXIT && longest < 5 * EXIT + 4 * EXIT, "{}", run.log());
}
