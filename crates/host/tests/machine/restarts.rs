//! VMs that fail or ask for a reset, and start again.

use std::thread;
use std::time::Duration;

use abi::hypercall::{LOCK_ORPHANED, LOCK_WAITS};
use abi::kvm::{ARGUMENT_WORD, Call, SECOND_WORD, VCPU_WORD};
use abi::trace::{Kind, Record};
use host::machine::{Id, News, Prepared, Restarts, Running, Seats, Sharer, Sharing};
use policy::cpu::{Cpu, Slot};
use policy::rate::Rate;
use policy::server::Policy;
use policy::time::Duration as Ticks;

use crate::code::{LOAD, LOOP, burn, call, call_with, set_word, show, wait_each, wait_until};
use crate::records::{runs, time_of_action};
use crate::vms::{MS, Vm, alone, guest, last_cpu, news, prepared, start_again, started};

const FAULT: [u8; 2] = [0x0f, 0x0b];

fn crashes(limit: u32) -> Restarts {
    Restarts { after_crash: true, after_reset: false, limit }
}

/// The news that are not about text, in the order in which VMs tell them.
fn ends(all: &[News]) -> Vec<News> {
    let of_interest = |it: &&News| !matches!(it, News::Console { .. } | News::Left { .. });
    all.iter().filter(of_interest).cloned().collect()
}

fn text(all: &[News]) -> String {
    let text = all
        .iter()
        .filter_map(|it| if let News::Console { text, .. } = it { Some(text) } else { None });
    text.map(|it| String::from_utf8_lossy(it)).collect()
}

fn records_of(running: &mut Running) -> Vec<Record> {
    let mut records = Vec::new();
    assert_eq!(running.take_records()[0].poll(&mut records), 0);
    assert!(records.is_sorted_by_key(time_of_action), "time does not go back");
    records
}

fn restarted(vm: u8, reason: &'static str, [number, limit]: [u32; 2]) -> News {
    News::Restarts { vm, reason, number, limit }
}

/// Shows the word of the image at 256 bytes, and changes it; the same for the last word of RAM, which the guest alone writes:
/// `mov rax, ADDRESS; mov cl, [rax]; inc byte [rax]; mov [rdi + ARGUMENT], cl`.
fn count_at(address: u64) -> Vec<u8> {
    let mut code = vec![0x48, 0xb8];
    code.extend(address.to_le_bytes());
    code.extend([0x8a, 0x08, 0xfe, 0x00]);
    code.extend(set_word(SECOND_WORD, 0));
    code.extend([0x88, 0x4f, 8 * SECOND_WORD as u8]);
    code.extend(show(SECOND_WORD));
    code
}

