//! Kinds of servers, overrun, the protocol of locks and numbers of VCPUs that are open.

use planner::completion::{Objective, Options, Refusal, complete_with};
use policy::server::kind::Kind;
use system::description::System;
use system::plan::{Class, Locks};
use testing::cases;

use crate::random::{SMALL, Shape, system};
use crate::{holds, read};

/// A VCPU of a VM of its own with one task: PCPU, server, period and budget, and the task's lines.
type Member<'a> = (u64, &'a str, [&'a str; 2], &'a str);

fn described(members: &[Member<'_>]) -> String {
    let mut text = "section_overhead = \"60us\"\nplatform = { board = \"qemu-virt\", overheads = { kick = \"1.6us\" } }\n".to_owned();
    if members.iter().any(|(.., task)| task.contains("sections")) {
        let names: Vec<String> = (0..members.len()).map(|vm| format!("\"v{vm}\"")).collect();
        text += &format!("[[resource]]\nname = \"bus\"\nvms = [{}]\n", names.join(", "));
    }
    for (index, (pcpu, server, [period, budget], task)) in members.iter().enumerate() {
        text += &format!(
            "[[vm]]\nname = \"v{index}\"\nboot = \"raw\"\nmemory = \"1MiB\"\nkernel = \"k\"\n\
             [[vm.vcpu]]\npcpu = {pcpu}\nserver = {server}\nperiod = \"{period}\"\n\
             budget = \"{budget}\"\n[[vm.task]]\nname = \"t\"\n{task}\n"
        );
    }
    text
}

/// Returns the description with everything planned, which holds.
#[track_caller]
/// Decides what is open with the least processor time.
fn complete(system: &mut System) -> Result<(), Refusal> {
    let options = Options { objective: Objective::LeastTime, ..Options::default() };
    complete_with(system, &options).map(drop)
}

fn planned(text: &str) -> System {
    let mut it = read(text);
    assert!(it.is_open(), "nothing is open");
    complete(&mut it).unwrap_or_else(|refusal| panic!("{refusal:?}\n{text}"));
    assert!(!it.is_open() && holds(&it), "{text}");
    it
}

fn kinds(system: &System) -> Vec<Kind> {
    let servers = system.vms.iter().flat_map(|vm| &vm.vcpus).filter_map(|it| it.server.as_ref());
    let kind = |class: Class| match class {
        Class::Reserved(kind, _) => Some(kind),
        Class::Background => None,
    };
    servers.filter_map(|server| kind(server.class.value)).collect()
}

const DEFERRABLE: &str = "\"deferrable\"";
const KIND: &str = "KIND";

/// The VCPU below waits for two budgets of a deferrable server; the task of a sporadic one waits
/// longer, because it suspends itself.
const PERIODIC: [Member<'_>; 3] = [
    (
        0,
        KIND,
        ["10ms", "3.1ms"],
        "period = \"100ms\"\nwcet = \"15ms\"\ndeadline = \"61ms\"\nself_suspension = \"1ms\"",
    ),
    (
        0,
        DEFERRABLE,
        ["5ms", "0.85ms"],
        "period = \"20ms\"\nwcet = \"1.2ms\"\ndeadline = \"18.6ms\"",
    ),
    (0, DEFERRABLE, ["20ms", "7.4ms"], "period = \"40ms\"\nwcet = \"6ms\"\ndeadline = \"39.2ms\""),
];

/// The hypervisor takes more time for interrupts of all others below a periodic server, and for the
/// replenishments of a sporadic one.
const KEPT: [Member<'_>; 3] = [
    (0, KIND, ["5ms", "1.15ms"], "period = \"50ms\"\nwcet = \"2.5ms\"\ndeadline = \"48.5ms\""),
    (0, DEFERRABLE, ["10ms", "3.3ms"], "period = \"20ms\"\nwcet = \"2ms\"\ndeadline = \"16ms\""),
    (0, DEFERRABLE, ["20ms", "3.2ms"], "period = \"50ms\"\nwcet = \"3ms\"\ndeadline = \"44.5ms\""),
];

/// Only one kind is enough, and the planner finds it.
#[test]
fn the_kind_is_the_one_that_holds() {
    for (members, only) in [(PERIODIC, Kind::Periodic), (KEPT, Kind::Deferrable)] {
        let text = described(&members);
        for kind in Kind::ALL {
            let given = read(&text.replace(KIND, &format!("\"{}\"", kind.name())));
            assert!(!given.is_open());
            assert_eq!(holds(&given), kind == only, "{kind:?}");
        }
        let open = planned(&text.replace(KIND, "\"planned\""));
        assert_eq!(kinds(&open), [only, Kind::Deferrable, Kind::Deferrable]);
    }
}

/// No kind is enough for all: the search over everything mixes them.
#[test]
fn each_server_has_its_kind() {
    let elsewhere = KEPT.map(|(_, server, budget, task)| (1, server, budget, task));
    let text = described(&[PERIODIC, elsewhere].concat());
    for kind in Kind::ALL {
        assert!(!holds(&read(&text.replace(KIND, &format!("\"{}\"", kind.name())))), "{kind:?}");
    }
    let open = planned(&text.replace(KIND, "\"planned\""));
    assert_eq!((kinds(&open)[0], kinds(&open)[3]), (Kind::Periodic, Kind::Deferrable));
}

/// Of kinds that all hold, the one with which the others need least; a deferrable server where it
/// takes from no one.
#[test]
fn other_budgets_are_smaller_with_the_kind() {
    let member = |period, task| (0, "\"planned\"", [period, "BUDGET"], task);
    let text = described(&[
        member("5ms", "period = \"20ms\"\nwcet = \"3ms\""),
        member("10ms", "period = \"40ms\"\nwcet = \"6ms\""),
        member("20ms", "period = \"80ms\"\nwcet = \"12ms\""),
    ]);
    let text = text.replace("budget = \"BUDGET\"\n", "");
    let share = |system: &System| -> u128 {
        let servers =
            system.vms.iter().flat_map(|vm| &vm.vcpus).filter_map(|it| it.server.as_ref());
        servers.filter_map(|it| Some(it.class.value.budget()?.share())).sum()
    };
    let open = planned(&text);
    for kind in Kind::ALL {
        let given = planned(&text.replace("\"planned\"", &format!("\"{}\"", kind.name())));
        assert!(share(&open) <= share(&given), "{kind:?}");
    }
    assert_eq!(kinds(&open)[2], Kind::Deferrable, "{:?}", kinds(&open));
}

/// The task waits too long for its resource unless its VCPU overruns, with a deferrable server.
const OVERRUN: [Member<'_>; 3] = [
    (
        0,
        "KIND\noverrun = OVERRUN",
        ["20ms", "6ms"],
        "period = \"100ms\"\nwcet = \"8ms\"\ndeadline = \"90ms\"\n\
         sections = [{ resource = \"bus\", length = \"200us\" }]",
    ),
    (
        0,
        DEFERRABLE,
        ["5ms", "2.1ms"],
        "period = \"100ms\"\nwcet = \"14ms\"\ndeadline = \"83ms\"\n\
         sections = [{ resource = \"bus\", length = \"50us\" }]",
    ),
    (
        1,
        DEFERRABLE,
        ["5ms", "2.15ms"],
        "period = \"40ms\"\nwcet = \"8ms\"\ndeadline = \"38.4ms\"\n\
         sections = [{ resource = \"bus\", length = \"300us\" }]",
    ),
];

#[test]
fn overrun_is_chosen_where_it_is_needed() {
    let text = described(&OVERRUN);
    let with = |kind: &str, overrun: &str| text.replace("KIND", kind).replace("OVERRUN", overrun);
    for kind in Kind::ALL {
        let given =
            |overrun: bool| read(&with(&format!("\"{}\"", kind.name()), &overrun.to_string()));
        assert!(!holds(&given(false)), "{kind:?}");
        if kind.may_overrun() {
            assert_eq!(holds(&given(true)), kind == Kind::Deferrable, "{kind:?}");
        }
    }
    for (kind, overrun) in
        [("\"planned\"", "\"planned\""), ("\"deferrable\"", "\"planned\""), ("\"planned\"", "true")]
    {
        let open = planned(&with(kind, overrun));
        assert_eq!(kinds(&open)[0], Kind::Deferrable);
        assert!(open.overrun(0, 0).0 > 0 && open.overrun(1, 0).0 == 0, "{kind} {overrun}");
    }
    // What is given stays, also if nothing holds then: tasks of VMs that are given are late.
    let mut given = read(&with("\"planned\"", "false"));
    complete(&mut given).unwrap_or_else(|refusal| panic!("{refusal:?}"));
    assert!(!given.is_open() && !holds(&given) && given.overrun(0, 0).0 == 0);
}

/// A long section of the VCPU below: before the one above with `"vmpcp"`, and not with `"mpcp"`.
const LOCKS: [Member<'_>; 3] = [
    (0, DEFERRABLE, ["5ms", "1.2ms"], "period = \"20ms\"\nwcet = \"1ms\"\ndeadline = \"7ms\""),
    (
        0,
        DEFERRABLE,
        ["20ms", "8ms"],
        "period = \"200ms\"\nwcet = \"8ms\"\n\
         sections = [{ resource = \"bus\", length = \"4ms\" }]",
    ),
    (
        1,
        DEFERRABLE,
        ["10ms", "5ms"],
        "period = \"200ms\"\nwcet = \"4ms\"\n\
         sections = [{ resource = \"bus\", length = \"50us\" }]",
    ),
];

#[test]
fn the_protocol_is_the_one_that_holds() {
    // With `"mpcp"` there is no overrun, which the other one needs.
    let overrun = described(&OVERRUN).replace("KIND", DEFERRABLE);
    let overrun = overrun.replace("OVERRUN", "\"planned\"");
    // Where a section waits for budgets, the hypervisor takes longer in it.
    let locks = described(&LOCKS).replace("60us", "1ms");
    let cases = [(locks, Locks::Mpcp), (overrun, Locks::Vmpcp)];
    for (text, only) in cases {
        let no_overrun = text.replace("overrun = \"planned\"\n", "");
        for locks in Locks::ALL {
            let given = format!("locks = \"{}\"\n{no_overrun}", locks.as_str());
            let expected = only == Locks::Mpcp && locks == only;
            assert_eq!(holds(&read(&given)), expected, "{locks:?}");
        }
        let open = planned(&format!("locks = \"planned\"\n{text}"));
        assert_eq!(open.locks, only);
    }
}

/// The example of the documentation: with all of its choices no more is needed than without.
#[test]
fn the_example_leaves_much_open() {
    let text = include_str!("../../../../systems/choices.toml");
    let share = |system: &System| -> u128 {
        let servers =
            system.vms.iter().flat_map(|vm| &vm.vcpus).filter_map(|it| it.server.as_ref());
        servers.filter_map(|it| Some(it.class.value.budget()?.share() / 1_000_000_000_000)).sum()
    };
    let mut open = read(text);
    complete_with(&mut open, &Options::default()).expect("a plan");
    assert_eq!(open.vms.iter().map(|vm| vm.vcpus.len()).collect::<Vec<_>>(), [2, 1]);
    assert!(open.overrun(1, 0).0 > 0 && open.locks == Locks::Vmpcp);
    // Its boot arguments are for this plan.
    for vm in &open.vms {
        let arguments = &vm.boot.bootargs.as_ref().expect("arguments").value;
        for task in &vm.tasks {
            let said = format!("={}/{}/", task.name.value, task.vcpu);
            assert!(arguments.contains(&said), "{said}");
        }
    }
    let least = share(&planned(text));
    assert!(least < 1_600_000, "{least}");
    let no_overrun = text.replace("overrun = \"planned\"\n", "");
    let mpcp = no_overrun.replace("locks = \"planned\"", "locks = \"mpcp\"");
    let periodic = text.replace("server = \"planned\"", "server = \"periodic\"");
    for without in [no_overrun, mpcp, periodic] {
        assert!(share(&planned(&without)) >= least, "{least}: {without}");
    }
}

/// A VM with tasks of these utilisations in percent, beside others with PCPUs of their own.
fn numbered(vm: &str, vcpu: &str, tasks: &[u64], others: usize) -> String {
    let tasks: String = tasks
        .iter()
        .enumerate()
        .map(|(index, percent)| {
            format!(
                "[[vm.task]]\nname = \"t{index}\"\nperiod = \"20ms\"\nwcet = \"{}us\"\n",
                200 * percent
            )
        })
        .collect();
    let start = "boot = \"raw\"\nmemory = \"1MiB\"\nkernel = \"k\"\n";
    let others: String =
        (0..others).map(|vm| format!("[[vm]]\nname = \"o{vm}\"\n{start}[[vm.vcpu]]\n")).collect();
    format!(
        "platform = {{ board = \"qemu-virt\", overheads = {{ kick = \"1.6us\" }} }}\n{others}[[vm]]\nname = \"a\"\n{start}{vm}\n[[vm.vcpu]]\n\
         {vcpu}\n{tasks}"
    )
}

const OPEN: &str = "vcpus = \"planned\"";

fn number(system: &System) -> usize {
    system.vms.last().expect("a VM").vcpus.len()
}

#[test]
fn the_number_of_vcpus_is_the_one_that_holds() {
    let open = "server = \"deferrable\"";
    // No two of these go together.
    let text = numbered(OPEN, open, &[60, 60, 60], 0);
    assert_eq!(number(&planned(&text)), 3);
    for count in 1..=3 {
        let tables = format!("{open}\n[[vm.vcpu]]\n").repeat(count - 1) + open;
        let holds = complete(&mut read(&numbered("", &tables, &[60, 60, 60], 0))).is_ok();
        assert_eq!(holds, count == 3, "{count}");
    }
    // Two are enough, and cost less than four.
    assert_eq!(number(&planned(&numbered(OPEN, open, &[40, 40, 40, 40], 0))), 2);
    assert_eq!(number(&planned(&numbered(OPEN, open, &[10, 10, 10, 10], 0))), 1);
    // Two such budgets do not go onto the only PCPU that is left.
    let given = "server = \"periodic\"\nperiod = \"5ms\"\nbudget = \"3ms\"";
    assert_eq!(number(&planned(&numbered(OPEN, given, &[20, 20], 3))), 1);
    // PCPUs of their own are not wasted.
    assert_eq!(number(&planned(&numbered(OPEN, "", &[50, 45], 0))), 1);
    assert_eq!(number(&planned(&numbered(OPEN, "", &[70, 65], 0))), 2);
}

/// Each VM has its own number, beside the starts that treat all alike.
#[test]
fn vms_have_different_numbers() {
    const SERVER: &str = "server = \"deferrable\"";
    for (a, b, expected) in [
        ((SERVER, [60, 60, 60]), [10, 10, 10], [3, 1]),
        // A PCPU that a VM has for itself counts.
        (("", [15, 15, 10]), [60, 20, 20], [1, 2]),
        // Neither the least numbers that there can be hold, nor those that are one larger.
        (("", [30, 30, 30]), [60, 60, 60], [1, 3]),
    ] {
        let other = numbered(OPEN, SERVER, &b, 0).replace(
            "platform = { board = \"qemu-virt\", overheads = { kick = \"1.6us\" } }\n",
            "",
        );
        let text = numbered(OPEN, a.0, &a.1, 0) + &other.replace("\"a\"", "\"b\"");
        let mut both = read(&text);
        complete(&mut both).expect("a plan");
        assert!(holds(&both));
        assert_eq!(both.vms.iter().map(|vm| vm.vcpus.len()).collect::<Vec<_>>(), expected);
    }
}

/// Where no number holds step by step, because tasks wait for a resource, the search over
/// everything tries several.
#[test]
fn the_search_over_everything_tries_several_numbers() {
    let resource = "\n[[resource]]\nname = \"bus\"\nvms = [\"a\"]\n";
    let text = numbered(OPEN, "server = \"deferrable\"\nperiod = \"5ms\"", &[55, 55, 55], 0);
    let text = text.replacen('\n', resource, 1).replace(
        "wcet = \"11000us\"",
        "wcet = \"11ms\"\nsections = [{ resource = \"bus\", length = \"0.2ms\" }]",
    );
    assert_eq!(number(&planned(&format!("section_overhead = \"1ms\"\n{text}"))), 3);
}

#[test]
fn what_tasks_name_bounds_the_number() {
    let open = "server = \"planned\"";
    let named = numbered(OPEN, open, &[10, 10, 10], 0).replacen("\"t1\"", "\"t1\"\nvcpu = 2", 1);
    let system = planned(&named);
    assert_eq!((number(&system), system.vms[0].tasks[1].vcpu), (3, 2));
    // No number is enough.
    let mut late = read(
        &numbered(OPEN, open, &[120, 10], 0)
            .replace("20ms", "40ms")
            .replace("wcet = \"24000us\"", "wcet = \"24ms\"\ndeadline = \"20ms\""),
    );
    assert!(matches!(complete(&mut late), Err(Refusal::NoPlan(_))));
}

/// Every objective, with everything of this open.
#[test]
fn objectives_have_plans_that_hold() {
    let text = numbered(OPEN, "server = \"planned\"", &[30, 30, 20], 0);
    for objective in [Objective::LeastTime, Objective::MostSlack, Objective::FewestPcpus] {
        let mut system = read(&text);
        let options = Options { objective, ..Options::default() };
        complete_with(&mut system, &options).unwrap_or_else(|it| panic!("{objective:?} {it:?}"));
        assert!(!system.is_open() && holds(&system), "{objective:?}");
        if objective == Objective::FewestPcpus {
            assert_eq!(number(&system), 1);
        }
    }
}

/// Random systems with all of this open: what is planned holds; the first of each shape is planned
/// twice, and the same.
#[test]
fn random_plans_hold() {
    let all = "server = \"planned\"\noverrun = \"planned\"";
    let shapes = [
        Shape { vms: 3, vcpus: 2, vcpu: "server = \"planned\"", load: 400, ..SMALL },
        Shape { vms: 3, resources: 1, vcpu: all, load: 300, ..SMALL },
        Shape { vms: 2, resources: 1, vcpu: "server = \"deferrable\"", load: 300, ..SMALL },
        Shape { vms: 2, limits: true, vcpu: "server = \"planned\"", load: 200, ..SMALL },
        Shape { vms: 2, colors: true, vcpu: "server = \"planned\"", load: 900, ..SMALL },
    ];
    for (index, shape) in shapes.iter().enumerate() {
        let mut plans = 0;
        let seeds = u64::from(cases(2));
        for seed in 0..seeds {
            let mut text = system(shape, seed);
            if shape.resources > 0 {
                text = format!("locks = \"planned\"\n{text}");
            }
            if shape.vcpus == 1 {
                text =
                    text.replace("memory = \"16MiB\"", "memory = \"16MiB\"\nvcpus = \"planned\"");
            }
            let mut it = read(&text);
            match complete(&mut it) {
                Ok(()) => {
                    assert!(!it.is_open() && holds(&it), "{index} {seed}");
                    plans += 1;
                }
                Err(Refusal::NoPlan(errors)) => println!("{index} {seed}: {errors}"),
                Err(other) => panic!("{other:?}"),
            }
            if seed == 0 {
                let mut again = read(&text);
                assert_eq!(complete(&mut again).is_ok(), !it.is_open(), "{index}");
                assert_eq!(it, again, "{index}");
            }
        }
        assert!(plans > seeds / 2, "{index}: {plans} of {seeds}");
    }
}
