//! Headers of tables in a TOML text: `[platform]`, `[[vm]]`.

use std::ops::Range;

/// Returns the name in the header in which the byte at `at` stands, such as `vm.task`; none if it
/// stands in no header.
pub(super) fn name_at(text: &str, at: usize) -> Option<String> {
    let start = text.get(..at)?.rfind('\n').map_or(0, |end| end + 1);
    let line = text[start..].lines().next()?;
    header(line).map(|(name, _)| name)
}

/// Returns the place of the first header of one table with this `name`.
pub(super) fn first(text: &str, name: &str) -> Option<Range<usize>> {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let indent = line.len() - line.trim_start().len();
        if let Some((found, end)) = header(line)
            && found == name
            && !line.trim_start().starts_with("[[")
        {
            return Some(start + indent..start + end);
        }
        start += line.len();
    }
    None
}

/// Returns the start of the first header behind the line of the byte at `at`, or the end of the
/// text.
pub(super) fn next(text: &str, at: usize) -> usize {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if start > at && header(line).is_some() {
            return start;
        }
        start += line.len();
    }
    text.len()
}

/// Returns true if a header of this `name` is one of the `list` or of a table in it; a list may be
/// named from inside its table.
pub(super) fn is_within(name: &str, list: &str) -> bool {
    let (name, list) = (format!(".{name}."), format!(".{list}."));
    name.contains(&list)
}

/// Returns the name in a line that is a header, without spaces, and where its brackets end in the
/// line.
fn header(line: &str) -> Option<(String, usize)> {
    let inner = line.trim_start().strip_prefix('[')?;
    let is_list = inner.starts_with('[');
    let inner = inner.strip_prefix('[').unwrap_or(inner);
    let length = inner.find(']')?;
    let rest = inner[length..].trim_start_matches(']').trim();
    // What goes on is a value: a list in a list.
    if !(rest.is_empty() || rest.starts_with('#')) {
        return None;
    }
    let name = inner[..length].chars().filter(|c| !c.is_whitespace()).collect();
    let end = line.len() - inner.len() + length + if is_list { 2 } else { 1 };
    Some((name, end.min(line.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "a = 1\n  [ vm . task ] # one\nb = [\n[1, 2],\n]\n[[vm]]\nc = 3\n[vm]\n";

    #[test]
    fn headers_are_found_and_lists_of_lists_are_none() {
        let at = |part: &str| TEXT.find(part).expect("it is there");
        assert_eq!(name_at(TEXT, at("task")).as_deref(), Some("vm.task"));
        assert_eq!(name_at(TEXT, at("vm]]")).as_deref(), Some("vm"));
        assert_eq!(name_at(TEXT, at("c = 3")), None);
        assert_eq!(name_at(TEXT, at("1, 2")), None);
        assert_eq!(&TEXT[first(TEXT, "vm.task").expect("a header")], "[ vm . task ]");
        assert_eq!(first(TEXT, "vm").expect("a header").start, TEXT.len() - 5);
        assert_eq!(next(TEXT, at("task")), at("[[vm]]"));
        assert_eq!(next(TEXT, TEXT.len() - 3), TEXT.len());
    }

    #[test]
    fn what_is_in_a_list_is_within_it() {
        for (name, list) in [("vm", "vm"), ("vm.task", "vm"), ("platform.cpu", "cpu")] {
            assert!(is_within(name, list), "{name} {list}");
        }
        assert!(!is_within("platform", "vm") && !is_within("vms", "vm"));
    }
}
