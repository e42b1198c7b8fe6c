//! Machines without PSCI, whose CPUs wait at places in memory.

use crate::{compile, load, reference};

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
