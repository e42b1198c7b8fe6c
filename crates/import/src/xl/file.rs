//! The syntax of a domain's file: `KEY = VALUE` or `KEY += VALUE`, where a value is a text in quotes, a number,
//! or a list of values in brackets.

use std::ops::Range;
use std::sync::Arc;

use system::diagnostic::{Diagnostic, Errors, Place, Source};

/// Largest depth of nested lists; those of `xl` are not nested.
const DEPTH: usize = 4;

/// A setting.
#[derive(Clone, Debug)]
pub struct Setting {
    pub key: String,
    pub place: Place,
    pub item: Item,
}

/// A value with its place.
#[derive(Clone, Debug)]
pub struct Item {
    pub value: Value,
    pub place: Place,
}

/// A value; a number is a text, too, as `xl` takes both for either.
#[derive(Clone, Debug)]
pub enum Value {
    Text(String),
    List(Vec<Item>),
}

/// A file: of settings with one key the last one counts.
#[derive(Debug)]
pub struct File {
    pub settings: Vec<Setting>,
    /// Settings that another one replaces, and that one.
    pub replaced: Vec<(Place, Place)>,
}

/// Reads a file.
pub fn read(source: &Arc<Source>) -> Result<File, Errors> {
    let mut reader = Reader { source, at: 0 };
    let mut file = File { settings: Vec::new(), replaced: Vec::new() };
    let mut mistakes = Vec::new();
    loop {
        reader.skip(&[' ', '\t', '\r', '\n', ';', '#']);
        if reader.rest().is_empty() {
            break;
        }
        if let Err(mistake) = reader.setting(&mut file) {
            mistakes.push(*mistake);
            reader.skip_line();
        }
    }
    Errors::unless_none(mistakes, file)
}

type Checked<T> = Result<T, Box<Diagnostic>>;

struct Reader<'s> {
    source: &'s Arc<Source>,
    at: usize,
}

