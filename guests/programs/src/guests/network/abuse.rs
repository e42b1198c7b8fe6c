//! Abuse of a network card that no driver commits: random descriptors, circles, indices that jump, rings and buffers where
//! nothing is, registers written at any time, and resets at every step.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use rt::arch::mmio::Registers;
use rt::arch::ram::{self, Arena};
use rt::arch::{counter, cpu, secondary};
use rt::network::{Card, RING};
use rt::random::Random;

/// Bytes that rings and buffers may be told to be in, beside all other places.
const SPARE: u64 = 64 << 10;

/// Registers that a driver writes.
const REGISTERS: [usize; 14] =
    [0x14, 0x20, 0x24, 0x30, 0x38, 0x44, 0x50, 0x64, 0x70, 0x80, 0x84, 0x90, 0xa0, 0xa4];

/// The time until which the second processor goes on, true as long as it does, and the number of things that it has done.
static END: AtomicU64 = AtomicU64::new(0);
static GOES_ON: AtomicBool = AtomicBool::new(false);
static BESIDE: AtomicU64 = AtomicU64::new(0);

/// Does such things on two processors at the same time. Returns the number of such things, on each.
pub fn run_on_two(card: &mut Card, memory: &mut Arena, seed: u64, end: u64) -> (u64, u64) {
    END.store(end, Relaxed);
    GOES_ON.store(true, Relaxed);
    let is_on = secondary::start(1, beside, card.page().base()) == 0;
    let steps = run(card, memory, seed, end);
    while is_on && GOES_ON.load(Relaxed) {
        cpu::relax();
    }
    card.page().write32(0x70, 0);
    (steps, BESIDE.load(Relaxed))
}

/// Sends, resets and starts the card whose registers are there, while the first processor does with it what it likes.
fn beside(page: u64) {
    let mut random = Random::new(page);
    let page = Registers::page(page);
    while let (Some(page), true) = (page, counter::now() < END.load(Relaxed)) {
        match random.below(8) {
            0 => page.write32(0x70, 0),
            1 => page.write32(0x70, 15),
            2 => {
                page.read32(0x60);
            }
            _ => page.write32(0x50, 1),
        }
        BESIDE.fetch_add(1, Relaxed);
    }
    GOES_ON.store(false, Relaxed);
}

/// Does such things until this time. Returns the number of such things.
pub fn run(card: &mut Card, memory: &mut Arena, seed: u64, end: u64) -> u64 {
    let mut random = Random::new(seed);
    let spare = memory.allocate(SPARE, 4096).map_or(0, ram::address);
    let (mut steps, page) = (0, card.page());
    while counter::now() < end {
        steps += 1;
        let ring = random.below(2) as usize;
        match random.below(16) {
            0 => {
                card.start();
            }
            1 => page.write32(0x70, 0),
            2 => {
                // Started, but with a ring somewhere else.
                page.write32(0x70, 0);
                [1, 3].into_iter().for_each(|status| page.write32(0x70, status));
                for (half, features) in [(0, 1 << 5), (1, 1)] {
                    page.write32(0x24, half);
                    page.write32(0x20, features);
                }
                page.write32(0x70, 11);
                for queue in 0..2 {
                    page.write32(0x30, queue);
                    page.write32(0x38, 1 << random.below(8));
                    for register in [0x80, 0x90, 0xa0] {
                        let at = place(&mut random, spare);
                        page.write32(register, at as u32);
                        page.write32(register + 4, (at >> 32) as u32);
                    }
                    page.write32(0x44, 1);
                }
                page.write32(0x70, 15);
            }
            3 => {
                let register = REGISTERS[random.below(REGISTERS.len() as u64) as usize];
                page.write32(register, random.number() as u32);
            }
            4 => {
                let register = random.below(0x400) as usize * 4;
                page.write32(register, random.below(4) as u32);
                page.read32(register);
            }
            5 | 6 => {
                // A circle of descriptors.
                let many = 1 + random.below(5) as u16;
                for number in 0..many {
                    let at = place(&mut random, spare);
                    let flags = if ring == 0 { 3 } else { 1 };
                    card.rings()[ring].describe(number, at, 100, flags, (number + 1) % many);
                }
            }
            7..10 => {
                let number = random.below(RING.into()) as u16;
                let at = place(&mut random, spare);
                let bytes = [16, 26, 100, 1500, 0, u32::MAX][random.below(6) as usize];
                let (flags, next) = (random.below(8) as u16, random.below(40) as u16);
                card.rings()[ring].describe(number, at, bytes, flags, next);
            }
            10 => {
                let (index, first) = (random.below(40) as u16, random.below(40) as u16);
                card.rings()[ring].make_available(index, first);
            }
            11 => {
                let index = [random.below(64), random.number()][random.below(2) as usize];
                card.rings()[ring].set_index(index as u16);
            }
            12 => {
                card.send(random.number(), random.below(1_600) as usize);
            }
            _ => card.notify(),
        }
    }
    page.write32(0x70, 0);
    steps
}

/// An address: mostly of RAM that nothing else uses, sometimes of none, of devices, or of what is at the edges.
fn place(random: &mut Random, spare: u64) -> u64 {
    let edges = [0, 0x0a04_0000, 0x0800_0000, 0x4000_0000 - 8, spare + SPARE - 20, u64::MAX - 7];
    match random.below(8) {
        0 => edges[random.below(edges.len() as u64) as usize],
        1 => 0x4000_0000 + (random.below(1 << 34) & !0xf) + (1 << 28),
        _ => spare + (random.below(SPARE) & !0xf),
    }
}
