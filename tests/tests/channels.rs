//! Messages between VMs: they arrive whole and in time, and only the writer writes.

use tests::{Case, Vm};

/// A channel between VMs of these names.
fn channel(name: &str, from: &str, to: &[&str]) -> String {
    format!("[[channel]]\nname = {name:?}\nfrom = {from:?}\nto = {to:?}\n")
}

fn guest(name: &str, bootargs: &str) -> Vm {
    Vm::rt("rt-channel").named(name).bootargs(bootargs)
}

fn pair(name: &str, more: &str) -> Case {
    Case::new(name)
        .vm(guest("plan", "channel.send=pose channel.us=1000 channel.beats=100"))
        .vm(guest(
            "drive",
            &format!("channel.receive=pose channel.us=500 channel.beats=230 {more}"),
        ))
        .more(&channel("pose", "plan", &["drive"]))
}

/// Stands behind P14 of the safety manual.
#[test]
fn messages_arrive_whole_and_in_time() {
    let run = pair("channel", "channel.try=1").run().ended();
    run.expect("drive", "channel: stores into pose were refused=[true, true]");
    run.expect("plan", "channel: sent pose=100");
    let of = |key| run.value("drive", "channel: received", key);
    assert_eq!((of("pose"), of("lost"), of("torn"), of("epoch")), (100, 0, 0, 1));
    // A period of the reader, and what the turns of QEMU add.
    assert!((1..=1000).contains(&of("latency_max_us")), "{}", run.log());
    for vm in ["plan", "drive"] {
        run.summary(vm, "off", "power-off", 0);
    }
}

/// Also where the areas of VMs interleave.
#[test]
fn coloured_vms_talk() {
    let run = Case::new("channel-colors")
        .vm(guest("plan", "channel.send=pose").key("colors", "0-7"))
        .vm(guest("drive", "channel.receive=pose channel.beats=120").key("colors", "8-15"))
        .more(&channel("pose", "plan", &["drive"]))
        .run()
        .ended();
    assert_eq!(run.value("drive", "channel: received", "torn"), 0);
    assert!(run.value("drive", "channel: received", "pose") >= 99, "{}", run.log());
}

/// The tables of a VM with colours are few, and suffice for as many channels as there can be.
#[test]
fn a_vm_with_colours_has_room_for_large_channels() {
    let mut case = Case::new("channel-large")
        .vm(guest("plan", "channel.send=pose channel.beats=5").key("colors", "0-7"))
        .vm(guest("drive", "channel.receive=pose channel.beats=10").key("colors", "8-15"))
        .more(&channel("pose", "plan", &["drive"]));
    for index in 1..16 {
        let large = channel(&format!("c{index}"), "plan", &["drive"]);
        case = case.more(&format!("{large}size = \"8MiB\"\n"));
    }
    let run = case.run().ended();
    assert_eq!(run.value("drive", "channel: received", "torn"), 0, "{}", run.log());
}

#[test]
fn boards_with_a_gicv2_have_channels() {
    for platform in ["zcu102", "raspberry-pi-4"] {
        let run = pair("channel-board", "").on(platform).run().ended();
        assert_eq!(run.value("drive", "channel: received", "pose"), 100, "{}", run.log());
    }
}

/// One writer, two readers, and a way back, of the largest messages.
#[test]
fn several_read_what_one_writes() {
    let run = Case::new("channel-several")
        .vm(guest(
            "plan",
            "channel.send=pose channel.receive=back channel.bytes=1024 channel.beats=120",
        ))
        .vm(guest(
            "drive",
            "channel.receive=pose channel.send=back channel.bytes=1024 channel.beats=120",
        ))
        .vm(guest("watch", "channel.receive=pose channel.bytes=1024 channel.beats=120"))
        .more(&channel("pose", "plan", &["drive", "watch"]))
        .more(&channel("back", "drive", &["plan"]))
        .run()
        .ended();
    for (vm, name) in [("drive", "pose"), ("watch", "pose"), ("plan", "back")] {
        assert!(run.value(vm, "channel: received", name) >= 118, "{}", run.log());
        assert_eq!(run.value(vm, "channel: received", "torn"), 0);
    }
}

/// A VM without an end of a channel has nothing there, and neither has the plan of the hypervisor.
///
/// Stands behind P1 of the safety manual.
#[test]
fn who_has_no_end_does_not_reach_the_channel() {
    let stranger =
        Vm::rt("rt-hostile").named("stranger").bootargs("case=foreign-read address=0x30000000");
    let run = pair("channel-stranger", "").vm(stranger).run().ended();
    run.summary("stranger", "stopped", "bad-address", 0);
    assert_eq!(run.value("drive", "channel: received", "pose"), 100, "{}", run.log());
}

