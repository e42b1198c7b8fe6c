//! The hypervisor's reader of plans: accepts the plan of the reference, refuses
//! what cannot hold, names node and property, and never panics.

use std::process::Command;

use hypervisor::arch::counter::width::Width;
use hypervisor::payload::BlobName;
use hypervisor::plan::{
    self, Compensation, MemoryBudget, Plan, Refusal, Source, Tree, Vcpu, VmBudget,
};
use policy::lock::rate::Rate;
use policy::server::{Parameters, Policy};
use policy::time::{Duration, Instant};
use proptest::prelude::*;

/// The plan in the reference, as text.
fn reference() -> String {
    let page = include_str!("../../docs/reference/plan.md");
    let start = page.find("```dts\n").expect("the page has a plan") + "```dts\n".len();
    let end = start + page[start..].find("```").expect("the plan ends");
    page[start..end].to_owned()
}

/// Compiles with dtc: a reader of our own would hide errors that both share.
fn compile(source: &str) -> Vec<u8> {
    let folder = std::env::temp_dir().join(format!(
        "bulkhead-plan-{}-{:?}",
        std::process::id(),
        std::thread::current().id()
    ));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("plan.dts");
    std::fs::write(&path, source).unwrap();
    let output =
        Command::new("dtc").args(["-q", "-O", "dtb"]).arg(&path).output().expect("dtc runs");
    assert!(output.status.success(), "{}\n{source}", String::from_utf8_lossy(&output.stderr));
    std::fs::remove_dir_all(&folder).unwrap();
    output.stdout
}

fn blob_bytes(name: &BlobName<'_>) -> Option<u64> {
    match name.to_string().as_str() {
        "linux/kernel" => Some(30 << 20),
        "linux/initrd" => Some(1 << 20),
        "linux/device-tree" => Some(4096),
        _ => None,
    }
}

fn read(blob: &[u8]) -> Result<Plan<'_>, Refusal<'_>> {
    read_at(blob, 62_500_000)
}

/// On a machine whose counter makes so many ticks in a second.
fn read_at(blob: &[u8], frequency: u32) -> Result<Plan<'_>, Refusal<'_>> {
    plan::read(Tree::new(blob).expect("this is a device tree"), frequency)
}

fn load(blob: &[u8]) -> Result<Plan<'_>, Refusal<'_>> {
    let plan = read(blob)?;
    plan::check(&plan, &blob_bytes)?;
    Ok(plan)
}

#[test]
fn names_that_nothing_depends_on_need_not_be_ascii() {
    let named = reference().replacen("model = \"demo\"", "model = \"k\u{fc}che\"", 1);
    assert_eq!(load(&compile(&named)).unwrap().model, "k\u{fc}che".as_bytes());
    let named = reference().replacen("vm-name = \"linux\"", "vm-name = \"k\u{fc}che\"", 1);
    let blob = compile(&named);
    let error = load(&blob).unwrap_err().to_string();
    assert!(error.contains("vm-name: must be ASCII"), "{error}");
}

#[test]
fn the_plan_of_the_reference_is_accepted() {
    let blob = compile(&reference());
    let plan = load(&blob).unwrap();
    assert_eq!(plan.model, b"demo");
    assert_eq!(plan.platform.cpus, [0, 1, 2, 3]);
    let vm = &plan.vms[0];
    assert_eq!(vm.name, "linux");
    let alone = |pcpu| Vcpu { pcpu, server: None, memory: None, hold: 0, rate: None };
    assert_eq!(vm.vcpus, [alone(0), alone(1)]);
    assert_eq!(vm.memory[0].host.start, 0x4600_0000);
    assert_eq!(vm.devices[0].interrupts, [(34, 34)]);
    assert_eq!(vm.boot.device_tree, 0x47e0_0000);
}

#[test]
fn the_memory_of_the_hypervisor_is_found_without_reading_the_rest() {
    let blob = compile(&reference());
    let range = plan::hypervisor_memory(Tree::new(&blob).unwrap()).unwrap();
    assert_eq!((range.start, range.bytes), (0x4000_0000, 0x0600_0000));
}

/// The plan of the reference for a machine with a GICv2.
fn with_gicv2() -> String {
    let frames = |name: &str, reg: &str| {
        format!(
            "interrupt-controller@{name} {{\n compatible = \"arm,gic-400\"; reg = {reg};\n }};\n"
        )
    };
    let mut text = reference().replace("gic-version = <3>", "gic-version = <2>");
    let nodes = [
        "<0x0 0x08000000 0x0 0x10000>, <0x0 0x08010000 0x0 0x10000>, <0x0 0x08030000 0x0 0x10000>, \
         <0x0 0x08040000 0x0 0x10000>",
        "<0x0 0x08000000 0x0 0x10000>, <0x0 0x08010000 0x0 0x2000>",
    ];
    let mut from = 0;
    for reg in nodes {
        let start = from + text[from..].find("interrupt-controller@").expect("there are two");
        let end = start + text[start..].find("};").expect("it ends") + 2;
        let node = frames("8000000", reg);
        text.replace_range(start..end, &node);
        from = start + node.len();
    }
    text
}

