//! `[[channel]]`: its plan, and mistakes.

use system::address::{Ipa, PhysicalAddress};
use system::description::System;
use system::plan::{self, Plan, Rings};

use crate::mistakes::{Mistake, found};

const RIGHT: &str = r#"
platform = "qemu-virt"

[[channel]]
name = "pose"
from = "plan"
to = ["drive", "linux"]
size = "8KiB"

[[channel]]
name = "camera"
from = "linux"
to = ["plan"]
size = "2MiB"
memory_at = 0x7000_0000

[[vm]]
name = "plan"
boot = "raw"
memory = "16MiB"
kernel = "rt.bin"

[[vm]]
name = "drive"
boot = "raw"
memory = "16MiB"
kernel = "rt.bin"

[[vm]]
name = "linux"
memory = "256MiB"
kernel = "vmlinuz"
"#;

/// A line that can be replaced by others.
const SIZE: &str = "size = \"8KiB\"";

fn planned(text: &str) -> Plan {
    let system = System::from_toml("s.toml", text, "".as_ref());
    let plan = system.and_then(|system| plan::make(&system));
    plan.unwrap_or_else(|errors| panic!("{errors}"))
}

#[test]
fn channels_follow_each_other_in_guests_and_lie_behind_the_vms_in_the_machine() {
    let plan = planned(RIGHT);
    let [pose, camera] = &plan.channels[..] else { panic!("{:?}", plan.channels) };
    assert_eq!((pose.from, &*pose.to), (0, &[1, 2][..]));
    assert_eq!((camera.from, &*camera.to), (2, &[0][..]));
    assert_eq!((pose.memory.ipa, camera.memory.ipa), (Ipa(0x3000_0000), Ipa(0x3020_0000)));
    assert_eq!(camera.memory.host, PhysicalAddress(0x7000_0000));
    let vms = plan.vms.iter().map(|vm| vm.memory[0].frames().region);
    assert!(vms.into_iter().all(|ram| !ram.overlaps(&pose.memory.host_region())));
    let ends = |vm| {
        let ends = plan.channels_of(vm).into_iter();
        ends.map(|(_, it, writes)| (it.name.clone(), writes)).collect::<Vec<_>>()
    };
    assert_eq!(ends(0), [("pose".into(), true), ("camera".into(), false)]);
    assert_eq!(ends(1), [("pose".into(), false)]);
    assert_eq!(ends(2), [("pose".into(), false), ("camera".into(), true)]);
}

#[test]
fn a_channel_of_no_size_has_a_page() {
    let plan = planned(&RIGHT.replacen("size = \"8KiB\"\n", "", 1));
    assert_eq!(plan.channels[0].memory.size.0, 4096);
}

/// Where a device of one of its VMs is, a channel is not.
#[test]
fn channels_lie_beside_devices() {
    let device = "[[vm.device]]\ncompatible = \"x\"\naddress = 0x0901_0000\nsize = \"8KiB\"\n";
    let text = format!("{RIGHT}\n{device}guest_address = 0x3000_1000\n");
    let plan = planned(&text);
    let places: Vec<_> = plan.channels.iter().map(|it| it.memory.ipa).collect();
    assert_eq!(places, [Ipa(0x3020_0000), Ipa(0x3040_0000)]);
    // At the end of all addresses there is no place, and no loop without an end.
    let text = format!("{RIGHT}\n{device}guest_address = 0xffff_ffff_ffff_e000\n");
    let system = System::from_toml("s.toml", &text, "".as_ref());
    assert!(system.and_then(|system| plan::make(&system)).is_err());
}

/// Addresses of guest and machine are alike in blocks of 2 MiB: few tables map a large channel.
#[test]
fn a_channel_begins_at_the_same_place_in_a_block() {
    let plan = planned(&RIGHT.replace("0x7000_0000", "0x7000_3000"));
    for channel in &plan.channels {
        let [ipa, host] = [channel.memory.ipa.0, channel.memory.host.0].map(|it| it % (2 << 20));
        assert_eq!(ipa, host, "{channel:?}");
    }
}

/// Also where a planner decides colours.
#[test]
fn channels_at_the_same_place_are_the_ones_to_blame() {
    let text = RIGHT.replace("memory = ", "colors = \"planned\"\nmemory = ");
    let text = text.replacen("size = \"8KiB\"", "memory_at = 0x7000_0000", 1);
    let system = System::from_toml("s.toml", &text, "".as_ref()).expect("a system");
    let errors = plan::check_given(&system).expect_err("both cannot be there").to_string();
    assert!(errors.contains("channel `camera`: ") && errors.contains("channel `pose`"), "{errors}");
    assert!(!errors.contains("frames"), "{errors}");
}

/// Channels lie beside coloured RAM, too, whose areas interleave.
#[test]
fn channels_lie_beside_coloured_ram() {
    let text = RIGHT.replace("memory = ", "colors = \"0-3\"\nshare_colors = true\nmemory = ");
    let text = text.replace("256MiB", "32MiB");
    let plan = planned(&text);
    for channel in &plan.channels {
        for vm in &plan.vms {
            let ram = vm.memory[0].frames().region;
            assert!(!ram.overlaps(&channel.memory.host_region()), "{channel:?} {ram:?}");
        }
    }
}

