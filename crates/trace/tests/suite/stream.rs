//! Traces that are read from their file again and again against traces in memory.

use std::io::{Seek, Write};

use proptest::prelude::*;
use trace::timeline::{self, Jobs};
use trace::{Entry, Event, JobMark, ReadError, Source, Step, Trace, TraceFile, VcpuId, Writer};

use crate::support::{ALL_KINDS, header, id, plan, read, simulate};

/// A file without a name.
fn file(bytes: &[u8]) -> std::fs::File {
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(bytes).expect("room");
    file.rewind().expect("a file");
    file
}

fn open(bytes: &[u8]) -> Result<TraceFile, ReadError> {
    TraceFile::new(file(bytes))
}

/// All that commands show of a trace.
fn shown<S: Source>(trace: &S) -> (Vec<u8>, Vec<u8>) {
    let (mut csv, mut perfetto) = (Vec::new(), Vec::new());
    trace::csv::write(trace, &mut csv).expect("a vector takes all");
    trace::perfetto::write(trace, &mut perfetto).expect("a vector takes all");
    (csv, perfetto)
}

fn is_the_same(streamed: &TraceFile, whole: &Trace) -> Result<(), TestCaseError> {
    let tracks: Vec<Vec<Entry>> =
        (0..streamed.pcpus()).map(|pcpu| streamed.entries(pcpu).collect()).collect();
    prop_assert_eq!(&tracks, &whole.tracks);
    prop_assert_eq!(streamed.is_cut_off, whole.is_cut_off);
    prop_assert_eq!(streamed.lost(), whole.lost());
    prop_assert_eq!(streamed.count(), tracks.iter().map(|track| track.len() as u64).sum::<u64>());
    prop_assert_eq!(
        (streamed.epoch(), streamed.first(), streamed.last()),
        (whole.epoch(), whole.first(), whole.last())
    );
    prop_assert!(streamed.merged().eq(whole.merged()));
    prop_assert_eq!(shown(streamed), shown(whole));
    prop_assert_eq!(&streamed.load().expect("a file"), whole);
    streamed.check().expect("all of it was read");
    Ok(())
}

/// What a PCPU records: ticks since the record before, and a number that chooses the event.
type Drawn = (u64, u8, u32);

fn event((_, kind, number): Drawn, pcpu: usize) -> Event {
    let vcpu = VcpuId { vm: pcpu as u8 * 2 + kind / 128, vcpu: 0 };
    match kind % 9 {
        0 => Event::Run { vcpu, budget: Some(u64::from(number)) },
        1 => Event::Idle,
        2 => Event::Epoch { frequency_hz: 1_000_000_000 },
        3 => Event::Tick,
        kind => {
            let step = [Step::Release, Step::Start, Step::Finish][usize::from(kind) % 3];
            // Numbers go back where a guest was started again.
            let mark = JobMark { step, task: (number % 2) as u8, job: number / 2 };
            Event::Mark { vcpu, value: mark.value() }
        }
    }
}

/// Chunks: PCPU, records that were lost, records; and bytes that are missing at the end.
fn chunks() -> impl Strategy<Value = (Vec<(usize, u64, Vec<Drawn>)>, usize)> {
    let record = (0u64..9, any::<u8>(), 0u32..12);
    let lost = prop_oneof![4 => Just(0), 1 => 1u64..5];
    let chunk = (0usize..2, lost, prop::collection::vec(record, 0..9));
    (prop::collection::vec(chunk, 0..12), prop_oneof![2 => Just(0usize), 1 => 1usize..90])
}

