//! Texts that depend on the place of a value.

/// Stands for the number of the placement.
pub const PLACEMENT: &str = "{placement}";

/// Replaces `{x}` by the place and, where that is a number, `{colors}` by the
/// first colours, as many as the number (`0`, `0-1`, `0-2`, ...).
pub fn expand(text: &str, x: &str) -> String {
    let text = text.replace("{x}", x);
    match x.parse::<u64>() {
        Ok(count @ 1..) => text.replace("{colors}", &first(count)),
        _ => text,
    }
}

fn first(count: u64) -> String {
    match count - 1 {
        0 => "0".into(),
        last => format!("0-{last}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_colours_are_filled_in() {
        assert_eq!(expand("kib={x} colors={colors}", "1"), "kib=1 colors=0");
        assert_eq!(expand("kib={x} colors={colors}", "16"), "kib=16 colors=0-15");
        assert_eq!(expand("program={x} {colors}", "xz"), "program=xz {colors}");
        assert_eq!(expand("{colors}", "0"), "{colors}");
    }
}
