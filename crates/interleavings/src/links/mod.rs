//! Ends of links, at which VCPUs of several VMs are at the same time. Copied are `vm/link.rs` and `vm/port/notes.rs`; the card and
//! the rings are those of the hypervisor, and the rest is a model.

pub use hypervisor::{plan, timer, vdev};

pub mod guest;
pub mod scenes;

pub mod lock {
    pub use crate::with_shuttle::lock::Mutex;
}

pub mod arch {
    pub mod cpu {
        pub fn now() -> u64 {
            0
        }

        pub fn relax() {
            crate::guest::busy();
            shuttle::thread::yield_now();
        }
    }

    pub mod regs {
        pub mod esr_el2 {
            pub fn read() -> u64 {
                0
            }
        }
    }

    pub mod memory {
        use std::sync::Mutex;

        use shuttle::sync::atomic::{AtomicU64, Ordering::SeqCst};

        /// RAM, of which nobody may write a part any more.
        #[derive(Default)]
        pub struct Bytes {
            pub data: Mutex<Vec<u8>>,
            pub sealed: Mutex<Vec<u64>>,
            /// Others go on before each access.
            accesses: AtomicU64,
        }

        #[derive(Clone, Copy)]
        pub struct GuestMemory(pub &'static Bytes);

        impl GuestMemory {
            /// Returns the number that the guest finds there, unnoticed by others.
            pub fn u16_at(self, offset: u64) -> u16 {
                let data = self.0.data.lock().unwrap();
                u16::from_le_bytes([data[offset as usize], data[offset as usize + 1]])
            }

            fn with<T>(self, offset: u64, bytes: usize, act: impl FnOnce(&mut [u8]) -> T) -> Option<T> {
                self.0.accesses.fetch_add(1, SeqCst);
                let mut data = self.0.data.lock().unwrap();
                data.get_mut(offset as usize..)?.get_mut(..bytes).map(act)
            }

            pub fn load(self, offset: u64, to: &mut [u8]) -> bool {
                self.with(offset, to.len(), |data| to.copy_from_slice(data)).is_some()
            }

            pub fn store(self, offset: u64, from: &[u8]) -> bool {
                let done = self.with(offset, from.len(), |data| data.copy_from_slice(from)).is_some();
                let sealed = self.0.sealed.lock().unwrap();
                assert!(!sealed.contains(&(offset >> 12)), "written though no ring is there any more");
                done
            }

            pub fn load_u16(self, offset: u64) -> Option<u16> {
                let mut bytes = [0; 2];
                self.load(offset, &mut bytes).then_some(u16::from_le_bytes(bytes))
            }

            pub fn store_u16(self, offset: u64, value: u16) -> bool {
                self.store(offset, &value.to_le_bytes())
            }
        }
    }
}

pub mod machine {
    use std::cell::Cell;

    use crate::vm::Vm;

    std::thread_local! {
        /// Shuttle has one thread for all of its own.
        static VMS: Cell<&'static [&'static Vm]> = const { Cell::new(&[]) };
    }

    pub fn publish(vms: &'static [&'static Vm]) {
        VMS.with(|all| all.set(vms));
    }

    pub fn vms() -> &'static [&'static Vm] {
        VMS.with(Cell::get)
    }

    pub fn tell_link(vm: usize, link: usize) {
        vms()[vm].links.tell(link);
        call_one(vms()[vm]);
    }

    pub fn call_one(vm: &Vm) {
        vm.called.store(true, std::sync::atomic::Ordering::SeqCst);
    }
}

pub mod pcpu {
    use crate::timer::{NEVER, Purpose};
    use crate::vm::{Vcpu, Vm};

    pub struct Assignment {
        pub vm: &'static Vm,
        pub vcpu: Vcpu,
    }

    pub struct Pcpu;

    impl Pcpu {
        pub fn is_next(&self, _: &Assignment) -> bool {
            true
        }

        pub fn deadline(&self, _: Purpose) -> u64 {
            NEVER
        }

        pub fn set_deadline(&self, _: Purpose, _: u64) {}

        pub fn set_alarm(&self, _: &Assignment, _: u64) {}
    }
}

pub mod vm {
    use shuttle::sync::atomic::{AtomicBool, Ordering::SeqCst};

    use crate::arch::memory::GuestMemory;
    use crate::pcpu::{Assignment, Pcpu};
    use crate::plan::Range;
    use crate::timer::NEVER;

    pub mod link;

    pub mod port {
        pub mod notes;
    }

    pub struct Vm {
        pub index: usize,
        pub links: link::Links,
        pub ports: Ports,
        pub memory: Vec<(Range, GuestMemory)>,
        pub gic: Gic,
        /// A VCPU has to look for what was told.
        pub called: AtomicBool,
    }

    /// Ends of serial lines: there are none.
    pub struct Ports;

    impl Ports {
        pub fn due_after(&self, _: u64) -> u64 {
            NEVER
        }
    }

    pub struct Gic(pub AtomicBool);

    impl Gic {
        pub fn set_line(&self, _: &GicEnv, _: u32, asserted: bool) {
            self.0.store(asserted, SeqCst);
        }
    }

    pub struct GicEnv;

    impl GicEnv {
        pub fn of(_: &Assignment) -> Self {
            Self
        }

        pub fn at(_: &Assignment, _: &Pcpu) -> Self {
            Self
        }

        pub fn any(_: &Vm) -> Self {
            Self
        }
    }

    pub struct Vcpu {
        pub context: ContextSlot,
    }

    impl Vcpu {
        pub fn is_ready(&self) -> bool {
            true
        }
    }

    pub struct ContextSlot;

    impl ContextSlot {
        pub fn with(&self, _: impl FnOnce(&mut Context)) {}
    }

    pub struct Context;

    impl Context {
        pub fn skip(&mut self, _: u64) {}
    }
}
