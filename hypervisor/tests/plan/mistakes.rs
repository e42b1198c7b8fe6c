//! The plan of the reference with one mistake each.

use crate::{compile, load, reference};

/// `(what to replace, by what, node, property, part of the message)`
type Mistake = (&'static str, &'static str, &'static str, Option<&'static str>, &'static str);

const MISTAKES: &[Mistake] = &[
    ("plan-v1", "plan-v9", "/", Some("compatible"), "expected \"bulkhead,plan-v1\""),
    ("board =", "bord =", "/platform", None, "unknown property bord"),
    ("gic-version = <3>", "gic-version = <2>", "/platform", Some("gic-version"), "is not that of"),
    (
        "hypervisor@40000000 {                         // RAM of the hypervisor: image, blobs, heap
			reg = <0x0 0x40000000",
        "hypervisor@40000000 {
			reg = <0x0 0x30000000",
        "/platform/hypervisor@40000000",
        Some("reg"),
        "does not lie in one memory bank",
    ),
    ("pcpu = <1>", "pcpu = <9>", "/vms/vm@0/vcpus/vcpu@1", Some("pcpu"), "PCPUs 0 to 3"),
    (
        "pcpu = <1>",
        "pcpu = <0>",
        "/vms/vm@0/vcpus/vcpu@1",
        Some("pcpu"),
        "runs a VCPU of linux already",
    ),
    (
        "vm-name = \"linux\"",
        "vm-name = \"Linux!\"",
        "/vms/vm@0",
        Some("vm-name"),
        "1 to 15 characters",
    ),
    (
        "on-crash = \"stop\"",
        "on-crash = \"panic\"",
        "/vms/vm@0",
        Some("on-crash"),
        "\"stop\" or \"restart\"",
    ),
    ("restart-limit", "restart-limits", "/vms/vm@0", None, "unknown property restart-limits"),
    (
        "host-reg = <0x0 0x46000000",
        "host-reg = <0x0 0x44000000",
        "/vms/vm@0/memory@40000000",
        Some("host-reg"),
        "which belongs to the hypervisor",
    ),
    (
        "host-reg = <0x0 0x46000000 0x0 0x20000000>",
        "host-reg = <0x0 0x70000000 0x0 0x20000000>",
        "/vms/vm@0/memory@40000000",
        Some("host-reg"),
        "does not lie in one memory bank",
    ),
    (
        "host-reg = <0x0 0x46000000 0x0 0x20000000>",
        "host-reg = <0x0 0x46000000 0x0 0x10000000>",
        "/vms/vm@0/memory@40000000",
        Some("host-reg"),
        "must be equal",
    ),
    (
        "host-reg = <0x0 0x46000000 0x0 0x20000000>",
        "host-reg = <0x0 0x46000800 0x0 0x20000000>",
        "/vms/vm@0/memory@40000000",
        Some("host-reg"),
        "not aligned",
    ),
    (
        "host-reg = <0x0 0x09010000",
        "host-reg = <0x0 0x09000000",
        "/vms/vm@0/device@9010000",
        Some("host-reg"),
        "which belongs to the console",
    ),
    (
        "host-reg = <0x0 0x09010000",
        "host-reg = <0x0 0x50000000",
        "/vms/vm@0/device@9010000",
        Some("host-reg"),
        "is RAM",
    ),
    (
        "host-interrupts = <34>",
        "host-interrupts = <33>",
        "/vms/vm@0/device@9010000",
        Some("host-interrupts"),
        "belongs to the console",
    ),
    (
        "host-interrupts = <34>",
        "host-interrupts = <27>",
        "/vms/vm@0/device@9010000",
        Some("host-interrupts"),
        "expected 32 to 1019",
    ),
    (
        "host-interrupts = <34>",
        "host-interrupts = <34 35>",
        "/vms/vm@0/device@9010000",
        Some("host-interrupts"),
        "has 2 interrupts",
    ),
    (
        "entry = <0x0 0x40200000>",
        "entry = <0x0 0x40200002>",
        "/vms/vm@0/boot",
        Some("entry"),
        "instruction",
    ),
    (
        "load = <0x0 0x48000000>",
        "load = <0x0 0x40400000>",
        "/vms/vm@0/boot/initrd",
        Some("load"),
        "overlaps 0x40200000..0x42000000 of /vms/vm@0/boot/kernel",
    ),
    (
        "load = <0x0 0x48000000>",
        "load = <0x0 0x5ff80000>",
        "/vms/vm@0/boot/initrd",
        Some("load"),
        "memory of the VM",
    ),
    ("initrd {", "initrdd {", "/vms/vm@0/boot", None, "unknown node initrdd"),
    (
        "interrupts = <33>;
			};

			device",
        "interrupts = <34>;
			};

			device",
        "/vms/vm@0/device@9010000",
        Some("interrupts"),
        "used twice",
    ),
];

#[test]
fn mistakes_are_refused_with_node_and_property() {
    let good = reference();
    for (from, to, node, property, part) in MISTAKES {
        assert!(good.contains(from), "the reference does not contain {from}");
        let blob = compile(&good.replacen(from, to, 1));
        let error = load(&blob).expect_err(to);
        let at = property.map_or_else(|| format!("{node}: "), |name| format!("{node}: {name}: "));
        let text = error.to_string();
        let problem = text.strip_prefix(&format!("plan: {at}"));
        let problem = problem.unwrap_or_else(|| panic!("{to}: expected {at}, found {text}"));
        assert!(problem.contains(part), "{to}: {text}");
    }
}
