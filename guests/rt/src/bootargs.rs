//! Boot arguments: words of the form `key=value`, separated by spaces.

/// The text of the boot arguments.
#[derive(Clone, Copy, Debug)]
pub struct BootArguments<'a>(&'a str);

/// A boot argument that is not what it should be.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct NotANumber<'a> {
    /// The key.
    pub key: &'a str,
    /// The text after `=`.
    pub value: &'a str,
}

impl core::fmt::Display for NotANumber<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self { key, value } = self;
        write!(f, "boot argument {key}={value}: expected a number, decimal or 0x...")
    }
}

impl<'a> BootArguments<'a> {
    /// The arguments in `text`.
    pub const fn new(text: &'a str) -> Self {
        Self(text)
    }

    /// The value of the last word `key=value`.
    pub fn get(self, key: &str) -> Option<&'a str> {
        self.0
            .split_ascii_whitespace()
            .rev()
            .find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
    }

    /// The value of `key` as a number, decimal or hexadecimal with `0x`; `None` if it is not given.
    pub fn number<'k: 'a>(self, key: &'k str) -> Result<Option<u64>, NotANumber<'a>> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let number = match value.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => value.parse(),
        };
        number.map(Some).map_err(|_| NotANumber { key, value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARGUMENTS: BootArguments<'static> =
        BootArguments::new("quiet case=smc rt.seconds=2 address=0x4800_0000 address=0x48 n=x");

    #[test]
    fn finds_whole_keys_only() {
        assert_eq!(ARGUMENTS.get("case"), Some("smc"));
        assert_eq!(ARGUMENTS.get("seconds"), None);
        assert_eq!(ARGUMENTS.get("quiet"), None);
    }

    #[test]
    fn the_last_word_counts() {
        assert_eq!(ARGUMENTS.number("address"), Ok(Some(0x48)));
    }

    #[test]
    fn numbers_are_checked() {
        assert_eq!(ARGUMENTS.number("rt.seconds"), Ok(Some(2)));
        assert_eq!(ARGUMENTS.number("absent"), Ok(None));
        assert_eq!(ARGUMENTS.number("n"), Err(NotANumber { key: "n", value: "x" }));
        assert!(BootArguments::new("n=99999999999999999999").number("n").is_err());
        assert!(BootArguments::new("n=-1").number("n").is_err());
    }
}
