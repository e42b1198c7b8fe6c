//! Values of the types that descriptions use.

use std::ops::Range;

use abi::limits::SHARED_INTERRUPTS;
use policy::color::{ColorSet, ParseColorsError};
use toml::Spanned;
use toml::de::DeValue;
use units::{Quantity, QuantityError};

use super::fields::Entry;
use super::{Fields, Located};
use crate::address::Address;
use crate::address::IntId;
use crate::description::PLANNED;
use crate::diagnostic::Diagnostic;
use crate::suggest;

type Value<'t> = Spanned<DeValue<'t>>;

impl<'t> Fields<'t> {
    fn located<T>(&self, value: &Value<'_>, inner: T) -> Located<T> {
        Located::new(inner, &self.document.place(value.span()))
    }

    /// Text that is not empty.
    pub fn string(&self, key: &'static str) -> Option<Located<String>> {
        let value = self.value(key)?;
        self.as_string(value, &format!("`{key} = \"...\"`"))
    }

    fn as_string(&self, value: &Value<'_>, form: &str) -> Option<Located<String>> {
        match value.get_ref() {
            DeValue::String(text) if text.is_empty() => {
                self.refuse(value, "wrong-value", "the text is empty", &format!("write {form}"))
            }
            DeValue::String(text) if text.contains('\0') => {
                self.refuse(value, "wrong-value", "the text has a zero byte", "remove it")
            }
            DeValue::String(text) => Some(self.located(value, text.to_string())),
            _ => self.wrong_type(value, "a string", &format!("write {form}")),
        }
    }

    /// Returns the text of a key for comparisons; mistakes in it are not reported.
    pub fn peek(&self, key: &'static str) -> Option<Located<String>> {
        let value = self.value(key)?;
        Some(self.located(value, value.get_ref().as_str()?.to_owned()))
    }

