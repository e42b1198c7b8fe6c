//! Tokens of C, after the preprocessor: macros of the file are known, headers are not read.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use system::diagnostic::{Diagnostic, Errors, Place, Source};

use super::expression::{self, Names};
use crate::Left;
use crate::draft::left;

/// Operators of two characters; all others are of one.
const PAIRS: [&str; 9] = ["<<", ">>", "==", "!=", "<=", ">=", "&&", "||", "##"];
/// Largest depth of nested conditions.
const DEPTH: usize = 64;

/// A token.
#[derive(Clone, Debug)]
pub struct Token {
    pub kind: Kind,
    pub span: Range<usize>,
}

/// The kind of a token.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Kind {
    Name(String),
    Number(u64),
    Text(String),
    Mark(String),
}

impl Token {
    /// Returns true if this is that operator or bracket.
    pub fn is(&self, mark: &str) -> bool {
        matches!(&self.kind, Kind::Mark(it) if it == mark)
    }

    /// Returns the name.
    pub fn name(&self) -> Option<&str> {
        if let Kind::Name(name) = &self.kind { Some(name) } else { None }
    }
}

/// A file.
pub struct Unit {
    pub source: Arc<Source>,
    pub tokens: Vec<Token>,
    /// Macros without parameters.
    pub macros: Names,
    /// The places of comments.
    pub comments: Vec<Range<usize>>,
    /// Conditions that are taken as false because nothing is known of them.
    pub left: Vec<Left>,
}

/// Reads a file.
pub fn read(source: &Arc<Source>) -> Result<Unit, Errors> {
    let unit = Unit {
        source: source.clone(),
        tokens: Vec::new(),
        macros: BTreeMap::new(),
        comments: Vec::new(),
        left: Vec::new(),
    };
    let mut reader = Reader { unit, at: 0, conditions: Vec::new() };
    reader.file()?;
    Ok(reader.unit)
}

/// A condition that is open.
struct Condition {
    place: Place,
    /// True if the lines of this branch count; the next is true if those of one branch did.
    on: bool,
    was_on: bool,
}

struct Reader {
    unit: Unit,
    at: usize,
    conditions: Vec<Condition>,
}

impl Reader {
    fn rest(&self) -> &str {
        &self.unit.source.text()[self.at..]
    }

    fn place(&self, span: Range<usize>) -> Place {
        Place::new(&self.unit.source, span)
    }

    fn mistake(&self, at: usize, message: &str, help: &str) -> Errors {
        let place = self.place(at..at + 1);
        Diagnostic::new("c-syntax", message).at(&place, "here").help(help).into()
    }

    fn is_on(&self) -> bool {
        self.conditions.iter().all(|it| it.on)
    }

    fn file(&mut self) -> Result<(), Errors> {
        let mut line_start = true;
        while let Some(next) = self.rest().chars().next() {
            if next == '\n' {
                line_start = true;
                self.at += 1;
            } else if next == '#' && line_start {
                self.directive()?;
            } else if let Some(token) = self.token(next)? {
                line_start = false;
                if self.is_on() {
                    self.unit.tokens.push(token);
                }
            }
        }
        match self.conditions.last() {
            Some(open) => Err(Diagnostic::new("c-syntax", "this condition has no end")
                .at(&open.place, "here")
                .help("add #endif")
                .into()),
            None => Ok(()),
        }
    }

    /// The next token; `None` if what comes next is none.
    fn token(&mut self, next: char) -> Result<Option<Token>, Errors> {
        let start = self.at;
        let rest = self.rest();
        let (kind, length) = match next {
            _ if next.is_whitespace() => (None, next.len_utf8()),
            '\\' if rest[1..].starts_with(['\n', '\r']) => (None, 2),
            '/' if rest.starts_with("//") => (None, rest.find('\n').unwrap_or(rest.len())),
            '/' if rest.starts_with("/*") => match rest[2..].find("*/") {
                Some(length) => (None, length + 4),
                None => return Err(self.mistake(start, "this comment has no end", "add */")),
            },
            '"' => {
                let (text, length) = text(rest)
                    .ok_or_else(|| self.mistake(start, "this text has no end", "add \""))?;
                (Some(Kind::Text(text)), length)
            }
            _ if next.is_ascii_digit() => {
                let length =
                    rest.find(|it: char| !it.is_ascii_alphanumeric()).unwrap_or(rest.len());
                let help = "write a whole number of at most 64 bits";
                let number = number(&rest[..length])
                    .ok_or_else(|| self.mistake(start, "this is no number", help))?;
                (Some(Kind::Number(number)), length)
            }
            _ if next.is_ascii_alphabetic() || next == '_' => {
                let part = |it: char| it.is_ascii_alphanumeric() || it == '_';
                let length = rest.find(|it| !part(it)).unwrap_or(rest.len());
                (Some(Kind::Name(rest[..length].into())), length)
            }
            _ => {
                let pair = PAIRS.into_iter().find(|it| rest.starts_with(it));
                let mark = pair.map_or_else(|| next.to_string(), str::to_owned);
                let length = mark.len();
                (Some(Kind::Mark(mark)), length)
            }
        };
        self.at += length;
        if kind.is_none() && rest_is_comment(self.unit.source.text(), start) {
            self.unit.comments.push(start..self.at);
        }
        Ok(kind.map(|kind| Token { kind, span: start..self.at }))
    }

