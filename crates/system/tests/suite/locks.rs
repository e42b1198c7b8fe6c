//! Resources, critical sections and overrun: how they are described, planned, and refused.

use policy::server::kind::Kind;
use system::plan::{self, Entries, Locks, Resource};
use units::Duration;

use crate::mistakes::{Mistake, found, read};

/// `bus` between two VMs, `shared` between the VCPUs of one, `own` inside a VCPU.
const LOCKS: &str = r#"locks = "vmpcp"
platform = "qemu-virt"

[[resource]]
name = "own"
vm = "a"

[[resource]]
name = "bus"
vms = ["b", "a"]

[[resource]]
name = "shared"
vm = "a"

[[vm]]
name = "a"
boot = "raw"
memory = "1MiB"
kernel = "k"

[[vm.vcpu]]
pcpu = 1
server = "deferrable"
budget = "3ms"
period = "10ms"
overrun = true

[[vm.vcpu]]
pcpu = 1
server = "periodic"
budget = "3ms"
period = "10ms"

[[vm.task]]
name = "t"
vcpu = 0
period = "20ms"
wcet = { 1 = "7ms", 4 = "4ms" }
sections = [
  { resource = "own", length = "1ms" },
  { resource = "bus", after = "0.5ms", length = "1.5ms" },
  { resource = "shared", length = "0.5ms" },
]

[[vm.task]]
name = "u"
vcpu = 0
period = "20ms"
wcet = "2ms"
sections = [{ resource = "shared", after = "1.5ms", length = "0.5ms" }]

[[vm.task]]
name = "v"
vcpu = 1
period = "20ms"
wcet = "2ms"
sections = [{ resource = "shared", length = "1ms" }]

[[vm]]
name = "b"
boot = "raw"
memory = "1MiB"
kernel = "k"
"#;

fn us(time: u64) -> Duration {
    Duration(time * 1_000)
}

#[test]
fn resources_are_local_or_global_and_limit_overrun() {
    let system = read(LOCKS).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!([0, 1, 2].map(|resource| system.is_global(resource)), [false, true, true]);
    assert_eq!(system.resources[1].vms, [0, 1]);
    let sections = &system.vms[0].tasks[0].sections;
    let found: Vec<_> = sections.iter().map(|it| (it.resource, it.after, it.length)).collect();
    assert_eq!(found, [(0, us(0), us(1000)), (1, us(500), us(1500)), (2, us(0), us(500))]);
    // Eq. 1: of each task the longest one that is global.
    assert_eq!(system.holding_time(0, 0), us(1500 + 500));
    assert_eq!(system.holding_time(0, 1), us(1000));
    assert_eq!((system.overrun(0, 0), system.overrun(0, 1)), (us(2200), us(0)));

    let plan = plan::make(&system).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(plan.locks, Locks::Vmpcp);
    assert_eq!(plan.resources, [Resource { name: "bus".into(), vms: vec![0, 1] }]);
    let overrun = |vcpu: usize| plan.vms[0].vcpus[vcpu].server.unwrap().overrun;
    assert_eq!((overrun(0), overrun(1)), (us(2200), us(0)));
    // Two tasks and one that are in global sections.
    let hold = |vcpu: usize| plan.vms[0].vcpus[vcpu].hold;
    assert_eq!((hold(0), hold(1)), (us(2000 + 2 * 100), us(1000 + 100)));
    let entries = |vcpu: usize| plan.vms[0].vcpus[vcpu].entries;
    assert_eq!(entries(1), Entries { interval: us(20_000), early: us(20_000) });
    assert!(entries(0).interval < us(20_000) && entries(0).interval > us(1_000));
    assert_eq!(plan.vms[1].vcpus[0].entries, Entries::default());
    let text = plan.to_dts();
    assert_eq!(plan::Plan::from_dts("plan.dts", &text).unwrap(), plan);
}

#[test]
fn without_virtualisation_in_the_protocol_the_plan_says_so() {
    let text = LOCKS.replace("\"vmpcp\"", "\"mpcp\"").replace("overrun = true\n", "");
    let plan = plan::make(&read(&text).unwrap()).unwrap();
    assert_eq!(plan.locks, Locks::Mpcp);
    assert!(plan.to_dts().contains("locks = \"mpcp\";"));
}

