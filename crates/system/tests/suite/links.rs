//! Links between VMs: what the plan gives them, and one message for each mistake, at its line.

use std::path::Path;

use policy::channel::{Bucket, Parameters};
use policy::time;
use system::description::System;
use system::plan::{Mac, Plan, Rings};
use units::{Bytes, Duration, Rate};

use crate::talk::made;

const SYSTEM: &str = r#"platform = "qemu-virt"

[[link]]
name = "lan"
between = ["plan", "drive"]
macs = ["02:00:00:00:00:0a", "02:00:00:00:00:0b"]
rate = "10MB/s"
burst = "32KiB"
interrupt_every = "2ms"
interrupt_burst = 3

[[vm]]
name = "drive"
boot = "raw"
memory = "16MiB"
kernel = "drive.bin"

[[vm]]
name = "plan"
boot = "raw"
memory = "16MiB"
kernel = "plan.bin"
"#;

#[test]
fn each_end_has_registers_an_interrupt_and_an_address_of_its_own() {
    let plan = made(SYSTEM).expect("it is right");
    let link = &plan.links[0];
    assert_eq!(
        (link.name.as_str(), link.vms, link.registers.start.0),
        ("lan", [0, 1], 0x0a04_0000)
    );
    assert_eq!(link.interrupts.map(|it| it.0), [36, 36]);
    // In the order of the VMs, not of `between`.
    assert_eq!(link.macs.map(|it| it.to_string()), ["02:00:00:00:00:0b", "02:00:00:00:00:0a"]);
    assert_eq!((link.rate, link.burst), (Rate(10_000_000), Bytes(32_768)));
    let tells = Rings { interval: Duration(2_000_000), early: Duration(4_000_000) };
    assert_eq!(link.tells, tells);
    let again = Plan::from_dtb(&plan.to_dtb()).expect("it is read again");
    assert_eq!(again, plan);
    assert_eq!(Plan::from_dts("plan.dts", &plan.to_dts()).expect("it is read again"), plan);
}

#[test]
fn what_the_description_does_not_say_is_chosen() {
    let more = "[[serial]]\nbetween = [\"drive\", \"plan\"]\n\n[[link]]\nname = \"wan\"\n\
                between = [\"drive\", \"plan\"]\nrate = \"1kB/s\"\n\n[[vm]]\nname = \"drive\"";
    let plan = made(&SYSTEM.replacen("[[vm]]\nname = \"drive\"", more, 1)).expect("it is right");
    let link = &plan.links[1];
    assert_eq!(link.registers.start.0, 0x0a04_1000);
    // Behind that of the serial line, and that of the first link.
    assert_eq!(link.interrupts.map(|it| it.0), [38, 38]);
    assert_eq!(link.macs, [1, 2].map(|end| Mac([2, b'b', b'h', 0, 1, end])));
    assert_eq!((link.burst, link.tells.interval), (Bytes(65_536), Duration(1_000_000)));
    assert_eq!(link.tells.early, Duration(1_000_000));
}