    /// A line that begins with `#`.
    fn directive(&mut self) -> Result<(), Errors> {
        let start = self.at;
        self.at += 1;
        let mut tokens = Vec::new();
        while let Some(next) = self.rest().chars().next().filter(|it| *it != '\n') {
            // What is in an include is no token of C, and what is skipped need not be.
            let word = tokens.first().and_then(Token::name);
            let is_condition = word.is_none_or(|it| CONDITIONS.contains(&it));
            if word == Some("include") || !is_condition && !self.is_on() {
                self.at += self.rest().find('\n').unwrap_or(self.rest().len());
                return Ok(());
            }
            tokens.extend(self.token(next)?);
        }
        let place = self.place(start..self.at);
        let word = tokens.first().and_then(Token::name).unwrap_or_default().to_owned();
        let rest = tokens.get(1..).unwrap_or_default();
        match word.as_str() {
            "define" if self.is_on() => self.define(rest),
            "undef" if self.is_on() => {
                rest.first().and_then(Token::name).map(|it| self.unit.macros.remove(it));
            }
            "ifdef" | "ifndef" | "if" => {
                if self.conditions.len() == DEPTH {
                    return Err(self.mistake(
                        start,
                        "too many conditions in each other",
                        "leave some out",
                    ));
                }
                let on = self.is_on() && self.condition(&word, rest, &place)?;
                self.conditions.push(Condition { place, on, was_on: on });
            }
            "elif" | "else" | "endif" => {
                let Some(mut open) = self.conditions.pop() else {
                    return Err(self.mistake(
                        start,
                        "no condition is open here",
                        "add #if or #ifdef",
                    ));
                };
                if word == "endif" {
                    return Ok(());
                }
                let may = !open.was_on && self.is_on();
                open.on = may && (word == "else" || self.condition("if", rest, &place)?);
                open.was_on |= open.on;
                self.conditions.push(open);
            }
            _ => {}
        }
        Ok(())
    }

    fn define(&mut self, rest: &[Token]) {
        let Some((name, body)) = rest.split_first() else { return };
        // Parameters follow without a space.
        let called = body.first().is_some_and(|it| it.is("(") && it.span.start == name.span.end);
        if let Some(name) = name.name().filter(|_| !called) {
            self.unit.macros.insert(name.to_owned(), body.to_vec());
        }
    }

    /// Returns true if the condition holds. A name of which nothing is known is not defined.
    fn condition(&mut self, word: &str, rest: &[Token], place: &Place) -> Result<bool, Errors> {
        let is_defined = |unit: &Unit, name: &str| {
            unit.macros.contains_key(name) || expression::constant(name).is_some()
        };
        let name = rest.first().and_then(Token::name).unwrap_or_default();
        match word {
            "ifndef" => Ok(!is_defined(&self.unit, name)),
            "ifdef" if is_defined(&self.unit, name) => Ok(true),
            "ifdef" => {
                self.unit.left.push(left(place, format!("{name} is taken as not defined")));
                Ok(false)
            }
            _ => {
                let mut tokens = Vec::new();
                let mut rest = rest.iter().peekable();
                while let Some(token) = rest.next() {
                    let number = match token.name() {
                        Some("defined") => {
                            let name = rest.find_map(|it| it.name()).unwrap_or_default();
                            rest.next_if(|it| it.is(")"));
                            u64::from(is_defined(&self.unit, name))
                        }
                        Some(name) if !is_defined(&self.unit, name) => 0,
                        _ => {
                            tokens.push(token.clone());
                            continue;
                        }
                    };
                    tokens.push(Token { kind: Kind::Number(number), span: token.span.clone() });
                }
                let holds = expression::value(&self.unit, &tokens, place)? != 0;
                if !holds {
                    self.unit
                        .left
                        .push(left(place, "this condition does not hold for what is known"));
                }
                Ok(holds)
            }
        }
    }
}

/// Directives that count in parts that are skipped.
const CONDITIONS: [&str; 6] = ["if", "ifdef", "ifndef", "elif", "else", "endif"];

fn rest_is_comment(text: &str, at: usize) -> bool {
    text[at..].starts_with("/*") || text[at..].starts_with("//")
}

/// Returns the text between the quotes, and the length with them.
fn text(rest: &str) -> Option<(String, usize)> {
    let mut text = String::new();
    let mut characters = rest.char_indices().skip(1);
    while let Some((at, next)) = characters.next() {
        match next {
            '"' => return Some((text, at + 1)),
            '\n' => return None,
            '\\' => text.extend(characters.next().map(|it| it.1)),
            _ => text.push(next),
        }
    }
    None
}

/// Reads `0x10`, `010`, `10`, with suffixes such as `ULL`.
fn number(word: &str) -> Option<u64> {
    let word = word.to_ascii_lowercase();
    let digits = word.trim_end_matches(['u', 'l']);
    match digits.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None if digits.len() > 1 && digits.starts_with('0') => u64::from_str_radix(digits, 8).ok(),
        None => digits.parse().ok(),
    }
}
