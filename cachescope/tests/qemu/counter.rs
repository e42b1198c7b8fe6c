//! The counter of memory traffic that a hypervisor has in its memory.

use crate::programs::PAIRS;
use crate::{AT_EL2, ICOUNT, qemu_without, run, run_in, succeed, summary};

use std::fs;
use std::process::Output;

use tempfile::TempDir;

/// First threshold of [`COUNTED`], and what it adds to a count for the next.
const FIRST: u64 = 1000;
const MORE: u64 = 5 << 12;

/// At EL2: starts CPU 1, which stores to lines from 0x4400_0000 on for ever. Asks for a counter at
/// 0x4010_0000 with interrupt 22, switches the machine off if nobody counts, and then goes
/// over lines from 0x4100_0000 on, four in a block of instructions, three of which it loads and
/// one it stores. The interrupt ([`HANDLER`]) comes above 1000.
const COUNTED: &[u32] = &[
    0xd280_0060, // mov x0, #0x0003
    0xf2b8_8000, // movk x0, #0xc400, lsl #16
    0xd280_0021, // mov x1, #1
    0x1000_0662, // adr x2, second
    0xd280_0003, // mov x3, #0
    0xd400_0003, // smc #0
    0x1000_3f40, // adr x0, vectors
    0xd51c_c000, // msr vbar_el2, x0
    0xd2a8_0213, // mov x19, #0x40100000
    0xd280_0014, // mov x20, #0
    0x9280_0000, // mov x0, #-1
    0xf900_0a60, // str x0, [x19, #16]
    0xd2a1_0000, // mov x0, #0x08000000
    0x5280_0241, // mov w1, #0x12
    0xb900_0001, // str w1, [x0]
    0xd2a1_0140, // mov x0, #0x080a0000
    0xb900_141f, // str wzr, [x0, #0x14]
    0x9140_4001, // add x1, x0, #0x10, lsl #12
    0x1280_0002, // mov w2, #-1
    0xb900_8022, // str w2, [x1, #0x80]
    0x5284_0002, // mov w2, #0x2000: the interrupt waits for an edge, see `SENSE`
    0xb90c_0422, // str w2, [x1, #0xc04]
    0x52a0_0802, // mov w2, #0x400000
    0xb901_0022, // str w2, [x1, #0x100]
    0xd280_01e0, // mov x0, #0xf
    0xd51c_c9a0, // msr s3_4_c12_c9_5, x0
    0xd503_3fdf, // isb
    0xd280_1fe0, // mov x0, #0xff
    0xd518_4600, // msr s3_0_c4_c6_0, x0
    0xd280_0020, // mov x0, #1
    0xd518_cce0, // msr s3_0_c12_c12_7, x0
    0xd280_0200, // mov x0, #0x10
    0xf2b0_0000, // movk x0, #0x8000, lsl #16
    0xd51c_1100, // msr hcr_el2, x0
    0xd503_42ff, // msr daifclr, #2
    0xaa13_03e0, // mov x0, x19
    0xd280_02c1, // mov x1, #22
    0xd503_2a3f, // hint #0x51
    0xd280_0000, // mov x0, #0
    0xf940_0261, // ldr x1, [x19]
    0xd28a_a842, // mov x2, #0x5542
    0xf2a9_6982, // movk x2, #0x4b4c, lsl #16
    0xf2c9_e862, // movk x2, #0x4f43, lsl #32
    0xf2e9_caa2, // movk x2, #0x4e55, lsl #48
    0xeb02_003f, // cmp x1, x2
    0x5400_0181, // b.ne off
    0xd280_7d00, // mov x0, #1000
    0xf900_0a60, // str x0, [x19, #16]
    0xd2a8_2002, // mov x2, #0x41000000
    0xf844_0443, // 9: ldr x3, [x2], #64
    0xf844_0443, // ldr x3, [x2], #64
    0xf844_0443, // ldr x3, [x2], #64
    0xf804_0443, // str x3, [x2], #64
    0x17ff_fffc, // b 9b
    0xd2a8_8002, // second: mov x2, #0x44000000
    0xf804_0443, // 2: str x3, [x2], #64
    0x17ff_ffff, // b 2b
    0xd280_0100, // off: mov x0, #8
    0xf2b0_8000, // movk x0, #0x8400, lsl #16
    0xd400_0003, // smc #0
];

/// The word of [`COUNTED`] that says what the interrupt waits for, and the one for a level.
const SENSE: u32 = 0x5284_0002;
const LEVEL: u32 = 0x5280_0002; // mov w2, #0

/// Sets the marks of a job with the number of the interrupt as task and the count as job.
/// The next threshold is 20480 above the count; the fifth time it switches the machine off.
const HANDLER: &[u32] = &[
    0xd538_cc05, // vectors: mrs x5, s3_0_c12_c12_0
    0xf940_0664, // ldr x4, [x19, #8]
    0xaa05_8080, // orr x0, x4, x5, lsl #32
    0xb257_0000, // orr x0, x0, #0x20000000000
    0xd503_2a1f, // hint #0x50
    0xd258_0000, // eor x0, x0, #0x10000000000
    0xd503_2a1f, // hint #0x50
    0x9140_1484, // add x4, x4, #5, lsl #12
    0xf900_0a64, // str x4, [x19, #16]
    0xd518_cc25, // msr s3_0_c12_c12_1, x5
    0x9100_0694, // add x20, x20, #1
    0xf100_169f, // cmp x20, #5
    0x54ff_b1a0, // b.eq off
    0xd69f_03e0, // eret
];

