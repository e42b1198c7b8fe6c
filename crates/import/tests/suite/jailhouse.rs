//! Cells of Jailhouse.

use import::{Imported, jailhouse};

use crate::support::{assert_has, filled, source};

fn two() -> Imported {
    let cells = [
        source("linux-cell.c", include_str!("../files/linux-cell.c")),
        source("inmate-cell.c", include_str!("../files/inmate-cell.c")),
    ];
    jailhouse(&cells).expect("they are cells")
}

#[test]
fn two_cells_are_one_system_once_the_marks_are_filled() {
    let imported = two();
    let (_, plan) = filled(&imported, &[]);
    assert!(plan.is_err(), "{}", imported.text);
    let answers = [
        ("platform", "\"qemu-virt\""),
        ("compatible", "\"arm,pl031\""),
        ("kernel", "\"kernel\""),
        ("memory", "\"4MiB\""),
        ("pcpu", "3"),
    ];
    let (text, plan) = filled(&imported, &answers);
    let plan = plan.unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    let [linux, inmate] = &plan.vms[..] else { panic!("{text}") };
    assert_eq!([&linux.name, &inmate.name], ["linux-cell", "inmate-demo"]);
    let pcpus: Vec<u32> = plan.vms.iter().flat_map(|vm| &vm.vcpus).map(|it| it.pcpu.0).collect();
    assert_eq!(pcpus, [2, 3, 1]);
    assert_eq!([linux, inmate].map(|vm| vm.memory_size().get()), [128 << 20, 4 << 20]);
    let devices = [linux, inmate].map(|vm| {
        let [device] = &vm.devices[..] else { panic!("{text}") };
        let place = device.registers;
        let interrupt = device.interrupts.expect("the only one").host.0;
        (place.host.0, place.ipa.0, place.size.get(), interrupt)
    });
    assert_eq!(devices, [(0x904_0000, 0x906_0000, 4096, 41), (0x901_0000, 0x901_0000, 4096, 34)]);
}

#[test]
fn what_has_no_counterpart_is_listed_with_its_line() {
    let imported = two();
    let left: Vec<_> =
        imported.left.iter().map(|it| (it.file.as_str(), it.line, it.why.as_str())).collect();
    let shared = "memory shared with other cells: describe a `[[channel]]`";
    let rings = format!("{shared}, with `ring_every` for its interrupts");
    assert_eq!(
        left,
        [
            ("linux-cell.c", 34, "the guest has a PL011 of its own, a virtual one"),
            ("linux-cell.c", 51, shared),
            (
                "linux-cell.c",
                57,
                "a macro of Jailhouse's headers; memory that cells share is a `[[channel]]`"
            ),
            ("linux-cell.c", 64, "a VM has one RAM, from 0x4000_0000 on: make that larger"),
            ("linux-cell.c", 77, "CONFIG_CELL_EMMC is taken as not defined"),
            ("linux-cell.c", 85, "there is no communication region: guests call the hypervisor"),
            ("linux-cell.c", 106, rings.as_str()),
        ]
    );
    for part in [
        "# linux-cell.c:58, serial port 2\n",
        "# inmate-cell.c:19, timer\n",
        "# memory = \"1MiB\"   # fill in: inmate-cell.c:25 has \"64KiB\"; a guest is loaded 512 KiB",
        "its RAM is at 0x4000_0000, no longer at 0x7000_0000",
        "# pcpu = 0   # fill in: the index of the CPU with MPIDR 0x101",
    ] {
        assert_has(&imported.text, &[part]);
    }
}

/// Returns what becomes of a cell with these definitions before it, and these elements.
fn of(before: &str, elements: &str) -> String {
    let text = format!(
        "{before}\nstruct {{ int cpus[1]; }} config = {{\n.cell = {{ .name = \"a\" }},\n{elements}\n}};\n"
    );
    jailhouse(&[source("a.c", &text)]).map_or_else(|errors| errors.to_string(), |it| it.text)
}

