//! Names of the VMs and the labels of their lines.

use core::fmt::{self, Write};

use abi::console::HYPERVISOR_LABEL;

use super::{MAX_VMS, NAME_MAX};

/// Bytes of the longest label: the name, brackets and a space.
pub(super) const LABEL_MAX: usize = NAME_MAX + 3;

/// The name of a VM, padded with spaces.
#[derive(Clone, Copy)]
pub(super) struct Name([u8; NAME_MAX]);

impl Name {
    const EMPTY: Self = Self([b' '; NAME_MAX]);

    fn new(name: &str) -> Self {
        let mut this = Self::EMPTY;
        for (byte, place) in name.bytes().zip(&mut this.0) {
            *place = if byte.is_ascii_graphic() { byte } else { b'?' };
        }
        this
    }

    fn length(&self) -> usize {
        self.0.iter().take_while(|byte| **byte != b' ').count()
    }
}

/// The name; padded to [`NAME_MAX`] with the flag `#`.
impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let length = if f.alternate() { NAME_MAX } else { self.length() };
        self.0.iter().take(length).try_for_each(|byte| f.write_char(char::from(*byte)))
    }
}

/// The VMs that share the console.
#[derive(Clone, Copy)]
pub(super) struct Names {
    names: [Name; MAX_VMS],
    count: usize,
    // Length of the longest name: the others are padded to it.
    longest: usize,
}

impl Names {
    pub(super) const NONE: Self = Self { names: [Name::EMPTY; MAX_VMS], count: 0, longest: 0 };

    /// Takes the first [`MAX_VMS`] names. Bytes that are not printable ASCII are shown as `?`.
    pub(super) fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut this = Self::NONE;
        for (name, entry) in names.into_iter().zip(&mut this.names) {
            *entry = Name::new(name);
            this.count += 1;
            this.longest = this.longest.max(entry.length());
        }
        this
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The name of a VM; empty if there is no such VM.
    pub(super) fn name(&self, vm: usize) -> &Name {
        self.names.get(vm).unwrap_or(&Name::EMPTY)
    }

    /// Returns the label before the lines of a source, a VM or else the hypervisor, in three parts.
    pub(super) fn label(&self, source: usize) -> [&[u8]; 3] {
        match self.names.get(source) {
            Some(name) => [b"[", &name.0[..self.longest.min(NAME_MAX)], b"] "],
            None => [HYPERVISOR_LABEL.as_bytes(), b"", b""],
        }
    }
}
