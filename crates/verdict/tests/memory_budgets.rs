//! Memory budgets for VMs of a description: with them all tasks are in time, with more they are not.

use std::path::Path;

use analysis::Duration;
use system::description::System;
use system::plan;
use verdict::{NoBudgets, Open, Part, Verdict, memory_budgets};

/// Two VMs with tasks, one in a server beside Linux, and two neighbours; `first` and `second` say
/// what limits these.
fn system(latency: &str, critical: &str, first: &str, second: &str) -> System {
    let text = format!(
        r#"
[platform]
board = "qemu-virt"
color_reload = "100us"

[platform.bandwidth]
{latency}

[[vm]]
name = "control"
boot = "raw"
memory = "1MiB"
kernel = "k"
{critical}

[[vm.vcpu]]
pcpu = 0
server = "periodic"
budget = "4ms"
period = "10ms"

[[vm.task]]
name = "fast"
period = "40ms"
wcet = "2ms"
accesses = 9_000

[[vm.task]]
name = "slow"
period = "200ms"
wcet = "20ms"

[[vm]]
name = "linux"
boot = "raw"
memory = "1MiB"
kernel = "k"
vcpus = 2
{first}

[[vm.vcpu]]
pcpu = 0
server = "background"

[[vm.vcpu]]
pcpu = 1

[[vm]]
name = "other"
boot = "raw"
memory = "1MiB"
kernel = "k"
{second}

[[vm.vcpu]]
pcpu = 2
"#
    );
    let text = text.replace("vcpus = 2\n", "");
    System::from_toml("s.toml", &text, Path::new("")).expect("a description")
}

fn budgets(system: &System) -> Result<Vec<u64>, NoBudgets> {
    let period = Duration(1_000_000);
    let open = [Open { vm: 1, period, weight: 3 }, Open { vm: 2, period, weight: 1 }];
    memory_budgets(system, &plan::assign(system).expect("places"), &open)
}

fn is_schedulable(system: &System) -> bool {
    Verdict::of_description(system, &plan::assign(system).expect("places")).schedulable
}

fn limit(accesses: u64) -> String {
    format!("bandwidth = {{ accesses = {accesses}, period = \"1ms\" }}")
}

#[test]
fn the_largest_budgets_leave_all_tasks_in_time() {
    let latency = "access_latency = \"64ns\"";
    for critical in ["critical = false", "critical = true"] {
        let open = system(latency, critical, "", "");
        let found = budgets(&open).expect("budgets");
        assert!(found[0] / 3 == found[1] && found[1] > 1, "{found:?}");
        let with = |more: u64| {
            let [first, second] = [3 * more, more].map(|more| more);
            let limits = [limit(found[0] + first), limit(found[1] + second)];
            is_schedulable(&system(latency, critical, &limits[0], &limits[1]))
        };
        assert!(with(0), "{found:?}");
        assert!(!with(1), "{found:?}");
    }
}

#[test]
fn compensation_takes_a_part_of_the_budgets() {
    let latency = "access_latency = \"64ns\"";
    let of = |critical: &str, credits: &str| {
        let limits = format!("{}\n{credits}", limit(1));
        budgets(&system(latency, critical, &limits, "")).expect("budgets")[0]
    };
    let plain = of("critical = true", "");
    let credited = of("critical = true", "compensation = 2");
    assert!(credited < plain, "{credited}, {plain}");
    // Much more than where credits are those of somebody else.
    let for_others = budgets(&system(latency, "critical = false", &limit(1), "")).unwrap()[0];
    assert_eq!(for_others, plain);
}

#[test]
fn without_accesses_that_take_a_known_time_there_are_no_budgets() {
    let cycles = system("counter = \"cycles\"", "", "", "");
    assert_eq!(budgets(&cycles), Err(NoBudgets::NotCounted));
    let text = "platform = \"zcu102\"\n[[vm]]\nname = \"a\"\nmemory = \"1MiB\"\nkernel = \"k\"\n\
                boot = \"raw\"\n";
    let unknown = System::from_toml("s.toml", text, Path::new("")).expect("a description");
    assert_eq!(budgets(&unknown), Err(NoBudgets::NoLatency));
}

