//! The meaning of numbers of the architecture.

/// Returns the name of the event for which a VCPU came to the hypervisor: a class of exceptions of ESR_EL2.
pub fn exit(class: u64) -> String {
    let name = match class {
        0x01 => "WFI or WFE",
        0x07 => "floating point",
        0x16 => "HVC",
        0x17 => "SMC",
        0x18 => "system register",
        0x20 => "instruction abort",
        0x24 => "data abort",
        0x2f => "SError",
        _ => return format!("exit: class {class:#04x}"),
    };
    format!("exit: {name}")
}

/// Returns the name of an interrupt by its INTID: the private ones are those of Arm's Base System Architecture.
pub fn interrupt(intid: u64) -> String {
    let name = match intid {
        0..=15 => "from another PCPU",
        23 => "performance counter",
        25 => "interrupt controller",
        26 => "timer of EL2",
        27 => "virtual timer",
        30 => "physical timer",
        _ => return format!("interrupt {intid}"),
    };
    format!("interrupt {intid}: {name}")
}