#[test]
fn a_vm_that_fails_starts_again_as_it_was_while_another_one_keeps_its_times() {
    const EACH: u64 = 2 * MS;
    let _alone = alone();
    let fails = [
        count_at(abi::guest::RAM + (2 << 20) - 8),
        count_at(LOAD + 512),
        burn(1_000_000),
        FAULT.to_vec(),
    ];
    let mut fails = fails.concat();
    fails.resize(512, 0);
    fails.push(5);
    let vms: [Vm; 2] = [
        (fails, Policy::Deferrable, [4 * MS, 10 * MS]),
        (wait_each(EACH as u32), Policy::Deferrable, [4 * MS, 10 * MS]),
    ];
    let Some(mut running) = start_again(&vms, Sharing::default(), &[crashes(3)]) else { return };
    let mut all = Vec::new();
    // The other VM goes on until it is stopped.
    while !all.contains(&News::Ended { vm: 0, fault: Some("exception") }) {
        if let host::machine::Next::News(news) = running.next(Duration::from_secs(20)) {
            all.push(news);
        } else {
            panic!("it does not end: {all:?}");
        }
    }
    thread::sleep(Duration::from_millis(50));
    running.stop();
    all.extend(news(&mut running));
    let limit = |number| restarted(0, "exception", [number, 3]);
    let ended = News::Ended { vm: 0, fault: Some("exception") };
    let expected = [limit(1), limit(2), limit(3), News::AtLimit { vm: 0 }, ended];
    assert_eq!(ends(&all), expected);
    // Each run finds zeros, and the image as it is in the file.
    assert_eq!(text(&all), "05".repeat(4));

    let records = records_of(&mut running);
    let of = |vm, kinds: &[Kind]| {
        let ours = records.iter().filter(|it| it.vm() == vm);
        let acts = ours.filter_map(|it| Some((it.kind()?, it.argument())));
        acts.filter(|(kind, _)| kinds.contains(kind)).collect::<Vec<_>>()
    };
    let mut lives = Vec::new();
    for restart in 1..=4 {
        lives.extend([(Kind::VcpuStop, 0), (Kind::VmStop, 7), (Kind::VmStart, restart)]);
    }
    lives.pop();
    assert_eq!(of(0, &[Kind::VcpuStop, Kind::VmStop, Kind::VmStart]), lives);
    assert_eq!(of(1, &[Kind::VcpuStop, Kind::VmStop, Kind::VmStart]), []);

    // They come no sooner than they may, which is 50 ms, though the host can be late to start a VCPU.
    let starts = records.iter().filter(|it| it.kind() == Some(Kind::VmStart));
    let starts: Vec<u64> = starts.map(|it| it.ticks).collect();
    assert!(starts.windows(2).all(|pair| pair[1] - pair[0] >= 25 * MS), "{starts:?}");
    // The other VM woke up at its times, and executed no longer than before.
    let epoch = records.iter().find(|it| it.kind() == Some(Kind::Epoch)).expect("an epoch").ticks;
    let wakes = records.iter().filter(|it| it.kind() == Some(Kind::Wake) && it.vm() == 1);
    let mut late: Vec<u64> =
        wakes.filter(|it| it.ticks > epoch).map(|it| (it.ticks - epoch) % EACH).collect();
    late.sort_unstable();
    assert!(late.len() > 50 && late[late.len() / 2] < MS / 5, "{late:?}");
    assert!(!runs(&records, 1).is_empty());
}

#[test]
fn resets_are_not_crashes_and_a_vm_may_ask_for_none() {
    let _alone = alone();
    let policy: fn(_) -> _ = |_| Policy::Background;
    let reset = call(Call::Reset);
    let rules = [
        Restarts { after_crash: false, after_reset: true, limit: 2 },
        crashes(2),
        Restarts { after_crash: true, after_reset: true, limit: 0 },
        Restarts { after_crash: true, after_reset: true, limit: 9 },
    ];
    let mut vms: Vec<Vm> = vec![(reset, policy, [0, 0]); 3];
    vms.push((call(Call::Off), policy, [0, 0]));
    let Some(mut running) = start_again(&vms, Sharing::default(), &rules) else { return };
    let all = ends(&news(&mut running));
    let of = |vm: u8| {
        let about = |it: &&News| match it {
            News::Restarts { vm: it, .. }
            | News::AtLimit { vm: it }
            | News::Ended { vm: it, .. } => *it == vm,
            _ => false,
        };
        all.iter().filter(about).cloned().collect::<Vec<_>>()
    };
    let stopped = |vm| News::Ended { vm, fault: Some("reset") };
    let at_limit = |vm| News::AtLimit { vm };
    let first =
        [restarted(0, "reset", [1, 2]), restarted(0, "reset", [2, 2]), at_limit(0), stopped(0)];
    assert_eq!(of(0), first);
    assert_eq!(of(1), [stopped(1)]);
    assert_eq!(of(2), [at_limit(2), stopped(2)]);
    assert_eq!(of(3), [News::Ended { vm: 3, fault: None }]);
}

