//! The inputs of a proof, and the commands that repeat it.

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
    /// The purpose of the command, in a few words.
    pub purpose: String,
    /// The command line.
    pub line: String,
}

/// A file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct File {
    /// The purpose of the file: `description`, `image`, `trace of the run with the plan`.
    pub purpose: String,
    /// Name of the file.
    pub name: String,
    /// Its SHA-256 in hexadecimal digits; empty if that is not known.
    pub sha256: String,
}

/// A fact: a name and a value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fact {
    /// Name of the fact.
    pub name: String,
    /// Its value.
    pub value: String,
}