#[test]
fn a_gicv2_is_read() {
    let blob = compile(&with_gicv2());
    let plan = load(&blob).unwrap();
    assert_eq!(plan.platform.gic.version(), 2);
    assert_eq!(plan.platform.gic.frames(true).count(), 3, "the guests' is not the hypervisor's");
    let cpu = plan.vms[0].gic.cpu.expect("a CPU interface");
    assert_eq!((cpu.guest.start, cpu.guest.bytes, cpu.host), (0x0801_0000, 0x2000, 0x0804_0000));
}

#[test]
fn gicv2s_that_cannot_be_are_refused() {
    let refused = |from: &str, to: &str, message: &str| {
        let text = with_gicv2();
        assert!(text.contains(from), "{from} in {text}");
        let blob = compile(&text.replace(from, to));
        let error = load(&blob).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    };
    refused("0x08040000 0x0 0x10000", "0x08040000 0x0 0x1000", "GICC and GICV need 0x2000 bytes");
    refused("0x08010000 0x0 0x2000>", "0x08010000 0x0 0x1000>", "needs 0x1000 and 0x2000 bytes");
    refused("0x08010000 0x0 0x2000>", "0x08010000 0x0 0x3000>", "needs 0x1000 and 0x2000 bytes");
    refused("<2>;", "<3>;", "is not that of the interrupt-controller");
    let text = with_gicv2();
    let last = text.rfind("arm,gic-400").expect("that of the VM");
    let mixed = format!("{}arm,gic-v3{}", &text[..last], &text[last + 11..]);
    let blob = compile(&mixed);
    let error = load(&blob).unwrap_err().to_string();
    assert!(error.contains("must be that of the machine"), "{error}");
}

/// The plan of the reference for a machine without PSCI, whose CPUs wait at these places.
fn with_spin_table(words: [&str; 4], more: &str) -> String {
    let mut text = reference();
    for (cpu, word) in words.iter().enumerate() {
        let from = format!("reg = <0x0 0x{cpu}>; }};");
        let to = format!(
            "reg = <0x0 0x{cpu}>; enable-method = \"spin-table\"; cpu-release-addr = <{word}>; }};"
        );
        assert!(text.contains(&from), "{from} in {text}");
        text = text.replacen(&from, &to, 1);
    }
    text.replacen("serial@9000000", &format!("{more}\nserial@9000000"), 1)
}

const POWER: &str =
    "power-off@9100000 { compatible = \"brcm,bcm2835-pm\"; reg = <0 0x9100000 0 0x1000>; };";

#[test]
fn a_spin_table_is_read() {
    let blob =
        compile(&with_spin_table(["0 0x400000d8", "0 0x10", "0 0x18", "0 0x40001000"], POWER));
    let platform = load(&blob).unwrap().platform;
    assert_eq!(platform.spin_table, [0x4000_00d8, 0x10, 0x18, 0x4000_1000]);
    assert_eq!(platform.power_off.map(|range| range.start), Some(0x0910_0000));
    let psci = compile(&reference());
    let platform = load(&psci).unwrap().platform;
    assert!(platform.spin_table.is_empty() && platform.power_off.is_none());
}

#[test]
fn spin_tables_that_cannot_be_are_refused() {
    let refused = |text: String, message: &str| {
        let blob = compile(&text);
        let error = load(&blob).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    };
    let at = |word| with_spin_table(["0 0xd8", "0 0xe0", "0 0xe8", word], "");
    refused(at("0 0xf4"), "cpu@3: cpu-release-addr: must be a multiple of 8");
    refused(
        at("0 0x46000000"),
        "cpu@3: cpu-release-addr: must lie in the memory of the hypervisor",
    );
    refused(at("0x80 0x0"), "cpu@3: cpu-release-addr: must lie in the memory of the hypervisor");
    let first = "enable-method = \"spin-table\"; cpu-release-addr = <0 0xd8>; ";
    refused(at("0 0xf0").replace(first, ""), "all CPUs must be started in the same way");
    refused(at("0 0xf0").replace("spin-table", "telepathy"), "expected \"spin-table\"");
    let overlap = POWER.replace("9100000", "9010000");
    refused(
        with_spin_table(["0 0xd8", "0 0xe0", "0 0xe8", "0 0xf0"], &overlap),
        "which belongs to the power management",
    );
}

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

