//! Marks that guests write into their rings.

use std::thread;
use std::time::Duration;

use abi::kvm::{Call, MARKS_MAX, MARKS_WORD};
use abi::trace::{Kind, Record};
use host::machine::News;
use policy::server::Policy;

use crate::code::{call, set_word, wait_until};
use crate::vms::{MS, Vm, alone, news, start};

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
