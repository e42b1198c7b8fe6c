//! Guest output, made harmless as the hypervisor does it ([`abi::console::render`]), and cut into lines. Text behind a bare
//! carriage return, with which a guest could hide its label, begins a line.

use std::mem;

use abi::console::render::{Piece, Renderer};

/// A line with as many characters is shown, though it goes on.
const LONG_LINE: usize = 256;

/// The line that a guest writes.
#[derive(Debug, Default)]
pub struct Line {
    text: String,
    renderer: Renderer,
}

impl Line {
    /// Adds the next byte. Returns a line that is complete with it, or would get too long.
    pub fn push(&mut self, byte: u8) -> Option<String> {
        match self.renderer.render(byte) {
            Piece::Nothing => None,
            Piece::LineEnd => Some(mem::take(&mut self.text)),
            Piece::Text { restart, characters: (characters, length) } => {
                let ends = restart && !self.text.is_empty() || self.text.len() >= LONG_LINE;
                let line = ends.then(|| mem::take(&mut self.text));
                self.text.extend(characters.iter().take(length).map(|it| char::from(*it)));
                line
            }
        }
    }

    /// Returns the text of a line that nothing ended, if there is one.
    pub fn finish(&mut self) -> Option<String> {
        let Self { text, .. } = mem::take(self);
        (!text.is_empty()).then_some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines that come of some bytes.
    fn lines(bytes: &[u8]) -> Vec<String> {
        let mut line = Line::default();
        let mut lines: Vec<String> = bytes.iter().filter_map(|&byte| line.push(byte)).collect();
        lines.extend(line.finish());
        lines
    }

    #[test]
    fn line_ends_of_all_kinds_end_one_line() {
        assert_eq!(lines(b"a\nb\r\nc\r\r\n\nd"), ["a", "b", "c", "", "d"]);
    }

    #[test]
    fn nothing_overwrites_a_line() {
        assert_eq!(lines(b"10%\r20%\r\n"), ["10%", "20%"]);
        assert_eq!(lines(b"a\x08\x08[b] c\n"), ["a^H^H[b] c"]);
    }

    #[test]
    fn control_sequences_vanish_and_do_not_swallow_text() {
        assert_eq!(lines(b"\x1b[1;32mgreen\x1b[0m\x1b[6n plain"), ["green plain"]);
        assert_eq!(lines(b"\x1b[12\nnext"), ["", "next"]);
        assert_eq!(lines(b"\x1b\x1b[31mred"), ["red"]);
        assert_eq!(lines(b"\x1b]0;title\x07"), ["]0;title^G"]);
    }

    #[test]
    fn whatever_comes_in_only_plain_characters_come_out() {
        for first in 0..=255 {
            for second in 0..=255 {
                let lines = lines(&[first, second]);
                let mut bytes = lines.iter().flat_map(|line| line.bytes());
                assert!(bytes.all(|byte| matches!(byte, b'\t' | 0x20..=0x7e)), "{lines:?}");
            }
        }
        assert_eq!(lines(b"\x7f\t\xc2\x9b2J"), ["^?\t\\xc2\\x9b2J"]);
    }

    #[test]
    fn a_line_without_end_is_cut() {
        let text = [b'x'; LONG_LINE];
        assert_eq!(lines(&[&text[..], b"\n"].concat()), ["x".repeat(LONG_LINE)]);
        let cut = lines(&[&text[..], &text, b"y"].concat());
        assert_eq!(cut, ["x".repeat(LONG_LINE), "x".repeat(LONG_LINE), "y".into()]);
    }
}
