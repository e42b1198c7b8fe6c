//! Text for people: without `--color`, colours on a terminal, and plain elsewhere and with `NO_COLOR`.

use std::ffi::OsString;
use std::io::{self, Write};

use anstream::{AutoStream, ColorChoice};
use clap::ValueEnum;

/// Has colours in all that is printed from now on, or not.
pub fn color(when: clap::ColorChoice) {
    match when {
        clap::ColorChoice::Auto => ColorChoice::Auto,
        clap::ColorChoice::Always => ColorChoice::Always,
        clap::ColorChoice::Never => ColorChoice::Never,
    }
    .write_global();
}

/// Returns the value of `--color` in a command line that may have mistakes elsewhere.
pub fn asked(words: impl Iterator<Item = OsString>) -> clap::ColorChoice {
    let words: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    let joined = words.iter().filter_map(|word| word.strip_prefix("--color="));
    let apart = words.windows(2).filter(|pair| pair[0] == "--color").map(|pair| pair[1].as_str());
    let when = joined.chain(apart).next().unwrap_or_default();
    clap::ColorChoice::from_str(when, false).unwrap_or_default()
}

/// Prints text to the standard output.
pub fn print(text: &str) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Prints a document to the standard output, as it is.
pub fn document(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Prints text to the standard error. If even that fails, nobody reads us.
pub fn error(text: &str) {
    let _ = anstream::stderr().lock().write_all(text.as_bytes());
}

/// Returns true if colours on the standard error will be seen.
pub fn errors_are_colored() -> bool {
    AutoStream::choice(&io::stderr()) != ColorChoice::Never
}
