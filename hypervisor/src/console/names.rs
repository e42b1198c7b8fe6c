//! Names of the VMs and the labels of their lines.

use super::MAX_VMS;

/// Most bytes of a VM's name that are shown.
pub const NAME_MAX: usize = 15;

/// Bytes of the longest label: the name, brackets and a space.
pub(super) const LABEL_MAX: usize = NAME_MAX + 3;

/// The label of the hypervisor's own lines.
pub(super) const HYPERVISOR_LABEL: &[u8] = b"[bulkhead] ";

#[derive(Clone, Copy)]
struct Name {
    label: [u8; LABEL_MAX],
    length: usize,
}

/// The VMs that share the console.
pub(super) struct Names {
    names: [Name; MAX_VMS],
    count: usize,
    // Length of the longest name: the others are padded to it.
    longest: usize,
}

impl Names {
    pub(super) const NONE: Self = Self {
        names: [Name { label: [b' '; LABEL_MAX], length: 0 }; MAX_VMS],
        count: 0,
        longest: 0,
    };

    /// Takes the first [`MAX_VMS`] names. What is not printable ASCII is shown as `?`.
    pub(super) fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut this = Self::NONE;
        for (name, entry) in names.into_iter().zip(&mut this.names) {
            entry.label[0] = b'[';
            for (byte, place) in name.bytes().zip(&mut entry.label[1..=NAME_MAX]) {
                *place = if byte.is_ascii_graphic() { byte } else { b'?' };
                entry.length += 1;
            }
            this.count += 1;
            this.longest = this.longest.max(entry.length);
        }
        for entry in &mut this.names {
            entry.label[1 + this.longest] = b']';
        }
        this
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The name of a VM, "?" if there is no such VM.
    pub(super) fn name(&self, vm: usize) -> &str {
        self.names
            .get(vm)
            .filter(|_| vm < self.count)
            .and_then(|name| core::str::from_utf8(&name.label[1..1 + name.length]).ok())
            .unwrap_or("?")
    }

    /// What stands before the lines of a source: a VM, or else the hypervisor.
    pub(super) fn label(&self, source: usize) -> &[u8] {
        match self.names.get(source) {
            Some(name) => &name.label[..self.longest + 3],
            None => HYPERVISOR_LABEL,
        }
    }
}
