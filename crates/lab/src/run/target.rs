//! The file to which a run is recorded.

use std::path::{Path, PathBuf};

use super::{Options, Summary};
use crate::failure::Failure;
use crate::load::System;
use crate::record::What;
use crate::workspace::{Scratch, Workspace};

/// The file to which a run is recorded, if it is.
#[derive(Debug)]
pub(crate) struct Target {
    to: Option<(PathBuf, What)>,
    /// The folder of a file that nobody asked for, removed with this value.
    scratch: Option<Scratch>,
}

impl Target {
    /// Returns the file that was asked for. Without one, the marks of described tasks are recorded all the same, where that
    /// is possible: deadlines are judged by them. For a live view the machine is recorded in any case.
    pub fn new(
        system: &System,
        options: &Options,
        place: &Workspace,
        can_record: bool,
    ) -> Result<Self, Failure> {
        if let Some(path) = &options.trace {
            return Ok(Self { to: Some((path.to_owned(), What::All)), scratch: None });
        }
        let wanted = is_described(system) || options.live.is_some();
        let scratch = if wanted && can_record { Some(place.scratch()?) } else { None };
        let to = scratch.as_ref().map(|it| (it.path().join("marks.trace"), What::Marks));
        Ok(Self { to, scratch })
    }

    /// Returns the file, and the kind of its content.
    pub fn file(&self) -> Option<(&Path, What)> {
        self.to.as_ref().map(|(path, what)| (path.as_path(), *what))
    }

    /// Removes a trace from a summary that was recorded only for its marks, and is gone with the run. Without it, nobody has
    /// judged the deadlines.
    pub fn without_scratch(&self, summary: Summary) -> Summary {
        let has_started = summary.known.ready;
        let asked = self.scratch.is_none();
        let trace = summary.trace.filter(|it| asked || has_started && it.is_err());
        Summary { trace, ..summary }
    }
}

/// Returns true if the description has tasks, whose deadlines are to be watched.
fn is_described(system: &System) -> bool {
    system.description.iter().flat_map(|it| &it.vms).any(|vm| !vm.tasks.is_empty())
}
