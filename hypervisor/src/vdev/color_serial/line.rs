//! Lines from a guest.

use policy::color::ColorSet;

use crate::vdev::pl011::Line;

/// Longest line, in bytes: enough for any set of colours in its usual notation.
const LINE_MAX: usize = 80;

/// The command in a line.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Command {
    /// The sender requests these colours; no colours: it gives back those that it has.
    Colors(ColorSet),
    /// The line is no command.
    Nonsense,
}

/// Assembles bytes into lines.
pub(super) struct LineReader {
    bytes: [u8; LINE_MAX],
    /// Bytes of the line, including those that did not fit.
    length: usize,
    command: Option<Command>,
}

impl LineReader {
    pub(super) const fn new() -> Self {
        Self { bytes: [0; LINE_MAX], length: 0, command: None }
    }

    /// Returns the command in the line that the last byte completed.
    pub(super) fn take(&mut self) -> Option<Command> {
        self.command.take()
    }
}

impl Line for LineReader {
    fn send(&mut self, byte: u8) -> bool {
        if matches!(byte, b'\n' | b'\r') {
            let length = core::mem::take(&mut self.length);
            self.command = self.bytes.get(..length).map_or(Some(Command::Nonsense), parse);
            return true;
        }
        if let Some(place) = self.bytes.get_mut(self.length) {
            *place = byte;
        }
        self.length = self.length.saturating_add(1);
        true
    }
}

/// Reads a line; `None` if the line is to be ignored. A terminal in its default mode echoes our
/// answers: to answer these would never end.
fn parse(line: &[u8]) -> Option<Command> {
    if line.is_empty() || line.starts_with(b"ok ") || line.starts_with(b"error ") {
        return None;
    }
    Some(match line.strip_prefix(b"colors ") {
        Some(b"none") => Command::Colors(ColorSet::EMPTY),
        Some(text) => ColorSet::parse(text).map_or(Command::Nonsense, Command::Colors),
        None => Command::Nonsense,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the commands in the lines of a text.
    fn commands(text: &[u8]) -> Vec<Command> {
        let mut reader = LineReader::new();
        let mut all = Vec::new();
        for &byte in text {
            assert!(reader.send(byte));
            all.extend(reader.take());
        }
        all
    }

    fn colors(bits: u64) -> Command {
        Command::Colors(ColorSet::from_bits(bits))
    }

    #[test]
    fn lines_are_commands() {
        let text = b"colors 8-11\ncolors none\r\n\n\ncolors 0,2,63\rcolors";
        assert_eq!(commands(text), [colors(0xf00), colors(0), colors(1 << 63 | 5)]);
    }

    #[test]
    fn nonsense_is_told_apart() {
        for line in ["colors", "colors ", "colors 64", "colors 3-1", "colour 3", "AT", "\u{fc}"] {
            assert_eq!(commands(format!("{line}\n").as_bytes()), [Command::Nonsense], "{line}");
        }
        assert_eq!(commands(b"colors \xff\n"), [Command::Nonsense]);
    }

    #[test]
    fn long_lines_are_nonsense_as_a_whole() {
        let mut text = b"colors 1".to_vec();
        text.resize(80, b' ');
        text.extend(b"\ncolors 1");
        text.resize(81 + 81, b' ');
        text.extend(b"\ncolors 2\n");
        assert_eq!(commands(&text), [colors(2), Command::Nonsense, colors(4)]);
    }

    #[test]
    fn echoed_answers_are_ignored() {
        assert_eq!(commands(b"ok 12\nerror busy\ncolors 1\n"), [colors(2)]);
    }
}
