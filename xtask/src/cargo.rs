//! Runs commands of cargo.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// A program that cargo has built.
pub struct Executable {
    /// Name of its binary target.
    pub name: String,
    /// The place where cargo has put it.
    pub path: PathBuf,
    /// The folder of its package.
    pub package: PathBuf,
    /// True if it runs tests.
    pub is_test: bool,
}

/// Runs a command, which reports its errors itself.
pub fn run(mut command: Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {}", line(&command)))?;
    ensure!(status.success(), "failed: {}", line(&command));
    Ok(())
}

/// Runs a command, which reports its errors itself; returns its output.
pub fn output(mut command: Command) -> Result<Vec<u8>> {
    command.stderr(Stdio::inherit());
    let output = command.output().with_context(|| format!("cannot start {}", line(&command)))?;
    ensure!(output.status.success(), "failed: {}", line(&command));
    Ok(output.stdout)
}

/// Runs a command of cargo that builds programs, and gives the compiler these arguments
/// if the command is `cargo rustc`; returns the programs.
pub fn executables(mut command: Command, compiler: &[&str]) -> Result<Vec<Executable>> {
    command.arg("--message-format=json-render-diagnostics");
    if !compiler.is_empty() {
        command.arg("--").args(compiler);
    }
    String::from_utf8_lossy(&output(command)?)
        .lines()
        .filter_map(|message| executable(message).transpose())
        .collect()
}

/// A command as a person would type it, without its environment.
fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// The program in a line of cargo's messages, if the line is about one.
///
/// Source: The Cargo Book, "External tools", JSON messages.
fn executable(message: &str) -> Result<Option<Executable>> {
    let message: Value = serde_json::from_str(message)
        .with_context(|| format!("cargo wrote a line that is not JSON: {message}"))?;
    let name = message["target"]["name"].as_str();
    let manifest = Path::new(message["manifest_path"].as_str().unwrap_or_default());
    Ok(name.zip(message["executable"].as_str()).map(|(name, path)| Executable {
        name: name.to_owned(),
        path: path.into(),
        package: manifest.parent().unwrap_or(manifest).to_owned(),
        is_test: message["profile"]["test"] == true,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_messages_about_programs_count() {
        let program = r#"{"reason":"compiler-artifact","manifest_path":"/p/rt/Cargo.toml","target":{"name":"rt-demo"},"profile":{"test":true},"executable":"/t/rt-demo"}"#;
        let found = executable(program).unwrap().unwrap();
        assert_eq!((found.name.as_str(), found.path.to_str()), ("rt-demo", Some("/t/rt-demo")));
        assert_eq!((found.package.to_str(), found.is_test), (Some("/p/rt"), true));

        let library =
            r#"{"reason":"compiler-artifact","target":{"name":"spin"},"executable":null}"#;
        assert!(executable(library).unwrap().is_none());
        assert!(executable(r#"{"reason":"build-finished","success":true}"#).unwrap().is_none());
        assert!(executable("warning: text").is_err());
    }
}
