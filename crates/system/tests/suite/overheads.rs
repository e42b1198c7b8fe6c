//! What the hypervisor takes of the time: read, and given to it in the plan.

use std::path::Path;

use system::description::System;
use system::diagnostic::Errors;
use system::plan::{self, Plan};
use system::platform::{NAMES, Overheads, Platform};
use units::Duration;

/// Of a machine with a GICv3, and with a GICv2.
const TIMES: [u64; 8] = [1_500, 1_000, 2_500, 900, 5_000, 8_000, 5_000, 30_000];
const TIMES_GICV2: [u64; 8] = [1_500, 1_000, 1_700, 900, 5_000, 8_000, 5_000, 30_000];

fn read(platform: &str, vcpus: &str) -> Result<System, Errors> {
    let text = format!(
        "{platform}\n[[vm]]\nname = \"a\"\nboot = \"raw\"\nmemory = \"1MiB\"\nkernel = \"k\"\n{vcpus}"
    );
    System::from_toml("s.toml", &text, Path::new(""))
}

fn shared() -> String {
    let vcpu = "[[vm.vcpu]]\npcpu = 0\nserver = \"periodic\"\nbudget = \"1ms\"\nperiod = \"4ms\"\n";
    vcpu.repeat(2)
}

fn overheads(platform: &str) -> [u64; 8] {
    let system = read(platform, "").unwrap_or_else(|errors| panic!("{errors}"));
    system.platform.value.overheads.unwrap().times().map(|time| time.0)
}

#[test]
fn machines_of_qemu_have_overheads_and_boards_have_none() {
    for name in NAMES {
        let platform = Platform::named(name).unwrap();
        let times = platform.overheads.map(|it| it.times().map(|time| time.0));
        let is_qemu = name.starts_with("qemu");
        let expected = if *name == "qemu-virt" { TIMES } else { TIMES_GICV2 };
        assert_eq!(times, is_qemu.then_some(expected), "{name}");
    }
}

/// Who holds the interrupt controller of a VM looks at all of its interrupts. The interrupt of a
/// device takes its lock twice, and where two VCPUs are on its PCPU, four times.
#[test]
fn waits_for_siblings_grow_with_shared_interrupts() {
    let waits = |vcpus: u64, interrupt: u64| {
        let device = format!(
            "vcpus = {vcpus}\n[[vm.device]]\ncompatible = [\"x\"]\naddress = 0x0901_0000\nsize = \"4KiB\"\n\
             interrupt = {interrupt}\n"
        );
        let system = read("platform = \"qemu-virt\"", &device);
        system.unwrap_or_else(|errors| panic!("{errors}")).vms[0].lock_waits()
    };
    assert_eq!(
        [waits(1, 34), waits(4, 34), waits(4, 95), waits(4, 96), waits(2, 160)],
        [0, 8, 8, 16, 8]
    );
    // Without a device nothing takes the lock more than once.
    let system = read("platform = \"qemu-virt\"", "vcpus = 4\n").expect("a system");
    assert_eq!(system.vms[0].lock_waits(), 3);
}

#[test]
fn a_description_gives_some_of_them_or_all() {
    let keys = |keys: &str, board: &str| {
        format!("[platform]\nboard = \"{board}\"\n[platform.overheads]\n{keys}")
    };
    let [.., chunk] = overheads(&keys("chunk = \"80us\"", "qemu-virt"));
    assert_eq!(chunk, 80_000);
    assert_eq!(overheads(&keys("chunk = \"80us\"", "qemu-virt"))[..7], TIMES[..7]);
    let all: String = Overheads::KEYS
        .iter()
        .zip(1..)
        .map(|(key, time)| format!("{key} = \"{time}us\"\n"))
        .collect();
    assert_eq!(overheads(&keys(&all, "zcu102")), [1, 2, 3, 4, 5, 6, 7, 8].map(|time| time * 1_000));
    let errors = read(&keys("chunk = \"80us\"", "zcu102"), "").unwrap_err();
    let missing: Vec<_> = errors.entries().iter().map(|it| it.code).collect();
    assert_eq!(missing, ["missing-key"]);
    let message = &errors.entries()[0].message;
    assert!(message.contains("`switch`, `tick`, ") && message.contains(" and `lock`"), "{message}");
    // A board that is named in short, and a table of it.
    let both = "platform = \"qemu-virt\"\n[platform.overheads]\nchunk = \"80us\"";
    let errors = read(both, "").unwrap_err();
    let [mistake] = &errors.entries()[..] else { panic!("{errors}") };
    assert_eq!(mistake.code, "toml-syntax");
    assert!(errors.to_string().contains("`[platform]` with `board = \"qemu-virt\"`"), "{errors}");
    for wrong in ["0ns", "11ms"] {
        let errors = read(&keys(&format!("kick = \"{wrong}\""), "qemu-virt"), "").unwrap_err();
        assert_eq!(errors.entries()[0].code, "out-of-range", "{wrong}");
    }
}

#[test]
fn the_plan_has_the_switch_where_vcpus_share_a_pcpu() {
    let plan = plan::make(&read("platform = \"qemu-virt\"", &shared()).unwrap()).unwrap();
    assert_eq!(plan.platform.switch, Some(Duration(1_500)));
    // It may wait for the other VCPU.
    assert_eq!(plan.platform.kick, Some(Duration(7_500)));
    let text = plan.to_dts();
    assert!(text.contains("switch-ns = <0x0 0x000005dc>;"), "{text}");
    assert_eq!(Plan::from_dts("plan.dts", &text).unwrap(), plan);
    assert_eq!(Plan::from_dtb(&plan.to_dtb()).unwrap(), plan);
    for (platform, vcpus) in [("qemu-virt", String::new()), ("zcu102", shared())] {
        let system = read(&format!("platform = \"{platform}\""), &vcpus).unwrap();
        assert_eq!(plan::make(&system).unwrap().platform.switch, None);
    }
    for wrong in ["<0x0 0x0>", "<0x0 0x00989681>", "<0x1 0x0>"] {
        let text = text.replacen("<0x0 0x000005dc>", wrong, 1);
        let errors = Plan::from_dts("plan.dts", &text).unwrap_err();
        assert_eq!(errors.entries()[0].node.as_deref(), Some("/platform: switch-ns"), "{wrong}");
    }
}
