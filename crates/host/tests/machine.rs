//! VMs of a few instructions under servers, on the KVM of this machine. Where there is none, the tests say so and pass.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use abi::guest::RAM;
use abi::hypercall::{LOCK_ORPHANED, LOCK_WAITS};
use abi::kvm::{
    ARGUMENT_WORD, Call, MARKS_MAX, MARKS_WORD, PORT, SECOND_WORD, SERVERS_START_WORD, TEXT_OFFSET,
};
use abi::trace::{Kind, Record};
use host::machine::{Error, Guest, Id, News, Next, Prepared, Running, Seats, Sharer, Sharing};
use policy::cpu::{Cpu, Slot};
use policy::lock::rate::Rate;
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

/// As [`Prepared::new`], but waits while another process has VCPUs on these CPUs.
fn prepared(guests: Vec<Guest>, seats: Vec<Seats>, sharing: Sharing) -> Result<Prepared, Error> {
    for _ in 0..600 {
        match Prepared::new(guests.clone(), seats.clone(), sharing.clone()) {
            Err(Error::Claimed { .. }) => thread::sleep(Duration::from_millis(100)),
            result => return result,
        }
    }
    Prepared::new(guests, seats, sharing)
}

/// The last CPU of this machine. Threads that start VMs may not use it meanwhile.
fn last_cpu() -> usize {
    static CPU: OnceLock<usize> = OnceLock::new();
    *CPU.get_or_init(|| thread::available_parallelism().map_or(0, |cpus| cpus.get() - 1))
}

/// VMs of one VCPU each on the last CPU of this machine; `None`: there is no KVM or no right to use it as needed.
fn start(vms: &[Vm]) -> Option<Running> {
    start_sharing(vms, Sharing::default())
}

fn start_sharing(vms: &[Vm], sharing: Sharing) -> Option<Running> {
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
    let guests: Vec<_> = vms.iter().map(|(code, ..)| guest(code)).collect();
    let prepared = prepared(guests, vec![Seats { cpu: last_cpu(), vcpus }], sharing);
    started(prepared.and_then(|prepared| prepared.start(schedulers)))
}