#[test]
fn expressions_and_macros_have_the_values_of_c() {
    let region = |size: &str| {
        format!(
            ".cpus = {{ 1 }}, .mem_regions = {{ {{ 0x40000000, 0x40000000, {size}, JAILHOUSE_MEM_EXECUTE }} }}"
        )
    };
    for (size, mib) in [
        ("2 << 20", 2),
        ("1UL << 20 | 0x200000", 3),
        ("(1 + 2) * 0x100000 + 1048576", 4),
        ("SIZE", 5),
        ("(SIZE > 4 ? SIZE : 0) + 04000000", 6),
        ("~~(7 << 20)", 7),
        ("0x900000 - 0x300000 / 3", 8),
    ] {
        let before = "#define HALF 0x280000\n#define SIZE \\\n  (HALF * 2)\n#if !defined(SIZE) || X\n#error\n#endif";
        assert_has(&of(before, &region(size)), &[&format!("memory = \"{mib}MiB\"")]);
    }
    // Conditions.
    let text = of(
        "#define B\n",
        ".cpus = {\n#ifdef A\n1\n#elif defined(B) && 2 > 1\n4\n#else\n8\n#endif\n}",
    );
    assert_has(&text, &["pcpu = 2\n", "left out: a.c:6: #ifdef A: A is taken as not defined"]);
    let text = of("#ifndef CPUS\n#define CPUS 6\n#endif", ".cpus = { CPUS }");
    assert_has(&text, &["pcpu = 1\n", "pcpu = 2\n"]);
    assert_has(
        &of("", ".cpus = { 0, 1 }, .cache_regions = { { .start = 2, .size = 3 } }"),
        &["pcpu = 64\n", "colors = \"2-4\""],
    );
}

#[test]
fn mistakes_name_place_expectation_and_help() {
    for (before, elements, parts) in [
        ("", "", &["the cell has no CPU in `.cpus`", "a.c:1:1", "add .cpus"][..]),
        (
            "",
            ".cpus = { CPUS }",
            &["expected a value that is known", "a.c:4:11", "headers are not read"],
        ),
        ("#define A B\n#define B A", ".cpus = { A }", &["expected a macro that ends"]),
        ("", ".cpus = { 1 << 64 }", &["expected a value of 64 bits"]),
        ("", ".cpus = { 1 / 0 }", &["expected a value of 64 bits"]),
        ("", ".cpus = { (1 }", &["expected `)`", "a.c:4:12"]),
        ("", ".cpus = { 1 2 }", &["expected an operator", "a.c:4:13"]),
        ("", ".cpus = { 1 ", &["expected `,` or `}`"]),
        ("", ".cpus 1", &["expected `=`", "a.c:5:1"]),
        ("/*", "", &["this comment has no end", "a.c:1:1"]),
        ("\"", "", &["this text has no end"]),
        ("#if 1", "", &["this condition has no end", "add #endif"]),
        ("#endif", "", &["no condition is open here"]),
        ("", ".cpus = { 1 }, .mem_regions = { { 0, 0, ~0, 0 } }", &["addresses below 2^48"]),
        ("", ".cpus = { 0x1g }", &["this is no number", "a.c:4:11"]),
    ] {
        assert_has(&of(before, elements), parts);
    }
    let whole = |text: &str| jailhouse(&[source("a.c", text)]).unwrap_err().to_string();
    assert_has(&whole("int x;"), &["no configuration of a cell", "give the source of a cell"]);
    assert_has(
        &whole("x config = { .header = { 1 } };"),
        &["root cell", "bulkhead import dtb", "a.c:1:14"],
    );
    assert_has(&whole("x config = { .cpus = { 1 } };"), &["the cell has no `.cell`"]);
    assert_has(&whole("x config = { .cell = { .id = 1 } };"), &["the cell has no `.name`"]);
    assert_has(&whole("x config = { .cell = { .name = 1 } };"), &["expected a text in quotes"]);
}

/// Neither brackets nor macros lead to deep calls or long work.
#[test]
fn deep_and_wide_files_are_refused() {
    let braces = format!("x config = {}", "{".repeat(100_000));
    let brackets = format!(
        "x config = {{ .cell = {{ .name = \"a\" }}, .cpus = {{ {}1 }} }};",
        "(".repeat(100_000)
    );
    let signs = format!(
        "x config = {{ .cell = {{ .name = \"a\" }}, .cpus = {{ {}1 }} }};",
        "-".repeat(100_000)
    );
    for text in [braces, brackets, signs] {
        assert!(jailhouse(&[source("a.c", &text)]).is_err());
    }
    let mut before = String::from("#define A0 1\n");
    for level in 1..30 {
        before.push_str(&format!("#define A{level} A{} + A{}\n", level - 1, level - 1));
    }
    assert_has(&of(&before, ".cpus = { A29 }"), &["expected a macro that ends"]);
}
