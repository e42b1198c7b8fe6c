//! Programs for bare CPUs, of which every count is known.

/// Stores to 1024 lines from 0x4100_0000, then loads pairs that begin 8 bytes
/// before the end of each, between the marks "start" and "finish" of task 3,
/// job 7; then switches the machine off.
pub const PAIRS: &[u32] = &[
    0xd280_00e0, // mov x0, #7
    0xf2c0_4060, // movk x0, #0x203, lsl #32
    0xd503_2a1f, // hint #0x50
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
    0xd280_00e0, // mov x0, #7
    0xf2c0_6060, // movk x0, #0x303, lsl #32
    0xd503_2a1f, // hint #0x50
    0xd280_0100, // mov x0, #8
    0xf2b0_8000, // movk x0, #0x8400, lsl #16
    0xd400_0002, // hvc #0: PSCI SYSTEM_OFF
];

/// Task 2 starts a job in one address space, task 3 another one in a second space. 202
/// instructions of that job are in the space of task 2.
pub const SPACES: &[u32] = &[
    0xd284_0001, // mov x1, #0x2000
    0xd518_2001, // msr ttbr0_el1, x1
    0xd280_00e0, // mov x0, #7
    0xf2c0_4040, // movk x0, #0x202, lsl #32
    0xd503_2a1f, // hint #0x50
    0xd282_0002, // mov x2, #0x1000
    0xd518_2002, // msr ttbr0_el1, x2
    0xf2c0_4060, // movk x0, #0x203, lsl #32
    0xd503_2a1f, // hint #0x50
    0xd518_2001, // msr ttbr0_el1, x1
    0xd280_0c83, // mov x3, #100
    0xf100_0463, // 1: subs x3, x3, #1
    0x54ff_ffe1, // b.ne 1b
    0xd518_2002, // msr ttbr0_el1, x2
    0xf2c0_6060, // movk x0, #0x303, lsl #32
    0xd503_2a1f, // hint #0x50
    0xd280_0100, // mov x0, #8
    0xf2b0_8000, // movk x0, #0x8400, lsl #16
    0xd400_0002, // hvc #0
];