/// What was started; `None`: there is no KVM or no right to use it as needed.
fn started(result: Result<Running, Error>) -> Option<Running> {
    match result {
        Ok(running) => Some(running),
        Err(error @ (Error::NoKvm | Error::Denied(_) | Error::Io { .. })) => {
            eprintln!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// All news until the end.
fn news(running: &mut Running) -> Vec<News> {
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
    let exits = news(&mut running);
    assert!(matches!(exits[..], [News::Left { .. }, News::Left { .. }]), "{exits:?}");
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
fn a_cpu_has_the_vcpus_of_one_run_at_a_time() {
    let _alone = alone();
    let Some(running) = start(&[(LOOP.to_vec(), |_| Policy::Background, [0, 0])]) else { return };
    let again = |cpu| {
        let vcpus = vec![Id { vm: 0, vcpu: 0 }];
        Prepared::new(vec![guest(&LOOP)], vec![Seats { cpu, vcpus }], Sharing::default())
    };
    let refused = again(last_cpu());
    let (cpu, process) = (last_cpu(), std::process::id() as i32);
    assert!(
        matches!(refused, Err(Error::Claimed { cpu: it, by: Some(by) }) if (it, by) == (cpu, process)),
        "{refused:?}"
    );
    again(NO_CPU).expect("nobody has it");
    drop(running);
    let vcpus = vec![Id { vm: 0, vcpu: 0 }];
    prepared(vec![guest(&LOOP)], vec![Seats { cpu, vcpus }], Sharing::default())
        .expect("nobody has it any more");
}

#[test]
fn vcpus_are_there_before_the_servers_start() {
    const ATTEMPTS: usize = 5;
    let _alone = alone();
    let all = (0..8).flat_map(|vm| (0..8).map(move |vcpu| Id { vm, vcpu }));
    let seats = vec![Seats { cpu: last_cpu(), vcpus: all.collect() }];
    let schedulers = |_| {
        let slot = |_| Slot::new(Policy::Background).expect("a server");
        vec![Cpu::new((0..64).map(slot).collect())]
    };
    let mut late = Vec::new();
    // The machine may take the CPU away for longer than the time that is left until the start.
    for _ in 0..ATTEMPTS {
        let prepared =
            prepared(vec![guest(&call(Call::Off)); 8], seats.clone(), Sharing::default());
        let started = started(prepared.and_then(|it| it.start(schedulers)));
        let Some(mut running) = started else { return };
        news(&mut running);
        let mut records = Vec::new();
        running.take_records()[0].poll(&mut records);
        let first =
            |kind| records.iter().find(|it| it.kind() == Some(kind)).expect("a record").ticks;
        let (epoch, wake) = (first(Kind::Epoch), first(Kind::Wake));
        if wake < epoch {
            return;
        }
        late.push(wake - epoch);
    }
    panic!("the first VCPU woke so many nanoseconds late: {late:?}");
}

#[test]
fn a_vcpu_that_nothing_stops_sees_a_clock_that_is_not_old() {
    let _alone = alone();
    let Some(mut running) = start(&[(LOOP.to_vec(), |_| Policy::Background, [0, 0])]) else {
        return;
    };
    thread::sleep(Duration::from_millis(1_000));
    running.stop();
    let all = news(&mut running);
    let [News::Left { exits, .. }] = all[..] else { panic!("{all:?}") };
    assert!((4..50).contains(&exits), "its clock was renewed {exits} times");
    let mut records = Vec::new();
    running.take_records()[0].poll(&mut records);
    // The scheduler is not asked for that.
    assert!(records.len() < 10, "{records:?}");
}

/// Waits again and again until each multiple of `ns` after the start of the servers.
fn wait_each(ns: u32) -> Vec<u8> {
    // mov rcx, [rdi + START]; loop: add rcx, ns; mov [rdi + ARGUMENT], rcx; the call; jmp to loop
    let mut round = vec![0x48, 0x81, 0xc1];
    round.extend(ns.to_le_bytes());
    round.extend([0x48, 0x89, 0x4f, 8 * ARGUMENT_WORD as u8]);
    round.extend(call(Call::Wait));
    let back = -(round.len() as i8 + 2);
    let start = [0x48, 0x8b, 0x4f, 8 * SERVERS_START_WORD as u8];
    [&start[..], &round, &[0xeb, back as u8]].concat()
}

#[test]
fn a_vcpu_that_preempts_another_one_pays_from_the_time_for_which_it_asked() {
    const EACH: u64 = 400_000;
    let _alone = alone();
    let vms: [Vm; 2] = [
        (wait_each(EACH as u32), Policy::Deferrable, [9 * MS, 10 * MS]),
        (LOOP.to_vec(), |_| Policy::Background, [0, 0]),
    ];
    let Some(mut running) = start(&vms) else { return };
    thread::sleep(Duration::from_millis(400));
    running.stop();
    news(&mut running);
    let mut records = Vec::new();
    running.take_records()[0].poll(&mut records);
    assert!(records.is_sorted_by_key(time_of_action), "time does not go back");
    let epoch = records.iter().find(|it| it.kind() == Some(Kind::Epoch)).expect("an epoch").ticks;
    let wakes = records.iter().filter(|it| it.kind() == Some(Kind::Wake) && it.vm() == 0);
    let wakes = wakes.filter(|it| it.ticks >= epoch);
    let mut late: Vec<u64> = wakes.map(|it| (it.ticks - epoch) % EACH).collect();
    late.sort_unstable();
    assert!(late.len() > 300, "{} wakes", late.len());
    // The other VCPU would else pay for the alarm that stops it, each time.
    assert!(late[late.len() / 2] < 1_000, "{late:?}");
}

/// A field of `/proc/thread-self/status`.
fn status(key: &str) -> String {
    let text = std::fs::read_to_string("/proc/thread-self/status").expect("Linux has it");
    let line = text.lines().find_map(|line| line.strip_prefix(key)).expect("the field");
    line.trim_start_matches(':').trim().to_owned()
}

#[test]
fn this_thread_keeps_off_the_cpus_of_vcpus_and_memory_is_locked_as_long_as_vms_run() {
    let _alone = alone();
    let before = ["Cpus_allowed_list", "VmLck"].map(status);
    let Some(running) = start(&[(LOOP.to_vec(), |_| Policy::Background, [0, 0])]) else { return };
    let child = thread::spawn(|| status("Cpus_allowed_list")).join().expect("it ends");
    let during = ["Cpus_allowed_list", "VmLck"].map(status);
    assert_eq!(child, during[0]);
    if last_cpu() > 0 {
        let last = last_cpu().to_string();
        let cpus = during[0].split([',', '-']);
        assert!(cpus.into_iter().all(|cpu| cpu != last), "{during:?}");
    }
    assert_ne!(during[1], "0 kB");
    drop(running);
    assert_eq!(["Cpus_allowed_list", "VmLck"].map(status), before);
}

#[test]
fn a_flood_of_marks_loses_only_those_of_its_vm() {
    let _alone = alone();
    // The ring is full whenever the VCPU stops, and it stops at once.
    let add = [&[0x48, 0x83, 0x47, 8 * MARKS_WORD as u8, MARKS_MAX as u8][..]].concat();
    let mut flood = [add, call(Call::Marks)].concat();
    let back = -(flood.len() as i8 + 2);
    flood.extend([0xeb, back as u8]);
    let late =
        [wait_until(300 * MS as u32), set_word(MARKS_WORD, 1), call(Call::Marks), call(Call::Off)];
    let vms: [Vm; 2] = [
        (flood, Policy::Deferrable, [7 * MS, 10 * MS]),
        (late.concat(), Policy::Deferrable, [2 * MS, 10 * MS]),
    ];
    let Some(mut running) = start(&vms) else { return };
    thread::sleep(Duration::from_millis(600));
    running.stop();
    let all = news(&mut running);
    let lost = [0, 1].map(|of| {
        let of_vm = |it: &News| match it {
            News::Left { id, lost, .. } if id.vm == of => Some(*lost),
            _ => None,
        };
        all.iter().find_map(of_vm).expect("it has left")
    });
    let mut records = Vec::new();
    let unread = running.take_records()[0].poll(&mut records);
    assert!(lost[0] > 0 && lost == [unread, 0], "{lost:?} {unread}");
    let marks = |vm| {
        let is_mark = |it: &&Record| it.kind() == Some(Kind::GuestMark) && it.vm() == vm;
        records.iter().filter(is_mark).count()
    };
    assert_eq!([marks(0), marks(1)], [1 << 14, 1]);
}

#[test]
fn a_start_that_fails_comes_to_an_end() {
    let _alone = alone();
    let (result, told) = mpsc::channel();
    thread::spawn(move || {
        let seats = [last_cpu(), NO_CPU].into_iter().enumerate();
        let seats =
            seats.map(|(vcpu, cpu)| Seats { cpu, vcpus: vec![Id { vm: 0, vcpu: vcpu as u8 }] });
        let prepared = prepared(vec![guest(&LOOP)], seats.collect(), Sharing::default());
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
    let Some(mut running) = start(&vms) else { return };
    let all = news(&mut running);
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
    news(&mut running);
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
    news(&mut running);
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
    let Some(mut running) = start(&vms) else { return };
    thread::sleep(Duration::from_millis(800));
    running.stop();
    let all = news(&mut running);
    let texts = [0, 1].map(|of| {
        let is_text = |it: &&News| matches!(it, News::Console { vm, .. } if *vm == of);
        all.iter().filter(is_text).count()
    });
    // The first VM may go on for a moment while its texts are taken.
    assert!((1024..2048).contains(&texts[0]), "{texts:?}");
    assert_eq!(texts[1], 1, "{all:?}");
}

/// Two VMs of one resource, of which each may enter sections as often as it likes.
fn shared() -> Sharing {
    let rate = Some(Rate::new(Ticks(1), Ticks(0)));
    let sharer = |vm| Sharer { id: Id { vm, vcpu: 0 }, priority: 0, rate };
    Sharing { resources: vec![([1, 0], 0b11)], vcpus: vec![sharer(0), sharer(1)] }
}

/// A call with two arguments.
fn call_with(which: Call, [first, second]: [u32; 2]) -> Vec<u8> {
    [set_word(ARGUMENT_WORD, first), set_word(SECOND_WORD, second), call(which)].concat()
}

/// Shows the character `0` and so many more as a word of the block says, by `mov rax, [rdi + WORD]; add al, '0'; mov [rdi + TEXT],
/// rax`.
fn show(word: usize) -> Vec<u8> {
    let mut code = vec![0x48, 0x8b, 0x47, 8 * word as u8, 0x04, b'0', 0x48, 0x89, 0x87];
    code.extend((TEXT_OFFSET as u32).to_le_bytes());
    code.extend(set_word(ARGUMENT_WORD, 1));
    code.extend(call(Call::Console));
    code
}

/// Executes for a while, by `mov ecx, count; dec ecx; jnz -2`.
fn burn(count: u32) -> Vec<u8> {
    [&[0xb9][..], &count.to_le_bytes(), &[0xff, 0xc9, 0x75, 0xfc]].concat()
}

#[test]
fn what_a_vm_held_that_failed_goes_to_the_one_that_waits_and_knows() {
    let _alone = alone();
    let open = || call_with(Call::Open, [1, 0]);
    let lock = || call_with(Call::Lock, [0, 0]);
    let unknown_call = [0xb8, 99, 0, 0, 0, 0xba, PORT as u8, 0, 0, 0, 0xef].to_vec();
    // Has the resource from 5 ms on, and fails much later than the other one asks for it, at 20 ms.
    let fails = [
        open(),
        set_word(SECOND_WORD, 0),
        wait_until(5 * MS as u32),
        lock(),
        burn(200_000_000),
        unknown_call,
    ];
    let waits = [
        open(),
        set_word(SECOND_WORD, 0),
        wait_until(20 * MS as u32),
        lock(),
        show(ARGUMENT_WORD),
        // The longest time: only what it gets ends this.
        set_word(ARGUMENT_WORD, u32::MAX),
        set_word(SECOND_WORD, 0),
        call(Call::Wait),
        call(Call::Granted),
        show(SECOND_WORD),
        call_with(Call::Unlock, [0, 0]),
        show(ARGUMENT_WORD),
        call(Call::Off),
    ];
    let policy = Policy::Deferrable as fn(_) -> _;
    let vms =
        [(fails.concat(), policy, [4 * MS, 10 * MS]), (waits.concat(), policy, [4 * MS, 10 * MS])];
    let Some(mut running) = start_sharing(&vms, shared()) else { return };
    let news = news(&mut running);
    let text: Vec<u8> = news
        .iter()
        .flat_map(|it| if let News::Console { text, .. } = it { text.clone() } else { vec![] })
        .collect();
    // It waits, gets the resource of one that failed, and gives it back.
    let expected = [LOCK_WAITS, LOCK_ORPHANED, 0].map(|it| b'0' + it as u8);
    assert_eq!(text, expected, "{news:?}");
    assert!(news.contains(&News::Ended { vm: 0, fault: Some("unknown-call") }), "{news:?}");
    let mut records = Vec::new();
    running.take_records()[0].poll(&mut records);
    let of = |vm: u8| {
        let kinds = records.iter().filter(move |it| it.vm() == vm).filter_map(|it| it.kind());
        let ours = [Kind::Lock, Kind::LockWait, Kind::Unlock, Kind::StartGcs, Kind::FinishGcs];
        kinds.filter(|kind| ours.contains(kind)).collect::<Vec<_>>()
    };
    assert_eq!(of(0), [Kind::Lock, Kind::StartGcs, Kind::FinishGcs]);
    let second = [Kind::LockWait, Kind::StartGcs, Kind::Lock, Kind::Unlock, Kind::FinishGcs];
    assert_eq!(of(1), second);
}

#[test]
fn calls_without_right_are_answered_and_change_nothing() {
    let _alone = alone();
    let calls = [
        call_with(Call::Open, [9, 0]),
        call_with(Call::Lock, [0, 0]),
        call_with(Call::Lock, [u32::MAX, u32::MAX]),
        call_with(Call::Unlock, [0, 64]),
        call(Call::Granted),
        call(Call::Off),
    ];
    let vm = || (calls.concat(), Policy::Deferrable as fn(_) -> _, [4 * MS, 10 * MS]);
    for sharing in [Sharing::default(), shared()] {
        let Some(mut running) = start_sharing(&[vm(), vm()], sharing) else { return };
        let news = news(&mut running);
        for vm in [0, 1] {
            assert!(news.contains(&News::Ended { vm, fault: None }), "{news:?}");
        }
        let mut records = Vec::new();
        running.take_records()[0].poll(&mut records);
        let is_lock = |it: &Record| matches!(it.kind(), Some(Kind::Lock | Kind::StartGcs));
        assert!(!records.iter().any(is_lock));
    }
}
