//! The chunks of a trace file, read piece by piece at any place.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use abi::trace::{RECORD_BYTES, Record};

use super::track::Piece;
use super::{PREFIX_BYTES, ReadError};
use crate::Entry;

/// Bytes that are read at a time.
const BUFFER_BYTES: usize = 1 << 16;

/// Reads chunks from the first one on.
#[derive(Debug)]
pub struct Chunks<'a> {
    file: &'a File,
    /// Place of the next byte, and end of what is read.
    at: u64,
    end: u64,
    buffer: Vec<u8>,
    /// Place of the first byte in the buffer.
    start: u64,
    /// The PCPU of the chunk, and number of its records that were not read.
    pcpu: u32,
    left: u32,
    /// The end of the chunk was not told yet.
    open: bool,
    /// A record is missing.
    cut: bool,
}

impl<'a> Chunks<'a> {
    /// `at`: place of the first chunk; `end`: of the end of the file.
    pub fn new(file: &'a File, at: u64, end: u64) -> Self {
        let (pcpu, left, open, cut) = (0, 0, false, false);
        Self { file, at, end, buffer: Vec::new(), start: at, pcpu, left, open, cut }
    }

    /// Returns the PCPU of the current chunk.
    pub fn pcpu(&self) -> u32 {
        self.pcpu
    }

    /// Returns the next piece, and its place; `None` at the end, or where a record or chunk is cut
    /// off.
    pub fn next(&mut self) -> Result<Option<(u64, Piece)>, ReadError> {
        let at = self.at;
        if self.left > 0 {
            self.left -= 1;
            let Some([ticks, what]) = self.sixteen()? else {
                // What there is of the chunk counts.
                (self.left, self.open, self.cut) = (0, false, true);
                return Ok(Some((at, Piece::End)));
            };
            let entry = Entry::from_record(Record { ticks, what })
                .ok_or(ReadError::Kind { at, kind: what as u8 })?;
            return Ok(Some((at, Piece::Entry(entry))));
        }
        if std::mem::take(&mut self.open) {
            return Ok(Some((at, Piece::End)));
        }
        let Some([numbers, lost]) = self.sixteen()? else { return Ok(None) };
        self.open = true;
        (self.pcpu, self.left) = (numbers as u32, (numbers >> 32) as u32);
        Ok(Some((at, Piece::Lost(lost))))
    }

    /// Goes to the end of the current chunk.
    pub fn skip(&mut self) {
        let bytes = u64::from(std::mem::take(&mut self.left)) * RECORD_BYTES as u64;
        self.at = self.at.saturating_add(bytes);
    }

    /// Returns true if the file ends within a record or chunk.
    pub fn is_cut_off(&self) -> bool {
        self.cut || self.at != self.end
    }

    fn sixteen(&mut self) -> io::Result<Option<[u64; 2]>> {
        if self.at.saturating_add(PREFIX_BYTES as u64) > self.end {
            return Ok(None);
        }
        let filled = self.start + self.buffer.len() as u64;
        if self.at < self.start || self.at + PREFIX_BYTES as u64 > filled {
            let bytes = (self.end - self.at).min(BUFFER_BYTES as u64) as usize;
            self.buffer.resize(bytes, 0);
            self.start = self.at;
            if let Err(error) = self.file.read_exact_at(&mut self.buffer, self.at) {
                self.buffer.clear();
                return Err(error);
            }
        }
        let from = (self.at - self.start) as usize;
        let bytes = self.buffer.get(from..from + PREFIX_BYTES).and_then(|it| it.first_chunk());
        let Some(bytes) = bytes else { return Ok(None) };
        self.at += PREFIX_BYTES as u64;
        Ok(Some(super::reader::halves(*bytes)))
    }
}
