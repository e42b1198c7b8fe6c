//! The one machine: its console, its VMs, and the ties between virtual devices and them.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};

use alloc::boxed::Box;
use alloc::vec::Vec;

use policy::pace::CONSOLE_PER_SECOND;

use crate::arch::{cpu, gic, percpu, power, regs};
use crate::board::uart::AnyUart;
use crate::console::Console;
use crate::pcpu::{CONSOLE_TIMER, Pcpu};
use crate::plan;
use crate::timer::Purpose;
use crate::vdev::gic::Place;
use crate::vm::{GicEnv, Power, Vcpu, Vm, bell, port};

/// The console of the machine.
pub static CONSOLE: Console<AnyUart> = Console::new();

static LINKS: percpu::StaticRef<Vec<plan::Link<'static>>> = percpu::StaticRef::empty();
static VMS: percpu::StaticRef<Vec<&'static Vm>> = percpu::StaticRef::empty();
/// VMs that run.
static RUNNING: AtomicUsize = AtomicUsize::new(0);
static SERVERS_START: AtomicU64 = AtomicU64::new(0);
static UART_INTERRUPT: AtomicU32 = AtomicU32::new(u32::MAX);
static CONSOLE_PCPU: percpu::StaticRef<Pcpu> = percpu::StaticRef::empty();
/// The timer that shows incomplete lines runs, or its CPU was told to start it.
static TIMER_ARMED: AtomicBool = AtomicBool::new(false);
/// An incomplete line is shown when it has not grown for this part of a second.
const IDLE_PER_SECOND: u64 = 20;

/// Prints a line of the hypervisor.
macro_rules! log {
    ($($argument:tt)*) => {
        $crate::machine::CONSOLE.print(format_args!($($argument)*))
    };
}
pub(crate) use log;

/// Prints a line of the hypervisor that ends.
macro_rules! emergency {
    ($($argument:tt)*) => {
        $crate::machine::CONSOLE.emergency(format_args!($($argument)*))
    };
}
pub(crate) use emergency;

/// Makes the VMs, their links and the console's CPU known; once, at boot.
pub fn publish(
    vms: Vec<&'static Vm>,
    links: Vec<plan::Link<'static>>,
    console: &'static Pcpu,
    uart_interrupt: u32,
) {
    LINKS.set(Some(Box::leak(Box::new(links))));
    RUNNING.store(vms.len(), Ordering::Release);
    CONSOLE_PCPU.set(Some(console));
    UART_INTERRUPT.store(uart_interrupt, Ordering::Release);
    VMS.set(Some(Box::leak(Box::new(vms))));
}

/// All VMs are about to start; the first period of all servers starts at this time.
pub fn begin(servers_start: u64) {
    SERVERS_START.store(servers_start, Ordering::Relaxed);
}

/// Returns when the first period of all servers starts.
pub fn servers_start() -> u64 {
    SERVERS_START.load(Ordering::Relaxed)
}

/// The VMs of the machine.
pub fn vms() -> &'static [&'static Vm] {
    VMS.get().map_or(&[], |vms| vms)
}

/// INTID of the machine's UART.
pub fn uart_interrupt() -> u32 {
    UART_INTERRUPT.load(Ordering::Relaxed)
}

/// A VM ended for good. After the last one the machine is turned off.
pub fn vm_ended() {
    if RUNNING.fetch_sub(1, Ordering::AcqRel) == 1 {
        power_off()
    }
}

/// Prints the summary and turns the machine off.
fn power_off() -> ! {
    for vm in vms() {
        let (state, reason, restarts) = vm.status();
        let counts = vm.vcpus.iter().map(Vcpu::counts);
        let (exits, irqs) = counts.fold((0, 0), |sum, counts| (sum.0 + counts.0, sum.1 + counts.1));
        let (name, reason) = (vm.name(), reason.map_or("-", |reason| reason.name()));
        let restarts = u64::from(restarts);
        log!(
            "summary vm={name} state={state} reason={reason} restarts={restarts} exits={exits} irqs={irqs}"
        );
        CONSOLE.flush_all_blocking();
    }
    for link in LINKS.get().into_iter().flatten() {
        for (index, number) in link.ends {
            let Some(vm) = vms().get(index) else { continue };
            let (name, from, counts) = (link.name, vm.name(), vm.links.counts(number));
            log!("link {name} from={from} {counts}");
            CONSOLE.flush_all_blocking();
        }
    }
    log!("power off");
    CONSOLE.flush_all_blocking();
    power::off()
}

/// An access of a guest to its UART; `None` if the UART does not take it.
pub fn uart_access(vm: &'static Vm, offset: u64, bytes: u64, write: Option<u64>) -> Option<u64> {
    let uart = vm.uart.as_ref()?;
    let mut uart = uart.lock();
    let value = match write {
        None => uart.read(offset, bytes as usize),
        Some(value) => {
            uart.write(offset, bytes as usize, value, &mut CONSOLE.line(vm.index));
            0
        }
    };
    set_uart_line(vm, uart.interrupt());
    drop(uart);
    if write.is_some() {
        after_output();
    }
    Some(value)
}

/// Sets the interrupt line of a VM's UART. Must be called under the lock of the
/// UART, so that the line follows its state.
pub fn set_uart_line(vm: &'static Vm, asserted: bool) {
    if let Some((_, intid)) = vm.plan.serial {
        vm.gic.set_line(&GicEnv::any(vm), intid, asserted);
    }
}

/// Output of a guest by hypercall; returns the bytes taken.
pub fn console_write(vm: usize, bytes: &[u8]) -> usize {
    let taken = CONSOLE.write(vm, bytes);
    after_output();
    taken
}

