//! Ends of VMs and of VCPUs.

use std::thread;
use std::time::Duration;

use abi::kvm::Call;
use abi::trace::Kind;
use host::machine::News;
use policy::server::Policy;

use crate::code::{LOOP, call, wait_until};
use crate::vms::{MS, Vm, alone, news, start};

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
    let acts: Vec<_> = acts.skip_while(|act| *act != (Some(Kind::VcpuStop), 0)).take(5).collect();
    let expected = [
        (Kind::VcpuStop, 0),
        (Kind::VmStop, 0),
        (Kind::Block, 0),
        (Kind::VcpuRun, 1),
        (Kind::Enter, 1),
    ];
    assert_eq!(acts, expected.map(|(kind, vm)| (Some(kind), vm)), "of {records:?}");
}
