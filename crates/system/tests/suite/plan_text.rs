//! The plan as text: the example of the reference, and mistakes in it.

use std::path::Path;

use policy::server::kind::Kind;
use proptest::prelude::*;
use system::address::IntId;
use system::description::System;
use system::plan::{self, Budget, Class, Compensation, CounterSource, MemoryBudget, Plan, Server};
use units::{Bytes, Duration};

/// The example of `docs/reference/plan.md`.
fn example() -> String {
    let page = include_str!("../../../../docs/reference/plan.md");
    let text = page.split("```dts\n").nth(1).unwrap();
    text.split("```").next().unwrap().to_owned()
}

#[test]
fn the_example_of_the_reference_is_a_plan() {
    let plan = Plan::from_dts("plan.md", &example()).unwrap();
    assert_eq!(plan.name, "demo");
    assert_eq!(plan.vms[0].devices[0].compatible, ["arm,pl031", "arm,primecell"]);
    assert_eq!(Plan::from_dts("plan.dts", &plan.to_dts()).unwrap(), plan);
    assert_eq!(Plan::from_dtb(&plan.to_dtb()).unwrap(), plan);
}

/// The example with the VCPU of the reference that shares its PCPU.
#[test]
fn the_server_of_the_reference_is_part_of_a_plan() {
    let page = include_str!("../../../../docs/reference/plan.md");
    let vcpu = page.split("```text\n").nth(4).unwrap().split("```").next().unwrap();
    let plan = example().replacen("vcpu@0 { reg = <0>; pcpu = <0>; };", vcpu.trim(), 1);
    let server = Plan::from_dts("plan.md", &plan).unwrap().vms[0].vcpus[0].server.unwrap();
    let budget = Budget { budget: Duration(3_000_000), period: Duration(10_000_000) };
    let overrun = Duration(1_100_000);
    assert_eq!(
        server,
        Server { class: Class::Reserved(Kind::Deferrable, budget), priority: 5, overrun }
    );
}

/// A plan of two VMs with the memory budgets of the reference: one is throttled and gets credits,
/// the other is critical and has a VCPU with a budget.
fn throttled_example() -> String {
    let page = include_str!("../../../../docs/reference/plan.md");
    let block = |index: usize| page.split("```text\n").nth(index).unwrap().split("```").next();
    let (counter, budget, credits) = (block(5).unwrap(), block(6).unwrap(), block(7).unwrap());
    let vm = |name: &str| {
        format!("[[vm]]\nname = \"{name}\"\nboot = \"raw\"\nmemory = \"1MiB\"\nkernel = \"k\"\n")
    };
    let system = format!("platform = \"qemu-virt\"\n{}{}", vm("linux"), vm("rt"));
    let system = System::from_toml("s.toml", &system, Path::new("")).unwrap();
    let text = plan::make(&system).unwrap().to_dts();
    let text = text.replacen("cpus {", &format!("{counter}\ncpus {{"), 1);
    let of_vm = format!("{budget}{credits}vm-name = \"linux\"");
    let text = text.replacen("vm-name = \"linux\"", &of_vm, 1);
    let text = text.replacen("vm-name = \"rt\"", "critical;\nvm-name = \"rt\"", 1);
    text.replacen("pcpu = <1>;", &format!("pcpu = <1>;\n{budget}"), 1)
}

#[test]
fn the_memory_budgets_of_the_reference_are_a_plan() {
    let plan = Plan::from_dts("plan.md", &throttled_example()).unwrap_or_else(|it| panic!("{it}"));
    let counter = plan.platform.bandwidth_counter.clone().unwrap();
    assert_eq!(counter.source, CounterSource::Pmu { event: 0x17 });
    assert_eq!(counter.interrupts, [175, 176, 177, 178].map(IntId));
    let [linux, rt] = &plan.vms[..] else { panic!("two VMs") };
    let budget = MemoryBudget { accesses: 12_500, period: Duration(10_000_000) };
    assert_eq!(linux.memory_budget, Some(budget));
    let credits = Compensation { periods: 2, flush_task_switch: true };
    assert_eq!((linux.compensation, linux.critical, rt.critical), (Some(credits), false, true));
    assert_eq!(rt.vcpus[0].memory_budget, linux.memory_budget);
    assert_eq!(Plan::from_dts("plan.dts", &plan.to_dts()).unwrap(), plan);
    assert_eq!(Plan::from_dtb(&plan.to_dtb()).unwrap(), plan);
}

