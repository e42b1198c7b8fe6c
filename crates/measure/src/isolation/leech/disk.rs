//! Takes the disk.

use std::env;
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};

use super::Take;

/// Bytes of a part.
const PART: usize = 256 << 10;

/// Writes to a file that has no name, in the folder for temporary files.
pub struct Disk {
    file: File,
    data: Vec<u8>,
    bytes: u64,
    written: u64,
}

impl Disk {
    /// Returns a leech that writes this number of bytes in each round.
    pub fn new(bytes: u64) -> Result<Self, String> {
        let file = tempfile::tempfile().map_err(|error| {
            format!("disk: cannot write to {}: {error}", env::temp_dir().display())
        })?;
        Ok(Self { file, data: vec![0x5a; PART], bytes, written: 0 })
    }
}

impl Take for Disk {
    fn take(&mut self) -> Result<bool, String> {
        let part = (self.bytes - self.written).min(PART as u64);
        let result =
            self.file.write_all(&self.data[..part as usize]).and_then(|()| self.file.sync_data());
        result.map_err(|error| format!("disk: cannot write: {error}"))?;
        self.written += part;
        let over = self.written == self.bytes;
        if over {
            self.written = 0;
            self.file
                .seek(SeekFrom::Start(0))
                .map_err(|error| format!("disk: cannot seek: {error}"))?;
        }
        Ok(over)
    }
}
