//! A VM on the machine for tests.

use super::machine::Machine;
use crate::vdev::gic::{Frame, GicConfig, Physical, VGic};

/// Register offsets, the same in distributor and redistributor (SGI frame).
pub mod offset {
    pub const IGROUPR: u64 = 0x80;
    pub const ISENABLER: u64 = 0x100;
    pub const ICENABLER: u64 = 0x180;
    pub const ISPENDR: u64 = 0x200;
    pub const ICPENDR: u64 = 0x280;
    pub const ISACTIVER: u64 = 0x300;
    pub const ICACTIVER: u64 = 0x380;
    pub const IPRIORITYR: u64 = 0x400;
    pub const ICFGR: u64 = 0xc00;
    pub const IROUTER: u64 = 0x6000;
    pub const SGI_FRAME: u64 = 0x10000;
}

/// Interrupt of the virtual timer, physical.
pub const TIMER: u32 = 27;
/// Interrupt of a virtual device.
pub const UART: u32 = 33;
/// Interrupt of an assigned device, in the guest and of the machine.
pub const DEVICE: (u32, u32) = (40, 77);

/// Most calls into the machine that one entry into the controller may need.
const WORK_MAX: usize = 200;

pub struct Vm {
    pub gic: VGic,
    pub machine: Machine,
}

impl Vm {
    /// A VM whose VCPUs are started, nothing configured.
    pub fn new(vcpus: usize) -> Self {
        Self::of_version(false, vcpus)
    }

    /// The same with a GICv2.
    pub fn v2(vcpus: usize) -> Self {
        Self::of_version(true, vcpus)
    }

    fn of_version(v2: bool, vcpus: usize) -> Self {
        Self::of(&GicConfig { v2, vcpus, spis: 64, private: &[TIMER], shared: &[DEVICE] })
    }

    /// A VM with a GICv3 and these interrupts of assigned devices, in the guest and of the machine.
    pub fn with_devices(vcpus: usize, shared: &[(u32, u32)]) -> Self {
        Self::of(&GicConfig { v2: false, vcpus, spis: 96, private: &[TIMER], shared })
    }

    fn of(config: &GicConfig<'_>) -> Self {
        let vcpus = config.vcpus;
        let vm = Self { gic: VGic::new(config).unwrap(), machine: Machine::new(vcpus) };
        for vcpu in 0..vcpus {
            vm.on(vcpu, || vm.gic.start_vcpu(&vm.machine, vcpu));
        }
        vm
    }

    /// A VM whose guest has enabled group 1 and all its interrupts, priority 0xa0.
    pub fn configured(vcpus: usize) -> Self {
        let vm = Self::new(vcpus);
        vm.write(0, Frame::Distributor, 0, 4, 0b10);
        for vcpu in 0..vcpus {
            let frame = Frame::Redistributor(vcpu);
            vm.enable_bank(vcpu, frame, offset::SGI_FRAME, 0);
        }
        vm.enable_bank(0, Frame::Distributor, 0, 1);
        vm.enable_bank(0, Frame::Distributor, 0, 2);
        vm.settle();
        vm
    }

    /// The same with a GICv2, in group 0.
    pub fn configured_v2(vcpus: usize) -> Self {
        let vm = Self::v2(vcpus);
        vm.write(0, Frame::BankedDistributor, 0, 4, 1);
        for vcpu in 0..vcpus {
            vm.enable_v2(vcpu);
        }
        vm.settle();
        vm
    }

    /// Enables what a VCPU finds in the distributor of a GICv2.
    pub fn enable_v2(&self, vcpu: usize) {
        for bank in 0..3 {
            let at = offset::ISENABLER + 4 * bank;
            self.write(vcpu, Frame::BankedDistributor, at, 4, 0xffff_ffff);
        }
    }

    fn enable_bank(&self, vcpu: usize, frame: Frame, base: u64, bank: u64) {
        self.write(vcpu, frame, base + offset::IGROUPR + 4 * bank, 4, 0xffff_ffff);
        for word in 0..8 {
            let at = base + offset::IPRIORITYR + 32 * bank + 4 * word;
            self.write(vcpu, frame, at, 4, 0xa0a0_a0a0);
        }
        self.write(vcpu, frame, base + offset::ISENABLER + 4 * bank, 4, 0xffff_ffff);
    }

    /// Runs code on the CPU of a VCPU; checks that it does bounded work.
    pub fn on<T>(&self, vcpu: usize, code: impl FnOnce() -> T) -> T {
        self.machine.current.set(Some(vcpu));
        self.machine.work.set(0);
        let result = code();
        assert!(self.machine.work.get() <= WORK_MAX, "{} calls", self.machine.work.get());
        self.machine.current.set(None);
        self.machine.check();
        result
    }

    pub fn write(&self, vcpu: usize, frame: Frame, offset: u64, bytes: usize, value: u64) {
        self.on(vcpu, || self.gic.mmio_write(&self.machine, vcpu, frame, offset, bytes, value))
            .expect("a legal access");
    }