/// The example with the two coloured nodes of the reference in place of its own.
fn colored_example() -> String {
    let page = include_str!("../../../../docs/reference/plan.md");
    let text = page.split("```text\n").nth(1).unwrap().split("```").next().unwrap();
    let (llc, memory) = text.split_once("\n\n").unwrap();
    let example = example();
    let start = example.rfind("memory@40000000").unwrap();
    let end = start + example[start..].find("};").unwrap() + "};".len();
    let colored = format!("{}{}{}", &example[..start], memory.trim(), &example[end..]);
    colored.replacen("cpus {", &format!("{llc}\ncpus {{"), 1)
}

#[test]
fn the_colored_example_of_the_reference_is_a_plan() {
    let plan = Plan::from_dts("plan.md", &colored_example()).unwrap();
    assert_eq!(plan.platform.llc.unwrap().geometry.to_string(), "16 colours, address bits [15:12]");
    assert_eq!(plan.vms[0].colors().unwrap().to_string(), "0-7");
    assert_eq!(plan.vms[0].memory_size(), Bytes::mib(256));
    assert_eq!(Plan::from_dts("plan.dts", &plan.to_dts()).unwrap(), plan);
}

/// The coloured example with the nodes of vColoring and the colours of the
/// hypervisor that the reference shows.
fn extra_example() -> String {
    let page = include_str!("../../../../docs/reference/plan.md");
    let block = |index: usize| page.split("```text\n").nth(index).unwrap().split("```").next();
    let (pool, hypervisor) = (block(2).unwrap(), block(3).unwrap());
    let example = colored_example();
    let start = example.find("hypervisor@40000000").unwrap();
    let end = start + example[start..].find("};").unwrap() + "};".len();
    let example = format!("{}{hypervisor}{}", &example[..start], &example[end..]);
    // Frames for the state of the pool.
    let example = example.replacen("0x20280000", "0x202d0000", 1);
    example.replacen("boot {", &format!("{pool}\nboot {{"), 1)
}

#[test]
fn the_extra_colors_of_the_reference_are_a_plan() {
    let plan = Plan::from_dts("plan.md", &extra_example()).unwrap();
    let pool = plan.vms[0].pool.unwrap();
    assert_eq!((pool.area.colors.to_string().as_str(), pool.size()), ("8-11", Bytes::mib(32)));
    assert_eq!(plan.vms[0].color_serial.unwrap().interrupt.0, 35);
    assert_eq!(plan.platform.hypervisor_area.unwrap().colors.to_string(), "15");
    assert!(plan.platform.llc.unwrap().in_registers);
    assert_eq!(Plan::from_dts("plan.dts", &plan.to_dts()).unwrap(), plan);
}

/// What is wrong with an example after `from` was replaced by `to`:
/// `line: message`, and the help.
fn mistake(text: &str, from: &str, to: &str) -> (String, String) {
    assert!(text.contains(from), "{from}");
    let changed = text.replacen(from, to, 1);
    let errors = Plan::from_dts("plan.dts", &changed).unwrap_err();
    let error = errors.iter().next().unwrap();
    let (line, _) = error.place.as_ref().unwrap().line_column();
    let line = changed.lines().nth(line - 1).unwrap().split("//").next().unwrap().trim();
    let node = error.node.as_ref().map(|node| format!("{node}: ")).unwrap_or_default();
    (format!("{line} | {node}{}", error.message), error.help.clone().unwrap_or_default())
}

