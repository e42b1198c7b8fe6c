//! Budgets of memory accesses: how they are described, planned, and refused.

use std::path::Path;

use system::address::IntId;
use system::description::System;
use system::diagnostic::Errors;
use system::plan::{self, BandwidthCounter, CounterSource, MemoryBudget, Plan};
use system::platform::Platform;
use units::{Bytes, Duration};

/// A critical VM, one that is throttled as a whole, and one with a throttled VCPU.
const THROTTLED: &str = r#"[platform]
board = "qemu-virt"

[platform.bandwidth]
access_latency = "64ns"

[[vm]]
name = "rt"
boot = "raw"
memory = "1MiB"
kernel = "k"
critical = true

[[vm.task]]
name = "t"
period = "20ms"
wcet = "4ms"
accesses = 10_000

[[vm]]
name = "linux"
boot = "raw"
memory = "1MiB"
kernel = "k"
bandwidth = { rate = "80MB/s", period = "10ms" }
compensation = 2
flush = ["vcpu-switch", "task-switch"]

[[vm]]
name = "other"
boot = "raw"
memory = "1MiB"
kernel = "k"

[[vm.vcpu]]
bandwidth = { accesses = 13_718, period = "1s" }

[[vm.vcpu]]
bandwidth = "4MB/s"
"#;

fn make(text: &str) -> Result<Plan, Errors> {
    System::from_toml("s.toml", text, Path::new("")).and_then(|system| plan::make(&system))
}

/// The text with one part replaced.
fn with(from: &str, to: &str) -> String {
    assert!(THROTTLED.contains(from), "{from}");
    THROTTLED.replacen(from, to, 1)
}

fn budget(accesses: u64, milliseconds: u64) -> Option<MemoryBudget> {
    Some(MemoryBudget { accesses, period: Duration(milliseconds * 1_000_000) })
}

#[test]
fn budgets_are_planned_as_accesses() {
    let plan = make(THROTTLED).unwrap_or_else(|errors| panic!("{errors}"));
    let [rt, linux, other] = &plan.vms[..] else { panic!("three VMs") };
    assert!(rt.critical && !linux.critical && !other.critical);
    // 80 MB/s are 800,000 bytes in 10 ms: 12,500 lines.
    assert_eq!((rt.memory_budget, linux.memory_budget), (None, budget(12_500, 10)));
    let credits = linux.compensation.unwrap();
    assert!(credits.periods == 2 && credits.flush_task_switch);
    let own: Vec<_> = other.vcpus.iter().map(|vcpu| vcpu.memory_budget).collect();
    assert_eq!(own, [budget(13_718, 1000), budget(62, 1)], "4,000 bytes are 62 whole lines");
    let counter = BandwidthCounter {
        source: CounterSource::Cachescope,
        bits: 64,
        interrupts: vec![IntId(22)],
        access: Some(Bytes(64)),
    };
    assert_eq!(plan.platform.bandwidth_counter, Some(counter));
    let text = plan.to_dts();
    assert!(text.contains("12500 accesses, 80 MB/s"), "{text}");
    assert_eq!(Plan::from_dts("plan.dts", &text), Ok(plan));
}

#[test]
fn a_system_without_budgets_counts_nothing() {
    let text = "platform = \"qemu-virt\"\n[[vm]]\nname = \"a\"\nboot = \"raw\"\nmemory = \"1MiB\"\n\
                kernel = \"k\"\n";
    let plan = make(text).unwrap();
    assert_eq!(plan.platform.bandwidth_counter, None);
    let plan = make(&format!("{text}critical = true\n")).unwrap();
    assert!(plan.platform.bandwidth_counter.is_some());
    let plan = make(&format!("{text}critical = false\n")).unwrap();
    assert_eq!(plan.platform.bandwidth_counter, None);
}

