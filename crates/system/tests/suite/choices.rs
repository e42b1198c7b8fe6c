//! Kinds of servers, overrun, the protocol of locks and numbers of VCPUs that are left open: how
//! they are described, and what is refused.

use policy::server::kind::Kind;
use system::plan::{self, Class, Locks};

use crate::mistakes::{Mistake, found, read};

/// All of it is open.
const OPEN: &str = r#"locks = "planned"
platform = "qemu-virt"

[[resource]]
name = "bus"
vms = ["a", "b"]

[[vm]]
name = "a"
boot = "raw"
memory = "1MiB"
kernel = "k"
vcpus = "planned"

[[vm.vcpu]]
server = "planned"
overrun = "planned"
period = "10ms"

[[vm.task]]
name = "t"
period = "20ms"
wcet = "1ms"
sections = [{ resource = "bus", length = "0.5ms" }]

[[vm.task]]
name = "u"
vcpu = 2
period = "20ms"
wcet = "1ms"

[[vm]]
name = "b"
boot = "raw"
memory = "1MiB"
kernel = "k"

[[vm.vcpu]]
server = "planned"
budget = "3ms"
period = "10ms"
overrun = "planned"

[[vm.task]]
name = "v"
period = "20ms"
wcet = "1ms"
sections = [{ resource = "bus", length = "0.5ms" }]
"#;

#[test]
fn what_is_open_is_known_and_not_decided() {
    let system = read(OPEN).unwrap_or_else(|errors| panic!("{errors}"));
    assert!(system.is_open() && system.processor_open() && !system.limits_open());
    assert!(system.locks_open.is_some() && system.locks == Locks::Vmpcp);
    let [a, b] = &system.vms[..] else { panic!("two VMs") };
    // As many as the tasks name, and all alike.
    assert!(a.vcpus_open.is_some() && a.vcpus.len() == 3 && a.vcpus[0] == a.vcpus[2]);
    assert!(b.vcpus_open.is_none() && b.vcpus.len() == 1);
    assert_eq!(
        [0, 1].map(|task| (a.tasks[task].vcpu, a.tasks[task].vcpu_open)),
        [(0, true), (2, false)]
    );
    let server = b.vcpus[0].server.as_ref().expect("a server");
    assert!(!server.open && server.is_open() && server.overrun.is_none());
    assert!(server.kind_open.is_some() && server.overrun_open.is_some());
    assert!(matches!(server.class.value, Class::Reserved(Kind::Deferrable, _)));
    let shown = plan::make(&system).map(|_| ()).expect_err("a plan").to_string();
    for what in ["protocol of locks is", "kind of a server is", "overrun is", "number of VCPUs is"]
    {
        assert!(shown.contains(&format!("{what} not planned yet")), "{what}: {shown}");
    }
}

