//! Interrupt controllers of the machine.

use crate::{compile, load, reference};

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
