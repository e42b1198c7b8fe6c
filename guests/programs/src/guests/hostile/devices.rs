//! Accesses to devices that no driver makes.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use core::time::Duration;

use super::Outcome;
use programs::arch::probe::{self, Form, Through};
use rt::arch::mmio::{GICD, GICR, GICR_BYTES, UART};
use rt::arch::{Fault, cpu};
use rt::random::Random;
use rt::{arguments, gic, interrupts, println, wait};

fn places() -> [(&'static str, u64); 3] {
    [("gicd", GICD.base()), ("gicr", GICR.base()), ("uart", UART.base())]
}

#[derive(Default)]
struct Tally {
    faults: u32,
    of: u32,
}

impl Tally {
    fn add<T>(&mut self, outcome: Result<T, Fault>) -> Result<T, Fault> {
        self.of += 1;
        self.faults += u32::from(outcome.is_err());
        outcome
    }
}

fn read_and_write(tally: &mut Tally, place: &str, address: u64, bytes: usize, through: Through) {
    let read = tally.add(probe::read(address, bytes, through));
    let write = tally.add(probe::write(address, bytes, 0, through).map(|()| 0));
    for (action, result) in [("read", read), ("write", write)] {
        println!(
            "hostile: {place} {action} address={address:#x} bytes={bytes} memory={through:?} {}",
            Outcome(result)
        );
    }
}

/// Addresses that are no multiple of the size, as device memory and as normal memory.
pub fn mmio_unaligned(case: &str) {
    let mut tally = Tally::default();
    for (place, base) in places() {
        for through in [Through::Device, Through::Normal] {
            for (offset, bytes) in [(0x101, 4), (0x102, 4), (0x103, 2), (0x104, 8)] {
                read_and_write(&mut tally, place, base + offset, bytes, through);
            }
        }
    }
    println!("hostile: {case} survived faults={} of={}", tally.faults, tally.of);
}

/// Sizes that the registers do not have.
pub fn mmio_odd_size(case: &str) {
    let mut tally = Tally::default();
    for (place, base) in places() {
        for bytes in [1, 2, 8] {
            read_and_write(&mut tally, place, base + 0x100, bytes, Through::Device);
        }
    }
    println!("hostile: {case} survived faults={} of={}", tally.faults, tally.of);
}

/// Instructions whose aborts a hypervisor cannot emulate from the syndrome; `form=<n>` chooses one of
/// them, as the first may be the last.
pub fn mmio_no_syndrome(case: &str) {
    let mut tally = Tally::default();
    let all = Form::ALL.len() as u64;
    let chosen = arguments::number("form", all);
    for (number, form) in (0..).zip(Form::ALL) {
        if chosen != number && chosen < all {
            continue;
        }
        for (place, base) in places() {
            println!("hostile: {place} tries form={form:?}");
            let outcome = tally.add(probe::access(base + 0x100, form, Through::Device).map(|()| 0));
            println!("hostile: {place} did form={form:?} {}", Outcome(outcome));
        }
    }
    println!("hostile: {case} survived faults={} of={}", tally.faults, tally.of);
}

static TAKEN: AtomicU64 = AtomicU64::new(0);

/// Random registers of the interrupt controller, random values; then it must still work.
pub fn gic_nonsense(case: &str) {
    const SGI: u32 = 2;
    let count = arguments::number("count", 2000);
    let mut random = Random::new(arguments::number("seed", 1));
    let mut tally = Tally::default();
    cpu::without_interrupts(|| {
        for _ in 0..count {
            let (base, bytes) = match random.below(2) {
                0 => (GICD.base(), GICD.bytes()),
                _ => (GICR.base(), GICR_BYTES),
            };
            let address = base + random.below(bytes as u64 / 4) * 4;
            let value = random.number();
            let _ = tally.add(probe::read(address, 4, Through::Device));
            let _ = tally.add(probe::write(address, 4, value, Through::Device));
        }
        // Back to a known state: nothing enabled, pending or active but what is used next.
        for offset in (0x180..0x200).chain(0x280..0x300).chain(0x380..0x400).step_by(4) {
            GICD.write32(offset, !0);
            if offset % 0x80 == 0 {
                GICR.write32(0x1_0000 + offset, !0);
            }
        }
        interrupts::enable();
        interrupts::set_handler(SGI, |_, _| {
            TAKEN.fetch_add(1, Relaxed);
        });
        gic::enable(SGI);
        gic::send_sgi(SGI, cpu::affinity());
    });
    wait::pause(Duration::from_millis(1));
    println!(
        "hostile: {case} survived accesses={} faults={} sgi_after={}",
        tally.of,
        tally.faults,
        TAKEN.load(Relaxed)
    );
}
