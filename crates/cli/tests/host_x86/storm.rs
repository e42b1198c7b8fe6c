//! A storm: random systems run in the x86 host, with servers of all kinds, priorities, and critical sections under both protocols.
//!
//! Other than on a real host, what the platform costs is known there. So bounds that contain these costs have to hold, and all
//! decisions have to repeat.

use std::fmt::Write as _;
use std::fs;

use testing::Random;

use super::{ROOT, bulkhead, document, host_x86, output};

/// How many systems run; `BULKHEAD_HOST_STORMS` gives another number, and `BULKHEAD_HOST_SEED` another first one.
const SYSTEMS: u64 = 3;
const SEED: u64 = 1;
/// What `cargo xtask bench-host-x86` measures, rounded up; there is no interrupt, and no other PCPU.
const OVERHEADS: &str = "switch = \"12us\"\ntick = \"12us\"\nkick = \"12us\"\nexit = \"7us\"\ninterrupt = \"1us\"\n\
    console = \"1us\"\nlock = \"1ns\"\nchunk = \"1us\"\n";
/// Time that the host takes of a VCPU in a critical section.
const SECTION_OVERHEAD: &str = "1500us";
/// What the guest takes in a job beside the parts of the task, and in each call.
const GUEST_US: u64 = 60;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// A task: the text for its guest, and its description.
fn task(random: &mut Random, name: &str, shares: bool) -> (String, String) {
    let period = random.of(&[40_000_u64, 80_000, 100_000]);
    let [before, held, behind] = [(); 3].map(|()| random.between(50, 250));
    let parts = match shares {
        true => format!("{before}+bus:{held}+{behind}"),
        false => (before + held + behind).to_string(),
    };
    let offset = random.between(0, 10) * 700;
    let wcet = before + held + behind + GUEST_US;
    let mut text = format!(
        "[[vm.task]]\nname = \"{name}\"\nperiod = \"{period}us\"\noffset = \"{offset}us\"\nwcet = \"{wcet}us\"\n"
    );
    if shares {
        let _ = writeln!(
            text,
            "sections = [{{ resource = \"bus\", after = \"{before}us\", length = \"{}us\" }}]",
            held + GUEST_US / 2
        );
    }
    (format!("{name}/0/{period}/{offset}/{parts}"), text)
}

/// A system of a few VMs on one CPU.
fn system(random: &mut Random) -> String {
    let locks = random.of(&["vmpcp", "mpcp"]);
    let shares = random.one_in(2);
    let mut text = format!(
        "locks = \"{locks}\"\nsection_overhead = \"{SECTION_OVERHEAD}\"\n[platform]\nboard = \"linux-kvm\"\n[platform.overheads]\n{OVERHEADS}"
    );
    let vms = random.between(2, 3);
    let names: Vec<String> = (0..vms).map(|vm| format!("\"v{vm}\"")).collect();
    let _ = write!(text, "[[resource]]\nname = \"bus\"\nvms = [{}]\n", names.join(", "));
    for vm in 0..vms {
        let tasks: Vec<_> = (0..random.between(1, 3))
            .map(|number| {
                let shares = shares && random.one_in(2);
                task(random, &format!("t{number}"), shares)
            })
            .collect();
        let mut arguments = "tasks.start_ms=100 tasks.ms=600".to_owned();
        for (number, (program, _)) in tasks.iter().enumerate() {
            let _ = write!(arguments, " task{number}={program}");
        }
        let guest = format!("{ROOT}/build/guests/x86-64/rt-tasks.bin");
        let _ = write!(
            text,
            "[[vm]]\nname = \"v{vm}\"\nboot = \"raw\"\nmemory = \"4MiB\"\nkernel = \"{guest}\"\nbootargs = \"{arguments}\"\n"
        );
        // Sections are not analysed on sporadic servers.
        let kinds = ["periodic", "deferrable", "sporadic"];
        let server = random.of(&kinds[..if shares { 2 } else { 3 }]);
        let period = random.of(if shares { &[20_u64, 40] } else { &[5_u64, 10] });
        let budget = period * random.between(200, 300);
        let _ = write!(
            text,
            "[[vm.vcpu]]\npcpu = 0\nserver = \"{server}\"\nbudget = \"{budget}us\"\nperiod = \"{period}ms\"\npriority = {}\n",
            vms - vm
        );
        let has_sections = tasks.iter().any(|(_, described)| described.contains("sections"));
        if has_sections && locks == "vmpcp" && server == "deferrable" && random.one_in(2) {
            text.push_str("overrun = true\n");
        }
        for (number, (_, described)) in tasks.iter().enumerate() {
            // The first one has the highest priority.
            let _ = writeln!(text, "{described}priority = {}", tasks.len() - number);
        }
    }
    // One VM that takes all the time that it gets.
    let guest = format!("{ROOT}/build/guests/x86-64/rt-busy.bin");
    let _ = write!(
        text,
        "[[vm]]\nname = \"busy\"\nboot = \"raw\"\nmemory = \"4MiB\"\nkernel = \"{guest}\"\nbootargs = \"busy.seconds=1\"\n\
         [[vm.vcpu]]\npcpu = 0\nserver = \"background\"\npriority = 0\n"
    );
    text
}

#[test]
#[ignore = "needs an x86 host: make test-host-x86"]
fn random_systems_keep_their_bounds_and_repeat_their_decisions() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("a path in UTF-8").to_owned();
    let (file, trace) = (path("storm.toml"), path("storm.trace"));
    let first = number("BULKHEAD_HOST_SEED", SEED);
    let (mut jobs, mut bounded) = (0, 0);
    for seed in first..first + number("BULKHEAD_HOST_STORMS", SYSTEMS) {
        let described = system(&mut Random::new(seed));
        fs::write(&file, &described).expect("a file");
        let output =
            output(&mut host_x86(&[&file, "--json", "--trace", &trace, "--", "--until-off"]));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        // A task may have no bound and be late: 1.
        assert!(matches!(output.status.code(), Some(0 | 1)), "seed {seed}: {said}\n{described}");
        let run = document(&output);
        assert_eq!(run["power_off"], true, "seed {seed}: {run:#}\n{described}");
        for task in run["vms"]
            .as_array()
            .expect("VMs")
            .iter()
            .flat_map(|vm| vm["tasks"].as_array().cloned().unwrap_or_default())
        {
            jobs += task["jobs"].as_u64().expect("a number");
            let (longest, bound) = (task["response_max_ns"].as_u64(), task["bound_ns"].as_u64());
            let (Some(longest), Some(bound)) = (longest, bound) else { continue };
            bounded += 1;
            assert!(longest <= bound, "seed {seed}: {task:#}\n{described}");
        }
        let replayed = bulkhead(&["trace", "replay", &trace, "--plan", &file]);
        assert_eq!(replayed["ok"], true, "seed {seed}: {replayed:#}\n{described}");
    }
    println!("{jobs} jobs, and {bounded} tasks with bounds");
    assert!(jobs > 0 && bounded > 0, "{jobs} jobs, {bounded} bounds");
}
