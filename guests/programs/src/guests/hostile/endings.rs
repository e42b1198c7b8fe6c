//! Ways to end.

use super::address;
use programs::arch::probe;
use rt::arch::{counter, cpu, smccc};
use rt::{println, psci};

/// Resets the machine.
pub fn reset(_case: &str) {
    psci::system_reset()
}

/// Turns the machine off.
pub fn off(_case: &str) {
    psci::system_off()
}

/// Turns the only processor off.
pub fn cpu_off(_case: &str) {
    psci::cpu_off()
}

/// Asks for a power-down state with a place to wake up that does not exist.
pub fn cpu_suspend(case: &str) {
    const CPU_SUSPEND: u64 = 0xc400_0001;
    let result = smccc::hvc(CPU_SUSPEND, [1 << 16, address(), 0, 0, 0, 0, 0])[0] as i32;
    println!("hostile: {case} survived result={result}");
}

/// Goes on where nothing is, with exception vectors there as well.
pub fn crash(case: &str) {
    let address = address();
    println!("hostile: {case} address={address:#x}");
    probe::crash(address)
}

/// The library's own way to die.
pub fn panic(_case: &str) {
    panic!("on purpose");
}

/// Needs more stack than there is: the guest's own guard page ends it.
pub fn stack_overflow(_case: &str) {
    fn deeper(depth: u64) -> u64 {
        let room = core::hint::black_box([depth; 64]);
        if room[0] == u64::MAX { 0 } else { deeper(depth + 1) + room[1] }
    }
    println!("{}", deeper(0));
}

/// Waits for an interrupt that never comes.
pub fn wfi_forever(_case: &str) {
    counter::stop();
    cpu::mask_interrupts();
    loop {
        cpu::wait_for_interrupt();
    }
}
