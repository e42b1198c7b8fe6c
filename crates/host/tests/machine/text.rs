//! Text that guests print.

use std::thread;
use std::time::Duration;

use abi::kvm::{ARGUMENT_WORD, Call};
use host::machine::News;
use policy::server::Policy;

use crate::code::{call, set_word, wait_until};
use crate::vms::{MS, Vm, alone, news, start};

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
