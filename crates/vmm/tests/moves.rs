//! Pages that move under a guest of the KVM of this machine. Where there is none, the test says so and passes.
//!
//! It is alone in its process: a thread that moves pages must not wait for guests of other tests on the same CPU.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use abi::guest::RAM;
use abi::kvm::Call;
use vmm::{
    Candidates, Elsewhere, Exit, Frame, Kvm, Memory, PAGE, RealTime, Scale, Start, TABLES_BYTES,
    VmMemory,
};

const ENTRY: u64 = RAM + (1 << 20);

/// A guest that writes a number and looks for it at once, again and again, loses none while the page moves.
#[test]
fn a_page_that_moves_under_a_guest_that_writes_loses_nothing() {
    const OFFSET: u64 = 3 << 19;
    const MOVES: u64 = 2_000;
    let kvm = match Kvm::open() {
        Ok(kvm) => kvm,
        Err(error) => return eprintln!("skipped: {error}"),
    };
    let mut candidates = Candidates::new().expect("a file");
    candidates.add((2 << 20) / PAGE + 2).expect("memory");
    let memory = candidates.movable(&[(2, (2 << 20) / PAGE)], &[(0, 2)]).expect("memory");
    let tables = Memory::new("tables", TABLES_BYTES).expect("memory");
    let vm = kvm.vm_in(VmMemory { tables, ram: memory.memory().clone() }).expect("a VM");
    // mov r8, address; xor eax, eax; again: inc rax; mov [r8], rax; cmp [r8], rax; je again; and a call
    let address = (RAM + OFFSET).to_le_bytes();
    let again = [0x48, 0xff, 0xc0, 0x49, 0x89, 0x00, 0x49, 0x39, 0x00, 0x74, 0xf5];
    let [number, port] = [Call::Off as u8, abi::kvm::PORT as u8];
    let lost = [0xb8, number, 0, 0, 0, 0xba, port, 0, 0, 0, 0xef];
    let code = [&[0x49, 0xb8][..], &address, &[0x31, 0xc0], &again, &lost].concat();
    vm.load("the code", ENTRY, &code).expect("loaded");
    let (vm, (sends, kick)) = (&vm, channel());
    let cpu = thread::available_parallelism().map_or(0, |cpus| cpus.get() - 1);
    // Who moves pages keeps a lock meanwhile, and a thread with real-time priority would keep it from the CPU.
    let Some(_elsewhere) = Elsewhere::new(&[cpu]) else {
        return eprintln!("skipped: there is one CPU");
    };
    thread::scope(|scope| {
        let run = scope.spawn(move || {
            let thread = match RealTime::enter(10, cpu) {
                Ok(thread) => thread,
                Err(error) => return eprintln!("skipped: {error}"),
            };
            let start = Start { vcpu: 0, entry: ENTRY, arguments: "" };
            let mut vcpu = vm.vcpu(start).expect("a VCPU");
            vcpu.attach(&thread).expect("attached");
            sends.send(thread.kick()).expect("somebody moves pages");
            let (scale, mut hidden) = (Scale::measure(), 0u64);
            loop {
                match vcpu.run(scale) {
                    Exit::Hidden => hidden += 1,
                    Exit::Signal => break,
                    exit => panic!("a number is lost: {exit:?}"),
                }
            }
            println!("the page was hidden when the guest wrote: {hidden} times");
        });
        let Ok(kick) = kick.recv() else { return };
        let page = OFFSET / PAGE;
        let mut last = 0;
        for number in 0..MOVES {
            let frames = [Frame::Home, Frame::Spare(1), Frame::Spare(0)];
            let [from, to] = [number, number + 1].map(|it| frames[it as usize % 3]);
            memory.move_page(page, from, to, true);
            let word = memory.memory().word(OFFSET);
            assert!(word >= last, "{word} after {last}");
            last = word;
            thread::sleep(Duration::from_micros(20));
        }
        assert!(last > MOVES, "it has written all the time");
        kick.kick();
        run.join().expect("it ends well");
    });
}
