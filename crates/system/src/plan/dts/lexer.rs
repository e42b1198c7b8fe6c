//! Splits device tree source into tokens.

use std::ops::Range;
use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Place, Source};

/// What stands in the text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Token {
    /// A name, a number, or `/` and `/dts-v1/`.
    Word(String),
    /// A string, escapes resolved.
    Text(Vec<u8>),
    /// One of `{ } < > [ ] ; = , :`.
    Mark(char),
    /// The end.
    End,
}

/// Characters of names of nodes and properties, numbers and directives.
fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || ",._+-#@?".contains(character)
}

/// Walks through the text.
pub(super) struct Lexer<'s> {
    source: &'s Arc<Source>,
    at: usize,
}

impl<'s> Lexer<'s> {
    /// From the start of the text.
    pub fn new(source: &'s Arc<Source>) -> Self {
        Self { source, at: 0 }
    }

    /// The place of a stretch of the text.
    pub fn place(&self, span: Range<usize>) -> Place {
        Place::new(self.source, span)
    }

    fn rest(&self) -> &'s str {
        &self.source.text()[self.at..]
    }

    /// The next token and its place.
    pub fn next(&mut self) -> Result<(Token, Place), Box<Diagnostic>> {
        self.skip_blank()?;
        let (rest, start) = (self.rest(), self.at);
        let Some(first) = rest.chars().next() else {
            return Ok((Token::End, self.place(start..start)));
        };
        let token = match first {
            '"' => Token::Text(self.text()?),
            '{' | '}' | '<' | '>' | '[' | ']' | ';' | '=' | ',' | ':' => {
                self.at += 1;
                Token::Mark(first)
            }
            '/' => {
                let name = rest[1..].find(|other| !is_word(other)).unwrap_or(rest.len() - 1);
                let end = 1 + name;
                let length = end + usize::from(name > 0 && rest[end..].starts_with('/'));
                self.word(length)
            }
            _ if is_word(first) => {
                self.word(rest.find(|other| !is_word(other)).unwrap_or(rest.len()))
            }
            _ => return Err(self.foreign(first).into()),
        };
        let place = self.place(start..self.at);
        Ok((token, place))
    }

    fn word(&mut self, length: usize) -> Token {
        let word = self.rest()[..length].to_owned();
        self.at += length;
        Token::Word(word)
    }

    fn foreign(&self, character: char) -> Diagnostic {
        let place = self.place(self.at..self.at + character.len_utf8());
        let help = match character {
            '&' => "a plan has no references: write the value itself",
            '(' => "a plan has no expressions: write the number itself",
            _ => "names, numbers, strings in quotes and `{ } < > [ ] ; = , :` may stand here",
        };
        Diagnostic::new(
            "dts-syntax",
            format!("`{}` has no meaning in a plan", character.escape_debug()),
        )
        .at(&place, "this character")
        .help(help)
    }

    fn skip_blank(&mut self) -> Result<(), Box<Diagnostic>> {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            if trimmed.starts_with("//") {
                self.at += trimmed.find('\n').unwrap_or(trimmed.len());
            } else if let Some(comment) = trimmed.strip_prefix("/*") {
                let Some(end) = comment.find("*/") else {
                    let place = self.place(self.at..self.at + 2);
                    return Err(Diagnostic::new("dts-syntax", "this comment has no end")
                        .at(&place, "starts here")
                        .help("end it with `*/`")
                        .into());
                };
                self.at += 2 + end + 2;
            } else {
                return Ok(());
            }
        }
    }

    /// A string; the lexer stands at its first quote.
    fn text(&mut self) -> Result<Vec<u8>, Box<Diagnostic>> {
        let start = self.at;
        self.at += 1;
        let mut text = Vec::new();
        let mut characters = self.rest().char_indices();
        while let Some((offset, character)) = characters.next() {
            match character {
                '"' => {
                    self.at += offset + 1;
                    return Ok(text);
                }
                '\\' => {
                    let escape = characters.next();
                    let Some(byte) = escape.and_then(|(_, escape)| match escape {
                        'n' => Some(b'\n'),
                        't' => Some(b'\t'),
                        'r' => Some(b'\r'),
                        '"' | '\\' => Some(escape as u8),
                        'x' => {
                            let mut digit = || characters.next()?.1.to_digit(16);
                            let (high, low) = (digit()?, digit()?);
                            Some((high << 4 | low) as u8)
                        }
                        _ => None,
                    }) else {
                        let at = self.at + offset;
                        let place = self.place(at..at + 2);
                        return Err(Diagnostic::new("dts-syntax", "unknown escape in a string")
                            .at(&place, "here")
                            .help(r#"`\n`, `\t`, `\r`, `\"`, `\\` and `\xHH` are known"#)
                            .into());
                    };
                    text.push(byte);
                }
                _ => text.extend(character.encode_utf8(&mut [0; 4]).bytes()),
            }
        }
        let place = self.place(start..start + 1);
        Err(Diagnostic::new("dts-syntax", "this string has no end")
            .at(&place, "starts here")
            .help("end it with `\"`")
            .into())
    }
}
