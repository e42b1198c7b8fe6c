//! Device trees that QEMU makes, and broken ones.

use std::process::Command;

use devicetree::import;
use dtoolkit::model::{DeviceTree, DeviceTreeNode, DeviceTreeProperty};
use proptest::prelude::*;
use system::platform::Platform;

/// The device tree of a machine of QEMU.
fn tree(machine: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("tree.dtb");
    let machine = format!("{machine},dumpdtb={}", file.display());
    let output = Command::new("qemu-system-aarch64")
        .args(["-machine", &machine, "-cpu", "cortex-a53", "-smp", "4", "-m", "1G"])
        .output()
        .expect("QEMU starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::read(file).expect("a tree")
}

#[test]
fn a_tree_of_qemu_agrees_with_the_platform_that_we_wrote() {
    for (version, board) in [(3, "qemu-virt"), (2, "qemu-virt-gicv2")] {
        let tree = tree(&format!("virt,virtualization=on,gic-version={version}"));
        let imported = import(&tree).expect("a platform");
        let found = Platform::from_toml("a.toml", &imported.text);
        let found = found.unwrap_or_else(|errors| panic!("{errors}\n{}", imported.text));
        let ours = Platform::named(board).expect("ours");
        assert_eq!(found.cpus, ours.cpus, "{}", imported.text);
        assert_eq!(found.memory, ours.memory);
        assert_eq!(found.boot.expect("it boots"), ours.boot.expect("ours boots"));
        // QEMU models no caches.
        for open in ["counter", "[[cache]]", "[overheads]", "[bandwidth]"] {
            assert!(imported.open.iter().any(|it| it.starts_with(open)), "{open}");
        }
    }
}

/// A node with properties of cells, and of texts.
fn node(name: &str, cells: &[(&str, &[u32])], texts: &[(&str, &str)]) -> DeviceTreeNode {
    let mut node = DeviceTreeNode::new(name).expect("a name");
    for (name, cells) in cells {
        let bytes: Vec<u8> = cells.iter().flat_map(|it| it.to_be_bytes()).collect();
        node.add_property(DeviceTreeProperty::new(*name, bytes).expect("a name"));
    }
    for (name, text) in texts {
        let bytes = format!("{text}\0").into_bytes();
        node.add_property(DeviceTreeProperty::new(*name, bytes).expect("a name"));
    }
    node
}

/// As boards have it: a bus that moves addresses, CPUs that wait in memory, a shared cache, and reserved memory.
#[test]
fn buses_caches_spin_tables_and_reserved_memory_are_read() {
    let mut tree = DeviceTree::new();
    let two: &[u32] = &[2];
    tree.root = node(
        "",
        &[("#address-cells", two), ("#size-cells", &[1])],
        &[("compatible", "acme,board"), ("model", "A \"board\"")],
    );
    let mut cpus = node("cpus", &[("#address-cells", &[1]), ("#size-cells", &[0])], &[]);
    for number in 0..2u32 {
        cpus.add_child(node(
            &format!("cpu@{number}"),
            &[
                ("reg", &[number]),
                ("cpu-release-addr", &[0, 0xd8 + 8 * number]),
                ("d-cache-size", &[0x8000]),
                ("d-cache-line-size", &[64]),
                ("d-cache-sets", &[256]),
                ("next-level-cache", &[7]),
            ],
            &[
                ("device_type", "cpu"),
                ("compatible", "arm,cortex-a72"),
                ("enable-method", "spin-table"),
            ],
        ));
    }
    let cache: &[(&str, &[u32])] = &[
        ("phandle", &[7]),
        ("cache-level", two),
        ("cache-size", &[0x10_0000]),
        ("cache-line-size", &[64]),
        ("cache-sets", &[1024]),
    ];
    cpus.add_child(node("l2-cache", cache, &[("compatible", "cache")]));
    tree.root.add_child(cpus);
    let memory: &[(&str, &[u32])] = &[("reg", &[0, 0, 0x4000_0000])];
    tree.root.add_child(node("memory@0", memory, &[("device_type", "memory")]));
    let mut reserved =
        node("reserved-memory", &[("#address-cells", two), ("#size-cells", &[1])], &[]);
    reserved.add_child(node("firmware@3b400000", &[("reg", &[0, 0x3b40_0000, 0x4c0_0000])], &[]));
    tree.root.add_child(reserved);
    let moves: &[(&str, &[u32])] = &[
        ("#address-cells", &[1]),
        ("#size-cells", &[1]),
        ("ranges", &[0x7e00_0000, 0, 0xfe00_0000, 0x180_0000]),
    ];
    let mut bus = node("soc", moves, &[("compatible", "simple-bus")]);
    bus.add_child(node(
        "serial@7e201000",
        &[("reg", &[0x7e20_1000, 0x200]), ("interrupts", &[0, 121, 4])],
        &[("compatible", "arm,pl011")],
    ));
    tree.root.add_child(bus);

    let imported = import(&tree.to_dtb()).expect("a platform");
    let text = &imported.text;
    for part in [
        "name = \"acme,board\"\nabout = \"A board\"",
        "model = \"Cortex-A72\"\ncount = 2\nspin_table = [0xd8, 0xe0]",
        "start = 0x0\nsize = \"948MiB\"",
        "# left out: start = 0x3b400000, size = \"76MiB\": it is reserved",
        "kind = \"arm,pl011\"\nstart = 0xfe201000\nsize = \"512B\"\ninterrupt = 153",
        "kind = \"data\"\nsize = \"32KiB\"\nways = 2\nline = \"64B\"",
        "kind = \"unified\"\nsize = \"1MiB\"\nways = 16\nline = \"64B\"\nshared_by = 2",
        "# [gic]   # fill in: ",
    ] {
        assert!(text.contains(part), "no {part} in\n{text}");
    }
    assert!(imported.open.iter().any(|it| it.starts_with("[gic]")), "{:?}", imported.open);
}

/// A tree of QEMU with an SMMU.
#[test]
fn smmus_are_left_out_with_a_word() {
    let marks = |machine: &str| {
        let imported = import(&tree(machine)).expect("a platform");
        let smmus = imported.left.iter().filter(|it| it.0.contains("smmu"));
        let marks: Vec<String> = smmus.map(|(what, why)| format!("{what}: {why}")).collect();
        assert!(marks.iter().all(|it| imported.text.contains(&format!("\n# left out: {it}\n"))));
        marks
    };
    assert_eq!(marks("virt,virtualization=on"), [""; 0]);
    let found = marks("virt,virtualization=on,iommu=smmuv3");
    let expected = "smmuv3@9050000 (arm,smmu-v3): start = 0x9050000, size = \"128KiB\": the hypervisor programs no SMMU";
    assert!(found.len() == 1 && found[0].starts_with(expected), "{found:?}");
}

/// A board with two clusters, a console that is not a PL011, two PL011, and one that is off.
fn clusters(stdout: &str) -> Vec<u8> {
    let mut tree = DeviceTree::new();
    let (one, none): (&[u32], &[u32]) = (&[1], &[0]);
    tree.root = node("", &[("#address-cells", one), ("#size-cells", one)], &[]);
    tree.root.add_child(node("chosen", &[], &[("stdout-path", stdout)]));
    let mut cpus = node("cpus", &[("#address-cells", one), ("#size-cells", none)], &[]);
    for (number, model, bytes, next) in [
        (0, "arm,cortex-a53", 0x8000, 7),
        (1, "arm,cortex-a53", 0x8000, 7),
        (0x100, "arm,cortex-a72", 0xc000, 8),
    ] {
        let sizes: &[(&str, &[u32])] =
            &[("reg", &[number]), ("i-cache-size", &[bytes]), ("next-level-cache", &[next])];
        let texts = [("device_type", "cpu"), ("compatible", model)];
        cpus.add_child(node(&format!("cpu@{number:x}"), sizes, &texts));
    }
    for (name, handle, bytes) in [("l2-a", 7, 0x8_0000), ("l2-b", 8, 0x10_0000)] {
        let cells: &[(&str, &[u32])] =
            &[("phandle", &[handle]), ("cache-level", &[2]), ("cache-size", &[bytes])];
        cpus.add_child(node(name, cells, &[("compatible", "cache")]));
    }
    tree.root.add_child(cpus);
    let memory: &[(&str, &[u32])] = &[("reg", &[0x8000_0000, 0x4000_0000])];
    tree.root.add_child(node("memory@80000000", memory, &[("device_type", "memory")]));
    for (name, start, kind, status) in [
        ("serial@1000", 0x1000, "snps,dw-apb-uart", "okay"),
        ("uart@2000", 0x2000, "arm,pl011", "okay"),
        ("serial@3000", 0x3000, "arm,pl011", "okay"),
        ("serial@4000", 0x4000, "arm,pl011", "disabled"),
    ] {
        let cells: &[(&str, &[u32])] =
            &[("reg", &[start, 0x1000]), ("interrupts", &[0, start >> 12, 4])];
        tree.root.add_child(node(name, cells, &[("compatible", kind), ("status", status)]));
    }
    tree.to_dtb()
}

#[test]
fn caches_of_other_clusters_are_left_out_with_a_word() {
    let imported = import(&clusters("/uart@2000")).expect("a platform");
    let caches: Vec<&str> = imported.left.iter().map(|it| it.0.as_str()).collect();
    for expected in [
        "the instruction cache of level 1 of Cortex-A72 (48 KiB)",
        "the unified cache of level 2 of 1 x Cortex-A72 (1024 KiB)",
    ] {
        assert_eq!(caches.iter().filter(|it| **it == expected).count(), 1, "{caches:?}");
        let mark = format!(
            "\n# left out: {expected}: the file has the caches of the first CPU only, Cortex-A53\n"
        );
        assert!(imported.text.contains(&mark), "{}", imported.text);
    }
    assert!(imported.text.contains("level = 2\nkind = \"unified\"\nsize = \"512KiB\""));
    assert!(imported.text.contains("shared_by = 2\n"));
}

#[test]
fn no_other_uart_takes_the_place_of_linux_console_in_silence() {
    let first = "uart@2000 (arm,pl011): start = 0x2000, size = \"4KiB\", interrupt = 34";
    let other = "serial@3000 (arm,pl011): start = 0x3000, size = \"4KiB\", interrupt = 35";
    let design = "serial@1000 (snps,dw-apb-uart): start = 0x1000, size = \"4KiB\"";
    let uarts = |stdout: &str| {
        let imported = import(&clusters(stdout)).expect("a platform");
        let uarts = imported.left.iter().filter(|it| it.1.contains("UART"));
        (uarts.map(|it| it.0.clone()).collect::<Vec<_>>(), imported)
    };
    for stdout in ["/uart@2000:115200n8", "/nowhere"] {
        let (left, imported) = uarts(stdout);
        assert_eq!(left, [design, other], "{stdout}");
        assert!(imported.text.contains("[console]\nkind = \"arm,pl011\"\nstart = 0x2000\n"));
    }
    for (stdout, name) in [
        ("/serial@1000", "serial@1000 (snps,dw-apb-uart)"),
        ("/serial@4000", "serial@4000 (arm,pl011)"),
    ] {
        let (left, imported) = uarts(stdout);
        assert_eq!(left, [design, first, other], "{stdout}");
        let open = imported.open.iter().find(|it| it.starts_with("[console]")).expect("a mark");
        assert!(open.contains(&format!("Linux' console is {name}")), "{open}");
        assert!(imported.text.contains("\n# [console]   # fill in: Linux' console"));
        assert!(!imported.text.contains("\n[console]"), "{}", imported.text);
    }
}

#[test]
fn what_is_no_tree_of_a_machine_is_refused() {
    let refused = |bytes: &[u8]| import(bytes).expect_err("no machine").to_string();
    for bytes in [&b""[..], b"\xd0\x0d\xfe\xed", b"/dts-v1/;\n/ {};", &[0xff; 4096]] {
        assert!(refused(bytes).starts_with("this is not a flattened device tree: "));
    }
    let tree = tree("virt");
    assert!(refused(&tree[..tree.len() / 64]).contains("not a flattened device tree"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Broken bytes end in a message or in a file; in no panic.
    #[test]
    fn broken_trees_are_survived(changes in prop::collection::vec((0usize..8192, any::<u8>()), 1..40)) {
        static TREE: std::sync::OnceLock<Vec<u8>> = std::sync::OnceLock::new();
        let mut bytes = TREE.get_or_init(|| tree("virt")).clone();
        for (at, byte) in changes {
            bytes[at] = byte;
        }
        let _ = import(&bytes);
    }
}
