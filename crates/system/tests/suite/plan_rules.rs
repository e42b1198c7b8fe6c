//! Each rule of the plan, broken on its own, is reported with node and property; and the hypervisor refuses the plan too.

use system::address::{IntId, Ipa, Mpidr, Pcpu, PhysicalAddress, Region};

use crate::both::Verdict;
use policy::color::{Cache, ColorSet, Geometry, IndexBits};
use system::description::System;
use system::plan::{
    self, Area, BandwidthCounter, Channel, Coloring, Compensation, CounterSource, Device,
    DeviceInterrupts, Gic, Link, Llc, Mac, Mapping, Memory, MemoryBudget, Plan, Pool, Rings,
    SerialLine, VirtualDevice, VirtualGic,
};
use units::{Bytes, Duration, Rate};

fn example() -> Plan {
    let text = r#"
platform = "qemu-virt"
[[vm]]
name = "linux"
vcpus = 2
memory = "256MiB"
kernel = "vmlinuz"
initrd = "initrd"
[[vm.device]]
compatible = "arm,pl031"
address = 0x09010000
size = "4KiB"
interrupt = 34
[[vm]]
name = "rt"
boot = "raw"
memory = "16MiB"
kernel = "rt.bin"
"#;
    let system = System::from_toml("example.toml", text, "".as_ref()).unwrap();
    plan::make(&system).unwrap()
}

fn device(ipa: u64, host: u64, interrupts: Option<(u32, u32)>) -> Device {
    Device {
        compatible: vec!["x".into()],
        registers: Mapping { ipa: Ipa(ipa), host: PhysicalAddress(host), size: Bytes(0x1000) },
        interrupts: interrupts
            .map(|(guest, host)| DeviceInterrupts { guest: IntId(guest), host: IntId(host) }),
    }
}

/// The nodes that are reported after `change`.
fn broken(change: impl Fn(&mut Plan)) -> Vec<String> {
    let mut plan = example();
    assert_eq!(plan::check(&plan), Ok(()));
    change(&mut plan);
    let Err(errors) = plan::check(&plan) else { return Vec::new() };
    let verdict = crate::both::read("a rule", &plan.to_dtb());
    assert!(matches!(verdict, Verdict::Bad | Verdict::Exception(_)), "{verdict:?}");
    for error in errors.iter() {
        assert!(error.help.is_some(), "{error:?} says what to do");
    }
    errors.iter().map(|error| error.node.clone().unwrap()).collect()
}

type Change = fn(&mut Plan);

/// The example on coloured RAM: `linux` has the lower colours, `rt` the upper
/// ones, of the same area.
fn colored(p: &mut Plan) {
    let cache = Cache::new(1 << 20, 16, 64).unwrap();
    let geometry = Geometry::new(cache, 4096, IndexBits::AbovePage).unwrap();
    p.platform.llc = Some(Llc { geometry, in_registers: true });
    for (vm, colors) in p.vms.iter_mut().zip(["0-7", "8-15"]) {
        vm.memory[0].host = PhysicalAddress(0x4600_0000);
        let (colors, area) = (colors.parse().unwrap(), Bytes(0x2028_0000));
        vm.memory[0].coloring = Some(Coloring { colors, area });
    }
}

/// As [`colored`], and `rt` sees its colours as a cache.
fn virtual_cache(p: &mut Plan) {
    colored(p);
    p.vms[1].vllc = true;
}

fn coloring(p: &mut Plan, vm: usize) -> &mut Coloring {
    p.vms[vm].memory[0].coloring.as_mut().unwrap()
}

