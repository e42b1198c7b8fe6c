//! Lines out of pieces of output.

use std::time::Duration;

use qemu::Chunk;

/// Longer lines are cut: a guest may never end one.
const LINE_MAX: usize = 4096;

/// Collects output until a line is complete.
#[derive(Debug, Default)]
pub struct Lines {
    partial: Vec<u8>,
    time: Duration,
}

impl Lines {
    /// Takes a piece of output; gives each line that it completes to `each`, with
    /// the time at which its end came.
    pub fn feed(&mut self, chunk: &Chunk, mut each: impl FnMut(Duration, &str)) {
        self.time = chunk.time;
        for &byte in &chunk.bytes {
            if byte == b'\n' {
                self.flush(&mut each);
            } else if self.partial.len() < LINE_MAX {
                self.partial.push(byte);
            }
        }
    }

    /// Gives the last line to `each`, if output ended within one.
    pub fn end(&mut self, mut each: impl FnMut(Duration, &str)) {
        if !self.partial.is_empty() {
            self.flush(&mut each);
        }
    }

    fn flush(&mut self, each: &mut impl FnMut(Duration, &str)) {
        let text = String::from_utf8_lossy(&self.partial);
        each(self.time, text.trim_end_matches('\r'));
        self.partial.clear();
    }
}
