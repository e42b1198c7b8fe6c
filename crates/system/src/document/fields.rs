//! A table that is being read.

use std::cell::RefCell;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Document, Located};
use crate::diagnostic::{Diagnostic, Place};
use crate::suggest;

/// The keys of a table.
///
/// Each method remembers the key that it reads; [`Fields::finish`] reports the keys that no method
/// has read. A method returns `None` for a missing key, and for a key with a wrong value, which it
/// reports.
pub(crate) struct Fields<'t> {
    pub(super) document: &'t Document<'t>,
    table: &'t DeTable<'t>,
    /// Name of the table in messages.
    what: String,
    place: Place,
    known: RefCell<Vec<&'static str>>,
    /// Keys that had to be there and are not.
    missing: RefCell<Vec<Missing>>,
    /// Keys that have no meaning without another one that is not there, and the mistakes.
    useless: RefCell<Vec<(&'static str, Diagnostic)>>,
}

/// A key that had to be there.
struct Missing {
    key: &'static str,
    /// The key that could be there instead, if there is one.
    or: Option<&'static str>,
    /// An example of how to write it.
    example: String,
}

/// If more keys than these are missing in a table, one message names them all.
const MISSING_ONE_BY_ONE: usize = 4;

impl<'t> Fields<'t> {
    pub(super) fn new(
        document: &'t Document<'t>,
        table: &'t DeTable<'t>,
        what: impl Into<String>,
        place: Place,
    ) -> Self {
        Self {
            document,
            table,
            what: what.into(),
            place,
            known: RefCell::default(),
            missing: RefCell::default(),
            useless: RefCell::default(),
        }
    }

    /// Returns the start of the table: its header or its brace.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Notes a mistake.
    pub fn add(&self, mistake: Diagnostic) {
        self.document.add(mistake);
    }

    /// Reports keys that no method has read, and keys that are missing. It is called after all keys
    /// have been read.
    pub fn finish(&self) {
        let known = self.known.borrow();
        let (mut missing, mut useless) = (self.missing.take(), self.useless.take());
        for (key, _) in self.table {
            let name: &str = key.get_ref();
            if known.contains(&name) {
                continue;
            }
            // A key with a typo is not missed a second time.
            let meant = suggest::closest(name, known.iter().copied());
            missing.retain(|it| meant.is_none_or(|meant| it.key != meant && it.or != Some(meant)));
            useless.retain(|(key, _)| Some(*key) != meant);
            let place = self.document.place(key.span());
            self.add(
                Diagnostic::new("unknown-key", format!("unknown key `{}`", name.escape_debug()))
                    .at(&place, format!("not a key of {}", self.what))
                    .help(suggest::help(name, &known)),
            );
        }
        useless.into_iter().for_each(|(_, mistake)| self.add(mistake));
        if missing.len() > MISSING_ONE_BY_ONE {
            let keys: Vec<&str> = missing.iter().map(|it| it.key).collect();
            let example = &missing[0].example;
            let message = format!("{} has no {}", self.what, suggest::list(&keys, "and"));
            self.add(
                Diagnostic::new("missing-key", message)
                    .at(&self.place, "they are missing here")
                    .help(format!("add them all, as in {example}")),
            );
            return;
        }
        for Missing { key, example, .. } in missing {
            self.add(
                Diagnostic::new("missing-key", format!("{} has no `{key}`", self.what))
                    .at(&self.place, format!("`{key}` is missing here"))
                    .help(format!("add {example}")),
            );
        }
    }

    /// Returns the value of a key, if it is there.
    pub(super) fn value(&self, key: &'static str) -> Option<&'t Spanned<DeValue<'t>>> {
        let mut known = self.known.borrow_mut();
        if !known.contains(&key) {
            known.push(key);
        }
        self.table.iter().find(|(name, _)| name.get_ref() == key).map(|(_, value)| value)
    }

    /// Returns true if the key is there.
    pub fn has(&self, key: &'static str) -> bool {
        self.value(key).is_some()
    }

    /// Returns true if a key that is there seems to be this one with a typo. Keys that are like it
    /// must not be possible beside it.
    pub fn misspells(&self, key: &'static str) -> bool {
        self.table.iter().any(|(name, _)| {
            let name: &str = name.get_ref();
            name != key && suggest::is_typo(name, key)
        })
    }

    /// Returns the place of the key.
    pub fn key_place(&self, key: &str) -> Option<Place> {
        let (name, _) = self.table.iter().find(|(name, _)| name.get_ref() == key)?;
        Some(self.document.place(name.span()))
    }

    /// Remembers the key as missing if it is not there, and returns `read`. If the syntax is
    /// broken, a missing key is not reported.
    pub fn required<T>(&self, key: &'static str, read: Option<T>, example: &str) -> Option<T> {
        if !self.has(key) {
            self.miss(key, None, format!("`{key} = {example}`"));
        }
        read
    }

    /// The same, where another key could be there instead.
    pub fn required_or<T>(
        &self,
        (key, or): (&'static str, &'static str),
        read: Option<T>,
        example: &str,
    ) -> Option<T> {
        if !self.has(key) && !self.has(or) {
            self.miss(key, Some(or), format!("`{key} = {example}`"));
        }
        read
    }

    /// Remembers the list of tables as missing if it is not there; `example` shows a table of it.
    pub fn required_tables(&self, key: &'static str, example: &str) {
        if !self.has(key) {
            self.miss(key, None, example.to_owned());
        }
    }

