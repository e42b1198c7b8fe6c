//! How to get a proof again, and from what it was made.

/// Commands, files and versions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Origin {
    /// Commands in their order.
    pub commands: Vec<Command>,
    /// Files that were read or written.
    pub files: Vec<File>,
    /// Versions and settings: `Bulkhead`, `QEMU`, `cache model`.
    pub facts: Vec<Fact>,
}

/// A command.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Command {
    /// What it does, in a few words.
    pub purpose: String,
    /// As it is typed.
    pub line: String,
}

/// A file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct File {
    /// What it is: `description`, `image`, `trace of the run with the plan`.
    pub purpose: String,
    /// Its name.
    pub name: String,
    /// Its SHA-256 in hexadecimal digits; empty if that is not known.
    pub sha256: String,
}

/// Something with a name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fact {
    /// What it is.
    pub name: String,
    /// What it is here.
    pub value: String,
}