/// The reference with RAM in colours 0-7 that the VM sees as a cache.
fn virtual_cache() -> String {
    const LLC: &str = "llc {
        cache-size = <0x100000>; ways = <16>; line-size = <64>; slices = <1>;
        color-mask = <0x0 0xf000>;
    };
    memory@40000000 {";
    let mut text = reference().replacen("memory@40000000 {", LLC, 1);
    for (from, to) in [
        ("0x0 0x40000000 0x0 0x20000000>", "0x0 0x40000000 0x0 0x10000000>"),
        ("0x0 0x46000000 0x0 0x20000000>", "0x0 0x46000000 0x0 0x20280000>; colors = <0x0 0xff>"),
        ("vm-name =", "vllc = <1>; vm-name ="),
    ] {
        assert!(text.contains(from), "{from}");
        text = text.replacen(from, to, 1);
    }
    text
}

#[test]
fn a_virtual_cache_is_a_share_of_the_real_one() {
    for (colors, share) in [("0xff", 1), ("0xffff", 0)] {
        let blob = compile(&virtual_cache().replace("0xff>", &format!("{colors}>")));
        assert_eq!(load(&blob).unwrap().vms[0].cache_share, Some(share), "{colors}");
    }
    let blob = compile(&virtual_cache().replace("vllc = <1>;", ""));
    assert_eq!(load(&blob).unwrap().vms[0].cache_share, None);
}

#[test]
fn virtual_caches_that_cannot_be_are_refused() {
    for (from, to, problem) in [
        ("vllc = <1>", "vllc = <0>", "must be <1>, or not there"),
        ("colors = <0x0 0xff>", "colors = <0x0 0x7>", "needs 1, 2, 4, ... colours"),
        ("color-mask = <0x0 0xf000>", "color-mask = <0x0 0xe000>", "needs colours of one page, "),
        ("0xf000>;", "0xf000>; not-in-registers;", "needs a cache that the CPU's registers"),
        ("0x0 0x40000000 0x0 0x10000000>", "0x0 0x40004000 0x0 0x10000000>", "and RAM aligned"),
    ] {
        let text = virtual_cache();
        assert!(text.contains(from), "{from}");
        let blob = compile(&text.replacen(from, to, 1));
        let error = load(&blob).expect_err(to).to_string();
        let at = "plan: /vms/vm@0: vllc: ";
        assert!(error.starts_with(at) && error.contains(problem), "{error}");
    }
    let blob = compile(&reference().replace("vm-name", "vllc = <1>; vm-name"));
    let error = load(&blob).unwrap_err().to_string();
    assert_eq!(error, "plan: /vms/vm@0: vllc: needs RAM with colors");
}

/// The mask must make sense even though no VM has colours: guests ask how many there are.
#[test]
fn masks_that_cannot_be_are_refused() {
    for mask in ["0x0 0x5000", "0x0 0x1800", "0xffffffff 0xfffff000"] {
        let llc = format!(
            "llc {{ cache-size = <0x100000>; ways = <16>; line-size = <64>; slices = <1>;
                color-mask = <{mask}>; }}; hypervisor@40000000 {{"
        );
        let text = reference().replacen("hypervisor@40000000 {", &llc, 1);
        let error = load(&compile(&text)).expect_err(mask).to_string();
        assert_eq!(error, "plan: /platform/llc: color-mask: must be a few bits above the page");
    }
}

/// The plan with coloured RAM, extra colours 8-11, and a port on which to ask for them.
fn closed_guest() -> String {
    const NODES: &str = "coloring@a000000 {
        compatible = \"bulkhead,coloring\";
        reg = <0x0 0x0a000000 0x0 0x1000>;
        colors = <0x0 0xf00>;
        host-reg = <0x0 0x46000000 0x0 0x20300000>;
        frames = <8192>;
    };
    color-serial@a010000 {
        compatible = \"arm,pl011\";
        reg = <0x0 0x0a010000 0x0 0x1000>;
        interrupts = <35>;
    };
    device@9010000 {";
    // Frames for the state of the pool, too.
    let text = virtual_cache().replace("vllc = <1>; ", "").replace("0x20280000", "0x20300000");
    assert!(text.contains("device@9010000 {"));
    text.replacen("device@9010000 {", NODES, 1)
}

#[test]
fn a_port_for_closed_guests_is_read() {
    let blob = compile(&closed_guest());
    let plan = load(&blob).unwrap();
    let (registers, interrupt) = plan.vms[0].color_serial.expect("the port");
    assert_eq!((registers.start, registers.bytes, interrupt), (0x0a01_0000, 0x1000, 35));
    assert_eq!(plan.vms[0].serial_interrupts().collect::<Vec<_>>(), [33, 35]);
}

