//! The lines of the measurement guest.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};

use super::range::Range;

/// The text that the console puts before the guest's lines, which themselves start with `bench: `.
const LABEL: &str = "[bench] bench: ";

/// Row of the interval between reset and the guest's first instruction.
pub const ENTRY: &str = "entry";

/// Measurements by name.
#[derive(Debug, Default, Eq, PartialEq)]
pub struct Rows(BTreeMap<String, Range>);

impl Rows {
    /// Reads the console of a run.
    pub fn read(console: &str) -> Result<Self> {
        let mut rows = Self::default();
        let mut done = false;
        for text in console.lines().filter_map(|line| line.trim_end().strip_prefix(LABEL)) {
            let words: Vec<&str> = text.split_whitespace().collect();
            match words.as_slice() {
                ["cntfrq_hz" | "hvc_function", _] => {}
                ["entry_virtual", _, "entry_physical", entry] => {
                    let entry = entry.parse().with_context(|| unreadable(text))?;
                    rows.add(ENTRY, Range::exact(entry));
                }
                ["done", faults] => {
                    ensure!(
                        *faults == "faults=0",
                        "instructions of the guest faulted and were not measured: {faults}"
                    );
                    done = true;
                }
                [name, min, max, _runs] => {
                    let number = |word: &str, key| word.strip_prefix(key)?.parse().ok();
                    let (min, max) = number(min, "min=")
                        .zip(number(max, "max="))
                        .with_context(|| unreadable(text))?;
                    rows.add(name, Range { min, max });
                }
                _ => bail!(unreadable(text)),
            }
        }
        ensure!(done, "the guest did not reach its last line");
        Ok(rows)
    }

    /// Adds or replaces a row.
    pub fn add(&mut self, name: &str, range: Range) {
        self.0.insert(name.to_owned(), range);
    }

    /// The row of that name.
    pub fn get(&self, name: &str) -> Result<Range> {
        self.0.get(name).copied().with_context(|| format!("the guest did not measure `{name}`"))
    }

    /// The first row in which these differ from others, if they do.
    pub fn difference(&self, other: &Self) -> Option<String> {
        let show = |range: Option<&Range>| range.map_or("nothing".into(), Range::to_string);
        self.0.keys().chain(other.0.keys()).find_map(|name| {
            let (first, second) = (self.0.get(name), other.0.get(name));
            (first != second)
                .then(|| format!("{name}: first {}, then {}", show(first), show(second)))
        })
    }
}

fn unreadable(text: &str) -> String {
    format!("the guest reports `{text}`, which is not a measurement")
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONSOLE: &str = "[bulkhead] ready\r\n\
        [bench] bench: cntfrq_hz 1000000000\r\n\
        [bench] bench: entry_virtual 12 entry_physical 400148\r\n\
        [bench] bench: hvc_function 0xc600ffff\r\n\
        [bench] ................\r\n\
        [bench] bench: hvc_rejected min=125 max=126 runs=16\r\n\
        [bench] bench: done faults=0\r\n\
        [bulkhead] bench: off (power-off)\r\n";

    #[test]
    fn measurements_are_found_among_other_lines() {
        let rows = Rows::read(CONSOLE).unwrap();
        assert_eq!(rows.get("hvc_rejected").unwrap(), Range { min: 125, max: 126 });
        assert_eq!(rows.get(ENTRY).unwrap(), Range::exact(400_148));
        assert!(rows.get("psci_version").unwrap_err().to_string().contains("psci_version"));
    }

    #[test]
    fn a_run_that_says_nothing_reliable_is_refused() {
        for (from, to, message) in [
            ("faults=0", "faults=1", "faults=1"),
            ("done", "doing", "doing faults=0"),
            ("[bench] bench: done faults=0", "", "last line"),
            ("min=125 max=126 runs=16", "FAILED no interrupt", "hvc_rejected FAILED"),
            ("min=125", "min=few", "min=few"),
        ] {
            let error = Rows::read(&CONSOLE.replace(from, to)).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
    }

    #[test]
    fn a_difference_names_its_row() {
        let first = Rows::read(CONSOLE).unwrap();
        let second = Rows::read(&CONSOLE.replace("max=126", "max=127")).unwrap();
        assert_eq!(first.difference(&first), None);
        let found = first.difference(&second).unwrap();
        assert_eq!(found, "hvc_rejected: first min=125 max=126, then min=125 max=127");
        let found = Rows::default().difference(&first).unwrap();
        assert!(found.contains("first nothing"), "{found}");
    }
}
