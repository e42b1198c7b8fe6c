//! The escape key: Ctrl-] and one more key speak to the console, all else to a VM. A program sends to any VM by
//! Ctrl-], a key for the VM, and the byte.

use abi::console::{ALL, ESCAPE, FOCUS_FIRST, FOCUS_LAST, QUIT, SEND_FIRST, SEND_LAST};

/// The meaning of a key.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Action {
    /// Nothing yet: the next key decides.
    Wait,
    /// A byte for the VM that has the input.
    Input(u8),
    /// A byte for this VM, also if another one has the input.
    Send(usize, u8),
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

/// The meaning that the keys before give the next one.
#[derive(Clone, Copy)]
enum Next {
    Input,
    // The escape key came last.
    Escaped,
    // A key came behind it that sends to this VM.
    Send(usize),
}

/// Remembers an escape key, and to which VM it sends.
pub(super) struct Keys {
    next: Next,
}

impl Keys {
    pub(super) const fn new() -> Self {
        Self { next: Next::Input }
    }

    pub(super) fn press(&mut self, key: u8) -> Action {
        match core::mem::replace(&mut self.next, Next::Input) {
            Next::Input if key == ESCAPE => self.wait(Next::Escaped),
            Next::Input => Action::Input(key),
            Next::Send(vm) => Action::Send(vm, key),
            Next::Escaped => self.press_escaped(key),
        }
    }

    fn press_escaped(&mut self, key: u8) -> Action {
        match key {
            ESCAPE => Action::Input(ESCAPE),
            ALL => Action::All,
            FOCUS_FIRST..=FOCUS_LAST => Action::Focus(usize::from(key - FOCUS_FIRST)),
            SEND_FIRST..=SEND_LAST => self.wait(Next::Send(usize::from(key - SEND_FIRST))),
            b'n' => Action::Next,
            b'?' => Action::Help,
            QUIT => Action::Quit,
            _ => Action::Unknown,
        }
    }

    fn wait(&mut self, next: Next) -> Action {
        self.next = next;
        Action::Wait
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
    fn one_byte_of_any_value_is_sent_to_a_vm() {
        for byte in 0..=255 {
            assert_eq!(
                actions(&[ESCAPE, b'H', byte, b'b']),
                [Action::Wait, Action::Wait, Action::Send(7, byte), Action::Input(b'b')]
            );
        }
        assert_eq!(actions(b"\x1dI"), [Action::Wait, Action::Unknown]);
    }

    #[test]
    fn escape_key_twice_is_the_key_itself() {
        assert_eq!(
            actions(b"\x1d\x1da"),
            [Action::Wait, Action::Input(ESCAPE), Action::Input(b'a')]
        );
    }
}
