//! Guests that see the model's time.

use crate::{ICOUNT, qemu_without, run, run_in, succeed, summary};

use std::fs;

use tempfile::TempDir;

/// A counter of CPUs that counts ns.
const NS: [&str; 2] = ["-cpu", "cortex-a53,cntfrq=1000000000"];

/// At EL1: starts CPU 1, which stores to lines from 0x4400_0000 on for ever, and measures with its
/// counter, each as the job of a task:
/// 1. 5000 rounds of two instructions;
/// 2. 1000 rounds of three, with a load of a line that comes from memory;
/// 3. how late a timer of 5,000,000 ns wakes it up;
/// 4. how late a timer of 6,553,600 ns interrupts a loop with two such loads, see [`HANDLER`].
const CLOCKS: &[u32] = &[
    0xd280_0060, // mov x0, #0x0003
    0xf2b8_8000, // movk x0, #0xc400, lsl #16
    0xd280_0021, // mov x1, #1
    0x1000_07e2, // adr x2, second
    0xd280_0003, // mov x3, #0
    0xd400_0002, // hvc #0
    0x1000_3f40, // adr x0, vectors
    0xd518_c000, // msr vbar_el1, x0
    0xd2a1_0000, // mov x0, #0x08000000
    0x5280_0241, // mov w1, #0x12
    0xb900_0001, // str w1, [x0]
    0xd2a1_0140, // mov x0, #0x080a0000
    0xb900_141f, // str wzr, [x0, #0x14]
    0x9140_4001, // add x1, x0, #0x10, lsl #12
    0x1280_0002, // mov w2, #-1
    0xb900_8022, // str w2, [x1, #0x80]
    0x52a8_0002, // mov w2, #0x40000000
    0xb901_0022, // str w2, [x1, #0x100]
    0xd280_1fe0, // mov x0, #0xff
    0xd518_4600, // msr s3_0_c4_c6_0, x0
    0xd280_0020, // mov x0, #1
    0xd518_cce0, // msr s3_0_c12_c12_7, x0
    0xd282_7103, // mov x3, #5000
    0xd53b_e035, // mrs x21, cntpct_el0
    0xf100_0463, // 1: subs x3, x3, #1
    0x54ff_ffe1, // b.ne 1b
    0xd53b_e036, // mrs x22, cntpct_el0
    0xd280_0029, // mov x9, #1
    0x9400_001f, // bl tell
    0xd2a8_2002, // mov x2, #0x41000000
    0xd280_7d03, // mov x3, #1000
    0xd53b_e035, // mrs x21, cntpct_el0
    0xf844_0444, // 2: ldr x4, [x2], #64
    0xf100_0463, // subs x3, x3, #1
    0x54ff_ffc1, // b.ne 2b
    0xd53b_e036, // mrs x22, cntpct_el0
    0xd280_0049, // mov x9, #2
    0x9400_0016, // bl tell
    0xd53b_e035, // mrs x21, cntpct_el0
    0xd289_6803, // mov x3, #0x4b40
    0xf2a0_0983, // movk x3, #0x4c, lsl #16
    0x8b03_02b5, // add x21, x21, x3
    0xd51b_e255, // msr cntp_cval_el0, x21
    0xd280_0020, // mov x0, #1
    0xd51b_e220, // msr cntp_ctl_el0, x0
    0xd503_207f, // wfi
    0xd53b_e036, // mrs x22, cntpct_el0
    0xd280_0069, // mov x9, #3
    0x9400_000b, // bl tell
    0xd53b_e035, // mrs x21, cntpct_el0
    0xd2a0_0c83, // mov x3, #0x640000
    0x8b03_02b5, // add x21, x21, x3
    0xd51b_e255, // msr cntp_cval_el0, x21
    0xd503_3fdf, // isb
    0xd503_42ff, // msr daifclr, #2
    0xd2a8_2002, // mov x2, #0x41000000
    0xf844_0443, // 9: ldr x3, [x2], #64
    0xf844_0443, // ldr x3, [x2], #64
    0x17ff_fffe, // b 9b
    0xcb15_02c0, // tell: sub x0, x22, x21
    0xaa09_8000, // orr x0, x0, x9, lsl #32
    0xb257_0000, // orr x0, x0, #0x20000000000
    0xd503_2a1f, // hint #0x50
    0xd258_0000, // eor x0, x0, #0x10000000000
    0xd503_2a1f, // hint #0x50
    0xd65f_03c0, // ret
    0xd2a8_8002, // second: mov x2, #0x44000000
    0xf804_0443, // 5: str x3, [x2], #64: see `STORE`
    0x17ff_ffff, // b 5b
];