#[test]
fn each_mistake_is_one_message_at_its_place() {
    for (right, wrong, code, place, part) in [
        ("[[link]]", "[link]", "wrong-type", "3:1", "write a header `[[link]]`"),
        ("[[link]]", "[[links]]", "unknown-key", "3:3", "did you mean `link`?"),
        ("name = \"lan\"\n", "", "missing-key", "3:1", "add `name = "),
        ("\"lan\"", "\"the lan\"", "wrong-value", "4:8", "1 to 15 characters"),
        ("between = [\"plan\", \"drive\"]\n", "", "missing-key", "3:1", "add `between = "),
        ("\"plan\", \"drive\"]", "\"plan\", \"dryve\"]", "unknown-name", "5:20", "`drive`?"),
        ("\"plan\", \"drive\"]", "\"plan\", \"plan\"]", "duplicate-name", "5:20", "two different"),
        ("\"plan\", \"drive\"]", "\"plan\"]", "wrong-value", "5:1", "name the two"),
        ("\"02:00:00:00:00:0a\"", "\"03:00:00:00:00:0a\"", "wrong-value", "6:9", "is even"),
        ("\"02:00:00:00:00:0a\"", "\"00:00:00:00:00:00\"", "wrong-value", "6:9", "is even"),
        ("\"02:00:00:00:00:0a\"", "\"02:00:00:00:00\"", "wrong-value", "6:9", "six bytes"),
        ("\"02:00:00:00:00:0a\"", "\"02:00:00:00:00:+a\"", "wrong-value", "6:9", "six bytes"),
        ("00:0b\"", "00:0a\"", "wrong-value", "6:1", "give each end its own"),
        (", \"02:00:00:00:00:0b\"]", "]", "wrong-value", "6:1", "one for each end"),
        ("rate = \"10MB/s\"\n", "", "missing-key", "3:1", "add `rate = "),
        ("\"10MB/s\"", "\"999B/s\"", "out-of-range", "7:8", "1 kB/s to 10 GB/s"),
        ("\"10MB/s\"", "\"11GB/s\"", "out-of-range", "7:8", "1 kB/s to 10 GB/s"),
        ("\"10MB/s\"", "\"10ms\"", "wrong-unit", "7:8", "MB/s"),
        ("\"32KiB\"", "\"1KiB\"", "out-of-range", "8:9", "1514 B to 1 MiB"),
        ("\"32KiB\"", "\"2MiB\"", "out-of-range", "8:9", "1514 B to 1 MiB"),
        ("\"2ms\"", "\"0ms\"", "out-of-range", "9:19", "20 us to 3600 s"),
        ("interrupt_every", "interrupts_every", "unknown-key", "9:1", "did you mean"),
        ("interrupt_burst = 3", "interrupt_burst = 0", "out-of-range", "10:19", "1 to 64"),
        ("interrupt_burst = 3", "interrupt_burst = 65", "out-of-range", "10:19", "1 to 64"),
    ] {
        let errors = made(&SYSTEM.replacen(right, wrong, 1)).expect_err(wrong);
        let text = errors.to_string();
        assert_eq!(errors.into_vec().len(), 1, "{wrong}: {text}");
        let at = format!("talk.toml:{place}");
        assert!(
            text.contains(code) && text.contains(&at) && text.contains(part),
            "{wrong}: {text}"
        );
    }
    let one =
        SYSTEM.split_once("[[vm]]").expect("a VM").0.split_once("[[link]]").expect("a link").1;
    let many: String = (1..9)
        .map(|index| format!("[[link]]{}", one.replace("\"lan\"", &format!("\"l{index}\""))))
        .collect();
    let errors = made(&SYSTEM.replacen("[[vm]]", &format!("{many}[[vm]]"), 1)).expect_err("nine");
    let text = errors.to_string();
    assert_eq!(errors.into_vec().len(), 1, "{text}");
    assert!(text.contains("can have 8 links"), "{text}");
}

/// Frames are copied to where pages are at home: they may not move.
#[test]
fn a_vm_with_a_link_has_no_pages_that_move() {
    let colors = "colors = \"0-3\"\nextra_colors = \"4-7\"\nextra_memory = \"4MiB\"\n";
    let text =
        SYSTEM.replacen("kernel = \"plan.bin\"\n", &format!("kernel = \"plan.bin\"\n{colors}"), 1);
    let errors = made(&text).expect_err("it moves pages");
    let text = errors.to_string();
    assert!(text.contains("not-with-link") && text.contains("its pages move"), "{text}");
}

