//! Records the actions of the hypervisor while it runs.
//!
//! A thread copies what is new into a file, while the machine goes on. The hypervisor writes rings in the RAM of its machine,
//! which for a board of QEMU is a file in memory that QEMU and this process share; another machine brings its own [`Ram`], or
//! its own [`Feed`].

mod feed;
mod live;
mod ram;

use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use abi::limits::PAGE_BYTES;
use abi::trace::{Kind, RING_RECORDS, Record};
use image::WholeFile;
use policy::color::Stripe;
use serde::Serialize;
use trace::rings::Ram;
use trace::{Header, ReadError, Trace, TraceFile, Writer};

use crate::failure::Failure;
use crate::header::header;
use crate::load::System;
use feed::RingFeed;
pub use feed::{Feed, Opened};
pub use live::Live;
pub use ram::SharedRam;

/// Interval at which the rings are read.
const POLL: Duration = Duration::from_millis(1);
/// Pages of the hypervisor that are searched for the descriptor: the image, and the first pages
/// that it allocates.
const PAGES_SEARCHED: u64 = 4096;

/// The contents of a trace.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum What {
    /// Everything.
    All,
    /// Marks of guests, and the time of the end.
    Marks,
}

/// Orders to the thread of a recording.
#[derive(Debug, Default)]
struct Order {
    /// Read the rest, and end.
    stop: AtomicBool,
    /// The machine has ended, so that the trace is complete: the file gets its name.
    keep: AtomicBool,
}

/// A recording under way.
#[derive(Debug)]
pub struct Recording {
    path: PathBuf,
    order: Arc<Order>,
    /// `None` after [`Recording::finish`].
    thread: Option<JoinHandle<Result<(u64, u64), String>>>,
}

/// A recorded trace.
#[derive(Clone, Debug, Serialize)]
pub struct Recorded {
    /// Name of the file.
    pub file: String,
    /// Records in it.
    pub records: u64,
    /// Records that were overwritten before they were read.
    pub lost: u64,
}

/// The file of a trace, before there are records. It gets its name when it is complete.
#[derive(Debug)]
pub struct NewTrace {
    path: PathBuf,
    what: What,
    out: WholeFile,
    live: Option<Live>,
}

impl NewTrace {
    /// Makes the file, so that a place that cannot be written is known before anything starts. Unfinished files beside it are
    /// removed whose processes were killed.
    pub fn create(path: &Path, what: What) -> Result<Self, Failure> {
        WholeFile::remove_abandoned(path);
        let out = WholeFile::create(path).map_err(|error| {
            Failure::file("cannot-write", format!("cannot write {}: {error}", path.display()))
        })?;
        Ok(Self { path: path.to_owned(), what, out, live: None })
    }

    /// Tells `live` all records, whatever the file contains.
    pub fn with_live(self, live: Option<Live>) -> Self {
        Self { live, ..self }
    }
}

impl Recording {
    /// Prepares to record a system into a file, and begins to look for the rings in the RAM of its machine.
    pub fn start(
        path: &Path,
        system: &System,
        ram: impl Ram + Send + 'static,
        what: What,
    ) -> Result<Self, Failure> {
        Self::from_ram(NewTrace::create(path, what)?, system, ram)
    }

    /// Begins to look for the rings in the RAM of a machine, for a file that is there.
    pub fn from_ram(
        trace: NewTrace,
        system: &System,
        ram: impl Ram + Send + 'static,
    ) -> Result<Self, Failure> {
        Ok(Self::begin(trace, system, RingFeed::new(ram, pages(system)?)))
    }

    /// Prepares to record a system into a file, and begins to take records from `feed`.
    pub fn of(
        path: &Path,
        system: &System,
        feed: impl Feed + Send + 'static,
        what: What,
    ) -> Result<Self, Failure> {
        Ok(Self::begin(NewTrace::create(path, what)?, system, feed))
    }

    /// Begins to take records from `feed` into a file that is there.
    pub fn begin(
        NewTrace { path, what, out, live }: NewTrace,
        system: &System,
        feed: impl Feed + Send + 'static,
    ) -> Self {
        let order = Arc::new(Order::default());
        let recorder = Recorder {
            feed,
            // The frequency is that of the machine, which tells it later.
            header: header(&system.plan, system.description.as_deref(), 0),
            what,
            live,
            order: Arc::clone(&order),
        };
        let thread = thread::spawn(move || recorder.run(out));
        Self { path, order, thread: Some(thread) }
    }

    /// Reads the rest after the machine has ended.
    pub fn finish(mut self) -> Result<Recorded, String> {
        let file = self.path.display().to_string();
        self.order.keep.store(true, Ordering::Relaxed);
        let (records, lost) = self
            .end()
            .unwrap_or_else(|| Err("the thread that reads it ended".into()))
            .map_err(|error| format!("there is no complete trace in {file}: {error}"))?;
        Ok(Recorded { file, records, lost })
    }

    /// Ends the thread; `None` if it panicked or has been ended before.
    fn end(&mut self) -> Option<Result<(u64, u64), String>> {
        self.order.stop.store(true, Ordering::Release);
        self.thread.take()?.join().ok()
    }
}