    pub fn read(&self, vcpu: usize, frame: Frame, offset: u64, bytes: usize) -> u64 {
        self.on(vcpu, || self.gic.mmio_read(&self.machine, vcpu, frame, offset, bytes))
            .expect("a legal access")
    }

    /// Frame and offset of the registers for an interrupt as `owner` sees it.
    fn place(owner: usize, intid: u32) -> (Frame, u64) {
        if intid < 32 {
            (Frame::Redistributor(owner), offset::SGI_FRAME)
        } else {
            (Frame::Distributor, 0)
        }
    }

    /// `vcpu` writes a one-bit register (I[SC]...R) for an interrupt of `owner`.
    pub fn write_bit(&self, vcpu: usize, owner: usize, register: u64, intid: u32) {
        let (frame, base) = Self::place(owner, intid);
        let at = base + register + u64::from(intid / 32 * 4);
        self.write(vcpu, frame, at, 4, 1 << (intid % 32));
    }

    pub fn read_bit(&self, vcpu: usize, owner: usize, register: u64, intid: u32) -> bool {
        let (frame, base) = Self::place(owner, intid);
        let at = base + register + u64::from(intid / 32 * 4);
        self.read(vcpu, frame, at, 4) >> (intid % 32) & 1 != 0
    }

    pub fn set_priority(&self, vcpu: usize, owner: usize, intid: u32, priority: u8) {
        let (frame, base) = Self::place(owner, intid);
        let at = base + offset::IPRIORITYR + u64::from(intid);
        self.write(vcpu, frame, at, 1, u64::from(priority));
    }

    pub fn route(&self, vcpu: usize, intid: u32, target: u64) {
        let at = offset::IROUTER + 8 * u64::from(intid);
        self.write(vcpu, Frame::Distributor, at, 8, target);
    }

    /// Makes shared interrupt `intid` edge-triggered; its neighbours become levels.
    pub fn set_edge(&self, vcpu: usize, intid: u32) {
        let at = offset::ICFGR + u64::from(intid / 16 * 4);
        let old = self.read(vcpu, Frame::Distributor, at, 4);
        self.write(vcpu, Frame::Distributor, at, 4, old | 2 << (intid % 16 * 2));
    }

    pub fn send_sgi(&self, vcpu: usize, targets: u64, intid: u64) {
        self.on(vcpu, || self.gic.write_sgi1r(&self.machine, vcpu, intid << 24 | targets));
    }

    /// A virtual device that runs on a CPU without a VCPU of this VM changes its line.
    pub fn set_line(&self, intid: u32, asserted: bool) {
        self.gic.set_line(&self.machine, intid, asserted);
    }

    pub fn raise(&self, intid: u32) {
        self.gic.raise(&self.machine, intid);
    }

    /// A physical interrupt is raised: level or edge, as it is configured.
    pub fn fire(&self, vcpu: usize, physical: u32) {
        self.machine.source(Physical::of(vcpu, physical), |source| {
            if source.edge { source.pending = true } else { source.line = true }
        });
    }

    /// Lets a physical level fall.
    pub fn quiet(&self, vcpu: usize, physical: u32) {
        self.machine.source(Physical::of(vcpu, physical), |source| source.line = false);
    }

    /// Takes one outstanding interrupt of the hypervisor; `false` if there is none.
    pub fn step(&self) -> bool {
        if let Some((vcpu, intid)) = self.machine.firing() {
            self.take_physical(vcpu, intid);
            return true;
        }
        for (vcpu, cpu) in self.machine.cpus.iter().enumerate() {
            if self.machine.maintenance(vcpu) && cpu.attention.is_running() {
                self.on(vcpu, || self.gic.maintenance(&self.machine, vcpu));
                return true;
            }
            if cpu.kicked.replace(false) && cpu.started.get() {
                self.take_kick(vcpu);
                return true;
            }
        }
        false
    }

    /// Takes all outstanding interrupts of the hypervisor.
    pub fn settle(&self) {
        for _ in 0..100 {
            if !self.step() {
                return;
            }
        }
        panic!("interrupts of the hypervisor do not end");
    }

    pub fn acknowledge(&self, vcpu: usize) -> Option<u32> {
        self.machine.acknowledge(vcpu)
    }

    pub fn acknowledge_when_settled(&self, vcpu: usize) -> Option<u32> {
        self.settle();
        self.acknowledge(vcpu)
    }

    pub fn end(&self, vcpu: usize) -> Option<u32> {
        self.machine.end(vcpu)
    }

    /// Returns what the guest on `vcpu` handles if it does nothing else, in order.
    pub fn drain(&self, vcpu: usize) -> Vec<u32> {
        let mut handled = Vec::new();
        self.settle();
        while let Some(intid) = self.acknowledge(vcpu) {
            self.settle();
            handled.push(intid);
            assert_eq!(self.end(vcpu), Some(intid));
            self.settle();
            assert!(handled.len() < 200, "delivered for ever: {handled:?}");
        }
        handled
    }
}