/// Where the vectors of [`COUNTED`] are, and which word of them is the first for
/// interrupts of EL2.
const VECTORS: usize = 0x800 / 4;
const INTERRUPT: usize = 0x280 / 4;

fn counted(by_edge: bool) -> Vec<u32> {
    let mut program = COUNTED.to_vec();
    for word in program.iter_mut().filter(|word| **word == SENSE && !by_edge) {
        *word = LEVEL;
    }
    program.resize(VECTORS + INTERRUPT, 0);
    program.extend(HANDLER);
    program
}

/// Rows of interrupts: number and count.
fn interrupts(folder: &TempDir) -> Vec<(u64, u64)> {
    let jobs = fs::read_to_string(folder.path().join("out/jobs.csv")).unwrap();
    let columns = |row: &str| {
        let number = |column| row.split(',').nth(column).unwrap().parse().unwrap();
        (number(2), number(3))
    };
    jobs.lines().skip(1).map(columns).collect()
}

#[test]
#[ignore = "needs QEMU and the built plugin"]
fn an_interrupt_comes_once_in_the_block_in_which_a_count_goes_over_its_threshold() {
    for cpus in [1, 2] {
        let seen = [true, false, false].map(|by_edge| {
            let folder = tempfile::tempdir().unwrap();
            let qemu = [&ICOUNT[..], &AT_EL2].concat();
            succeed(&run(&folder, &counted(by_edge), cpus, &qemu, ",start=boot,fetch=off"));
            let (summary, seen) = (summary(&folder), interrupts(&folder));
            let totals = &summary["totals"];
            let bytes = [&totals["memory_read_bytes"], &totals["memory_written_bytes"]]
                .map(|bytes| bytes.as_u64().unwrap());
            let lines = summary["cpus"].as_array().unwrap().iter();
            let lines: u64 = lines.map(|cpu| cpu["memory_lines"].as_u64().unwrap()).sum();
            assert_eq!(lines * 64, bytes.iter().sum::<u64>());
            // The handler accesses nothing but the counter, which is not modelled.
            assert_eq!(summary["cpus"][0]["memory_lines"], seen.last().unwrap().1);
            seen
        });
        assert_eq!((seen[0].len(), &seen[0], &seen[1]), (5, &seen[1], &seen[2]));
        let mut threshold = FIRST;
        for &(interrupt, count) in &seen[0] {
            assert_eq!(interrupt, 22);
            // Each of four accesses to memory in a block may write a line back.
            assert!((threshold + 1..=threshold + 8).contains(&count), "{count} of {threshold}");
            threshold = count + MORE;
        }
    }
}

/// `mov x0, #ADDRESS << 16; movk x0, #LOW; mov x1, #INTERRUPT; hint #0x51`, and [`PAIRS`].
fn asks(address: u32, interrupt: u32) -> Vec<u32> {
    let mut program = vec![
        0xd2a0_0000 | address >> 16 << 5,
        0xf280_0000 | (address & 0xffff) << 5,
        0xd280_0001 | interrupt << 5,
        0xd503_2a3f,
    ];
    program.extend(PAIRS);
    program
}

fn message(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
#[ignore = "needs QEMU and the built plugin"]
fn a_counter_that_cannot_be_is_refused() {
    for (address, interrupt, expected) in [
        (0x4010_0020, 22, "x0=0x40100020: expected a multiple of 64"),
        (0x0900_0000, 22, "x0=0x9000000: expected RAM"),
        (0x0000_0040, 22, "x0=0x40: expected RAM"),
        (0x4010_0000, 8, "x1=8: expected a private peripheral interrupt, 16 to 31"),
        (0x4010_0000, 32, "x1=32: expected a private peripheral interrupt, 16 to 31"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let output = run(&folder, &asks(address, interrupt), 1, &ICOUNT, "");
        let message = message(&output);
        assert!(!output.status.success() && message.contains(expected), "{message}");
        assert!(
            message.contains("cachescope: hint #0x51 of CPU 0 asks for a counter"),
            "{message}"
        );
    }
}

#[test]
#[ignore = "needs QEMU and the built plugin"]
fn a_qemu_without_interrupts_for_plugins_is_refused_only_if_a_counter_is_asked_for() {
    for symbol in ["qemu_set_irq", "async_run_on_cpu", "cpu_physical_memory_map"] {
        let folder = tempfile::tempdir().unwrap();
        let qemu = qemu_without(&folder, symbol);
        succeed(&run_in(&qemu, &folder, PAIRS, 1, &ICOUNT, ""));
        let output = run_in(&qemu, &folder, &asks(0x4010_0000, 22), 1, &ICOUNT, "");
        let expected = format!("this QEMU does not export \"{symbol}\"");
        let message = message(&output);
        assert!(!output.status.success() && message.contains(&expected), "{message}");
    }
}