/// Tasks are counted beside links, but not where memory accesses and lines in the cache are counted apart from execution times.
#[test]
fn a_vm_with_a_link_has_tasks_whose_times_include_memory() {
    const TASK: &str = "[[vm.task]]\nname = \"t\"\nperiod = \"10ms\"\nwcet = \"1ms\"\n";
    let on_platform = |more: &str| {
        let platform = format!("[platform]\nboard = \"qemu-virt\"\n{more}");
        SYSTEM.replacen(
            "platform = \"qemu-virt\"\n",
            if more.is_empty() { "platform = \"qemu-virt\"\n" } else { &platform },
            1,
        )
    };
    let with = |top: &str, of_vm: &str, more: &str| {
        let text = on_platform(top);
        let plan = format!("kernel = \"plan.bin\"\n{of_vm}{TASK}{more}");
        made(&text.replacen("kernel = \"plan.bin\"\n", &plan, 1))
    };
    with("", "", "").expect("it is counted");
    with("color_reload = \"0us\"\n", "", "").expect("nothing is apart");
    for (top, of_vm, more, place, part) in [
        ("", "", "accesses = 100\n", "27:12", "accesses of frames"),
        ("", "bandwidth = \"100MB/s\"\n", "", "23:13", "accesses of frames"),
        ("", "critical = true\n", "", "23:1", "accesses of frames"),
        ("", "[[vm.vcpu]]\nbandwidth = \"100MB/s\"\n", "", "24:13", "accesses of frames"),
        ("color_reload = \"100us\"\n", "", "", "3:16", "frames evict"),
        ("", "vcpus = 2\n", "", "19:8", "give it one VCPU"),
        ("", "vcpus = \"planned\"\n", "", "19:8", "give it one VCPU"),
    ] {
        let errors = with(top, of_vm, more).expect_err(part);
        let text = errors.to_string();
        assert_eq!(errors.into_vec().len(), 1, "{text}");
        assert!(text.contains("not-with-link") && text.contains(part), "{text}");
        assert!(text.contains(&format!("talk.toml:{place}")), "{text}");
    }
    // A VM without a task is what it was.
    let text = on_platform("color_reload = \"100us\"\n");
    made(&text.replacen("kernel = \"plan.bin\"\n", "kernel = \"plan.bin\"\ncritical = true\n", 1))
        .expect("no task is there");
}

/// An end that sends as much as its limit lets it, whatever the clock: in no window does it send more than is counted, nor much less if all
/// frames are short.
#[test]
fn as_many_frames_are_counted_as_the_limit_lets_through() {
    for (rate, burst) in
        [(1_000, 1_514), (999_983, 4_096), (10_000_000, 65_536), (9_999_999_967, 1 << 20)]
    {
        let text = SYSTEM.replacen("\"10MB/s\"", &format!("\"{rate}B/s\""), 1).replacen(
            "\"32KiB\"",
            &format!("\"{burst}B\""),
            1,
        );
        let system = System::from_toml("s.toml", &text, Path::new("")).expect("it is right");
        let Rings { interval, early } = system.links[0].frames();
        for frequency in [62_500_000, 54_000_000, 99_999_989, 1_000_000_000u64] {
            let tick = 1_000_000_000u64.div_ceil(frequency);
            for bytes in [64, 100, 127, 128, 1_514] {
                let period = time::Duration(frequency);
                let limit = Parameters { tokens: rate, period, burst };
                let mut bucket = Bucket::new(limit).expect("a limit");
                let mut now = time::Instant(0);
                for sent in 1..burst / bytes + 500 {
                    now = bucket.available(bytes, now).expect("the bucket holds a frame");
                    assert!(bucket.take(bytes, now));
                    // From the last moment of the first tick to the first one of this one.
                    let ns = u128::from(now.0.saturating_sub(1)) * 1_000_000_000;
                    let window = (ns / u128::from(frequency)) as u64;
                    let counted = 1 + (window + tick + early.0) / interval.0;
                    let frames = sent * (bytes / 64);
                    assert!(frames <= counted, "{sent} of {bytes} at {rate} in {window}");
                    // The interval of the highest rate is 6 ns in place of 6.4.
                    let few = bytes == 64
                        && now.0 > 0
                        && counted > frames + frames / 12 + 2 * tick / interval.0 + 2;
                    assert!(!few, "{frames} {counted} at {rate} in {window}");
                }
            }
        }
    }
}