#[test]
fn each_broken_rule_names_node_and_property() {
    let cases: &[(&str, Change)] = &[
        // Regions: aligned, not empty, not beyond the end.
        ("/platform/memory@40000000: reg", |p| p.platform.memory[0].size = Bytes(0x4000_0001)),
        ("/platform/hypervisor@40000000: reg", |p| p.platform.hypervisor.size = Bytes(0)),
        ("/platform/hypervisor@40000010: reg", |p| p.platform.hypervisor.start.0 += 0x10),
        ("/platform/serial@9000000: reg", |p| p.platform.serial.registers.size = Bytes(u64::MAX)),
        ("/vms/vm@0/memory@40000000: reg", |p| p.vms[0].memory[0].size.0 -= 1),
        ("/vms/vm@1/memory@40000000: host-reg", |p| p.vms[1].memory[0].host.0 += 8),
        ("/vms/vm@1: ", |p| p.vms[1].memory.clear()),
        ("/platform: ", |p| p.platform.memory.clear()),
        // RAM.
        ("/platform/hypervisor@40000000: reg", |p| p.platform.hypervisor.size = Bytes::gib(2)),
        ("/vms/vm@1/memory@40000000: host-reg", |p| p.vms[1].memory[0].host.0 = 0x4000_0000),
        ("/vms/vm@1/memory@40000000: host-reg", |p| p.vms[1].memory[0].host.0 = 0x9000_0000),
        ("/vms/vm@1/memory@40000000: host-reg", |p| {
            p.vms[1].memory[0].host = p.vms[0].memory[0].host;
        }),
        // Address spaces of VMs.
        ("/vms/vm@0/serial@40000000: reg", |p| {
            p.vms[0].serial.as_mut().unwrap().registers.start = Ipa(0x4000_0000);
        }),
        ("/vms/vm@1/memory@8000000000: reg", |p| p.vms[1].memory[0].ipa = Ipa(1 << 39)),
        // Devices.
        ("/vms/vm@0/device@9010000: host-reg", |p| {
            p.vms[0].devices[0].registers.host.0 = 0x5000_0000;
        }),
        ("/vms/vm@0/device@9010000: host-reg", |p| {
            p.vms[0].devices[0].registers.host.0 = 0x0800_0000;
        }),
        ("/vms/vm@0/device@9010000: host-reg", |p| {
            p.vms[0].devices[0].registers.host.0 = 0x0900_0000;
        }),
        ("/vms/vm@1/device@a000000: host-reg", |p| {
            p.vms[1].devices.push(device(0xa00_0000, 0x901_0000, None));
        }),
        ("/vms/vm@1/device@a000000: host-interrupts", |p| {
            p.vms[1].devices.push(device(0xa00_0000, 0xa00_0000, Some((40, 34))));
        }),
        ("/vms/vm@1/device@a000000: host-interrupts", |p| {
            p.vms[1].devices.push(device(0xa00_0000, 0xa00_0000, Some((40, 33))));
        }),
        ("/vms/vm@1/device@a000000: interrupts", |p| {
            p.vms[1].devices.push(device(0xa00_0000, 0xa00_0000, Some((33, 40))));
        }),
        ("/vms/vm@0/device@9010000: interrupts", |p| {
            p.vms[0].devices[0].interrupts.as_mut().unwrap().guest = IntId(27);
        }),
        ("/vms/vm@0/device@9010000: host-interrupts", |p| {
            p.vms[0].devices[0].interrupts.as_mut().unwrap().host = IntId(1020);
        }),
        ("/vms/vm@0/device@9010000: compatible", |p| p.vms[0].devices[0].compatible.clear()),
        // Counts and PCPUs.
        ("/platform/cpus: ", |p| p.platform.cpus = (0..9).map(Mpidr).collect()),
        ("/platform/cpus/cpu@2: reg", |p| p.platform.cpus[3] = Mpidr(2)),
        ("/platform/serial@9000000: pcpu", |p| p.platform.serial.pcpu = Pcpu(4)),
        ("/platform/serial@9000000: interrupts", |p| p.platform.serial.interrupt = IntId(31)),
        ("/vms: ", |p| p.vms.clear()),
        ("/vms/vm@0/vcpus: ", |p| p.vms[0].vcpus.clear()),
        ("/vms/vm@0/vcpus/vcpu@1: pcpu", |p| p.vms[0].vcpus[1].pcpu = Pcpu(4)),
        ("/vms/vm@1/vcpus/vcpu@0: pcpu", |p| p.vms[1].vcpus[0].pcpu = Pcpu(0)),
        // Names and texts.
        ("/vms/vm@1: vm-name", |p| p.vms[1].name = "linux".into()),
        ("/vms/vm@1: vm-name", |p| p.vms[1].name = "Linux".into()),
        ("/vms/vm@1: vm-name", |p| p.vms[1].name = "sixteen-letters-".into()),
        ("/vms/vm@1: vm-name", |p| p.vms[1].name = "bulkhead".into()),
        ("/: model", |p| p.name = "a\0b".into()),
        ("/vms/vm@0/boot: bootargs", |p| p.vms[0].boot.bootargs = Some("\0".into())),
        // Interrupt controllers.
        ("/vms/vm@0/interrupt-controller@8000000: compatible", |p| {
            let gicd = Region::new(0x800_0000u64, 0x1000);
            p.vms[0].gic = VirtualGic::V2 { gicd, gicc: Region::new(0x801_0000u64, 0x2000) };
        }),
        ("/vms/vm@0/interrupt-controller@8000000: reg", |p| {
            let VirtualGic::V3 { gicr, .. } = &mut p.vms[0].gic else { panic!() };
            gicr.size = Bytes::kib(128);
        }),
        ("/vms/vm@0/interrupt-controller@8000000: reg", |p| {
            let VirtualGic::V3 { gicd, .. } = &mut p.vms[0].gic else { panic!() };
            gicd.size = Bytes::kib(4);
        }),
        ("/platform/interrupt-controller@8000000: reg", |p| {
            let Gic::V3 { gicr, .. } = &mut p.platform.gic else { panic!() };
            gicr.size = Bytes::kib(384);
        }),
        ("/platform/memory@7fc0000000: reg", |p| {
            p.platform.memory.push(Region::new(0x7f_c000_0000u64, Bytes::gib(2)));
        }),
        ("/vms/vm@0/device@9010000: host-reg", |p| {
            p.vms[0].devices[0].registers.host.0 = 1 << 39;
        }),
        ("/platform/interrupt-controller@8000000: reg", |p| {
            let Gic::V3 { gicr, .. } = &mut p.platform.gic else { panic!() };
            gicr.start.0 = 0x0800_1000;
        }),
        // Boot.
        ("/vms/vm@1/boot: entry", |p| p.vms[1].boot.entry.0 += 2),
        ("/vms/vm@1/boot: entry", |p| p.vms[1].boot.entry = Ipa(0x3fff_fffc)),
        ("/vms/vm@0/boot/kernel: load", |p| p.vms[0].boot.kernel.load = Ipa(0x5000_0000)),
        ("/vms/vm@0/boot/kernel: load", |p| p.vms[0].boot.kernel.load.0 += 4),
        ("/vms/vm@0/boot/initrd: load", |p| {
            p.vms[0].boot.initrd.as_mut().unwrap().load = p.vms[0].boot.kernel.load;
        }),
        ("/vms/vm@0/boot/device-tree: load", |p| {
            p.vms[0].boot.device_tree = Some(Ipa(0x4000_0004))
        }),
    ];
    all_break(cases, |_| ());
}

