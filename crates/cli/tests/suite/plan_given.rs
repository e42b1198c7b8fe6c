//! Bad input that no decision of the planner changes, in descriptions that leave something open.

use testing::sandbox;

/// Nothing is open.
const GIVEN: &str = r#"
platform = "zcu102"

[[vm]]
name = "pilot"
boot = "raw"
memory = "16MiB"
kernel = "rt.bin"
colors = "0-7"

[[vm.vcpu]]
pcpu = 0
server = "sporadic"
budget = "3ms"
period = "10ms"

[[vm.task]]
name = "pid"
period = "20ms"
wcet = "3ms"

[[vm]]
name = "radio"
boot = "raw"
memory = "32MiB"
kernel = "rt.bin"
colors = "8-15"

[[vm.vcpu]]
pcpu = 1
"#;

/// What can be left open, and the lines to say so, which are as many as those in their place.
const OPEN: [(&str, &str); 4] = [
    ("budget = \"3ms\"\n", "\n"),
    ("\"sporadic\"", "\"planned\""),
    ("pcpu = 0\n", "\n"),
    ("\"0-7\"", "\"planned\""),
];

/// Mistakes: a part of the description, what stands there instead, and the kind of the mistake.
const MISTAKES: [(&str, &str, &str); 7] = [
    ("pcpu = 1\n", "pcpu = 9\n", "unknown-pcpu"),
    ("pcpu = 1\n", "pcpu = 1\n[[vm.vcpu]]\npcpu = 1\n", "pcpu-taken"),
    ("\"16MiB\"", "\"100GiB\"", "no-memory"),
    ("\"32MiB\"", "\"100GiB\"", "no-memory"),
    ("\"16MiB\"", "\"16KiB\"", "no-memory"),
    ("\"16MiB\"", "\"16MiB\"\nmemory_at = 0x7ff0_0000", "plan-rule"),
    ("\"32MiB\"", "\"32MiB\"\nmemory_at = 0x4000_1000", "plan-rule"),
];

/// The search does not begin: it would find no plan, and say that there is none.
#[test]
fn what_is_given_is_checked_before_the_rest_is_planned() {
    let sandbox = sandbox!();
    let refused = |text: &str, kind: &str| {
        sandbox.write("s.toml", text);
        let result = sandbox.bulkhead(&["plan", "s.toml", "--json"]);
        result.assert_status(2);
        assert!(!sandbox.path("s.plan.dts").exists());
        let errors = result.json()["errors"].clone();
        assert_eq!(errors.as_array().expect("errors").len(), 1, "{errors}");
        assert_eq!(errors[0]["code"], kind, "{errors}");
        (errors[0]["line"].as_u64().expect("a line"), errors[0]["message"].clone())
    };
    for (part, wrong, kind) in MISTAKES {
        let given = refused(&GIVEN.replace(part, wrong), kind);
        for (part_open, open) in OPEN {
            let text = GIVEN.replace(part_open, open).replace(part, wrong);
            let found = refused(&text, kind);
            assert_eq!(found.0, given.0, "{text}");
            assert!(found.1 == given.1 || open.contains("planned"), "{} {}", found.1, given.1);
        }
    }
}

/// VCPUs without a server share no PCPU, wherever the others run.
#[test]
fn vcpus_without_server_need_a_pcpu_each() {
    let sandbox = sandbox!();
    let vcpus = |count: usize| "[[vm.vcpu]]\n".repeat(count);
    let text = GIVEN.replace("\"sporadic\"", "\"planned\"");
    for (count, status) in [(3, 0), (4, 2)] {
        sandbox.write("s.toml", &text.replace("[[vm.vcpu]]\npcpu = 1\n", &vcpus(count)));
        let result = sandbox.bulkhead(&["plan", "s.toml"]);
        result.assert_status(status);
        let message = "error[too-few-pcpus]: there are 5 VCPUs, but `zcu102` has 4 PCPUs";
        assert_eq!(result.stderr.contains(message), status == 2, "{}", result.stderr);
    }
}

