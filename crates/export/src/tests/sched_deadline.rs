//! `SCHED_DEADLINE`: what is written, refused and said. `script` executes it.

mod script;

use super::*;

/// A VCPU on a PCPU with a budget and a period.
fn vcpu(pcpu: u32, priority: u32, [budget, period]: [&str; 2]) -> String {
    format!(
        "[[vm.vcpu]]\npcpu = {pcpu}\nserver = \"deferrable\"\nbudget = \"{budget}\"\nperiod = \"{period}\"\n\
         priority = {priority}\n"
    )
}

fn alone(times: [&str; 2]) -> Plan {
    plan(QEMU, &[&vm("a", &vcpu(0, 1, times))])
}

fn left(plan: &Plan) -> String {
    written(plan, Target::SchedDeadline).left.join("\n")
}

#[test]
fn each_vcpu_has_its_budget_and_period() {
    let background =
        "[[vm.vcpu]]\npcpu = 0\nserver = \"background\"\npriority = 1\n[[vm.vcpu]]\npcpu = 2\n";
    let plan = plan(QEMU, &[&vm("a", &vcpu(0, 2, ["4ms", "10ms"])), &vm("b", background)]);
    let export = written(&plan, Target::SchedDeadline);
    let script = text(&export, "deadline.sh");
    assert_has(
        script,
        &[
            "pcpus='0 2'\ndefault_cpus='0 2'\nshares='400000 0'\n",
            "vcpus='a 0 0 4000000 10000000\nb 0 0 0 0\nb 1 2 0 0'\n",
        ],
    );
    let missing = export.missing.join("\n");
    assert_has(
        &missing,
        &[
            "fixed priorities",
            "constant bandwidth servers",
            "HRTICK_DL",
            "background: they share what is left, as threads of SCHED_OTHER (`b`)",
        ],
    );
    assert_has(&export.left.join("\n"), &["-name b,debug-threads=on -accel kvm -smp 2 -m 1M"]);
}

#[test]
fn cpus_are_those_of_a_host_with_kvm() {
    let toml = format!(
        "name = \"system\"\nplatform = \"linux-kvm\"\n[[vm]]\nboot = \"raw\"\n{}",
        vm("a", &vcpu(2, 1, ["1ms", "10ms"]))
    );
    let system =
        System::from_toml("s.toml", &toml, Path::new("")).unwrap_or_else(|it| panic!("{it}"));
    let plan = plan::outline(&system).unwrap_or_else(|it| panic!("{it}"));
    let export = export(&plan, Some(&system.platform.value), Target::SchedDeadline).unwrap();
    assert_has(text(&export, "deadline.sh"), &["pcpus='2'\ndefault_cpus='3'\n"]);
    assert_has(&export.left.join("\n"), &["PCPU 2 is CPU 3"]);
}

#[test]
fn budgets_have_to_fit_linux() {
    let short = "the budget of VCPU 0 of `a` is 1008 ns, and the shortest one of Linux is 1024 ns";
    assert_refused(&alone(["1008ns", "1ms"]), Target::SchedDeadline, short);
    written(&alone(["1024ns", "1ms"]), Target::SchedDeadline);

    assert!(!left(&alone(["95ms", "100ms"])).contains("sched_rt_runtime_us"));
    let wide = left(&alone(["96ms", "100ms"]));
    assert_has(
        &wide,
        &["budgets of PCPU 0 are 96.00 %", "sysctl -w kernel.sched_rt_runtime_us=960000"],
    );
    // Not less than what is asked for.
    assert_has(
        &left(&alone(["2.85ms", "2.992ms"])),
        &["are 95.26 %", "sched_rt_runtime_us=952541"],
    );

    let mut full = plan(
        QEMU,
        &[&vm("a", &vcpu(0, 1, ["6ms", "10ms"])), &vm("b", &vcpu(0, 2, ["4ms", "10ms"]))],
    );
    assert_has(&left(&full), &["are 100.00 %", "sched_rt_runtime_us=1000000"]);
    let server = full.vms[1].vcpus[0].server.as_mut().unwrap();
    let budget = server.class.budget().unwrap();
    server.class = server
        .class
        .with_budget(system::plan::Budget { period: units::Duration(9_000_000), ..budget });
    let more = "the budgets of PCPU 0 are 104.45 % of it";
    assert_refused(&full, Target::SchedDeadline, more);
}

#[test]
fn periods_beyond_the_limits_of_linux_are_said() {
    let short = left(&alone(["10us", "90us"]));
    assert_has(&short, &["one is 90 us", "sched_deadline_period_min_us=90"]);
    let long = left(&alone(["1s", "5s"]));
    assert_has(&long, &["one is 5 s", "sched_deadline_period_max_us=5000000"]);
    for times in [["10us", "100us"], ["1s", "4194304us"]] {
        assert!(!left(&alone(times)).contains("sched_deadline_period"), "{times:?}");
    }
}

#[test]
fn what_linux_does_not_keep_is_said() {
    let colors = "colors = \"0-1\"\non_crash = \"restart\"\nrestart_limit = 1\n\
                  bandwidth = { accesses = 10_000, period = \"1ms\" }";
    let plan = plan(COUNTED, &[&vm("a", colors), &vm("b", "colors = \"4\"")]);
    let export = written(&plan, Target::SchedDeadline);
    assert_has(
        text(&export, "deadline.sh"),
        &[
            "# - cache colours (`a`, `b`)\n",
            "# - 10000 memory accesses in 1 ms for `a`: nothing limits them\n",
            "# - restarts after a crash or a reset (`a`, `b`)\n",
            "# - a stop or an abort at accesses where a VM has nothing",
        ],
    );
}
