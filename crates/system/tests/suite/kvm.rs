//! Platforms whose VMs run under Linux and KVM.

use std::path::Path;

use system::description::System;
use system::plan;
use system::platform::Platform;

const GOOD: &str = "name = \"host\"\nabout = \"a host\"\narchitecture = \"x86-64\"\nkvm = true\n\
                    [[cpu]]\nmodel = \"x\"\ncount = 2\nmpidr = 1\n\
                    [[memory]]\nstart = 0\nsize = \"1GiB\"\n";

fn mistakes(text: &str) -> String {
    Platform::from_toml("host.toml", text).expect_err("mistakes").to_string()
}

#[test]
fn a_host_runs_vms_without_the_hypervisor() {
    let platform = Platform::from_toml("host.toml", GOOD).unwrap_or_else(|it| panic!("{it}"));
    assert!(platform.kvm && platform.runs() && platform.boot.is_err());
    assert_eq!(platform.cpus.iter().map(|cpu| cpu.mpidr.0).collect::<Vec<_>>(), [1, 2]);
    let board = Platform::named("i7-2600").expect("it is known");
    assert!(!board.kvm && !board.runs());
}

#[test]
fn a_host_is_no_board_and_no_arm() {
    let arm = mistakes(&GOOD.replace("x86-64", "aarch64"));
    assert!(arm.contains("VMs run under KVM on x86-64 only"), "{arm}");
    for key in ["analysis_only = \"why\"", "image_base = 0x1000"] {
        let both = mistakes(&GOOD.replace("kvm = true", &format!("kvm = true\n{key}")));
        assert!(both.contains("Linux runs the VMs of this platform"), "{both}");
    }
    let none = mistakes(&GOOD.replace("kvm = true", "kvm = false"));
    assert!(none.contains("the hypervisor runs on aarch64 only"), "{none}");
}

#[test]
fn systems_on_a_host_have_the_limits_of_what_runs_and_no_plan() {
    let vms = |count: usize| {
        let vm = |index| {
            format!(
                "[[vm]]\nname = \"v{index}\"\nboot = \"raw\"\nmemory = \"1MiB\"\nkernel = \"k\"\n\
                     [[vm.vcpu]]\npcpu = 0\nserver = \"background\"\npriority = {index}\n"
            )
        };
        let text: String = (0..count).map(vm).collect();
        System::from_toml("s.toml", &format!("platform = \"linux-kvm\"\n{text}"), Path::new(""))
    };
    let system = vms(8).unwrap_or_else(|errors| panic!("{errors}"));
    let refused = plan::make(&system).expect_err("no plan").to_string();
    assert!(refused.contains("`bulkhead run --on kvm`"), "{refused}");
    assert_eq!(plan::outline(&system).expect("an outline").vms.len(), 8);
    let more = vms(9).expect_err("too many").to_string();
    assert!(more.contains("a system can have 8 VMs"), "{more}");
}

/// A system of one VM on this platform, with these keys.
fn with_keys(platform: &str, keys: &str) -> Result<System, String> {
    let text = format!(
        "platform = \"{platform}\"\n[[vm]]\nname = \"v\"\nboot = \"raw\"\nmemory = \"1MiB\"\nkernel = \"k\"\n{keys}"
    );
    System::from_toml("s.toml", &text, Path::new("")).map_err(|errors| errors.to_string())
}

#[test]
fn vms_under_kvm_can_have_ways_of_the_cache_and_a_part_of_the_bandwidth() {
    let system = with_keys("linux-kvm", "ways = \"0-2,5\"\nbandwidth_percent = 40\n");
    let system = system.unwrap_or_else(|errors| panic!("{errors}"));
    let shares = &system.vms[0].shares;
    assert_eq!(shares.ways.as_ref().map(|it| it.value.bits()), Some(0b100111));
    assert_eq!(shares.percent.as_ref().map(|it| it.value), Some(40));
    for (platform, keys, says) in [
        ("linux-kvm", "ways = \"0-32\"\n", "`0-32` are no ways"),
        ("linux-kvm", "ways = \"\"\n", "the text is empty"),
        ("linux-kvm", "ways = 3\n", "ways"),
        ("linux-kvm", "bandwidth_percent = 0\n", "1"),
        ("linux-kvm", "bandwidth_percent = 101\n", "100"),
        ("linux-kvm", "ways = \"0\"\ncolors = \"0\"\n", "the VM has `ways`"),
        ("qemu-virt", "ways = \"0\"\n", "a board gives VMs no parts"),
        ("qemu-virt", "bandwidth_percent = 40\n", "a board gives VMs no parts"),
    ] {
        let refused = with_keys(platform, keys).expect_err("a mistake");
        assert!(refused.contains(says), "{keys}: {refused}");
    }
}
