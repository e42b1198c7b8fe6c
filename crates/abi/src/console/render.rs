//! Guest output in the view of all VMs: made harmless, byte by byte. The hypervisor shows it so, and `bulkhead run --on kvm`, too.
//!
//! Only printable ASCII, tabs, `\r` and `\n` come out. Terminal control sequences
//! (`ESC [ ... letter`: colours, cursor; a lone `ESC`) are left out, other control characters
//! are shown as `^X`, bytes above 0x7e as `\xNN`.

/// The piece of a line that one byte of a guest becomes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Piece {
    /// Nothing, for now.
    Nothing,
    /// The end of the line.
    LineEnd,
    /// Text in the line; `restart` when it starts again at the beginning of the line.
    Text {
        /// A carriage return stands before the text.
        restart: bool,
        /// The characters, and how many of them count.
        characters: ([u8; 4], usize),
    },
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Sequence {
    None,
    // After ESC.
    Escape,
    // After ESC [.
    Control,
}

/// The state of a source in its line.
#[derive(Clone, Copy, Debug)]
pub struct Renderer {
    carriage_return: bool,
    sequence: Sequence,
}

impl Default for Renderer {
    fn default() -> Self {
        Self::new()
    }
}

impl Renderer {
    /// Returns a renderer at the start of a line.
    pub const fn new() -> Self {
        Self { carriage_return: false, sequence: Sequence::None }
    }

    /// Returns true if nothing that came before has a say in how the next printable character looks.
    pub fn is_in_text(&self) -> bool {
        !self.carriage_return && self.sequence == Sequence::None
    }

    /// Takes the next byte of the source. Returns the piece that it becomes.
    pub fn render(&mut self, byte: u8) -> Piece {
        match (self.sequence, byte) {
            // A line feed or another control character is never part of a sequence.
            (Sequence::Control, 0x20..=0x3f) => return Piece::Nothing,
            (Sequence::Control, 0x40..=0x7e) => {
                self.sequence = Sequence::None;
                return Piece::Nothing;
            }
            (Sequence::Escape, b'[') => {
                self.sequence = Sequence::Control;
                return Piece::Nothing;
            }
            _ => self.sequence = Sequence::None,
        }
        match byte {
            b'\n' => {
                self.carriage_return = false;
                Piece::LineEnd
            }
            b'\r' => {
                self.carriage_return = true;
                Piece::Nothing
            }
            0x1b => {
                self.sequence = Sequence::Escape;
                Piece::Nothing
            }
            _ => Piece::Text {
                restart: core::mem::take(&mut self.carriage_return),
                characters: characters(byte),
            },
        }
    }
}

fn characters(byte: u8) -> ([u8; 4], usize) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    match byte {
        b'\t' | 0x20..=0x7e => ([byte, 0, 0, 0], 1),
        0x00..=0x1f | 0x7f => ([b'^', byte ^ 0x40, 0, 0], 2),
        0x80.. => ([b'\\', b'x', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]], 4),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines as they would look, `|` where the line restarts.
    fn shown(bytes: &[u8]) -> String {
        let mut renderer = Renderer::new();
        let mut shown = String::new();
        for &byte in bytes {
            match renderer.render(byte) {
                Piece::Nothing => {}
                Piece::LineEnd => shown.push('\n'),
                Piece::Text { restart, characters: (text, length) } => {
                    if restart {
                        shown.push('|');
                    }
                    shown.push_str(core::str::from_utf8(&text[..length]).unwrap());
                }
            }
        }
        shown
    }

    #[test]
    fn line_ends_of_all_kinds_end_one_line() {
        assert_eq!(shown(b"a\nb\r\nc\r\r\nd"), "a\nb\nc\nd");
    }

    #[test]
    fn bare_carriage_return_restarts_the_line() {
        assert_eq!(shown(b"10%\r20%\r\n"), "10%|20%\n");
    }

    #[test]
    fn control_sequences_vanish_and_do_not_swallow_text() {
        assert_eq!(shown(b"\x1b[1;32mgreen\x1b[0m\x1b[6n plain"), "green plain");
        assert_eq!(shown(b"\x1b[12\nnext"), "\nnext");
        assert_eq!(shown(b"\x1b\x1b[31mred"), "red");
    }

    #[test]
    fn control_characters_and_high_bytes_are_spelt_out() {
        assert_eq!(shown(b"a\x07\x08\x7f\tb"), "a^G^H^?\tb");
        assert_eq!(shown("\u{9b}2J".as_bytes()), "\\xc2\\x9b2J");
    }

    #[test]
    fn whatever_comes_in_only_plain_characters_come_out() {
        for first in 0..=255 {
            for second in 0..=255 {
                let text = shown(&[first, second]);
                assert!(
                    text.bytes().all(|byte| matches!(byte, b'\t' | b'\n' | 0x20..=0x7e)),
                    "{text:?}"
                );
            }
        }
    }
}