/// Line and code of each mistake.
fn mistakes(text: &str) -> Vec<String> {
    let Err(errors) = make(text) else { return Vec::new() };
    let entry = errors.entries().into_iter().map(|entry| {
        assert!(entry.help.is_some(), "{entry:?} says what to do");
        let line = entry.line.and_then(|line| text.lines().nth(line - 1)).unwrap();
        format!("{line}: {}", entry.code)
    });
    entry.collect()
}

#[test]
fn budgets_that_cannot_be_are_reported_where_they_are_described() {
    const RATE: &str = "{ rate = \"80MB/s\", period = \"10ms\" }";
    const OWN: &str = "{ accesses = 13_718, period = \"1s\" }";
    let of_vm = |value: &str| (with(RATE, value), format!("bandwidth = {value}"));
    let of_vcpu = |value: &str| (with(OWN, value), format!("bandwidth = {value}"));
    for ((text, line), code, said) in [
        (of_vm("\"0MB/s\""), "out-of-range", "the budget is 0"),
        (of_vcpu("{ accesses = 0 }"), "out-of-range", "the budget is 0"),
        (
            of_vm("\"63kB/s\""),
            "out-of-range",
            "at least 64 kB/s, or a period of at least 1015888 ns",
        ),
        (of_vm("{ rate = \"1B/s\", period = \"60s\" }"), "out-of-range", "at least 2 B/s"),
        (of_vm("{ rate = \"2B/s\", period = \"10s\" }"), "out-of-range", "of at least 32 s"),
        (of_vm("{ rate = \"80MB/s\", period = \"19us\" }"), "out-of-range", "at least 20 us"),
        (of_vm("{ rate = \"80MB/s\", period = \"61s\" }"), "out-of-range", "at most 60 s"),
        (
            of_vm("{ rate = \"80MB/s\", period = \"1000001ns\" }"),
            "out-of-range",
            "a multiple of 16 ns",
        ),
        // 64 ns for each: 15,625 in 1 ms, which are 1 GB/s.
        (
            of_vm("\"1.00007GB/s\""),
            "out-of-range",
            "a period serves 15625 (with `access_latency`), 1 GB/s: give it less",
        ),
        (
            of_vcpu("{ accesses = 15_626 }"),
            "out-of-range",
            "15626 accesses of 64 ns each are more than 1 ms",
        ),
        (
            of_vcpu("{ accesses = 9223372036854775807, period = \"60s\" }"),
            "out-of-range",
            "each are more than 60 s",
        ),
        (of_vm("\"18446744073709551615GB/s\""), "out-of-range", "more than 64 bits"),
        (of_vm("80"), "missing-unit", "\"80MB/s\""),
        (of_vm("\"80MB\""), "wrong-unit", "did you mean `MB/s`?"),
        (of_vm("\"80Mb/s\""), "wrong-unit", "did you mean `MB/s`?"),
        (of_vm("[]"), "wrong-type", "as in \"80MB/s\""),
        (of_vm("{ accesses = 1, rate = \"1MB/s\" }"), "useless-key", "remove one of the two"),
        (of_vm("\"planed\""), "wrong-value", "this is not a rate"),
        (of_vm("{ period = \"10ms\" }"), "not-planned", "use `bulkhead plan`"),
        (of_vcpu("\"planned\""), "not-planned", "use `bulkhead plan`"),
        (of_vm("{ accesses = -1 }"), "out-of-range", "negative"),
        (of_vm("{ accesses = 1, priod = \"1ms\" }"), "unknown-key", "did you mean `period`?"),
    ] {
        assert_eq!(mistakes(&text), [format!("{line}: {code}")]);
        let shown = make(&text).unwrap_err().to_string();
        assert!(shown.contains(said), "{shown}");
    }
}

