//! What the hypervisor takes, term by term, of described systems; and by how much execution times can grow.

use std::path::Path;

use analysis::overheads::Source;
use system::description::System;
use system::plan;
use verdict::{Part, Sensitivity, TaskVerdict, Verdict};

/// Those of `qemu-virt`, in whole ticks of 16 ns.
const SWITCH: u64 = 1_504;
const KICK: u64 = 2_512;
/// Most for a VCPU from one time that it executes to the next.
const KICKS: u64 = 3 * KICK;
const INTERRUPT: u64 = 912;
const EXIT: u64 = 5_008;
const CONSOLE: u64 = 8_000;
const LATE: u64 = 30_000;

fn system(text: &str) -> System {
    System::from_toml("s.toml", text, Path::new("")).unwrap_or_else(|errors| panic!("{errors}"))
}

fn verdict(text: &str) -> Verdict {
    let system = system(text);
    Verdict::of_plan(&plan::make(&system).unwrap(), Some(&system))
}

/// A raw VM with one VCPU, and its tasks: name, period in ms, execution time in us, and more.
fn vm(name: &str, vcpu: &str, tasks: &[(&str, u64, u64, &str)]) -> String {
    let start = "boot = \"raw\"\nmemory = \"16MiB\"\nkernel = \"rt.bin\"";
    let tasks = tasks.iter().map(|(name, period, wcet, more)| {
        format!(
            "[[vm.task]]\nname = \"{name}\"\nperiod = \"{period}ms\"\nwcet = \"{wcet}us\"\n{more}\n"
        )
    });
    format!(
        "[[vm]]\nname = \"{name}\"\n{start}\n[[vm.vcpu]]\n{vcpu}\n{}",
        tasks.collect::<String>()
    )
}

fn task<'v>(verdict: &'v Verdict, name: &str) -> &'v TaskVerdict {
    let mut all = verdict.pcpus.iter().flat_map(|it| &it.vcpus).flat_map(|it| &it.tasks);
    all.find(|task| task.task == name).unwrap()
}

/// The terms add up to the bound, and those of the hypervisor are these.
#[track_caller]
fn assert_overheads(task: &TaskVerdict, expected: &[(Part, u64)]) {
    let sum: u64 = task.terms.iter().map(|term| term.time_ns).sum();
    assert_eq!(Some(sum), task.wcrt_ns, "{:?}", task.terms);
    let found =
        task.terms.iter().filter(|term| matches!(term.term, Part::OverheadJob | Part::Overhead(_)));
    let mut found: Vec<_> = found.map(|term| (term.term, term.time_ns)).collect();
    let mut expected = expected.to_vec();
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected);
}

#[test]
fn a_vcpu_of_its_own_pays_for_interrupts_and_its_calls() {
    let tasks = [("high", 5, 500, "exits = 3\n"), ("low", 20, 1_000, "")];
    let text = format!("platform = \"qemu-virt\"\n{}", vm("a", "pcpu = 0", &tasks));
    let verdict = verdict(&text);
    assert!(!verdict.overheads_unknown);
    // Both are released; what a task below calls does not matter.
    let release = 2 * INTERRUPT;
    let high = task(&verdict, "high");
    let expected = [
        (Part::Overhead(Source::Release), release),
        (Part::Overhead(Source::Late), LATE),
        (Part::OverheadJob, 3 * EXIT),
    ];
    assert_overheads(high, &expected);
    assert_eq!((high.wcet_ns, high.wcrt_ns), (500_000, Some(500_000 + release + LATE + 3 * EXIT)));
    assert_overheads(task(&verdict, "low"), &expected);
    let unknown = text.replace("qemu-virt", "zcu102");
    let verdict = self::verdict(&unknown);
    assert!(verdict.overheads_unknown);
    assert_eq!(task(&verdict, "low").wcrt_ns, Some(1_500_000));
}

#[test]
fn the_console_costs_the_pcpu_that_serves_it() {
    let tasks = [("t", 20, 1_000, "")];
    let text = format!("platform = \"qemu-virt\"\n{}", vm("a", "pcpu = 0", &tasks));
    let everywhere: String = (1..4).map(|pcpu| vm(&format!("b{pcpu}"), "", &[])).collect();
    let last = text.replace("pcpu = 0", "pcpu = 3") + &everywhere;
    let (verdict, window) = (verdict(&last), |it: &Verdict| task(it, "t").wcrt_ns.unwrap());
    let timers = (window(&verdict) + 1).div_ceil(1_000_000);
    let console = (CONSOLE + KICK) * timers + CONSOLE * (timers + 1);
    let own = [(Part::Overhead(Source::Release), INTERRUPT), (Part::Overhead(Source::Late), LATE)];
    assert_overheads(
        task(&verdict, "t"),
        &[own[0], own[1], (Part::Overhead(Source::Console), console)],
    );
    assert_overheads(task(&self::verdict(&text), "t"), &own);
}

