//! Trace files that are read again and again, and not kept in memory.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;

use super::ReadError;
use super::chunks::Chunks;
use super::reader;
use super::track::{Piece, Track};
use crate::{Entry, Event, Header, Source, Trace};

/// A trace in a file. What it needs of memory does not depend on the length of the trace.
#[derive(Debug)]
pub struct TraceFile {
    file: File,
    header: Header,
    /// Places of the first chunk, and of the end of the file when it was opened.
    start: u64,
    end: u64,
    tracks: Vec<Facts>,
    /// True if the file ends within a record or chunk.
    pub is_cut_off: bool,
    /// The reason why an iterator ended too early.
    error: RefCell<Option<ReadError>>,
}

/// The known facts about a PCPU.
#[derive(Clone, Copy, Debug, Default)]
struct Facts {
    first: Option<u64>,
    last: Option<u64>,
    epoch: Option<u64>,
    lost: u64,
    entries: u64,
}

impl TraceFile {
    /// Opens a file, and checks all of it. What is no file, such as a pipe, is copied to one that
    /// is removed when this is dropped.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let mut file = File::open(path)?;
        if !file.metadata()?.is_file() {
            let mut copy = tempfile::tempfile()?;
            io::copy(&mut file, &mut copy)?;
            file = copy;
        }
        Self::new(file)
    }

    /// Reads a file from its beginning, and checks all of it.
    pub fn new(mut file: File) -> Result<Self, ReadError> {
        io::Seek::rewind(&mut file)?;
        let (header, start) = reader::start(&mut BufReader::new(&file))?;
        let end = file.metadata()?.len().max(start);
        let mut chunks = Chunks::new(&file, start, end);
        let pcpus = header.pcpus;
        while let Some((at, piece)) = chunks.next()? {
            let pcpu = chunks.pcpu();
            if matches!(piece, Piece::Lost(_)) && pcpu as usize >= pcpus {
                return Err(ReadError::Pcpu { at, pcpu, pcpus });
            }
        }
        let is_cut_off = chunks.is_cut_off();
        let error = RefCell::new(None);
        let mut new = Self { file, header, start, end, tracks: Vec::new(), is_cut_off, error };
        let facts = |pcpu| new.entries(pcpu).fold(Facts::default(), Facts::with);
        new.tracks = (0..pcpus).map(facts).collect();
        new.check()?;
        Ok(new)
    }

    /// Reads all of it into memory.
    pub fn load(&self) -> Result<Trace, ReadError> {
        let tracks = (0..self.pcpus()).map(|pcpu| self.entries(pcpu).collect()).collect();
        self.check()?;
        Ok(Trace { header: self.header.clone(), tracks, is_cut_off: self.is_cut_off })
    }

    /// Records that were lost, of all PCPUs.
    pub fn lost(&self) -> u64 {
        self.tracks.iter().map(|track| track.lost).sum()
    }

    /// Returns the number of entries of all PCPUs.
    pub fn count(&self) -> u64 {
        self.tracks.iter().map(|track| track.entries).sum()
    }
}

impl Facts {
    fn with(self, entry: Entry) -> Self {
        let ticks = Some(entry.ticks);
        Self {
            first: self.first.or(ticks),
            last: ticks,
            epoch: self.epoch.or(ticks.filter(|_| matches!(entry.event, Event::Epoch { .. }))),
            lost: match entry.event {
                Event::Lost { records } => self.lost.saturating_add(records),
                _ => self.lost,
            },
            entries: self.entries + 1,
        }
    }
}

impl Source for TraceFile {
    fn header(&self) -> &Header {
        &self.header
    }

    fn pcpus(&self) -> usize {
        self.header.pcpus
    }

    fn entries(&self, pcpu: usize) -> impl Iterator<Item = Entry> + '_ {
        let chunks = Chunks::new(&self.file, self.start, self.end);
        let (track, ended) = (Track::default(), false);
        Entries { pcpu: pcpu as u32, chunks, track, ended, error: &self.error }
    }

    fn epoch(&self) -> Option<u64> {
        self.tracks.iter().find_map(|track| track.epoch)
    }

    fn first(&self) -> u64 {
        self.tracks.iter().filter_map(|track| track.first).min().unwrap_or(0)
    }

    fn last(&self) -> u64 {
        self.tracks.iter().filter_map(|track| track.last).max().unwrap_or(0)
    }

    fn check(&self) -> Result<(), ReadError> {
        self.error.take().map_or(Ok(()), Err)
    }
}

/// The entries of a PCPU.
struct Entries<'a> {
    pcpu: u32,
    chunks: Chunks<'a>,
    track: Track,
    ended: bool,
    error: &'a RefCell<Option<ReadError>>,
}

impl Iterator for Entries<'_> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        loop {
            if let Some(entry) = self.track.next() {
                return Some(entry);
            }
            if self.ended {
                return None;
            }
            match self.chunks.next() {
                Ok(Some((_, piece))) if self.chunks.pcpu() == self.pcpu => self.track.add(piece),
                Ok(Some(_)) => self.chunks.skip(),
                Ok(None) => {
                    self.track.end();
                    self.ended = true;
                }
                Err(error) => {
                    self.error.replace(Some(error));
                    self.ended = true;
                }
            }
        }
    }
}
