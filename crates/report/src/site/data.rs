//! A result, as far as it can be compared with others.

/// The command that made a result.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Kind {
    /// `bulkhead prove`.
    #[default]
    Prove,
    /// `bulkhead run`.
    Run,
    /// `bulkhead check`.
    Check,
    /// `bulkhead measure`.
    Measure,
    /// `bulkhead reproduce`.
    Reproduce,
    /// `bulkhead sweep`.
    Sweep,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Prove, Self::Run, Self::Check, Self::Measure, Self::Reproduce, Self::Sweep];

    /// Returns the name of the command.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Prove => "prove",
            Self::Run => "run",
            Self::Check => "check",
            Self::Measure => "measure",
            Self::Reproduce => "reproduce",
            Self::Sweep => "sweep",
        }
    }

    /// Returns true if it is about a described system, rather than about a machine or a paper.
    pub fn is_of_system(self) -> bool {
        matches!(self, Self::Prove | Self::Run | Self::Check)
    }
}

/// A result.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entry {
    /// Its name in the site, which no other result has.
    pub id: String,
    /// The command that made it.
    pub kind: Kind,
    /// The name of the system; of others, what was measured.
    pub name: String,
    /// When it was made.
    pub time: u64,
    /// False if the result does not say when it was made, and `time` is that of its file.
    pub dated: bool,
    /// The version of Bulkhead that made it, if it says so.
    pub version: Option<String>,
    /// The verdict in a few words.
    pub verdict: String,
    /// Whether the verdict is good; `None`: it is open.
    pub good: Option<bool>,
    /// What is not well, a sentence each.
    pub failures: Vec<String>,
    /// The tasks.
    pub tasks: Vec<Task>,
    /// Its page for people, as a path in the folder of the site.
    pub report: Option<String>,
    /// The document, as a path in the folder of the site.
    pub document: String,
}

/// A task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Task {
    /// Name of its VM.
    pub vm: String,
    /// Name of the task.
    pub name: String,
    /// Time from release to deadline, if it has a deadline.
    pub deadline_ns: Option<u64>,
    /// The bound with the plan.
    pub bound: Bound,
    /// The longest executed response time.
    pub executed_ns: Option<u64>,
    /// True if executed times are exact: one above its bound refutes the bound.
    pub exact: bool,
    /// Jobs that were executed.
    pub jobs: Option<u64>,
    /// Deadlines that these missed.
    pub missed: Option<u64>,
}

/// What a result says of the bound of a task.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Bound {
    /// Nothing: the task was not analysed.
    #[default]
    NotStated,
    /// The analysis has none.
    Missing,
    /// No response takes longer, in nanoseconds.
    Ns(u64),
}

impl Bound {
    /// Returns the time, if there is one.
    pub fn ns(self) -> Option<u64> {
        match self {
            Self::Ns(ns) => Some(ns),
            Self::NotStated | Self::Missing => None,
        }
    }
}

impl Entry {
    /// Returns how many tasks are bounded by their deadline, and of how many that is said; none if of none.
    pub fn in_time(&self) -> Option<(usize, usize)> {
        part(self.tasks.iter().filter_map(|task| {
            let deadline = task.deadline_ns.filter(|_| task.bound != Bound::NotStated)?;
            Some(task.bound.ns().is_some_and(|bound| bound <= deadline))
        }))
    }

    /// Returns how many tasks kept their bound when they were executed, and of how many that was seen; none if of none.
    pub fn kept(&self) -> Option<(usize, usize)> {
        let judged = self.tasks.iter().filter(|task| task.exact);
        part(judged.filter_map(|task| Some(task.executed_ns? <= task.bound.ns()?)))
    }
}

fn part(answers: impl Iterator<Item = bool>) -> Option<(usize, usize)> {
    let answers: Vec<bool> = answers.collect();
    let yes = answers.iter().filter(|&&yes| yes).count();
    (!answers.is_empty()).then_some((yes, answers.len()))
}
