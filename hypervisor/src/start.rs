//! The start: the steps from the entry code to running VMs.
//!
//! Every mistake is found here, before any VM runs, and ends in one message on the console: a
//! damaged image, a plan that breaks a rule, a machine that differs from the plan.
//!
//! 1. The entry code (`arch::boot`) relocates the image, maps a few gigabytes one to one and turns
//!    the MMU on.
//! 2. The header of the image names the UART of the early console, which therefore works before
//!    anything has been read.
//! 3. The payload is verified by SHA-256: first its header, its table and the plan, then each guest
//!    file when it is loaded. The hypervisor's own code is not covered, because damaged code cannot
//!    be trusted to check itself.
//! 4. The plan is read, checked and compared with the machine.
//! 5. The final translation tables replace the early ones. A hypervisor with colours moves to its
//!    frames in this step.
//! 6. The VMs are built, their stage-2 tables are audited and their files loaded. The other CPUs
//!    start, the heap is sealed, and VCPU 0 of each VM is started.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use core::sync::atomic::{AtomicUsize, Ordering};

use abi::image::{ConsoleKind, PayloadHeader};
use policy::time::Instant;

use crate::address_space::{self, AddressSpace, Memory};
use crate::arch::boot::{SecondaryEntry, image_layout};
use crate::arch::mmu;
use crate::arch::page_table::PageTable;
use crate::arch::percpu::{self, Anchor, StaticRef};
use crate::arch::spin_table::Released;
use crate::arch::{counter, cpu, gic, guest_state, heap, power, regs, smc};
use crate::board::{self, uart::AnyUart};
use crate::locks;
use crate::machine::{self, CONSOLE, log};
use crate::payload::{self, BlobName, Payload};
use crate::pcpu::Pcpu;
use crate::plan::{self, Plan, Problem, Range, Tree};
use crate::vdev::wire::Wire;
use crate::{firmware, trace, vm};

/// Bytes of the page with a UART's registers, for the early console.
const UART_BYTES: u64 = 4096;
/// Affinity fields of MPIDR.
const AFFINITY: u64 = 0xff_00ff_ffff;

/// Servers start this part of a second after everything is loaded.
const EPOCH_PER_SECOND: u64 = 1000;

static ANCHORS: StaticRef<Vec<&'static Anchor>> = StaticRef::empty();
static ONLINE: AtomicUsize = AtomicUsize::new(0);

/// Says why the system cannot start, and turns the machine off. If memory ran out,
/// that is why, wherever it was noticed.
pub fn refuse(why: &dyn fmt::Display) -> ! {
    if heap::is_exhausted() {
        log!(
            "plan: /platform/hypervisor: the memory of the hypervisor is used up, make reg larger (with colors: host-reg)"
        );
    } else {
        log!("{why}");
    }
    log!("no VM was started");
    CONSOLE.flush_all_blocking();
    power::off()
}

/// Returns the value of `result`; refuses to start without one.
fn accept<T, E: fmt::Display>(result: Result<T, E>) -> T {
    match result {
        Ok(value) => value,
        Err(why) => refuse(&why),
    }
}