#[test]
fn what_belongs_to_budgets_is_checked_with_them() {
    let both = with("flush = [", "[[vm.vcpu]]\nbandwidth = \"1MB/s\"\n[[vm]]\nflush = [");
    let both = both.replace("[[vm]]\nflush = [\"vcpu-switch\", \"task-switch\"]\n", "");
    for (text, expected) in [
        (both, "bandwidth = \"1MB/s\": wrong-value"),
        (with("critical = true\n", ""), "compensation = 2: wrong-value"),
        (
            with("compensation = 2", "compensation = 2\ncritical = true"),
            "compensation = 2: wrong-value",
        ),
        (with("compensation = 2", "compensation = 1"), "compensation = 1: out-of-range"),
        (with("compensation = 2\n", ""), "flush = [\"vcpu-switch\", \"task-switch\"]: useless-key"),
        (
            with("[\"vcpu-switch\", \"task-switch\"]", "[\"task-switch\"]"),
            "flush = [\"task-switch\"]: wrong-value",
        ),
        (with("[\"vcpu-switch\", \"task-switch\"]", "\"irq\""), "flush = \"irq\": wrong-value"),
        (with("bandwidth = \"4MB/s\"", "compensation = 2"), "compensation = 2: useless-key"),
        (with("bandwidth = \"4MB/s\"", "critical = true"), "critical = true: useless-key"),
        (with("critical = true", "compensation = 2"), "compensation = 2: useless-key"),
        (with("accesses = 10_000", "accesses = \"10\""), "accesses = \"10\": wrong-type"),
    ] {
        let found = mistakes(&text);
        assert!(found.contains(&expected.to_owned()), "{expected}: {found:?}");
    }
    let text = with("critical = true", "compensation = 2");
    let shown = System::from_toml("s.toml", &text, Path::new("")).unwrap_err().to_string();
    assert!(shown.contains("without a limit there is nothing to be raised"), "{shown}");
    assert!(shown.contains("remove `compensation` too, or give the VM a limit"), "{shown}");
    // A VM that is critical can have a budget without credits.
    let critical = with("critical = true", "critical = true\nbandwidth = \"1MB/s\"");
    assert_eq!(mistakes(&critical), [""; 0]);
}

#[test]
fn a_platform_without_counter_is_said_to_have_none() {
    let board = include_str!("../../../../systems/platforms/qemu-virt.toml");
    let start = board.find("[bandwidth]").unwrap();
    let end = board.find("[qemu]").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plain.toml");
    std::fs::write(&path, format!("{}{}", &board[..start], &board[end..])).unwrap();
    let plain = |text: &str| {
        let text = text.replacen("\"qemu-virt\"", &format!("{path:?}"), 1);
        let errors = System::from_toml("s.toml", &text, Path::new("")).unwrap_err();
        errors
            .entries()
            .into_iter()
            .map(|it| (it.code, it.line.unwrap(), it.message))
            .collect::<Vec<_>>()
    };
    let text = with("[platform.bandwidth]\naccess_latency = \"64ns\"\n", "");
    let found = plain(&text);
    let lines: Vec<_> =
        found.iter().map(|(_, line, _)| text.lines().nth(line - 1).unwrap()).collect();
    assert_eq!(
        lines,
        [
            "critical = true",
            "accesses = 10_000",
            "bandwidth = { rate = \"80MB/s\", period = \"10ms\" }",
            "bandwidth = { accesses = 13_718, period = \"1s\" }",
            "bandwidth = \"4MB/s\"",
        ]
    );
    assert!(
        found.iter().all(|(code, ..)| ["no-counter", "missing-key"].contains(code)),
        "{found:?}"
    );
    // Where there is none, a description has to say which one there is.
    let found = plain(THROTTLED);
    assert_eq!(
        found.iter().filter(|(_, _, it)| it.contains("has no `counter`")).count(),
        1,
        "{found:?}"
    );
}

/// The plan with `keys` in `[platform.bandwidth]` of a board.
fn counted(board: &str, keys: &str) -> Result<BandwidthCounter, Errors> {
    let text = format!(
        "[platform]\nboard = \"{board}\"\n[platform.bandwidth]\n{keys}\n[[vm]]\nname = \"a\"\n\
         boot = \"raw\"\nmemory = \"1MiB\"\nkernel = \"k\"\ncritical = true\n"
    );
    make(&text).map(|plan| plan.platform.bandwidth_counter.unwrap())
}