impl<'s> Reader<'s> {
    fn rest(&self) -> &'s str {
        &self.source.text()[self.at..]
    }

    /// Skips these characters, and comments if `#` is one of them.
    fn skip(&mut self, characters: &[char]) {
        loop {
            match self.rest().chars().next() {
                Some('#') if characters.contains(&'#') => self.skip_line(),
                Some(it) if characters.contains(&it) => self.at += it.len_utf8(),
                _ => return,
            }
        }
    }

    fn skip_line(&mut self) {
        self.at += self.rest().find('\n').unwrap_or(self.rest().len());
    }

    fn place(&self, span: Range<usize>) -> Place {
        Place::new(self.source, span)
    }

    /// A mistake at the next character.
    fn mistake<T>(&self, expected: &str, help: &str) -> Checked<T> {
        let next = self.rest().chars().next().filter(|it| *it != '\n');
        let found = match next {
            None => "the end of the line".into(),
            Some(next) if next.is_control() => format!("`{}`", next.escape_default()),
            Some(next) => format!("`{next}`"),
        };
        let place = self.place(self.at..self.at + 1);
        let message = format!("expected {expected}, found {found}");
        Err(Box::new(Diagnostic::new("xl-syntax", message).at(&place, "here").help(help)))
    }

    /// A word of these bytes, whose first one is no digit.
    fn word(&mut self, is_part: impl Fn(char) -> bool) -> &'s str {
        let rest = self.rest();
        let length = rest.find(|it| !is_part(it)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    fn setting(&mut self, file: &mut File) -> Checked<()> {
        let start = self.at;
        let part = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '_';
        let key = self.word(part);
        if !key.starts_with(|it: char| it.is_ascii_lowercase()) {
            self.at = start;
            let help = "write `KEY = VALUE` in each line; keys are lower case";
            return self.mistake("a key such as `memory`", help);
        }
        let place = self.place(start..self.at);
        self.skip(&[' ', '\t']);
        let adds = self.rest().starts_with("+=");
        if !adds && !self.rest().starts_with('=') {
            return self.mistake("`=`", "write `KEY = VALUE` in each line");
        }
        self.at += if adds { 2 } else { 1 };
        let item = self.value(0)?;
        self.skip(&[' ', '\t', '\r']);
        if !self.rest().is_empty() && !self.rest().starts_with(['\n', ';', '#']) {
            let help = "put texts into quotes, values of a list into brackets, and each key on a line of its own";
            return self.mistake("the end of the line", help);
        }
        let before = file.settings.iter().position(|it| it.key == key);
        let item = match before.map(|index| file.settings.remove(index)) {
            Some(before) if adds => joined(before.item, item),
            Some(before) => {
                file.replaced.push((before.place, place.clone()));
                item
            }
            None => item,
        };
        file.settings.push(Setting { key: key.into(), place, item });
        Ok(())
    }

    fn value(&mut self, depth: usize) -> Checked<Item> {
        self.skip(if depth > 0 { &[' ', '\t', '\r', '\n', '#'] } else { &[' ', '\t'] });
        let start = self.at;
        let value = match self.rest().chars().next() {
            Some(quote @ ('"' | '\'')) => Value::Text(self.text(quote)?),
            Some('[') if depth < DEPTH => Value::List(self.list(depth)?),
            Some(it) if it.is_ascii_digit() => {
                Value::Text(self.word(|it| it.is_ascii_alphanumeric()).into())
            }
            _ => {
                let help = "write \"TEXT\", a number, or a list: [ \"TEXT\", \"TEXT\" ]";
                return self.mistake("a value", help);
            }
        };
        Ok(Item { value, place: self.place(start..self.at) })
    }

    fn list(&mut self, depth: usize) -> Checked<Vec<Item>> {
        self.at += 1;
        let space = [' ', '\t', '\r', '\n', '#'];
        let mut items = Vec::new();
        loop {
            self.skip(&space);
            if self.rest().starts_with(']') {
                break;
            }
            items.push(self.value(depth + 1)?);
            self.skip(&space);
            match self.rest().chars().next() {
                Some(',') => self.at += 1,
                Some(']') => break,
                _ => return self.mistake("`,` or `]`", "a list is [ VALUE, VALUE ]"),
            }
        }
        self.at += 1;
        Ok(items)
    }

    fn text(&mut self, quote: char) -> Checked<String> {
        self.at += 1;
        let mut text = String::new();
        loop {
            let next = self.rest().chars().next().filter(|it| *it != '\n');
            let Some(next) = next else {
                return self.mistake(&format!("`{quote}`"), "a text ends on its line");
            };
            self.at += next.len_utf8();
            match next {
                '\\' => text.push(self.escaped()?),
                _ if next == quote => return Ok(text),
                _ => text.push(next),
            }
        }
    }

    /// Returns the character for which a backslash stands.
    fn escaped(&mut self) -> Checked<char> {
        let number = |digits: &str, base| u8::from_str_radix(digits, base).ok().map(char::from);
        let (escaped, length) = match self.rest().as_bytes() {
            [b'n', ..] => (Some('\n'), 1),
            [b't', ..] => (Some('\t'), 1),
            [b'r', ..] => (Some('\r'), 1),
            [it @ (b'\\' | b'\'' | b'"'), ..] => (Some(char::from(*it)), 1),
            [b'x', ..] => (self.rest().get(1..3).and_then(|it| number(it, 16)), 3),
            [b'0'..=b'7', ..] => (self.rest().get(..3).and_then(|it| number(it, 8)), 3),
            _ => (None, 0),
        };
        let Some(escaped) = escaped else {
            return self.mistake("a character after `\\`", "write `\\\\` for a backslash");
        };
        self.at += length;
        Ok(escaped)
    }
}

/// `+=`: texts and lists grow.
fn joined(before: Item, more: Item) -> Item {
    let value = match (before.value, more.value) {
        (Value::Text(before), Value::Text(more)) => Value::Text(before + &more),
        (Value::List(mut before), Value::List(more)) => {
            before.extend(more);
            Value::List(before)
        }
        (_, more) => more,
    };
    Item { value, place: more.place }
}
