//! Writes trace files.

use std::io::{self, Write};

use abi::trace::Record;

use super::{MAGIC, VERSION};
use crate::Header;

/// A trace file while it is written.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
}

impl<W: Write> Writer<W> {
    /// Starts a file. `out` should be buffered.
    pub fn new(mut out: W, header: &Header) -> io::Result<Self> {
        let header = serde_json::to_vec(header)?;
        let bytes = u32::try_from(header.len())
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "the header is too long"))?;
        out.write_all(&MAGIC)?;
        out.write_all(&VERSION.to_le_bytes())?;
        out.write_all(&bytes.to_le_bytes())?;
        out.write_all(&header)?;
        Ok(Self { out })
    }

    /// Appends records of a PCPU, before which `lost` others were lost. Nothing is written
    /// if there are none of both.
    pub fn append(&mut self, pcpu: usize, lost: u64, records: &[Record]) -> io::Result<()> {
        if lost == 0 && records.is_empty() {
            return Ok(());
        }
        self.out.write_all(&(pcpu as u32).to_le_bytes())?;
        self.out.write_all(&(records.len() as u32).to_le_bytes())?;
        self.out.write_all(&lost.to_le_bytes())?;
        for record in records {
            self.out.write_all(&record.ticks.to_le_bytes())?;
            self.out.write_all(&record.what.to_le_bytes())?;
        }
        Ok(())
    }

    /// Ends the file.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}