#[test]
fn a_description_changes_the_counter_of_its_board() {
    let board = counted("zcu102", "").unwrap();
    let event = CounterSource::Pmu { event: 0x17 };
    assert_eq!((board.source, board.bits, board.access), (event, 32, Some(Bytes(64))));
    assert_eq!(board.interrupts, [175, 176, 177, 178].map(IntId));
    let event = counted("zcu102", "event = \"mem-access\"\naccess_bytes = \"8B\"").unwrap();
    assert_eq!(event.source, CounterSource::Pmu { event: 0x13 });
    assert_eq!((event.access, event.interrupts), (Some(Bytes(8)), board.interrupts.clone()));
    assert_eq!(
        counted("zcu102", "event = 0x60").unwrap().source,
        CounterSource::Pmu { event: 0x60 }
    );
    let wide = counted("zcu102", "counter_bits = 64").unwrap();
    assert_eq!((wide.source, wide.bits), (CounterSource::Pmu { event: 0x17 }, 64));
    // The cycle counter is one of the same PMU.
    let cycles = counted("raspberry-pi-4", "counter = \"cycles\"\ncounter_interrupt = 23").unwrap();
    assert_eq!((cycles.source, cycles.bits), (CounterSource::Cycles, 64));
    assert_eq!((cycles.access, cycles.interrupts), (None, vec![IntId(23)]));
    let cycles = counted("qemu-virt", "counter = \"cycles\"").unwrap();
    assert_eq!(cycles.interrupts, [IntId(23)]);
    let pmu = counted("qemu-virt", "counter = \"pmu\"\nevent = \"instructions\"").unwrap();
    assert_eq!((pmu.source, pmu.bits), (CounterSource::Pmu { event: 8 }, 32));
    assert_eq!(pmu.access, None, "instructions are no accesses to memory");
}

#[test]
fn counters_that_cannot_be_are_refused() {
    for (board, keys, said) in [
        ("zcu102", "event = \"llc-miss\"", "`llc-refill`"),
        ("zcu102", "event = 0x10000", "0 to 65535"),
        ("zcu102", "counter = \"perf\"", "`pmu`, `cycles` or `cachescope`"),
        ("qemu-virt", "event = \"mem-access\"", "only the PMU counts"),
        ("qemu-virt", "counter = \"pmu\"", "add `event = \"llc-refill\"`"),
        ("zcu102", "counter_bits = 48", "32 or 64 bits"),
        ("zcu102", "counter_interrupt = 32", "16 to 31"),
        ("zcu102", "counter_interrupts = [175, 176]", "2 interrupts for 4 CPUs"),
        ("zcu102", "counter_interrupts = [175, 176, 177, 175]", "175 is given twice"),
        ("zcu102", "counter_interrupts = [175, 176, 177, 23]", "32 to 1019"),
        ("zcu102", "counter_interrupts = []", "the list is empty"),
        ("zcu102", "counter_interrupts = 175", "a list of whole numbers"),
        (
            "zcu102",
            "counter_interrupts = [1,2,3,4]\ncounter_interrupt = 23",
            "remove one of the two",
        ),
        ("zcu102", "access_bytes = \"0B\"", "an access moves 0 B"),
        ("zcu102", "access_bytes = \"4GiB\"", "an access moves 4 GiB"),
        ("zcu102", "access_latency = \"0ns\"", "takes no time"),
        ("zcu102", "access_latency = 64", "add a unit"),
        (
            "qemu-virt",
            "counter = \"cycles\"\naccess_bytes = \"64B\"",
            "no accesses to memory are counted",
        ),
        ("qemu-virt", "latency = \"64ns\"", "unknown key `latency`"),
        // The console of the board.
        ("zcu102", "counter_interrupts = [50, 51, 52, 53]", "INTID 53 belongs to"),
    ] {
        let Err(errors) = counted(board, keys) else { panic!("{keys} is accepted") };
        let shown = errors.to_string();
        assert!(shown.contains(said), "{keys}: {shown}");
        assert!(errors.iter().all(|it| it.place.is_some() && it.help.is_some()), "{shown}");
    }
}

