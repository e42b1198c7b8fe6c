//! Splits device tree source into tokens.

use std::ops::Range;
use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Place, Source};

/// Tokens of the text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Token {
    /// A name, a number, or `/` and `/dts-v1/`.
    Word(String),
    /// A string, escapes resolved.
    Text(Vec<u8>),
    /// One of `{ } < > [ ] ; = , :`.
    Mark(char),
    /// The end of the text.
    End,
}

/// Returns true if a character can be part of names of nodes and properties, numbers and directives.
fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || ",._+-#@?".contains(character)
}

/// Walks through the text.
pub(super) struct Lexer<'s> {
    source: &'s Arc<Source>,
    at: usize,
}

impl<'s> Lexer<'s> {
    /// Makes a lexer at the start of the text.
    pub fn new(source: &'s Arc<Source>) -> Self {
        Self { source, at: 0 }
    }

    /// Returns the place of a stretch of the text.
    pub fn place(&self, span: Range<usize>) -> Place {
        Place::new(self.source, span)
    }

    fn rest(&self) -> &'s str {
        &self.source.text()[self.at..]
    }

    /// Returns the next token and its place.
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

    /// Returns a string; the lexer stands at its first quote.
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
                '\\' => match escape(&mut characters) {
                    Some(byte) => text.push(byte),
                    None => {
                        let at = self.at + offset;
                        let place = self.place(at..at + 2);
                        return Err(Diagnostic::new("dts-syntax", "unknown escape in a string")
                            .at(&place, "here")
                            .help(
                                r#"escapes are those of C: `\n`, `\"`, `\\`, `\x7f`, `\177`, ..."#,
                            )
                            .into());
                    }
                },
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

/// Returns the byte that an escape stands for; `rest` stands behind the backslash.
fn escape(rest: &mut std::str::CharIndices<'_>) -> Option<u8> {
    let (radix, most) = match rest.clone().next()?.1 {
        'x' => {
            rest.next();
            (16, 2)
        }
        '0'..='7' => (8, 3),
        _ => return simple_escape(rest.next()?.1),
    };
    let text = rest.as_str();
    let length = text.chars().take(most).take_while(|digit| digit.is_digit(radix)).count();
    rest.by_ref().take(length).for_each(drop);
    u8::from_str_radix(&text[..length], radix).ok()
}

fn simple_escape(character: char) -> Option<u8> {
    Some(match character {
        'a' => 0x07,
        'b' => 0x08,
        't' => b'\t',
        'n' => b'\n',
        'v' => 0x0b,
        'f' => 0x0c,
        'r' => b'\r',
        '"' | '\\' | '\'' | '?' => character as u8,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Result<Vec<Token>, String> {
        let source = Source::new("t", text);
        let mut lexer = Lexer::new(&source);
        let mut tokens = Vec::new();
        loop {
            match lexer.next() {
                Ok((Token::End, _)) => return Ok(tokens),
                Ok((token, _)) => tokens.push(token),
                Err(mistake) => return Err(mistake.message),
            }
        }
    }

    #[test]
    fn escapes_are_those_of_c() {
        let text = r#""a\0b\12\x4a\t\"""#;
        assert_eq!(tokens(text), Ok(vec![Token::Text(b"a\0b\nJ\t\"".to_vec())]));
        for bad in [r#""\q""#, r#""\x""#, r#""\400""#, r#""\"#] {
            assert!(tokens(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn comments_end_words() {
        let word = |text: &str| Token::Word(text.into());
        assert_eq!(
            tokens("a/* b */c // d\n/dts-v1/ / /x"),
            Ok(vec![word("a"), word("c"), word("/dts-v1/"), word("/"), word("/x"),])
        );
    }
}