/// Each change breaks the rule that it stands with.
fn all_break(cases: &[(&str, Change)], prepare: Change) {
    for (index, (node, change)) in cases.iter().enumerate() {
        let found = broken(|plan| {
            prepare(plan);
            assert_eq!(plan::check(plan), Ok(()));
            change(plan);
        });
        let expected = node.strip_suffix(": ").unwrap_or(node);
        assert!(
            found.iter().any(|found| found == expected),
            "case {index}: expected {expected}, found {found:?}"
        );
    }
}

#[test]
fn each_broken_rule_of_colors_names_node_and_property() {
    let cases: &[(&str, Change)] = &[
        // Colours.
        ("/vms/vm@0/memory@40000000: colors", |p| p.platform.llc = None),
        ("/vms/vm@0/memory@40000000: colors", |p| coloring(p, 0).colors = ColorSet::EMPTY),
        ("/vms/vm@1/memory@40000000: colors", |p| coloring(p, 1).colors = "8-16".parse().unwrap()),
        ("/vms/vm@0/memory@40000000: colors", |p| {
            let more = Memory { ipa: Ipa(0x6000_0000), ..p.vms[0].memory[0] };
            p.vms[0].memory.push(more);
        }),
        ("/vms/vm@0/memory@40000000: colors", |p| {
            let host = PhysicalAddress(0x7000_0000);
            let size = Bytes::mib(1);
            p.vms[0].memory.push(Memory { ipa: Ipa(0x6000_0000), size, host, coloring: None });
        }),
        ("/platform/llc: cache-size", |p| {
            let cache = Cache::new(4 << 30, 1 << 16, 64).unwrap();
            let geometry = Geometry::new(cache, 4096, IndexBits::AbovePage).unwrap();
            p.platform.llc.as_mut().unwrap().geometry = geometry;
        }),
        // The area.
        ("/vms/vm@1/memory@40000000: host-reg", |p| p.vms[1].memory[0].host.0 += 0x8000),
        ("/vms/vm@1/memory@40000000: host-reg", |p| coloring(p, 1).area.0 += 0x8000),
        ("/vms/vm@0/memory@40000000: host-reg", |p| coloring(p, 0).area.0 -= 0x1_0000),
        ("/vms/vm@1/memory@40000000: host-reg", |p| one_color(p, 4175)),
        ("/vms/vm@0/memory@40000000: host-reg", |p| coloring(p, 0).area = Bytes(u64::MAX)),
        ("/vms/vm@0/memory@40000000: host-reg", |p| coloring(p, 0).area = Bytes(0)),
        // Who may overlap whom.
        ("/vms/vm@1/memory@40000000: host-reg", |p| {
            coloring(p, 1).colors = "7-15".parse().unwrap();
        }),
        ("/vms/vm@1/memory@40000000: host-reg", |p| {
            p.vms[1].memory[0].coloring = None;
            p.vms[1].memory[0].host.0 = 0x6000_0000;
        }),
        ("/vms/vm@1/memory@40000000: host-reg", |p| p.vms[1].memory[0].host.0 = 0x4580_0000),
        ("/vms/vm@0/memory@40000000: host-reg", |p| p.vms[0].memory[0].host.0 = 0x7000_0000),
        ("/vms/vm@1/device@a000000: host-reg", |p| {
            p.vms[1].devices.push(device(0xa00_0000, 0x6000_0000, None));
        }),
    ];
    all_break(cases, colored);
}

