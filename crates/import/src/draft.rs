//! A VM as far as another system describes it.

use system::diagnostic::Place;

use crate::Left;

/// A VM.
pub struct Vm {
    /// Its name in the other system, and the place of that.
    pub name: String,
    pub place: Place,
    pub vcpus: Vec<Vcpu>,
    /// Keys of `[[vm]]` but its name and its number of VCPUs.
    pub lines: Vec<Line>,
    pub devices: Vec<Device>,
    /// The interrupts (INTIDs) of its devices.
    pub interrupts: Vec<u64>,
    pub left: Vec<Left>,
}

impl Vm {
    /// Returns the interrupt of one of its devices, which is known only if there is one of each.
    pub fn interrupt(&self) -> Option<Line> {
        let first = self.interrupts.first()?.to_string();
        if self.devices.len() == 1 && self.interrupts.len() == 1 {
            return Some(Line::key("interrupt", first));
        }
        let all: Vec<String> = self.interrupts.iter().map(u64::to_string).collect();
        let why = format!("the one of this device out of {}, if it has one", all.join(", "));
        Some(Line::open("interrupt", first, why))
    }
}

/// A VCPU.
#[derive(Clone, Default)]
pub struct Vcpu {
    pub pcpu: Option<u64>,
    /// True if the lines say how it shares a PCPU.
    pub server: bool,
    pub lines: Vec<Line>,
}

/// A line of a table.
#[derive(Clone)]
pub enum Line {
    /// A key with its value in TOML.
    Key { key: &'static str, value: String, note: Option<String> },
    /// A key that is to be filled in, an example of its value in TOML, and what is unknown.
    Open { key: &'static str, example: String, why: String },
}

impl Line {
    pub fn key(key: &'static str, value: impl Into<String>) -> Self {
        Self::Key { key, value: value.into(), note: None }
    }

    pub fn noted(key: &'static str, value: impl Into<String>, note: impl Into<String>) -> Self {
        Self::Key { key, value: value.into(), note: Some(note.into()) }
    }

    pub fn open(key: &'static str, example: impl Into<String>, why: impl Into<String>) -> Self {
        Self::Open { key, example: example.into(), why: why.into() }
    }
}

/// A device of the machine.
pub struct Device {
    /// The place at which the other system gives it to the VM.
    pub place: Place,
    /// Its name in the file, if it has one.
    pub called: Option<String>,
    pub address: u64,
    pub guest_address: u64,
    pub size: u64,
    /// Help to find out what kind of device it is.
    pub kind: &'static str,
}

/// Returns the line at `place` as something that is left out.
pub fn left(place: &Place, why: impl Into<String>) -> Left {
    let text = &place.source().text()[place.start()..];
    let line = text.lines().next().unwrap_or_default().trim();
    let mut what: String = line.chars().take(60).collect();
    if what.len() < line.len() {
        what.push_str("...");
    }
    let (file, line) = (place.source().name().to_owned(), place.line_column().0);
    Left { file, line, what, why: why.into() }
}

/// Returns `FILE:LINE`.
pub fn line_of(place: &Place) -> String {
    format!("{}:{}", place.source().name(), place.line_column().0)
}
