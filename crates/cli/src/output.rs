//! Text for people: colours on a terminal, plain elsewhere and with `NO_COLOR`.

use std::io::{self, Write};

use anstream::{AutoStream, ColorChoice};

/// Prints text to the standard output.
pub fn print(text: &str) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Prints text to the standard error. If even that fails, nobody reads us.
pub fn error(text: &str) {
    let _ = anstream::stderr().lock().write_all(text.as_bytes());
}

/// Whether colours on the standard error will be seen.
pub fn errors_are_colored() -> bool {
    AutoStream::choice(&io::stderr()) != ColorChoice::Never
}
