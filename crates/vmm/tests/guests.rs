//! Guests of a few instructions under the KVM of this machine. Where there is none, the tests say so and pass.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use abi::guest::RAM;
use abi::kvm::{Call, block};
use vmm::{Counter, Event, Exit, Kick, Kvm, RealTime, Scale, Start, Vcpu, Vm, now};

const ENTRY: u64 = RAM + (1 << 20);

/// Runs `test` with a VCPU of a VM with this code, in a thread with real-time priority. Threads that get a handle through
/// the channel are kicked a little later: a thread that the test started would have its priority and its CPU.
fn with(code: &[u8], test: impl FnOnce(&mut Vcpu, &RealTime, &Sender<Kick>) + Send) {
    let kvm = match Kvm::open() {
        Ok(kvm) => kvm,
        Err(error) => return eprintln!("skipped: {error}"),
    };
    let vm = kvm.vm(4 << 20).expect("a VM");
    vm.load("the code", ENTRY, code).expect("loaded");
    let vm = &vm;
    let (kicks, to_kick) = channel::<Kick>();
    thread::scope(|scope| {
        let run = move || {
            let cpu = thread::available_parallelism().map_or(0, |cpus| cpus.get() - 1);
            match RealTime::enter(10, cpu) {
                Ok(thread) => {
                    let mut vcpu = vcpu(vm);
                    vcpu.attach(&thread).expect("attached");
                    test(&mut vcpu, &thread, &kicks);
                }
                Err(error) => eprintln!("skipped: {error}"),
            }
        };
        scope.spawn(run);
        for kick in to_kick {
            thread::sleep(Duration::from_millis(5));
            kick.kick();
        }
    });
}

fn vcpu(vm: &Vm) -> Vcpu {
    let start = Start { vcpu: 0, entry: ENTRY, arguments: "a=b" };
    vm.vcpu(start).expect("a VCPU")
}

/// `mov eax, call; mov edx, PORT; out dx, eax`
fn call(call: Call) -> Vec<u8> {
    let number = (call as u32).to_le_bytes();
    [&[0xb8][..], &number, &[0xba, abi::kvm::PORT as u8, 0, 0, 0, 0xef]].concat()
}

const LOOP: [u8; 2] = [0xeb, 0xfe];

#[test]
fn calls_come_in_order_and_have_arguments() {
    // mov qword [rdi + ARGUMENT], 2; mov byte [rdi + TEXT], 'h'; mov byte [rdi + TEXT + 1], 'i'
    let mut code = vec![0x48, 0xc7, 0x47, 8 * abi::kvm::ARGUMENT_WORD as u8, 2, 0, 0, 0];
    for (number, byte) in b"hi".iter().enumerate() {
        let offset = (abi::kvm::TEXT_OFFSET as u32 + number as u32).to_le_bytes();
        code.extend([&[0xc6, 0x87][..], &offset, &[*byte]].concat());
    }
    code.extend([call(Call::Console), call(Call::Off)].concat());
    with(&code, |vcpu, _, _| {
        let scale = Scale::measure();
        assert_eq!(vcpu.run(scale), Exit::Call(Call::Console));
        let mut text = b"longer".to_vec();
        vcpu.read_text(&mut text);
        assert_eq!(text, b"hi");
        assert_eq!(vcpu.run(scale), Exit::Call(Call::Off));
    });
}

#[test]
fn alarms_and_kicks_stop_a_guest_that_never_calls() {
    with(&LOOP, |vcpu, thread, kicks| {
        let scale = Scale::measure();
        let mut alarm = thread.alarm().expect("an alarm");
        let time = now() + 2_000_000;
        alarm.set(Some(time));
        assert_eq!(vcpu.run(scale), Exit::Signal);
        assert!(now() >= time);
        thread.take();
        alarm.rang();
        // One that comes before the run ends it, too.
        alarm.set(Some(1));
        assert_eq!(vcpu.run(scale), Exit::Signal);
        thread.take();
        kicks.send(thread.kick()).expect("somebody kicks");
        assert_eq!(vcpu.run(scale), Exit::Signal);
        // Nobody takes it: the next run ends at once.
        assert_eq!(vcpu.run(scale), Exit::Signal);
    });
}

