//! The plugin in QEMU, on programs of which every count is known.
//!
//! They need `qemu-system-aarch64` 10 and the plugin, so they are not run by
//! default: `cargo build --release && cargo test -- --ignored`.

mod counter;
mod model_time;
mod programs;

use std::path::Path;
use std::process::{Command, Output};
use std::{env, fs};

use programs::{LINES, OFF, PAIRS, SPACES, TWO, guest, lines};
use serde_json::Value;
use tempfile::TempDir;

const ICOUNT: [&str; 2] = ["-icount", "shift=0,sleep=off"];

/// CPUs start at EL2.
const AT_EL2: [&str; 2] = ["-machine", "virt,gic-version=3,virtualization=on"];

/// Runs a program on bare CPUs.
fn run(folder: &TempDir, program: &[u32], cpus: u32, qemu: &[&str], options: &str) -> Output {
    run_in("qemu-system-aarch64", folder, program, cpus, qemu, options)
}

/// The same with a certain QEMU.
fn run_in(
    binary: &str,
    folder: &TempDir,
    program: &[u32],
    cpus: u32,
    qemu: &[&str],
    options: &str,
) -> Output {
    let plugin =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("target/release/libbulkhead_cachescope.so");
    assert!(plugin.exists(), "{} is missing: cargo build --release", plugin.display());
    let image = folder.path().join("program.bin");
    let bytes: Vec<u8> = program.iter().flat_map(|word| word.to_le_bytes()).collect();
    fs::write(&image, bytes).unwrap();
    let out = folder.path().join("out");
    Command::new("timeout")
        .args(["60", binary, "-machine", "virt,gic-version=3", "-cpu", "cortex-a53"])
        .args(["-smp", &cpus.to_string(), "-display", "none", "-nodefaults"])
        .args(qemu)
        .arg("-device")
        .arg(format!("loader,file={},addr=0x40200000,cpu-num=0,force-raw=on", image.display()))
        .arg("-plugin")
        .arg(format!("{},out={}{options}", plugin.display(), out.display()))
        .output()
        .expect("qemu-system-aarch64 and timeout are needed")
}

fn succeed(output: &Output) {
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && !message.contains("cachescope"),
        "{}: {message}",
        output.status
    );
}

fn summary(folder: &TempDir) -> Value {
    let text = fs::read(folder.path().join("out/summary.json")).unwrap();
    serde_json::from_slice(&text).unwrap()
}

#[test]
#[ignore = "needs QEMU and the built plugin"]
fn every_access_miss_and_instruction_of_a_known_program_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let options =
        ",vm=one:0x40000000+128MiB,cpu=0:one,l1-hit=0,llc-hit=10cy,memory=50cy,bus=0,fetch=off";
    succeed(&run(&folder, PAIRS, 1, &ICOUNT, options));
    let summary = summary(&folder);
    let one = &summary["owners"][2];
    // 1024 stores; 1024 pairs that lie in two lines each, the last in line 1024.
    assert_eq!(one["accesses"], 1024 + 2 * 1024);
    // 64 KiB go through a cache of 32 KiB twice; and all fits into 1 MiB.
    assert_eq!(one["l1_misses"], 1024 + 1025);
    assert_eq!(one["llc_misses"], 1025);
    assert_eq!(one["llc_write_backs"], 1024);
    assert_eq!(one["memory_written_bytes"], 0);
    assert_eq!(summary["cpus"][0]["instructions"], 3 + 2 + 3 * 1024 + 3 + 3 * 1024 + 6);
    let jobs = fs::read_to_string(folder.path().join("out/jobs.csv")).unwrap();
    let job: Vec<&str> = jobs.lines().nth(1).unwrap().split(',').collect();
    // From one mark to the other; 1025 misses of 50 ns and 1024 hits of 10 ns.
    let instructions = 1 + 2 + 3 * 1024 + 3 + 3 * 1024 + 2;
    let stall = 1025 * 50 + 1024 * 10;
    assert_eq!(job[..5], ["one", "0", "3", "7", ""]);
    assert_eq!(job[7], (instructions + stall).to_string());
    assert_eq!(job[8], "0", "nobody else had the CPU");
    assert_eq!(job[9], instructions.to_string());
    assert_eq!(job[10], stall.to_string());
    assert_eq!(job[12..], ["3072", "2049", "1025", "0"]);
    assert_eq!(jobs.lines().count(), 2);
}

#[test]
#[ignore = "needs QEMU and the built plugin"]
fn the_time_in_the_address_space_of_another_task_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let options = ",vm=one:0x40000000+128MiB,cpu=0:one,fetch=off";
    succeed(&run(&folder, SPACES, 1, &ICOUNT, options));
    let jobs = fs::read_to_string(folder.path().join("out/jobs.csv")).unwrap();
    let job: Vec<&str> = jobs.lines().nth(1).unwrap().split(',').collect();
    assert_eq!(job[..5], ["one", "0", "3", "7", ""]);
    // MSR, MOV and 100 rounds of two instructions, with a cycle of 1 ns each; then three more.
    assert_eq!(job[7..10], ["205", "202", "205"]);
}

