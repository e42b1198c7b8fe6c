//! Reads device tree source: nodes, labels, strings, cells, bytes, comments.
//!
//! References, expressions, includes and deletions have no use in a plan and
//! are refused.

use std::sync::Arc;

use super::lexer::{Lexer, Token};
use crate::diagnostic::{Diagnostic, Errors, Place, Source};
use crate::plan::tree::{DEPTH_MAX, Form, Node, Property};

/// Returns the tree that a text describes; ends at the first mistake of syntax.
pub(in crate::plan) fn parse(source: &Arc<Source>) -> Result<Node, Errors> {
    let mut lexer = Lexer::new(source);
    let (token, place) = lexer.next()?;
    let mut parser = Parser { lexer, token, place };
    Ok(parser.file()?)
}

type Result<T, E = Box<Diagnostic>> = std::result::Result<T, E>;

struct Parser<'s> {
    lexer: Lexer<'s>,
    /// The token that is looked at, and its place.
    token: Token,
    place: Place,
}

impl Parser<'_> {
    fn advance(&mut self) -> Result<(Token, Place)> {
        let (token, place) = self.lexer.next()?;
        Ok((std::mem::replace(&mut self.token, token), std::mem::replace(&mut self.place, place)))
    }

    fn at_mark(&self, mark: char) -> bool {
        self.token == Token::Mark(mark)
    }

    /// Takes the mark if it is there.
    fn take_mark(&mut self, mark: char) -> Result<bool> {
        let found = self.at_mark(mark);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn expect_mark(&mut self, mark: char, after: &str) -> Result<()> {
        match self.take_mark(mark)? {
            true => Ok(()),
            false => Err(self.unexpected(&format!("`{mark}` after {after}")).into()),
        }
    }

    fn expect_word(&mut self, word: &str, help: &str) -> Result<()> {
        if self.token != Token::Word(word.into()) {
            return Err(self.unexpected(&format!("`{word}`")).help(help).into());
        }
        self.advance()?;
        Ok(())
    }

    fn unexpected(&self, expected: &str) -> Diagnostic {
        let found = match &self.token {
            Token::Word(word) => format!("`{word}`"),
            Token::Text(_) => "a string".into(),
            Token::Mark(mark) => format!("`{mark}`"),
            Token::End => "the end of the file".into(),
        };
        Diagnostic::new("dts-syntax", format!("expected {expected}, found {found}"))
            .at(&self.place, "here")
    }

    fn file(&mut self) -> Result<Node> {
        self.expect_word("/dts-v1/", "a plan starts with `/dts-v1/;`")?;
        self.expect_mark(';', "`/dts-v1/`")?;
        let place = self.place.clone();
        self.expect_word("/", "the root node comes next: `/ { ... };`")?;
        let root = self.node(String::new(), place, 0)?;
        match self.token {
            Token::End => Ok(root),
            _ => Err(self.unexpected("the end of the file after the root node").into()),
        }
    }

    /// Returns a node from its `{` on.
    fn node(&mut self, name: String, place: Place, depth: usize) -> Result<Node> {
        if depth == DEPTH_MAX {
            let message = format!("nodes are nested deeper than {DEPTH_MAX} levels");
            return Err(Diagnostic::new("dts-syntax", message).at(&place, "this node").into());
        }
        self.expect_mark('{', "the name of a node")?;
        let mut node = Node { place: Some(place), ..Node::new(name) };
        while !self.take_mark('}')? {
            let (mut name, mut place) = self.name()?;
            while self.take_mark(':')? {
                (name, place) = self.name()?; // what stood before is a label
            }
            if self.at_mark('{') {
                refuse_twice(&place, &name, node.children.iter().map(|it| (&it.name, &it.place)))?;
                node.children.push(self.node(name, place, depth + 1)?);
            } else {
                let before = node.properties.iter().map(|it| (&it.name, &it.place));
                refuse_twice(&place, &name, before)?;
                node.properties.push(self.property(name, place)?);
            }
        }
        self.expect_mark(';', "`}`")?;
        Ok(node)
    }

    fn name(&mut self) -> Result<(String, Place)> {
        let fits = matches!(&self.token, Token::Word(word) if !word.contains('/'));
        match (fits, self.advance_if(fits)?) {
            (true, Some((Token::Word(word), place))) => Ok((word, place)),
            _ => Err(self
                .unexpected("the name of a property or node, or `}`")
                .help("includes, deletions and references have no use in a plan")
                .into()),
        }
    }

    fn advance_if(&mut self, condition: bool) -> Result<Option<(Token, Place)>> {
        condition.then(|| self.advance()).transpose()
    }

    /// Returns a property after its name.
    fn property(&mut self, name: String, place: Place) -> Result<Property> {
        let mut property = Property {
            name,
            value: Vec::new(),
            form: Form::Numbers,
            comments: Vec::new(),
            place: Some(place),
        };
        if self.take_mark('=')? {
            self.value(&mut property.value)?;
            while self.take_mark(',')? {
                self.value(&mut property.value)?;
            }
        }
        self.expect_mark(';', &format!("property `{}`", property.name))?;
        Ok(property)
    }

    fn value(&mut self, value: &mut Vec<u8>) -> Result<()> {
        if let Token::Text(text) = &self.token {
            value.extend(text);
            value.push(0);
            self.advance()?;
        } else if self.take_mark('<')? {
            while !self.take_mark('>')? {
                value.extend(self.cell()?.to_be_bytes());
            }
        } else if self.take_mark('[')? {
            while !self.take_mark(']')? {
                self.bytes(value)?;
            }
        } else {
            return Err(self
                .unexpected("a value")
                .help("a value is \"text\", <numbers> or [bytes in hexadecimal]")
                .into());
        }
        Ok(())
    }

    fn cell(&mut self) -> Result<u32> {
        let number = match &self.token {
            Token::Word(word) => number(word),
            _ => return Err(self.unexpected("a number or `>`").into()),
        };
        let Some(number) = number else {
            return Err(self
                .unexpected("a number of 32 bits")
                .help("write 42 or 0x2a; a 64-bit number takes two cells: <0x1 0x00000000>")
                .into());
        };
        self.advance()?;
        Ok(number)
    }

    fn bytes(&mut self, value: &mut Vec<u8>) -> Result<()> {
        let Token::Word(word) = &self.token else {
            return Err(self.unexpected("bytes in hexadecimal or `]`").into());
        };
        let digits: Option<Vec<u32>> = word.chars().map(|digit| digit.to_digit(16)).collect();
        match digits.filter(|digits| digits.len().is_multiple_of(2)) {
            Some(digits) => {
                value.extend(digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8))
            }
            None => return Err(self.unexpected("bytes of two hexadecimal digits").into()),
        }
        self.advance()?;
        Ok(())
    }
}

/// Decimal, `0x` hexadecimal, or octal with a leading zero, as in C.
fn number(word: &str) -> Option<u32> {
    let (digits, radix) = match word.strip_prefix("0x").or(word.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None if word.len() > 1 && word.starts_with('0') => (&word[1..], 8),
        None => (word, 10),
    };
    let plain = digits.chars().all(|digit| digit.is_digit(radix));
    plain.then(|| u32::from_str_radix(digits, radix).ok()).flatten()
}

/// Refuses a name that its node has already.
fn refuse_twice<'a>(
    place: &Place,
    name: &str,
    mut before: impl Iterator<Item = (&'a String, &'a Option<Place>)>,
) -> Result<()> {
    match before.find(|(other, _)| *other == name) {
        None => Ok(()),
        Some((_, first)) => {
            let mistake = Diagnostic::new("dts-duplicate", format!("`{name}` is given twice"))
                .at(place, "again here")
                .help("remove one of the two");
            Err(Box::new(match first {
                Some(first) => mistake.also(first, "first here"),
                None => mistake,
            }))
        }
    }
}
