//! Traces for Perfetto's viewer, in its own format (protobuf).
//!
//! Packets are in the order of time. There is a track for each PCPU with the VCPUs that it runs, and one for each VCPU with
//! the times for which it runs. Below that are what is left of its budget, as a counter, and a
//! track for each of its tasks with the jobs from release to completion.

mod merge;
mod messages;
mod names;
mod tracks;

use std::io::{self, Write};

use prost::Message;

use crate::timeline::{self, Jobs, Span, State, TaskJobs};
use crate::{Clock, Entry, Event, LockStep, Source, Step};
use merge::{Merged, Stream, Timed};
use messages::{TracePacket, TrackDescriptor, TrackEvent, TrackEventType};

/// Writes a trace. `out` should be buffered.
pub fn write<S: Source>(trace: &S, out: impl Write) -> io::Result<()> {
    let jobs = Jobs::new(trace)?;
    let (clock, first) = (trace.clock(), trace.first());
    let mut packets = Packets { out, any: false };
    for track in tracks::all(trace, &jobs) {
        packets.write(TracePacket { track_descriptor: Some(track), ..TracePacket::default() })?;
    }
    let mut streams: Vec<Stream<'_>> = Vec::new();
    for pcpu in 0..trace.pcpus() {
        let spans = timeline::spans_of(trace, pcpu);
        streams.push(Box::new(spans.flat_map(move |it| span(trace, clock, pcpu, it)).map(Ok)));
        let entries = trace.entries(pcpu);
        streams.push(Box::new(entries.filter_map(move |it| entry(trace, pcpu, it)).map(Ok)));
    }
    for ((vcpu, task), jobs) in jobs.tasks() {
        streams.extend(streams_of(tracks::task(vcpu, task), jobs));
    }
    for event in Merged::new(streams) {
        let (ticks, event) = event?;
        // From the first entry on: Perfetto has no times before 0.
        let timestamp = Some(clock.length_ns(ticks.saturating_sub(first)));
        packets.write(TracePacket {
            timestamp,
            track_event: Some(event),
            ..TracePacket::default()
        })?;
    }
    packets.out.flush()
}

struct Packets<W> {
    out: W,
    any: bool,
}

impl<W: Write> Packets<W> {
    fn write(&mut self, mut packet: TracePacket) -> io::Result<()> {
        packet.trusted_packet_sequence_id = Some(1);
        if !self.any {
            packet.sequence_flags = Some(messages::INCREMENTAL_STATE_CLEARED);
        }
        self.any = true;
        self.out.write_all(&messages::Trace { packet: vec![packet] }.encode_to_vec())
    }
}

/// The VCPU that a PCPU runs: on the track of the PCPU, on that of the VCPU, and its budget.
fn span<S: Source>(trace: &S, clock: Clock, pcpu: usize, span: Span) -> Vec<Timed> {
    let header = trace.header();
    let begin = |track, name| (span.start, TrackEvent::begin(track, name));
    let end = |track| (span.end, TrackEvent::end(track));
    let track = tracks::pcpu(pcpu);
    let vcpu = match span.state {
        State::Idle => return Vec::new(),
        State::Unknown => return vec![begin(track, "records lost".into()), end(track)],
        State::Runs(vcpu) => vcpu,
    };
    let of_vcpu = tracks::vcpu(vcpu);
    let mut events = vec![
        begin(track, header.vcpu_name(vcpu)),
        begin(of_vcpu, format!("on PCPU {pcpu}")),
        end(of_vcpu),
        end(track),
    ];
    if let Some(budget) = span.budget.filter(|_| tracks::has_budget(header, vcpu)) {
        let left = |ticks| i64::try_from(clock.length_ns(ticks)).unwrap_or(i64::MAX);
        let counter = |ticks| TrackEvent::counter(tracks::budget(vcpu), left(ticks));
        events.insert(2, (span.start, counter(budget)));
        let used = span.end - span.start;
        events.push((span.end, counter(budget.saturating_sub(used))));
    }
    events
}

