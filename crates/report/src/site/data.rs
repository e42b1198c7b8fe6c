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
    /// All kinds.
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
    /// The name of the system; for other results, the thing that was measured.
    pub name: String,
    /// The time at which it was made.
    pub time: u64,
    /// False if the result does not say when it was made, and `time` is that of its file.
    pub dated: bool,
    /// The version of Bulkhead that made it, if it says so.
    pub version: Option<String>,
    /// The verdict in a few words.
    pub verdict: String,
    /// `Some(true)` if the verdict is good; `None`: it is open.
    pub good: Option<bool>,
    /// Problems, a sentence each.
    pub failures: Vec<String>,
    /// Tasks and times of chains, with their bounds.
    pub timed: Vec<Timed>,
    /// Its page for people, as a path in the folder of the site.
    pub report: Option<String>,
    /// The document, as a path in the folder of the site.
    pub document: String,
}

/// A task or chain whose time is bounded.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Subject {
    /// The response time of a task.
    Task {
        /// The name of its VM.
        vm: String,
        /// The name of the task.
        name: String,
    },
    /// The reaction time of the chain with this name.
    Reaction(String),
    /// The data age of the chain with this name.
    Age(String),
}

impl Default for Subject {
    fn default() -> Self {
        Self::Task { vm: String::new(), name: String::new() }
    }
}

impl Subject {
    /// Returns true if the subject is a task.
    pub fn is_task(&self) -> bool {
        matches!(self, Self::Task { .. })
    }

    /// Returns its name on pages.
    pub fn title(&self) -> String {
        match self {
            Self::Task { vm, name } => format!("{vm} {name}"),
            Self::Reaction(chain) => format!("reaction of chain {chain}"),
            Self::Age(chain) => format!("data age of chain {chain}"),
        }
    }
}

/// A time that is bounded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timed {
    /// The task or chain whose time it is.
    pub subject: Subject,
    /// The deadline of a task, from its release; the limit of a chain; none if there is none.
    pub deadline_ns: Option<u64>,
    /// The bound with the plan.
    pub bound: Bound,
    /// The longest executed time.
    pub executed_ns: Option<u64>,
    /// True if executed times are exact: one above its bound refutes the bound.
    pub exact: bool,
    /// Jobs that were executed.
    pub jobs: Option<u64>,
    /// Deadlines that these missed.
    pub missed: Option<u64>,
}

/// The statement of a result about a bound.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Bound {
    /// There was no analysis, and so no statement.
    #[default]
    NotStated,
    /// The analysis has none.
    Missing,
    /// It is never longer, in nanoseconds.
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
    /// Returns the number of tasks and chains that are bounded by their deadline, and the number of those of which that is said;
    /// none if it is said of none.
    pub fn in_time(&self) -> Option<(usize, usize)> {
        part(self.timed.iter().filter_map(|it| {
            let deadline = it.deadline_ns.filter(|_| it.bound != Bound::NotStated)?;
            Some(it.bound.ns().is_some_and(|bound| bound <= deadline))
        }))
    }

    /// Returns how many tasks and chains kept their bound when they were executed, and of how many that was seen; none if of
    /// none.
    pub fn kept(&self) -> Option<(usize, usize)> {
        let judged = self.timed.iter().filter(|it| it.exact);
        part(judged.filter_map(|it| Some(it.executed_ns? <= it.bound.ns()?)))
    }
}

fn part(answers: impl Iterator<Item = bool>) -> Option<(usize, usize)> {
    let answers: Vec<bool> = answers.collect();
    let yes = answers.iter().filter(|&&yes| yes).count();
    (!answers.is_empty()).then_some((yes, answers.len()))
}