/// Does the work that output may have made necessary: UARTs wait for room, lines are incomplete.
fn after_output() {
    relieve();
    if CONSOLE.has_partial_lines()
        && !TIMER_ARMED.swap(true, Ordering::SeqCst)
        && let Some(pcpu) = CONSOLE_PCPU.get()
    {
        gic::send_sgi(pcpu.mpidr, CONSOLE_TIMER);
    }
}

/// Lets the UARTs of VMs go on that had to wait for the console. That is left to a VCPU of each such VM: nobody
/// else takes locks of the VM for it.
fn relieve() {
    let mut relieved = CONSOLE.take_relieved();
    while relieved != 0 {
        let index = relieved.trailing_zeros() as usize;
        relieved &= relieved - 1;
        if let Some(vm) = vms().get(index) {
            vm.relieved.store(true, Ordering::Release);
            call_one(vm);
        }
    }
}

/// Rings for VMs, one bit each.
pub fn ring(mut readers: u64) {
    while readers != 0 {
        let index = readers.trailing_zeros() as usize;
        readers &= readers - 1;
        if let Some(vm) = vms().get(index) {
            bell::ring(vm);
        }
    }
}

/// An end of a serial line tells the other one that something has changed: port `port` of the VM with this index.
pub fn tell(vm: usize, port: usize) {
    if let Some(vm) = vms().get(vm) {
        vm.ports.tell(port);
        call_one(vm);
    }
}

/// There is something to do at link `link` of the VM with this index.
pub fn tell_link(vm: usize, link: usize) {
    if let Some(vm) = vms().get(vm) {
        vm.links.tell(link);
        call_one(vm);
    }
}

/// Notes with a VCPU of a VM that there is something to do for the VM: with one that executes, if there is one, otherwise with
/// one that waits, and only if there is none with one that has to wait for its PCPU, which may take any time.
pub fn call_one(vm: &Vm) {
    // What there is to do was stored before. A VCPU that goes off or on looks for it afterwards: `pass_on`.
    fence(Ordering::SeqCst);
    let mut found: Option<(&Vcpu, Place)> = None;
    for vcpu in vm.vcpus.iter().filter(|vcpu| vcpu.power() == Power::On) {
        let place = vcpu.attention.place();
        if place == Place::Running
            || found.is_none_or(|(_, before)| before == Place::Out && place != Place::Out)
        {
            found = Some((vcpu, place));
        }
        if place == Place::Running {
            break;
        }
    }
    if let Some((vcpu, _)) = found
        && vcpu.attention.tell(true)
    {
        vcpu.pcpu.kick();
    }
}

/// A VCPU went off or on: if there is something to do for the VM, of which no other VCPU knows, one that is on has to know.
#[inline(never)]
pub fn pass_on(vm: &Vm) {
    fence(Ordering::SeqCst);
    if vm.rung.load(Ordering::Relaxed) || vm.relieved.load(Ordering::Relaxed) || port::have_news(vm)
    {
        call_one(vm);
    }
}

/// A VCPU of a VM, which executes or waits on this CPU, does the work that was left to it.
pub fn attend(vm: &'static Vm) {
    if vm.relieved.load(Ordering::Relaxed)
        && vm.relieved.swap(false, Ordering::Acquire)
        && let Some(uart) = &vm.uart
    {
        let mut uart = uart.lock();
        uart.line_ready(&mut CONSOLE.line(vm.index));
        set_uart_line(vm, uart.interrupt());
    }
}

/// The UART of the machine interrupts: input for a VM, or room for output. Where VCPUs run on the CPU that serves it,
/// it does so as often as the console's timer fires at most, whatever VMs write: the timer unmasks it again.
pub fn console_interrupt(pcpu: &Pcpu) {
    unmask_uart(pcpu, false);
    start_console_timer(pcpu);
    CONSOLE.on_uart_interrupt(|index, input| {
        let Some(vm) = vms().get(index) else { return };
        let Some(uart) = &vm.uart else { return };
        let mut uart = uart.lock();
        uart.receive(input.byte, input.overrun);
        set_uart_line(vm, uart.interrupt());
    });
    after_output();
}

#[inline(never)]
fn unmask_uart(pcpu: &Pcpu, on: bool) {
    if let Some(shared) = gic::shared()
        && pcpu.has_vcpus()
    {
        shared.set_enabled(uart_interrupt(), on);
    }
}

/// A VM on another CPU left a line incomplete while the console's timer was off. It
/// runs for a whole period at least, so that output costs this CPU a few interrupts
/// a second, whatever VMs write.
#[inline(never)]
pub fn start_console_timer(pcpu: &Pcpu) {
    pcpu.advance_deadline(Purpose::Console, cpu::now() + pace_ticks());
}

/// The timer of the console's CPU fires, [`CONSOLE_PER_SECOND`] times a second at most: lets the UART interrupt again, and
/// shows lines that stay incomplete.
pub fn console_timer(pcpu: &Pcpu) {
    unmask_uart(pcpu, true);
    let idle = idle_ticks();
    let now = cpu::now();
    let due = CONSOLE.flush_idle(now, idle);
    relieve();
    if let Some(due) = due {
        return pcpu.set_deadline(Purpose::Console, due.max(now + pace_ticks()));
    }
    // A line that became incomplete before this store did not start the timer.
    TIMER_ARMED.store(false, Ordering::SeqCst);
    if CONSOLE.has_partial_lines() && !TIMER_ARMED.swap(true, Ordering::SeqCst) {
        pcpu.set_deadline(Purpose::Console, now + idle);
    }
}

fn pace_ticks() -> u64 {
    regs::cntfrq_el0::read() / CONSOLE_PER_SECOND
}

fn idle_ticks() -> u64 {
    regs::cntfrq_el0::read() / IDLE_PER_SECOND
}