/// CPU 0 starts CPU 1. Both load 1024 lines in one and the same loop: CPU 0 16
/// times from 0x4100_0000, CPU 1 8 times from 0x4200_0000. CPU 0 then switches
/// the machine off.
pub const TWO: &[u32] = &[
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

/// EL2 stores to 64 lines from 0x4100_0000, sets the mark "start" and enters
/// EL1. That sets the same mark itself, which means nothing, has EL2 set it,
/// loads 64 lines from 0x4200_0000, has EL2 set the mark "finish" of task 3,
/// job 7, and switches the machine off. See [`guest`].
const GUEST: &[u32] = &[
    0xd2a8_2002, // mov x2,#0x41000000
    0xd280_0803, // mov x3,#64
    0xf804_0443, // 1: str x3,[x2],#64
    0xf100_0463, // subs x3,x3,#1
    0x54ff_ffc1, // b.ne 1b
    0xd280_00e0, // mov x0,#7
    0xf2c0_4060, // movk x0,#0x203,lsl #32
    0xd503_2a1f, // hint #0x50
    0x1000_3f00, // adr x0, vectors
    0xd51c_c000, // msr vbar_el2,x0
    0xd2b0_0000, // mov x0,#0x80000000
    0xd51c_1100, // msr hcr_el2,x0
    0xd280_78a0, // mov x0,#0x3c5
    0xd51c_4000, // msr spsr_el2,x0
    0x1000_0060, // adr x0, guest
    0xd51c_4020, // msr elr_el2,x0
    0xd69f_03e0, // eret
    0xd280_00e0, // guest: mov x0,#7
    0xf2c0_4060, // movk x0,#0x203,lsl #32
    0xd503_2a1f, // hint #0x50
    0xd400_0002, // hvc #0
    0xd2a8_4002, // mov x2,#0x42000000
    0xd280_0803, // mov x3,#64
    0xf844_0444, // 2: ldr x4,[x2],#64
    0xf100_0463, // subs x3,x3,#1
    0x54ff_ffc1, // b.ne 2b
    0xf2c0_6060, // movk x0,#0x303,lsl #32
    0xd400_0002, // hvc #0
    0xd280_0100, // mov x0,#8
    0xf2b0_8000, // movk x0,#0x8400,lsl #16
    0xd400_0003, // smc #0
];

/// Where the vectors of [`GUEST`] are, and which word of them is the first for
/// exceptions from EL1.
const VECTORS: usize = 0x800 / 4;
const FROM_EL1: usize = 0x400 / 4;

/// [`GUEST`] with vectors that pass a mark in x0 on.
pub fn guest() -> Vec<u32> {
    let mut program = GUEST.to_vec();
    program.resize(VECTORS + FROM_EL1, 0);
    program.extend([
        0xd503_2a1f, // hint #0x50
        0xd69f_03e0, // eret
    ]);
    program
}

/// At EL2 switches the machine off, at once.
pub const OFF: &[u32] = &[
    0xd280_0100, // mov x0, #8
    0xf2b0_8000, // movk x0, #0x8400, lsl #16
    0xd400_0003, // smc #0: PSCI SYSTEM_OFF
];

/// Turns the MMU on with the table of [`lines()`], zeroes 512 lines from 0x8100_0000
/// by DC ZVA, removes the first 256 of them by DC CIVAC, cleans the next 128 by DC
/// CVAC, loads all, and switches the machine off.
pub const LINES: &[u32] = &[
    0xd280_1fe0, // mov x0,#0xff
    0xd518_a200, // msr mair_el1,x0
    0xd286_a320, // mov x0,#0x3519
    0xf2a0_1000, // movk x0,#0x80,lsl #16
    0xf2c0_0040, // movk x0,#2,lsl #32
    0xd518_2040, // msr tcr_el1,x0
    0x1000_7f40, // adr x0, table
    0xd518_2000, // msr ttbr0_el1,x0
    0xd503_3fdf, // isb
    0xd538_1000, // mrs x0,sctlr_el1
    0xd282_00a1, // mov x1,#0x1005
    0xaa01_0000, // orr x0,x0,x1
    0xd518_1000, // msr sctlr_el1,x0
    0xd503_3fdf, // isb
    0xd2b0_2002, // mov x2,#0x81000000
    0xd280_4003, // mov x3,#512
    0xd50b_7422, // 1: dc zva,x2
    0x9101_0042, // add x2,x2,#64
    0xf100_0463, // subs x3,x3,#1
    0x54ff_ffa1, // b.ne 1b
    0xd2b0_2002, // mov x2,#0x81000000
    0xd280_2003, // mov x3,#256
    0xd50b_7e22, // 2: dc civac,x2
    0x9101_0042, // add x2,x2,#64
    0xf100_0463, // subs x3,x3,#1
    0x54ff_ffa1, // b.ne 2b
    0xd280_1003, // mov x3,#128
    0xd50b_7a22, // 3: dc cvac,x2
    0x9101_0042, // add x2,x2,#64
    0xf100_0463, // subs x3,x3,#1
    0x54ff_ffa1, // b.ne 3b
    0xd2b0_2002, // mov x2,#0x81000000
    0xd280_4003, // mov x3,#512
    0xf844_0444, // 4: ldr x4,[x2],#64
    0xf100_0463, // subs x3,x3,#1
    0x54ff_ffc1, // b.ne 4b
    0xd280_0100, // mov x0,#8
    0xf2b0_8000, // movk x0,#0x8400,lsl #16
    0xd400_0002, // hvc #0
];

/// [`LINES`] with its translation table, which has RAM from 0x4000_0000 twice:
/// there, and from 0x8000_0000.
pub fn lines() -> Vec<u32> {
    const TABLE: usize = 0x1000 / 4;
    let ram = [0x4000_0705, 0];
    let mut program = LINES.to_vec();
    program.resize(TABLE, 0);
    program.extend([0, 0].iter().chain(&ram).chain(&ram));
    program
}
