//! Whatever guests do to their virtual interrupt controller, on a machine that ends interrupts as they come: nothing
//! that does not exist reaches the machine.
#![no_main]

use std::cell::{Cell, RefCell};

use hypervisor::vdev::gic::{
    Attention, Env, Frame, GicConfig, LISTS_MAX, ListRegister, ListRegisters, Physical, VGic,
};

const VCPUS: usize = 3;

#[derive(Default)]
struct Lists {
    registers: RefCell<[u64; 4]>,
    when_none: Cell<bool>,
}

impl ListRegisters for Lists {
    fn count(&self) -> usize {
        4.min(LISTS_MAX)
    }

    fn synchronise(&self) {}

    fn empty(&self) -> u32 {
        let registers = self.registers.borrow();
        (0..4).filter(|&n| registers[n] >> 62 == 0).map(|n| 1 << n).sum()
    }

    fn read(&self, n: usize) -> ListRegister {
        ListRegister::from_bits(self.registers.borrow()[n])
    }

    fn write(&self, n: usize, content: ListRegister) {
        self.registers.borrow_mut()[n] = content.bits();
    }

    fn want_maintenance(&self) -> bool {
        self.when_none.get()
    }

    fn notify_when_none_pending(&self, on: bool) {
        self.when_none.set(on);
    }

    fn start(&self) {
        *self.registers.borrow_mut() = [0; 4];
    }

    fn stop(&self) {
        *self.registers.borrow_mut() = [0; 4];
    }
}

/// The PCPUs of the VCPUs, each of which executes its own.
struct Machine {
    lists: [Lists; VCPUS],
    attention: [Attention; VCPUS],
    executing: usize,
}

impl Default for Machine {
    fn default() -> Self {
        let running = || {
            let attention = Attention::new();
            attention.run();
            attention
        };
        Self {
            lists: Default::default(),
            attention: std::array::from_fn(|_| running()),
            executing: 0,
        }
    }
}

impl Machine {
    fn exists(&self, interrupt: Physical) {
        match interrupt {
            Physical::Private { vcpu, intid } => {
                assert!(vcpu < VCPUS && intid == 27, "{interrupt:?}");
            }
            Physical::Shared { intid } => assert_eq!(intid, 40, "{interrupt:?}"),
        }
    }
}

impl Env for Machine {
    type Lists = Lists;

    fn lists(&self) -> &Lists {
        &self.lists[self.executing]
    }

    fn current(&self) -> Option<usize> {
        Some(self.executing)
    }

    fn attention(&self, vcpu: usize) -> Option<&Attention> {
        self.attention.get(vcpu)
    }

    fn settle(&self) {}

    fn kick(&self, vcpu: usize) {
        assert!(vcpu < VCPUS);
    }

    fn set_enabled(&self, interrupt: Physical, _enabled: bool) {
        self.exists(interrupt);
    }

    fn set_pending(&self, interrupt: Physical, _pending: bool) {
        self.exists(interrupt);
    }

    fn is_pending(&self, interrupt: Physical) -> bool {
        self.exists(interrupt);
        false
    }

    fn set_active(&self, interrupt: Physical, _active: bool) {
        self.exists(interrupt);
    }

    fn set_edge_triggered(&self, intid: u32, _edge: bool) {
        assert_eq!(intid, 40);
    }

    fn set_target(&self, intid: u32, vcpu: usize) {
        assert!(intid == 40 && vcpu < VCPUS);
    }
}

libfuzzer_sys::fuzz_target!(|input: (bool, Vec<(u8, u8, u16, u64)>)| {
    let (v2, operations) = input;
    let config = GicConfig { v2, vcpus: VCPUS, spis: 64, private: &[27], shared: &[(34, 40)] };
    let gic = VGic::new(&config).expect("it can be");
    let mut machine = Machine::default();
    for vcpu in 0..VCPUS {
        machine.executing = vcpu;
        gic.start_vcpu(&machine, vcpu);
    }
    for (kind, who, offset, value) in operations {
        let vcpu = usize::from(who) % VCPUS;
        machine.executing = vcpu;
        let bytes = 1 << (kind >> 6);
        let (frame, offset) = match who >> 4 & 3 {
            _ if v2 => (Frame::BankedDistributor, u64::from(offset)),
            0 => (Frame::Redistributor(usize::from(who >> 6)), u64::from(offset) << 1),
            _ => (Frame::Distributor, u64::from(offset)),
        };
        match kind % 16 {
            0..5 => drop(gic.mmio_read(&machine, vcpu, frame, offset, bytes)),
            5..11 => drop(gic.mmio_write(&machine, vcpu, frame, offset, bytes, value)),
            11 if !v2 => gic.write_sgi1r(&machine, vcpu, value),
            12 => gic.raise(&machine, 34 + (value & 1) as u32),
            13 => {
                // The guest takes or ends what is listed.
                let mut registers = machine.lists[vcpu].registers.borrow_mut();
                let register = &mut registers[offset as usize % 4];
                *register = *register & !(3 << 62) | (value & 3) << 62;
            }
            14 => gic.maintenance(&machine, vcpu),
            _ => drop(gic.attend(&machine, vcpu)),
        }
    }
    gic.reset(&machine);
});
