//! Constant expressions of C.

use std::collections::BTreeMap;

use system::diagnostic::{Diagnostic, Errors, Place};

use super::tokens::{Kind, Token, Unit};

/// Macros without parameters.
pub type Names = BTreeMap<String, Vec<Token>>;

/// Largest depth of nested macros and brackets.
const DEPTH: usize = 32;
/// Most macros in one expression.
const STEPS: usize = 4096;

/// Flags of memory in `jailhouse/cell-config.h`.
pub mod flag {
    pub const EXECUTE: u64 = 0x4;
    pub const IO: u64 = 0x10;
    pub const COMM_REGION: u64 = 0x20;
    pub const ROOTSHARED: u64 = 0x80;
}

/// Returns the value of a name of Jailhouse's headers. Flags that change nothing here are 0.
pub fn constant(name: &str) -> Option<u64> {
    Some(match name {
        "JAILHOUSE_MEM_EXECUTE" => flag::EXECUTE,
        "JAILHOUSE_MEM_IO" => flag::IO,
        "JAILHOUSE_MEM_COMM_REGION" => flag::COMM_REGION,
        "JAILHOUSE_MEM_ROOTSHARED" => flag::ROOTSHARED,
        "JAILHOUSE_PCI_TYPE_DEVICE" => 1,
        "JAILHOUSE_PCI_TYPE_BRIDGE" => 2,
        "JAILHOUSE_PCI_TYPE_IVSHMEM" => 3,
        "JAILHOUSE_ARM64" => 0,
        _ if name.starts_with("JAILHOUSE_MEM_") => 0,
        _ => return None,
    })
}

/// Returns the value of an expression; `place` is that of an empty one.
pub fn value(unit: &Unit, tokens: &[Token], place: &Place) -> Result<u64, Errors> {
    let mut reader = Reader { unit, tokens, at: 0, place, depth: 0, steps: 0 };
    let value = reader.ternary()?;
    if reader.at < tokens.len() {
        return reader.mistake("an operator", "write an expression of numbers");
    }
    Ok(value)
}

struct Reader<'u> {
    unit: &'u Unit,
    tokens: &'u [Token],
    at: usize,
    place: &'u Place,
    depth: usize,
    steps: usize,
}

/// Operators between two values, those that bind least first.
const LEVELS: [&[&str]; 10] = [
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<", ">", "<=", ">="],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

impl<'u> Reader<'u> {
    fn mistake<T>(&self, expected: &str, help: &str) -> Result<T, Errors> {
        let span = self.tokens.get(self.at).or(self.tokens.last()).map(|it| it.span.clone());
        let place = span.map_or(self.place.clone(), |it| Place::new(&self.unit.source, it));
        let mistake = Diagnostic::new("c-value", format!("expected {expected}"));
        Err(mistake.at(&place, "here").help(help).into())
    }

    fn next_is(&mut self, mark: &str) -> bool {
        let is = self.tokens.get(self.at).is_some_and(|it| it.is(mark));
        self.at += usize::from(is);
        is
    }

    fn ternary(&mut self) -> Result<u64, Errors> {
        let condition = self.binary(0)?;
        if !self.next_is("?") {
            return Ok(condition);
        }
        self.deeper(|reader| {
            let yes = reader.ternary()?;
            if !reader.next_is(":") {
                return reader.mistake("`:`", "write CONDITION ? VALUE : VALUE");
            }
            let no = reader.ternary()?;
            Ok(if condition != 0 { yes } else { no })
        })
    }

    fn deeper(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<u64, Errors>,
    ) -> Result<u64, Errors> {
        if self.depth == DEPTH {
            return self.mistake("fewer brackets in each other", "write the value itself");
        }
        self.depth += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn binary(&mut self, level: usize) -> Result<u64, Errors> {
        let Some(marks) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        loop {
            let start = self.at;
            let Some(mark) = marks.iter().copied().find(|it| self.next_is(it)) else {
                return Ok(left);
            };
            let right = self.binary(level + 1)?;
            left = match apply(mark, left, right) {
                Some(value) => value,
                None => {
                    self.at = start;
                    return self.mistake("a value of 64 bits", "C does not define this one");
                }
            };
        }
    }

    fn unary(&mut self) -> Result<u64, Errors> {
        let help = "write a number, or define the name in this file: headers are not read";
        let Some(token) = self.tokens.get(self.at) else {
            return self.mistake("a value", help);
        };
        if let Some(mark) = ["-", "~", "!", "+"].into_iter().find(|it| token.is(it)) {
            self.at += 1;
            let value = self.deeper(Self::unary)?;
            return Ok(match mark {
                "-" => value.wrapping_neg(),
                "~" => !value,
                "!" => u64::from(value == 0),
                _ => value,
            });
        }
        if self.next_is("(") {
            let value = self.deeper(Self::ternary)?;
            if !self.next_is(")") {
                return self.mistake("`)`", "each `(` needs one");
            }
            return Ok(value);
        }
        let value = match &token.kind {
            Kind::Number(number) => Some(*number),
            Kind::Name(name) => match self.unit.macros.get(name) {
                Some(body) => Some(self.in_macro(body)?),
                None => constant(name),
            },
            _ => None,
        };
        let Some(value) = value else { return self.mistake("a value that is known", help) };
        self.at += 1;
        Ok(value)
    }

    fn in_macro(&mut self, body: &'u [Token]) -> Result<u64, Errors> {
        if self.depth == DEPTH || self.steps == STEPS {
            return self.mistake("a macro that ends", "it leads to itself, or to too many others");
        }
        let (depth, steps) = (self.depth + 1, self.steps + 1);
        let mut inner = Reader { tokens: body, at: 0, depth, steps, ..*self };
        let value = inner.ternary()?;
        if inner.at < body.len() {
            return inner.mistake("an operator", "write an expression of numbers");
        }
        self.steps = inner.steps;
        Ok(value)
    }
}

fn apply(mark: &str, left: u64, right: u64) -> Option<u64> {
    let shift = || u32::try_from(right).ok().filter(|it| *it < 64);
    Some(match mark {
        "||" => u64::from(left != 0 || right != 0),
        "&&" => u64::from(left != 0 && right != 0),
        "|" => left | right,
        "^" => left ^ right,
        "&" => left & right,
        "==" => u64::from(left == right),
        "!=" => u64::from(left != right),
        "<" => u64::from(left < right),
        ">" => u64::from(left > right),
        "<=" => u64::from(left <= right),
        ">=" => u64::from(left >= right),
        "<<" => left << shift()?,
        ">>" => left >> shift()?,
        "+" => left.wrapping_add(right),
        "-" => left.wrapping_sub(right),
        "*" => left.wrapping_mul(right),
        "/" => left.checked_div(right)?,
        _ => left.checked_rem(right)?,
    })
}