    /// Reads a key that is planned if it is left out; refuses to read that it is planned.
    pub fn unless_planned<T>(
        &self,
        key: &'static str,
        read: impl FnOnce(&Self, &'static str) -> Option<T>,
    ) -> Option<T> {
        let planned = self.peek(key).filter(|text| text.value == PLANNED);
        let Some(planned) = planned else { return read(self, key) };
        let message = format!("`{key}` is planned where it is not given");
        let help = format!("leave the key out: remove `{key} = \"{PLANNED}\"`");
        self.add(Diagnostic::new("wrong-value", message).at(&planned.place, "here").help(help));
        None
    }

    /// Returns the number of a key for comparisons; mistakes in it are not reported.
    pub fn peek_number(&self, key: &'static str) -> Option<Located<u64>> {
        let value = self.value(key)?;
        let integer = value.get_ref().as_integer()?;
        let number = u64::from_str_radix(integer.as_str(), integer.radix()).ok()?;
        Some(self.located(value, number))
    }

    /// Returns a string, or a list of strings.
    pub fn strings(&self, key: &'static str) -> Option<Vec<String>> {
        let strings = self.located_strings(key)?;
        Some(strings.into_iter().map(|text| text.value).collect())
    }

    /// Returns a string, or a list of strings, with the place of each.
    pub fn located_strings(&self, key: &'static str) -> Option<Vec<Located<String>>> {
        let value = self.value(key)?;
        let form = format!("`{key} = [\"...\", \"...\"]`");
        let DeValue::Array(array) = value.get_ref() else {
            return Some(vec![self.as_string(value, &form)?]);
        };
        if array.is_empty() {
            return self.refuse(
                value,
                "wrong-value",
                "the list is empty",
                &format!("write {form}"),
            );
        }
        let strings: Vec<_> = array.iter().map(|item| self.as_string(item, &form)).collect();
        strings.into_iter().collect()
    }

    /// `true` or `false`.
    pub fn boolean(&self, key: &'static str) -> Option<bool> {
        let value = self.value(key)?;
        match value.get_ref() {
            DeValue::Boolean(boolean) => Some(*boolean),
            _ => self.wrong_type(value, "true or false", &format!("write `{key} = true`")),
        }
    }

    /// One out of some words.
    pub fn choice<T: Copy>(&self, key: &'static str, choices: &[(&str, T)]) -> Option<Located<T>> {
        let text = self.string(key)?;
        let found = choices.iter().find(|(word, _)| *word == text.value);
        if found.is_none() {
            let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
            let message = format!("`{}` is not known here", text.value.escape_debug());
            let list = suggest::list(&words, "or");
            self.add(
                Diagnostic::new("wrong-value", message)
                    .at(&text.place, format!("expected {list}"))
                    .help(match suggest::closest(&text.value, words.iter().copied()) {
                        Some(word) => format!("did you mean `{word}`?"),
                        None => format!("write {list}"),
                    }),
            );
        }
        found.map(|(_, choice)| text.map(|_| *choice))
    }

    /// Returns a whole number in a range.
    pub fn integer(&self, key: &'static str, low: u64, high: u64) -> Option<Located<u64>> {
        let value = self.value(key)?;
        // Where 0 is possible it is seldom what was meant.
        let example = low.max(1).min(high);
        let number = self.whole(value, &format!("write `{key} = {example}`"))?;
        if number < low || number > high {
            let message = format!("{number} is out of range");
            let help = match high {
                u64::MAX => format!("{low} and above are possible"),
                _ => format!("{low} to {high} are possible"),
            };
            return self.refuse(value, "out-of-range", &message, &help);
        }
        Some(self.located(value, number))
    }

    /// Returns the number of a shared interrupt.
    pub fn shared_interrupt(&self, key: &'static str) -> Option<Located<IntId>> {
        let Range { start, end } = SHARED_INTERRUPTS;
        let number = self.integer(key, start.into(), u64::from(end) - 1)?;
        Some(number.map(|number| IntId(number as u32)))
    }

    /// Returns a list of whole numbers in a range: at least one.
    pub fn integers(&self, key: &'static str, low: u64, high: u64) -> Option<Located<Vec<u64>>> {
        let value = self.value(key)?;
        let form = format!("write `{key} = [{low}, {}]`", low + 1);
        let DeValue::Array(array) = value.get_ref() else {
            return self.wrong_type(value, "a list of whole numbers", &form);
        };
        if array.is_empty() {
            return self.refuse(value, "wrong-value", "the list is empty", &form);
        }
        let number = |item| {
            let number = self.whole(item, &form)?;
            if (low..=high).contains(&number) {
                return Some(number);
            }
            let help = format!("{low} to {high} are possible");
            self.refuse(item, "out-of-range", &format!("{number} is out of range"), &help)
        };
        let numbers: Vec<_> = array.iter().map(number).collect();
        Some(self.located(value, numbers.into_iter().collect::<Option<_>>()?))
    }

    fn whole(&self, value: &Value<'_>, help: &str) -> Option<u64> {
        let DeValue::Integer(integer) = value.get_ref() else {
            return self.wrong_type(value, "a whole number", help);
        };
        let number = u64::from_str_radix(integer.as_str(), integer.radix());
        match number {
            Ok(number) => Some(number),
            Err(_) if integer.as_str().starts_with('-') => {
                self.refuse(value, "out-of-range", "the number is negative", help)
            }
            Err(_) => {
                let message = "the number has more than 64 bits";
                self.refuse(value, "out-of-range", message, "make it smaller")
            }
        }
    }

    /// Returns an address.
    pub fn address<A: Address>(&self, key: &'static str) -> Option<Located<A>> {
        let value = self.value(key)?;
        let number = self.whole(value, &format!("write `{key} = 0x40000000`, without quotes"))?;
        Some(self.located(value, A::from(number)))
    }

    /// Returns a set of colours, as in `"0-3,8"`.
    pub fn colors(&self, key: &'static str) -> Option<Located<ColorSet>> {
        self.colors_or(key, "")
    }

    /// The same, where a word is possible in place of colours, which is not read here.
    pub fn colors_or_planned(&self, key: &'static str) -> Option<Located<ColorSet>> {
        self.colors_or(key, &format!(", or `{key} = \"{PLANNED}\"`"))
    }

    fn colors_or(&self, key: &'static str, or: &str) -> Option<Located<ColorSet>> {
        let form = format!("colours and ranges of them, as in `{key} = \"0-3,8\"`{or}");
        let text = self.as_string(self.value(key)?, &form)?;
        let error: ParseColorsError = match text.value.parse() {
            Ok(colors) => return Some(text.map(|_| colors)),
            Err(error) => error,
        };
        // Where the text stands as it is, behind a quote, the character is known.
        let span = text.place.span();
        let inner = span.start + 1..span.end.saturating_sub(1);
        let place = match text.place.source().text().get(inner.clone()) {
            Some(shown) if shown == text.value => {
                let at = inner.start + error.at;
                self.document.place(at..at + 1)
            }
            _ => text.place,
        };
        self.add(
            Diagnostic::new("wrong-value", format!("`{key}`, {error}"))
                .at(&place, "here")
                .help(format!("write {form}")),
        );
        None
    }

    /// Returns a number with a unit.
    pub fn quantity<Q: Quantity>(&self, key: &'static str) -> Option<Located<Q>> {
        let value = self.value(key)?;
        self.as_quantity(value)
    }

    /// Returns the value of an entry as a number with a unit.
    pub fn entry_quantity<Q: Quantity>(&self, entry: &Entry<'_>) -> Option<Located<Q>> {
        self.as_quantity(entry.value)
    }

    fn as_quantity<Q: Quantity>(&self, value: &Value<'_>) -> Option<Located<Q>> {
        let names: Vec<&str> = Q::UNITS.iter().map(|(name, _)| *name).collect();
        let units = suggest::list(&names, "or");
        let write = format!("write {} as in \"{}\"", Q::WHAT, Q::EXAMPLE);
        let text = match value.get_ref() {
            DeValue::String(text) => text,
            DeValue::Integer(_) | DeValue::Float(_) => {
                let number = match value.get_ref() {
                    DeValue::Integer(integer) => integer.to_string(),
                    DeValue::Float(float) => float.as_str().to_owned(),
                    _ => String::new(),
                };
                let unit = names.iter().rev().nth(1).unwrap_or(&"");
                let help = format!("add a unit, {units}: \"{number}{unit}\"");
                return self.refuse(value, "missing-unit", "the number has no unit", &help);
            }
            _ => return self.wrong_type(value, Q::WHAT, &write),
        };
        let (code, message, help) = match units::parse(text) {
            Ok(quantity) => return Some(self.located(value, quantity)),
            Err(QuantityError::NoNumber) => {
                ("wrong-value", format!("this is not {}", Q::WHAT), write)
            }
            Err(QuantityError::NoUnit) => {
                let unit = names.iter().rev().nth(1).unwrap_or(&"");
                let help = format!("add a unit, {units}: \"{}{unit}\"", text.trim());
                ("missing-unit", "the number has no unit".into(), help)
            }
            Err(QuantityError::UnknownUnit(unit)) => {
                let message = format!("`{}` is not a unit of {}", unit.escape_debug(), Q::WHAT);
                let help = match suggest::closest(&unit, names.iter().copied()) {
                    Some(meant) => format!("did you mean `{meant}`? units are {units}"),
                    None => format!("units are {units}, as in \"{}\"", Q::EXAMPLE),
                };
                ("wrong-unit", message, help)
            }
            Err(QuantityError::NotWhole) => {
                let message = format!("this is not a whole number of {}", names[0]);
                ("wrong-value", message, "round it".into())
            }
            Err(QuantityError::TooLarge) => (
                "out-of-range",
                "the number has more than 64 bits".into(),
                "make it smaller".into(),
            ),
        };
        self.refuse(value, code, &message, &help)
    }

    fn refuse<T>(
        &self,
        value: &Value<'_>,
        code: &'static str,
        message: &str,
        help: &str,
    ) -> Option<T> {
        let place = self.document.place(value.span());
        self.add(Diagnostic::new(code, message).at(&place, "here").help(help));
        None
    }
}