#[test]
fn vcpus_that_share_a_pcpu_pay_for_turns() {
    let server = |kind: &str, budget: &str, priority: u32| {
        format!(
            "pcpu = 0\nserver = \"{kind}\"\nbudget = \"{budget}\"\nperiod = \"10ms\"\npriority = {priority}"
        )
    };
    let above = vm("above", &server("deferrable", "2ms", 2), &[("top", 20, 500, "")]);
    for (kind, turns) in [("periodic", 1), ("deferrable", 1), ("sporadic", 9)] {
        let below = vm("below", &server(kind, "3ms", 1), &[("t", 40, 4_000, "")]);
        let verdict = verdict(&format!("platform = \"qemu-virt\"\n{above}{below}"));
        let found = task(&verdict, "t");
        let (window, period) = (found.wcrt_ns.unwrap(), 10_000_000);
        let own = turns * (1 + (window + LATE) / period);
        let of_above = (window + period + LATE).div_ceil(period);
        assert_overheads(
            found,
            &[
                (Part::Overhead(Source::Release), INTERRUPT),
                (Part::Overhead(Source::Switch), SWITCH + KICKS + SWITCH * own),
                (Part::Overhead(Source::Preemption), SWITCH * of_above),
                (Part::Overhead(Source::Kick), KICKS + KICKS * of_above),
                (Part::Overhead(Source::Late), 2 * LATE),
            ],
        );
        let found = task(&verdict, "top");
        let own = 1 + (found.wcrt_ns.unwrap() + LATE) / period;
        assert_overheads(
            found,
            &[
                (Part::Overhead(Source::Release), INTERRUPT),
                (Part::Overhead(Source::Switch), SWITCH + KICKS + SWITCH * own),
                (Part::Overhead(Source::Kick), KICKS + KICKS * own),
                (Part::Overhead(Source::Late), 2 * LATE),
            ],
        );
        // Two budgets of the one above, which may have gone beyond; each VCPU may be late.
        let waits: Vec<_> = verdict.pcpus[0].vcpus.iter().map(|vcpu| vcpu.wcrt_ns).collect();
        assert_eq!(waits, [Some(2_000_000 + LATE), Some(7_000_000 + 2 * LATE)]);
    }
}

#[test]
fn execution_times_can_grow_so_far_and_no_further() {
    let tasks = [("high", 5, 500, ""), ("low", 20, 5_000, "")];
    let text = format!("platform = \"qemu-virt\"\n{}", vm("a", "pcpu = 0", &tasks));
    let (described, holds) = (system(&text), |text: &str| verdict(text).schedulable);
    let plan = plan::make(&described).unwrap();
    let found = Sensitivity::new(&described, Some(&plan));
    for (index, (name, _, wcet, _)) in tasks.iter().enumerate() {
        let it = &found.tasks[index];
        assert_eq!((it.task.as_str(), it.wcet_ns), (*name, wcet * 1_000));
        let growth = it.growth_ns.unwrap();
        assert_eq!(it.growth_ppm, Some(growth * 1_000 / wcet));
        let with = |more: u64| {
            let wcet = format!("wcet = \"{wcet}us\"");
            text.replace(&wcet, &format!("wcet = \"{}ns\"", it.wcet_ns + more))
        };
        assert!(holds(&with(growth)) && !holds(&with(growth + 1)), "{it:?}");
    }
    let all = found.all_ppm.unwrap();
    let with = |ppm: u64| {
        tasks.iter().fold(text.clone(), |text, (_, _, wcet, _)| {
            let longer = (wcet * 1_000 * (1_000_000 + ppm)).div_ceil(1_000_000);
            text.replace(&format!("wcet = \"{wcet}us\""), &format!("wcet = \"{longer}ns\""))
        })
    };
    assert!(holds(&with(all)) && !holds(&with(all + 1)), "{all}");
    // Nothing can grow where something is late.
    let late = system(&with(all + 1));
    let found = Sensitivity::new(&late, Some(&plan::make(&late).unwrap()));
    assert!(found.all_ppm.is_none() && found.tasks.iter().all(|it| it.growth_ns.is_none()));
}