#[test]
fn each_broken_rule_of_virtual_caches_names_node_and_property() {
    let cases: &[(&str, Change)] = &[
        ("/vms/vm@1: vllc", |p| coloring(p, 1).colors = "8-13".parse().unwrap()),
        ("/vms/vm@1: vllc", |p| p.vms[1].memory[0].coloring = None),
        ("/vms/vm@1/memory@40001000: reg", |p| p.vms[1].memory[0].ipa.0 += 0x1000),
        ("/vms/vm@1: vllc", |p| {
            let l1 = IndexBits::AboveL1(Cache::new(32 << 10, 4, 64).unwrap());
            let llc = p.platform.llc.as_mut().unwrap();
            llc.geometry = Geometry::new(llc.geometry.cache(), 4096, l1).unwrap();
            coloring(p, 1).colors = "4-7".parse().unwrap();
        }),
        ("/vms/vm@1: vllc", |p| p.platform.llc.as_mut().unwrap().in_registers = false),
    ];
    all_break(cases, virtual_cache);
}

/// As [`colored`], with 8 MiB of extra colours for `linux`, a port on which it asks
/// for them, and the highest colour for the hypervisor.
fn extra(p: &mut Plan) {
    colored(p);
    coloring(p, 1).colors = "12-14".parse().unwrap();
    let area = |colors: &str, size| Area {
        colors: colors.parse().unwrap(),
        region: Region::new(0x4600_0000u64, size),
    };
    p.platform.hypervisor_area = Some(area("15", Bytes::mib(64)));
    coloring(p, 0).area.0 += 0x1_0000;
    p.vms[0].pool = Some(Pool {
        doorbell: Region::new(0xa00_0000u64, Bytes::kib(4)),
        area: area("8-11", Bytes::mib(32)),
        frames: 2048,
    });
    p.vms[0].color_serial = Some(VirtualDevice {
        registers: Region::new(0xa01_0000u64, Bytes::kib(4)),
        interrupt: IntId(35),
    });
}

fn pool(p: &mut Plan) -> &mut Pool {
    p.vms[0].pool.as_mut().unwrap()
}

fn own(p: &mut Plan) -> &mut Area {
    p.platform.hypervisor_area.as_mut().unwrap()
}