#[test]
fn the_owner_of_a_resource_that_starts_again_has_lost_it_and_can_get_it_again() {
    let _alone = alone();
    let rate = Some(Rate::new(Ticks(1), Ticks(0)));
    let sharer = |vm| Sharer { id: Id { vm, vcpu: 0 }, priority: 0, rate };
    let sharing = Sharing { resources: vec![([1, 0], 0b11)], vcpus: vec![sharer(0), sharer(1)] };
    let open = || call_with(Call::Open, [1, 0]);
    let lock = || call_with(Call::Lock, [0, 0]);
    // Has the resource from 5 ms on, and fails much later than the other one asks for it, at 20 ms. When it has started again, the
    // time is over at once.
    let fails = [
        open(),
        set_word(SECOND_WORD, 0),
        wait_until(5 * MS as u32),
        lock(),
        show(ARGUMENT_WORD),
        burn(100_000_000),
        FAULT.to_vec(),
    ];
    let waits = [
        open(),
        set_word(SECOND_WORD, 0),
        wait_until(20 * MS as u32),
        lock(),
        show(ARGUMENT_WORD),
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
    let vms: [Vm; 2] =
        [(fails.concat(), policy, [4 * MS, 10 * MS]), (waits.concat(), policy, [4 * MS, 10 * MS])];
    let Some(mut running) = start_again(&vms, sharing, &[crashes(2)]) else { return };
    let all = news(&mut running);
    let of = |vm: u8| {
        let ours = all.iter().filter(|it| matches!(it, News::Console { vm: it, .. } if *it == vm));
        text(&ours.cloned().collect::<Vec<_>>())
    };
    let digits =
        |results: &[u64]| results.iter().map(|it| (b'0' + *it as u8) as char).collect::<String>();
    assert_eq!(of(1), digits(&[LOCK_WAITS, LOCK_ORPHANED, 0]), "{all:?}");
    // It gets the resource in each run. The third time it gets what it had itself.
    let results: Vec<u8> = of(0).bytes().collect();
    assert_eq!(results.len(), 3, "{all:?}");
    assert!(results.iter().all(|it| *it != b'0' + LOCK_WAITS as u8), "{all:?}");
    assert!(all.contains(&restarted(0, "exception", [2, 2])), "{all:?}");
    let records = records_of(&mut running);
    let locks = records.iter().filter(|it| it.vm() == 0 && it.kind() == Some(Kind::Lock));
    assert_eq!(locks.count(), 3);
}

/// Both VCPUs of a VM: the second one fails, and the first one waits for ever.
#[test]
fn all_vcpus_of_a_vm_start_again_together() {
    let _alone = alone();
    let wait = [
        // The longest time.
        set_word(ARGUMENT_WORD, u32::MAX),
        set_word(SECOND_WORD, 0),
        call(Call::Wait),
        LOOP.to_vec(),
    ];
    let wait = wait.concat();
    // cmp qword [rdi + VCPU], 0; jne over the wait
    let mut code = show(VCPU_WORD);
    code.extend([0x48, 0x83, 0x7f, 8 * VCPU_WORD as u8, 0, 0x75, wait.len() as u8]);
    code.extend(wait);
    code.extend(wait_until(30 * MS as u32));
    code.extend(FAULT);
    let vcpus = vec![Id { vm: 0, vcpu: 0 }, Id { vm: 0, vcpu: 1 }];
    let slots = |_| {
        let slot = |_| Slot::new(Policy::Background).expect("a server");
        vec![Cpu::new((0..2).map(slot).collect())]
    };
    let guest = host::machine::Guest { restarts: crashes(2), ..guest(&code) };
    let prepared: Result<Prepared, _> =
        prepared(vec![guest], vec![Seats { cpu: last_cpu(), vcpus }], Sharing::default());
    let Some(mut running) = started(prepared.and_then(|it| it.start(slots))) else { return };
    let all = news(&mut running);
    assert_eq!(ends(&all).len(), 4, "{all:?}");
    let mut shown: Vec<u8> = text(&all).bytes().collect();
    shown.sort_unstable();
    assert_eq!(shown, b"000111", "{all:?}");
    let records = records_of(&mut running);
    let count = |kind| records.iter().filter(|it| it.kind() == Some(kind)).count();
    let counts = [Kind::VcpuStop, Kind::VmStop, Kind::VmStart].map(count);
    assert_eq!(counts, [6, 3, 2]);
}

#[test]
fn vms_that_restart_again_and_again_stop_when_they_are_told() {
    let _alone = alone();
    let vms: [Vm; 1] = [(FAULT.to_vec(), |_| Policy::Background, [0, 0])];
    let Some(mut running) = start_again(&vms, Sharing::default(), &[crashes(u32::MAX)]) else {
        return;
    };
    // Nobody listens for a while: it restarts when that has been read.
    thread::sleep(Duration::from_millis(200));
    let first = running.next(Duration::from_secs(20));
    assert_eq!(first, host::machine::Next::News(restarted(0, "exception", [1, u32::MAX])));
    let second = running.next(Duration::from_secs(20));
    assert_eq!(second, host::machine::Next::News(restarted(0, "exception", [2, u32::MAX])));
    running.stop();
    assert!(ends(&news(&mut running)).len() < 4);
}