/// With an event that Linux counts without help of the CPU: all else is as for accesses to memory.
#[test]
fn a_counter_stops_a_guest_at_its_limit_and_counts_on() {
    with(&LOOP, |vcpu, thread, _| {
        const LIMIT: u64 = 3_000_000;
        let scale = Scale::measure();
        let mut counter = Counter::new(Event::Clock, thread).expect("a counter");
        let mut alarm = thread.alarm().expect("an alarm");
        let mut count = counter.count().expect("it counts");
        for _ in 0..3 {
            let (start, before) = (now(), count);
            alarm.set(Some(start + 2_000_000_000));
            assert!(counter.set_limit(Some(count + LIMIT), count));
            assert_eq!(vcpu.run(scale), Exit::Signal);
            thread.take();
            count = counter.count().expect("it counts");
            assert!(count >= before + LIMIT, "it was {before}, and {count} when the guest stopped");
            assert!(now() < start + 2_000_000_000, "it was the alarm");
        }
        // Without a limit nothing but the alarm ends it, and one that is reached already ends it at once.
        assert!(counter.set_limit(None, count));
        let start = now();
        alarm.rang();
        alarm.set(Some(start + 4 * LIMIT));
        assert_eq!(vcpu.run(scale), Exit::Signal);
        assert!(now() >= start + 4 * LIMIT);
        thread.take();
        assert!(counter.set_limit(Some(1), counter.count().expect("it counts")));
        assert_eq!(vcpu.run(scale), Exit::Signal);
    });
}

#[test]
fn a_counter_that_the_cpu_does_not_have_is_refused() {
    with(&LOOP, |_, thread, _| {
        // A CPU with performance monitors has it.
        if let Err(error) = Counter::new(Event::CacheMisses, thread) {
            let text = error.to_string();
            assert!(text.contains("nothing counts") && text.contains("help: "), "{text}");
        }
    });
}

#[test]
fn guests_hurt_only_themselves() {
    let to_address = |address: u64| {
        // mov rax, address; mov [rax], eax
        [&[0x48, 0xb8][..], &address.to_le_bytes(), &[0x89, 0x00]].concat()
    };
    for (code, reason) in [
        (vec![0x0f, 0x0b], "exception"),             // ud2
        (vec![0xf4], "exception"),                   // hlt
        (vec![0xfa, 0x0f, 0x0b], "exception"),       // cli, which CPL 3 may do, and ud2
        (to_address(0x1000), "exception"),           // the page tables
        (to_address(0x7fff_ffff_f000), "exception"), // nothing
        (vec![0xe6, 0x80], "unknown-port"),          // out 0x80, al
        (vec![0xb8, 99, 0, 0, 0, 0xba, 0xb0, 0, 0, 0, 0xef], "unknown-call"),
    ] {
        with(&[&code[..], &LOOP].concat(), |vcpu, _, _| {
            assert_eq!(vcpu.run(Scale::measure()), Exit::Fault(reason), "{code:x?}");
        });
    }
}

#[test]
fn guests_see_the_time_of_the_host() {
    // rdtsc; shl rdx, 32; or rax, rdx; mov [rdi + ARGUMENT], rax
    let mut code = vec![0x0f, 0x31, 0x48, 0xc1, 0xe2, 32, 0x48, 0x09, 0xd0];
    code.extend([0x48, 0x89, 0x47, 8 * abi::kvm::ARGUMENT_WORD as u8]);
    code.extend(call(Call::Wait));
    with(&code, |vcpu, _, _| {
        let scale = Scale::measure();
        let before = now();
        let clock = scale.clock();
        assert_eq!(vcpu.run(scale), Exit::Call(Call::Wait));
        let (seen, after) = (abi::kvm::nanoseconds(vcpu.argument(), clock), now());
        assert!((before..=after).contains(&seen), "{before} {seen} {after}");
    });
}

#[test]
fn what_does_not_fit_the_ram_is_refused() {
    let Ok(kvm) = Kvm::open() else { return eprintln!("skipped: no KVM") };
    assert!(kvm.vm(0).is_err() && kvm.vm(4 << 30).is_err());
    let vm = kvm.vm(1 << 20).expect("a VM");
    for address in [0, RAM - 8, block(0), RAM + (1 << 20) - 4, u64::MAX] {
        assert!(vm.load("it", address, &[0; 8]).is_err(), "{address:#x}");
    }
    vm.load("it", RAM + (1 << 20) - 8, &[0; 8]).expect("it fits");
    let start = Start { vcpu: 0, entry: ENTRY, arguments: &"x".repeat(2000) };
    assert!(vm.vcpu(start).is_err());
}
