//! Mistakes in an input: place, expectation and help.
//!
//! Readers of this crate do not stop at the first mistake: they collect
//! [`Diagnostic`]s and return all of them as [`Errors`].

mod render;
mod source;

use std::fmt;

pub use render::Style;
pub use source::{Place, Source};

/// A mistake in an input.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Diagnostic {
    /// Stable name of the kind of mistake, such as `unknown-key`.
    pub code: &'static str,
    /// The mistake, in one sentence.
    pub message: String,
    /// Its place, if the input is a text.
    pub place: Option<Place>,
    /// A few words about that place.
    pub label: String,
    /// Other places that matter, such as the first of two definitions.
    pub related: Vec<(Place, String)>,
    /// Node and property of a plan, such as `/vms/vm@0/vcpus/vcpu@1: pcpu`.
    pub node: Option<String>,
    /// A proposal of a remedy.
    pub help: Option<String>,
}

impl Diagnostic {
    /// Returns a mistake without a place.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            place: None,
            label: String::new(),
            related: Vec::new(),
            node: None,
            help: None,
        }
    }

    /// Sets the place of the mistake, and the words about it.
    pub fn at(mut self, place: &Place, label: impl Into<String>) -> Self {
        self.place = Some(place.clone());
        self.label = label.into();
        self
    }

    /// Adds another place that matters.
    pub fn also(mut self, place: &Place, label: impl Into<String>) -> Self {
        self.related.push((place.clone(), label.into()));
        self
    }

    /// Names node and property of a plan.
    pub fn node(mut self, node: impl Into<String>) -> Self {
        self.node = Some(node.into());
        self
    }

    /// Sets the proposal of a remedy.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Returns the mistake as a flat record for machines.
    pub fn entry(&self) -> Entry {
        let position = self.place.as_ref().map(Place::line_column);
        Entry {
            code: self.code,
            message: self.message.clone(),
            file: self.place.as_ref().map(|place| place.source().name().to_owned()),
            line: position.map(|(line, _)| line),
            column: position.map(|(_, column)| column),
            node: self.node.clone(),
            help: self.help.clone(),
        }
    }
}

/// A [`Diagnostic`] as a flat record, for `--json`.
#[derive(Clone, Debug, Eq, PartialEq, serde::Serialize)]
pub struct Entry {
    /// Stable name of the kind of mistake.
    pub code: &'static str,
    /// The mistake, in one sentence.
    pub message: String,
    /// Name of the file, if the input is a text.
    pub file: Option<String>,
    /// Line in the file, from 1.
    pub line: Option<usize>,
    /// Column in the line in characters, from 1.
    pub column: Option<usize>,
    /// Node and property of a plan.
    pub node: Option<String>,
    /// A proposal of a remedy.
    pub help: Option<String>,
}

/// All mistakes of an input: at least one, in the order of their places.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Errors(Vec<Diagnostic>);

impl Errors {
    /// Returns `Err` with the mistakes, or `Ok(value)` if there are none.
    pub fn unless_none<T>(mistakes: Vec<Diagnostic>, value: T) -> Result<T, Self> {
        if mistakes.is_empty() {
            return Ok(value);
        }
        let mut errors = Self(mistakes);
        errors.sort();
        Err(errors)
    }

    /// Returns the mistakes.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Diagnostic> {
        self.0.iter()
    }

    /// Returns the mistakes, to be put beside others.
    pub fn into_vec(self) -> Vec<Diagnostic> {
        self.0
    }

    /// Returns the mistakes, each changed.
    pub(crate) fn map(self, change: impl FnMut(Diagnostic) -> Diagnostic) -> Self {
        let mut changed = Self(self.0.into_iter().map(change).collect());
        changed.sort();
        changed
    }

    /// Into the order of their places.
    fn sort(&mut self) {
        self.0.sort_by_key(|mistake| {
            mistake.place.as_ref().map(|place| (place.source().name().to_owned(), place.start()))
        });
    }

    /// Returns the mistakes as flat records, for `--json`.
    pub fn entries(&self) -> Vec<Entry> {
        self.0.iter().map(Diagnostic::entry).collect()
    }

    /// Returns the mistakes for people, each with its line of the input.
    pub fn render(&self, style: Style) -> String {
        render::render(&self.0, style)
    }
}

impl From<Diagnostic> for Errors {
    fn from(mistake: Diagnostic) -> Self {
        Self(vec![mistake])
    }
}

impl From<Box<Diagnostic>> for Errors {
    fn from(mistake: Box<Diagnostic>) -> Self {
        Self(vec![*mistake])
    }
}

/// Shows the errors as [`Errors::render`] does with [`Style::Plain`].
impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.render(Style::Plain).trim_end())
    }
}

impl std::error::Error for Errors {}
