//! A TOML text and the mistakes found in it.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Fields;
use crate::diagnostic::{Diagnostic, Errors, Place, Source};

/// A text that is being read.
pub(crate) struct Document<'t> {
    source: &'t Arc<Source>,
    root: Spanned<DeTable<'t>>,
    mistakes: RefCell<Vec<Diagnostic>>,
    /// Whether the syntax is broken, so that parts may be missing that were given.
    broken: bool,
}

impl<'t> Document<'t> {
    /// Parses a text; goes on behind mistakes of syntax.
    pub fn parse(source: &'t Arc<Source>) -> Self {
        let (root, errors) = DeTable::parse_recoverable(source.text());
        let broken = errors.iter().any(|error| error.message() != "duplicate key");
        let document = Self { source, root, mistakes: RefCell::default(), broken };
        let mut told = Vec::new();
        for error in errors {
            if told.contains(&(error.message().to_owned(), error.span())) {
                continue;
            }
            told.push((error.message().to_owned(), error.span()));
            let place = document.place(error.span().unwrap_or(0..0));
            let mistake = match error.message() {
                "duplicate key" => document.duplicate(&place),
                message if message.starts_with("cannot extend value") => {
                    Diagnostic::new("toml-syntax", "this is not TOML: a table of this name has a value already")
                        .at(&place, "here")
                        .help(
                            "put the value into the table: `[platform]` with `board = \"qemu-virt\"` in place of \
                             `platform = \"qemu-virt\"`",
                        )
                }
                message => Diagnostic::new("toml-syntax", format!("this is not TOML: {message}"))
                    .at(&place, "here")
                    .help("texts stand in quotes, as in `name = \"linux\"`; see https://toml.io"),
            };
            document.add(mistake);
        }
        document
    }

    /// The top-level keys.
    pub fn root(&self) -> Fields<'_> {
        Fields::new(self, self.root.get_ref(), "the top level", self.place(0..0))
    }

    /// The place of a stretch of the text.
    pub fn place(&self, span: Range<usize>) -> Place {
        Place::new(self.source, span)
    }

    /// Notes a mistake.
    pub fn add(&self, mistake: Diagnostic) {
        self.mistakes.borrow_mut().push(mistake);
    }

    /// Whether the absence of a key tells anything.
    pub fn is_whole(&self) -> bool {
        !self.broken
    }

    /// The value if there was no mistake, else all mistakes.
    pub fn finish<T>(self, value: Option<T>) -> Result<T, Errors> {
        match (Errors::unless_none(self.mistakes.into_inner(), ()), value) {
            (Err(errors), _) => Err(errors),
            (Ok(()), Some(value)) => Ok(value),
            (Ok(()), None) => unreachable!("what is missing was reported"),
        }
    }

    fn duplicate(&self, place: &Place) -> Diagnostic {
        let key = &self.source.text()[place.span()];
        let mistake = Diagnostic::new("duplicate-key", format!("`{key}` is given twice"))
            .at(place, "again here")
            .help("remove one of the two");
        match last_key(self.root.get_ref(), key, place.start()) {
            Some(first) => mistake.also(&self.place(first), "first here"),
            None => mistake,
        }
    }
}

/// The last key of this name that stands before `end`.
fn last_key(table: &DeTable<'_>, name: &str, end: usize) -> Option<Range<usize>> {
    let inner = |value: &DeValue<'_>| match value {
        DeValue::Table(table) => last_key(table, name, end),
        DeValue::Array(array) => array
            .iter()
            .filter_map(|item| last_key(item.get_ref().as_table()?, name, end))
            .max_by_key(|span| span.start),
        _ => None,
    };
    table
        .iter()
        .flat_map(|(key, value)| {
            let own = Some(key.span()).filter(|span| key.get_ref() == name && span.start < end);
            [own, inner(value.get_ref())]
        })
        .flatten()
        .max_by_key(|span| span.start)
}