#[test]
fn counters_limit_what_can_be_waited_for() {
    let text = |bits: u32, accesses: u64, more: &str| {
        format!(
            "[platform]\nboard = \"zcu102\"\n[platform.bandwidth]\ncounter_bits = {bits}\n[[vm]]\n\
             name = \"a\"\nboot = \"raw\"\nmemory = \"1MiB\"\nkernel = \"k\"\n\
             bandwidth = {{ accesses = {accesses}, period = \"60s\" }}\n{more}\n[[vm]]\n\
             name = \"b\"\nboot = \"raw\"\nmemory = \"1MiB\"\nkernel = \"k\"\ncritical = true\n"
        )
    };
    for (bits, half) in [(32, 1u64 << 31), (64, 1 << 63)] {
        if bits == 32 {
            assert!(make(&text(bits, half, "")).is_ok());
            let errors = make(&text(bits, half + 1, "")).unwrap_err().to_string();
            assert!(errors.contains("at most 2147483648 accesses"), "{errors}");
        }
        let third = half / 3;
        assert!(make(&text(bits, third, "compensation = 3")).is_ok());
        let errors = make(&text(bits, third + 1, "compensation = 3")).unwrap_err().to_string();
        assert!(errors.contains(&format!("a counter of {bits} bits cannot wait for")), "{errors}");
    }
}

#[test]
fn cycles_are_no_bytes() {
    let text = |value: &str| {
        format!(
            "[platform]\nboard = \"qemu-virt\"\n[platform.bandwidth]\ncounter = \"cycles\"\n\
             [[vm]]\nname = \"a\"\nboot = \"raw\"\nmemory = \"1MiB\"\nkernel = \"k\"\n\
             bandwidth = {value}\n"
        )
    };
    let errors = make(&text("\"80MB/s\"")).unwrap_err().to_string();
    assert!(errors.contains("does not count accesses to memory"), "{errors}");
    assert!(errors.contains("s.toml:10:13"), "{errors}");
    // A budget of all cycles of a period is no time of the memory.
    let plan = make(&text("{ accesses = 1_000_000 }")).unwrap();
    assert_eq!(plan.vms[0].memory_budget, budget(1_000_000, 1));
    assert!(plan.to_dts().contains("// 1000000\n"), "no rate is shown");
}

#[test]
fn boards_say_what_counts_accesses() {
    for board in ["qemu-virt", "qemu-virt-gicv2", "qemu-exynos-5422", "qemu-raspberry-pi-2"] {
        let counter = Platform::named(board).unwrap().bandwidth.unwrap();
        assert_eq!(counter.source, CounterSource::Cachescope, "{board}");
        assert!(counter.latency.is_some());
    }
    for board in ["zcu102", "raspberry-pi-4"] {
        let counter = Platform::named(board).unwrap().bandwidth.unwrap();
        assert_eq!(counter.source, CounterSource::Pmu { event: 0x17 }, "{board}");
        assert_eq!(counter.latency, None, "nobody has measured it");
    }
}

