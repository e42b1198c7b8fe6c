//! The initializer of a configuration: `config = { .cell = { ... }, .cpus = { ... }, ... }`.

use system::diagnostic::{Diagnostic, Errors, Place};

use super::expression;
use super::tokens::{Kind, Token, Unit};

/// Largest depth of nested lists.
const DEPTH: usize = 16;

/// An element of a list.
#[derive(Debug)]
pub struct Element {
    /// The name of the field, if the element names it.
    pub field: Option<String>,
    pub value: Value,
    pub place: Place,
}

/// A value.
#[derive(Debug)]
pub enum Value {
    List(Vec<Element>),
    Expression(Vec<Token>),
}

/// Reads the initializer of the file.
pub fn read(unit: &Unit) -> Result<Vec<Element>, Errors> {
    let mut depth = 0_usize;
    let mut begin = None;
    for (index, token) in unit.tokens.iter().enumerate() {
        let starts = unit.tokens.get(index + 1).is_some_and(|it| it.is("{"));
        if token.is("=") && depth == 0 && starts {
            begin = Some(index + 2);
            break;
        }
        depth += usize::from(token.is("{"));
        depth = depth.saturating_sub(usize::from(token.is("}")));
    }
    let Some(at) = begin else {
        let place = Place::new(&unit.source, 0..0);
        let missing = Diagnostic::new("c-syntax", "the file has no configuration of a cell");
        let help = "give the source of a cell: struct { ... } config = { .cell = { ... }, ... };";
        return Err(missing.at(&place, "this file").help(help).into());
    };
    Reader { unit, at }.list(0)
}

struct Reader<'u> {
    unit: &'u Unit,
    at: usize,
}

impl Reader<'_> {
    fn next(&self) -> Option<&Token> {
        self.unit.tokens.get(self.at)
    }

    fn is(&self, mark: &str) -> bool {
        self.next().is_some_and(|it| it.is(mark))
    }

    fn mistake<T>(&self, expected: &str, help: &str) -> Result<T, Errors> {
        let span = self.next().or(self.unit.tokens.last()).map_or(0..0, |it| it.span.clone());
        let mistake = Diagnostic::new("c-syntax", format!("expected {expected}"));
        Err(mistake.at(&Place::new(&self.unit.source, span), "here").help(help).into())
    }

    /// The elements up to `}`, behind which reading goes on.
    fn list(&mut self, depth: usize) -> Result<Vec<Element>, Errors> {
        if depth == DEPTH {
            return self.mistake("fewer braces in each other", "a cell needs four");
        }
        let mut elements = Vec::new();
        while !self.is("}") {
            let Some(first) = self.next() else {
                return self.mistake("`}`", "each `{` needs one");
            };
            let place = Place::new(&self.unit.source, first.span.clone());
            let field = self.field()?;
            let value = if self.is("{") {
                self.at += 1;
                Value::List(self.list(depth + 1)?)
            } else {
                Value::Expression(self.expression())
            };
            elements.push(Element { field, value, place });
            if self.is(",") {
                self.at += 1;
            } else if !self.is("}") {
                return self.mistake("`,` or `}`", "elements have commas between them");
            }
        }
        self.at += 1;
        Ok(elements)
    }

    /// `.name =`, `.name.name =` or `[0] =`.
    fn field(&mut self) -> Result<Option<String>, Errors> {
        if !self.is(".") && !self.is("[") {
            return Ok(None);
        }
        let mut name = String::new();
        while !self.is("=") {
            match self.next().map(|it| &it.kind) {
                Some(Kind::Name(part)) => name.push_str(part),
                Some(Kind::Mark(mark)) if mark == "." => {
                    if !name.is_empty() {
                        name.push('.');
                    }
                }
                Some(Kind::Number(_)) => {}
                Some(Kind::Mark(mark)) if mark == "[" || mark == "]" => {}
                _ => return self.mistake("`=`", "write .FIELD = VALUE"),
            }
            self.at += 1;
        }
        self.at += 1;
        Ok(Some(name).filter(|it| !it.is_empty()))
    }

    /// The tokens up to `,` that is in no brackets, or up to a brace.
    fn expression(&mut self) -> Vec<Token> {
        let mut tokens = Vec::new();
        let mut depth = 0_usize;
        while let Some(next) = self.next() {
            if depth == 0 && next.is(",") || next.is("}") || next.is("{") {
                break;
            }
            depth += usize::from(next.is("("));
            depth = depth.saturating_sub(usize::from(next.is(")")));
            tokens.push(next.clone());
            self.at += 1;
        }
        tokens
    }
}

impl Element {
    /// Returns the elements; an expression is a list of nothing.
    pub fn elements(&self) -> &[Element] {
        match &self.value {
            Value::List(elements) => elements,
            Value::Expression(_) => &[],
        }
    }

    /// Returns the value of an expression.
    pub fn number(&self, unit: &Unit) -> Result<u64, Errors> {
        match &self.value {
            Value::Expression(tokens) => expression::value(unit, tokens, &self.place),
            Value::List(_) => {
                let mistake = Diagnostic::new("c-value", "expected one value");
                let help = "write a number or an expression without braces";
                Err(mistake.at(&self.place, "here").help(help).into())
            }
        }
    }
}

/// Returns the element with this name, or the one at this place of those without names.
pub fn field<'e>(elements: &'e [Element], name: &str, place: usize) -> Option<&'e Element> {
    let named = elements.iter().rfind(|it| it.field.as_deref() == Some(name));
    named.or_else(|| elements.get(place).filter(|it| it.field.is_none()))
}
