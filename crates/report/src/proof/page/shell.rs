//! The document around the parts: its head, symbols, navigation and end.

use base64ct::{Base64, Encoding};
use sha2::{Digest, Sha256};

use super::Part;
use super::label::escape;
use super::units::count;
use crate::proof::Proof;

/// The style of the pages of proofs, which others share.
pub const STYLE: &str = include_str!("assets/style.css");
const SCRIPT: &str = include_str!("assets/script.js");
/// Shapes that drawings use again and again, and patterns.
const SYMBOLS: &str = include_str!("assets/symbols.svg");

/// Explanations of words of the page, for readers who have no other document.
const WORDS: &str = "<details>\n<summary>Words on this page</summary>\n<dl class=\"words\">\n\
<dt>VM, VCPU, PCPU</dt><dd>A virtual machine, a processor that it sees, and a processor of the chip.</dd>\n\
<dt>Response time, deadline</dt><dd>The time from the release of a job of a task to its end, and the longest time that this may take.</dd>\n\
<dt>Bound</dt><dd>A time that no response time exceeds while the assumptions of the analysis hold, whatever the other VMs do.</dd>\n\
<dt>Colour</dt><dd>Pages of memory of different colours have no place of the last-level cache in common.</dd>\n\
<dt>Server</dt><dd>The rule by which a VCPU shares a PCPU: in each period it runs for its budget at most.</dd>\n\
<dt>Memory budget</dt><dd>The number of lines that a VCPU or a VM may move between cache and memory in each period; after that it waits for the next period.</dd>\n\
<dt>Without isolation</dt><dd>";
const WITHOUT: &str =
    "The same VMs and tasks without colours and memory budgets. PCPUs and servers are the same.";
const WITHOUT_MEASURED: &str = "The same VMs and tasks without servers and colours: VCPUs have priorities alone. PCPUs are the same.";

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Returns the document.
pub fn document(proof: &Proof, header: &str, parts: &[Part]) -> String {
    let name = escape(&proof.name);
    let (style, script) = (STYLE.trim(), SCRIPT.trim());
    let links: String = parts
        .iter()
        .map(|part| format!("<li><a href=\"#{}\">{}</a></li>", part.id, part.nav))
        .collect();
    let body: String = parts
        .iter()
        .map(|part| format!("<section id=\"{0}\" aria-labelledby=\"{0}-title\">\n<h2 id=\"{0}-title\">{1}</h2>\n{2}</section>\n", part.id, part.title, part.html))
        .collect();
    // Nothing is loaded, and only this script runs, whatever names contain.
    let policy = format!(
        "default-src 'none'; style-src '{}'; script-src '{}'; base-uri 'none'; form-action 'none'",
        digest(style),
        digest(script)
    );
    let (title, kind, without) = match proof.measured {
        false => ("proof of isolation", "Proof of timing isolation", WITHOUT),
        true => ("measured, not promised", "Measured, not promised", WITHOUT_MEASURED),
    };
    let before = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"generator\" content=\"Bulkhead {VERSION}\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{name}: {title}</title>\n<style>{style}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#main\">To the content</a>\n{}\n\
         <nav aria-label=\"Parts of this page\"><ul>{links}</ul><button type=\"button\" id=\"theme\" hidden>Dark</button></nav>\n\
         <main id=\"main\">\n<header>\n<p class=\"kind\">{kind}</p>\n<h1>{name}</h1>\n{header}</header>\n{body}{WORDS}{without}</dd>\n</dl>\n</details>\n</main>\n\
         <footer><p>Made by Bulkhead {VERSION}. This page is complete in itself, nothing is loaded from elsewhere: ",
        SYMBOLS.trim()
    );
    let after = format!(
        " bytes.</p></footer>\n<div id=\"tip\" role=\"tooltip\" hidden></div>\n<script>{script}</script>\n</body>\n</html>\n"
    );
    let size = size(before.len() + after.len());
    format!("{before}{size}{after}")
}

/// Returns the size, in digits, of a document that consists of `rest` bytes and these digits.
fn size(rest: usize) -> String {
    let mut text = String::new();
    // Each turn can make it longer once at most, by a digit and a space.
    for _ in 0..4 {
        text = count((rest + text.len()) as u64);
    }
    text
}

/// Returns the digest by which a policy names a style or a script.
pub fn digest(text: &str) -> String {
    format!("sha256-{}", Base64::encode_string(&Sha256::digest(text.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_counts_itself() {
        for rest in [0, 6, 7, 8, 90, 97, 990, 994, 998, 99_990, 1_000_000, 123_456_789] {
            let text = size(rest);
            let digits: String = text.chars().filter(char::is_ascii_digit).collect();
            assert_eq!(digits.parse::<usize>(), Ok(rest + text.len()), "{rest}");
        }
    }
}
