//! `rt-irq`: interrupts of one VCPU arrive exactly once and in order of priority, also when more are
//! pending than a hypervisor has list registers; level and edge behave as the GIC says.
//!
//! Lines are `irq: <check> ok` or `irq: <check> FAILED <found>`; the last one is
//! `irq: <n> passed, <n> failed`.

use core::time::Duration;

use programs::checks::Checks;
use rt::arch::lock::InterruptLock;
use rt::arch::mmio::UART as UART_REGISTERS;
use rt::arch::{Frame, counter, cpu, gic_cpu};
use rt::gic::{self, Trigger};
use rt::interrupts::{self, UART, VIRTUAL_TIMER};
use rt::{console, wait};

const SGIS: u32 = 16;
/// Private interrupts without a device, pended by software.
const PPIS: [u32; 3] = [20, 21, 22];

/// The action of the handler besides taking a note.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Action {
    Nothing,
    /// Stops the timer when it comes.
    StopTimer,
    /// Pends the interrupt again while it is active, the first time.
    PendAgain,
    /// Stops the timer when the interrupt comes for the third time.
    StopTimerAtThird,
    /// Clears the UART's interrupt when it comes for the third time.
    ClearUartAtThird,
    /// Notes whether the interrupt is active and not pending.
    LookAtState,
}

struct Log {
    intids: [u32; 64],
    count: usize,
    action: Action,
    active: bool,
    pending: bool,
}

static LOG: InterruptLock<Log> = InterruptLock::new(Log {
    intids: [0; 64],
    count: 0,
    action: Action::Nothing,
    active: false,
    pending: false,
});

fn note(intid: u32, _frame: &mut Frame) {
    LOG.with(|log| {
        if let Some(slot) = log.intids.get_mut(log.count) {
            *slot = intid;
        }
        log.count += 1;
        match log.action {
            Action::StopTimer if intid == VIRTUAL_TIMER => counter::stop(),
            Action::PendAgain if log.count == 1 => gic::set_pending(intid),
            Action::StopTimerAtThird if log.count == 3 => counter::stop(),
            Action::ClearUartAtThird if log.count == 3 => uart_interrupt(false),
            Action::LookAtState => {
                log.active = gic::is_active(intid);
                log.pending = gic::is_pending(intid);
            }
            // A flood must end, or no line would say so.
            _ if log.count > 1000 => gic::disable(intid),
            _ => {}
        }
    });
}

/// Calls `pend` with interrupts masked, then lets them come; returns the number of those that came. It takes a while until what
/// the guest has printed before is sent: a thousand times a second at most the console goes on.
fn collect(action: Action, pend: impl FnOnce()) -> usize {
    LOG.with(|log| {
        log.count = 0;
        log.action = action;
    });
    cpu::without_interrupts(pend);
    wait::pause(Duration::from_millis(1));
    LOG.with(|log| log.count)
}

/// More interrupts at once than any list registers hold.
fn overflow(checks: &mut Checks) {
    let shuffled = |i: u32| (i * 7 + 3) % 20;
    let mut expected = [0; 20];
    let all = (0..SGIS).chain(PPIS).chain([VIRTUAL_TIMER]);
    for (i, intid) in (0..).zip(all.clone()) {
        gic::set_priority(intid, (shuffled(i) * 8 + 0x20) as u8);
        expected[shuffled(i) as usize] = intid;
    }
    for _ in 0..3 {
        let count = collect(Action::StopTimer, || {
            for sgi in 0..SGIS {
                gic::send_sgi(sgi, cpu::affinity());
            }
            PPIS.into_iter().for_each(gic::set_pending);
            counter::set_deadline(counter::now());
        });
        checks.equal("overflow-count", count, expected.len());
        let order = LOG.with(|log| log.intids);
        checks.equal("overflow-order", &order[..expected.len()], &expected[..]);
    }
    for intid in all {
        gic::set_priority(intid, 0xa0);
    }
}