#[test]
fn mistakes_name_line_node_and_property() {
    let cases = [
        (
            ("gic-version = <3>;", "gic-verison = <3>;"),
            "platform { | /platform: gic-version: is missing",
            "add `gic-version` to this node",
        ),
        (
            ("board =", "bord = \"x\"; board ="),
            "bord = \"x\"; board = \"qemu-virt\"; | /platform: bord: is not a property of this node",
            "did you mean `board`?",
        ),
        (
            ("vcpus {", "vpcus {"),
            "vm@0 { | /vms/vm@0: node `vcpus` is missing",
            "add `vcpus { ... };`",
        ),
        (
            ("on-crash = \"stop\"", "on-crash = \"panic\""),
            "on-crash = \"panic\"; | /vms/vm@0: on-crash: `panic` is not known here",
            "write `stop` or `restart`",
        ),
        (
            ("on-crash = \"stop\"", "vllc = <2>; on-crash = \"stop\""),
            "vllc = <2>; on-crash = \"stop\"; | /vms/vm@0: vllc: is 2",
            "write <1>, or remove the property",
        ),
        (
            ("pcpu = <0>;", "pcpu = \"zero\";"),
            "vcpu@0 { reg = <0>; pcpu = \"zero\"; }; \
             | /vms/vm@0/vcpus/vcpu@0: pcpu: has 5 bytes, but 4 are expected",
            "write `pcpu = <number>;`",
        ),
        (
            ("vcpu@1 { reg = <1>", "vcpu@1 { reg = <7>"),
            "vcpu@1 { reg = <7>; pcpu = <1>; }; \
             | /vms/vm@0/vcpus/vcpu@1: reg: is 7, but this is number 1 of its kind",
            "number these nodes 0, 1, 2, ... in their order",
        ),
        (
            ("cpu@3 {", "cpu@5 {"),
            "cpu@5 { reg = <0x0 0x3>; }; \
             | /platform/cpus/cpu@5: the name of the node does not fit its `reg`",
            "call the node `cpu@3`, or correct `reg`",
        ),
        (
            ("model = \"demo\";", "model = \"demo\""),
            "#address-cells = <2>; | expected `;` after property `model`, found `#address-cells`",
            "",
        ),
        (
            ("<33>", "<&gic>"),
            "interrupts = <&gic>; | `&` has no meaning in a plan",
            "a plan has no references: write the value itself",
        ),
        (
            ("/dts-v1/;", "v1;"),
            "v1; | expected `/dts-v1/`, found `v1`",
            "a plan starts with `/dts-v1/;`",
        ),
        (
            ("cpu@1 {", "cpu@0 {"),
            "cpu@0 { reg = <0x0 0x1>; }; | `cpu@0` is given twice",
            "remove one of the two",
        ),
        (
            (
                "host-reg = <0x0 0x46000000 0x0 0x20000000>",
                "host-reg = <0x0 0x46000000 0x0 0x1000>",
            ),
            "host-reg = <0x0 0x46000000 0x0 0x1000>; \
             | /vms/vm@0/memory@40000000: host-reg: has 4 KiB, but `reg` has 512 MiB",
            "make the two sizes equal",
        ),
    ];
    for ((from, to), expected, help) in cases {
        let (found, found_help) = mistake(&example(), from, to);
        assert_eq!((found.as_str(), found_help.as_str()), (expected, help));
    }
}

