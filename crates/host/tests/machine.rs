//! VMs of a few instructions under servers, on the KVM of this machine. Where there is none, the tests say so and pass.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use abi::guest::RAM;
use abi::kvm::{ARGUMENT_WORD, Call, MARKS_MAX, MARKS_WORD, PORT, SERVERS_START_WORD};
use abi::trace::{Kind, Record};
use host::machine::{Error, Guest, Id, News, Next, Prepared, Running, Seats};
use policy::cpu::{Cpu, Slot};
use policy::server::{Parameters, Policy};
use policy::time::{Duration as Ticks, Instant as Time};

const LOAD: u64 = RAM + (512 << 10);
const LOOP: [u8; 2] = [0xeb, 0xfe];
const MS: u64 = 1_000_000;
/// A number that no CPU of this machine has.
const NO_CPU: usize = 1023;

fn call(call: Call) -> Vec<u8> {
    let number = (call as u32).to_le_bytes();
    [&[0xb8][..], &number, &[0xba, PORT as u8, 0, 0, 0, 0xef]].concat()
}

/// Sets a word of the block, by `mov qword [rdi + WORD], value`.
fn set_word(word: usize, value: u32) -> Vec<u8> {
    [&[0x48, 0xc7, 0x47, 8 * word as u8][..], &value.to_le_bytes()].concat()
}

/// Waits until this time after the start of the servers, by `mov rax, [rdi + START]; add rax, ns; mov [rdi + ARGUMENT], rax`.
fn wait_until(ns: u32) -> Vec<u8> {
    let mut code = vec![0x48, 0x8b, 0x47, 8 * SERVERS_START_WORD as u8, 0x48, 0x05];
    code.extend(ns.to_le_bytes());
    code.extend([0x48, 0x89, 0x47, 8 * ARGUMENT_WORD as u8]);
    code.extend(call(Call::Wait));
    code
}

/// The code of a VM, and the server of its VCPU with budget and period.
type Vm = (Vec<u8>, fn(Parameters) -> Policy, [u64; 2]);

fn guest(code: &[u8]) -> Guest {
    Guest {
        ram_bytes: 2 << 20,
        file: code.to_vec(),
        load: LOAD,
        entry: LOAD,
        arguments: String::new(),
    }
}

/// Waits until no other test runs VMs: on the same CPU they would starve each other.
fn alone() -> MutexGuard<'static, ()> {
    static RUNS: Mutex<()> = Mutex::new(());
    RUNS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn last_cpu() -> usize {
    thread::available_parallelism().map_or(0, |cpus| cpus.get() - 1)
}