/// The messages of a writer that restarts go on where they were.
#[test]
fn a_writer_that_restarts_goes_on() {
    let run = Case::new("channel-restart")
        .vm(guest("plan", "channel.send=pose channel.beats=50 channel.end=reset")
            .number("restart_limit", 2))
        .vm(guest("drive", "channel.receive=pose channel.beats=400"))
        .more(&channel("pose", "plan", &["drive"]))
        .run()
        .ended();
    assert_eq!(run.value("drive", "channel: received", "pose"), 150, "{}", run.log());
    assert_eq!(run.value("drive", "channel: received", "epoch"), 3);
    assert_eq!(run.value("drive", "channel: received", "lost"), 0);
}

/// The sender's period and the response times of both tasks bound the age of data (Davare et al.,
/// DAC 2007).
#[test]
fn data_of_tasks_is_no_older_than_the_bound() {
    let task = |name: &str, task: &str| {
        Vm::rt("rt-tasks").named(name).bootargs(&format!("tasks.ms=1000 task0={task}"))
    };
    let run = Case::new("channel-age")
        .vm(task("plan", "route/0/20000/0/2000+>pose"))
        .vm(task("drive", "control/0/10000/1000/<pose+1000"))
        .more(&channel("pose", "plan", &["drive"]))
        .run()
        .ended();
    let of = |vm, task: &str| {
        run.value(vm, &format!("tasks: task {task} "), "response_max_ns").div_euclid(1000) + 1
    };
    let (route, control) = (of("plan", "route"), of("drive", "control"));
    let age = run.value("drive", "tasks: data task=control", "age_max_us");
    assert!(age <= 20_000 + route + control, "{age}\n{}", run.log());
    assert!(age >= 10_000 + 1_000 + 1_000, "{age}\n{}", run.log());
    let held = run.value("drive", "tasks: data task=control", "held_max_us");
    assert!(held <= age + 10_000 + control, "{held}\n{}", run.log());
}

#[test]
fn tasks_name_channels_that_there_are() {
    let run = Case::new("channel-unknown")
        .vm(Vm::rt("rt-tasks").named("plan").bootargs("task0=route/0/20000/0/2000+>pose"))
        .run();
    run.expect("plan", "tasks: task route: the device tree has no channel pose");
}

/// Stock Linux maps channels from `/dev/mem`: `bhctl` talks with a real-time guest both ways.
#[test]
fn linux_and_a_real_time_guest_talk() {
    let job = "channel job.receive=pose job.send=speed job.ring=1 job.count=50 job.poke=pose";
    let run = Case::new("channel-linux")
        .vm(Vm::linux(job))
        .vm(guest(
            "plan",
            "channel.send=pose channel.receive=speed channel.us=40000 channel.beats=200 channel.hear=1",
        ))
        .more(&channel("pose", "plan", &["linux"]))
        .more(&ringing("speed", "linux", &["plan"], "1ms"))
        .run()
        .ended();
    for line in [
        "bhctl: channel pose bytes=4096 writes=no",
        "bhctl: channel speed bytes=4096 writes=yes",
        "linux: job bhctl: channel `nowhere`: this VM has no channel of this name, but: pose speed",
        // The status of a program that SIGBUS ended.
        "linux: job the store into pose was refused, status 135",
        "linux: job bhctl: channel `pose`: another VM writes this channel",
        "linux: job bhctl: channel `pose`: the writer sends messages of 64 bytes: give that as --bytes",
        "linux: job first 1 lost=0 ",
        "linux: job bhctl: received pose=50 lost=0 torn=0",
        "linux: job messages 50",
        "linux: job bhctl: sent speed=50 refused=0",
        "linux: job done",
    ] {
        run.expect("linux", line);
    }
    let of = |key| run.value("plan", "channel: received", key);
    assert_eq!((of("speed"), of("lost"), of("torn")), (50, 0, 0), "{}", run.log());
    // Linux can be preempted between a message and its ring.
    assert!((1..=15_000).contains(&of("latency_max_us")), "{}", run.log());
    run.summary("linux", "off", "power-off", 0);
}

/// A channel with rings, one each `every`, of which two may come at once.
fn ringing(name: &str, from: &str, to: &[&str], every: &str) -> String {
    format!("{}ring_every = {every:?}\n", channel(name, from, to))
}