#[test]
#[ignore = "needs QEMU and the built plugin"]
fn cpus_that_run_the_same_code_are_told_apart_and_runs_repeat() {
    let options = ",vm=a:0x41000000+16MiB,vm=b:0x42000000+16MiB,cpu=0:a,cpu=1:b,fetch=off";
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    for folder in &folders {
        succeed(&run(folder, TWO, 2, &ICOUNT, options));
    }
    for name in ["summary.json", "timeseries.csv", "evictions.csv", "colors.csv", "jobs.csv"] {
        let text = |folder: &TempDir| fs::read(folder.path().join("out").join(name)).unwrap();
        assert_eq!(text(&folders[0]), text(&folders[1]), "{name}");
    }
    let summary = summary(&folders[0]);
    let pass = 2 + 3 * 1024 + 2;
    for (cpu, passes, other) in [(0, 16, 10 + 1 + 1 + 3), (1, 8, 2 + 1 + 1)] {
        let counters = &summary["cpus"][cpu];
        assert_eq!(counters["accesses"], passes * 1024, "CPU {cpu}");
        assert_eq!(counters["llc_misses"], 1024, "CPU {cpu}");
        let instructions = counters["instructions"].as_u64().unwrap();
        // CPU 1 may wake up from WFI.
        let expected = passes * pass + other;
        assert!((expected..expected + 4).contains(&instructions), "CPU {cpu}: {instructions}");
        assert_eq!(summary["owners"][cpu + 2]["accesses"], passes * 1024);
    }
    assert_eq!(summary["evictions"]["total"], 0);
}

#[test]
#[ignore = "needs QEMU and the built plugin"]
fn the_hypervisor_is_told_from_the_guest_and_marks_come_from_it_alone() {
    for (start, by_hypervisor, unmatched) in [("guest", 0, 0), ("boot", 64, 1)] {
        let folder = tempfile::tempdir().unwrap();
        let options = format!(",vm=one:0x40000000+128MiB,cpu=0:one,start={start}");
        succeed(&run(&folder, &guest(), 1, &[&ICOUNT[..], &AT_EL2].concat(), &options));
        let summary = summary(&folder);
        assert_eq!(summary["model"]["start"], start);
        assert_eq!(summary["owners"][0]["name"], "hypervisor");
        assert_eq!(summary["owners"][0]["accesses"], by_hypervisor);
        assert_eq!(summary["owners"][2]["accesses"], 64);
        assert_eq!(summary["jobs"]["unmatched_marks"], unmatched, "start={start}");
        let jobs = fs::read_to_string(folder.path().join("out/jobs.csv")).unwrap();
        let job: Vec<&str> = jobs.lines().nth(1).unwrap().split(',').collect();
        assert_eq!(job[..4], ["one", "0", "3", "7"]);
        // Mark and ERET, 2 and 64 rounds of 3 instructions, 1 and HVC.
        assert_eq!(job[9], (2 + 2 + 3 * 64 + 2).to_string());
    }
}

#[test]
#[ignore = "needs QEMU and the built plugin"]
fn a_machine_without_guest_is_told() {
    let folder = tempfile::tempdir().unwrap();
    succeed(&run(&folder, OFF, 1, &[&ICOUNT[..], &AT_EL2].concat(), ""));
    assert_eq!(summary(&folder)["started"], false);
    assert_eq!(summary(&folder)["totals"]["accesses"], 0);
}

#[test]
#[ignore = "needs QEMU and the built plugin"]
fn what_cannot_be_right_is_refused() {
    for (cpus, qemu, options, expected) in [
        (2, &[][..], "", "cachescope: QEMU runs each CPU in a thread of its own"),
        (1, &ICOUNT[..], ",llc=3MiB", "cachescope: llc=3MiB: expected SIZE:WAYS"),
        (1, &ICOUNT[..], ",vm=a:0x0+4KiB,cpu=3:a", "cachescope: cpu=3:...: the machine has 1 CPU"),
        (1, &ICOUNT[..], ",ranges=/nowhere", "cachescope: ranges=/nowhere: "),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let output = run(&folder, PAIRS, cpus, qemu, options);
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && message.contains(expected), "{options}: {message}");
    }
}