/// VMs of one VCPU each on the last CPU of this machine; `None`: there is no KVM or no right to use it as needed.
fn start(vms: &[Vm]) -> Option<Running> {
    let vcpus = (0..vms.len() as u8).map(|vm| Id { vm, vcpu: 0 }).collect();
    let schedulers = |start| {
        let slots = vms.iter().map(|(_, policy, [budget, period])| {
            let start = Time(start);
            let parameters = Parameters {
                budget: Ticks(*budget),
                period: Ticks(*period),
                start,
                overrun: Ticks::ZERO,
            };
            Slot::new(policy(parameters)).expect("a server")
        });
        vec![Cpu::new(slots.collect())]
    };
    let guests = vms.iter().map(|(code, ..)| guest(code)).collect();
    let prepared = Prepared::new(guests, vec![Seats { cpu: last_cpu(), vcpus }]);
    match prepared.and_then(|prepared| prepared.start(schedulers)) {
        Ok(running) => Some(running),
        Err(error @ (Error::NoKvm | Error::Denied(_) | Error::Io { .. })) => {
            eprintln!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// All news until the end.
fn news(running: &Running) -> Vec<News> {
    let limit = Instant::now() + Duration::from_secs(20);
    let mut all = Vec::new();
    loop {
        match running.next(Duration::from_millis(100)) {
            Next::News(news) => all.push(news),
            Next::End => return all,
            Next::Nothing => assert!(Instant::now() < limit, "it does not end: {all:?}"),
        }
    }
}

#[test]
fn each_vcpu_gets_its_budget_and_waits_for_its_time() {
    let _alone = alone();
    let busy = (LOOP.to_vec(), Policy::Periodic as fn(_) -> _, [2 * MS, 10 * MS]);
    // Runs from 20 ms after the start of the servers on.
    let late = [wait_until(20 * MS as u32), LOOP.to_vec()].concat();
    let late = (late, Policy::Deferrable as fn(_) -> _, [3 * MS, 10 * MS]);
    let Some(mut running) = start(&[busy, late]) else { return };
    thread::sleep(Duration::from_millis(500));
    running.stop();
    let exits = news(&running);
    assert!(matches!(exits[..], [News::Exits { .. }, News::Exits { .. }]), "{exits:?}");
    let mut records = Vec::new();
    assert_eq!(running.take_records()[0].poll(&mut records), 0);
    assert!(records.is_sorted_by_key(time_of_action), "time does not go back");
    let epoch = records.iter().find(|it| it.kind() == Some(Kind::Epoch)).expect("an epoch").ticks;
    for (vm, budget) in [(0, 2 * MS), (1, 3 * MS)] {
        let mut runs = runs(&records, vm);
        let first = runs[0].0;
        if vm == 1 {
            // The first time only to say that it waits.
            assert!(runs[1].0 >= epoch + 20 * MS);
        }
        assert!(first >= epoch, "no budget comes before the epoch");
        runs.retain(|(_, length)| *length > budget / 2);
        assert!(runs.len() >= 10, "VM {vm} had its budget only {} times", runs.len());
        runs.sort_by_key(|(_, length)| *length);
        let median = runs[runs.len() / 2].1;
        assert!(median.abs_diff(budget) < MS / 4, "VM {vm} had {median} of {budget}");
    }
}

fn time_of_action(record: &Record) -> u64 {
    // The record of the epoch is written before it.
    if record.kind() == Some(Kind::Epoch) { 0 } else { record.ticks }
}

/// Start and length of each execution of a VM.
fn runs(records: &[Record], vm: u8) -> Vec<(u64, u64)> {
    let acts = |it: &&Record| matches!(it.kind(), Some(Kind::VcpuRun | Kind::Idle));
    let acts: Vec<_> = records.iter().filter(acts).collect();
    let pairs =
        acts.windows(2).filter(|pair| pair[0].kind() == Some(Kind::VcpuRun) && pair[0].vm() == vm);
    pairs.map(|pair| (pair[0].ticks, pair[1].ticks - pair[0].ticks)).collect()
}

#[test]
fn a_start_that_fails_comes_to_an_end() {
    let _alone = alone();
    let (result, told) = mpsc::channel();
    thread::spawn(move || {
        let seats = [last_cpu(), NO_CPU].into_iter().enumerate();
        let seats =
            seats.map(|(vcpu, cpu)| Seats { cpu, vcpus: vec![Id { vm: 0, vcpu: vcpu as u8 }] });
        let prepared = Prepared::new(vec![guest(&LOOP)], seats.collect());
        let started = prepared.and_then(|prepared| prepared.start(|_| Vec::new()));
        let _ = result.send(started.map(drop));
    });
    let result = told.recv_timeout(Duration::from_secs(20)).expect("it comes to an end");
    assert!(result.is_err(), "there is no CPU {NO_CPU}");
}

#[test]
fn vms_end_by_themselves_and_by_faults_and_not_with_each_other() {
    let _alone = alone();
    let policy: fn(_) -> _ = |_| Policy::Background;
    let off = [wait_until(5 * MS as u32), call(Call::Off)].concat();
    let fault = vec![0x0f, 0x0b];
    let vms = [(off, policy, [0, 0]), (fault, policy, [0, 0])];
    let Some(running) = start(&vms) else { return };
    let all = news(&running);
    // In which order depends on when this thread gets the CPU.
    let off = News::Ended { vm: 0, fault: None };
    let fault = News::Ended { vm: 1, fault: Some("exception") };
    let ended: Vec<_> = all.iter().filter(|it| matches!(it, News::Ended { .. })).collect();
    assert!(ended == [&off, &fault] || ended == [&fault, &off], "{all:?}");
}

#[test]
fn a_vcpu_that_ends_makes_room_like_one_that_waits() {
    let _alone = alone();
    let vms: [Vm; 2] = [
        (call(Call::Off), Policy::Deferrable, [5 * MS, 10 * MS]),
        (LOOP.to_vec(), |_| Policy::Background, [0, 0]),
    ];
    let Some(mut running) = start(&vms) else { return };
    thread::sleep(Duration::from_millis(200));
    running.stop();
    news(&running);
    let mut records = Vec::new();
    running.take_records()[0].poll(&mut records);
    let acts = records.iter().map(|it| (it.kind(), it.vm()));
    let acts: Vec<_> = acts.skip_while(|act| *act != (Some(Kind::VcpuStop), 0)).take(4).collect();
    let expected = [(Kind::VcpuStop, 0), (Kind::Block, 0), (Kind::VcpuRun, 1), (Kind::Enter, 1)];
    assert_eq!(acts, expected.map(|(kind, vm)| (Some(kind), vm)), "of {records:?}");
}

#[test]
fn marks_that_were_overwritten_count_as_lost() {
    let _alone = alone();
    let code = [set_word(MARKS_WORD, MARKS_MAX as u32 + 36), call(Call::Off)].concat();
    let Some(mut running) = start(&[(code, |_| Policy::Background, [0, 0])]) else { return };
    news(&running);
    let mut records = Vec::new();
    assert_eq!(running.take_records()[0].poll(&mut records), 36);
    let marks = records.iter().filter(|it| it.kind() == Some(Kind::GuestMark)).count();
    assert_eq!(marks as u64, MARKS_MAX);
}

#[test]
fn a_flood_of_text_waits_for_its_reader_and_nobody_else_does() {
    let _alone = alone();
    let print = |bytes| [set_word(ARGUMENT_WORD, bytes), call(Call::Console)].concat();
    let mut flood = print(1);
    // jmp to the start
    let back = -(flood.len() as i8 + 2);
    flood.extend([0xeb, back as u8]);
    let late = [wait_until(500 * MS as u32), print(2), call(Call::Off)].concat();
    let vms: [Vm; 2] = [
        (flood, Policy::Deferrable, [5 * MS, 10 * MS]),
        (late, Policy::Deferrable, [2 * MS, 10 * MS]),
    ];
    let Some(running) = start(&vms) else { return };
    thread::sleep(Duration::from_millis(800));
    running.stop();
    let all = news(&running);
    let texts = [0, 1].map(|of| {
        let is_text = |it: &&News| matches!(it, News::Console { vm, .. } if *vm == of);
        all.iter().filter(is_text).count()
    });
    // The first VM may go on for a moment while its texts are taken.
    assert!((1024..2048).contains(&texts[0]), "{texts:?}");
    assert_eq!(texts[1], 1, "{all:?}");
}