/// Each ring may interrupt the reader, and make it return once more where its jobs wait.
#[test]
fn rings_cost_their_readers() {
    let channel = "[[channel]]\nname = \"pose\"\nfrom = \"b\"\nto = [\"a\"]\n\
                   ring_every = \"1ms\"\nring_burst = 3\n";
    let of = |more: &str| {
        let reader = vm("a", "pcpu = 0", &[("t", 20, 2_000, more)]);
        let writer = vm("b", "pcpu = 1", &[("w", 20, 2_000, "")]);
        let text = format!("platform = \"qemu-virt\"\n{channel}{reader}{writer}");
        verdict(&text)
    };
    let found = |verdict: &Verdict, name: &str| {
        let terms = &task(verdict, name).terms;
        let ring = terms.iter().find(|it| it.term == Part::Overhead(Source::Ring));
        (task(verdict, name).wcrt_ns.unwrap(), ring.map_or(0, |it| it.time_ns))
    };
    let rings = |window: u64| 1 + (window + 2_000_000 + LATE) / 1_000_000;
    let verdict = of("");
    let (bound, ring) = found(&verdict, "t");
    assert_eq!(ring, rings(bound) * (KICK + INTERRUPT));
    assert_eq!(found(&verdict, "w").1, 0);
    let wait = 2 * SWITCH + KICKS + INTERRUPT + LATE;
    let (bound, ring) = found(&of("self_suspension = \"1ms\""), "t");
    // The time of suspension is in the window too.
    assert_eq!(ring, rings(bound) * (KICK + INTERRUPT + wait));
}

/// A ring takes the lock of the reader's interrupt controller once more, for which siblings can make the reader wait.
#[test]
fn rings_for_a_vm_with_siblings_wait_for_their_lock() {
    let server = "server = \"deferrable\"\nbudget = \"2ms\"\nperiod = \"10ms\"\npriority = 1";
    let kick = |rings: &str| {
        let channel = format!("[[channel]]\nname = \"pose\"\nfrom = \"b\"\nto = [\"a\"]\n{rings}");
        let reader = vm("a", &format!("pcpu = 0\n{server}\n[[vm.vcpu]]\npcpu = 2\n{server}"), &[]);
        let writer = vm("b", "pcpu = 1", &[]);
        let text = format!("platform = \"qemu-virt\"\n{channel}{reader}{writer}");
        system(&text).kicks().unwrap().0.0
    };
    assert_eq!(kick("ring_every = \"1ms\"\n") - kick(""), 900 + 5_000);
}

/// A VCPU with a PCPU of its own is kicked for a ring, and takes the lock for the kick as well as for the interrupt.
#[test]
fn rings_for_vcpus_with_pcpus_of_their_own_wait_twice_for_the_lock() {
    let kick = |rings: &str| {
        let channel = format!("[[channel]]\nname = \"pose\"\nfrom = \"b\"\nto = [\"a\"]\n{rings}");
        let reader = vm("a", "pcpu = 0\n[[vm.vcpu]]\npcpu = 2", &[]);
        let text =
            format!("platform = \"qemu-virt\"\n{channel}{reader}{}", vm("b", "pcpu = 1", &[]));
        system(&text).kicks().unwrap().0.0
    };
    assert_eq!(kick("ring_every = \"1ms\"\n") - kick(""), 5_000);
}

/// Each end of a serial line at which the other one told something is brought up to date in a kick; and a VM is interrupted by
/// both ends of each line, once more when the other VM ends.
#[test]
fn serial_lines_interrupt_both_vms() {
    let of = |lines: usize, more: &str| {
        let line = "[[serial]]\nbetween = [\"a\", \"b\"]\ntell_every = \"1ms\"\ntell_burst = 3\n";
        let server = "server = \"deferrable\"\nbudget = \"8ms\"\nperiod = \"10ms\"\npriority = 1";
        let one = vm("a", &format!("pcpu = 0\n{server}"), &[("t", 2, 100, "")]);
        let other = vm("b", "pcpu = 1", &[]);
        let text = format!("platform = \"qemu-virt\"\n{}{more}{one}{other}", line.repeat(lines));
        (system(&text).kicks().unwrap().0.0, text)
    };
    let ring = "[[channel]]\nname = \"pose\"\nfrom = \"b\"\nto = [\"a\"]\nring_every = \"1ms\"\n";
    let none = of(0, "").0;
    // As the plan has it, not in whole ticks.
    assert_eq!(of(1, "").0 - none, 3 * 900);
    assert_eq!(of(8, "").0 - none, 8 * 3 * 900);
    assert_eq!(of(8, ring).0 - none, (8 * 3 + 1) * 900);

    let time = |lines: usize| {
        let verdict = verdict(&of(lines, "").1);
        let terms = &task(&verdict, "t").terms;
        let ring = terms.iter().find(|it| it.term == Part::Overhead(Source::Ring));
        (task(&verdict, "t").wcrt_ns.unwrap(), ring.map_or(0, |it| it.time_ns))
    };
    assert_eq!(time(0).1, 0);
    let (bound, found) = time(1);
    let events = |early: u64| 1 + (bound + early + LATE) / 1_000_000;
    // The kick with one end to bring up to date, 5.2 us, which the hypervisor rounds up to the next tick.
    assert_eq!(found, (events(3_000_000) + events(2_000_000)) * (5_216 + INTERRUPT));
}