#[test]
#[ignore = "needs QEMU and the built plugin"]
fn lines_that_are_zeroed_removed_and_cleaned_are_followed_through_the_mmu() {
    let folder = tempfile::tempdir().unwrap();
    let options = ",vm=one:0x41000000+32KiB,fetch=off";
    succeed(&run(&folder, &lines(), 1, &ICOUNT, options));
    let summary = summary(&folder);
    assert_eq!(summary["operations"]["zeroed_blocks"], 512);
    assert_eq!(summary["operations"]["maintained_lines"], 256 + 128);
    assert_eq!(summary["skipped"]["unresolved_accesses"], 0);
    let one = &summary["owners"][2];
    assert_eq!(one["accesses"], 512 + 512);
    // What is zeroed need not be read; what was removed has to be.
    assert_eq!(one["llc_misses"], 512 + 256);
    assert_eq!(one["memory_read_bytes"], 256 * 64);
    assert_eq!(one["memory_written_bytes"], (256 + 128) * 64);
    let instructions = 14 + 2 + 4 * 512 + 2 + 4 * 256 + 1 + 4 * 128 + 2 + 3 * 512 + 3;
    assert_eq!(summary["cpus"][0]["instructions"], instructions);
}

#[test]
#[ignore = "needs QEMU and the built plugin"]
fn each_line_of_code_is_fetched_from_memory_once() {
    let folder = tempfile::tempdir().unwrap();
    let options = ",vm=code:0x40200000+4KiB,memory=50cy,bus=0,l1-hit=0,fetch=on";
    succeed(&run(&folder, &lines(), 1, &ICOUNT, options));
    let summary = summary(&folder);
    let code = &summary["owners"][2];
    let lines = (LINES.len() as u64 * 4).div_ceil(64);
    assert_eq!((&code["l1i_misses"], &code["llc_misses"]), (&lines.into(), &lines.into()));
    assert_eq!(code["memory_read_bytes"], lines * 64);
    // At least one for each round of a loop, and blocks are not split that much.
    let fetches = code["fetches"].as_u64().unwrap();
    assert!((1408..1408 * 2).contains(&fetches), "{fetches}");
    let instructions = summary["cpus"][0]["instructions"].as_u64().unwrap();
    let stall = summary["cpus"][0]["stall_cycles"].as_u64().unwrap();
    let misses = summary["totals"]["llc_misses"].as_u64().unwrap() - 512;
    assert_eq!(stall, misses * 50 + 512 * 15, "of {instructions} instructions");
}

/// A QEMU that exports all but one symbol: the name of that one is another.
fn qemu_without(folder: &TempDir, symbol: &str) -> String {
    let path = env::var_os("PATH").unwrap();
    let folders = env::split_paths(&path);
    let binary = folders.map(|it| it.join("qemu-system-aarch64")).find(|it| it.exists()).unwrap();
    let mut bytes = fs::read(&binary).unwrap();
    let name = [b"\0", symbol.as_bytes(), b"\0"].concat();
    let places: Vec<usize> = memchr::memmem::find_iter(&bytes, &name).collect();
    assert!(!places.is_empty(), "{symbol} in {}", binary.display());
    for place in places {
        bytes[place + name.len() - 2] = b'_';
    }
    let copy = folder.path().join("qemu");
    fs::write(&copy, bytes).unwrap();
    fs::set_permissions(&copy, fs::metadata(&binary).unwrap().permissions()).unwrap();
    copy.to_str().unwrap().into()
}

#[test]
#[ignore = "needs QEMU and the built plugin"]
fn a_qemu_that_lacks_a_symbol_is_refused_or_does_without_and_says_so() {
    for (symbol, cpus, options, expected, goes_on) in [
        ("gdb_get_cpu_index", 2, "", "does not export \"gdb_get_cpu_index\", without", false),
        ("cpu_exit", 2, "", "without which CPUs cannot be kept together (quantum=0 does", false),
        ("cpu_exit", 2, ",quantum=0", "", true),
        ("gdb_get_cpu_index", 1, "", "", true),
        ("cpu_get_phys_page_debug", 1, "", "without which fetch=on is not possible", false),
        ("cpu_get_phys_page_debug", 1, ",fetch=off", "DC ZVA and maintenance of caches", true),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let qemu = qemu_without(&folder, symbol);
        let output = run_in(&qemu, &folder, &lines(), cpus, &ICOUNT, options);
        let message = String::from_utf8_lossy(&output.stderr);
        // QEMU's own, now and then, at the end of a guest without timers.
        let own = |line: &&str| !line.contains("warning: icount sleep disabled");
        let message = message.lines().filter(own).collect::<Vec<_>>().join("\n");
        let told =
            if expected.is_empty() { message.is_empty() } else { message.contains(expected) };
        assert!(told, "{symbol}{options}: {message}");
        assert_eq!(output.status.success(), goes_on, "{symbol}{options}: {message}");
        if symbol == "cpu_get_phys_page_debug" && goes_on {
            let summary = summary(&folder);
            assert!(summary["operations"].is_null());
            assert_eq!(summary["totals"]["accesses"], 512);
        }
    }
}
