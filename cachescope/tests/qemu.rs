//! The plugin in QEMU, on programs of which every count is known.
//!
//! They need `qemu-system-aarch64` 10 and the plugin, so they are not run by
//! default: `cargo build --release && cargo test -- --ignored`.

use std::path::Path;
use std::process::{Command, Output};
use std::{env, fs};

use serde_json::Value;
use tempfile::TempDir;

/// Stores to 1024 lines from 0x4100_0000, then loads pairs that begin 8 bytes
/// before the end of each, between the marks "start" and "finish" of task 3,
/// job 7; then switches the machine off.
const PAIRS: &[u32] = &[
    0xd280_0049, // mov x9, #2
    0xf2b8_c009, // movk x9, #0xc600, lsl #16
    0xaa09_03e0, // mov x0, x9
    0xd280_00e1, // mov x1, #7
    0xf2c0_4061, // movk x1, #0x203, lsl #32
    0xd400_0002, // hvc #0
    0xd2a8_2002, // mov x2, #0x41000000
    0xd280_8003, // mov x3, #1024
    0xf804_0443, // 1: str x3, [x2], #64
    0xf100_0463, // subs x3, x3, #1
    0x54ff_ffc1, // b.ne 1b
    0xd2a8_2002, // mov x2, #0x41000000
    0x9100_e042, // add x2, x2, #56
    0xd280_8003, // mov x3, #1024
    0xa8c4_1444, // 2: ldp x4, x5, [x2], #64
    0xf100_0463, // subs x3, x3, #1
    0x54ff_ffc1, // b.ne 2b
    0xaa09_03e0, // mov x0, x9
    0xd280_00e1, // mov x1, #7
    0xf2c0_6061, // movk x1, #0x303, lsl #32
    0xd400_0002, // hvc #0
    0xd280_0100, // mov x0, #8
    0xf2b0_8000, // movk x0, #0x8400, lsl #16
    0xd400_0002, // hvc #0: PSCI SYSTEM_OFF
];

/// CPU 0 starts CPU 1. Both load 1024 lines in one and the same loop: CPU 0 16
/// times from 0x4100_0000, CPU 1 8 times from 0x4200_0000. CPU 0 then switches
/// the machine off.
const TWO: &[u32] = &[
    0xd280_0060, // mov x0, #3
    0xf2b8_8000, // movk x0, #0xc400, lsl #16
    0xd280_0021, // mov x1, #1
    0x1000_00e2, // adr x2, second
    0xd2a8_4003, // mov x3, #0x42000000
    0xd400_0002, // hvc #0: PSCI CPU_ON
    0xd2a8_2000, // mov x0, #0x41000000
    0xd280_0204, // mov x4, #16
    0xd280_0033, // mov x19, #1
    0x1400_0003, // b work
    0xd280_0104, // second: mov x4, #8
    0xd280_0013, // mov x19, #0
    0xaa00_03e2, // work: mov x2, x0
    0xaa02_03e0, // 3: mov x0, x2
    0xd280_8003, // mov x3, #1024
    0xf844_0405, // 4: ldr x5, [x0], #64
    0xf100_0463, // subs x3, x3, #1
    0x54ff_ffc1, // b.ne 4b
    0xf100_0484, // subs x4, x4, #1
    0x54ff_ff41, // b.ne 3b
    0xb400_0093, // cbz x19, 5f
    0xd280_0100, // mov x0, #8
    0xf2b0_8000, // movk x0, #0x8400, lsl #16
    0xd400_0002, // hvc #0: PSCI SYSTEM_OFF
    0xd503_207f, // 5: wfi
    0x17ff_ffff, // b 5b
];

const ICOUNT: [&str; 2] = ["-icount", "shift=0,sleep=off"];

/// Runs a program on bare CPUs.
fn run(folder: &TempDir, program: &[u32], cpus: u32, qemu: &[&str], options: &str) -> Output {
    let plugin =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("target/release/libbulkhead_cachescope.so");
    assert!(plugin.exists(), "{} is missing: cargo build --release", plugin.display());
    let image = folder.path().join("program.bin");
    let bytes: Vec<u8> = program.iter().flat_map(|word| word.to_le_bytes()).collect();
    fs::write(&image, bytes).unwrap();
    let out = folder.path().join("out");
    Command::new("timeout")
        .args(["60", "qemu-system-aarch64", "-machine", "virt,gic-version=3", "-cpu", "cortex-a53"])
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
    let options = ",vm=one:0x40000000+128MiB,cpu=0:one,l1-hit=0,llc-hit=10cy,memory=50cy,bus=0";
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
    assert_eq!(summary["cpus"][0]["instructions"], 6 + 2 + 3 * 1024 + 3 + 3 * 1024 + 7);
    let jobs = fs::read_to_string(folder.path().join("out/jobs.csv")).unwrap();
    let job: Vec<&str> = jobs.lines().nth(1).unwrap().split(',').collect();
    // From one HVC to the other; 1025 misses of 50 ns and 1024 hits of 10 ns.
    let instructions = 1 + 2 + 3 * 1024 + 3 + 3 * 1024 + 3;
    let stall = 1025 * 50 + 1024 * 10;
    assert_eq!(job[..5], ["one", "0", "3", "7", ""]);
    assert_eq!(job[7], (instructions + stall).to_string());
    assert_eq!(job[8], instructions.to_string());
    assert_eq!(job[9], stall.to_string());
    assert_eq!(job[11..], ["3072", "2049", "1025"]);
    assert_eq!(jobs.lines().count(), 2);
}

#[test]
#[ignore = "needs QEMU and the built plugin"]
fn cpus_that_run_the_same_code_are_told_apart_and_runs_repeat() {
    let options = ",vm=a:0x41000000+16MiB,vm=b:0x42000000+16MiB,cpu=0:a,cpu=1:b";
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
fn the_hypervisor_level_is_told_from_the_guest() {
    // The same program at EL2: `virtualization=on` starts CPUs there.
    let folder = tempfile::tempdir().unwrap();
    let at_el2 = ["-machine", "virt,gic-version=3,virtualization=on"];
    let options = ",vm=one:0x40000000+128MiB,cpu=0:one";
    // HVC at EL2 is not PSCI: the program faults after its stores and loads.
    run(&folder, &stops_by_smc(), 1, &[&ICOUNT[..], &at_el2].concat(), options);
    let summary = summary(&folder);
    assert_eq!(summary["owners"][0]["name"], "hypervisor");
    assert_eq!(summary["owners"][0]["accesses"], 3 * 1024);
    assert_eq!(summary["owners"][2]["accesses"], 0);
}

/// [`PAIRS`] without marks, switching off by SMC, as EL2 has to.
fn stops_by_smc() -> Vec<u32> {
    let smc = 0xd400_0003;
    let mut program: Vec<u32> = PAIRS.iter().copied().filter(|&word| word != 0xd400_0002).collect();
    program.push(smc);
    program
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
