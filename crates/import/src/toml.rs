//! Values of TOML, and comments.

use units::Bytes;

/// Returns a text.
pub fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            _ if character.is_control() => {
                out.push_str(&format!("\\u{:04x}", u32::from(character)));
            }
            _ => out.push(character),
        }
    }
    out + "\""
}

/// Returns a size.
pub fn size(bytes: u64) -> String {
    quoted(&Bytes(bytes).to_string().replace(' ', ""))
}

/// Returns an address.
pub fn address(address: u64) -> String {
    match address >> 16 {
        0 => format!("{address:#x}"),
        high => format!("{high:#x}_{:04x}", address & 0xffff),
    }
}

/// Returns a text that stays on the line of its comment.
pub fn comment(text: &str) -> String {
    text.chars().map(|it| if it.is_control() { ' ' } else { it }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_toml() {
        assert_eq!(quoted("a\"b\\c\nd\u{7f}"), r#""a\"b\\c\u000ad\u007f""#);
        assert_eq!([size(4096), size(512 << 20), size(1)], ["\"4KiB\"", "\"512MiB\"", "\"1B\""]);
        assert_eq!([address(0x1000), address(0x4_2000_1234)], ["0x1000", "0x42000_1234"]);
        assert_eq!(comment("a\nb\r[[vm]]"), "a b [[vm]]");
    }
}