#[test]
fn ports_for_closed_guests_that_cannot_be_are_refused() {
    const PORT: &str = "/vms/vm@0/color-serial@a010000";
    for (from, to, problem) in [
        ("interrupts = <35>", "interrupts = <33>", "interrupts: interrupt 33 is used twice"),
        ("interrupts = <35>", "interrupts = <27>", "interrupts: is 27, expected 32 to 1019"),
        ("0x0a010000 0x0", "0x0a000000 0x0", "reg: 0xa000000..0xa001000 overlaps"),
    ] {
        let text = closed_guest();
        assert!(text.contains(from), "{from}");
        let blob = compile(&text.replacen(from, to, 1));
        let error = load(&blob).expect_err(to).to_string();
        assert!(error.starts_with(&format!("plan: {PORT}: {problem}")), "{error}");
    }
    let mut text = closed_guest();
    let start = text.find("coloring@a000000").unwrap();
    text.replace_range(start..text.find("color-serial@").unwrap(), "");
    let error = load(&compile(&text)).unwrap_err().to_string();
    assert_eq!(error, format!("plan: {PORT}: needs the node coloring"));
}

/// The same without a virtual cache and with the hypervisor in colour 15.
fn hypervisor_in_colors() -> String {
    let loaded = "reg = <0x0 0x40000000 0x0 0x06000000>;";
    let own = "colors = <0x0 0x8000>; host-reg = <0x0 0x46000000 0x0 0x04000000>;";
    let text = virtual_cache().replacen("vllc = <1>;", "", 1);
    assert!(text.contains(loaded));
    text.replacen(loaded, &format!("{loaded} {own}"), 1)
}

#[test]
fn the_hypervisor_has_the_frames_of_its_colours() {
    let blob = compile(&hypervisor_in_colors());
    let platform = load(&blob).unwrap().platform;
    let own = platform.own.expect("it has colours");
    assert_eq!(
        (own.frames(), own.stripe.frame(0), own.stripe.frame(1)),
        (1024, 0x4600_f000, 0x4601_f000)
    );
    assert_eq!(platform.hypervisor, own.guest);
    let blob = compile(&virtual_cache());
    assert!(load(&blob).unwrap().platform.own.is_none());
}

#[test]
fn colours_that_the_hypervisor_cannot_have_are_refused() {
    let hypervisor = "/platform/hypervisor@40000000";
    let memory = "/vms/vm@0/memory@40000000";
    for (from, to, node, property, problem) in [
        ("colors = <0x0 0x8000>;", "", hypervisor, "host-reg", "needs colors"),
        ("<0x0 0x8000>", "<0x0 0x18000>", hypervisor, "colors", "must be colours of /platform/llc"),
        (
            "0x0 0x46000000 0x0 0x04",
            "0x0 0x46001000 0x0 0x04",
            hypervisor,
            "host-reg",
            "must start",
        ),
        ("0x0 0x46000000 0x0 0x04", "0x0 0x45f00000 0x0 0x04", hypervisor, "host-reg", "overlaps"),
        (
            "0x0 0x46000000 0x0 0x04",
            "0x1 0x46000000 0x0 0x04",
            hypervisor,
            "host-reg",
            "one memory bank",
        ),
        ("<0x0 0x8000>", "<0x0 0x8080>", memory, "host-reg", "which belongs to the hypervisor"),
        (
            "0x20280000>; colors = <0x0 0xff>;",
            "0x10000000>;",
            memory,
            "colors",
            "the hypervisor has colours of its own",
        ),
    ] {
        let text = hypervisor_in_colors();
        assert!(text.contains(from), "{from}");
        let blob = compile(&text.replacen(from, to, 1));
        let error = load(&blob).expect_err(to).to_string();
        let at = format!("plan: {node}: {property}: ");
        assert!(error.starts_with(&at) && error.contains(problem), "{error}");
    }
}

#[test]
fn a_pool_of_extra_colours_is_read() {
    let blob = compile(&closed_guest());
    let plan = load(&blob).unwrap();
    let vm = &plan.vms[0];
    let coloring = vm.coloring.expect("the pool");
    assert_eq!((coloring.doorbell.start, coloring.doorbell.bytes), (0x0a00_0000, 0x1000));
    assert_eq!((coloring.pool.pages(), coloring.pool.stripe.frame(0)), (8192, 0x4600_8000));
    assert_eq!(vm.areas().count(), 2);
    assert!(vm.warm_up);
    let blob = compile(&closed_guest().replacen("warm-up = <1>;", "", 1));
    assert!(!load(&blob).unwrap().vms[0].warm_up, "pages wait for the first touch");
}

