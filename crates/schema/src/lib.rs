//! JSON Schemas of descriptions, platforms and experiments, for editors that complete and explain what people write.
//!
//! Names and types of keys stand in `keys`; what a key means stands in the pages of the documentation, from which
//! the texts are taken that an editor shows. Tests compare both with the code that reads the files.
//!
//! ```
//! let schema = schema::schema(schema::Kind::Description);
//! let period = &schema["properties"]["vm"]["items"]["properties"]["task"]["items"]["properties"]["period"];
//! assert!(period["description"].as_str().unwrap().starts_with("time between two releases"));
//! ```

#![forbid(unsafe_code)]

mod experiment;
mod keys;
mod page;
mod types;

use serde_json::{Value, json};

use page::Page;

/// What a file describes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// A system.
    Description,
    /// A machine.
    Platform,
    /// Random systems that are evaluated.
    Experiment,
}

impl Kind {
    /// All, with their names.
    pub const ALL: [(&'static str, Self); 3] = [
        ("description", Self::Description),
        ("platform", Self::Platform),
        ("experiment", Self::Experiment),
    ];
}

/// Returns the schema of files of this kind: JSON Schema, draft 7, which all editors know.
pub fn schema(kind: Kind) -> Value {
    let (title, mut schema) = match kind {
        Kind::Description => ("Description of a Bulkhead system", of(keys::description(), "")),
        Kind::Platform => ("Platform of a Bulkhead system", of(keys::platform(), page::PLATFORM)),
        Kind::Experiment => ("Experiment of `bulkhead sweep`", experiment::schema()),
    };
    schema["$schema"] = json!("http://json-schema.org/draft-07/schema#");
    schema["title"] = json!(title);
    schema
}

fn of(table: keys::Table, place: &str) -> Value {
    table.schema(&Page::description(), place)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All keys of a table and of those in it, as `vm.task.period`.
    fn names(table: &keys::Table, place: &str, names: &mut Vec<(String, bool)>) {
        for key in &table.keys {
            let name = page::inner(place, key.name);
            match key.kind.table().filter(|inner| inner.is_in_page) {
                Some(inner) => {
                    self::names(inner, &name, names);
                    // The page has its keys, and may have it as a whole.
                    names.push((name, false));
                }
                None => names.push((name, true)),
            }
        }
    }

    #[test]
    fn the_page_and_the_schema_have_the_same_keys() {
        let mut known = Vec::new();
        names(&keys::description(), "", &mut known);
        names(&keys::platform(), page::PLATFORM, &mut known);
        let page = Page::description();
        for (name, _) in known.iter().filter(|(_, has_to_be)| *has_to_be) {
            // The keys of a platform may stand in a description: the page has them once.
            let moved = name.strip_prefix("platform.");
            let elsewhere = moved.is_some_and(|it| page.has(&page::inner(page::PLATFORM, it)));
            let counter = name.strip_prefix(&page::inner(page::PLATFORM, "bandwidth"));
            let counter = counter.is_some_and(|it| page.has(&format!("platform.bandwidth{it}")));
            assert!(page.has(name) || elsewhere || counter, "the page does not have `{name}`");
        }
        for name in page.names() {
            assert!(known.iter().any(|(it, _)| it == name), "the schema does not have `{name}`");
        }
    }
}