#[test]
fn mistakes_in_colors_name_line_node_and_property() {
    let mask_help = "give contiguous bits above the page offset (bit 12 and up) that end at the \
                     highest bit of the set index (0x8000)";
    let mask = |mask: &str| {
        format!(
            "color-mask = <0x0 {mask}>; | /platform/llc: color-mask: {mask} are not bits that can \
             be colours of 1 MiB, 16 ways, lines of 64 bytes"
        )
    };
    let memory = "/vms/vm@0/memory@40000000";
    let cases = [
        (("0x0000f000", "0x5000"), mask("0x5000"), mask_help),
        (("0x0000f000", "0xf800"), mask("0xf800"), mask_help),
        (("0x0000f000", "0x7000"), mask("0x7000"), mask_help),
        (("0x0000f000", "0x1f000"), mask("0x1f000"), mask_help),
        (("0x0000f000", "0x0"), mask("0x0"), mask_help),
        (
            ("ways = <16>", "ways = <15>"),
            "cache-size = <0x100000>; | /platform/llc: cache-size: 1 MiB, 15 ways, lines of 64 \
             bytes: the size is not a multiple of ways x slices x line size"
                .into(),
            "give the numbers of one cache",
        ),
        (
            ("slices = <1>;", ""),
            "llc { | /platform/llc: slices: is missing".into(),
            "add `slices` to this node",
        ),
        (
            ("colors = <0x0 0x000000ff>", "colors = <0xff>"),
            format!("colors = <0xff>; | {memory}: colors: has 1 cells, but 2 are expected"),
            "write `colors = <high low>;`",
        ),
        (
            ("colors = <0x0 0x000000ff>", "colors = <0x0 0x1ff00>"),
            format!(
                "colors = <0x0 0x1ff00>; | {memory}: colors: no such colours: 16; the cache has 0-15"
            ),
            "`/platform/llc` has 16 colours, address bits [15:12]",
        ),
        (
            ("0x20280000", "0x20270000"),
            format!(
                "host-reg = <0x0 0x46000000 0x0 0x20270000>; | {memory}: host-reg: the area has \
                 65848 frames of the colours (0-7), not 65856"
            ),
            "256 MiB of RAM need 65856 frames, with those of the hypervisor for the VM: make it \
             526848 KiB",
        ),
    ];
    for ((from, to), expected, help) in cases {
        let (found, found_help) = mistake(&colored_example(), from, to);
        assert_eq!((found.as_str(), found_help.as_str()), (expected.as_str(), help));
    }
}

#[test]
fn mistakes_in_extra_colors_name_line_node_and_property() {
    let (pool, hypervisor) = ("/vms/vm@0/coloring@a000000", "/platform/hypervisor@40000000");
    let cases = [
        (
            ("frames = <8192>;", "frames = <8193>;"),
            format!(
                "frames = <8193>; | {pool}: frames: the area has 8192 frames of the colours (8-11)"
            ),
            "make the area 131136 KiB",
        ),
        (
            ("frames = <8192>;", ""),
            format!("coloring@a000000 {{ | {pool}: frames: is missing"),
            "add `frames` to this node",
        ),
        (
            ("color-serial@a010000", "color-serial@a020000"),
            "color-serial@a020000 { | /vms/vm@0/color-serial@a020000: the name of the node does \
             not fit its `reg`"
                .into(),
            "call the node `color-serial@a010000`, or correct `reg`",
        ),
        (
            ("colors = <0x0 0x00008000>;", ""),
            format!("hypervisor@40000000 {{ | {hypervisor}: colors: is missing"),
            "add `colors` to this node",
        ),
        (
            ("host-reg = <0x0 0x46000000 0x0 0x04000000>;", ""),
            format!("hypervisor@40000000 {{ | {hypervisor}: host-reg: is missing"),
            "add `host-reg` to this node",
        ),
        (
            ("slices = <1>;", "slices = <1>; not-in-registers = <1>;"),
            "slices = <1>; not-in-registers = <1>; | /platform/llc: not-in-registers: has a value"
                .into(),
            "write `not-in-registers;`",
        ),
        (
            ("warm-up = <1>;", "warm-up = <0>;"),
            "warm-up = <0>; | /vms/vm@0: warm-up: is 0".into(),
            "write <1>, or remove the property",
        ),
    ];
    for ((from, to), expected, help) in cases {
        let (found, found_help) = mistake(&extra_example(), from, to);
        assert_eq!((found.as_str(), found_help.as_str()), (expected.as_str(), help));
    }
}

