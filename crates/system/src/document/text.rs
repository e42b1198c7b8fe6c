//! A TOML text and the mistakes found in it.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Fields, headers};
use crate::diagnostic::{Diagnostic, Errors, Place, Source};

/// A text that is being read.
pub(crate) struct Document<'t> {
    source: &'t Arc<Source>,
    root: Spanned<DeTable<'t>>,
    mistakes: RefCell<Vec<Diagnostic>>,
    /// True if the syntax is broken, so that parts of the text may be missing.
    broken: bool,
    /// Headers of tables that were there before, each with the message about the first time that one is given again.
    repeated: Vec<(String, Diagnostic)>,
    /// Names of lists of tables that have a header of one table, such as `vm.task`.
    lone: RefCell<Vec<String>>,
}

impl<'t> Document<'t> {
    /// Parses a text; continues behind mistakes of syntax.
    pub fn parse(source: &'t Arc<Source>) -> Self {
        let (root, errors) = DeTable::parse_recoverable(source.text());
        let broken = errors.iter().any(|error| error.message() != "duplicate key");
        let mut document = Self {
            source,
            root,
            mistakes: RefCell::default(),
            broken,
            repeated: Vec::new(),
            lone: RefCell::default(),
        };
        let mut told = Vec::new();
        // What stands below a header that is given again follows from that.
        let mut repeated_until = 0;
        for error in errors {
            if told.contains(&(error.message().to_owned(), error.span())) {
                continue;
            }
            told.push((error.message().to_owned(), error.span()));
            let place = document.place(error.span().unwrap_or(0..0));
            let mistake = match error.message() {
                "duplicate key" if place.start() < repeated_until => continue,
                "duplicate key" => match headers::name_at(source.text(), place.start()) {
                    Some(name) => {
                        repeated_until = headers::next(source.text(), place.start());
                        document.repeat(name, &place);
                        continue;
                    }
                    None => document.duplicate(&place),
                },
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

    /// Returns the top-level keys.
    pub fn root(&self) -> Fields<'_> {
        Fields::new(self, self.root.get_ref(), "the top level", self.place(0..0))
    }

    /// Returns the place of a stretch of the text.
    pub fn place(&self, span: Range<usize>) -> Place {
        Place::new(self.source, span)
    }

    /// Notes a mistake.
    pub fn add(&self, mistake: Diagnostic) {
        self.mistakes.borrow_mut().push(mistake);
    }

    /// Notes that the list of tables with this name is one table, and where its first header stands if it has one;
    /// `false` if that was noted before.
    pub fn note_lone(&self, name: &str) -> (bool, Option<Place>) {
        let mut lone = self.lone.borrow_mut();
        if lone.iter().any(|known| known == name) {
            return (false, None);
        }
        lone.push(name.to_owned());
        let header = headers::first(self.source.text(), name);
        (true, header.map(|span| self.place(span)))
    }

    /// Returns true if the syntax is whole, so that a key that was not found is missing.
    pub fn is_whole(&self) -> bool {
        !self.broken
    }

    /// Returns the value if there was no mistake, else all mistakes.
    pub fn finish<T>(self, value: Option<T>) -> Result<T, Errors> {
        let (mut mistakes, lone) = (self.mistakes.into_inner(), self.lone.into_inner());
        // A list that is one table has been reported as that.
        let is_lone = |name: &str| lone.iter().any(|list| headers::is_within(name, list));
        let repeated = self.repeated.into_iter().filter(|(name, _)| !is_lone(name));
        mistakes.extend(repeated.map(|(_, mistake)| mistake));
        match (Errors::unless_none(mistakes, ()), value) {
            (Err(errors), _) => Err(errors),
            (Ok(()), Some(value)) => Ok(value),
            (Ok(()), None) => unreachable!("what is missing was reported"),
        }
    }

    /// Notes a header `[name]` that is given again at `place`: once for each name.
    fn repeat(&mut self, name: String, place: &Place) {
        if self.repeated.iter().any(|(known, _)| *known == name) {
            return;
        }
        let message = format!("`[{name}]` is given twice");
        let mut mistake = Diagnostic::new("duplicate-key", message)
            .at(place, "again here")
            .help("put the keys of both below one header");
        if let Some(first) = headers::first(self.source.text(), &name)
            && first.end < place.start()
        {
            mistake = mistake.also(&self.place(first), "first here");
        }
        self.repeated.push((name, mistake));
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

/// Returns the last key of this name that stands before `end`.
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
