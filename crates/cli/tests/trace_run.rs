//! Traces of the real thing: hypervisor and guests must have been built (`make build`).

mod real;

use std::path::Path;

use real::{project, record, succeeds};

/// Runs a system for as long as its guests run, and returns its trace as lines of CSV.
fn recorded(system: &str, arguments: &[&str], trace: &Path) -> Vec<String> {
    record(system, arguments, trace);
    let trace = trace.to_str().expect("a path in UTF-8");
    let csv = succeeds(&["trace", "export", trace, "--to", "csv", "-o", "-"]);
    csv.lines().map(String::from).collect()
}

/// Four VMs that share a PCPU, one with each kind of server.
fn servers() -> String {
    let kernel = project().join("build/guests/rt-demo.bin");
    let vm = |(name, server): (&str, &str)| {
        format!(
            "[[vm]]\nname = \"{name}\"\nboot = \"raw\"\nmemory = \"4MiB\"\nkernel = {kernel:?}\n\
             bootargs = \"rt.seconds=1\"\n[[vm.vcpu]]\npcpu = 1\nserver = {server}\n"
        )
    };
    let vms = [
        ("a", "\"sporadic\"\nbudget = \"1ms\"\nperiod = \"4ms\""),
        ("b", "\"deferrable\"\nbudget = \"1.5ms\"\nperiod = \"5ms\""),
        ("c", "\"periodic\"\nbudget = \"2ms\"\nperiod = \"10ms\""),
        ("d", "\"background\""),
    ];
    format!("platform = \"qemu-virt\"\n{}", vms.map(vm).concat())
}

/// What the hypervisor was told, told to the same code on this machine.
#[test]
fn all_decisions_about_vcpus_that_share_pcpus_come_out_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let (trace, system) = (folder.path().join("servers.trace"), folder.path().join("servers.toml"));
    std::fs::write(&system, servers()).expect("a folder");
    let system = system.to_str().expect("a path in UTF-8");
    let lines = recorded(system, &[], &trace);
    let count = |part: &str| lines.iter().filter(|line| line.contains(part)).count();
    assert_eq!(count(",lost,"), 0);
    let trace = trace.to_str().expect("a path in UTF-8");
    let replayed = succeeds(&["trace", "replay", trace, "--plan", system]);
    assert!(replayed.ends_with("\nall decisions came out again\n"), "{replayed}");
    let decisions: usize = replayed
        .lines()
        .filter_map(|line| line.split_whitespace().nth(2)?.parse::<usize>().ok())
        .sum();
    assert_eq!(decisions, count(",run,") + count(",idle,"), "{replayed}");
    assert!(decisions > 1_000, "{replayed}");
}

#[test]
fn the_demonstration_is_recorded_while_it_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = ["--append", "linux=bulkhead.job=demo"];
    let lines = recorded("systems/demo.toml", &arguments, &folder.path().join("demo.trace"));
    let count = |part: &str| lines.iter().filter(|line| line.contains(part)).count();
    // 2 s, every 5 ms, each job released, started and complete.
    assert_eq!(count(",mark,rt,0,fast,"), 3 * 400);
    assert_eq!(count(",mark,rt,0,slow,"), 3 * 100);
    assert_eq!((count(",run,rt,0,"), count(",run,linux,1,"), count(",lost,")), (1, 1, 0));
    assert!(count(",interrupt,linux,0,") > 100);
}
