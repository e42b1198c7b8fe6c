//! The machine: interrupts between CPUs and of a device, list registers.

pub mod context {
    #[derive(Default)]
    pub struct Context {
        pub pstate: u64,
        pub x: [u64; 18],
    }
}

pub mod percpu {
    use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

    use crate::pcpu::Pcpu;

    shuttle::thread_local! {
        pub static THIS: std::cell::Cell<Option<&'static Pcpu>> = std::cell::Cell::new(None);
    }

    /// The CPU that executes this.
    pub fn this() -> Option<&'static Pcpu> {
        THIS.with(|this| this.get())
    }

    /// Only its own CPU changes it.
    pub struct StaticRef<T: 'static>(AtomicPtr<T>);

    impl<T> StaticRef<T> {
        pub const fn empty() -> Self {
            Self(AtomicPtr::new(std::ptr::null_mut()))
        }

        pub fn own(&self) -> Option<&'static T> {
            // SAFETY: only `set_own` stores here, and only references that live for ever.
            unsafe { self.0.load(Relaxed).as_ref() }
        }

        pub fn set(&self, value: Option<&'static T>) {
            self.set_own(value);
        }

        pub fn set_own(&self, value: Option<&'static T>) {
            self.0.store(value.map_or(std::ptr::null_mut(), |it| std::ptr::from_ref(it).cast_mut()), Relaxed);
        }
    }
}

pub mod cpu {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    use super::percpu::this;

    /// Later each time.
    pub fn now() -> u64 {
        static NOW: AtomicU64 = AtomicU64::new(1);
        NOW.fetch_add(100, Relaxed)
    }

    pub fn now_unordered() -> u64 {
        now()
    }

    pub fn invalidate_guest_translations() {}

    pub fn invalidate_own_translations() {}

    pub fn wait_for_interrupt() {}

    pub fn isb() {}

    pub fn error_pending() -> bool {
        false
    }

    pub fn error_pending_after_accesses() -> bool {
        false
    }

    pub fn take_error() {}

    pub fn halt() -> ! {
        panic!("halted")
    }

    pub fn interrupt_pending() -> bool {
        this().is_some_and(|pcpu| pcpu.machine.has_interrupt(pcpu))
    }
}

pub mod registers {
    pub fn loaded_timer() -> Option<u64> {
        None
    }
}

pub mod regs {
    pub mod cntv_ctl_el0 {
        pub fn write(_: u64) {}
    }
}

pub mod gic {
    use std::sync::{Mutex, PoisonError};

    use super::percpu::this;
    use crate::machine::Machine;
    use crate::vdev::gic::{ListRegister, ListRegisters};

    pub const HYPERVISOR_TIMER: u32 = 26;
    pub const MAINTENANCE: u32 = 25;
    pub const LPIS: u32 = 8192;
    const LISTS: usize = 2;

    pub fn is_special(intid: u32) -> bool {
        (1020..1024).contains(&intid)
    }

    pub fn is_v2() -> bool {
        false
    }

    pub fn acknowledge() -> u32 {
        this().map_or(1023, |pcpu| pcpu.machine.acknowledge(pcpu))
    }

    pub fn end(_: u32) {}

    pub fn deactivate(intid: u32) {
        if intid >= 32
            && let Some(shared) = shared()
        {
            shared.set_active(intid, false);
        }
    }

    pub struct Private;

    impl Private {
        pub fn set_enabled(&self, _: u32, _: bool) {}
        pub fn set_pending(&self, _: u32, _: bool) {}
        pub fn set_active(&self, _: u32, _: bool) {}
        pub fn is_pending(&self, _: u32) -> bool {
            false
        }
        pub fn exchange_active(&self, _: u32, _: bool, _: bool) -> bool {
            false
        }
    }

    /// No virtual timers.
    pub fn private(_: usize) -> Option<Private> {
        None
    }

    pub fn shared() -> Option<&'static Machine> {
        this().map(|pcpu| pcpu.machine)
    }

    /// List registers, and whether to interrupt when none is pending.
    #[derive(Debug, Default)]
    pub struct SavedLists(Mutex<([u64; LISTS], bool)>);

    #[derive(Clone, Copy)]
    pub struct Lists(Option<&'static SavedLists>);

    impl Lists {
        pub const LOADED: Self = Self(None);

        pub const fn saved(lists: &'static SavedLists) -> Self {
            Self(Some(lists))
        }

        pub fn save(to: &'static SavedLists) -> bool {
            let loaded = Self::LOADED.with(|lists| *lists);
            Self::saved(to).with(|lists| *lists = loaded);
            true
        }

        pub fn load(from: &'static SavedLists) {
            let saved = Self::saved(from).with(|lists| *lists);
            Self::LOADED.with(|lists| *lists = saved);
        }

        fn with<T>(self, act: impl FnOnce(&mut ([u64; LISTS], bool)) -> T) -> T {
            let lists = self.0.or_else(|| this().map(|pcpu| &pcpu.lists)).expect("a CPU");
            act(&mut lists.0.lock().unwrap_or_else(PoisonError::into_inner))
        }

        fn all(self) -> [ListRegister; LISTS] {
            self.with(|lists| lists.0.map(ListRegister::from_bits))
        }

        /// The guest handles the most urgent pending interrupt, as its CPU interface lets it.
        pub fn handle(self) -> Option<u32> {
            let all = self.all();
            let slot = all.iter().position(|it| it.is_pending() && !it.is_active())?;
            let entry = all[slot];
            self.with(|lists| lists.0[slot] = entry.bits() & !(3 << 62));
            if let Some(physical) = entry.physical() {
                deactivate(physical);
            }
            Some(entry.intid())
        }
    }

    impl ListRegisters for Lists {
        fn count(&self) -> usize {
            LISTS
        }

        fn empty(&self) -> u32 {
            let full = |it: &ListRegister| it.is_pending() || it.is_active() || it.is_watched();
            let all = self.all();
            (0..LISTS).filter(|&n| !full(&all[n])).fold(0, |empty, n| empty | 1 << n)
        }

        fn read(&self, n: usize) -> ListRegister {
            self.all()[n]
        }

        fn write(&self, n: usize, content: ListRegister) {
            self.with(|lists| lists.0[n] = content.bits());
        }

        fn want_maintenance(&self) -> bool {
            let all = self.all();
            let notify = self.with(|lists| lists.1);
            notify && !all.iter().any(|it| it.is_pending() && !it.is_active())
                || all.iter().any(|it| it.is_watched() && !it.is_pending() && !it.is_active())
        }

        fn synchronise(&self) {}

        fn notify_when_none_pending(&self, on: bool) {
            self.with(|lists| lists.1 = on);
        }

        fn start(&self) {
            self.with(|lists| *lists = Default::default());
        }

        fn stop(&self) {
            self.start();
        }
    }
}