/// The boot CPU, with early tables and the boot stack.
pub fn boot(device_tree: usize) -> ! {
    let layout = image_layout();
    let table = board::memory::payload(layout.end, payload::TABLE_BYTES_MAX);
    early_console(PayloadHeader::read(table).ok());
    log!("Bulkhead {}", env!("CARGO_PKG_VERSION"));
    let header = accept(payload::header(table));
    let bytes = board::memory::payload(layout.end, header.payload_bytes as usize);
    let payload = accept(Payload::new(bytes, header));
    let blob = accept(payload.blob(BlobName::PLAN));

    let image = Range { start: layout.text as u64, bytes: (layout.end - layout.text) as u64 };
    let used = Range { bytes: image.bytes + payload.bytes() as u64, ..image };
    let tree = Tree::new(blob).unwrap_or_else(|| refuse(&"plan: it is not a device tree"));
    let own = plan::hypervisor_memory(tree).unwrap_or_else(|problem| {
        refuse(&format_args!("plan: /platform/hypervisor: reg: {problem}"))
    });
    if !own.contains(used) {
        refuse(&format_args!(
            "plan: /platform/hypervisor: reg: {own} does not contain the loaded image at {used}"
        ));
    }
    let memory = Memory { image: layout, heap: used.end().next_multiple_of(4096) };
    board::memory::init_heap(memory.heap, own.end());

    let plan = accept(plan::read(tree, regs::cntfrq_el0::read() as u32));
    accept(plan::check(&plan, &|name| payload.blob_bytes(name)));
    accept(firmware::check(&plan, device_tree));
    if !plan.platform.spin_table.is_empty() {
        power::without_firmware(None);
    }
    let index = boot_cpu(&plan);
    let pcpus = make_cpus(&plan);
    let anchor = anchors()[index];
    anchor.install();

    let guards = anchors().iter().flat_map(|anchor| anchor.guards());
    let AddressSpace { tables, moves } = accept(address_space::make(&plan, &memory, guards));
    board::memory::switch_tables(&tables, &moves);
    if let Some(device) = plan.platform.power_off {
        power::without_firmware(Some(board::memory::registers(device)));
    }
    let physical = |address| cpu::physical(address).unwrap_or_default();
    trace::publish(pcpus.iter().map(|pcpu| &pcpu.trace), regs::cntfrq_el0::read(), physical);
    accept(interrupt_controller(&plan.platform.gic));
    accept(gic::init_cpu(index));
    guest_state::init();
    if let Some(counter) = &plan.platform.counter {
        counter::publish(Box::leak(Box::new(counter.clone())), plan.counting_cpus());
        counter::init_cpu(index);
    }

    let serial = plan.platform.serial;
    let console = pcpus[serial.pcpu];
    CONSOLE.set_vms(plan.vms.iter().map(|vm| vm.name));
    for channel in &plan.channels {
        board::memory::guest_memory(&channel.ram).clear();
    }
    let critical = plan.critical_cpus();
    let shared = plan.locks;
    let ceilings = shared.ceilings;
    let mut vms = Vec::new();
    let mut wires: Vec<&'static Wire> = Vec::new();
    for _ in 0..2 * plan.serial_lines {
        wires.push(Box::leak(Wire::new()));
    }
    for (index, vm) in plan.vms.into_iter().enumerate() {
        let window = address_space::window(index, &vm);
        let build = || vm::build(index, vm, &pcpus, &wires, &|name| accept(payload.blob(name)));
        vms.push(accept(board::memory::with_heap(window, build)));
    }
    if plan.platform.own.is_some() {
        mmu::stop_caching(&tables, bytes);
    }
    let locks = locks::make(&shared, &vms);
    locks::publish(locks.map(|locks| &*Box::leak(Box::new(locks))));
    machine::publish(vms, plan.links, console, serial.interrupt);

    start_secondaries(&pcpus, index, &tables, &plan.platform.spin_table);
    if let Some((pcpu, missing)) = counter::missing() {
        let node = plan.root.nth("platform", 0).nth("bandwidth-counter", 0);
        refuse(&node.error(missing.property(), Problem::Counter(pcpu, missing)));
    }
    // A little later: all CPUs know their VCPUs by then.
    let epoch = cpu::now() + regs::cntfrq_el0::read() / EPOCH_PER_SECOND;
    machine::begin(epoch);
    for vm in machine::vms() {
        vm.begin_budget(Instant(epoch), critical);
    }
    for pcpu in pcpus.iter() {
        pcpu.assign(machine::vms(), epoch, &plan.platform, ceilings);
    }
    heap::seal();
    if let Some(shared) = gic::shared() {
        shared.set_target(serial.interrupt, console.mpidr);
        shared.set_enabled(serial.interrupt, true);
        for pcpu in pcpus.iter() {
            if let Some(counter) = &plan.platform.counter
                && let intid @ 32.. = counter.interrupt(pcpu.index)
            {
                shared.set_target(intid, pcpu.mpidr);
                shared.set_enabled(intid, true);
            }
        }
    }
    CONSOLE.go_live();
    log!("ready");
    for vm in machine::vms() {
        vm.start();
    }
    anchor.pcpu().idle()
}

