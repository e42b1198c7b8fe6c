//! The reasons why a measurement cannot be made here.

use std::io;
use std::path::PathBuf;

/// Requirements of a measurement that this machine does not meet.
#[derive(Debug, thiserror::Error)]
pub enum Missing {
    /// A file of the kernel cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// A file of the kernel has an unexpected content.
    #[error("{} says {found:?}, which is not {expected}", path.display())]
    Form {
        /// The file.
        path: PathBuf,
        /// The content.
        found: String,
        /// The expected content.
        expected: &'static str,
    },
    /// The kernel knows no cache behind the first level.
    #[error("the kernel describes no cache behind the first level")]
    Caches,
    /// There is no cache of the level that was asked for.
    #[error("there is no cache of level {level} behind the first level, but {found}")]
    Level {
        /// The requested level.
        level: u32,
        /// The existing levels.
        found: String,
    },
    /// A way of the cache is not larger than a page.
    #[error("a way of the cache has {way_bytes} bytes, a page {page_bytes}: there is one colour")]
    OneColor {
        /// Bytes of a way.
        way_bytes: u64,
        /// Bytes of a page.
        page_bytes: u64,
    },
    /// The kernel does not tell frame numbers to this process.
    #[error("the kernel hides the numbers of frames from this process: run it as root")]
    FrameNumbers,
    /// There is too little memory.
    #[error("{needed} bytes of memory are needed, {available} are available")]
    Memory {
        /// Bytes that the measurement needs.
        needed: u64,
        /// Bytes that it may take.
        available: u64,
    },
    /// The frames that the kernel gave are too few of some colours.
    #[error("the kernel gave too few frames of some colours, try again")]
    Frames,
    /// The time is over before the measurement has a result.
    #[error("the time did not suffice for so large a cache: allow more, or measure another level")]
    Time,
    /// The caller ended it.
    #[error("the measurement was ended before it was complete")]
    Ended,
}