#[test]
fn each_broken_rule_of_extra_colors_names_node_and_property() {
    let cases: &[(&str, Change)] = &[
        // The pool.
        ("/vms/vm@0/coloring@a000000: colors", |p| pool(p).area.colors = ColorSet::EMPTY),
        ("/vms/vm@0/coloring@a000000: colors", |p| {
            pool(p).area.colors = "8-16".parse().unwrap();
        }),
        ("/vms/vm@0/coloring@a000000: colors", |p| p.platform.llc = None),
        ("/vms/vm@0/coloring@a000000: frames", |p| pool(p).frames = 0),
        ("/vms/vm@0/coloring@a000000: frames", |p| pool(p).frames = 2049),
        ("/vms/vm@0/coloring@a000000: host-reg", |p| pool(p).area.region.start.0 += 0x8000),
        ("/vms/vm@0/coloring@a000000: host-reg", |p| pool(p).area.region.size.0 += 0x8000),
        ("/vms/vm@0/coloring@a000000: host-reg", |p| pool(p).area.region.start.0 = 0x8000_0000),
        ("/vms/vm@0/coloring@a000000: host-reg", |p| pool(p).area.region.start.0 = 0x4500_0000),
        ("/vms/vm@0/coloring@a000000: ", |p| p.vms[0].memory[0].coloring = None),
        ("/vms/vm@0/coloring@a000000: ", |p| p.vms[0].vllc = true),
        // Its state needs frames of the VM.
        ("/vms/vm@0/memory@40000000: host-reg", |p| coloring(p, 0).area.0 -= 0x1_0000),
        // Whom it may overlap: not the RAM of its own VM either.
        ("/vms/vm@0/coloring@a000000: host-reg", |p| {
            pool(p).area.colors = "7-11".parse().unwrap();
        }),
        ("/vms/vm@1/memory@40000000: host-reg", |p| {
            pool(p).area.colors = "8-12".parse().unwrap();
        }),
        ("/vms/vm@0/coloring@a000000: host-reg", |p| own(p).colors = "11,15".parse().unwrap()),
        // How the VM asks.
        ("/vms/vm@0/coloring@a000000: reg", |p| pool(p).doorbell.size = Bytes::kib(8)),
        ("/vms/vm@0/color-serial@a000000: reg", |p| {
            p.vms[0].color_serial.as_mut().unwrap().registers.start = Ipa(0xa00_0000);
        }),
        ("/vms/vm@0/device@9010000: interrupts", |p| {
            p.vms[0].color_serial.as_mut().unwrap().interrupt = IntId(34);
        }),
        ("/vms/vm@0/color-serial@a010000: interrupts", |p| {
            p.vms[0].color_serial.as_mut().unwrap().interrupt = IntId(33);
        }),
        ("/vms/vm@0/color-serial@a010000: ", |p| p.vms[0].pool = None),
        // The hypervisor.
        ("/platform/hypervisor@40000000: colors", |p| own(p).colors = ColorSet::EMPTY),
        ("/platform/hypervisor@40000000: colors", |p| p.vms[1].memory[0].coloring = None),
        ("/platform/hypervisor@40000000: host-reg", |p| own(p).region.start.0 += 0x8000),
        ("/platform/hypervisor@40000000: host-reg", |p| own(p).region.start.0 = 0x4400_0000),
        ("/platform/hypervisor@40000000: host-reg", |p| own(p).region.size = Bytes::gib(1)),
        ("/vms/vm@1/memory@40000000: host-reg", |p| own(p).colors = "14-15".parse().unwrap()),
        // A block of device memory is no RAM of anybody.
        ("/vms/vm@1/device@c000000: host-reg", |p| {
            let mut block = device(0xc00_0000, 0x4600_0000, None);
            block.registers.size = Bytes::mib(2);
            p.vms[1].devices.push(block);
        }),
    ];
    all_break(cases, extra);
}

/// `linux` is throttled with credits, `rt` is critical and has a VCPU with a budget.
fn throttled(p: &mut Plan) {
    let period = Duration(1_000_000);
    p.platform.bandwidth_counter = Some(BandwidthCounter {
        source: CounterSource::Pmu { event: 0x17 },
        bits: 32,
        interrupts: vec![IntId(23)],
        access: Some(Bytes(64)),
    });
    p.vms[0].memory_budget = Some(MemoryBudget { accesses: 1000, period });
    p.vms[0].compensation = Some(Compensation { periods: 2, flush_task_switch: true });
    p.vms[1].critical = true;
    p.vms[1].vcpus[0].memory_budget = Some(MemoryBudget { accesses: 1, period });
}

fn counter(p: &mut Plan) -> &mut BandwidthCounter {
    p.platform.bandwidth_counter.as_mut().unwrap()
}