const MISTAKES: &[Mistake] = &[
    ("\"vmpcp\"", "\"vmcp\"", "wrong-value", "locks", "did you mean `vmpcp`?"),
    ("name = \"own\"", "name = \"bus\"", "duplicate-name", "\"bus\"", "two resources"),
    ("name = \"own\"", "name = \"Own\"", "wrong-value", "\"Own\"", "cannot name a resource"),
    ("\"own\"\nvm = \"a\"", "\"own\"", "missing-key", "[[resource]]", "add `vm = "),
    ("\"own\"\nvm = \"a\"", "\"own\"\nvm = \"c\"", "unknown-name", "vm", "no VM `c`"),
    (
        "[\"b\", \"a\"]",
        "[\"b\", \"a\"]\nvm = \"b\"",
        "useless-key",
        "vm = \"b\"",
        "there are `vms`",
    ),
    ("[\"b\", \"a\"]", "[\"b\", \"b\", \"a\"]", "duplicate-name", "vms", "named twice"),
    ("[\"b\", \"a\"]", "[]", "wrong-value", "vms", "the list is empty"),
    ("[\"b\", \"a\"]", "[\"b\"]", "no-right", "\"bus\", after", "may not open `bus`"),
    ("\"shared\"\nvm = \"a\"", "\"shared\"\nvm = \"b\"", "no-right", "\"shared\"", "list both"),
    ("resource = \"own\"", "resource = \"owm\"", "unknown-name", "owm", "did you mean `own`?"),
    ("length = \"1ms\" },\n", "length = \"0ms\" },\n", "out-of-range", "0ms", "is empty"),
    ("length = \"1ms\" },\n", "},\n", "missing-key", "\"own\"", "no `length`"),
    ("after = \"0.5ms\"", "after = \"1.1ms\"", "out-of-range", "\"shared\"", "takes 4 ms"),
    (
        "after = \"0.5ms\"",
        "sections = [], after = \"0.5ms\"",
        "unknown-key",
        "sections = []",
        "not a key of `sections`",
    ),
    ("sections = [{", "sections = {", "toml-syntax", "sections", ""),
    ("length = \"1.5ms\"", "length = \"1.5\"", "missing-unit", "1.5", "no unit"),
    ("\"vmpcp\"", "\"mpcp\"", "useless-key", "overrun", "does not know of critical sections"),
    ("\"deferrable\"", "\"sporadic\"", "useless-key", "overrun", "that is sporadic"),
    ("budget = \"3ms\"\n", "", "missing-key", "overrun", "to be planned"),
    ("budget = \"3ms\"\n", "budget = \"8.1ms\"\n", "out-of-range", "overrun", "overrun of 2200 us"),
];

#[test]
fn mistakes_are_found_where_they_are() {
    for mistake in MISTAKES {
        found(LOCKS, mistake);
    }
}

#[test]
fn overrun_needs_a_section_and_a_server() {
    // A VCPU of `b`, none of whose tasks has a section.
    let server = "server = \"periodic\"\nbudget = \"1ms\"\nperiod = \"10ms\"\noverrun = true\n";
    let text = format!("{LOCKS}[[vm.vcpu]]\n{server}");
    let shown = read(&text).map(|_| ()).unwrap_err().to_string();
    assert!(shown.contains("has a global critical section"), "{shown}");
    let shown = read(&format!("{LOCKS}[[vm.vcpu]]\noverrun = true\n")).map(|_| ()).unwrap_err();
    assert!(shown.to_string().contains("the VCPU has no `server`"), "{shown}");
}

#[test]
fn a_plan_that_breaks_a_rule_of_locks_is_refused() {
    let plan = plan::make(&read(LOCKS).unwrap()).unwrap();
    let wrong = |change: &dyn Fn(&mut plan::Plan), node: &str| {
        let mut plan = plan.clone();
        change(&mut plan);
        let shown = plan::check(&plan).unwrap_err().to_string();
        assert!(shown.contains(node) && shown.matches("error[").count() == 1, "{shown}");
    };
    let name = "/resources/resource@0: resource-name";
    wrong(&|plan| plan.resources[0].name = "a b".into(), name);
    wrong(&|plan| plan.resources.push(plan.resources[0].clone()), "resource@1: resource-name");
    let users = "/resources/resource@0: vms";
    wrong(&|plan| plan.resources[0].vms = vec![], users);
    wrong(&|plan| plan.resources[0].vms = vec![1, 0], users);
    wrong(&|plan| plan.resources[0].vms = vec![0, 2], users);
    let hold = "/vms/vm@0/vcpus/vcpu@0: hold-ns";
    wrong(&|plan| plan.vms[0].vcpus[0].hold = us(60_000_001), hold);
    let entries = |change: fn(&mut Entries), name: &str| {
        let node = format!("/vms/vm@0/vcpus/vcpu@0: sections-{name}-ns");
        wrong(&|plan| change(&mut plan.vms[0].vcpus[0].entries), &node);
    };
    entries(|it| it.interval = Duration(999), "interval");
    entries(|it| it.interval = Duration(3_600_000_000_001), "interval");
    entries(|it| it.early = Duration((1 << 56) + 1), "early");
    let overrun = "/vms/vm@0/vcpus/vcpu@0: overrun-ns";
    wrong(&|plan| plan.locks = Locks::Mpcp, overrun);
    let server = |plan: &mut plan::Plan, change: &dyn Fn(&mut plan::Server)| {
        change(plan.vms[0].vcpus[0].server.as_mut().unwrap());
    };
    wrong(&|plan| server(plan, &|server| server.overrun = us(7001)), overrun);
    wrong(
        &|plan| {
            server(plan, &|it| {
                it.class = plan::Class::Reserved(Kind::Sporadic, it.class.budget().unwrap())
            });
        },
        overrun,
    );
}