/// Ends of lines are brought up to date in kicks for VCPUs with PCPUs of their own, too; with siblings, EL2 takes the lock of the
/// VM's interrupt controller for the kick and for each end, and each event can make two VCPUs find each other at the end.
#[test]
fn serial_lines_of_vcpus_with_pcpus_of_their_own_are_counted() {
    let of = |lines: usize, sibling: &str| {
        let line = "[[serial]]\nbetween = [\"a\", \"b\"]\n".repeat(lines);
        let one = vm("a", &format!("pcpu = 0\n{sibling}"), &[]);
        let text = format!("platform = \"qemu-virt\"\n{line}{one}{}", vm("b", "pcpu = 1", &[]));
        system(&text)
    };
    let kick = |lines: usize, sibling: &str| of(lines, sibling).kicks().unwrap().0.0;
    let sibling = "[[vm.vcpu]]\npcpu = 2";
    assert_eq!(kick(1, "") - kick(0, ""), 3 * 900);
    assert_eq!(kick(8, "") - kick(0, ""), 8 * 3 * 900);
    assert_eq!(kick(8, sibling) - kick(0, sibling), 5_000 + 8 * (3 * 900 + 5_000));
    assert_eq!(of(8, "").rings_for(0).count(), 16);
    assert_eq!([0, 1].map(|vm| of(8, sibling).rings_for(vm).count()), [32, 16]);
}

/// A link interrupts both VMs as a serial line with the same limit does, also those without tasks of their own.
#[test]
fn links_count_as_serial_lines_do() {
    let of = |ends: &str| {
        let server = "server = \"deferrable\"\nbudget = \"2ms\"\nperiod = \"10ms\"\n";
        let one = vm("a", &format!("pcpu = 0\n{server}priority = 2"), &[]);
        let beside = vm("c", &format!("pcpu = 0\n{server}priority = 1"), &[("t", 50, 100, "")]);
        let text =
            format!("platform = \"qemu-virt\"\n{ends}{one}{}{beside}", vm("b", "pcpu = 1", &[]));
        system(&text)
    };
    let serial = "[[serial]]\nbetween = [\"a\", \"b\"]\ntell_every = \"2ms\"\n";
    let link = "[[link]]\nname = \"lan\"\nbetween = [\"a\", \"b\"]\nrate = \"1MB/s\"\ninterrupt_every = \"2ms\"\n";
    let (with_line, with_link) = (of(serial), of(link));
    for vm in 0..3 {
        let rings = |system: &System| system.rings_for(vm).collect::<Vec<_>>();
        assert_eq!(rings(&with_line), rings(&with_link));
        assert_eq!(with_line.ends_of(vm), with_link.ends_of(vm));
    }
    assert_eq!(with_line.kicks(), with_link.kicks());
    // A task beside a VM with a link waits longer for its interrupts.
    let bound = |text: &System| {
        let vcpus = plan::assign(text).expect("it is right");
        let verdict = Verdict::of_description(text, &vcpus);
        task(&verdict, "t").wcrt_ns.expect("a bound")
    };
    assert!(bound(&with_link) > bound(&of("")));
    assert_eq!(bound(&with_link), bound(&with_line));
}

/// An interrupt waits for an access that is on its way, which waits for one of each other CPU.
#[test]
fn no_interrupt_is_served_while_an_access_is_on_its_way() {
    let late = |latency: &str| {
        let counter = format!("[platform.bandwidth]\naccess_latency = \"{latency}\"\n");
        let text = format!("[platform]\nboard = \"qemu-virt\"\n{counter}{}", vm("a", "", &[]));
        verdict::costs(&system(&text), 0).unwrap().late.0
    };
    assert_eq!(late("20ns"), LATE);
    // Four CPUs; whole ticks of 16 ns.
    assert_eq!(late("16us"), 4 * 16_000);
}

/// A job with sections waits for an access that is on its way once more if it suspends itself.
#[test]
fn a_job_that_continues_waits_for_an_access_on_its_way() {
    let delay = |more: &str| {
        let task = ("t", 10, 100, &*format!("accesses = 5\n{more}"));
        let text = format!("platform = \"qemu-virt\"\n{}", vm("a", "", &[task]));
        let system = system(&text);
        system.memory_delay(&system.vms[0].tasks[0]).0
    };
    // 20 ns for each of three other CPUs.
    assert_eq!(delay(""), (5 + 1) * 60);
    assert_eq!(delay("self_suspension = \"1ms\""), (5 + 2) * 60);
}
