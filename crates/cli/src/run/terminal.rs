//! The terminal, key by key.

use std::io::{self, Write};

use abi::console::SOFT_RESET;
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, isatty, tcgetattr,
    tcsetattr,
};

/// Gives every key to this process as it is pressed, Ctrl-C included; the settings of the terminal
/// from before come back when this is dropped.
#[derive(Debug)]
pub struct RawTerminal {
    before: Termios,
}

impl RawTerminal {
    /// Switches the terminal at the standard input; `None` if the standard input is no terminal.
    pub fn new() -> io::Result<Option<Self>> {
        let stdin = io::stdin();
        if !isatty(&stdin) {
            return Ok(None);
        }
        let before = tcgetattr(&stdin)?;
        let mut raw = before.clone();
        raw.input_modes -= InputModes::ICRNL
            | InputModes::INLCR
            | InputModes::IGNCR
            | InputModes::IXON
            | InputModes::ISTRIP
            | InputModes::BRKINT;
        raw.local_modes -=
            LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN;
        // Output stays as it is: line feeds of the hypervisor still return the carriage.
        raw.special_codes[SpecialCodeIndex::VMIN] = 1;
        raw.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(&stdin, OptionalActions::Now, &raw)?;
        Ok(Some(Self { before }))
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        // Nothing is left to do when the terminal has gone.
        let mut stdout = io::stdout();
        if isatty(&stdout) {
            let _ = stdout.write_all(SOFT_RESET.as_bytes()).and_then(|()| stdout.flush());
        }
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}
