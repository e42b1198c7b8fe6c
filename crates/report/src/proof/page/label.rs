//! Names of VMs, VCPUs and tasks, and texts of others, which may contain anything.

use crate::proof::Proof;

/// Most characters of a name or a text that are shown.
const LENGTH_MAX: usize = 400;

/// Escapes a text for HTML and for attributes in double quotes, so that it cannot contain markup,
/// change the direction of the text behind it, or be too long.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for (index, letter) in text.chars().enumerate() {
        if index == LENGTH_MAX {
            escaped.push('…');
            break;
        }
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' | '\t' => escaped.push(' '),
            // Marks and overrides of the direction of text.
            '\u{61c}'
            | '\u{200e}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' => escaped.push('\u{fffd}'),
            other if other.is_control() => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}

/// Escapes sentences like [`escape`], with text between backticks as code.
pub fn prose(text: &str) -> String {
    let escaped = escape(text);
    let mut parts = escaped.split('`');
    let mut html = parts.next().unwrap_or("").to_owned();
    while let Some(code) = parts.next() {
        match parts.next() {
            Some(after) => html.push_str(&format!("<code>{code}</code>{after}")),
            None => html.push_str(&format!("`{code}")),
        }
    }
    html
}

/// Returns at most this number of characters of a text; `…` stands for the others.
pub fn short(text: &str, length: usize) -> String {
    if text.chars().count() <= length {
        return text.to_owned();
    }
    let first: String = text.chars().take(length.saturating_sub(1)).collect();
    format!("{first}…")
}

/// Name of the VM at this place.
pub fn vm(proof: &Proof, vm: usize) -> String {
    proof.vms.get(vm).map_or_else(|| format!("VM {vm}"), |vm| vm.name.clone())
}

/// Name of a VCPU: `rt/0`.
pub fn vcpu(proof: &Proof, of: usize, vcpu: usize) -> String {
    format!("{}/{vcpu}", vm(proof, of))
}

/// Name of the task at this place, with its VCPU: `rt/0 fast`.
pub fn task(proof: &Proof, place: usize) -> String {
    match proof.tasks.get(place) {
        Some(task) => format!("{} {}", vcpu(proof, task.vm, task.vcpu), task.name),
        None => format!("task {place}"),
    }
}

/// Returns the class of the colour of a VM; of nobody if there is none.
pub fn class(vm: Option<usize>) -> String {
    const COLORS: usize = 6;
    vm.map_or_else(|| "vx".into(), |vm| format!("v{}", vm % COLORS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_leaves_its_place_or_turns_what_follows() {
        assert_eq!(
            escape("<b a=\"'\">&\0\u{202e}x\ny"),
            "&lt;b a=&quot;&#39;&quot;&gt;&amp;\u{fffd}\u{fffd}x y"
        );
        assert_eq!(escape(&"x".repeat(10_000)).chars().count(), LENGTH_MAX + 1);
        assert_eq!(prose("a `<b>` c `d"), "a <code>&lt;b&gt;</code> c `d");
        assert_eq!(short("abcdef", 4), "abc…");
        assert_eq!(short("abcd", 4), "abcd");
    }
}
