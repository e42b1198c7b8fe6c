//! Trace files: read back, cut off, damaged.

use crate::support::{ALL_KINDS, header, read, simulate};
use abi::trace::{Kind, Record};
use proptest::prelude::*;
use trace::{Event, ReadError, Trace, Writer};

fn record(ticks: u64) -> Record {
    Record::new(ticks, Kind::ExitIrq, 1, 0, 27)
}

#[test]
fn chunks_come_back_and_losses_stand_where_they_were() {
    let mut writer = Writer::new(Vec::new(), &header(ALL_KINDS)).expect("a vector takes all");
    writer.append(0, 0, &[record(5), record(6)]).expect("a vector takes all");
    writer.append(0, 40, &[record(90)]).expect("a vector takes all");
    writer.append(0, 2, &[]).expect("a vector takes all");
    let trace = read(&writer.finish().expect("a vector takes all"));
    let events: Vec<_> = trace.tracks[0].iter().map(|entry| (entry.ticks, entry.event)).collect();
    let irq = Event::Interrupt { vcpu: trace::VcpuId { vm: 1, vcpu: 0 }, intid: 27 };
    let lost = |records| Event::Lost { records };
    assert_eq!(events, [(5, irq), (6, irq), (90, lost(40)), (90, irq), (90, lost(2))]);
    assert_eq!((trace.lost(), trace.is_cut_off), (42, false));
    assert_eq!(trace.header, header(ALL_KINDS));
}

#[test]
fn the_start_of_the_servers_stands_at_its_time() {
    let mut writer = Writer::new(Vec::new(), &header(ALL_KINDS)).expect("a vector takes all");
    let epoch = Record::new(7, Kind::Epoch, 0, 0, 62_500_000);
    let records = [record(2), epoch, record(5), record(6), record(7), record(6)];
    writer.append(0, 0, &records).expect("a vector takes all");
    let trace = read(&writer.finish().expect("a vector takes all"));
    let at = trace.tracks[0].iter().position(|it| matches!(it.event, Event::Epoch { .. }));
    assert_eq!((at, trace.epoch(), trace.first()), (Some(3), Some(7), 2));
    let clock = trace.clock();
    assert_eq!((clock.ns(2), clock.ns(8)), (-5, 1));
}

#[test]
fn a_file_that_ends_early_gives_what_is_complete() {
    let file = simulate(ALL_KINDS, 100_000);
    let whole = read(&file);
    let cut = read(&file[..file.len() - 20]);
    let entries = whole.tracks[0].len();
    assert_eq!(cut.tracks[0], whole.tracks[0][..entries - 2]);
    assert!(cut.is_cut_off && !whole.is_cut_off);
}

#[test]
fn other_files_are_refused_with_a_reason() {
    assert!(matches!(Trace::read(&b"no trace"[..]), Err(ReadError::Magic)));
    assert!(matches!(Trace::read(&b"something else altogether"[..]), Err(ReadError::Magic)));
    let good = simulate(ALL_KINDS, 100_000);
    let mut version = good.clone();
    version[8] = 9;
    assert!(matches!(Trace::read(&version[..]), Err(ReadError::Version(9))));
    let mut writer = Writer::new(Vec::new(), &header(ALL_KINDS)).expect("a vector takes all");
    writer.append(3, 0, &[record(1)]).expect("a vector takes all");
    let file = writer.finish().expect("a vector takes all");
    assert!(matches!(Trace::read(&file[..]), Err(ReadError::Pcpu { pcpu: 3, pcpus: 1, .. })));
    let mut writer = Writer::new(Vec::new(), &header(ALL_KINDS)).expect("a vector takes all");
    writer.append(0, 0, &[Record { ticks: 1, what: 77 }]).expect("a vector takes all");
    let file = writer.finish().expect("a vector takes all");
    assert!(matches!(Trace::read(&file[..]), Err(ReadError::Kind { kind: 77, .. })));
}

proptest! {
    #[test]
    fn damaged_files_never_panic(at in 0_usize..2_000, byte: u8) {
        let mut file = simulate(&ALL_KINDS[..1], 50_000);
        let at = at % file.len();
        file[at] = byte;
        if let Ok(trace) = Trace::read(&file[..]) {
            trace::csv::write(&trace, Vec::new()).expect("a vector takes all");
            trace::perfetto::write(&trace, Vec::new()).expect("a vector takes all");
            let _ = trace::compare::compare([&trace, &trace], Default::default());
        }
    }
}
