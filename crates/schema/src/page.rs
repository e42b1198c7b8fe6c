//! What the documentation says about keys.

use std::collections::BTreeMap;

const DESCRIPTION: &str = include_str!("../../../docs/reference/description.md");

/// Stands for the top level of a platform file, whose keys have the names of others in descriptions.
pub const PLATFORM: &str = "(platform)";

/// A page that lists keys in blocks of TOML: the comment behind a key says what it means.
pub struct Page {
    /// Comments of keys such as `vm.task.period`, and the first lines in which they stand.
    texts: BTreeMap<String, (String, String)>,
}

/// Returns the name of a key in a table.
pub fn inner(table: &str, key: &str) -> String {
    if table.is_empty() { key.to_owned() } else { format!("{table}.{key}") }
}

impl Page {
    /// Reads the reference of descriptions.
    pub fn description() -> Self {
        let mut texts = BTreeMap::new();
        let (mut root, mut inside, mut table) = ("", false, String::new());
        let mut last: Option<String> = None;
        for line in DESCRIPTION.lines() {
            if let Some(title) = line.strip_prefix("## ") {
                root = if title == "Platforms" { PLATFORM } else { "" };
            } else if line.starts_with("```") {
                inside = line == "```toml";
                (table, last) = (root.to_owned(), None);
            } else if inside {
                last = read(line, root, &mut table, last, &mut texts);
            }
        }
        Self { texts }
    }

    /// Returns true if the page has the key.
    #[cfg(test)]
    pub fn has(&self, name: &str) -> bool {
        self.texts.contains_key(name)
    }

    /// Returns all keys.
    #[cfg(test)]
    pub fn names(&self) -> impl Iterator<Item = &String> {
        self.texts.keys()
    }

    /// Returns what the page says about a key, with an example.
    pub fn text(&self, name: &str) -> Option<String> {
        let found = self.texts.get(name).or_else(|| {
            let name = name.strip_prefix("platform.");
            self.texts.get(&inner(PLATFORM, name?))
        });
        let found = found.or_else(|| {
            let name = name.strip_prefix(&inner(PLATFORM, "bandwidth"))?;
            self.texts.get(&format!("platform.bandwidth{name}"))
        });
        let (comment, example) = found?;
        Some(match comment.is_empty() {
            true => format!("as in `{example}`"),
            false => format!("{comment}\n\nas in `{example}`"),
        })
    }
}

/// Reads a line of a block; returns the key to which a comment in the next line belongs.
fn read(
    line: &str,
    root: &str,
    table: &mut String,
    last: Option<String>,
    texts: &mut BTreeMap<String, (String, String)>,
) -> Option<String> {
    // A key that excludes another one of the block stands behind `#`.
    let shown = line.strip_prefix("# ").unwrap_or(line);
    let (code, comment) = divide(shown);
    if let Some(more) = comment.filter(|_| code.trim().is_empty()) {
        let (known, _) = texts.get_mut(last.as_ref()?)?;
        *known = format!("{known} {more}");
        return last;
    }
    if let Some(header) = code.trim().strip_prefix('[').filter(|_| !code.starts_with(' ')) {
        let header = header.trim_matches(['[', ']']);
        *table = if root.is_empty() { header.to_owned() } else { inner(root, header) };
        return None;
    }
    if code.trim_start().starts_with('{') {
        inline(code.trim().trim_end_matches(','), last.as_deref()?, texts);
        return last;
    }
    let (key, _) = code.split_once(" = ")?;
    let is_key = key.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'_');
    let name = inner(table, key);
    // The first line that says something counts.
    if is_key && texts.get(&name).is_none_or(|(text, _)| text.is_empty()) {
        let example = code.trim().trim_end_matches('[').trim_end();
        texts.insert(name.clone(), (comment.unwrap_or_default().into(), example.into()));
    }
    Some(name)
}

/// Reads the keys of an inline table of a list.
fn inline(code: &str, list: &str, texts: &mut BTreeMap<String, (String, String)>) {
    for part in code.trim_matches(['{', '}', ' ']).split(", ") {
        if let Some((key, _)) = part.split_once(" = ") {
            texts.entry(inner(list, key)).or_insert_with(|| (String::new(), part.into()));
        }
    }
}

/// Divides a line before the comment, which is behind a `#` outside of quotes.
fn divide(line: &str) -> (&str, Option<&str>) {
    let mut quoted = false;
    let at = line.find(|letter| {
        quoted ^= letter == '"';
        letter == '#' && !quoted
    });
    match at {
        Some(at) => (&line[..at], Some(line[at + 1..].trim())),
        None => (line, None),
    }
}