#[test]
fn pools_of_extra_colours_that_cannot_be_are_refused() {
    const POOL: &str = "/vms/vm@0/coloring@a000000";
    for (from, to, problem) in [
        ("bulkhead,coloring", "bulkhead,colors", "compatible: is \"bulkhead,colors\""),
        ("0x0a000000 0x0 0x1000>", "0x0a000000 0x0 0x2000>", "reg: must be one page"),
        ("0x0a000000 0x0 0x1000>", "0x08000000 0x0 0x1000>", "reg: 0x8000000..0x8001000 overlaps"),
        ("<0x0 0xf00>", "<0x0 0x10000>", "colors: must be colours of"),
        ("<0x0 0xf00>", "<0x0 0xf80>", "host-reg: 0x46000000..0x66300000 overlaps"),
        ("frames = <8192>", "frames = <0>", "frames: must not be <0>"),
        (
            "0x20300000>;\n        frames",
            "0x01000000>;\n        frames",
            "host-reg: holds 1024 frames of these colours, 8192 are needed",
        ),
        ("frames = <8192>", "frame = <8192>", "unknown property frame"),
    ] {
        let text = closed_guest();
        assert!(text.contains(from), "{from}");
        let blob = compile(&text.replacen(from, to, 1));
        let error = load(&blob).expect_err(to).to_string();
        let expected = format!("plan: {POOL}: {problem}");
        assert!(error.starts_with(&expected), "{to}: expected {expected}, found {error}");
    }
    let text = closed_guest().replace("0x20300000>; colors = <0x0 0xff>", "0x10000000>");
    let error = load(&compile(&text)).unwrap_err().to_string();
    assert_eq!(error, format!("plan: {POOL}: needs RAM with colors"));
}

/// The reference with both VCPUs on one PCPU: 3 of 10 ms, and what is left.
fn shared_pcpu() -> String {
    let first = "pcpu = <0>; server = \"deferrable\"; budget-ns = <0 3000007>; \
                 period-ns = <0 10000000>; priority = <5>;";
    let second = "pcpu = <0>; server = \"background\"; priority = <1>;";
    let mut text = reference();
    for (from, to) in [("pcpu = <0>;", first), ("pcpu = <1>;", second)] {
        assert!(text.contains(from), "{from}");
        text = text.replacen(from, to, 1);
    }
    text
}

#[test]
fn servers_count_in_ticks_of_the_machine() {
    let blob = compile(&shared_pcpu());
    for (frequency, budget, period) in
        [(62_500_000, 187_500, 625_000), (1_000_000_000, 3_000_007, 10_000_000)]
    {
        let plan = read_at(&blob, frequency).unwrap();
        let server = plan.vms[0].vcpus[0].server.expect("it has one");
        let start = Instant(77);
        assert_eq!(
            server.policy(start),
            Policy::Deferrable(Parameters {
                budget: Duration(budget),
                period: Duration(period),
                start,
                overrun: Duration::ZERO,
            })
        );
        let background = plan.vms[0].vcpus[1].server.expect("it has one");
        assert_eq!(background.policy(start), Policy::Background);
    }
}

#[test]
fn budgets_may_fill_a_pcpu() {
    let three = "vcpu@2 { reg = <2>; pcpu = <0>; server = \"sporadic\"; budget-ns = <0 7000000>; \
                 period-ns = <0 10000000>; priority = <9>; };\n\t\t\t};\n\n\t\t\tmemory@";
    let text = shared_pcpu().replacen("};\n\n\t\t\tmemory@", three, 1);
    // 3 ms and less than a tick, and 7 ms: more than there is, but not in ticks.
    let blob = compile(&text.replacen("0x00040000>", "0x00060000>", 1));
    assert_eq!(load(&blob).unwrap().vms[0].vcpus.len(), 3);
}