fn sgi(checks: &mut Checks) {
    let send = || gic::send_sgi(3, cpu::affinity());
    let twice = collect(Action::Nothing, || (0..2).for_each(|_| send()));
    checks.equal("sgi-pended-twice-comes-once", twice, 1);
    checks.equal("sgi-pended-while-active-comes-again", collect(Action::PendAgain, send), 2);
    checks.equal("sgi-taken", collect(Action::LookAtState, send), 1);
    let (active, pending) = LOG.with(|log| (log.active, log.pending));
    checks.equal("sgi-is-active-in-its-handler", (active, pending), (true, false));
    checks.equal("sgi-is-inactive-after", gic::is_active(3), false);

    let disabled = collect(Action::Nothing, || {
        gic::disable(3);
        send();
    });
    checks.equal("sgi-disabled-waits", (disabled, gic::is_pending(3)), (0, true));
    checks.equal("sgi-enabled-comes", collect(Action::Nothing, || gic::enable(3)), 1);

    let masked = collect(Action::Nothing, || {
        gic_cpu::set_priority_mask(0x80);
        send();
    });
    checks.equal("sgi-below-the-priority-mask-waits", masked, 0);
    let unmasked = collect(Action::Nothing, || gic_cpu::set_priority_mask(0xff));
    checks.equal("sgi-above-the-priority-mask-comes", unmasked, 1);
}

fn spi(checks: &mut Checks) {
    for (trigger, once, cleared, again) in [
        (
            Trigger::Edge,
            "edge-comes-once",
            "edge-cleared-stays-away",
            "edge-while-active-comes-again",
        ),
        (
            Trigger::Level,
            "level-comes-once",
            "level-cleared-stays-away",
            "level-while-active-comes-again",
        ),
    ] {
        gic::disable(UART);
        gic::set_trigger(UART, trigger);
        gic::route(UART, cpu::affinity());
        gic::enable(UART);
        checks.equal(once, collect(Action::Nothing, || gic::set_pending(UART)), 1);
        let mut seen = false;
        let count = collect(Action::Nothing, || {
            gic::set_pending(UART);
            seen = gic::is_pending(UART);
            gic::clear_pending(UART);
        });
        checks.equal(cleared, (seen, count), (true, 0));
        checks.equal(again, collect(Action::PendAgain, || gic::set_pending(UART)), 2);
    }
}

fn uart_interrupt(on: bool) {
    const IMSC: usize = 0x38;
    const ICR: usize = 0x44;
    const TRANSMIT: u32 = 1 << 5;
    UART_REGISTERS.write32(IMSC, if on { TRANSMIT } else { 0 });
    if !on {
        UART_REGISTERS.write32(ICR, TRANSMIT);
    }
}

/// A line that stays up comes again after each end, until its source is served.
fn lines(checks: &mut Checks) {
    let timer = collect(Action::StopTimerAtThird, || counter::set_deadline(counter::now()));
    checks.equal("timer-comes-until-stopped", timer, 3);
    counter::stop();

    gic::disable(UART);
    gic::set_trigger(UART, Trigger::Level);
    gic::enable(UART);
    let uart = collect(Action::ClearUartAtThird, || {
        console::write_uart(b'\n');
        uart_interrupt(true);
    });
    checks.equal("uart-comes-until-cleared", uart, 3);
    uart_interrupt(false);
    gic::disable(UART);
}

/// Runs all checks.
pub fn main() {
    let mut checks = Checks::new("irq");
    for intid in (0..SGIS).chain(PPIS).chain([VIRTUAL_TIMER, UART]) {
        interrupts::set_handler(intid, note);
    }
    for intid in PPIS {
        gic::set_trigger(intid, Trigger::Edge);
    }
    for intid in (0..SGIS).chain(PPIS).chain([VIRTUAL_TIMER]) {
        gic::enable(intid);
    }
    overflow(&mut checks);
    sgi(&mut checks);
    spi(&mut checks);
    lines(&mut checks);
    checks.finish();
}
