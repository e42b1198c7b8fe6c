//! Names of VMs and tasks as names in Coq.

use std::collections::BTreeSet;

/// Returns the name with `_` in place of all but letters, digits and `_`.
pub fn plain(name: &str) -> String {
    name.chars().map(|it| if it.is_ascii_alphanumeric() { it } else { '_' }).collect()
}

/// Names that have been given.
#[derive(Debug, Default)]
pub struct Names(BTreeSet<String>);

impl Names {
    /// Returns the name, or with a number behind it if another one has it already.
    pub fn unique(&mut self, name: &str) -> String {
        let name = plain(name);
        let candidates = std::iter::once(name.clone()).chain((2..).map(|n| format!("{name}_{n}")));
        let mut free = candidates.skip_while(|it| self.0.contains(it));
        let free = free.next().unwrap_or(name);
        self.0.insert(free.clone());
        free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_words() {
        let mut names = Names::default();
        let given = ["a-b", "a.b", "a_b_2", "*) Qed. (*"].map(|name| names.unique(name));
        assert_eq!(given, ["a_b", "a_b_2", "a_b_2_2", "___Qed____"]);
    }
}