#[test]
fn servers_that_cannot_be_are_refused() {
    const BUDGET: &str = "/vms/vm@0/vcpus/vcpu@0";
    const BACKGROUND: &str = "/vms/vm@0/vcpus/vcpu@1";
    const SECOND: &str = "server = \"background\";";
    for (from, to, node, problem) in [
        ("\"deferrable\"", "\"polling\"", BUDGET, "server: is \"polling\", expected \"periodic\""),
        ("server = \"deferrable\";", "", BUDGET, "budget-ns: needs server"),
        ("budget-ns = <0 3000007>;", "", BUDGET, "budget-ns: is missing"),
        ("<0 3000007>", "<0 999>", BUDGET, "budget-ns: must be 1 us"),
        ("<0 3000007>", "<0 10000001>", BUDGET, "budget-ns: must be 1 us to the whole period"),
        (
            "<0 10000000>",
            "<0 10000009>",
            BUDGET,
            "period-ns: 10000009 ns are no whole number of ticks of the counter (62500000 Hz), \
             10000016 are",
        ),
        ("<0 10000000>", "<14 10000000>", BUDGET, "period-ns: is longer than one minute"),
        ("priority = <5>;", "", BUDGET, "priority: is missing"),
        (
            "priority = <1>",
            "priority = <5>",
            BACKGROUND,
            "priority: is 5, as that of a VCPU of linux",
        ),
        ("priority = <1>", "priority = <6>", BACKGROUND, "priority: puts a background VCPU"),
        (SECOND, "server = \"background\"; budget-ns = <0 1000>;", BACKGROUND, "budget-ns: has no"),
        (
            SECOND,
            "server = \"periodic\"; budget-ns = <0 7001000>; period-ns = <0 10000000>;",
            BACKGROUND,
            "budget-ns: is more than the VCPUs before leave",
        ),
        ("server = \"background\"; priority = <1>;", "", BACKGROUND, "pcpu: PCPU 0 runs a VCPU of"),
    ] {
        let text = shared_pcpu();
        assert!(text.contains(from), "{from}");
        let blob = compile(&text.replacen(from, to, 1));
        let error = load(&blob).expect_err(to).to_string();
        let expected = format!("plan: {node}: {problem}");
        assert!(error.starts_with(&expected), "{to}: expected {expected}, found {error}");
    }
    let blob = compile(&shared_pcpu());
    let slow = read_at(&blob, 300).unwrap_err().to_string();
    assert!(slow.contains("budget-ns: is less than a tick of the counter"), "{slow}");
}

/// The reference with a budget for a VCPU: 1,000 accesses in 1 ms.
fn counted() -> String {
    let counter = "bandwidth-counter { source = \"pmu\"; event = <0x19>; bits = <32>; \
                   interrupts = <23>; };\n\n\t\tserial@9000000 {\n\t\t\tcompatible = \"arm,pl011\";   ";
    let budget = "pcpu = <1>; memory-budget = <0 1000>; memory-period-ns = <0 1000000>;";
    let mut text = reference();
    for (from, to) in [
        ("serial@9000000 {\n\t\t\tcompatible = \"arm,pl011\";   ", counter),
        ("pcpu = <1>;", budget),
    ] {
        assert!(text.contains(from), "{from}");
        text = text.replacen(from, to, 1);
    }
    text
}

#[test]
fn memory_budgets_are_read() {
    let blob = compile(&counted());
    let plan = load(&blob).unwrap();
    let counter = plan.platform.counter.as_ref().expect("it is there");
    assert_eq!((counter.source, counter.width), (Source::Event(0x19), Width::BITS_32));
    assert_eq!([0, 3].map(|pcpu| counter.interrupt(pcpu)), [23, 23]);
    let budget = MemoryBudget { accesses: 1000, period: Duration(62_500) };
    let vm = &plan.vms[0];
    assert_eq!([vm.vcpus[0].memory, vm.vcpus[1].memory], [None, Some(budget)]);
    assert_eq!((vm.memory_budget, vm.critical), (None, false));
    assert!(vm.time_page().is_some(), "time is stolen from a VCPU that waits for memory");

    let shared = counted()
        .replacen("\"pmu\"; event = <0x19>; bits = <32>", "\"cycles\"; bits = <64>", 1)
        .replacen("<23>", "<40 41 42 43>", 1)
        .replacen("memory-budget = <0 1000>; memory-period-ns = <0 1000000>;", "", 1)
        .replacen(
            "restart-limit",
            "memory-budget = <1 0>; memory-period-ns = <0 2000000>; compensation = <3>; \
             flush-task-switch; critical; restart-limit",
            1,
        );
    let blob = compile(&shared);
    let plan = read(&blob).unwrap();
    let counter = plan.platform.counter.as_ref().expect("it is there");
    assert_eq!((counter.source, counter.width), (Source::Cycles, Width::BITS_64));
    assert_eq!([0, 3].map(|pcpu| counter.interrupt(pcpu)), [40, 43]);
    let budget = MemoryBudget { accesses: 1 << 32, period: Duration(125_000) };
    let compensation = Some(Compensation { periods: 3, flush_task_switch: true });
    assert_eq!(plan.vms[0].memory_budget, Some(VmBudget { budget, compensation }));
    assert!(plan.vms[0].critical);
    // Not to its own advantage.
    let error = plan::check(&plan, &blob_bytes).unwrap_err().to_string();
    assert!(
        error.contains("/vms/vm@0: compensation: needs another VM that is critical"),
        "{error}"
    );
}