const MISTAKES: &[Mistake] = &[
    (
        "server = \"planned\"",
        "server = \"plannd\"",
        "wrong-value",
        "plannd",
        "did you mean `planned`?",
    ),
    (
        "overrun = \"planned\"",
        "overrun = \"plannd\"",
        "wrong-value",
        "plannd",
        "did you mean `planned`?",
    ),
    (
        "locks = \"planned\"",
        "locks = \"plannd\"",
        "wrong-value",
        "plannd",
        "did you mean `planned`?",
    ),
    (
        "vcpus = \"planned\"",
        "vcpus = \"plannd\"",
        "wrong-value",
        "plannd",
        "did you mean `planned`?",
    ),
    ("vcpus = \"planned\"", "vcpus = \"two\"", "wrong-value", "two", "a number, as in `vcpus = 2`"),
    ("vcpus = \"planned\"", "vcpus = \"3\"", "wrong-value", "\"3\"", "without quotes: `vcpus = 3`"),
    ("vcpus = \"planned\"", "", "unknown-name", "vcpu = 2", "the VM has no VCPU 2"),
    // What is planned where it is not given cannot say so.
    ("vcpu = 2", "vcpu = \"planned\"", "wrong-value", "vcpu", "leave the key out: remove `vcpu = "),
    ("period = \"10ms\"", "period = \"planned\"", "wrong-value", "period", "leave the key out"),
    ("budget = \"3ms\"", "budget = \"planned\"", "wrong-value", "budget", "leave the key out"),
    (
        "budget = \"3ms\"",
        "budget = \"3ms\"\npcpu = \"planned\"",
        "wrong-value",
        "pcpu",
        "leave the key out",
    ),
    (
        "budget = \"3ms\"",
        "budget = \"3ms\"\npriority = \"planned\"",
        "wrong-value",
        "priority",
        "leave the key out",
    ),
    (
        "memory = \"1MiB\"",
        "memory = \"1MiB\"\nmemory_at = \"planned\"",
        "wrong-value",
        "memory_at",
        "leave the key out",
    ),
    ("vcpu = 2", "vcpu = 8", "unknown-name", "vcpu = 8", "0 to 7 are possible"),
    // The number is fixed by the tables.
    (
        "[[vm.vcpu]]",
        "[[vm.vcpu]]\nserver = \"planned\"\n[[vm.vcpu]]",
        "wrong-value",
        "vcpus = \"planned\"",
        "there are 2 `[[vm.vcpu]]`",
    ),
    (
        "period = \"20ms\"",
        "vcpu = 0\nperiod = \"20ms\"",
        "wrong-value",
        "vcpus",
        "all tasks name theirs",
    ),
    (
        "period = \"10ms\"",
        "pcpu = 1\nperiod = \"10ms\"",
        "useless-key",
        "pcpu",
        "all of them would be there",
    ),
    (
        "server = \"planned\"\noverrun = \"planned\"\nperiod = \"10ms\"",
        "server = \"background\"",
        "wrong-value",
        "background",
        "of the background cannot be planned",
    ),
    (
        "overrun = \"planned\"\nperiod",
        "overrun = true\nbudget = \"1ms\"\nperiod",
        "wrong-value",
        "overrun = true",
        "depends on their number",
    ),
    // Only one of the protocols has an overrun.
    (
        "period = \"10ms\"\noverrun = \"planned\"",
        "period = \"10ms\"\noverrun = true",
        "wrong-value",
        "overrun = true",
        "only one protocol has an overrun",
    ),
    ("locks = \"planned\"", "locks = \"mpcp\"", "useless-key", "overrun", "has no meaning here"),
    (
        "server = \"planned\"\nbudget",
        "server = \"sporadic\"\nbudget",
        "useless-key",
        "overrun",
        "that is sporadic",
    ),
    (
        "sections = [{ resource = \"bus\", length = \"0.5ms\" }]\n\n[[vm.task]]",
        "\n[[vm.task]]",
        "useless-key",
        "overrun",
        "no task of the VCPU has a global critical section",
    ),
];

#[test]
fn mistakes_are_found_where_they_are() {
    for mistake in MISTAKES {
        // With the other protocol both VCPUs have a key without meaning.
        let count = if mistake.1.contains("mpcp") { 2 } else { 1 };
        assert_eq!(found(OPEN, mistake), count, "{mistake:?}");
    }
}

/// Without tasks nothing depends on the number, and without sections nothing on the protocol.
#[test]
fn there_is_something_to_plan_for() {
    let vm = "platform = \"qemu-virt\"\n[[vm]]\nname = \"a\"\nboot = \"raw\"\n\
              memory = \"1MiB\"\nkernel = \"k\"\n";
    let refused = |text: &str| read(text).map(|_| ()).expect_err("a mistake").to_string();
    let shown = refused(&format!("{vm}vcpus = \"planned\"\n"));
    assert!(shown.contains("but the VM has no tasks") && shown.contains("s.toml:7:9"), "{shown}");
    let shown = refused(&format!("locks = \"planned\"\n{vm}"));
    assert!(shown.contains("no task has critical sections"), "{shown}");
}
