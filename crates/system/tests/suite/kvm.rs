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
