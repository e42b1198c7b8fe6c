//! Values of settings: numbers, sets of CPUs, ranges of frames.

use system::diagnostic::{Diagnostic, Place};

use super::file::{Item, Value};

/// The largest number of a CPU or a colour.
const NUMBER_MAX: u64 = 1023;

/// Returns a mistake at a value.
pub fn mistake(place: &Place, expected: &str, help: &str) -> Box<Diagnostic> {
    let mistake = Diagnostic::new("wrong-value", format!("expected {expected}"));
    Box::new(mistake.at(place, "here").help(help))
}

impl Item {
    /// Returns a text.
    pub fn text(&self, help: &str) -> Result<&str, Box<Diagnostic>> {
        match &self.value {
            Value::Text(text) => Ok(text),
            Value::List(_) => Err(mistake(&self.place, "one value, no list", help)),
        }
    }

    /// Returns a number between two others.
    pub fn number(&self, least: u64, most: u64, help: &str) -> Result<u64, Box<Diagnostic>> {
        let number = number(self.text(help)?).filter(|it| (least..=most).contains(it));
        let expected = format!("a number from {least} to {most}");
        number.ok_or_else(|| mistake(&self.place, &expected, help))
    }

    /// Returns the values of a list; one value is a list, too.
    pub fn list(&self) -> &[Item] {
        match &self.value {
            Value::List(items) => items,
            Value::Text(_) => std::slice::from_ref(self),
        }
    }
}

/// Returns a number as `xl` reads it: hexadecimal after `0x`, octal after `0`.
pub fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => hexadecimal(digits),
        None if text.len() > 1 && text.starts_with('0') => u64::from_str_radix(text, 8).ok(),
        None => text.parse().ok(),
    }
}

fn hexadecimal(digits: &str) -> Option<u64> {
    u64::from_str_radix(digits, 16).ok()
}

/// Returns the numbers of `0-3,5,^1`, in order; `None`: all that there are.
pub fn set(item: &Item) -> Result<Option<Vec<u64>>, Box<Diagnostic>> {
    let help = "write numbers, ranges and exceptions, as \"0-3,5,^1\", or \"all\"";
    let text = item.text(help)?;
    if text.trim() == "all" {
        return Ok(None);
    }
    let wrong = || mistake(&item.place, "a set of numbers", help);
    let mut set = Vec::new();
    for part in text.split(',').map(str::trim) {
        let (except, range) = part.strip_prefix('^').map_or((false, part), |rest| (true, rest));
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let bounds = number(first.trim()).zip(number(last.trim()));
        let (first, last) = bounds
            .filter(|(first, last)| first <= last && *last <= NUMBER_MAX)
            .ok_or_else(wrong)?;
        match except {
            true => set.retain(|it| !(first..=last).contains(it)),
            false => set.extend(first..=last),
        }
    }
    set.sort_unstable();
    set.dedup();
    if set.is_empty() { Err(wrong()) } else { Ok(Some(set)) }
}

/// Frames of the machine, and where a guest sees them, in bytes.
#[derive(Debug, Eq, PartialEq)]
pub struct Frames {
    pub address: u64,
    pub guest_address: u64,
    pub size: u64,
}

/// Returns the frames of `FRAME,NUMBER[@FRAME OF THE GUEST]`, all hexadecimal.
pub fn frames(item: &Item) -> Result<Frames, Box<Diagnostic>> {
    let help = "write \"FRAME,NUMBER\" or \"FRAME,NUMBER@FRAME OF THE GUEST\", all hexadecimal, below 0x1000000000";
    let text = item.text(help)?;
    let bytes = |text: &str| {
        let text = text.trim();
        let frame = hexadecimal(text.strip_prefix("0x").unwrap_or(text))?;
        (frame < 1 << 36).then_some(frame << 12)
    };
    let frames = text.split_once(',').and_then(|(first, rest)| {
        let (number, guest) = rest.split_once('@').unwrap_or((rest, first));
        let frames = Frames {
            address: bytes(first)?,
            guest_address: bytes(guest)?,
            size: bytes(number).filter(|it| *it > 0)?,
        };
        Some(frames)
    });
    frames.ok_or_else(|| mistake(&item.place, "a range of frames", help))
}