/// Sets up the part of the interrupt controller that all CPUs share.
fn interrupt_controller(planned: &plan::Gic) -> Result<(), gic::GicError> {
    let registers = board::memory::registers;
    let (distributor, frames) = match *planned {
        plan::Gic::V2 { distributor, cpu, control, .. } => {
            (distributor, gic::Frames::V2 { cpu: registers(cpu), control: registers(control) })
        }
        plan::Gic::V3 { distributor, redistributors } => {
            (distributor, gic::Frames::V3 { redistributors: registers(redistributors) })
        }
    };
    gic::init(registers(distributor), frames)
}

/// Every other CPU, with final tables and its own stack.
pub fn secondary(index: usize) -> ! {
    let anchor = anchors()[index];
    anchor.install();
    accept(gic::init_cpu(index));
    guest_state::init();
    counter::init_cpu(index);
    ONLINE.fetch_add(1, Ordering::Release);
    anchor.pcpu().idle()
}

fn anchors() -> &'static [&'static Anchor] {
    ANCHORS.get().map_or(&[], |anchors| anchors)
}

/// Uses the UART that the image names, before anything has been read or verified.
fn early_console(header: Option<PayloadHeader>) {
    let Some(header) = header else { return };
    let address = header.console_address;
    let kind = ConsoleKind::from_number(header.console_kind).unwrap_or(ConsoleKind::None);
    if kind == ConsoleKind::None || address % UART_BYTES != 0 || !mmu::map_early_device(address) {
        return;
    }
    let registers = board::memory::registers(Range { start: address, bytes: UART_BYTES });
    if let Some(uart) = AnyUart::start(kind, registers) {
        CONSOLE.attach(uart);
    }
}

/// Index in the plan of the CPU that boots.
fn boot_cpu(plan: &Plan<'_>) -> usize {
    let mpidr = regs::mpidr_el1::read() & AFFINITY;
    let index = plan.platform.cpus.iter().position(|&cpu| cpu == mpidr);
    index.unwrap_or_else(|| {
        refuse(&format_args!(
            "plan: /platform/cpus: the machine boots on CPU {mpidr:#x}, which is not among them"
        ))
    })
}

/// Makes the state of all CPUs.
fn make_cpus(plan: &Plan<'_>) -> Vec<&'static Pcpu> {
    let mut pcpus: Vec<&'static Pcpu> = Vec::new();
    let mut anchors = Vec::new();
    for &mpidr in &plan.platform.cpus {
        let pcpu = Box::leak(Box::new(Pcpu::new(pcpus.len(), mpidr)));
        pcpus.push(pcpu);
        anchors.push(percpu::new_anchor(pcpu));
    }
    ANCHORS.set(Some(Box::leak(Box::new(anchors))));
    pcpus
}

/// Starts all CPUs but this one and waits until they are there.
fn start_secondaries(pcpus: &[&'static Pcpu], own: usize, tables: &PageTable, spin_table: &[u64]) {
    if spin_table.is_empty() && pcpus.len() > 1 {
        let version = smc::version();
        if version < 1 << 16 {
            refuse(&format_args!(
                "firmware: PSCI 1.0 by SMC is needed to start CPUs, found {version:#x}"
            ));
        }
    }
    let mut expected = 0;
    for pcpu in pcpus.iter().filter(|pcpu| pcpu.index != own) {
        let entry = SecondaryEntry {
            ttbr: tables.root_address(),
            tcr: mmu::tcr(),
            sctlr: mmu::FINAL_SCTLR,
            stack_top: anchors()[pcpu.index].stack_top() as u64,
            pcpu: pcpu.index as u64,
        };
        let released: &Released = Box::leak(Box::new(Released::new(entry)));
        if let Some(&start) = spin_table.get(pcpu.index) {
            let word = board::memory::registers(Range { start, bytes: 8 });
            released.release(word);
        } else if let Err(error) = smc::cpu_on(pcpu.mpidr, &released.entry) {
            refuse(&format_args!(
                "plan: /platform/cpus/cpu@{:x}: the firmware does not start it (PSCI error -{error})",
                pcpu.mpidr
            ));
        }
        expected += 1;
        let deadline = cpu::now() + regs::cntfrq_el0::read();
        while ONLINE.load(Ordering::Acquire) < expected {
            if cpu::now() > deadline {
                refuse(&format_args!("PCPU {} did not start within a second", pcpu.index));
            }
        }
    }
}