#[test]
fn each_broken_rule_of_memory_budgets_names_node_and_property() {
    const COUNTER: &str = "/platform/bandwidth-counter: interrupts";
    let cases: &[(&str, Change)] = &[
        // The counter.
        ("/vms/vm@0: memory-budget", |p| p.platform.bandwidth_counter = None),
        ("/vms/vm@1: critical", |p| p.platform.bandwidth_counter = None),
        ("/vms/vm@1/vcpus/vcpu@0: memory-budget", |p| p.platform.bandwidth_counter = None),
        ("/platform/bandwidth-counter: bits", |p| counter(p).bits = 33),
        ("/platform/bandwidth-counter: access-bytes", |p| counter(p).access = Some(Bytes(0))),
        (COUNTER, |p| counter(p).interrupts.clear()),
        (COUNTER, |p| counter(p).interrupts = vec![IntId(15)]),
        (COUNTER, |p| counter(p).interrupts = vec![IntId(1020)]),
        (COUNTER, |p| counter(p).interrupts = vec![IntId(27)]),
        (COUNTER, |p| counter(p).interrupts = vec![IntId(50)]),
        (COUNTER, |p| counter(p).interrupts = [50, 51, 52].map(IntId).to_vec()),
        (COUNTER, |p| counter(p).interrupts = [50, 51, 52, 23].map(IntId).to_vec()),
        (COUNTER, |p| counter(p).interrupts = [50, 51, 52, 50].map(IntId).to_vec()),
        // The console.
        (COUNTER, |p| counter(p).interrupts = [50, 51, 52, 33].map(IntId).to_vec()),
        ("/vms/vm@0/device@9010000: host-interrupts", |p| {
            counter(p).interrupts = [32, 34, 35, 36].map(IntId).to_vec();
        }),
        // Budgets.
        ("/vms/vm@0: memory-budget", |p| budget(p).accesses = 0),
        ("/vms/vm@0: memory-budget", |p| budget(p).accesses = (1 << 30) + 1),
        ("/vms/vm@0: memory-period-ns", |p| budget(p).period = Duration(19_999)),
        ("/vms/vm@0: memory-period-ns", |p| budget(p).period = Duration(60_000_000_001)),
        ("/vms/vm@0/vcpus/vcpu@1: memory-budget", |p| {
            p.vms[0].vcpus[1].memory_budget = p.vms[0].memory_budget;
        }),
        // Credits.
        ("/vms/vm@0: compensation", |p| p.vms[0].memory_budget = None),
        ("/vms/vm@0: compensation", |p| p.vms[0].critical = true),
        ("/vms/vm@0: compensation", |p| p.vms[1].critical = false),
        ("/vms/vm@0: compensation", |p| p.vms[0].compensation.as_mut().unwrap().periods = 1),
    ];
    all_break(cases, throttled);
    let shared = |p: &mut Plan| {
        throttled(p);
        counter(p).interrupts = [50, 51, 52, 53].map(IntId).to_vec();
        budget(p).accesses = 1 << 30;
    };
    assert_eq!(broken(shared), Vec::<String>::new(), "one shared interrupt for each PCPU");
}

fn budget(p: &mut Plan) -> &mut MemoryBudget {
    p.vms[0].memory_budget.as_mut().unwrap()
}

/// Gives `rt` one colour and this number of frames; it needs 4096 + 64 + 16.
fn one_color(p: &mut Plan, frames: u64) {
    let (colors, area) = ("15".parse().unwrap(), Bytes(frames << 16));
    *coloring(p, 1) = Coloring { colors, area };
}