#[test]
fn memory_budgets_that_cannot_be_are_refused() {
    const COUNTER: &str = "/platform/bandwidth-counter";
    const VCPU: &str = "/vms/vm@0/vcpus/vcpu@1";
    const VM: &str = "/vms/vm@0";
    const LIMIT: &str = "restart-limit";
    for (from, to, node, problem) in [
        ("\"pmu\"", "\"amu\"", COUNTER, "source: is \"amu\", expected \"pmu\" or \"cycles\" or"),
        ("\"pmu\"", "\"cycles\"", COUNTER, "event: has a meaning with source = \"pmu\" only"),
        ("event = <0x19>;", "", COUNTER, "event: is missing"),
        ("event = <0x19>", "event = <0x10000>", COUNTER, "event: must be <0> to <0xffff>"),
        ("bits = <32>", "bits = <48>", COUNTER, "bits: must be <32> or <64>"),
        ("<23>", "<26>", COUNTER, "interrupts: must be a free private interrupt"),
        ("<23>", "<40 41>", COUNTER, "interrupts: must be a free private interrupt"),
        ("<23>", "<40 41 42 22>", COUNTER, "interrupts: is 22, expected 32 to 1019"),
        ("<23>", "<40 41 42 40>", COUNTER, "interrupts: interrupt 40 is used twice"),
        ("<23>", "<40 41 42 33>", COUNTER, "interrupts: interrupt 33 is used twice"),
        (
            "<0 1000>",
            "<0 0>",
            VCPU,
            "memory-budget: 0 accesses, expected 1 to 2147483648 in a period",
        ),
        ("<0 1000>", "<0 0x80000001>", VCPU, "memory-budget: 2147483649 accesses, expected 1 to"),
        (
            "<0 1000000>",
            "<0 19999>",
            VCPU,
            "memory-period-ns: is 19999 ns, expected at least 20000",
        ),
        ("<0 1000000>", "<14 0>", VCPU, "memory-period-ns: is 60129542144 ns, expected at least"),
        ("<0 1000000>", "<0 1000001>", VCPU, "memory-period-ns: 1000001 ns are no whole number"),
        ("memory-budget = <0 1000>;", "", VCPU, "memory-period-ns: needs memory-budget"),
        ("memory-period-ns = <0 1000000>;", "", VCPU, "memory-period-ns: is missing"),
        (LIMIT, "flush-task-switch; restart-limit", VM, "flush-task-switch: needs memory-budget"),
        (LIMIT, "compensation = <2>; restart-limit", VM, "compensation: needs memory-budget"),
        (
            LIMIT,
            "memory-budget = <0 9>; memory-period-ns = <0 1000000>; restart-limit",
            VCPU,
            "memory-budget: the VM has a budget for all of its VCPUs together",
        ),
        (
            LIMIT,
            "memory-budget = <0 9>; memory-period-ns = <0 1000000>; compensation = <1>; \
             restart-limit",
            VM,
            "compensation: must be <2> or more",
        ),
    ] {
        let text = counted();
        assert!(text.contains(from), "{from}");
        let blob = compile(&text.replacen(from, to, 1));
        let error = load(&blob).expect_err(to).to_string();
        let expected = format!("plan: {node}: {problem}");
        assert!(error.starts_with(&expected), "{to}: expected {expected}, found {error}");
    }
    let critical = reference().replacen("restart-limit", "critical; restart-limit", 1);
    let budget = "pcpu = <1>; memory-budget = <0 1>; memory-period-ns = <0 1000000>;";
    let budget = reference().replacen("pcpu = <1>;", budget, 1);
    for (text, place) in
        [(critical, VM.to_owned() + ": critical"), (budget, VCPU.to_owned() + ": memory-budget")]
    {
        let error = load(&compile(&text)).unwrap_err().to_string();
        assert_eq!(error, format!("plan: {place}: needs the node /platform/bandwidth-counter"));
    }
    // The interrupts of a counter are no devices'.
    let text = counted().replacen("<23>", "<34 41 42 43>", 1);
    let error = load(&compile(&text)).unwrap_err().to_string();
    assert!(
        error.ends_with("interrupt 34 belongs to the counter of memory accesses already"),
        "{error}"
    );
}

