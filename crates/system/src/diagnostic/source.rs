//! Texts that were read, and places in them.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// A text with the name of the file it came from.
#[derive(Eq, PartialEq)]
pub struct Source {
    name: String,
    text: String,
}

impl Source {
    /// Returns a text; `name` is what messages call it.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Arc<Self> {
        Arc::new(Self { name: name.into(), text: text.into() })
    }

    /// Returns the name of the file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the text.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// Only the name: the text would fill the screen.
impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Source({})", self.name)
    }
}

/// A stretch of a text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Place {
    source: Arc<Source>,
    start: usize,
    end: usize,
}

impl Place {
    /// Returns the bytes `span` of the text; cut to what the text has, to whole characters and to
    /// the first line.
    pub fn new(source: &Arc<Source>, span: Range<usize>) -> Self {
        let text = source.text();
        let mut start = span.start.min(text.len());
        while !text.is_char_boundary(start) {
            start -= 1;
        }
        let line = text[start..].find(['\n', '\r']).map_or(text.len(), |length| start + length);
        let mut end = span.end.clamp(start, line);
        while !text.is_char_boundary(end) {
            end += 1;
        }
        Self { source: source.clone(), start, end }
    }

    /// Returns the text that the place is in.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Returns the offset of the first byte.
    pub fn start(&self) -> usize {
        self.start
    }

    /// Returns the bytes.
    pub fn span(&self) -> Range<usize> {
        self.start..self.end
    }

    /// Returns line and column, both from 1; the column counts characters.
    pub fn line_column(&self) -> (usize, usize) {
        let before = &self.source.text()[..self.start];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        (line, column)
    }
}

/// `file:line:column`.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (line, column) = self.line_column();
        write!(f, "{}:{line}:{column}", self.source.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_from_one_in_characters() {
        let source = Source::new("f", "a\nä = x\n");
        let x = source.text().find('x').unwrap();
        assert_eq!(Place::new(&source, x..x + 1).to_string(), "f:2:5");
        assert_eq!(Place::new(&source, 0..1).to_string(), "f:1:1");
    }

    #[test]
    fn spans_are_cut_to_whole_characters_of_one_line() {
        let source = Source::new("f", "ä\nb");
        assert_eq!(Place::new(&source, 1..9).span(), 0..2);
        assert_eq!(Place::new(&source, 77..99).span(), 4..4);
    }
}
