//! The interrupts of the machine, and what all CPUs do from boot to where all of them sleep.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU32, AtomicU64};

use hypervisor::lock::Own;
use policy::lock::hold::Hold;
use policy::server::Policy;
use policy::time::Duration;
use shuttle::sync::{Condvar, Mutex};

use crate::Act;
use crate::arch::gic::{Lists, MAINTENANCE};
use crate::arch::percpu::{StaticRef, THIS};
use crate::locks;
use crate::plan;
use crate::pcpu::{Assignment, Idle, KICK, Pcpu};
use crate::scheduler::Scheduler;
use crate::vdev::gic::{Frame, GicConfig, ListRegisters, VGic};
use crate::vm::{Vcpu, Vm};

/// The assigned device: its interrupt in the guest and of the machine.
pub const DEVICE: (u32, u32) = (40, 77);
/// More than all configurations have.
const PCPUS: usize = 4;

#[derive(Debug, Default)]
struct Interrupts {
    kicked: [bool; PCPUS],
    asleep: usize,
    over: bool,
    /// Of the device.
    enabled: bool,
    /// It is disabled, but this has not reached the CPUs: it may come once more.
    lingers: bool,
    pending: bool,
    active: bool,
    target: usize,
}

impl Interrupts {
    fn fires(&self, pcpu: usize) -> bool {
        (self.enabled || self.lingers) && self.pending && !self.active && self.target == pcpu
    }

    fn any(&self, pcpu: usize) -> bool {
        self.kicked[pcpu] || self.fires(pcpu)
    }
}

pub struct Machine {
    pcpus: usize,
    interrupts: Mutex<Interrupts>,
    bell: Condvar,
    /// 1 for each resource that a VCPU believes to hold.
    pub holders: [AtomicU32; 1],
}

/// All CPUs sleep.
struct Over;

impl Machine {
    fn with<T>(&self, act: impl FnOnce(&mut Interrupts) -> T) -> T {
        let result = act(&mut self.interrupts.lock().unwrap());
        self.bell.notify_all();
        result
    }

    pub fn kick(&self, pcpu: &Pcpu) {
        self.with(|it| it.kicked[pcpu.index] = true);
    }

    pub fn has_interrupt(&self, pcpu: &Pcpu) -> bool {
        Self::maintains(pcpu) || self.interrupts.lock().unwrap().any(pcpu.index)
    }

    fn maintains(pcpu: &Pcpu) -> bool {
        pcpu.loaded().is_some() && Lists::LOADED.want_maintenance()
    }

    pub fn acknowledge(&self, pcpu: &Pcpu) -> u32 {
        if Self::maintains(pcpu) {
            return MAINTENANCE;
        }
        self.with(|it| {
            if it.fires(pcpu.index) {
                (it.active, it.pending, it.lingers) = (true, false, false);
                return DEVICE.1;
            }
            if std::mem::take(&mut it.kicked[pcpu.index]) { KICK } else { 1023 }
        })
    }

    /// Ends the run if nobody has anything to do any more.
    pub fn wait_for_interrupt(&self, pcpu: &Pcpu) {
        let mut it = self.interrupts.lock().unwrap();
        it.asleep += 1;
        while !it.any(pcpu.index) && !Self::maintains(pcpu) {
            it.over |= it.asleep == self.pcpus && (0..self.pcpus).all(|pcpu| !it.any(pcpu));
            if it.over {
                drop(it);
                self.bell.notify_all();
                resume_unwind(Box::new(Over));
            }
            it = self.bell.wait(it).unwrap();
        }
        it.asleep -= 1;
    }

    pub fn set_enabled(&self, _: u32, enabled: bool) {
        self.with(|it| {
            it.lingers = it.enabled && !enabled;
            it.enabled = enabled;
        });
    }

    pub fn settle(&self) {
        self.with(|it| it.lingers = false);
    }

    pub fn set_pending(&self, _: u32, pending: bool) {
        self.with(|it| it.pending = pending);
    }

    pub fn is_pending(&self, _: u32) -> bool {
        self.interrupts.lock().unwrap().pending
    }

    pub fn set_active(&self, _: u32, active: bool) {
        self.with(|it| it.active = active);
    }

    pub fn set_edge_triggered(&self, _: u32, _: bool) {}

    pub fn set_target(&self, _: u32, mpidr: u64) {
        self.with(|it| it.target = mpidr as usize);
    }
}

static VMS: StaticRef<Vec<&'static Vm>> = StaticRef::empty();

pub fn vms() -> &'static [&'static Vm] {
    VMS.own().map_or(&[], Vec::as_slice)
}

