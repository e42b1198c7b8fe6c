//! The escape key: Ctrl-] and one more key speak to the console, all else to a VM.

use abi::console::{ESCAPE, FOCUS_FIRST, FOCUS_LAST, QUIT};

/// What a key means.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Action {
    /// Nothing yet: the next key decides.
    Wait,
    /// A byte for the VM that has the input.
    Input(u8),
    /// Show all VMs.
    All,
    /// Show this VM alone.
    Focus(usize),
    /// Show the next VM alone.
    Next,
    /// List keys and VMs.
    Help,
    /// Leave the console.
    Quit,
    /// Not a key of the console.
    Unknown,
}

/// Remembers whether the escape key came last.
pub(super) struct Keys {
    escaped: bool,
}

impl Keys {
    pub(super) const fn new() -> Self {
        Self { escaped: false }
    }

    pub(super) fn press(&mut self, key: u8) -> Action {
        if !core::mem::take(&mut self.escaped) {
            if key == ESCAPE {
                self.escaped = true;
                return Action::Wait;
            }
            return Action::Input(key);
        }
        match key {
            ESCAPE => Action::Input(ESCAPE),
            b'a' => Action::All,
            FOCUS_FIRST..=FOCUS_LAST => Action::Focus(usize::from(key - FOCUS_FIRST)),
            b'n' => Action::Next,
            b'?' => Action::Help,
            QUIT => Action::Quit,
            _ => Action::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn actions(keys: &[u8]) -> Vec<Action> {
        let mut state = Keys::new();
        keys.iter().map(|&key| state.press(key)).collect()
    }

    #[test]
    fn keys_of_the_console_follow_the_escape_key_only() {
        assert_eq!(actions(b"a"), [Action::Input(b'a')]);
        assert_eq!(actions(b"\x1daa"), [Action::Wait, Action::All, Action::Input(b'a')]);
        assert_eq!(
            actions(b"\x1d7\x1d8"),
            [Action::Wait, Action::Focus(7), Action::Wait, Action::Unknown]
        );
        assert_eq!(actions(b"\x1dn?"), [Action::Wait, Action::Next, Action::Input(b'?')]);
        assert_eq!(
            actions(b"\x1d?\x1dq"),
            [Action::Wait, Action::Help, Action::Wait, Action::Quit]
        );
    }

    #[test]
    fn escape_key_twice_is_the_key_itself() {
        assert_eq!(
            actions(b"\x1d\x1da"),
            [Action::Wait, Action::Input(ESCAPE), Action::Input(b'a')]
        );
    }
}
