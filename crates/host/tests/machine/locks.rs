//! Resources that VMs share.

use abi::hypercall::{LOCK_ORPHANED, LOCK_WAITS};
use abi::kvm::{ARGUMENT_WORD, Call, PORT, SECOND_WORD};
use abi::trace::{Kind, Record};
use host::machine::{Id, News, Sharer, Sharing};
use policy::rate::Rate;
use policy::server::Policy;
use policy::time::Duration as Ticks;

use crate::code::{burn, call, call_with, set_word, show, wait_until};
use crate::vms::{MS, alone, news, start_sharing};

/// Two VMs of one resource, of which each may enter sections as often as it likes.
fn shared() -> Sharing {
    let rate = Some(Rate::new(Ticks(1), Ticks(0)));
    let sharer = |vm| Sharer { id: Id { vm, vcpu: 0 }, priority: 0, rate };
    Sharing { resources: vec![([1, 0], 0b11)], vcpus: vec![sharer(0), sharer(1)] }
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
