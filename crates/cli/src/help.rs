//! `bulkhead completions` and `bulkhead man`: the command line, for shells and for `man`.

use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, CommandFactory};
use clap_complete::{Generator, Shell};
use clap_mangen::Man;
use serde::Serialize;

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::json;
use crate::output;
use crate::status::Status;

/// Print completions of this command for a shell
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  bulkhead completions bash > ~/.local/share/bash-completion/completions/bulkhead
  bulkhead completions zsh > ~/.zfunc/_bulkhead            with `fpath+=~/.zfunc` before `compinit`
  bulkhead completions fish > ~/.config/fish/completions/bulkhead.fish

Exit status: 0 printed, 2 bad input.")]
pub struct CompletionsOptions {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

/// Write a man page for each command
///
/// `man -l DIR/bulkhead-run.1` shows one of them, and `man bulkhead-run` does if DIR is the folder
/// man1 in a folder of MANPATH.
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  bulkhead man ~/.local/share/man/man1

Exit status: 0 written, 2 bad input.")]
pub struct ManOptions {
    /// Folder for the pages
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}

/// Prints completions.
pub fn completions(options: &CompletionsOptions) -> Result<Status, Failure> {
    let mut command = Arguments::command();
    command.set_bin_name("bulkhead");
    command.build();
    let mut script = Vec::new();
    options.shell.try_generate(&command, &mut script)?;
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(Status::Yes)
}

/// The document that `--json` prints.
#[derive(Serialize)]
struct Pages {
    ok: bool,
    files: Vec<String>,
}

/// Writes the pages.
pub fn man(options: &ManOptions, as_json: bool) -> Result<Status, Failure> {
    let mut files = Vec::new();
    let command = Arguments::command().disable_help_subcommand(true);
    page(command, "bulkhead", &options.folder, &mut files)?;
    match as_json {
        true => json::print(&Pages { ok: true, files })?,
        false => output::print(&format!("{} pages: {}\n", files.len(), options.folder.display()))?,
    }
    Ok(Status::Yes)
}

/// Writes the page of a command that is called `name`, and those of the commands in it.
fn page(
    command: clap::Command,
    name: &str,
    folder: &Path,
    files: &mut Vec<String>,
) -> Result<(), Failure> {
    for inner in command.get_subcommands().filter(|it| !it.is_hide_set()) {
        let name = format!("{name}-{}", inner.get_name());
        page(inner.clone(), &name, folder, files)?;
    }
    let words = name.replace('-', " ");
    let command = command.bin_name(words).display_name(name.to_owned());
    let man = Man::new(command.clone());
    let file = folder.join(format!("{name}.1"));
    image::write(&file, text(&man, name, &command)?.as_bytes())?;
    files.push(file.display().to_string());
    Ok(())
}

/// Returns the page of a command. It has no date: the same version writes the same page.
fn text(man: &Man, name: &str, command: &clap::Command) -> io::Result<String> {
    let version = concat!("bulkhead ", env!("CARGO_PKG_VERSION"));
    let mut text = format!(".TH {name} 1 \"\" \"{version}\" Bulkhead\n").into_bytes();
    man.render_name_section(&mut text)?;
    man.render_synopsis_section(&mut text)?;
    man.render_description_section(&mut text)?;
    man.render_options_section(&mut text)?;
    if command.get_subcommands().any(|it| !it.is_hide_set()) {
        man.render_subcommands_section(&mut text)?;
    }
    let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    text.extend(report::man::sections(&after).bytes());
    if command.get_version().is_some() {
        man.render_version_section(&mut text)?;
    }
    let text = String::from_utf8_lossy(&text);
    let text: String = text.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    // A paragraph within an option.
    Ok(text.replace(".br\n\n.br\n", ".sp\n"))
}