/// A message is taken as soon as its reader is interrupted, long before its next beat.
#[test]
fn rings_interrupt_the_reader() {
    for platform in ["qemu-virt", "zcu102", "raspberry-pi-4"] {
        let run = Case::new("channel-rings")
            .on(platform)
            .vm(guest(
                "plan",
                "channel.send=pose channel.us=1000 channel.beats=100 channel.rings=1 channel.try=1",
            ))
            .vm(guest(
                "drive",
                "channel.receive=pose channel.us=115000 channel.beats=1 channel.hear=1",
            ))
            .more(&ringing("pose", "plan", &["drive"], "1ms"))
            .run()
            .ended();
        run.expect("plan", "channel: rings elsewhere were refused=[true, true, true, true, true]");
        run.expect("plan", "channel: rang pose=100 refused=0");
        run.expect("drive", "channel: heard rings=100");
        let of = |key| run.value("drive", "channel: received", key);
        assert_eq!((of("pose"), of("lost"), of("torn")), (100, 0, 0), "{}", run.log());
        assert!(of("latency_max_us") <= 100, "{platform}\n{}", run.log());
    }
}

/// A writer that rings as often as it can interrupts the readers as often as the channel allows, and no more after a restart.
///
/// Stands behind P15 of the safety manual.
#[test]
fn rings_beyond_the_limit_are_refused() {
    let run = Case::new("channel-rings-limit")
        .vm(guest(
            "plan",
            "channel.send=pose channel.us=100 channel.beats=300 channel.rings=50 channel.end=reset",
        )
        .number("restart_limit", 2))
        .vm(guest("drive", "channel.receive=pose channel.us=150000 channel.beats=1 channel.hear=1"))
        .vm(guest("watch", "channel.receive=pose channel.us=150000 channel.beats=1 channel.hear=1"))
        .more(&format!("{}ring_burst = 4\n", ringing("pose", "plan", &["drive", "watch"], "2ms")))
        .run()
        .ended();
    for vm in ["drive", "watch"] {
        // In 90 ms, and the burst; two that come at once are one.
        let heard = run.value(vm, "channel: heard", "rings");
        assert!((40..=49).contains(&heard), "{vm} {heard}\n{}", run.log());
    }
}

#[test]
fn who_may_not_ring_is_told_so() {
    let run = Case::new("channel-no-rings")
        .vm(guest("plan", "channel.send=pose channel.rings=1"))
        .vm(guest("drive", "channel.receive=pose channel.hear=1"))
        .more(&channel("pose", "plan", &["drive"]))
        .run();
    run.expect("plan", "channel: the guest may not ring for pose");
    run.expect("drive", "channel: the device tree has no bell with an interrupt");
}

/// A VM that takes the time of a PCPU that nobody else wants.
fn busy(name: &str, pcpu: u32) -> Vm {
    Vm::rt("rt-busy")
        .named(name)
        .bootargs("busy.seconds=1")
        .more(&format!("[[vm.vcpu]]\npcpu = {pcpu}\nserver = \"background\"\npriority = 1\n"))
}

fn server(pcpu: u32, kind: &str, budget: &str, period: &str, priority: u32) -> String {
    format!(
        "[[vm.vcpu]]\npcpu = {pcpu}\nserver = {kind:?}\nbudget = {budget:?}\nperiod = {period:?}\n\
         priority = {priority}\n"
    )
}

/// The PCPU of the reader is taken for 40 ms; the only ring comes after one.
#[test]
fn a_ring_before_the_reader_starts_is_kept() {
    let run = Case::new("channel-ring-early")
        .vm(guest("plan", "channel.send=pose channel.us=1000 channel.beats=1 channel.rings=1"))
        .vm(Vm::rt("rt-storm")
            .named("busy")
            .bootargs("storm.mode=victim storm.start_ms=0 storm.window_ms=100")
            .more(&server(1, "periodic", "40ms", "50ms", 2)))
        .vm(guest("drive", "channel.receive=pose channel.us=115000 channel.beats=1 channel.hear=1")
            .more(&server(1, "periodic", "5ms", "50ms", 1)))
        .more(&ringing("pose", "plan", &["drive"], "1ms"))
        .run()
        .ended();
    run.expect("plan", "channel: rang pose=1 refused=0");
    run.expect("drive", "channel: heard rings=1");
    run.expect("drive", "channel: received pose=1 ");
}

/// A VCPU that waits is interrupted, although the first one of the VM has no budget most of the time.
#[test]
fn a_ring_goes_to_a_vcpu_that_can_take_it() {
    let run = Case::new("channel-ring-waiting")
        .vm(guest("plan", "channel.send=pose channel.us=2000 channel.beats=50 channel.rings=1"))
        .vm(guest("drive", "channel.us=150000 channel.hear=2")
            .more(&server(1, "periodic", "2ms", "20ms", 2))
            .more(&server(2, "deferrable", "5ms", "10ms", 2)))
        .vm(busy("busy-1", 1))
        .vm(busy("busy-2", 2))
        .more(&ringing("pose", "plan", &["drive"], "1ms"))
        .run()
        .ended();
    run.expect("plan", "channel: rang pose=50 refused=0");
    run.expect("drive", "channel: heard rings=50");
}
