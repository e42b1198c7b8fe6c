//! Reads trace files.

use std::io::{self, Read};

use abi::trace::{RECORD_BYTES, Record};

use super::{MAGIC, PREFIX_BYTES, VERSION};
use crate::{Entry, Event, Header, Trace};

/// Longest header that is read, in bytes.
const HEADER_BYTES_MAX: u32 = 1 << 20;

/// The reason why a file is not a trace.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file cannot be read.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The file does not begin with the magic number.
    #[error("it is no trace: it does not begin with `BLKTRACE`")]
    Magic,
    /// Another version of the program wrote the file.
    #[error("it has version {0} of the format, {VERSION} is known: record it again")]
    Version(u32),
    /// The header is wrong.
    #[error("its header cannot be read: {0}")]
    Header(String),
    /// A chunk names a PCPU that the header does not have.
    #[error("at byte {at}: PCPU {pcpu}, but there are {pcpus}")]
    Pcpu {
        /// Place in the file.
        at: u64,
        /// The PCPU.
        pcpu: u32,
        /// Number of PCPUs in the header.
        pcpus: usize,
    },
    /// A record of a kind that is not known.
    #[error("at byte {at}: a record of kind {kind}, which is not known")]
    Kind {
        /// Place in the file.
        at: u64,
        /// The number of the kind.
        kind: u8,
    },
}

impl Trace {
    /// Reads a trace file. `input` should be buffered.
    pub fn read(mut input: impl Read) -> Result<Self, ReadError> {
        let (header, mut at) = start(&mut input)?;
        let mut tracks = vec![Vec::new(); header.pcpus];
        let mut is_cut_off = false;
        loop {
            let prefix = match exactly(&mut input) {
                Ok(Some(prefix)) => prefix,
                Ok(None) => break,
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    is_cut_off = true;
                    break;
                }
                Err(error) => return Err(error.into()),
            };
            let [numbers, lost] = halves(prefix);
            let (pcpu, count) = (numbers as u32, (numbers >> 32) as u32);
            let pcpus = header.pcpus;
            let track: &mut Vec<Entry> =
                tracks.get_mut(pcpu as usize).ok_or(ReadError::Pcpu { at, pcpu, pcpus })?;
            at += PREFIX_BYTES as u64;
            let place = track.len();
            for _ in 0..count {
                let Some(record) = exactly(&mut input).or_else(none_at_end)? else {
                    is_cut_off = true;
                    break;
                };
                let [ticks, what] = halves(record);
                let entry = Entry::from_record(Record { ticks, what })
                    .ok_or(ReadError::Kind { at, kind: what as u8 })?;
                track.push(entry);
                at += RECORD_BYTES as u64;
            }
            if lost > 0 {
                // As late as it can have been: before the first record that was not lost.
                let next = track.get(place).or(track.last());
                let ticks = next.map_or(0, |entry| entry.ticks);
                track.insert(place, Entry { ticks, event: Event::Lost { records: lost } });
            }
        }
        tracks.iter_mut().for_each(|track| settle_epoch(track));
        Ok(Self { header, tracks, is_cut_off })
    }
}

/// Reads what comes before the first chunk; returns the header, and the place of that chunk.
pub(super) fn start(input: &mut impl Read) -> Result<(Header, u64), ReadError> {
    let prefix = exactly(input).or_else(none_at_end)?.ok_or(ReadError::Magic)?;
    let [magic, rest] = halves(prefix);
    if magic != u64::from_le_bytes(MAGIC) {
        return Err(ReadError::Magic);
    }
    let (version, header_bytes) = (rest as u32, (rest >> 32) as u32);
    if version != VERSION {
        return Err(ReadError::Version(version));
    }
    let header = header(input, header_bytes)?;
    Ok((header, PREFIX_BYTES as u64 + u64::from(header_bytes)))
}

/// The start of the servers is recorded before it comes: puts it where it belongs.
fn settle_epoch(track: &mut [Entry]) {
    let Some(at) = track.iter().position(|it| matches!(it.event, Event::Epoch { .. })) else {
        return;
    };
    let ticks = track[at].ticks;
    let earlier = track[at + 1..].iter().take_while(|entry| entry.ticks < ticks).count();
    track[at..=at + earlier].rotate_left(1);
}

fn header(input: &mut impl Read, bytes: u32) -> Result<Header, ReadError> {
    if bytes > HEADER_BYTES_MAX {
        return Err(ReadError::Header(format!("it has {bytes} bytes")));
    }
    let mut text = vec![0; bytes as usize];
    input.read_exact(&mut text).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => ReadError::Header("the file ends in it".into()),
        _ => error.into(),
    })?;
    let header: Header =
        serde_json::from_slice(&text).map_err(|error| ReadError::Header(error.to_string()))?;
    if header.frequency_hz == 0 {
        return Err(ReadError::Header("its clock has a frequency of 0".into()));
    }
    if header.pcpus > usize::from(u16::MAX) {
        return Err(ReadError::Header(format!("it has {} PCPUs", header.pcpus)));
    }
    Ok(header)
}

/// Returns the next 16 bytes; `None` if the input ends before the first of them.
fn exactly(input: &mut impl Read) -> io::Result<Option<[u8; PREFIX_BYTES]>> {
    let mut bytes = [0; PREFIX_BYTES];
    let mut filled = 0;
    while filled < PREFIX_BYTES {
        match input.read(&mut bytes[filled..]) {
            Ok(0) if filled == 0 => return Ok(None),
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Some(bytes))
}

fn none_at_end<T>(error: io::Error) -> io::Result<Option<T>> {
    if error.kind() == io::ErrorKind::UnexpectedEof { Ok(None) } else { Err(error) }
}

pub(super) fn halves(bytes: [u8; PREFIX_BYTES]) -> [u64; 2] {
    let number = u128::from_le_bytes(bytes);
    [number as u64, (number >> 64) as u64]
}