pub fn attend(_: &'static Vm) {}

pub fn start_console_timer(_: &Pcpu) {}

pub fn console_timer(_: &Pcpu) {}

pub fn console_interrupt(_: &crate::pcpu::Pcpu) {}

pub fn uart_interrupt() -> u32 {
    1019
}

fn keep<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

/// VMs, for each of its VCPUs the PCPU and what its guest does. VCPUs of the first VM have
/// higher priorities than those of the second, and so on; the last one has the device.
pub fn run(vms: &'static [&'static [(usize, &'static [Act])]]) {
    let mut acts = vms.iter().flat_map(|vcpus| vcpus.iter()).flat_map(|(_, acts)| acts.iter());
    let all = vms.iter().flat_map(|vcpus| vcpus.iter());
    let pcpus = all.map(|(pcpu, _)| pcpu + 1).max().unwrap_or(0);
    let last = vms.len() - 1;
    let machine =
        keep(Machine { pcpus, interrupts: Mutex::default(), bell: Condvar::new(), holders: Default::default() });
    let pcpus: Vec<_> = (0..pcpus).map(|index| keep(Pcpu::new(index, machine))).collect();
    let vms: Vec<&'static Vm> = vms
        .iter()
        .enumerate()
        .map(|(index, vcpus)| {
            let shared: &[_] = if index == last { &[DEVICE] } else { &[] };
            let config = GicConfig { v2: false, vcpus: vcpus.len(), spis: 32, private: &[], shared };
            let vcpus = vcpus.iter().enumerate();
            let vcpus = vcpus.map(|(index, (pcpu, acts))| Vcpu::new(index, pcpus[*pcpu], acts));
            let gic = VGic::new(&config).unwrap();
            let vcpus: Vec<_> = vcpus.collect();
            let plan = plan::Vm { vcpus: vcpus.iter().map(|_| plan::Vcpu { server: None }).collect() };
            keep(Vm { index, plan, vcpus, gic, withdrawn: AtomicU64::new(0) })
        })
        .collect();
    for &pcpu in &pcpus {
        let own = |vcpu: &&Vcpu| std::ptr::eq(vcpu.pcpu, pcpu);
        let mut all = Vec::new();
        for &vm in &vms {
            for vcpu in vm.vcpus.iter().filter(own) {
                all.push(Assignment { vm, vcpu, has_sibling: false, makes_room: true, slot: all.len() });
            }
        }
        let scheduler = Scheduler::new(
            all.iter().map(|_| (Policy::Background, None, Hold::UNLIMITED)),
            true,
            [Duration::ZERO; 2],
        );
        pcpu.scheduler.set_own(Some(keep(Own::new(scheduler.expect("no servers")))));
        pcpu.assignments.set_own(Some(keep(all)));
    }
    let boot = pcpus[0];
    THIS.with(|this| this.set(Some(boot)));
    for &vm in &vms {
        configure(vm);
    }
    if acts.any(|act| matches!(act, Act::Open)) {
        let resources = vec![plan::Resource { name: "r", vms: u8::MAX }];
        let locks = locks::make(&plan::Locks { resources }, &vms);
        locks::publish(locks.map(|locks| keep(locks) as &_));
        VMS.set(Some(keep(vms.clone())));
    }
    let threads = pcpus.iter().map(|&pcpu| shuttle::thread::spawn(move || serve(pcpu)));
    let threads: Vec<_> = threads.collect();
    for thread in threads {
        thread.join().unwrap();
    }
    for vm in vms {
        vm.vcpus.iter().for_each(Vcpu::assert_done);
    }
}

/// As a guest does before it starts its VCPUs: all interrupts are enabled, 36 is an edge.
fn configure(vm: &'static Vm) {
    let env = crate::vm::GicEnv::any(vm);
    let write = |frame, at, value| vm.gic.mmio_write(&env, 0, frame, at, 4, value).expect("legal");
    write(Frame::Distributor, 0, 0b10);
    for index in 0..vm.vcpus.len() {
        write(Frame::Redistributor(index), 0x1_0080, 0xffff_ffff);
        write(Frame::Redistributor(index), 0x1_0100, 0xffff_ffff);
    }
    write(Frame::Distributor, 0x84, 0xffff_ffff);
    write(Frame::Distributor, 0x104, 0xffff_ffff);
    write(Frame::Distributor, 0xc08, 2 << 8);
}

fn serve(pcpu: &'static Pcpu) {
    THIS.with(|this| this.set(Some(pcpu)));
    let mut act: fn(&'static Pcpu) = Pcpu::boot;
    loop {
        match catch_unwind(AssertUnwindSafe(|| act(pcpu))) {
            Ok(()) => {}
            Err(panic) if panic.is::<Idle>() => {}
            Err(panic) if panic.is::<Over>() => return,
            Err(panic) => resume_unwind(panic),
        }
        act = Pcpu::serve;
    }
}
