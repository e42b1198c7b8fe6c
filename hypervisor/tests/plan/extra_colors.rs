//! Pools of extra colours, and ports on which closed guests ask for them.

use crate::virtual_cache::virtual_cache;
use crate::{compile, load};

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
    assert_eq!(plan.vms[0].device_interrupts().collect::<Vec<_>>(), [33, 35]);
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
