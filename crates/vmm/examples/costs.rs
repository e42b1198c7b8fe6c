//! Measures what KVM takes on this host: a call of a guest, the gap between two VCPUs that take turns, and a limit that stops a VCPU.
//!
//! `cargo run --release -p bulkhead-vmm --example costs [CPU]`; the CPU is the last one if none is given.

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn main() {
    eprintln!("There is KVM with Linux on x86-64 only.");
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn main() {
    if let Err(error) = costs::measure() {
        eprintln!("error: {error}");
        std::process::exit(2);
    }
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod costs {
    use std::thread;

    use abi::guest::RAM;
    use abi::kvm::{Call, PORT, nanoseconds};
    use vmm::{
        Alarm, Claim, Counter, Error, Event, Exit, Kvm, LockedMemory, RealTime, Scale, Start,
        SystemCalls, Vcpu, Vm, now,
    };

    const ENTRY: u64 = RAM + (1 << 20);
    const CALLS: usize = 5_000;
    const SWITCHES: usize = 1_000;
    /// Time that a VCPU has in each turn.
    const TURN_NS: u64 = 500_000;

    /// Looks at the time-stamp counter again and again and stores it as the argument of a call; the first time in each turn
    /// as a mark, too.
    const WATCH: [u8; 58] = [
        0x0f, 0x31, // rdtsc
        0x48, 0xc1, 0xe2, 0x20, // shl rdx, 32
        0x48, 0x09, 0xd0, // or rax, rdx
        0x48, 0x89, 0x47, 0x40, // mov [rdi + ARGUMENT], rax
        0x48, 0x8b, 0x4f, 0x48, // mov rcx, [rdi + MARKS]
        0x48, 0x3b, 0x4f, 0x50, // cmp rcx, [rdi + MARKS_READ]
        0x75, 0xe9, // jne the start
        0x0f, 0x31, // rdtsc: it may have been stopped behind the first one
        0x48, 0xc1, 0xe2, 0x20, // shl rdx, 32
        0x48, 0x09, 0xd0, // or rax, rdx
        0x48, 0x89, 0xca, // mov rdx, rcx
        0x83, 0xe2, 0x3f, // and edx, 63
        0xc1, 0xe2, 0x04, // shl edx, 4
        0x48, 0x89, 0x84, 0x17, 0x00, 0x0c, 0x00, 0x00, // mov [rdi + rdx + 3072], rax
        0x48, 0xff, 0xc1, // inc rcx
        0x48, 0x89, 0x4f, 0x48, // mov [rdi + MARKS], rcx
        0xeb, 0xc6, // jmp to the start
    ];

    type Times = (&'static str, Vec<u64>);

    /// Prints all.
    pub fn measure() -> Result<(), Error> {
        // A thread of its own, because it can neither print nor unlock memory when it has given up system calls.
        let (times, _locked) = thread::spawn(all).join().map_err(|_| Error::thread_ended())??;
        times.into_iter().for_each(|(what, times)| show(what, times));
        Ok(())
    }

    fn all() -> Result<(Vec<Times>, LockedMemory), Error> {
        let kvm = Kvm::open()?;
        let scale = Scale::measure();
        let cpus = thread::available_parallelism().map_or(1, |cpus| cpus.get());
        let cpu = std::env::args().nth(1).and_then(|cpu| cpu.parse().ok()).unwrap_or(cpus - 1);
        let _claim = Claim::new(cpu)?;
        // mov eax, MARKS; mov edx, PORT; out dx, eax; jmp to out
        let call = [0xb8, Call::Marks as u8, 0, 0, 0, 0xba, PORT as u8, 0, 0, 0, 0xef, 0xeb, 0xfd];
        let caller = vm(&kvm, &call)?;
        let [one, other, third] = [(); 3].map(|()| vm(&kvm, &WATCH));
        let (one, other, third) = (one?, other?, third?);
        let thread = RealTime::enter(80, cpu)?;
        let locked = LockedMemory::new()?;
        let mut calling = vcpu(&caller, &thread)?;
        let both = [vcpu(&one, &thread)?, vcpu(&other, &thread)?];
        let third = vcpu(&third, &thread)?;
        let (alarm, counter) = (thread.alarm()?, Counter::new(Event::Clock, &thread)?);
        let unfiltered = calls(&mut calling, scale);
        SystemCalls::new(None)?.enter()?;
        let filtered = calls(&mut calling, scale);
        let (late, gaps) = switches(both, (&thread, alarm), scale);
        let limited = limits(third, (&thread, counter), scale);
        let times = vec![
            ("call of a guest and back, without a filter of system calls", unfiltered),
            ("call of a guest and back", filtered),
            ("alarm that stops a VCPU, late", late),
            ("last instruction of one VCPU to first of the other", gaps),
            ("limit that stops a VCPU, late", limited),
        ];
        Ok((times, locked))
    }

    fn vm(kvm: &Kvm, code: &[u8]) -> Result<Vm, Error> {
        let vm = kvm.vm(2 << 20)?;
        vm.load("the code", ENTRY, code)?;
        Ok(vm)
    }

    fn vcpu(vm: &Vm, thread: &RealTime) -> Result<Vcpu, Error> {
        let vcpu = vm.vcpu(Start { vcpu: 0, entry: ENTRY, arguments: "" })?;
        vcpu.attach(thread)?;
        Ok(vcpu)
    }

    fn calls(vcpu: &mut Vcpu, scale: Scale) -> Vec<u64> {
        let call = |_| {
            let start = now();
            assert_eq!(vcpu.run(scale), Exit::Call(Call::Marks));
            now() - start
        };
        (0..CALLS).map(call).collect()
    }

    fn switches(
        mut vcpus: [Vcpu; 2],
        (thread, mut alarm): (&RealTime, Alarm),
        scale: Scale,
    ) -> (Vec<u64>, Vec<u64>) {
        let clock = scale.clock();
        let (mut late, mut gaps, mut last) = (Vec::new(), Vec::new(), None);
        for turn in 0..SWITCHES {
            let vcpu = &mut vcpus[turn % 2];
            let end = now() + TURN_NS;
            alarm.set(Some(end));
            assert_eq!(vcpu.run(scale), Exit::Signal);
            late.push(now() - end);
            thread.take();
            alarm.rang();
            let mut first = None;
            vcpu.take_marks(|time, _| first = Some(nanoseconds(time, clock)));
            if let (Some(last), Some(first)) = (last, first) {
                gaps.push(first.saturating_sub(last));
            }
            last = Some(nanoseconds(vcpu.argument(), clock));
        }
        (late, gaps)
    }

    /// Returns how long a VCPU executed beyond limits of its processor time, which stand for those of memory accesses.
    fn limits(
        mut vcpu: Vcpu,
        (thread, mut counter): (&RealTime, Counter),
        scale: Scale,
    ) -> Vec<u64> {
        let mut late = Vec::new();
        let mut count = counter.count().unwrap_or_default();
        for _ in 0..SWITCHES {
            let limit = count + TURN_NS;
            assert!(counter.set_limit(Some(limit), count), "Linux sets a limit");
            assert_eq!(vcpu.run(scale), Exit::Signal);
            count = counter.count().unwrap_or_default();
            late.push(count.saturating_sub(limit));
            thread.take();
            counter.rang();
        }
        late
    }

    fn show(what: &str, mut times: Vec<u64>) {
        times.sort_unstable();
        let part = |part: usize| times[(times.len() - 1) * part / 1000] as f64 / 1e3;
        println!(
            "{what}: {} times, min {:.1} us, median {:.1} us, 99 % {:.1} us, max {:.1} us",
            times.len(),
            part(0),
            part(500),
            part(990),
            part(1000)
        );
    }
}