/// Where colours are planned, so are the places of RAM; that all is too much is known before.
#[test]
fn vms_need_no_more_ram_than_there_is() {
    let sandbox = sandbox!();
    let text = GIVEN.replace("\"0-7\"", "\"planned\"").replace("\"sporadic\"", "\"planned\"");
    sandbox.write("s.toml", &text.replace("\"16MiB\"", "\"1200MiB\"").replace("32MiB", "800MiB"));
    let message = "with `radio` the VMs need 2000 MiB of RAM, but 1952 MiB are free";
    sandbox.bulkhead(&["plan", "s.toml"]).assert_refused(&[message, "s.toml:25:10", "96 MiB"]);
}

/// A limit of memory accesses is not to blame if no bound is known with any.
#[test]
fn sections_beside_limits_are_named_as_the_cause() {
    let sandbox = sandbox!();
    let vm = |name: &str, limit: &str| {
        format!(
            "[[vm]]\nname = \"{name}\"\nboot = \"raw\"\nmemory = \"4MiB\"\nkernel = \"x.bin\"\n\
             {limit}\n[[vm.vcpu]]\nserver = \"deferrable\"\n[[vm.task]]\nname = \"t\"\n\
             period = \"40ms\"\nwcet = \"3ms\"\naccesses = 1000\n\
             sections = [{{ resource = \"bus\", after = \"1ms\", length = \"0.1ms\" }}]\n"
        )
    };
    let resource = "[[resource]]\nname = \"bus\"\nvms = [\"a\", \"b\"]\n";
    let head = format!("platform = \"qemu-virt\"\nsection_overhead = \"500us\"\n{resource}");
    sandbox.write("s.toml", &[&head, &*vm("a", "bandwidth = \"planned\""), &vm("b", "")].concat());
    sandbox.bulkhead(&["plan", "s.toml"]).assert_no_plan(&[
        "task `t` of VM `a` has no bound, whatever the limits are: critical sections are not analysed under a limit",
        "s.toml:11:13",
        "leave the `bandwidth` of VM `a` away",
    ]);
    sandbox.write("s.toml", &[&head, &*vm("a", ""), &vm("b", "")].concat());
    sandbox.bulkhead(&["plan", "s.toml"]).assert_status(0);
    // The VM with the limit is not that of the task, which is not described far enough.
    let third = "[[vm]]\nname = \"c\"\nboot = \"raw\"\nmemory = \"4MiB\"\nkernel = \"x.bin\"\n";
    let third = format!("{third}bandwidth = \"planned\"\n");
    let unknown = vm("b", "").replace("accesses = 1000\n", "");
    sandbox.write("s.toml", &[&head, &*vm("a", ""), &unknown, &third].concat());
    sandbox.bulkhead(&["plan", "s.toml"]).assert_no_plan(&[
        "task `t` of VM `b` has no bound, whatever the limits are",
        "say in `accesses` how many a job of task `t` of VM `b` makes at most (0: none)",
    ]);
    sandbox.write("s.toml", &[&head, &*vm("a", ""), &vm("b", ""), &third].concat());
    sandbox.bulkhead(&["plan", "s.toml"]).assert_status(0);
}

/// VCPUs without tasks get their budgets if there is such a plan, and it is said if not.
#[test]
fn a_vcpu_without_tasks_does_not_prevent_a_plan() {
    let sandbox = sandbox!();
    let vcpu = "[[vm.vcpu]]\nserver = \"deferrable\"\nperiod = \"2ms\"\npcpu = 1\n";
    let description = |wcet: &str| {
        format!(
            "platform = \"qemu-virt\"\n[[vm]]\nname = \"a\"\nboot = \"raw\"\nmemory = \"4MiB\"\n\
             kernel = \"x.bin\"\n{vcpu}{vcpu}[[vm.task]]\nname = \"t\"\nvcpu = 0\n\
             period = \"4ms\"\nwcet = \"{wcet}\"\n"
        )
    };
    let note = "note: VCPU 1 of VM `a` may not get its budget in each period";
    for (wcet, is_said) in [("3.6ms", true), ("0.6ms", false)] {
        sandbox.write("s.toml", &description(wcet));
        let result = sandbox.bulkhead(&["plan", "s.toml", "--explain"]);
        result.assert_status(0);
        assert_eq!(result.stdout.contains(note), is_said, "{}", result.stdout);
        assert!(!result.stdout.contains("can grow by 0.0 %\n"), "{}", result.stdout);
        sandbox.bulkhead(&["check", "s.plan.dts"]).assert_status(0);
    }
}
