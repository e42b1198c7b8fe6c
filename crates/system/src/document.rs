//! Reads TOML so that every mistake is found, and every value knows its place.

mod fields;
mod headers;
mod text;
mod values;

pub(crate) use fields::Fields;
pub(crate) use text::Document;

use crate::diagnostic::Place;

/// A value and its place.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Located<T> {
    /// The value.
    pub value: T,
    /// Its place.
    pub place: Place,
}

impl<T> Located<T> {
    /// Returns a value at a place.
    pub fn new(value: T, place: &Place) -> Self {
        Self { value, place: place.clone() }
    }

    /// Returns another value at the same place.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Located<U> {
        Located { value: change(self.value), place: self.place }
    }
}
