//! Words of the analysis in documents.

use analysis::Reason;
use analysis::overheads::Source;
use serde::{Serialize, Serializer};

/// Writes the reason why there is no bound.
pub fn reason<S: Serializer>(reason: &Option<Reason>, serializer: S) -> Result<S::Ok, S::Error> {
    reason.map(Reason::as_str).serialize(serializer)
}

/// Writes a source of overheads: `overhead-release`, `overhead-switch` and so on.
pub fn overhead<S: Serializer>(source: &Source, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("overhead-{}", source.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::{Part, Term};

    #[test]
    fn overheads_are_words_beside_the_other_parts() {
        for (part, word) in [
            (Part::MemoryBudget, "memory-budget"),
            (Part::OverheadJob, "overhead-job"),
            (Part::Overhead(Source::Memory), "overhead-memory"),
            (Part::Overhead(Source::Late), "overhead-late"),
        ] {
            let term = Term { term: part, task: None, jobs: None, time_ns: 1 };
            let document = serde_json::to_value(&term).expect("a document");
            assert_eq!(document["term"], word);
        }
    }
}
