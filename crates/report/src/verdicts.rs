//! Verdicts of a command as one table, and the table as a document for tools that review changes: JUnit, SARIF, Markdown.
//!
//! ```
//! use report::verdicts::{Form, Row, Rule, Verdicts};
//!
//! let row = Row::new(Rule::Deadline, "task pilot.gyro")
//!     .figure("bound", "3 ms")
//!     .figure("limit", "2 ms")
//!     .fails_if(["it can be late by 1 ms"]);
//! let verdicts = Verdicts {
//!     command: "check",
//!     file: "system.toml".into(),
//!     answer: "not schedulable".into(),
//!     rows: vec![row],
//!     notes: Vec::new(),
//! };
//! let junit = verdicts.document(Form::Junit);
//! assert!(junit.contains("message=\"bound 3 ms, limit 2 ms: it can be late by 1 ms\""));
//! ```

mod junit;
mod markdown;
mod rule;
mod sarif;

pub use rule::Rule;

/// The verdicts of a command on a system.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Verdicts {
    /// The command: `check`.
    pub command: &'static str,
    /// The file that is judged, as the user names it: the place of all that has no other one.
    pub file: String,
    /// The answer in a few words.
    pub answer: String,
    /// The verdicts, in the order in which they are found.
    pub rows: Vec<Row>,
    /// Notes that help to read the rest, a sentence each.
    pub notes: Vec<String>,
}

/// A verdict.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Row {
    /// The question.
    pub rule: Rule,
    /// The subject of the question: `task drive.wheels`.
    pub subject: String,
    /// The answer.
    pub outcome: Outcome,
    /// Reasons for the answer, a sentence each; at least one if the answer is not yes.
    pub reasons: Vec<String>,
    /// More on the reasons: lines of text, may be empty.
    pub details: String,
    /// Names and values of the compared figures, such as `bound` and `2 ms`.
    pub figures: Vec<(&'static str, String)>,
    /// The place in a text that asks the question, if it is known.
    pub place: Option<Place>,
}

/// The answer to a question.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Outcome {
    /// No: the answer of the command is no because of it, or the input has a mistake.
    Fails,
    /// Nothing is known or promised of it; the answer of the command does not depend on it.
    Open,
    /// Yes.
    Holds,
}

/// A place in a text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Place {
    /// The file, as the user names it.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The first column, from 1, in characters.
    pub column: usize,
    /// The column behind the last one.
    pub end_column: usize,
}

/// The form of a document.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Form {
    /// JUnit XML: a test case for each verdict.
    Junit,
    /// SARIF 2.1.0: a result for each verdict that does not hold.
    Sarif,
    /// GitHub Flavored Markdown: a table for a comment.
    Markdown,
}

impl Verdicts {
    /// Returns the document in this form, with a newline at its end.
    pub fn document(&self, form: Form) -> String {
        match form {
            Form::Junit => junit::document(self),
            Form::Sarif => sarif::document(self),
            Form::Markdown => markdown::document(self),
        }
    }

    /// Returns the number of verdicts with this outcome.
    fn count(&self, outcome: Outcome) -> usize {
        self.rows.iter().filter(|row| row.outcome == outcome).count()
    }

    /// `bulkhead check systems/demo.toml`.
    fn title(&self) -> String {
        format!("bulkhead {} {}", self.command, self.file)
    }
}

impl Row {
    /// Returns a verdict that holds.
    pub fn new(rule: Rule, subject: impl Into<String>) -> Self {
        Self {
            rule,
            subject: subject.into(),
            outcome: Outcome::Holds,
            reasons: Vec::new(),
            details: String::new(),
            figures: Vec::new(),
            place: None,
        }
    }

    /// Adds a figure.
    pub fn figure(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.figures.push((name, value.into()));
        self
    }

    /// Fails for these reasons; without any, the verdict holds.
    pub fn fails_if<R: Into<String>>(self, reasons: impl IntoIterator<Item = R>) -> Self {
        self.judged(Outcome::Fails, reasons)
    }

    /// Is open for these reasons; without any, the verdict holds.
    pub fn open_if<R: Into<String>>(self, reasons: impl IntoIterator<Item = R>) -> Self {
        self.judged(Outcome::Open, reasons)
    }

    fn judged<R: Into<String>>(
        mut self,
        outcome: Outcome,
        reasons: impl IntoIterator<Item = R>,
    ) -> Self {
        self.reasons = reasons.into_iter().map(Into::into).collect();
        self.outcome = if self.reasons.is_empty() { Outcome::Holds } else { outcome };
        self
    }

    /// Returns true if it fails.
    pub fn fails(&self) -> bool {
        self.outcome == Outcome::Fails
    }

    /// Sets the place.
    pub fn at(mut self, place: Option<Place>) -> Self {
        self.place = place;
        self
    }

    /// Returns figures and reasons in a line: `bound 3 ms, limit 2 ms: it can be late by 1 ms`.
    fn message(&self) -> String {
        let figures: Vec<_> =
            self.figures.iter().map(|(name, value)| format!("{name} {value}")).collect();
        let parts = [figures.join(", "), self.reasons.join("; ")];
        let parts: Vec<_> = parts.into_iter().filter(|it| !it.is_empty()).collect();
        parts.join(": ")
    }

    /// Returns the message, and the details below it.
    fn text(&self) -> String {
        match self.details.trim_end() {
            "" => self.message(),
            details => format!("{}\n{details}", self.message()),
        }
    }
}

impl Outcome {
    /// Returns the word for it.
    fn as_str(self) -> &'static str {
        match self {
            Self::Fails => "fails",
            Self::Open => "open",
            Self::Holds => "holds",
        }
    }
}
