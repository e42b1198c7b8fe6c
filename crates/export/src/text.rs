//! Words and comments of the languages that configurations are written in.

use system::plan::Vm;

/// The syntax of a comment.
#[derive(Clone, Copy)]
pub enum Comment {
    /// `# ...`; the first line may have to name an interpreter.
    Hash {
        /// The line before everything, such as `#!/bin/sh`.
        first: &'static str,
    },
    /// `/* ... */`
    C,
}

impl Comment {
    /// Lines at the head of a file.
    pub fn head(self, lines: &[String]) -> String {
        match self {
            Self::Hash { first } => {
                let lines: String = lines.iter().map(|line| format!("# {line}\n")).collect();
                let end = if first.is_empty() { "" } else { "\n" };
                format!("{first}{end}{lines}\n")
            }
            Self::C => {
                let lines: String = lines
                    .iter()
                    .map(|line| format!(" * {}\n", line.replace("*/", "* /")))
                    .collect();
                format!("/*\n{lines} */\n\n")
            }
        }
    }
}

/// Returns a text in double quotes, as C, device trees and `xl` read it: on one line, as command
/// lines of kernels are.
pub fn quoted(text: &str) -> String {
    let line = text.trim().replace(['\r', '\n'], " ");
    format!("\"{}\"", line.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Returns a text as one word of a shell.
pub fn word(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Returns the names of the VMs for which `is` holds, as a list; `None` if there are none.
pub fn names<'a>(vms: &'a [Vm], is: impl Fn(&'a Vm) -> bool) -> Option<String> {
    let names: Vec<String> =
        vms.iter().filter(|vm| is(vm)).map(|vm| format!("`{}`", vm.name)).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// Returns the name of a VM as an identifier of C: the index keeps `a-b` and `a_b` apart.
pub fn identifier(index: usize, name: &str) -> String {
    format!("vm{index}_{}", name.replace('-', "_"))
}