#[test]
fn as_many_frames_as_are_needed_are_enough() {
    let found = broken(|plan| {
        colored(plan);
        one_color(plan, 4176);
    });
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn colors_in_common_keep_areas_apart() {
    assert_eq!(
        broken(|plan| {
            colored(plan);
            plan.vms[1].memory[0].host.0 = 0x6628_0000;
            let rt = coloring(plan, 1);
            (rt.colors, rt.area) = ("7-15".parse().unwrap(), Bytes::mib(64));
        }),
        Vec::<String>::new(),
        "areas side by side are apart"
    );
}

#[test]
fn a_rule_broken_in_text_is_shown_in_its_line() {
    let text = example().to_dts().replacen("pcpu = <2>", "pcpu = <1>", 1);
    let errors = Plan::from_dts("plan.dts", &text).unwrap_err();
    let error = errors.iter().next().unwrap();
    assert_eq!(error.node.as_deref(), Some("/vms/vm@1/vcpus/vcpu@0: pcpu"));
    let (line, _) = error.place.as_ref().unwrap().line_column();
    assert!(text.lines().nth(line - 1).unwrap().contains("pcpu = <1>"), "{errors}");
}

/// `rt` reads what `linux` writes.
fn channel(name: &str, ipa: u64, host: u64) -> Channel {
    let memory = Mapping { ipa: Ipa(ipa), host: PhysicalAddress(host), size: Bytes(0x2000) };
    Channel { name: name.into(), memory, from: 0, to: vec![1], rings: None }
}

#[test]
fn channels_have_an_owner_and_a_place() {
    const NODE: &str = "/channels/channel@30000000";
    let with = |change: fn(&mut Plan)| {
        broken(|plan| {
            plan.channels = vec![channel("pose", 0x3000_0000, 0x7000_0000)];
            change(plan);
        })
    };
    let of = |property: &str| vec![format!("{NODE}: {property}")];
    assert!(with(|_| {}).is_empty());
    assert_eq!(with(|plan| plan.channels[0].name = "Pose".into()), of("channel-name"));
    assert_eq!(with(|plan| plan.channels[0].from = 2), of("from"));
    assert_eq!(with(|plan| plan.channels[0].to = vec![2]), of("to"));
    assert_eq!(with(|plan| plan.channels[0].to = vec![1, 1]), of("to"));
    assert_eq!(with(|plan| plan.channels[0].to = vec![0, 1]), of("to"));
    assert_eq!(with(|plan| plan.channels[0].memory.size = Bytes(0x80_1000)), of("reg"));
    // Rings too often, too early, and for VMs that have no bell.
    let deaf = vec!["/vms/vm@0".to_owned(), "/vms/vm@1".to_owned()];
    let rings = |interval, early| {
        let mut nodes = broken(|plan| {
            plan.channels = vec![channel("pose", 0x3000_0000, 0x7000_0000)];
            let [interval, early] = [interval, early].map(Duration);
            plan.channels[0].rings = Some(Rings { interval, early });
        });
        assert_eq!(nodes.split_off(nodes.len() - 2), deaf);
        nodes
    };
    assert!(rings(20_000, 0).is_empty());
    assert_eq!(rings(19_999, 0), of("ring-interval-ns"));
    assert_eq!(rings(3_600_000_000_001, 0), of("ring-interval-ns"));
    assert!(rings(3_600_000_000_000, 63 * 3_600_000_000_000).is_empty());
    assert_eq!(rings(20_000, 63 * 3_600_000_000_000 + 1), of("ring-early-ns"));
    let large = broken(|plan| {
        let registers = Region::new(0x0a02_0000u64, Bytes::kib(8));
        plan.vms[0].bell = Some(VirtualDevice { registers, interrupt: IntId(35) });
    });
    assert_eq!(large, ["/vms/vm@0/bell@a020000: reg"]);
    // RAM of the hypervisor and of a VM, no RAM.
    for host in [0x4000_0000, 0x4600_1000, 0x1000_0000] {
        let mut nodes = broken(|plan| plan.channels = vec![channel("pose", 0x3000_0000, host)]);
        nodes.dedup();
        assert_eq!(nodes, of("host-reg"), "{host:#x}");
    }
    // In the guest, below RAM of the VM, and where its UART is.
    for ipa in [0x3fff_f000, 0x0900_0000] {
        let nodes = broken(|plan| plan.channels = vec![channel("pose", ipa, 0x7000_0000)]);
        assert!(!nodes.is_empty(), "{ipa:#x}");
        assert!(
            nodes.iter().all(|it| it.contains("/channels/") && it.ends_with(": reg")),
            "{nodes:?}"
        );
    }
    let two = |second: Channel| {
        broken(|plan| {
            plan.channels = vec![channel("pose", 0x3000_0000, 0x7000_0000), second.clone()];
        })
    };
    let second = |property: &str| vec![format!("/channels/channel@30002000: {property}")];
    assert!(two(channel("map", 0x3000_2000, 0x7000_2000)).is_empty());
    assert_eq!(two(channel("pose", 0x3000_2000, 0x7000_2000)), second("channel-name"));
    assert_eq!(two(channel("map", 0x3000_2000, 0x7000_1000)), second("host-reg"));
    let nodes = two(channel("map", 0x3000_1000, 0x7000_2000));
    assert_eq!(nodes, vec!["/channels/channel@30001000: reg"; 2], "in both VMs");
    let many = |plan: &mut Plan| {
        let one = |index: u64| {
            channel(
                &format!("c{index}"),
                0x3000_0000 + 0x2000 * index,
                0x7000_0000 + 0x2000 * index,
            )
        };
        plan.channels = (0..17).map(one).collect();
    };
    assert_eq!(broken(many), ["/channels"]);
}

#[test]
fn serial_lines_have_two_vms_and_places_of_their_own() {
    const NODE: &str = "/serial-lines/serial-line@a030000";
    let line = || SerialLine {
        registers: Region::new(0x0a03_0000, Bytes::kib(4)),
        vms: [0, 1],
        interrupts: [IntId(50), IntId(50)],
        tells: Rings { interval: Duration(1_000_000), early: Duration(0) },
    };
    let with = |change: fn(&mut SerialLine)| {
        let mut line = line();
        change(&mut line);
        broken(|plan| plan.serial_lines = vec![line.clone()])
    };
    let of = |property: &str| vec![format!("{NODE}: {property}")];
    assert!(with(|_| {}).is_empty());
    assert_eq!(with(|line| line.vms = [0, 2]), of("vms"));
    assert_eq!(with(|line| line.vms = [1, 0]), of("vms"));
    assert_eq!(with(|line| line.vms = [1, 1]), of("vms"));
    assert_eq!(with(|line| line.registers.size = Bytes::kib(8)), of("reg"));
    assert_eq!(with(|line| line.tells.interval = Duration(0)), of("tell-interval-ns"));
    assert_eq!(with(|line| line.tells.interval = Duration(19_999)), of("tell-interval-ns"));
    assert_eq!(with(|line| line.tells.early = Duration(u64::MAX)), of("tell-early-ns"));
    assert_eq!(with(|line| line.interrupts[0] = IntId(33)).len(), 1, "that of the console");
    assert_eq!(with(|line| line.interrupts[0] = IntId(31)).len(), 1, "a private one");
    let nine = broken(|plan| {
        plan.serial_lines = (0..9)
            .map(|index| SerialLine {
                registers: Region::new(0x0a03_0000 + index * 0x1000, Bytes::kib(4)),
                interrupts: [IntId(50 + index as u32), IntId(50 + index as u32)],
                ..line()
            })
            .collect();
    });
    assert_eq!(nine, ["/serial-lines"]);
}

#[test]
fn links_have_two_vms_and_limits_and_places_of_their_own() {
    const NODE: &str = "/links/link@a040000";
    let link = || Link {
        name: "lan".into(),
        registers: Region::new(0x0a04_0000, Bytes::kib(4)),
        vms: [0, 1],
        interrupts: [IntId(50), IntId(50)],
        macs: [Mac([2, 0, 0, 0, 0, 1]), Mac([2, 0, 0, 0, 0, 2])],
        rate: Rate(1_000_000),
        burst: Bytes(65_536),
        tells: Rings { interval: Duration(1_000_000), early: Duration(0) },
    };
    let with = |change: fn(&mut Link)| {
        let mut link = link();
        change(&mut link);
        broken(|plan| plan.links = vec![link.clone()])
    };
    let of = |property: &str| vec![format!("{NODE}: {property}")];
    assert!(with(|_| {}).is_empty());
    assert_eq!(with(|link| link.name = "a name".into()), of("link-name"));
    assert_eq!(with(|link| link.vms = [0, 2]), of("vms"));
    assert_eq!(with(|link| link.vms = [1, 0]), of("vms"));
    assert_eq!(with(|link| link.registers.size = Bytes::kib(8)), of("reg"));
    assert_eq!(with(|link| link.macs[0] = Mac([1, 0, 0, 0, 0, 1])), of("macs"));
    assert_eq!(with(|link| link.macs[1] = Mac([0; 6])), of("macs"));
    assert_eq!(with(|link| link.macs[1] = link.macs[0]), of("macs"));
    assert_eq!(with(|link| link.rate = Rate(999)), of("bytes-per-second"));
    assert_eq!(with(|link| link.rate = Rate(10_000_000_001)), of("bytes-per-second"));
    assert_eq!(with(|link| link.burst = Bytes(1_513)), of("burst-bytes"));
    assert_eq!(with(|link| link.burst = Bytes((1 << 20) + 1)), of("burst-bytes"));
    assert_eq!(with(|link| link.tells.interval = Duration(19_999)), of("tell-interval-ns"));
    assert_eq!(with(|link| link.tells.early = Duration(u64::MAX)), of("tell-early-ns"));
    assert_eq!(with(|link| link.interrupts[0] = IntId(33)).len(), 1, "that of the console");
    let many = |names: fn(u64) -> String, count: u64| {
        broken(|plan| {
            plan.links = (0..count)
                .map(|index| Link {
                    name: names(index),
                    registers: Region::new(0x0a04_0000 + index * 0x1000, Bytes::kib(4)),
                    interrupts: [IntId(50 + index as u32), IntId(50 + index as u32)],
                    ..link()
                })
                .collect();
        })
    };
    assert!(many(|index| format!("lan-{index}"), 8).is_empty());
    assert_eq!(many(|index| format!("lan-{index}"), 9), ["/links"]);
    assert_eq!(many(|_| "lan".into(), 2), ["/links/link@a041000: link-name"]);
}