#[test]
fn mistakes_are_found_where_they_are() {
    let wrong: [Mistake; 22] = [
        ("from = \"plan\"", "from = \"plam\"", "unknown-name", "plam", "did you mean `plan`?"),
        (
            "[\"drive\", \"linux\"]",
            "[\"drive\", \"lunix\"]",
            "unknown-name",
            "lunix",
            "did you mean",
        ),
        (
            "[\"drive\", \"linux\"]",
            "[\"drive\", \"drive\"]",
            "duplicate-name",
            "to =",
            "named twice",
        ),
        ("[\"drive\", \"linux\"]", "[\"drive\", \"plan\"]", "wrong-value", "to =", "two channels"),
        ("[\"drive\", \"linux\"]", "[]", "wrong-value", "to =", "the list is empty"),
        ("to = [\"drive\", \"linux\"]\n", "", "missing-key", "channel", "`to`"),
        ("from = \"plan\"\n", "", "missing-key", "channel", "`from`"),
        ("name = \"pose\"\n", "", "missing-key", "channel", "`name`"),
        ("name = \"pose\"", "name = \"Pose\"", "wrong-value", "Pose", "cannot name a channel"),
        (
            "name = \"camera\"",
            "name = \"pose\"",
            "duplicate-name",
            "pose",
            "two channels are called",
        ),
        ("\"8KiB\"", "\"0B\"", "out-of-range", "size", "write `size = "),
        ("\"8KiB\"", "\"5KiB\"", "out-of-range", "size", "8KiB"),
        ("\"8KiB\"", "\"16MiB\"", "out-of-range", "size", "at most 8 MiB"),
        ("\"8KiB\"", "8192", "missing-unit", "size", ""),
        ("size = \"8KiB\"", "sise = \"8KiB\"", "unknown-key", "sise", "did you mean `size`?"),
        (
            "[[channel]]\nname = \"pose\"",
            "[[chanel]]\nname = \"pose\"",
            "unknown-key",
            "chanel",
            "channel",
        ),
        ("to = [\"plan\"]", "to = [\"plan\"]\nbaud = 9600", "unknown-key", "baud", ""),
        (SIZE, "ring_every = \"19us\"", "out-of-range", "ring_every", "20 us to 3600 s is"),
        (SIZE, "ring_every = 1", "missing-unit", "ring_every", ""),
        (SIZE, "ring_burst = 2", "useless-key", "ring_burst", "add `ring_every"),
        (SIZE, "ring_every = \"1ms\"\nring_burst = 65", "out-of-range", "ring_burst", "1 to 64"),
        (SIZE, "rings_every = \"1ms\"", "unknown-key", "rings_every", "did you mean `ring_every`?"),
    ];
    for mistake in &wrong {
        assert!(found(RIGHT, mistake) > 0);
    }
}

#[test]
fn what_does_not_fit_is_told_in_words_of_the_description() {
    let refused = |from: &str, to: &str| {
        assert!(RIGHT.contains(from), "{from}");
        let text = RIGHT.replacen(from, to, 1);
        let system = System::from_toml("s.toml", &text, "".as_ref()).expect(to);
        plan::make(&system).expect_err(to).to_string()
    };
    let on_hypervisor = refused("0x7000_0000", "0x4000_0000");
    assert!(on_hypervisor.contains("channel `camera`"), "{on_hypervisor}");
    assert!(on_hypervisor.contains("the memory of the hypervisor"), "{on_hypervisor}");
    let no_ram = refused("0x7000_0000", "0x1000_0000");
    assert!(no_ram.contains("channel `camera`: "), "{no_ram}");
    let full = refused("memory = \"256MiB\"", "memory = \"895MiB\"");
    assert!(full.contains("channel `pose`") || full.contains("`linux`"), "{full}");
}

#[test]
fn the_seventeenth_channel_is_refused() {
    let one =
        |index| format!("[[channel]]\nname = \"c{index}\"\nfrom = \"plan\"\nto = [\"drive\"]\n");
    let with = |count: usize| {
        let more: String = (2..count).map(one).collect();
        System::from_toml("s.toml", &format!("{RIGHT}\n{more}"), "".as_ref())
    };
    assert!(with(16).is_ok());
    let errors = with(17).expect_err("one more").to_string();
    assert!(errors.contains("a system can have 16 channels"), "{errors}");
}

/// All VMs of a channel with rings have a bell, each with an interrupt of its own that no device has.
#[test]
fn channels_with_rings_have_bells() {
    let of = |rings: &str| planned(&RIGHT.replacen(SIZE, rings, 1));
    let plain = of(SIZE);
    assert!(plain.vms.iter().all(|vm| vm.bell.is_none()) && plain.channels[0].rings.is_none());
    let ringing = of("ring_every = \"1ms\"\nring_burst = 4");
    let Rings { interval, early } = ringing.channels[0].rings.expect("rings");
    assert_eq!((interval.0, early.0), (1_000_000, 3_000_000));
    assert_eq!(of("ring_every = \"1ms\"").channels[0].rings.map(|it| it.early.0), Some(1_000_000));
    for vm in &ringing.vms {
        let bell = vm.bell.expect("a bell");
        assert_eq!((bell.registers.start, bell.interrupt.0), (Ipa(0x0a02_0000), 35));
    }
    let taken = "kernel = \"rt.bin\"\n[[vm.device]]\ncompatible = [\"arm,pl031\"]\naddress = 0x0901_0000\n\
                 size = \"4KiB\"\ninterrupt = 34\nguest_interrupt = 35\n\n[[vm]]\nname = \"drive\"";
    let text = RIGHT.replacen(SIZE, "ring_every = \"1ms\"", 1);
    let text = text.replacen("kernel = \"rt.bin\"\n\n[[vm]]\nname = \"drive\"", taken, 1);
    assert_eq!(planned(&text).vms[0].bell.map(|it| it.interrupt.0), Some(36));
}
