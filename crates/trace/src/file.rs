//! Trace files.
//!
//! ```text
//!  0        magic, 8 bytes: "BLKTRACE"
//!  8        version: 3
//!  12       bytes of the header
//!  16       the header as JSON
//!  then     chunks: PCPU (32 bits), number of records (32 bits), number of records that
//!           were lost before them (64 bits), and the records, 16 bytes each
//! ```
//!
//! Numbers are little endian. The chunks of a PCPU are in the order of time, those of
//! several PCPUs in any order. A file may end within a chunk, if its writer was killed: what
//! is complete counts.

mod chunks;
mod reader;
mod stream;
mod track;
mod writer;

pub use reader::ReadError;
pub use stream::TraceFile;
pub use writer::Writer;

const MAGIC: [u8; 8] = *b"BLKTRACE";
const VERSION: u32 = 3;
/// Bytes before the JSON text, and before the records of a chunk.
const PREFIX_BYTES: usize = 16;