/// The machine did not start, or nobody waited for its end: the thread must not go on, and its
/// unfinished file is removed.
impl Drop for Recording {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// Reads a trace.
pub fn read_trace(path: &Path) -> Result<Trace, Failure> {
    let name = path.display();
    let file = File::open(path)
        .map_err(|error| Failure::file("cannot-read", format!("cannot read {name}: {error}")))?;
    Trace::read(BufReader::new(file)).map_err(|error| unreadable(path, error))
}

/// Opens a trace that is read from its file again and again, and not kept in memory.
pub fn open_trace(path: &Path) -> Result<TraceFile, Failure> {
    TraceFile::open(path).map_err(|error| unreadable(path, error))
}

/// Returns why a trace cannot be used.
pub fn unreadable(path: &Path, error: ReadError) -> Failure {
    let name = path.display();
    match error {
        ReadError::Io(error) => {
            Failure::file("cannot-read", format!("cannot read {name}: {error}"))
        }
        error => Failure::new("not-a-trace", format!("{name}: {error}")),
    }
}

/// Returns the pages of the hypervisor on which its descriptor can be.
fn pages(system: &System) -> Result<Vec<u64>, Failure> {
    let platform = &system.plan.platform;
    let area = platform.hypervisor_area.zip(platform.llc);
    let (stripe, bytes) = match area {
        Some((area, llc)) => {
            let start = area.region.start.0;
            let stripe = Stripe::new(PAGE_BYTES, llc.geometry.mask(), area.colors, start);
            (stripe.map_err(|error| Failure::new("colors", error))?, area.region.size.0)
        }
        None => {
            let region = platform.hypervisor;
            (Stripe::contiguous(region.start.0, PAGE_BYTES), region.size.0)
        }
    };
    let count = stripe.count(bytes).min(PAGES_SEARCHED);
    Ok((0..count).map(|page| stripe.frame(page)).collect())
}

/// The thread's part.
struct Recorder<F> {
    feed: F,
    header: Header,
    what: What,
    live: Option<Live>,
    order: Arc<Order>,
}

impl<F: Feed> Recorder<F> {
    /// Returns the numbers of read and of lost records.
    fn run(mut self, out: WholeFile) -> Result<(u64, u64), String> {
        let Opened { frequency_hz, pcpus } = self.open()?;
        if pcpus != self.header.pcpus {
            let planned = self.header.pcpus;
            return Err(format!("the plan has {planned} CPUs, the machine {pcpus} rings"));
        }
        let header = Header { frequency_hz, ..self.header.clone() };
        if let Some(live) = &self.live {
            live.begin(&header);
        }
        let mut writer = Writer::new(BufWriter::new(out), &header).map_err(text)?;
        let (mut read, mut lost) = (0, 0);
        let mut last = vec![None; pcpus];
        // Not anew each time: memory that is given back is taken away from the CPUs of all threads, those that run VMs, too.
        let mut records = Vec::with_capacity(RING_RECORDS);
        loop {
            // Looked at first: what was written before the end is read once more.
            let is_last = self.order.stop.load(Ordering::Acquire);
            let counts = (&mut read, &mut lost);
            let most = self.copy(&mut writer, &mut records, counts, &mut last).map_err(text)?;
            if is_last {
                break;
            }
            thread::sleep(self.feed.pause(most));
        }
        for (pcpu, last) in last.iter().enumerate() {
            writer.append(pcpu, 0, last.as_slice()).map_err(text)?;
        }
        let out = writer.finish().map_err(text)?.into_inner().map_err(text)?;
        if !self.order.keep.load(Ordering::Relaxed) {
            return Err("no thread waited for the machine".into());
        }
        out.finish().map_err(text)?;
        Ok((read, lost))
    }

    /// Waits until there can be records.
    fn open(&mut self) -> Result<Opened, String> {
        loop {
            let is_last = self.order.stop.load(Ordering::Acquire);
            match self.feed.open()? {
                Some(opened) => return Ok(opened),
                None if is_last => {
                    return Err("the hypervisor did not say where its rings are".into());
                }
                None => thread::sleep(POLL),
            }
        }
    }

    /// Copies what is new of all PCPUs; returns the most records of one of them. `records` is where
    /// they are put; `last`: of each, the last record that was
    /// not written.
    fn copy(
        &mut self,
        writer: &mut Writer<impl Write>,
        records: &mut Vec<Record>,
        (read, lost): (&mut u64, &mut u64),
        last: &mut [Option<Record>],
    ) -> std::io::Result<usize> {
        let mut most = 0;
        for (pcpu, last) in last.iter_mut().enumerate() {
            let overwritten = self.feed.poll(pcpu, records)?;
            most = most.max(records.len());
            if let Some(live) = &self.live {
                live.tell(pcpu, overwritten, records);
            }
            if self.what == What::Marks
                && let Some(newest) = records.last().copied()
            {
                let is_mark = |record: &Record| record.kind() == Some(Kind::GuestMark);
                *last = (!is_mark(&newest)).then_some(newest);
                records.retain(is_mark);
            }
            writer.append(pcpu, overwritten, records)?;
            *read += records.len() as u64;
            *lost += overwritten;
        }
        Ok(most)
    }
}

fn text(error: impl ToString) -> String {
    error.to_string()
}
