//! Text that comes as bytes.

/// The text in these bytes, if all of them are ASCII. `core::str::from_utf8` would be a large part of what
/// reads a plan, in which nothing else stands.
pub fn ascii(bytes: &[u8]) -> Option<&str> {
    // SAFETY: ASCII is UTF-8.
    bytes.iter().all(u8::is_ascii).then(|| unsafe { core::str::from_utf8_unchecked(bytes) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ascii_is_text() {
        assert_eq!(ascii(b"vm-1"), Some("vm-1"));
        assert_eq!(ascii(b""), Some(""));
        assert_eq!(ascii("k\u{e4}se".as_bytes()), None);
        assert_eq!(ascii(b"\xff"), None);
    }
}
