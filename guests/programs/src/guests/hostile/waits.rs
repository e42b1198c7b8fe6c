//! Waits that a hypervisor has to end at the right time.

use core::time::Duration;

use rt::arch::mmio::UART;
use rt::arch::ram::{self, Arena};
use rt::arch::tables::{Granule, Tables, Use};
use rt::arch::user::{self, Routine};
use rt::arch::{Frame, counter, cpu, smccc};
use rt::interrupts::VIRTUAL_TIMER;
use rt::time::Clock;
use rt::{arguments, gic, interrupts, println};

/// The length of each wait.
const WAIT: Duration = Duration::from_millis(5);
const CPU_SUSPEND: u64 = 0xc400_0001;

fn ticks(time: Duration) -> u64 {
    Clock::of_machine().ticks(time.as_nanos() as u64)
}

/// The interrupt is still pending when the waits are over.
fn over(_intid: u32, _frame: &mut Frame) {
    counter::stop();
}

/// Returns the number of waits until the virtual timer fires, whose interrupt is masked.
fn waits_for_timer(wait: impl Fn()) -> u64 {
    interrupts::set_handler(VIRTUAL_TIMER, over);
    gic::enable(VIRTUAL_TIMER);
    cpu::without_interrupts(|| {
        let end = counter::now() + ticks(WAIT);
        counter::set_deadline(end);
        let mut waits = 0;
        while counter::now() < end {
            wait();
            waits += 1;
        }
        waits
    })
}

/// Asks for standby until a timer fires.
pub fn standby(case: &str) {
    let calls = waits_for_timer(|| {
        smccc::hvc(CPU_SUSPEND, [0; 7]);
    });
    let waits = waits_for_timer(cpu::wait_for_interrupt);
    println!("hostile: {case} survived calls={calls} waits={waits}");
}

/// Waits at EL0 in AArch32, by short instructions.
pub fn thumb(case: &str) {
    const CODE: u64 = 2 << 30;
    const DEVICE: u64 = CODE + 0x1000;
    /// UARTPeriphID0: 0x11.
    const IDENTIFICATION: u64 = 0xfe0;
    let result = arguments::ram_bytes_of_tree().and_then(Arena::take).and_then(|mut arena| {
        let tables = Tables::new(&mut arena, Granule::Kib4)?;
        let code = arena.allocate(0x1000, 0x1000)?;
        user::copy_code(code);
        tables.map(&mut arena, CODE, ram::address(code), 3, Use::UserCode)?;
        tables.map(&mut arena, DEVICE, UART.base(), 3, Use::Device)?;
        gic::enable(VIRTUAL_TIMER);
        cpu::mask_interrupts();
        counter::set_deadline(counter::now() + ticks(WAIT));
        let arguments = [0, DEVICE + IDENTIFICATION, 0, 0];
        let result = user::run(&tables, CODE, Routine::ThumbWaits, arguments);
        counter::stop();
        Some(result)
    });
    match result {
        Some(Ok(result)) => println!("hostile: {case} survived result={result}"),
        Some(Err(fault)) => println!("hostile: {case} survived {fault}"),
        None => println!("hostile: {case}: no memory"),
    }
}