/// What CPU 1 does in [`CLOCKS`], and what it may do instead: wfi.
const STORE: u32 = 0xf804_0443;
const SLEEP: u32 = 0xd503_207f;

/// Tells the job of task 4 and switches the machine off.
const HANDLER: &[u32] = &[
    0xd53b_e036, // vectors: mrs x22, cntpct_el0
    0xd280_0089, // mov x9, #4
    0x97ff_fd99, // bl tell
    0xd280_0100, // mov x0, #8
    0xf2b0_8000, // movk x0, #0x8400, lsl #16
    0xd400_0002, // hvc #0
];

/// Where the vectors of [`CLOCKS`] are, and which word of them is the first for
/// interrupts of EL1.
const VECTORS: usize = 0x800 / 4;
const INTERRUPT: usize = 0x280 / 4;

fn clocks(second: u32) -> Vec<u32> {
    let mut program = CLOCKS.to_vec();
    let place = program.iter().rposition(|&word| word == STORE).unwrap();
    program[place] = second;
    program.resize(VECTORS + INTERRUPT, 0);
    program.extend(HANDLER);
    program
}

/// CPU 0 starts CPU 1, which writes its counter to memory again and again, with a
/// load of a line from memory in between. CPU 0 reads that 20,000 times, and then its own counter. It
/// tells, as a job and its task, the largest difference, and how often it was negative.
const AGREE: &[u32] = &[
    0xd280_0060, // mov x0, #0x0003
    0xf2b8_8000, // movk x0, #0xc400, lsl #16
    0xd280_0021, // mov x1, #1
    0x1000_0342, // adr x2, second
    0xd280_0003, // mov x3, #0
    0xd400_0002, // hvc #0
    0xd2a8_0213, // mov x19, #0x40100000
    0xd280_0014, // mov x20, #0
    0xd280_0015, // mov x21, #0
    0xd289_c416, // mov x22, #20000
    0xf940_0261, // 1: ldr x1, [x19]
    0xd503_3fdf, // isb
    0xd53b_e022, // mrs x2, cntpct_el0
    0xeb01_0043, // subs x3, x2, x1
    0x9a95_56b5, // cinc x21, x21, mi
    0xeb14_007f, // cmp x3, x20
    0xfa40_8824, // ccmp x1, #0, #4, hi
    0x9a94_1074, // csel x20, x3, x20, ne
    0xf100_06d6, // subs x22, x22, #1
    0x54ff_fee1, // b.ne 1b
    0xd2c0_4000, // mov x0, #0x20000000000
    0xaa14_0000, // orr x0, x0, x20
    0xaa15_8000, // orr x0, x0, x21, lsl #32
    0xd503_2a1f, // hint #0x50
    0xd258_0000, // eor x0, x0, #0x10000000000
    0xd503_2a1f, // hint #0x50
    0xd280_0100, // mov x0, #8
    0xf2b0_8000, // movk x0, #0x8400, lsl #16
    0xd400_0002, // hvc #0
    0xd2a8_0213, // second: mov x19, #0x40100000
    0xd2a8_2004, // mov x4, #0x41000000
    0xd53b_e020, // 2: mrs x0, cntpct_el0
    0xf900_0260, // str x0, [x19]
    0xf844_0485, // ldr x5, [x4], #64
    0x9269_f884, // bic x4, x4, #0x400000
    0x17ff_fffc, // b 2b
];

/// Tasks and jobs of marks.
fn jobs(folder: &TempDir) -> Vec<(u64, u64)> {
    let jobs = fs::read_to_string(folder.path().join("out/jobs.csv")).unwrap();
    let columns = |row: &str| {
        let number = |column| row.split(',').nth(column).unwrap().parse().unwrap();
        (number(2), number(3))
    };
    jobs.lines().skip(1).map(columns).collect()
}

fn measure(program: &[u32], cpus: u32, options: &str) -> (TempDir, Vec<(u64, u64)>) {
    let folder = tempfile::tempdir().unwrap();
    let options = format!(",time=model,fetch=off,l1-hit=0{options}");
    succeed(&run(&folder, program, cpus, &[&ICOUNT[..], &NS].concat(), &options));
    let jobs = jobs(&folder);
    (folder, jobs)
}

/// How late a timer may be: a quantum, and two blocks of instructions with two loads each, in ns.
const fn late(miss: u64) -> u64 {
    500 + 2 * (2 * miss + 12)
}

