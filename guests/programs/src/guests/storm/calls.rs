//! Calls to the hypervisor, and its page of registers.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use abi::hypercall::{
    COLOR_REQUEST, LOCK, LOCK_DESTROY, LOCK_GRANTED, LOCK_OPEN, LOCK_TRY, UNLOCK, VmInfo,
};
use abi::limits::PAGE_BYTES;

use spin::Once;

use super::{SIBLING, interrupts};
use rt::arch::mmio::{Registers, UART};
use rt::arch::ram::{self, Arena};
use rt::arch::tables::{Granule, Tables, Use};
use rt::arch::{RAM_BASE, USER_BASE, cpu, secondary, smccc::hvc};
use rt::bell::Bell;
use rt::doorbell::Doorbell;
use rt::sections::{self, Resource};
use rt::serial::Port;
use rt::{arguments, hypercall, println};

/// Pages of the address space that asks for colours, and their bytes.
const PAGES: u64 = 64;
const PAGE: u64 = PAGE_BYTES;
/// A line of the console.
const LINE: &[u8; 64] = b"###############################################################\n";

/// Turns the sibling on, which turns off.
pub fn cpu_on(_: u64) -> bool {
    secondary::start(SIBLING, |_| (), 0) == 0
}

fn call(function: u32, x1: u64, x2: u64) -> i64 {
    hvc(function.into(), [x1, x2, 0, 0, 0, 0, 0])[0] as i64
}

/// Asks for resources to which this VM has no right.
pub fn lock_refused(number: u64) -> bool {
    let functions = [UNLOCK, LOCK, LOCK_TRY, LOCK_GRANTED, LOCK_DESTROY, LOCK_OPEN];
    call(functions[(number % functions.len() as u64) as usize], number % 2, 0) < 0
}

/// The resource that this VM may use.
static OWN: AtomicU64 = AtomicU64::new(u64::MAX);

/// Opens it.
pub fn open_lock() {
    match sections::open("own") {
        Some(Resource::Shared(number)) => OWN.store(number.into(), Relaxed),
        _ => println!("storm: there is no resource `own`"),
    }
}

/// Takes it, and gives it back. Each time that it is granted counts.
pub fn lock_granted(_: u64) -> bool {
    let (own, task) = (OWN.load(Relaxed), cpu::index() as u64);
    let granted = call(LOCK_TRY, own, task) >= 0;
    call(UNLOCK, own, task);
    granted
}

/// Closes it, and opens it again. Each time that both are granted counts.
pub fn lock_opening(_: u64) -> bool {
    let closed = call(LOCK_DESTROY, OWN.load(Relaxed), 0) >= 0;
    closed & matches!(sections::open("own"), Some(Resource::Shared(_)))
}

/// An address space for requests.
static SPACE: Once<Option<Tables>> = Once::new();

/// Makes it.
pub fn color_space() {
    let make = || {
        let mut arena = Arena::take(arguments::ram_bytes_of_tree()?)?;
        let tables = Tables::new(&mut arena, Granule::Kib4)?;
        let memory = arena.allocate(PAGES * PAGE, PAGE)?;
        for page in 0..PAGES {
            let (at, frame) = (USER_BASE as u64 + page * PAGE, ram::address(memory) + page * PAGE);
            tables.map(&mut arena, at, frame, 3, Use::User)?;
        }
        Some(tables)
    };
    if SPACE.call_once(make).is_none() {
        println!("storm: too little RAM for an address space");
    }
}

/// Asks for all extra colours, or gives them back. Counted are requests that were not refused because there is another
/// one under way.
pub fn colors(number: u64) -> bool {
    let extra = hypercall::vm_info(VmInfo::ExtraColors).unwrap_or(0);
    let colors = if number.is_multiple_of(2) { extra } else { 0 };
    let space = SPACE.get().and_then(Option::as_ref);
    space.is_some_and(|tables| tables.call(COLOR_REQUEST, colors) >= 0)
}

/// The page of registers.
static DOORBELL: Once<Option<Doorbell>> = Once::new();

/// Finds it.
pub fn find_doorbell() {
    if DOORBELL.call_once(Doorbell::find).is_none() {
        println!("storm: this VM has no doorbell");
    }
}

/// Uses its registers.
pub fn doorbell(number: u64) -> bool {
    let Some(doorbell) = DOORBELL.get().copied().flatten() else { return false };
    match number % 2 {
        0 => doorbell.info(VmInfo::VcpuCount as u64) > 0,
        _ => doorbell.color_of(RAM_BASE as u64) >= 0,
    }
}

/// Lets the hypervisor check its tables.
pub fn audit(_: u64) -> bool {
    hypercall::audit() == 0
}

/// The serial port for colours.
static PORT: Once<Option<Registers>> = Once::new();

/// Finds what the boot arguments name: `storm.port`.
pub fn find_port() {
    let find = || match arguments::number("storm.port", 0) {
        0 => None,
        address => Registers::page(address),
    };
    if PORT.call_once(find).is_none() {
        println!("storm: storm.port names no port");
    }
}

/// Asks on it for colours, a byte each time.
pub fn color_serial(number: u64) -> bool {
    const ASKS: &[u8; 12] = b"colors none\n";
    let Some(port) = PORT.get().copied().flatten() else { return false };
    port.write8(0, ASKS[(number % ASKS.len() as u64) as usize]);
    true
}

/// The same; after each byte an interrupt of the sibling is pending for a moment.
pub fn color_serial_dozing(number: u64) -> bool {
    color_serial(number) && interrupts::pend_briefly(number)
}

/// The register on which the guest rings for `bell`.
static BELL: Once<Option<Bell>> = Once::new();

/// Finds it.
pub fn find_bell() {
    if BELL.call_once(|| Bell::of("bell")).is_none() {
        println!("storm: the guest may not ring for `bell`");
    }
}

/// Rings for it. Counted is every ring, refused or not.
pub fn ring(_: u64) -> bool {
    let bell = BELL.get().copied().flatten();
    bell.inspect(|bell| bell.ring()).is_some()
}

/// The ends of two serial lines: to a VM that executes, and to one that waits.
static LINES: Once<[Option<Port>; 2]> = Once::new();
/// Number of attacks for each byte, so that there is always something to tell, and room for it.
const BYTE_EVERY: u64 = 64;

/// Finds them.
pub fn find_lines() {
    if LINES.call_once(|| [0, 1].map(Port::open)).iter().any(Option::is_none) {
        println!("storm: the guest has no two serial lines");
    }
}

/// Sends something by one of them now and then, and lets its interrupt come and go.
pub fn serial(number: u64) -> bool {
    let line = (number % 2) as usize;
    let Some(port) = LINES.get().and_then(|lines| lines[line]) else { return false };
    if (number / 2).is_multiple_of(BYTE_EVERY) {
        port.send_blindly(0);
    }
    port.toggle();
    true
}

/// Prints by hypercall.
pub fn console(_: u64) -> bool {
    hypercall::console_write(LINE).is_some_and(|taken| taken > 0)
}

/// Prints by the UART.
pub fn uart(number: u64) -> bool {
    UART.write32(0, LINE[(number % LINE.len() as u64) as usize].into());
    true
}
