//! `rt-psci`: PSCI of a guest with two VCPUs, and interrupts between them.
//!
//! Lines are `psci: <check> ok` or `psci: <check> FAILED <found>`; the last one is
//! `psci: <n> passed, <n> failed`. Where the hypervisor tells the number of restarts, the guest
//! passes all checks, prints `psci: reset`, resets itself with the second VCPU on, and passes all
//! of them once more.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst};
use core::time::Duration;

use abi::hypercall::VmInfo;

use programs::checks::Checks;
use rt::arch::{Frame, RAM_BASE, cpu, secondary};
use rt::interrupts::{self, UART};
use rt::{gic, hypercall, println, psci, wait};

const LIMIT: Duration = Duration::from_secs(2);
/// The second VCPU, and its affinity.
const SECOND: usize = 1;
const SECOND_AFFINITY: u64 = 1;
/// No machine has this one.
const NO_AFFINITY: u64 = 0x00ff_ffff;
/// An address in RAM, but without code: for calls that must be refused for another reason.
const ENTRY: u64 = RAM_BASE as u64 + 0x1000;
const SGI: u32 = 5;

static STARTS: AtomicU32 = AtomicU32::new(0);
static CONTEXT: AtomicU64 = AtomicU64::new(0);
static AFFINITY: AtomicU64 = AtomicU64::new(0);
static LEAVE: AtomicBool = AtomicBool::new(false);
static SGIS: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];
static SPIS: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];

fn count(counters: &[AtomicU32; 2]) {
    if let Some(counter) = counters.get(cpu::index()) {
        counter.fetch_add(1, SeqCst);
    }
}

fn on_sgi(_intid: u32, _frame: &mut Frame) {
    count(&SGIS);
}

fn on_spi(_intid: u32, _frame: &mut Frame) {
    count(&SPIS);
}

fn counts(counters: &[AtomicU32; 2]) -> [u32; 2] {
    [counters[0].load(SeqCst), counters[1].load(SeqCst)]
}

/// The function of the second VCPU: it waits until it is told to leave.
fn second(context: u64) {
    gic::enable(SGI);
    CONTEXT.store(context, SeqCst);
    AFFINITY.store(cpu::affinity(), SeqCst);
    STARTS.fetch_add(1, SeqCst);
    while !LEAVE.load(SeqCst) {
        cpu::relax();
    }
}

/// Waits until `counters` are `expected`, at most for the limit, and returns them a millisecond later.
fn settle(counters: &[AtomicU32; 2], expected: [u32; 2]) -> [u32; 2] {
    wait::until(LIMIT, || counts(counters) == expected);
    wait::pause(Duration::from_millis(1));
    counts(counters)
}

fn functions(checks: &mut Checks) {
    let version = psci::version();
    checks.check("version", version >= 2, format_args!("found={version:#x} expected=0.2 or later"));
    for (check, function) in [
        ("features-cpu-on", psci::CPU_ON),
        ("features-cpu-off", psci::CPU_OFF),
        ("features-affinity-info", psci::AFFINITY_INFO),
        ("features-system-off", psci::SYSTEM_OFF),
        ("features-system-reset", psci::SYSTEM_RESET),
    ] {
        checks.equal(check, psci::features(function), 0);
    }
    checks.equal("features-unknown", psci::features(0x8400_3fff), psci::NOT_SUPPORTED);
}

fn power(checks: &mut Checks) {
    checks.equal("boot-vcpu-is-on", psci::affinity_info(cpu::affinity()), psci::ON);
    checks.equal("second-vcpu-is-off", psci::affinity_info(SECOND_AFFINITY), psci::OFF);
    checks.equal("info-no-vcpu", psci::affinity_info(NO_AFFINITY), psci::INVALID_PARAMETERS);
    checks.equal("on-no-vcpu", psci::cpu_on(NO_AFFINITY, ENTRY, 0), psci::INVALID_PARAMETERS);
    checks.equal("on-self", psci::cpu_on(cpu::affinity(), ENTRY, 0), psci::ALREADY_ON);

    for round in 1..=3 {
        LEAVE.store(false, SeqCst);
        let context = u64::from(round) << 40 | 7;
        checks.equal("on", secondary::start(SECOND, second, context), 0);
        wait::until(LIMIT, || STARTS.load(SeqCst) == round);
        checks.equal("on-runs", STARTS.load(SeqCst), round);
        checks.equal("on-affinity", AFFINITY.load(SeqCst), SECOND_AFFINITY);
        checks.equal("second-vcpu-is-on", psci::affinity_info(SECOND_AFFINITY), psci::ON);
        checks.equal("on-again", secondary::start(SECOND, second, 0), psci::ALREADY_ON);
        if round == 3 {
            break;
        }
        LEAVE.store(true, SeqCst);
        wait::until(LIMIT, || psci::affinity_info(SECOND_AFFINITY) == psci::OFF);
        checks.equal("off", psci::affinity_info(SECOND_AFFINITY), psci::OFF);
    }
    checks.equal("on-context", CONTEXT.load(SeqCst), 3 << 40 | 7);
}

/// Needs the second VCPU on.
fn interrupts_between(checks: &mut Checks) {
    gic::enable(SGI);
    gic::send_sgi(SGI, SECOND_AFFINITY);
    checks.equal("sgi-to-second", settle(&SGIS, [0, 1]), [0, 1]);
    gic::send_sgi(SGI, cpu::affinity());
    checks.equal("sgi-to-self", settle(&SGIS, [1, 1]), [1, 1]);
    gic::send_sgi_to_others(SGI);
    checks.equal("sgi-to-others", settle(&SGIS, [1, 2]), [1, 2]);

    gic::disable(UART);
    gic::set_trigger(UART, gic::Trigger::Edge);
    gic::route(UART, SECOND_AFFINITY);
    gic::enable(UART);
    gic::set_pending(UART);
    checks.equal("spi-to-second", settle(&SPIS, [0, 1]), [0, 1]);
    gic::route(UART, cpu::affinity());
    gic::set_pending(UART);
    checks.equal("spi-to-first", settle(&SPIS, [1, 1]), [1, 1]);
    gic::disable(UART);
    gic::set_trigger(UART, gic::Trigger::Level);
}

/// Runs all checks.
pub fn main() {
    let mut checks = Checks::new("psci");
    let restarts = hypercall::vm_info(VmInfo::Restarts);
    interrupts::set_handler(SGI, on_sgi);
    interrupts::set_handler(UART, on_spi);
    functions(&mut checks);
    power(&mut checks);
    interrupts_between(&mut checks);
    match restarts {
        Some(0) if !checks.failed() => {
            println!("psci: reset");
            psci::system_reset();
        }
        Some(restarts) => checks.equal("restarts", restarts, 1),
        None => println!("psci: reset skipped, needs the number of restarts from the hypervisor"),
    }
    checks.finish();
}