#[test]
#[ignore = "needs QEMU and the built plugin"]
fn a_cpu_alone_reads_its_time_to_the_ns() {
    for (options, mhz, misses) in [
        ("", 1000, 100),
        (",mhz=4000,quantum=2000", 4000, 100),
        (",mhz=250,quantum=125", 250, 100),
        (",bus=200ns", 1000, 200),
    ] {
        let (folder, seen) = measure(&clocks(STORE), 1, options);
        let time = |instructions: u64| instructions * 1000 / mhz;
        let near = |seen: u64, expected: u64| seen.abs_diff(expected) <= 5;
        assert_eq!(seen.iter().map(|it| it.0).collect::<Vec<_>>(), [1, 2, 3, 4]);
        assert!(near(seen[0].1, time(10_001)), "{options}: {seen:?}");
        // While the bus is slower than memory, a line takes as long as the bus.
        let stall = if misses > 100 { 1000 * misses } else { time(3001) + 1000 * misses };
        assert!(seen[1].1.abs_diff(stall) <= 205, "{options}: {seen:?}");
        assert!(seen[2].1 <= time(4), "{options}: {seen:?}");
        assert!(seen[3].1 <= late(misses), "{options}: {seen:?}");
        let summary = summary(&folder);
        assert_eq!(summary["model"]["time"], "model");
        // Until it first looks at its counter: 24 instructions.
        let origin = summary["guest_origin_ns"].as_i64().unwrap();
        assert_eq!(origin, 24 - time(24) as i64, "{options}");
        // The CPU slept for one timer and worked until the other.
        let end = summary["cpus"][0]["time_ns"].as_u64().unwrap();
        let began = seen[0].1 + seen[1].1 + 5_000_000 + 6_553_600;
        assert!((began..began + 1000 + late(misses)).contains(&end), "{options}: {end}");
    }
}

#[test]
#[ignore = "needs QEMU and the built plugin"]
fn beside_another_cpu_time_is_right_within_a_quantum() {
    for (second, misses) in [(SLEEP, 100), (STORE, 400)] {
        let options = if second == SLEEP { "" } else { ",bus=200ns,llc=8MiB:16" };
        let runs = [(); 2].map(|()| measure(&clocks(second), 2, options));
        let seen = &runs[0].1;
        assert_eq!(seen, &runs[1].1, "runs repeat");
        if second == SLEEP {
            // Nobody runs on while CPU 0 switches the machine off.
            for name in ["summary.json", "timeseries.csv"] {
                let text =
                    |run: &(TempDir, _)| fs::read(run.0.path().join("out").join(name)).unwrap();
                assert_eq!(text(&runs[0]), text(&runs[1]), "{name}");
            }
        }
        assert!(seen[0].1.abs_diff(10_001) <= late(misses), "{seen:?}");
        // Two CPUs share a bus that moves a line in 200 ns.
        let expected = if misses == 100 { 3001 + 100_000 } else { misses * 1000 };
        assert!(seen[1].1.abs_diff(expected) <= expected / 50, "{seen:?}");
        assert!(seen[2].1 <= late(misses) && seen[3].1 <= late(misses), "{seen:?}");
    }
}

#[test]
#[ignore = "needs QEMU and the built plugin"]
fn a_counter_is_never_behind_what_another_cpu_has_read() {
    for (options, late) in [("", 2 * late(100)), (",quantum=5000", 2 * (4500 + late(100)))] {
        let (_, seen) = measure(AGREE, 2, options);
        let [(negative, largest)] = seen[..] else { panic!("{seen:?}") };
        assert!(negative == 0 && largest > 0 && largest <= late, "{options}: {seen:?}");
    }
}

#[test]
#[ignore = "needs QEMU and the built plugin"]
fn the_time_of_the_model_needs_instruction_counting_and_what_qemu_exports() {
    let folder = tempfile::tempdir().unwrap();
    for (qemu, symbol, arguments, options, expected) in [
        ("", "", &["-accel", "tcg,thread=single"][..], "", "add -icount shift=0,sleep=off"),
        ("", "", &ICOUNT, ",quantum=0", "time=model with quantum=0: expected a quantum above 0"),
        ("copy", "icount_get_raw", &ICOUNT, "", "this QEMU does not export \"icount_get_raw\""),
        ("copy", "cpus_get_accel", &ICOUNT, "", "this QEMU does not export \"cpus_get_accel\""),
    ] {
        let qemu = match qemu {
            "" => "qemu-system-aarch64".into(),
            _ => qemu_without(&folder, symbol),
        };
        let options = format!(",time=model{options}");
        let output = run_in(&qemu, &folder, &clocks(STORE), 1, arguments, &options);
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && message.contains(expected), "{symbol}: {message}");
    }
}