#[test]
fn a_missing_blob_is_named() {
    let blob = compile(&reference());
    let plan = read(&blob).unwrap();
    let error = plan::check(&plan, &|_| None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "plan: /vms/vm@0/boot/kernel: the image has no blob linux/kernel"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn damaged_trees_never_panic(flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8)) {
        static TREE: std::sync::OnceLock<Vec<u8>> = std::sync::OnceLock::new();
        let mut tree = TREE.get_or_init(|| compile(&reference())).clone();
        for (at, value) in flips {
            let at = at.index(tree.len());
            tree[at] = value;
        }
        if let Some(read) = Tree::new(&tree) {
            let _ = plan::hypervisor_memory(read);
            if let Err(error) = load(&tree) {
                prop_assert!(error.to_string().starts_with("plan: /"));
            }
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(Tree::new(&bytes).is_none());
    }
}

const RESOURCES: &str = "	resources {
		#address-cells = <1>;
		#size-cells = <0>;
		resource@0 { reg = <0>; resource-name = \"bus\"; vms = <0>; };
		resource@1 { reg = <1>; resource-name = \"log\"; vms = <0>; };
	};

	vms {";

#[test]
fn resources_are_read_and_refused() {
    let good = reference().replacen("	vms {", RESOURCES, 1);
    let blob = compile(&good);
    let plan = load(&blob).unwrap();
    assert!(plan.locks.ceilings);
    let names: Vec<_> = plan.locks.resources.iter().map(|it| (it.name, it.vms)).collect();
    assert_eq!(names, [("bus", 1), ("log", 1)]);
    let blob = compile(&good.replacen("model =", "locks = \"mpcp\";\n	model =", 1));
    assert!(!load(&blob).unwrap().locks.ceilings);
    for (from, to, node, part) in [
        ("\"log\"", "\"bus\"", "/resources/resource@1", "another resource"),
        ("\"log\"", "\"L\"", "/resources/resource@1", "1 to 15 characters"),
        ("vms = <0>", "vms = <1>", "/resources/resource@0", "VMs that exist"),
        ("vms = <0>", "vms = <0 0>", "/resources/resource@0", "ascending"),
        ("vms = <0>", "vms = <0xffffffff>", "/resources/resource@0", "VMs that exist"),
        ("resource-name", "resource-nam", "/resources/resource@0", "unknown property"),
    ] {
        let blob = compile(&good.replacen(from, to, 1));
        let error = load(&blob).expect_err(to).to_string();
        assert!(error.contains(node) && error.contains(part), "{to}: {error}");
    }
}

#[test]
fn overrun_is_in_ticks_and_fits() {
    let vcpu = |more: &str| {
        let server = format!(
            "vcpu@0 {{ reg = <0>; pcpu = <0>; server = \"deferrable\"; priority = <1>;
             budget-ns = <0x0 3000000>; period-ns = <0x0 10000000>; {more} }};"
        );
        compile(&reference().replacen("vcpu@0 { reg = <0>; pcpu = <0>; };", &server, 1))
    };
    let blob = vcpu("overrun-ns = <0x0 1000008>;");
    let server = load(&blob).unwrap().vms[0].vcpus[0].server.unwrap();
    let Policy::Deferrable(parameters) = server.policy(Instant(0)) else { panic!("{server:?}") };
    assert_eq!((parameters.budget, parameters.overrun), (Duration(187_500), Duration(62_500)));
    let blob = vcpu("overrun-ns = <0x0 7000001>;");
    let error = load(&blob).expect_err("too long").to_string();
    assert!(error.contains("vcpu@0: overrun-ns: is more than the budget leaves"), "{error}");

    // A VCPU can overrun for as long as it may be in sections.
    let found = |text: &str| {
        let blob = vcpu(text);
        let vcpu = load(&blob).unwrap().vms[0].vcpus[0];
        (vcpu.hold, vcpu.rate)
    };
    let limits = |hold: &str, interval: &str, early: &str| {
        let properties =
            [("hold", hold), ("sections-interval", interval), ("sections-early", early)];
        let text = |(name, value)| format!("{name}-ns = /bits/ 64 <{value}>; ");
        properties.into_iter().filter(|it| !it.1.is_empty()).map(text).collect::<String>()
    };
    // And may rather be entered too often.
    let rate = Some(Rate::new(Duration(62_500), Duration(125)));
    assert_eq!(found(&limits("1000008", "1000015", "1999")), (62_500, rate));
    assert_eq!(found(""), (0, None));
    let long = "must be 1 ns to one minute";
    let (often, early) = ("must be 1 us to one hour", "must be at most 2^56 ns");
    for (values, name, why) in [
        (["0", "1000", "0"], "hold", long),
        (["60000000001", "1000", "0"], "hold", long),
        (["1", "999", "0"], "sections-interval", often),
        (["1", "3600000000001", "0"], "sections-interval", often),
        (["1", "1000", "72057594037927937"], "sections-early", early),
        (["1", "", "0"], "sections-interval", "is missing"),
        (["1", "1000", ""], "sections-early", "is missing"),
        (["", "1000", ""], "sections-interval", "needs hold-ns"),
        (["", "", "0"], "sections-early", "needs hold-ns"),
    ] {
        let blob = vcpu(&limits(values[0], values[1], values[2]));
        let error = load(&blob).expect_err("no limits");
        let text = format!("vcpu@0: {name}-ns: {why}");
        assert!(error.to_string().contains(&text), "{text}: {error}");
    }
}
