//! The serial port on which closed guests ask: the hypervisor has to find out which task asked.

use core::time::Duration;

use abi::hypercall::VmInfo;

use super::bench::{BASE, Bench, PAGE, intact};
use super::second::while_repeating;
use programs::checks::Checks;
use rt::arch::Fault;
use rt::arch::mmio::Registers;
use rt::arch::ram::{self, Words};
use rt::arch::tables::{Granule, Tables, Use};
use rt::arch::user::{self, Routine};
use rt::{arguments, hypercall, println, psci, wait};

/// Data and flag register of a PL011; receive FIFO empty.
const DR: usize = 0x00;
const FR: usize = 0x18;
const RXFE: u32 = 1 << 4;

/// The hypervisor looks for 10 ms which task waits.
const LONG_ENOUGH: Duration = Duration::from_millis(12);
/// Number of times that a task looks for the answer: for far more than 10 ms.
const LOOKS: u64 = 1_000_000;

const LINE_MAX: usize = 32;

struct Port(Registers);

impl Port {
    fn write(&self, text: &str) {
        text.bytes().for_each(|byte| self.0.write8(DR, byte));
    }

    /// Returns the answer of the hypervisor.
    fn read<'l>(&self, line: &'l mut [u8; LINE_MAX]) -> &'l str {
        let mut length = 0;
        while self.0.read32(FR) & RXFE == 0 && length < LINE_MAX {
            line[length] = self.0.read32(DR) as u8;
            length += 1;
        }
        core::str::from_utf8(&line[..length]).unwrap_or("?")
    }
}

/// A process that can reach the port, and memory of its own.
struct Process {
    port: Port,
    tables: Tables,
    code: Words,
    memory: Words,
}

impl Process {
    const CODE: u64 = BASE;
    const PORT: u64 = BASE + PAGE;
    const DATA: u64 = BASE + 2 * PAGE;

    fn new(bench: &mut Bench, port: Port, pages: u64) -> Option<Self> {
        let tables = Tables::new(&mut bench.arena, Granule::Kib4)?;
        let code = bench.arena.allocate(PAGE, PAGE)?;
        let memory = bench.memory(pages, PAGE)?;
        user::copy_code(code);
        tables.map(&mut bench.arena, Self::CODE, ram::address(code), 3, Use::UserCode)?;
        tables.map(&mut bench.arena, Self::PORT, port.0.base(), 3, Use::Device)?;
        for page in 0..pages {
            let frame = ram::address(memory) + page * PAGE;
            tables.map(&mut bench.arena, Self::DATA + page * PAGE, frame, 3, Use::User)?;
        }
        Some(Self { port, tables, code, memory })
    }

    /// Asks for one colour.
    fn ask(&self, color: u64) {
        self.port.write("colors ");
        for digit in [color / 10, color % 10] {
            self.port.0.write8(DR, b'0' + digit as u8);
        }
        self.port.write("\n");
    }

    /// Busy-waits at EL0; returns true if there is an answer.
    fn wait(&self) -> Result<bool, Fault> {
        let arguments = [Self::PORT + FR as u64, RXFE.into(), LOOKS, 0];
        let left = user::run(&self.tables, Self::CODE, Routine::WaitForZero, arguments);
        left.map(|left| left > 0)
    }

    fn at_home(&self, bench: &Bench) -> bool {
        bench.at_home(self.memory) && bench.at_home(self.code)
    }
}

/// The port that the boot arguments name.
fn port(case: &str) -> Option<Port> {
    let port = match arguments::number("serial", 0) {
        0 => None,
        address => Registers::page(address).map(Port),
    };
    if port.is_none() {
        println!("color: {case} skipped, no port is named");
    }
    port
}

/// A task that asks and busy-waits at EL0 gets its colours; without one, no task does.
pub fn serial(bench: &mut Bench, checks: &mut Checks) -> Option<()> {
    let Some(port) = port("serial") else { return Some(()) };
    let process = Process::new(bench, port, 8)?;
    let port = &process.port;
    let mut line = [0; LINE_MAX];
    let color = bench.color(0);

    process.ask(color);
    checks.equal("serial-answer", process.wait(), Ok(true));
    checks.equal("serial-pages", port.read(&mut line), "ok 9\n");
    let moved = bench.colors_of(process.memory).all(|found| found == color as i64);
    checks.equal("serial-colors", moved, true);
    checks.equal("serial-code-moved", bench.colors_of(process.code).next(), Some(color as i64));

    process.ask(color);
    port.write("colors none\n");
    checks.equal("serial-busy", port.read(&mut line), "error busy\n");
    wait::pause(LONG_ENOUGH);
    checks.equal("serial-at-el1", port.read(&mut line), "");

    port.write("colours 1\n\n");
    checks.equal("serial-syntax", port.read(&mut line), "error syntax\n");
    port.write("colors 63\n");
    checks.equal("serial-invalid", process.wait(), Ok(true));
    checks.equal("serial-invalid", port.read(&mut line), "error invalid\n");

    port.write("colors none\n");
    checks.equal("serial-free", process.wait(), Ok(true));
    checks.equal("serial-free", port.read(&mut line), "ok 9\n");
    checks.equal("serial-home", process.at_home(bench), true);
    checks.equal("serial-contents", intact(process.memory), true);
    Some(())
}

/// The other VCPU resets the VM while the pages of this one move; after that, everything is as at the
/// first start. Without `reset=1`, nothing happens.
pub fn reset(bench: &mut Bench, checks: &mut Checks) -> Option<()> {
    const PAGES: u64 = 200;
    const LIMIT: Duration = Duration::from_secs(1);

    if arguments::number("reset", 0) == 0 {
        return Some(());
    }
    let Some(port) = port("serial-reset") else { return Some(()) };
    let process = Process::new(bench, port, PAGES)?;
    checks.equal("reset-home", process.at_home(bench), true);
    checks.equal("reset-pool", bench.free(), bench.pool);
    if hypercall::vm_info(VmInfo::Restarts) != Some(0) {
        return Some(());
    }
    while_repeating(
        |round| {
            // In the second round the task asks.
            let pool = hypercall::vm_info(VmInfo::PoolFrames);
            let moves = || hypercall::vm_info(VmInfo::PoolFree) != pool;
            if round == 1 && wait::until(LIMIT, moves) {
                psci::system_reset()
            }
        },
        || {
            process.ask(bench.color(0));
            checks.equal("reset-comes", process.wait(), Ok(false));
        },
    );
    Some(())
}
