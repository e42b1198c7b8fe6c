//! Keys behind the escape key Ctrl-].

use abi::console::{ESCAPE, QUIT};

/// Sees the keys pass by. All but one belong to the hypervisor, which shows and
/// switches the consoles; to leave is our business.
#[derive(Debug, Default)]
pub struct Keys {
    escaped: bool,
}

/// The effect of keys.
#[derive(Debug, Eq, PartialEq)]
pub enum Pressed {
    /// The keys go to the hypervisor.
    Pass(Vec<u8>),
    /// The user leaves.
    Leave,
}

impl Keys {
    /// Takes some keys.
    pub fn press(&mut self, keys: &[u8]) -> Pressed {
        let mut passed = Vec::with_capacity(keys.len() + 1);
        for &key in keys {
            match (std::mem::take(&mut self.escaped), key) {
                (true, QUIT) => return Pressed::Leave,
                (true, key) => passed.extend([ESCAPE, key]),
                (false, ESCAPE) => self.escaped = true,
                (false, key) => passed.push(key),
            }
        }
        Pressed::Pass(passed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_keys_but_leave_are_passed_on() {
        for keys in [&b"ls q\r\x03"[..], b"\x1d2\x1dn\x1da\x1d?\x1d\x1dq"] {
            assert_eq!(Keys::default().press(keys), Pressed::Pass(keys.to_vec()));
        }
        assert_eq!(Keys::default().press(b"a\x1dq"), Pressed::Leave);
    }

    #[test]
    fn escape_key_is_remembered_and_goes_with_its_successor() {
        let mut keys = Keys::default();
        assert_eq!(keys.press(b"a\x1d"), Pressed::Pass(b"a".to_vec()));
        assert_eq!(keys.press(b"n"), Pressed::Pass(b"\x1dn".to_vec()));
        assert_eq!(keys.press(b"\x1d"), Pressed::Pass(Vec::new()));
        assert_eq!(keys.press(b"q"), Pressed::Leave);
    }
}