#[test]
fn mistakes_in_memory_budgets_name_line_node_and_property() {
    let counter = "/platform/bandwidth-counter";
    let cases = [
        (
            ("source = \"pmu\"", "source = \"perf\""),
            format!("source = \"perf\"; | {counter}: source: `perf` is not known here"),
            "write `pmu`, `cycles` or `cachescope`",
        ),
        (
            ("source = \"pmu\"", "source = \"cycles\""),
            format!(
                "event = <0x17>; | {counter}: event: has no meaning: only the PMU counts one of \
                 several events"
            ),
            "remove it",
        ),
        (
            ("event = <0x17>", "event = <0x10000>"),
            format!("event = <0x10000>; | {counter}: event: 0x10000 is not the number of an event"),
            "events are 0 to 0xffff",
        ),
        (
            ("<175 176 177 178>", "\"none\""),
            format!(
                "interrupts = \"none\"; | {counter}: interrupts: has 5 bytes, but 4 are expected"
            ),
            "write `interrupts = <number ...>;`",
        ),
        (
            ("memory-budget = <0x0 0x000030d4>;", ""),
            "memory-period-ns = <0x0 0x00989680>; | /vms/vm@0: memory-period-ns: has no meaning: \
             there is no `memory-budget`"
                .into(),
            "remove it",
        ),
        (
            ("memory-period-ns = <0x0 0x00989680>;", ""),
            "vm@0 { | /vms/vm@0: memory-period-ns: is missing".into(),
            "add `memory-period-ns` to this node",
        ),
        (
            ("compensation = <2>;", ""),
            "flush-task-switch; | /vms/vm@0: flush-task-switch: has no meaning: there is no \
             `compensation`"
                .into(),
            "remove it",
        ),
        (
            ("critical;", "critical = <1>;"),
            "critical = <1>; | /vms/vm@1: critical: has a value".into(),
            "write `critical;`",
        ),
        (
            ("memory-budget = <0x0 0x000030d4>", "memory-budget = <0xffffffff 0xffffffff>"),
            "memory-budget = <0xffffffff 0xffffffff>; | /vms/vm@0: memory-budget: a counter of 32 \
             bits cannot wait for 18446744073709551615"
                .into(),
            "budget and credits of a period are at most 2147483648 accesses",
        ),
    ];
    for ((from, to), expected, help) in cases {
        let (found, found_help) = mistake(&throttled_example(), from, to);
        assert_eq!((found.as_str(), found_help.as_str()), (expected.as_str(), help));
    }
}

#[test]
fn all_mistakes_are_reported_at_once() {
    let text = example()
        .replace("board =", "bord =")
        .replace("vm-name = \"linux\"", "vm-name = <1>")
        .replace("on-reset", "on-rest");
    let errors = Plan::from_dts("plan.dts", &text).unwrap_err();
    assert_eq!(errors.iter().len(), 5, "{errors}");
}

#[test]
fn deep_nesting_is_refused() {
    let text = format!("/dts-v1/; / {{ {}{} }};", "a {".repeat(100_000), "};".repeat(100_000));
    let errors = Plan::from_dts("plan.dts", &text).unwrap_err();
    assert!(errors.to_string().contains("nested deeper than 16 levels"), "{errors}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn damaged_text_never_panics(
        damage in proptest::collection::vec(crate::support::damage(), 1..4),
        start in proptest::sample::select(vec![example(), colored_example(), extra_example(), throttled_example()]),
    ) {
        let text = damage.iter().fold(start, |text, damage| damage.apply(&text));
        if let Err(errors) = Plan::from_dts("plan.dts", &text) {
            prop_assert!(errors.to_string().starts_with("error["));
        }
    }

    #[test]
    fn damaged_bytes_never_panic(
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..6),
        length in any::<proptest::sample::Index>(),
        cut in any::<bool>(),
    ) {
        let mut bytes = plan::compile("plan.dts", &extra_example()).unwrap();
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if cut {
            bytes.truncate(length.index(bytes.len()));
        }
        if let Err(errors) = Plan::from_dtb(&bytes) {
            prop_assert!(errors.to_string().starts_with("error["));
        }
    }
}
