//! One measurement at a time on a machine.

use std::env;

use rustix::fd::OwnedFd;
use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::io::Errno;

use crate::failure::Failure;

/// While this value lives, no other measurement of isolation begins on this machine.
pub struct Alone {
    _file: Option<OwnedFd>,
}

impl Alone {
    /// Fails if another measurement runs: each would be a leech of the other.
    pub fn here() -> Result<Self, Failure> {
        let path = env::temp_dir().join("bulkhead-measure.lock");
        let flags = OFlags::RDONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // Where there is no place for the file, nothing keeps others away.
        let Ok(file) = open(&path, flags, Mode::from_raw_mode(0o644)) else {
            return Ok(Self { _file: None });
        };
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => Err(Failure::new(
                "busy",
                "another measurement runs on this machine, and would disturb this one\n\
                 help: wait until it has ended",
            )),
            _ => Ok(Self { _file: Some(file) }),
        }
    }
}
