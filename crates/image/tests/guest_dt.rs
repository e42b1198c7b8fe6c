//! Device trees of guests, as `dtc` and the device-tree reader see them.

use std::io::Write;
use std::process::{Command, Stdio};

use dtoolkit::fdt::Fdt;
use dtoolkit::{Node, Property};
use image::guest_dt::{Shared, generate};
use policy::color::{Cache, Geometry, IndexBits};
use system::address::{IntId, Ipa, PhysicalAddress, Region};
use system::plan::{
    Area, Channel, Coloring, Link, Llc, Mac, Mapping, Pool, Rings, SerialLine, VirtualDevice,
    VirtualGic, Vm,
};
use testing::files;
use units::{Bytes, Duration, Rate};

/// A channel that the VM writes, or reads.
fn reads(index: usize, channel: &Channel, writes: bool) -> Shared<'_> {
    Shared { channels: vec![(index, channel, writes)], ..Shared::default() }
}

fn linux() -> Vm {
    files::plan().vms.remove(0)
}

/// What `dtc` makes of a flattened tree. It must find nothing to warn of.
fn decompile(dtb: &[u8]) -> String {
    let mut dtc = Command::new("dtc")
        .args(["-I", "dtb", "-O", "dts"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("dtc (package device-tree-compiler) starts");
    dtc.stdin.take().expect("a pipe").write_all(dtb).expect("dtc reads");
    let output = dtc.wait_with_output().expect("dtc ends");
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && messages.is_empty(), "{messages}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn linux_finds_everything_that_the_plan_gives_it() {
    let dtb = generate(&linux(), None, Some("arm,cortex-a53"), Some(5001), &Shared::default())
        .expect("a tree");
    let dts = decompile(&dtb);
    for part in [
        "bootargs = \"console=ttyAMA0 quiet\";",
        "linux,initrd-start = <0x00 0x44000000>;",
        "linux,initrd-end = <0x00 0x44001389>;",
        "stdout-path = \"serial0:115200n8\";",
        "serial0 = \"/serial@9000000\";",
        "compatible = \"arm,psci-1.0\\0arm,psci-0.2\";",
        "method = \"hvc\";",
        "reg = <0x00 0x8000000 0x00 0x10000 0x00 0x80a0000 0x00 0x40000>;",
        "interrupts = <0x01 0x0d 0x04 0x01 0x0e 0x04 0x01 0x0b 0x04 0x01 0x0a 0x04>;",
        "compatible = \"arm,pl031\\0arm,primecell\";",
        "compatible = \"bulkhead,hypervisor\";",
    ] {
        assert!(dts.contains(part), "{part} is not in:\n{dts}");
    }
    assert_eq!(dts.matches("enable-method = \"psci\";").count(), 2);
    assert_eq!(dts.matches("compatible = \"arm,cortex-a53\";").count(), 2);
}

#[test]
fn colors_of_the_machine_do_not_show_in_the_guest() {
    let mut colored = linux();
    let (colors, area) = ("0-3".parse().expect("colours"), Bytes::mib(600));
    colored.memory[0].coloring = Some(Coloring { colors, area });
    assert_eq!(
        generate(&colored, None, None, Some(5001), &Shared::default()),
        generate(&linux(), None, None, Some(5001), &Shared::default())
    );
}

#[test]
fn the_last_level_cache_is_that_of_the_vm() {
    let mut plan = files::plan();
    assert_eq!(plan.last_level_cache(&plan.vms[0]), None);
    let cache = Cache::new(1 << 20, 16, 64).expect("a cache");
    let geometry = Geometry::new(cache, 4096, IndexBits::AbovePage).expect("colours");
    plan.platform.llc = Some(Llc { geometry, in_registers: true });
    let (colors, area) = ("0-3".parse().expect("colours"), Bytes::mib(600));
    plan.vms[0].memory[0].coloring = Some(Coloring { colors, area });
    plan.vms[0].vllc = true;
    for (vm, size, sets) in [(0, "0x40000", "0x100"), (1, "0x100000", "0x400")] {
        let vm = &plan.vms[vm];
        let dts = decompile(
            &generate(vm, plan.last_level_cache(vm), None, None, &Shared::default())
                .expect("a tree"),
        );
        let node = dts.split_once("\tl2-cache {").expect("a cache").1;
        for part in [
            "compatible = \"cache\";",
            "cache-level = <0x02>;",
            "cache-unified;",
            "cache-line-size = <0x40>;",
            "phandle = <0x03>;",
            &format!("cache-size = <{size}>;"),
            &format!("cache-sets = <{sets}>;"),
        ] {
            assert!(node.contains(part), "{part} is not in:\n{dts}");
        }
        let all = vm.vcpus.len();
        assert_eq!(dts.matches("next-level-cache = <0x03>;").count(), all, "{dts}");
    }
}

/// What a guest has registers for is in its tree, and nothing else.
#[test]
fn a_cache_that_registers_do_not_show_is_not_in_the_tree() {
    let mut plan = files::plan();
    let cache = Cache::new(512 << 10, 8, 64).expect("a cache");
    let geometry = Geometry::new(cache, 4096, IndexBits::AbovePage).expect("colours");
    plan.platform.llc = Some(Llc { geometry, in_registers: false });
    let vm = &plan.vms[0];
    let dts = decompile(
        &generate(vm, plan.last_level_cache(vm), None, None, &Shared::default()).expect("a tree"),
    );
    assert!(!dts.contains("cache"), "{dts}");
}

/// The doorbell is nobody's device; the port is the second one of Linux.
#[test]
fn a_guest_finds_where_it_asks_for_colors() {
    let mut vm = linux();
    vm.pool = Some(Pool {
        doorbell: Region::new(0x0a00_0000, 0x1000),
        area: Area {
            colors: "8-11".parse().expect("colours"),
            region: Region::new(0x4600_0000, 1 << 26),
        },
        frames: 4096,
    });
    let dts =
        decompile(&generate(&vm, None, None, Some(5001), &Shared::default()).expect("a tree"));
    let node = dts.split_once("\tcoloring@a000000 {").expect("a doorbell").1;
    let node = node.split_once("};").expect("its end").0;
    for part in ["compatible = \"bulkhead,coloring\";", "reg = <0x00 0xa000000 0x00 0x1000>;"] {
        assert!(node.contains(part), "{part} is not in:\n{dts}");
    }
    assert!(!dts.contains("serial1"), "{dts}");

    let port = VirtualDevice { registers: Region::new(0x0a01_0000, 0x1000), interrupt: IntId(36) };
    for (console, aliases) in [
        (vm.serial, "serial0 = \"/serial@9000000\";\n\t\tserial1 = \"/serial@a010000\";\n"),
        (None, "aliases {\n\t\tserial1 = \"/serial@a010000\";\n"),
    ] {
        vm.serial = console;
        vm.color_serial = Some(port);
        let dts =
            decompile(&generate(&vm, None, None, Some(5001), &Shared::default()).expect("a tree"));
        assert!(dts.contains(aliases), "{dts}");
        let node = dts.split_once("\tserial@a010000 {").expect("a port").1;
        assert!(node.contains("compatible = \"arm,pl011\\0arm,primecell\";"), "{dts}");
        assert!(node.contains("interrupts = <0x00 0x04 0x04>;"), "{dts}");
    }
}

#[test]
fn devices_have_their_interrupt_and_clock() {
    let dtb = generate(&linux(), None, None, None, &Shared::default()).expect("a tree");
    let fdt = Fdt::new(&dtb).expect("a tree");
    let cells = |path: &str, name: &str| -> Vec<u32> {
        let node = fdt.find_node(path).expect(path);
        let property = node.property(name).expect(name);
        property
            .value()
            .chunks_exact(4)
            .map(|cell| u32::from_be_bytes(cell.try_into().expect("4 bytes")))
            .collect()
    };
    assert_eq!(cells("/pl031@9010000", "interrupts"), [0, 2, 4]);
    assert_eq!(cells("/pl031@9010000", "clocks"), cells("/apb-pclk", "phandle"));
    assert_eq!(cells("/serial@9000000", "interrupts"), [0, 1, 4]);
    assert_eq!(cells("/serial@9000000", "clocks").len(), 2);
    assert_eq!(cells("/memory@40000000", "reg"), [0, 0x4000_0000, 0, 128 << 20]);
    assert!(fdt.find_node("/chosen").expect("chosen").property("linux,initrd-start").is_none());
}

#[test]
fn small_guests_have_small_trees() {
    let mut vm = files::plan().vms.remove(1);
    vm.serial = None;
    vm.gic = VirtualGic::V2 {
        gicd: Region::new(0x0800_0000, 0x1000),
        gicc: Region::new(0x0801_0000, 0x2000),
    };
    let dts = decompile(&generate(&vm, None, None, None, &Shared::default()).expect("a tree"));
    assert!(dts.contains("compatible = \"arm,gic-400\";"), "{dts}");
    assert!(dts.contains("compatible = \"arm,armv8\";"), "{dts}");
    assert!(!dts.contains("serial") && !dts.contains("stdout-path"), "{dts}");
}

#[test]
fn odd_compatible_strings_make_valid_node_names() {
    let mut vm = linux();
    for (compatible, name) in [
        ("", "device@9010000"),
        ("arm,", "device@9010000"),
        ("x,123", "device@9010000"),
        ("vendor,a b/c@d", "abcd@9010000"),
        ("plain", "plain@9010000"),
    ] {
        vm.devices[0].compatible = vec![compatible.into()];
        let dts = decompile(&generate(&vm, None, None, None, &Shared::default()).expect("a tree"));
        assert!(dts.contains(&format!("\t{name} {{")), "{compatible}: {dts}");
    }
}

#[test]
fn interrupts_that_a_guest_cannot_have_are_refused() {
    let mut vm = linux();
    for intid in [0, 15, 1020, u32::MAX] {
        vm.devices[0].interrupts.as_mut().expect("an interrupt").guest = IntId(intid);
        let error = generate(&vm, None, None, None, &Shared::default()).expect_err("refused");
        assert!(error.contains(&format!("interrupt {intid} ")), "{error}");
    }
}

/// The writer and the readers have it at the same address, and only the writer's tree says that it
/// writes.
#[test]
fn channels_stand_in_the_trees_of_their_vms() {
    let memory =
        Mapping { ipa: Ipa(0x3000_0000), host: PhysicalAddress(0x7000_0000), size: Bytes(0x2000) };
    let channel = Channel { name: "pose".into(), memory, from: 0, to: vec![1], rings: None };
    for writes in [true, false] {
        let dtb =
            generate(&linux(), None, None, None, &reads(0, &channel, writes)).expect("a tree");
        let dts = decompile(&dtb);
        let node = dts.split_once("\tchannel@30000000 {").expect("a channel").1;
        let node = node.split_once("};").expect("an end").0;
        assert!(node.contains("compatible = \"bulkhead,channel\";"), "{dts}");
        assert!(node.contains("label = \"pose\";"), "{dts}");
        assert!(node.contains("reg = <0x00 0x30000000 0x00 0x2000>;"), "{dts}");
        assert_eq!(node.contains("bulkhead,writes;"), writes, "{dts}");
    }
    let without =
        decompile(&generate(&linux(), None, None, None, &Shared::default()).expect("a tree"));
    assert!(!without.contains("channel@"), "{without}");
}

/// The writer learns where it rings; the reader, which interrupt it gets.
#[test]
fn the_bell_stands_in_the_trees_of_channels_with_rings() {
    let memory =
        Mapping { ipa: Ipa(0x3000_0000), host: PhysicalAddress(0x7000_0000), size: Bytes(0x2000) };
    let rings = Some(Rings { interval: Duration(1_000_000), early: Duration(0) });
    let channel = Channel { name: "pose".into(), memory, from: 0, to: vec![1], rings };
    let mut vm = linux();
    vm.bell =
        Some(VirtualDevice { registers: Region::new(0x0a02_0000, 0x1000), interrupt: IntId(35) });
    for writes in [true, false] {
        let dtb = generate(&vm, None, None, None, &reads(3, &channel, writes)).expect("a tree");
        let dts = decompile(&dtb);
        let node = dts.split_once("\tbell@a020000 {").expect("a bell").1;
        let node = node.split_once("};").expect("an end").0;
        assert!(node.contains("compatible = \"bulkhead,bell\";"), "{dts}");
        assert!(node.contains("reg = <0x00 0xa020000 0x00 0x1000>;"), "{dts}");
        assert_eq!(node.contains("interrupts = <0x00 0x03 0x01>;"), !writes, "{dts}");
        assert_eq!(dts.contains("bulkhead,ring = <0x18>;"), writes, "{dts}");
    }
}

/// Linux finds lines behind its console: ttyAMA1 and so on.
#[test]
fn serial_lines_are_pl011s_with_the_next_numbers() {
    let line = |start: u64, interrupt| SerialLine {
        registers: Region::new(start, 0x1000),
        vms: [0, 1],
        interrupts: [IntId(interrupt), IntId(99)],
        tells: Rings { interval: Duration(1_000_000), early: Duration(0) },
    };
    let (first, second) = (line(0x0a03_0000, 36), line(0x0a03_1000, 37));
    let lines = [(&first, 0), (&second, 1)];
    let shared = Shared { lines: lines.to_vec(), ..Shared::default() };
    let dts = decompile(&generate(&linux(), None, None, None, &shared).expect("a tree"));
    assert!(dts.contains("serial1 = \"/serial@a030000\";"), "{dts}");
    assert!(dts.contains("serial2 = \"/serial@a031000\";"), "{dts}");
    for (node, interrupt) in [("a030000", "0x04"), ("a031000", "0x43")] {
        let node = dts.split_once(&format!("\tserial@{node} {{")).expect("a line").1;
        let node = node.split_once("};").expect("an end").0;
        assert!(node.contains(&format!("interrupts = <0x00 {interrupt} 0x04>;")), "{dts}");
    }
}

/// Linux binds `virtio_mmio` to them, and `virtio_net` to what that finds.
#[test]
fn links_are_network_cards() {
    let link = Link {
        name: "lan".into(),
        registers: Region::new(0x0a04_0000, 0x1000),
        vms: [0, 1],
        interrupts: [IntId(99), IntId(38)],
        macs: [Mac([2, 0, 0, 0, 0, 1]), Mac([2, 0, 0, 0, 0, 2])],
        rate: Rate(1_000_000),
        burst: Bytes(65_536),
        tells: Rings { interval: Duration(1_000_000), early: Duration(0) },
    };
    let shared = Shared { links: vec![(&link, 1)], ..Shared::default() };
    let dts = decompile(&generate(&linux(), None, None, None, &shared).expect("a tree"));
    let node = dts.split_once("\tvirtio_mmio@a040000 {").expect("a card").1;
    let node = node.split_once("};").expect("an end").0;
    for property in [
        "compatible = \"virtio,mmio\";",
        "label = \"lan\";",
        "reg = <0x00 0xa040000 0x00 0x1000>;",
        "interrupts = <0x00 0x06 0x04>;",
        "dma-coherent;",
    ] {
        assert!(node.contains(property), "{property}: {dts}");
    }
}
