//! Traces for Perfetto's viewer, in its own format (protobuf).
//!
//! There is a track for each PCPU with the VCPUs that it runs, and one for each VCPU with
//! the times for which it runs. Below that are what is left of its budget, as a counter, and a
//! track for each of its tasks with the jobs from release to completion.

mod messages;
mod tracks;

use std::collections::BTreeMap;
use std::io::{self, Write};

use prost::Message;

use crate::timeline::{self, Jobs, State};
use crate::{Clock, Event, LockStep, Source, Step, VcpuId};
use messages::{TracePacket, TrackDescriptor, TrackEvent, TrackEventType};

/// Writes a trace. `out` should be buffered.
pub fn write<S: Source>(trace: &S, out: impl Write) -> io::Result<()> {
    let jobs = Jobs::new(trace)?;
    let (clock, first) = (trace.clock(), trace.first());
    let mut exporter = Exporter { trace, clock, first, out, any: false };
    for track in tracks::all(trace, &jobs) {
        exporter.packet(TracePacket { track_descriptor: Some(track), ..TracePacket::default() })?;
    }
    for pcpu in 0..trace.pcpus() {
        exporter.pcpu(pcpu)?;
    }
    exporter.jobs(&jobs)?;
    exporter.out.flush()
}

struct Exporter<'a, S, W> {
    trace: &'a S,
    clock: Clock,
    /// Time of the first entry.
    first: u64,
    out: W,
    any: bool,
}

impl<S: Source, W: Write> Exporter<'_, S, W> {
    fn packet(&mut self, mut packet: TracePacket) -> io::Result<()> {
        packet.trusted_packet_sequence_id = Some(1);
        if !self.any {
            packet.sequence_flags = Some(messages::INCREMENTAL_STATE_CLEARED);
        }
        self.any = true;
        self.out.write_all(&messages::Trace { packet: vec![packet] }.encode_to_vec())
    }

    /// Nanoseconds from the first entry on: Perfetto has no times before 0.
    fn time(&self, ticks: u64) -> u64 {
        self.clock.length_ns(ticks.saturating_sub(self.first))
    }

    fn event(&mut self, ticks: u64, event: TrackEvent) -> io::Result<()> {
        let timestamp = Some(self.time(ticks));
        self.packet(TracePacket { timestamp, track_event: Some(event), ..TracePacket::default() })
    }

    fn slice(&mut self, track: u64, name: String, start: u64, end: u64) -> io::Result<()> {
        self.event(start, TrackEvent::new(track, TrackEventType::SliceBegin, Some(name)))?;
        self.event(end, TrackEvent::new(track, TrackEventType::SliceEnd, None))
    }

    fn instant(&mut self, track: u64, name: String, ticks: u64) -> io::Result<()> {
        self.event(ticks, TrackEvent::new(track, TrackEventType::Instant, Some(name)))
    }

    fn budget(&mut self, vcpu: VcpuId, left: u64, ticks: u64) -> io::Result<()> {
        let left = i64::try_from(self.clock.length_ns(left)).unwrap_or(i64::MAX);
        self.event(ticks, TrackEvent::counter(tracks::budget(vcpu), left))
    }

    /// Writes the VCPUs that a PCPU runs, and its events.
    fn pcpu(&mut self, pcpu: usize) -> io::Result<()> {
        let trace = self.trace;
        let header = trace.header();
        let track = tracks::pcpu(pcpu);
        for span in timeline::spans_of(trace, pcpu) {
            match span.state {
                State::Idle => {}
                State::Unknown => {
                    self.slice(track, "records lost".into(), span.start, span.end)?;
                }
                State::Runs(vcpu) => {
                    self.slice(track, header.vcpu_name(vcpu), span.start, span.end)?;
                    let name = format!("on PCPU {pcpu}");
                    self.slice(tracks::vcpu(vcpu), name, span.start, span.end)?;
                    if let Some(budget) = span.budget
                        && tracks::has_budget(header, vcpu)
                    {
                        self.budget(vcpu, budget, span.start)?;
                        let used = span.end - span.start;
                        self.budget(vcpu, budget.saturating_sub(used), span.end)?;
                    }
                }
            }
        }
        for entry in trace.entries(pcpu) {
            let (track, name) = match entry.event {
                Event::Wake(vcpu) => (tracks::vcpu(vcpu), "wake".into()),
                Event::Block(vcpu) => (tracks::vcpu(vcpu), "block".into()),
                Event::Stop(vcpu) => (tracks::vcpu(vcpu), "off".into()),
                Event::Exit { vcpu, syndrome } => {
                    (tracks::vcpu(vcpu), format!("exit, class {:#04x}", syndrome >> 26 & 0x3f))
                }
                Event::Interrupt { vcpu, intid } => {
                    (tracks::vcpu(vcpu), format!("interrupt {intid}"))
                }
                Event::Mark { vcpu, value } if entry.event.job().is_none() => {
                    (tracks::vcpu(vcpu), format!("mark {value:#x}"))
                }
                Event::Tick => (track, "tick".into()),
                Event::Overflow { vcpu, .. } => {
                    (tracks::vcpu(vcpu), "its accesses are used up".into())
                }
                Event::Recharge { vcpu, accesses } => {
                    (tracks::vcpu(vcpu), format!("may make {accesses} accesses"))
                }
                Event::Account { vcpu, accesses } => {
                    (tracks::vcpu(vcpu), format!("{accesses} accesses"))
                }
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
                    (tracks::task(vcpu, task), format!("{what} resource {resource}"))
                }
                Event::Epoch { .. } => (track, "servers start".into()),
                Event::Lost { records } => (track, format!("{records} records lost")),
                Event::VmStop { vm, .. } => (track, format!("{} is stopped", header.vm_name(vm))),
                Event::VmStart { vm, .. } => (track, format!("{} restarts", header.vm_name(vm))),
                Event::Mark { .. } | Event::Run { .. } | Event::Idle => continue,
            };
            self.instant(track, name, entry.ticks)?;
        }
        Ok(())
    }

    /// Returns the jobs of all tasks. Those of one task follow each other on its track: one that is
    /// released before the one before is complete begins when that is.
    fn jobs(&mut self, jobs: &Jobs) -> io::Result<()> {
        let mut free: BTreeMap<u64, u64> = BTreeMap::new();
        for ((vcpu, task), jobs) in jobs.tasks() {
            let track = tracks::task(vcpu, task);
            let free = free.entry(track).or_default();
            for job in jobs.iter() {
                let job = job?;
                if let Some(release) = job.release {
                    self.instant(track, Step::Release.to_string(), release)?;
                }
                if let (Some(begin), Some(finish)) = (job.release.or(job.start), job.finish) {
                    let begin = begin.max(*free).min(finish);
                    self.slice(track, format!("job {}", job.job), begin, finish)?;
                    *free = finish;
                }
            }
        }
        Ok(())
    }
}

impl TrackEvent {
    fn new(track: u64, kind: TrackEventType, name: Option<String>) -> Self {
        Self { track_uuid: Some(track), r#type: Some(kind.into()), name, ..Self::default() }
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
