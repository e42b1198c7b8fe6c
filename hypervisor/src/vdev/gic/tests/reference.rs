//! What an interrupt controller does, without list registers: each interrupt is
//! pending or not, and active at a VCPU or not.

use super::vm::{DEVICE, TIMER};

/// Interrupts under test: SGIs, the timer, virtual devices (level and edge), an assigned device.
pub const INTIDS: [u32; 10] = [0, 7, TIMER, 33, 34, 35, 36, 37, 38, DEVICE.0];
/// Those that are edge-triggered.
pub const EDGES: [u32; 5] = [0, 7, 36, 37, 38];

/// State of one interrupt.
#[derive(Clone, Copy, Debug)]
pub struct Interrupt {
    pub intid: u32,
    /// VCPU that owns it (private) or that it is routed to.
    pub target: usize,
    pub enabled: bool,
    pub priority: u8,
    pub latch: bool,
    pub line: bool,
    /// The VCPU that has acknowledged it.
    pub active: Option<usize>,
    /// Was deliverable to these VCPUs since all list registers were up to date.
    pub allowed: u32,
}

impl Interrupt {
    pub fn is_edge(&self) -> bool {
        EDGES.contains(&self.intid)
    }

    pub fn is_hardware(&self) -> bool {
        self.intid == TIMER || self.intid == DEVICE.0
    }

    pub fn is_pending(&self) -> bool {
        self.latch || self.line && !self.is_edge()
    }
}

/// The interrupt controller of a VM.
#[derive(Clone, Debug)]
pub struct Reference {
    pub interrupts: Vec<Interrupt>,
    pub group1: bool,
}

impl Reference {
    /// As [`super::vm::Vm::configured`] leaves it.
    pub fn new(vcpus: usize) -> Self {
        let owners = |intid: u32| if intid < 32 { 0..vcpus } else { 0..1 };
        let interrupts = INTIDS.iter().flat_map(|&intid| {
            owners(intid).map(move |target| Interrupt {
                intid,
                target,
                enabled: true,
                priority: 0xa0,
                latch: false,
                line: false,
                active: None,
                allowed: 0,
            })
        });
        Self { interrupts: interrupts.collect(), group1: true }
    }

    /// The interrupt as VCPU `owner` sees it.
    pub fn get(&mut self, owner: usize, intid: u32) -> &mut Interrupt {
        let mut all = self.interrupts.iter_mut();
        all.find(|i| i.intid == intid && (intid >= 32 || i.target == owner)).expect("known")
    }

    fn deliverable(&self, interrupt: &Interrupt) -> bool {
        self.group1 && interrupt.enabled && interrupt.active.is_none() && interrupt.is_pending()
    }

    /// Most urgent priority that a VCPU must be offered, of interrupts that are not `late`.
    pub fn best(&self, vcpu: usize, late: impl Fn(u32) -> bool) -> Option<u8> {
        let own = self.interrupts.iter().filter(|i| i.target == vcpu && self.deliverable(i));
        own.filter(|i| !late(i.intid)).map(|i| i.priority).min()
    }

    /// Remembers what could be delivered; must be called after every change.
    pub fn note(&mut self) {
        for at in 0..self.interrupts.len() {
            if self.deliverable(&self.interrupts[at]) {
                self.interrupts[at].allowed |= 1 << self.interrupts[at].target;
            }
        }
    }

    /// All list registers are up to date: only what is deliverable now may come.
    pub fn settled(&mut self) {
        for interrupt in &mut self.interrupts {
            interrupt.allowed = 0;
        }
        self.note();
    }

    /// A VCPU acknowledged an interrupt.
    pub fn acknowledge(&mut self, vcpu: usize, intid: u32) {
        let interrupt = self.get(vcpu, intid);
        assert!(interrupt.allowed & 1 << vcpu != 0, "{vcpu} must not get {interrupt:?}");
        assert_eq!(interrupt.active, None, "already active");
        interrupt.active = Some(vcpu);
        interrupt.latch = false;
        interrupt.allowed = 0;
    }

    /// A VCPU ended an interrupt.
    pub fn end(&mut self, vcpu: usize, intid: u32) {
        let interrupt = self.get(vcpu, intid);
        if interrupt.active == Some(vcpu) {
            interrupt.active = None;
        }
    }
}