    /// Remembers the key as missing, unless the syntax is broken.
    fn miss(&self, key: &'static str, or: Option<&'static str>, example: String) {
        if self.document.is_whole() {
            self.missing.borrow_mut().push(Missing { key, or, example });
        }
    }

    /// Refuses a key that has no meaning here, saying why.
    pub fn forbid(&self, key: &'static str, why: &str, help: &str) {
        self.useless(key, why, help).into_iter().for_each(|mistake| self.add(mistake));
    }

    /// Refuses a key that has no meaning because `other` is not there. Where `other` has a typo,
    /// that is the mistake.
    pub fn forbid_without(&self, other: &'static str, key: &'static str, why: &str, help: &str) {
        if !self.has(other) {
            let mistake = self.useless(key, why, help);
            self.useless.borrow_mut().extend(mistake.map(|mistake| (other, mistake)));
        }
    }

    fn useless(&self, key: &'static str, why: &str, help: &str) -> Option<Diagnostic> {
        self.value(key);
        let place = self.key_place(key)?;
        let message = format!("`{key}` has no meaning here");
        Some(Diagnostic::new("useless-key", message).at(&place, why).help(help))
    }

    /// Returns the table `[key]`.
    pub fn table(&self, key: &'static str) -> Option<Fields<'t>> {
        let value = self.value(key)?;
        match value.get_ref() {
            DeValue::Table(table) => {
                let place = self.document.place(value.span());
                Some(Fields::new(self.document, table, format!("`[{key}]`"), place))
            }
            _ => self.wrong_type(value, "a table", &format!("write it under a header `[{key}]`")),
        }
    }

    /// Returns the tables `[[key]]`; `header` is the full header, such as `[[vm.task]]`.
    pub fn tables(&self, key: &'static str, header: &str) -> Vec<Fields<'t>> {
        let help = format!("write a header `{header}` above each of them");
        if self.is_table(key) {
            self.lone_table(key, header, &help);
            return Vec::new();
        }
        self.listed_tables(key, &format!("`{header}`"), &help)
    }

    /// Reports that `key`, whose tables have this `header`, is one table: once for each header.
    fn lone_table(&self, key: &'static str, header: &str, help: &str) {
        let name = header.trim_matches(['[', ']']);
        let (is_new, first) = self.document.note_lone(name);
        let Some(value) = self.value(key).filter(|_| is_new) else { return };
        let place = first.unwrap_or_else(|| self.document.place(value.span()));
        self.add(
            Diagnostic::new("wrong-type", "expected a list of tables, found a table")
                .at(&place, "this is one table: there are two brackets around the name of a list")
                .help(help),
        );
    }

    fn listed_tables(&self, key: &'static str, what: &str, help: &str) -> Vec<Fields<'t>> {
        let Some(value) = self.value(key) else { return Vec::new() };
        let DeValue::Array(array) = value.get_ref() else {
            self.wrong_type::<()>(value, "a list of tables", help);
            return Vec::new();
        };
        let mut tables = Vec::new();
        for item in array.iter() {
            match item.get_ref() {
                DeValue::Table(table) => {
                    let place = self.document.place(item.span());
                    tables.push(Fields::new(self.document, table, what, place));
                }
                _ => {
                    self.wrong_type::<()>(item, "a table", help);
                }
            }
        }
        tables
    }

    /// Returns the tables of the list `key = [{ ... }, { ... }]`.
    pub fn inline_tables(&self, key: &'static str) -> Vec<Fields<'t>> {
        self.listed_tables(key, &format!("`{key}`"), &format!("write `{key} = [{{ ... }}]`"))
    }

    /// Returns the entries of the table `key`, whose keys are free.
    pub fn entries(&self, key: &'static str) -> Vec<Entry<'t>> {
        let table = self.value(key).and_then(|value| value.get_ref().as_table());
        let entry = |(name, value): (&'t Spanned<_>, _)| {
            let text: &std::borrow::Cow<'t, str> = name.get_ref();
            let place = self.document.place(name.span());
            Entry { name: Located::new(text.to_string(), &place), value }
        };
        table.into_iter().flat_map(|table| table.iter().map(entry)).collect()
    }

    /// Returns true if the value is a table.
    pub fn is_table(&self, key: &'static str) -> bool {
        self.value(key).is_some_and(|value| value.get_ref().is_table())
    }

    /// Returns true if the value is a string.
    pub fn is_string(&self, key: &'static str) -> bool {
        self.value(key).is_some_and(|value| value.get_ref().is_str())
    }

    /// Reports a value of a wrong type.
    pub(super) fn wrong_type<T>(
        &self,
        value: &Spanned<DeValue<'_>>,
        expected: &str,
        help: &str,
    ) -> Option<T> {
        let found = match value.get_ref() {
            DeValue::String(_) => "a string",
            DeValue::Integer(_) => "a whole number",
            DeValue::Float(_) => "a number with a fraction",
            DeValue::Boolean(_) => "true or false",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        self.add(
            Diagnostic::new("wrong-type", format!("expected {expected}, found {found}"))
                .at(&self.document.place(value.span()), format!("this is {found}"))
                .help(help),
        );
        None
    }
}

/// An entry of a table whose keys are free.
pub(crate) struct Entry<'t> {
    /// The key.
    pub name: Located<String>,
    /// The value.
    pub(super) value: &'t Spanned<DeValue<'t>>,
}
