//! The serial port on which closed guests ask: the hypervisor has to find out who it was.

use core::time::Duration;

use super::bench::{BASE, Bench, PAGE, intact};
use crate::arch::mmio::Registers;
use crate::arch::ram;
use crate::arch::tables::{Granule, Tables, Use};
use crate::arch::user::{self, Routine};
use crate::checks::Checks;
use crate::{arguments, println, wait};

/// Data and flag register of a PL011; receive FIFO empty.
const DR: usize = 0x00;
const FR: usize = 0x18;
const RXFE: u32 = 1 << 4;

/// The hypervisor looks for 10 ms who waits.
const LONG_ENOUGH: Duration = Duration::from_millis(12);
/// How often a task looks for the answer: for far more than 10 ms.
const LOOKS: u64 = 1_000_000;

const LINE_MAX: usize = 32;

struct Port(Registers);

impl Port {
    fn write(&self, text: &str) {
        text.bytes().for_each(|byte| self.0.write8(DR, byte));
    }

    /// What the hypervisor has said.
    fn read<'l>(&self, line: &'l mut [u8; LINE_MAX]) -> &'l str {
        let mut length = 0;
        while self.0.read32(FR) & RXFE == 0 && length < LINE_MAX {
            line[length] = self.0.read32(DR) as u8;
            length += 1;
        }
        core::str::from_utf8(&line[..length]).unwrap_or("?")
    }
}

/// A task that asks and busy-waits at EL0 gets its colours; without one, nobody does.
pub fn serial(bench: &mut Bench, checks: &mut Checks) -> Option<()> {
    const CODE: u64 = BASE;
    const PORT: u64 = BASE + PAGE;
    const DATA: u64 = BASE + 2 * PAGE;
    const PAGES: u64 = 8;

    let address = arguments::number("serial", 0);
    let Some(port) = Registers::page(address).filter(|_| address != 0).map(Port) else {
        println!("color: serial skipped, no port is named");
        return Some(());
    };
    let tables = Tables::new(&mut bench.arena, Granule::Kib4)?;
    let code = bench.arena.allocate(PAGE, PAGE)?;
    let memory = bench.memory(PAGES, PAGE)?;
    user::copy_code(code);
    tables.map(&mut bench.arena, CODE, ram::address(code), 3, Use::UserCode)?;
    tables.map(&mut bench.arena, PORT, address, 3, Use::Device)?;
    for page in 0..PAGES {
        let frame = ram::address(memory) + page * PAGE;
        tables.map(&mut bench.arena, DATA + page * PAGE, frame, 3, Use::User)?;
    }
    let mut line = [0; LINE_MAX];
    let wait_at_el0 = || {
        let arguments = [PORT + FR as u64, RXFE.into(), LOOKS, 0];
        user::run(&tables, CODE, Routine::WaitForZero, arguments).map(|left| left > 0)
    };
    let color = bench.color(0);
    let ask = |port: &Port| {
        println!("color: serial asks for {color}");
        port.write("colors ");
        for digit in [color / 10, color % 10] {
            port.0.write8(DR, b'0' + digit as u8);
        }
        port.write("\n");
    };

    ask(&port);
    checks.equal("serial-answer", wait_at_el0(), Ok(true));
    checks.equal("serial-pages", port.read(&mut line), "ok 9\n");
    let moved = bench.colors_of(memory).all(|found| found == color as i64);
    checks.equal("serial-colors", moved, true);
    checks.equal("serial-code-moved", bench.colors_of(code).next(), Some(color as i64));

    ask(&port);
    port.write("colors none\n");
    checks.equal("serial-busy", port.read(&mut line), "error busy\n");
    wait::pause(LONG_ENOUGH);
    checks.equal("serial-at-el1", port.read(&mut line), "");

    port.write("colours 1\n\n");
    checks.equal("serial-syntax", port.read(&mut line), "error syntax\n");
    port.write("colors 63\n");
    checks.equal("serial-invalid", wait_at_el0(), Ok(true));
    checks.equal("serial-invalid", port.read(&mut line), "error invalid\n");

    port.write("colors none\n");
    checks.equal("serial-free", wait_at_el0(), Ok(true));
    checks.equal("serial-free", port.read(&mut line), "ok 9\n");
    checks.equal("serial-home", bench.at_home(memory) && bench.at_home(code), true);
    checks.equal("serial-contents", intact(memory), true);
    Some(())
}
