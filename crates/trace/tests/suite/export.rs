//! CSV and Perfetto.

use prost::Message;

use crate::support::{ALL_KINDS, read, simulate};

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

/// The parts of Perfetto's messages that the test looks at.
#[derive(Message)]
struct Packets {
    #[prost(message, repeated, tag = "1")]
    packets: Vec<Packet>,
}

#[derive(Message)]
struct Packet {
    #[prost(uint64, tag = "8")]
    timestamp: u64,
    #[prost(message, optional, tag = "11")]
    event: Option<Event>,
    #[prost(message, optional, tag = "60")]
    track: Option<Track>,
}

#[derive(Message)]
struct Event {
    #[prost(int32, tag = "9")]
    kind: i32,
    #[prost(uint64, tag = "11")]
    track: u64,
    #[prost(string, tag = "23")]
    name: String,
    #[prost(int64, optional, tag = "30")]
    value: Option<i64>,
}

#[derive(Message)]
struct Track {
    #[prost(uint64, tag = "1")]
    uuid: u64,
    #[prost(string, tag = "2")]
    name: String,
    #[prost(uint64, optional, tag = "5")]
    parent: Option<u64>,
    #[prost(message, optional, tag = "8")]
    counter: Option<()>,
}

#[test]
fn perfetto_gets_tracks_slices_and_budgets() {
    const BEGIN: i32 = 1;
    const END: i32 = 2;
    const COUNTER: i32 = 4;
    let trace = read(&simulate(ALL_KINDS, 200_000));
    let mut bytes = Vec::new();
    trace::perfetto::write(&trace, &mut bytes).expect("a vector takes all");
    let packets = Packets::decode(&bytes[..]).expect("packets").packets;
    let tracks: Vec<&Track> = packets.iter().filter_map(|packet| packet.track.as_ref()).collect();
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
    for track in tracks {
        let events = packets.iter().filter_map(|packet| {
            let event = packet.event.as_ref()?;
            (event.track == track.uuid).then_some((packet.timestamp, event))
        });
        let mut slices: Vec<_> = events.filter(|(_, event)| event.kind != 3).collect();
        slices.sort_by_key(|&(time, _)| time);
        if track.counter.is_some() {
            assert!(slices.iter().all(|(_, event)| event.kind == COUNTER));
            let values: Vec<i64> = slices.iter().filter_map(|(_, event)| event.value).collect();
            assert!(values.len() > 10 && values.iter().all(|value| (0..=4_000).contains(value)));
            continue;
        }
        let mut ends = 0;
        for pair in slices.chunks(2) {
            let [(start, begin), (end, over)] = pair else { panic!("a slice without an end") };
            assert_eq!((begin.kind, over.kind), (BEGIN, END));
            assert!(*start >= ends && end > start && !begin.name.is_empty());
            ends = *end;
        }
    }
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
