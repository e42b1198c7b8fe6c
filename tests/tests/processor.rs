//! What a guest finds of its processor: registers that say what there is, and instructions that come to EL2.

use hypervisor::features;
use tests::{Case, Run, Vm};

/// QEMU's CPU with everything that it knows, and one of the boards'.
const CPUS: [&str; 2] = ["max", "cortex-a53"];

/// A VCPU under a server, whose waits come to EL2.
fn served(vm: Vm) -> Vm {
    vm.more("[[vm.vcpu]]\nserver = \"deferrable\"\nbudget = \"900us\"\nperiod = \"1ms\"\n")
}

fn run(name: &str, cpu: &str, vm: Vm) -> Run {
    let run = Case::new(name).cpu(cpu).timeout(30).vm(vm).run().ended();
    run.never("bulkhead", "crash");
    run.summary("hostile", "off", "power-off", 0);
    run
}

fn hostile(case: &str) -> Vm {
    Vm::rt("rt-hostile").bootargs(&format!("case={case}"))
}

/// Each field of each register is one of the list, and no more than that.
#[test]
fn identification_registers_show_only_what_is_listed() {
    for cpu in CPUS {
        let run = run("identification", cpu, hostile("identification"));
        for (crm, op2) in (1..8).flat_map(|crm| (0..8).map(move |op2| (crm, op2))) {
            let start = format!("hostile: identification read-C{crm}_{op2} ");
            let line = run.expect("hostile", &start);
            let value = line.strip_prefix(&format!("{start}0x")).expect("no fault");
            let value = u64::from_str_radix(value, 16).expect("a number");
            assert_eq!(features::most(crm, op2).of(value), value, "{cpu}: {line}");
        }
        let value = |name: &str| {
            let line = run.expect("hostile", &format!("identification read-{name} 0x"));
            u64::from_str_radix(line.rsplit_once("0x").expect("a number").1, 16).expect("a number")
        };
        let all = cpu == "max";
        assert_eq!(value("C4_0") >> 4 & 0xf, 1, "EL1 in AArch64 only");
        assert_eq!(value("C6_0") >> 20 & 0xf, if all { 2 } else { 0 }, "atomics");
        assert_eq!(value("C6_2") & 0xf, 0, "no WFIT");
        assert_eq!(value("C7_0") & 0xff, if all { 0x25 } else { 0x22 }, "ASIDs, addresses");
        assert_eq!(value("C5_0"), 0x0010_1006, "Armv8.0 debug, with as little as there can be");
    }
}

/// An extension that later architecture versions add, of which EL2 has the trap.
#[test]
fn instructions_of_extensions_that_are_hidden_are_undefined() {
    let run = run("streaming", "max", hostile("streaming"));
    run.expect("hostile", "hostile: streaming survived fault=\"undefined instruction\"");
}

/// CPU_SUSPEND returns when there is an interrupt, as WFI does.
#[test]
fn standby_lasts_until_an_interrupt() {
    for (name, vm) in
        [("standby-alone", hostile("standby")), ("standby-served", served(hostile("standby")))]
    {
        let run = run(name, "cortex-a53", vm);
        let value = |key| run.value("hostile", "hostile: standby survived", key);
        assert_eq!((value("calls"), value("waits")), (1, 1), "{name}");
    }
}

/// 0x11 is what the device says.
#[test]
fn short_instructions_are_skipped_as_they_are() {
    for cpu in CPUS {
        for (name, vm) in
            [("thumb-alone", hostile("thumb")), ("thumb-served", served(hostile("thumb")))]
        {
            let run = run(name, cpu, vm);
            let result = run.value("hostile", "hostile: thumb survived", "result");
            assert_eq!(result, 0x11 + 3, "{name} on {cpu}");
        }
    }
}
