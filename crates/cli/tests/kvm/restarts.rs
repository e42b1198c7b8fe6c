//! A VM that fails again and again beside one with deadlines.

use crate::{ATTEMPTS, ROOT, alone, bulkhead, is_host, json, system, task};

/// Executes for some time and fails: `mov ecx, 10000000; dec ecx; jnz -2; ud2`.
const FAILS: [u8; 11] = [0xb9, 0x80, 0x96, 0x98, 0, 0xff, 0xc9, 0x75, 0xfc, 0x0f, 0x0b];

#[test]
fn a_vm_restarts_as_often_as_it_may_and_others_keep_their_deadlines() {
    let _alone = alone();
    if !is_host() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let kernel = folder.path().join("fails.bin");
    std::fs::write(&kernel, FAILS).expect("a file");
    let kernel = kernel.to_str().expect("a path in UTF-8");
    let tasks = |kernel: &str, rest: &str| format!("kernel = \"{kernel}\"\n{rest}");
    let burn =
        "bootargs = \"tasks.start_ms=100 tasks.ms=2500 task0=burn/0/20000000/100000/1000000\"\n";
    let built = format!("{ROOT}/build/guests/x86-64/rt-tasks.bin");
    let restarts = tasks(kernel, "on_crash = \"restart\"\nrestart_limit = 5\n");
    let file = system(folder.path(), &[(&tasks(&built, burn), &restarts)]);
    let trace = folder.path().join("kvm.trace");
    let trace = trace.to_str().expect("a path in UTF-8");
    let is_good =
        |run: &serde_json::Value| ["fast", "slow"].iter().all(|it| task(run, it)["misses"] == 0);
    let mut runs = (0..ATTEMPTS).map(|_| json(&["run", "--on", "kvm", &file, "--trace", trace]));
    let run = runs.find(is_good).unwrap_or_else(|| panic!("no run of {ATTEMPTS} was in time"));

    let vm = &run["vms"][0];
    assert_eq!((&vm["state"], &vm["restarts"]), (&"stopped".into(), &5.into()), "{run:#}");
    assert_eq!((&run["ok"], &run["power_off"]), (&false.into(), &true.into()), "{run:#}");
    let replayed = json(&["trace", "replay", trace, "--plan", &file]);
    assert_eq!(replayed["ok"], true, "all decisions are those of the scheduler: {replayed:#}");
    let csv = bulkhead(&["trace", "export", trace, "--to", "csv", "-o", "-"]).stdout;
    let csv = String::from_utf8(csv).expect("text");
    let count = |event: &str| csv.lines().filter(|it| it.split(',').nth(3) == Some(event)).count();
    // All three VMs end, and the first one ends six times.
    assert_eq!((count("vm-start"), count("vm-stop")), (5, 8), "{run:#}");
}