/// The time for which a task waits for accesses of other PCPUs, in ns. VMs without tasks have the PCPUs `others`.
fn interference(wcet: &str, accesses: u64, others: &[u32]) -> u64 {
    let mut text = format!(
        "[platform]\nboard = \"qemu-virt\"\n[platform.bandwidth]\naccess_latency = \"20ns\"\n\
         [[vm]]\nname = \"a\"\nmemory = \"1MiB\"\nkernel = \"k\"\nboot = \"raw\"\n[[vm.vcpu]]\npcpu = 0\n\
         [[vm.task]]\nname = \"t\"\nperiod = \"40ms\"\nwcet = \"{wcet}\"\naccesses = {accesses}\n"
    );
    for pcpu in others {
        text += &format!(
            "[[vm]]\nname = \"o{pcpu}\"\nmemory = \"1MiB\"\nkernel = \"k\"\nboot = \"raw\"\n[[vm.vcpu]]\npcpu = {pcpu}\n"
        );
    }
    let system = System::from_toml("s.toml", &text, Path::new("")).expect("a description");
    let verdict = Verdict::of_description(&system, &plan::assign(&system).expect("places"));
    let task = &verdict.pcpus[0].vcpus[0].tasks[0];
    assert!(task.wcrt_ns.is_some(), "{task:?}");
    task.terms.iter().filter(|it| it.term == Part::Memory).map(|it| it.time_ns).sum()
}

/// The hypervisor accesses memory for the console, also on a PCPU without VCPUs: three times in each millisecond.
///
/// Stands behind P8 of the safety manual.
#[test]
fn the_console_delays_tasks_of_other_pcpus() {
    let each = 20 * policy::bandwidth::overshoot::CONSOLE;
    // Each access waits for one at most.
    assert_eq!(interference("2ms", 7, &[]), 20 * 8);
    let many = interference("2ms", 1_000_000, &[]);
    // A window of 2 to 3 ms can begin with all of a millisecond, and once more for the UART.
    assert!(many >= 3 * 3 * each && many <= 5 * 3 * each + each, "{many}, {each}");
    let more = interference("12ms", 1_000_000, &[]);
    assert!(more - many >= 10 * 3 * each && more - many <= 11 * 3 * each, "{more}, {many}");
    // It costs nothing more on a PCPU whose VCPU has no limit.
    let three = interference("2ms", 9, &[1, 2, 3]);
    assert_eq!(three, 20 * 10 * 3);
    assert_eq!(interference("2ms", 9, &[1, 2]), three);
}

/// Under KVM a VCPU that has made all its accesses executes until Linux has stopped it, and makes more.
#[test]
fn under_kvm_a_limit_is_noticed_as_late_as_a_tick() {
    let interference = |tick: &str| {
        let text = format!(
            "[platform]\nboard = \"linux-kvm\"\n[platform.bandwidth]\naccess_latency = \"20ns\"\n\
             [platform.overheads]\nswitch = \"1us\"\ntick = \"{tick}\"\nkick = \"1us\"\nexit = \"1us\"\n\
             interrupt = \"1us\"\nconsole = \"1us\"\nlock = \"1ns\"\nchunk = \"1us\"\n\
             [[vm]]\nname = \"a\"\nmemory = \"4MiB\"\nkernel = \"k\"\nboot = \"raw\"\n[[vm.vcpu]]\npcpu = 0\n\
             [[vm.task]]\nname = \"t\"\nperiod = \"40ms\"\nwcet = \"2ms\"\naccesses = 1_000_000\n\
             [[vm]]\nname = \"b\"\nmemory = \"4MiB\"\nkernel = \"k\"\nboot = \"raw\"\n\
             bandwidth = {{ accesses = 1_000, period = \"10ms\" }}\n[[vm.vcpu]]\npcpu = 1\n"
        );
        let system = System::from_toml("s.toml", &text, Path::new("")).expect("a description");
        let verdict = Verdict::of_description(&system, &plan::assign(&system).expect("places"));
        let task = &verdict.pcpus[0].vcpus[0].tasks[0];
        assert!(task.wcrt_ns.is_some(), "{task:?}");
        let memory = task.terms.iter().filter(|it| it.term == Part::Memory);
        memory.map(|it| it.time_ns).sum::<u64>()
    };
    let (short, long) = (interference("50us"), interference("2ms"));
    // 2 ms of accesses instead of 50 us, at least once.
    assert!(long >= short + 1_900_000, "{short} and {long}");
}