fn written(chunks: &[(usize, u64, Vec<Drawn>)], missing: usize) -> Vec<u8> {
    let mut header = header(ALL_KINDS);
    header.pcpus = 2;
    for (number, vm) in header.vms.iter_mut().enumerate() {
        vm.vcpus[0].pcpu = number / 2;
        vm.vcpus[0].tasks[0].period_ns = (number % 2 == 0).then_some(10);
    }
    let mut writer = Writer::new(Vec::new(), &header).expect("a vector takes all");
    let mut now = [0; 2];
    let empty = writer.finish().expect("a vector takes all").len();
    writer = Writer::new(Vec::new(), &header).expect("a vector takes all");
    for (pcpu, lost, drawn) in chunks {
        let record = |drawn: &Drawn| {
            now[*pcpu] += drawn.0;
            let event = event(*drawn, *pcpu);
            // The start of the servers is recorded before it comes.
            let ahead = if matches!(event, Event::Epoch { .. }) { 15 } else { 0 };
            Entry { ticks: now[*pcpu] + ahead, event }.to_record().expect("it has a record")
        };
        let records: Vec<_> = drawn.iter().map(record).collect();
        writer.append(*pcpu, *lost, &records).expect("a vector takes all");
    }
    let mut bytes = writer.finish().expect("a vector takes all");
    bytes.truncate((bytes.len() - missing.min(bytes.len())).max(empty));
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn a_file_says_the_same_as_memory((chunks, missing) in chunks(), (others, _) in chunks()) {
        let (bytes, others) = (written(&chunks, missing), written(&others, 0));
        let (streamed, whole) = (open(&bytes).expect("a trace"), read(&bytes));
        is_the_same(&streamed, &whole)?;
        let jobs = Jobs::new(&streamed).expect("room");
        let jobs: Vec<_> = jobs
            .tasks()
            .map(|(id, jobs)| (id, jobs.iter().map(|job| job.expect("room")).collect::<Vec<_>>()))
            .collect();
        prop_assert!(jobs.into_iter().eq(timeline::jobs(&whole)));
        let other = (open(&others).expect("a trace"), read(&others));
        for options in [0, 3].map(|tolerance_ns| trace::compare::Options { tolerance_ns, ..Default::default() }) {
            let streamed = trace::compare::compare([&streamed, &other.0], options);
            let whole = trace::compare::compare([&whole, &other.1], options);
            prop_assert_eq!(streamed.map_err(|it| it.to_string()), whole.map_err(|it| it.to_string()));
        }
    }
}

#[test]
fn long_simulations_are_the_same_in_a_file() {
    let bytes = simulate(ALL_KINDS, 30_000_000);
    let (streamed, whole) = (open(&bytes).expect("a trace"), read(&bytes));
    is_the_same(&streamed, &whole).expect("the same");
    // More jobs than are kept in memory.
    let jobs: usize = timeline::jobs(&whole).values().map(Vec::len).sum();
    assert!(jobs > 2_000, "{jobs}");
    let options = trace::compare::Options::default();
    let compared = trace::compare::compare([&streamed, &streamed], options).expect("one system");
    assert_eq!(compared, trace::compare::compare([&whole, &whole], options).expect("one system"));
    let rules = trace::Rules { ceilings: false, switch: 0, kick: 0 };
    let plan = plan(ALL_KINDS);
    let replayed = trace::replay(&streamed, &plan, rules);
    assert_eq!(replayed, trace::replay(&whole, &plan, rules));
    assert!(replayed.expect("a plan of it")[0].stopped.is_none());
    assert_eq!(id(0), VcpuId { vm: 0, vcpu: 0 });
}

#[test]
fn what_is_no_trace_is_refused_with_the_same_words() {
    let good = simulate(ALL_KINDS, 1_000);
    let mut wrong = vec![b"no trace".to_vec(), b"something else altogether".to_vec(), Vec::new()];
    for (at, byte) in [(8, 9), (20, b'!')] {
        let mut file = good.clone();
        file[at] = byte;
        wrong.push(file);
    }
    let start = 16 + u32::from_le_bytes(*good[12..].first_chunk().expect("a length")) as usize;
    for (at, byte) in [(start, 3), (start + 16 + 8, 77)] {
        let mut file = good.clone();
        file[at] = byte;
        wrong.push(file);
    }
    for bytes in wrong {
        let expected = Trace::read(&bytes[..]).expect_err("wrong").to_string();
        assert_eq!(open(&bytes).expect_err("wrong").to_string(), expected);
    }
}

/// The file becomes shorter while it is read.
#[test]
fn a_file_that_changes_is_noticed() {
    let bytes = simulate(ALL_KINDS, 30_000_000);
    let file = file(&bytes);
    let trace = TraceFile::new(file.try_clone().expect("a file")).expect("a trace");
    file.set_len(bytes.len() as u64 / 2).expect("shorter");
    assert!(trace.entries(0).count() > 0);
    assert!(matches!(trace.check(), Err(ReadError::Io(_))));
    let compared = trace::compare::compare([&trace, &trace], Default::default());
    assert!(matches!(compared, Err(trace::compare::CompareError::Read(_))), "{compared:?}");
}