#[test]
fn limits_can_be_left_to_the_planner_where_accesses_have_a_cost() {
    let open = with("{ rate = \"80MB/s\", period = \"10ms\" }", "{ period = \"10ms\" }");
    let read = |text: &str| System::from_toml("s.toml", text, Path::new(""));
    let system = read(&open).unwrap();
    assert!(system.is_open() && system.limits_open() && !system.processor_open());
    let limit = system.vms[1].bandwidth.as_ref().unwrap();
    assert!(limit.is_open() && limit.period.value == Duration(10_000_000));
    assert!(!read(THROTTLED).unwrap().is_open());
    let text = |keys: &str| {
        format!(
            "[platform]\nboard = \"zcu102\"\n[platform.bandwidth]\n{keys}\n[[vm]]\nname = \"a\"\n\
             boot = \"raw\"\nmemory = \"1MiB\"\nkernel = \"k\"\nbandwidth = \"planned\"\n"
        )
    };
    assert!(read(&text("access_latency = \"64ns\"")).is_ok());
    for (keys, said) in [
        ("", "add `access_latency`"),
        ("counter = \"cycles\"", "does not count accesses to memory"),
    ] {
        let errors = read(&text(keys)).unwrap_err().to_string();
        assert!(errors.contains(said) && errors.contains("cannot be planned"), "{errors}");
    }
}

/// A VM under KVM, with keys of `[platform.bandwidth]` and a limit.
fn under_kvm(keys: &str, limit: &str) -> Result<Plan, Errors> {
    let text = format!(
        "[platform]\nboard = \"linux-kvm\"\n[platform.bandwidth]\n{keys}\n\
         [[vm]]\nname = \"it\"\nboot = \"raw\"\nmemory = \"4MiB\"\nkernel = \"k\"\nbandwidth = {limit}\n"
    );
    System::from_toml("s.toml", &text, Path::new("")).and_then(|system| plan::outline(&system))
}

#[test]
fn under_kvm_linux_counts() {
    let accesses = "{ accesses = 2_000_000, period = \"10ms\" }";
    for (keys, source) in [
        ("", CounterSource::REFILLS),
        ("event = \"instructions\"", CounterSource::Pmu { event: 0x08 }),
        ("event = 0x412e", CounterSource::Pmu { event: 0x412e }),
        ("counter = \"cycles\"", CounterSource::Cycles),
        ("counter = \"clock\"", CounterSource::Clock),
    ] {
        let plan = under_kvm(keys, accesses).unwrap_or_else(|errors| panic!("{keys}: {errors}"));
        let counter = plan.platform.bandwidth_counter.expect("a counter");
        assert_eq!((counter.source, counter.bits), (source, 64), "{keys}");
        assert_eq!(plan.vms[0].memory_budget, budget(2_000_000, 10));
    }
    let plan = under_kvm("", "\"80MB/s\"").unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(plan.vms[0].memory_budget, budget(1_250, 1));
}

#[test]
fn counters_that_linux_does_not_have_are_refused() {
    for (keys, limit, message) in [
        ("counter = \"cachescope\"", "\"80MB/s\"", "`cachescope` is not known here"),
        ("event = \"bus-access\"", "\"80MB/s\"", "`bus-access` is not known here"),
        ("event = 0x17", "\"80MB/s\"", "0x17 is the number of an event of Arm's CPUs"),
        ("event = 0x11", "\"80MB/s\"", "0x11 is the number of an event of Arm's CPUs"),
        ("event = 0xc0", "\"80MB/s\"", "0xc0 counts instructions of an x86 CPU"),
        ("counter_bits = 32", "\"80MB/s\"", "Linux drives the counter"),
        ("counter_interrupt = 23", "\"80MB/s\"", "Linux drives the counter"),
        ("counter = \"clock\"", "\"80MB/s\"", "`linux-kvm` does not count accesses to memory"),
        ("counter = \"clock\"\naccess_bytes = \"64B\"", "\"80MB/s\"", "no accesses to memory are"),
        ("counter = \"clock\"\nevent = 0x412e", "\"80MB/s\"", "only the PMU counts one of several"),
    ] {
        let errors = under_kvm(keys, limit).expect_err(keys).to_string();
        assert!(errors.contains(message), "{keys}: {errors}");
    }
    let errors = make(&with("access_latency = \"64ns\"", "counter = \"clock\"")).expect_err("Arm");
    assert!(errors.to_string().contains("`clock` is not known here"), "{errors}");
}