/// An event that takes no time.
fn entry<S: Source>(trace: &S, pcpu: usize, entry: Entry) -> Option<Timed> {
    let (header, track) = (trace.header(), tracks::pcpu(pcpu));
    let (track, name) = match entry.event {
        Event::Wake(vcpu) => (tracks::vcpu(vcpu), "wake".into()),
        Event::Block(vcpu) => (tracks::vcpu(vcpu), "block".into()),
        Event::Stop(vcpu) => (tracks::vcpu(vcpu), "off".into()),
        Event::Exit { vcpu, syndrome } => (tracks::vcpu(vcpu), names::exit(syndrome >> 26 & 0x3f)),
        Event::Interrupt { vcpu, intid } => (tracks::vcpu(vcpu), names::interrupt(intid)),
        Event::Mark { vcpu, value } if entry.event.job().is_none() => {
            (tracks::vcpu(vcpu), format!("mark {value:#x}"))
        }
        Event::Tick => (track, "tick".into()),
        Event::Overflow { vcpu, .. } => (tracks::vcpu(vcpu), "its accesses are used up".into()),
        Event::Recharge { vcpu, accesses } => {
            (tracks::vcpu(vcpu), format!("may make {accesses} accesses"))
        }
        Event::Account { vcpu, accesses } => (tracks::vcpu(vcpu), format!("{accesses} accesses")),
        Event::Grant { vcpu, accesses, .. } => {
            (tracks::vcpu(vcpu), format!("{accesses} accesses of the VM's"))
        }
        Event::StartGcs(vcpu) => (tracks::vcpu(vcpu), "in a critical section".into()),
        Event::FinishGcs(vcpu) => (tracks::vcpu(vcpu), "left the critical section".into()),
        Event::Enter(vcpu) => (tracks::vcpu(vcpu), "enters".into()),
        Event::Kick(vcpu) => (tracks::vcpu(vcpu), "interrupt, waits on".into()),
        Event::StopInGcs(vcpu) => (tracks::vcpu(vcpu), "its overrun is used up".into()),
        Event::EndGcs(vcpu) => (tracks::vcpu(vcpu), "critical section too long".into()),
        Event::TooOften { vcpu, ticks } => {
            let what = format!("critical section refused, in {ticks} ticks");
            (tracks::vcpu(vcpu), what)
        }
        Event::Lock { vcpu, step, task, resource, .. } => {
            let what = match step {
                LockStep::Lock => "gets",
                LockStep::Wait => "waits for",
                LockStep::Unlock => "releases",
            };
            (tracks::task(vcpu, task), format!("{what} {}", header.resource_name(resource)))
        }
        Event::Epoch { .. } => (track, "servers start".into()),
        Event::Lost { records } => (track, format!("{records} records lost")),
        Event::VmStop { vm, .. } => (track, format!("{} is stopped", header.vm_name(vm))),
        Event::VmStart { vm, .. } => (track, format!("{} restarts", header.vm_name(vm))),
        Event::Mark { .. } | Event::Run { .. } | Event::Idle => return None,
    };
    Some((entry.ticks, TrackEvent::instant(track, name)))
}

/// Returns the releases of a task's jobs, and the jobs. They follow each other on its track: a job that is released
/// before the one before is complete begins when that is.
fn streams_of(track: u64, jobs: TaskJobs<'_>) -> [Stream<'_>; 2] {
    let releases = jobs.iter().filter_map(move |job| match job {
        Ok(job) => Some(Ok((job.release?, TrackEvent::instant(track, Step::Release.to_string())))),
        Err(error) => Some(Err(error)),
    });
    let mut free = 0;
    let slices = jobs.iter().flat_map(move |job| {
        let job = match job {
            Ok(job) => job,
            Err(error) => return vec![Err(error)],
        };
        let Some((begin, finish)) = job.release.or(job.start).zip(job.finish) else {
            return Vec::new();
        };
        let begin = begin.max(free).min(finish);
        free = finish;
        let name = format!("job {}", job.job);
        vec![Ok((begin, TrackEvent::begin(track, name))), Ok((finish, TrackEvent::end(track)))]
    });
    [Box::new(releases), Box::new(slices)]
}

impl TrackEvent {
    fn new(track: u64, kind: TrackEventType, name: Option<String>) -> Self {
        Self { track_uuid: Some(track), r#type: Some(kind.into()), name, ..Self::default() }
    }

    fn begin(track: u64, name: String) -> Self {
        Self::new(track, TrackEventType::SliceBegin, Some(name))
    }

    fn end(track: u64) -> Self {
        Self::new(track, TrackEventType::SliceEnd, None)
    }

    fn instant(track: u64, name: String) -> Self {
        Self::new(track, TrackEventType::Instant, Some(name))
    }

    fn counter(track: u64, value: i64) -> Self {
        let event = Self::new(track, TrackEventType::Counter, None);
        Self { counter_value: Some(value), ..event }
    }
}

impl TrackDescriptor {
    fn new(uuid: u64, parent: Option<u64>, name: String, rank: usize) -> Self {
        Self {
            uuid: Some(uuid),
            parent_uuid: parent,
            name: Some(name),
            sibling_order_rank: i32::try_from(rank).ok(),
            child_ordering: Some(messages::EXPLICIT_ORDER),
            counter: None,
        }
    }
}
