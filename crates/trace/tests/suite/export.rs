//! CSV and Perfetto.

use crate::support::{ALL_KINDS, header, id, read, simulate};
use crate::wire::{COUNTER, EVENT, Message, PACKET, TRACE, TRACK};
use trace::{Entry, Event, JobMark, LockStep, Step, Trace};

#[test]
fn csv_has_a_line_for_each_entry_in_the_order_of_time() {
    let trace = read(&simulate(ALL_KINDS, 100_000));
    let mut text = Vec::new();
    trace::csv::write(&trace, &mut text).expect("a vector takes all");
    let text = String::from_utf8(text).expect("text");
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(
        &lines[..7],
        [
            "time_ns,ticks,pcpu,event,vm,vcpu,task,job,step,value",
            "0,0,0,epoch,,,,,,1000000000",
            "0,0,0,tick,,,,,,",
            "0,0,0,mark,vm-0,0,t0,0,release,",
            "0,0,0,wake,vm-0,0,,,,",
            "0,0,0,mark,vm-1,0,t0,0,release,",
            "0,0,0,wake,vm-1,0,,,,",
        ]
    );
    assert_eq!(lines.len(), 1 + trace.tracks[0].len());
    assert!(lines.contains(&"0,0,0,run,vm-0,0,,,,2000"), "{text}");
    let times: Vec<i64> =
        lines[1..].iter().map(|line| line.split(',').next().unwrap().parse().unwrap()).collect();
    assert!(times.is_sorted());
}

/// A packet with an event.
#[derive(Clone, Debug)]
struct Happened {
    time: u64,
    kind: u64,
    track: u64,
    name: String,
    value: Option<i64>,
}

/// A packet with a track.
#[derive(Debug)]
struct Track {
    uuid: u64,
    name: String,
    parent: Option<u64>,
    is_counter: bool,
}

/// Exports a trace and reads what was written: first all tracks, then all events in the order of time.
#[track_caller]
fn exported(trace: &Trace) -> (Vec<Track>, Vec<Happened>) {
    let mut bytes = Vec::new();
    trace::perfetto::write(trace, &mut bytes).expect("a vector takes all");
    let (mut tracks, mut events) = (Vec::new(), Vec::new());
    for (index, packet) in Message::read(TRACE, &bytes).messages("packet", PACKET).enumerate() {
        // One sequence, whose first packet says that nothing was said before.
        assert_eq!(packet.number("trusted_packet_sequence_id"), Some(1));
        assert_eq!(packet.number("sequence_flags"), (index == 0).then_some(1));
        for track in packet.messages("track_descriptor", TRACK) {
            assert!(events.is_empty(), "tracks come first");
            let counter = track.messages("counter", COUNTER).next();
            assert!(
                counter.as_ref().is_none_or(|it| it.number("unit") == Some(1)),
                "in nanoseconds"
            );
            tracks.push(Track {
                uuid: track.number("uuid").expect("a track has one"),
                name: track.text("name").expect("a track has one").into(),
                parent: track.number("parent_uuid"),
                is_counter: counter.is_some(),
            });
        }
        for event in packet.messages("track_event", EVENT) {
            events.push(Happened {
                time: packet.number("timestamp").expect("an event has one"),
                kind: event.number("type").expect("an event has one"),
                track: event.number("track_uuid").expect("an event has one"),
                name: event.text("name").unwrap_or_default().into(),
                value: event.number("counter_value").map(|it| it as i64),
            });
        }
    }
    assert!(events.is_sorted_by_key(|it| it.time), "events are in the order of time");
    (tracks, events)
}

#[test]
fn perfetto_gets_tracks_slices_and_budgets_in_the_order_of_time() {
    const BEGIN: u64 = 1;
    const END: u64 = 2;
    const COUNTS: u64 = 4;
    let trace = read(&simulate(ALL_KINDS, 200_000));
    let (tracks, events) = exported(&trace);
    let names: Vec<&str> = tracks.iter().map(|track| track.name.as_str()).collect();
    for name in ["test (simulation)", "PCPU 0", "vm-0", "budget of vm-1/0", "t1"] {
        assert!(names.contains(&name), "{name} in {names:?}");
    }
    assert!(names.contains(&"vm-3/0 on PCPU 0 (background)"), "{names:?}");
    for (at, track) in tracks.iter().enumerate() {
        assert!(tracks[..at].iter().all(|other| other.uuid != track.uuid), "{}", track.name);
        let has_parent = |parent| tracks[..at].iter().any(|other| other.uuid == parent);
        assert!(track.parent.is_none_or(has_parent), "{}", track.name);
    }
    assert!(events.iter().all(|event| tracks.iter().any(|track| track.uuid == event.track)));
    for track in tracks {
        let of_track = events.iter().filter(|event| event.track == track.uuid && event.kind != 3);
        let slices: Vec<&Happened> = of_track.collect();
        if track.is_counter {
            assert!(slices.iter().all(|event| event.kind == COUNTS));
            let values: Vec<i64> = slices.iter().filter_map(|event| event.value).collect();
            assert!(values.len() > 10 && values.iter().all(|value| (0..=4_000).contains(value)));
            continue;
        }
        // In the order of the file, as a viewer reads them.
        let mut ends = 0;
        for pair in slices.chunks(2) {
            let [begin, end] = pair else { panic!("a slice without an end") };
            assert_eq!((begin.kind, end.kind), (BEGIN, END), "{}", track.name);
            assert!(begin.time >= ends && end.time > begin.time && !begin.name.is_empty());
            ends = end.time;
        }
    }
}

/// Numbers of exits, interrupts and resources are names where these are known. A job that ends after the next one is
/// released is no reason for disorder.
#[test]
fn perfetto_gets_names_and_order_from_executions() {
    let mut header = header(ALL_KINDS);
    header.resources = vec!["map".into()];
    let vcpu = id(0);
    let mark = |job, step| Event::Mark { vcpu, value: JobMark { task: 0, job, step }.value() };
    let lock =
        |resource| Event::Lock { vcpu, step: LockStep::Wait, task: 0, resource, global: true };
    let events = [
        (100, mark(0, Step::Release)),
        (100, Event::Run { vcpu, budget: Some(2_000) }),
        (110, mark(0, Step::Start)),
        (120, Event::Exit { vcpu, syndrome: 0x16 << 26 | 7 }),
        (130, Event::Exit { vcpu, syndrome: 0x3c << 26 }),
        (140, Event::Interrupt { vcpu, intid: 27 }),
        (150, Event::Interrupt { vcpu, intid: 40 }),
        (160, lock(0)),
        (170, lock(1)),
        (180, mark(1, Step::Release)),
        (190, mark(0, Step::Finish)),
        (200, mark(1, Step::Start)),
        (210, mark(1, Step::Finish)),
        (220, Event::Idle),
    ];
    let entries = events.map(|(ticks, event)| Entry { ticks, event }).to_vec();
    let trace = Trace { header, tracks: vec![entries], is_cut_off: false };
    let (tracks, events) = exported(&trace);
    let of = |name: &str| tracks.iter().find(|it| it.name == name).expect("a track").uuid;
    let named = |track: u64| -> Vec<(u64, &str)> {
        let of_track = events.iter().filter(|it| it.track == track && !it.name.is_empty());
        of_track.map(|it| (it.time, it.name.as_str())).collect()
    };
    assert_eq!(
        named(of("vm-0/0 on PCPU 0 (deferrable, 0.002 of 0.01 ms)")),
        [
            (0, "on PCPU 0"),
            (20, "exit: HVC"),
            (30, "exit: class 0x3c"),
            (40, "interrupt 27: virtual timer"),
            (50, "interrupt 40"),
        ]
    );
    let task = tracks.iter().find(|it| it.name == "t0").expect("a track").uuid;
    assert_eq!(
        named(task),
        [
            (0, "release"),
            (0, "job 0"),
            (60, "waits for resource map"),
            (70, "waits for resource 1"),
            (80, "release"),
            (90, "job 1"),
        ]
    );
}

#[test]
fn charts_show_the_time_that_is_asked_for() {
    let trace = read(&simulate(ALL_KINDS, 200_000));
    let svg = trace::gantt::svg(&trace, Some(50_000), Some(100_000)).expect("a chart");
    for part in ["PCPU 0", "vm-2/0", "t1", "test (simulation)", "time in ms"] {
        assert!(svg.contains(part), "{part} is not in {svg}");
    }
    let bars = |svg: &str| svg.matches("<rect").count();
    let all = trace::gantt::svg(&trace, None, None).expect("a chart");
    assert!(bars(&all) > 3 * bars(&svg), "{} and {}", bars(&all), bars(&svg));
    assert!(trace::gantt::svg(&trace, Some(300_000), None).is_err());
}

#[test]
fn the_page_has_tables_and_says_what_was_lost() {
    let mut trace = read(&simulate(ALL_KINDS, 200_000));
    trace.header.name = "a <b>".into();
    let page = trace::gantt::html(&trace, None, None).expect("a page");
    for part in
        ["a &lt;b&gt; (simulation)", "<svg", "<td>vm-0/0</td>", "deferrable, 0.002 of 0.01 ms"]
    {
        assert!(page.contains(part), "{part} is not in {page}");
    }
    assert!(!page.contains("lost"));
    let event = trace::Event::Lost { records: 3 };
    trace.tracks[0].push(trace::Entry { ticks: 200_000, event });
    assert!(
        trace::gantt::html(&trace, None, None).expect("a page").contains("3 records were lost")
    );
}
