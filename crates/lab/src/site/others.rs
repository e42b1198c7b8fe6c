//! Results of something else are not replaced.

use std::path::Path;

use report::site::Kind;

use super::document::{self, Read};
use crate::failure::Failure;

/// The document in a folder of results.
const RESULTS: &str = "results.json";

/// Refuses a folder that has results of another command, or of another system where one is named.
///
/// # Errors
///
/// There are such results, or a file of their name that is none.
pub fn refuse_other_results(
    folder: &Path,
    kind: Kind,
    system: Option<&str>,
) -> Result<(), Failure> {
    let path = folder.join(RESULTS);
    if path.symlink_metadata().is_err() {
        return Ok(());
    }
    let of = match document::read(&path, &crate::load::text(&path)?, 0) {
        Ok(Read::Result(entry)) if entry.kind != kind => {
            format!("results of `bulkhead {}`", entry.kind.as_str())
        }
        Ok(Read::Result(entry)) if system.is_some_and(|system| system != entry.name) => {
            format!("results of the system `{}`", entry.name)
        }
        Ok(Read::Result(_) | Read::Failed(_)) => return Ok(()),
        Ok(Read::Other) | Err(_) => format!("a {RESULTS} that is no result of bulkhead"),
    };
    let message = format!(
        "{} has {of}\nhelp: name another folder with `-o`, or remove this one",
        folder.display()
    );
    Err(Failure::file("output", message))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_results_of_the_same_command_and_system_are_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let refused = |kind, system| {
            let refused = refuse_other_results(folder.path(), kind, system).err();
            refused.map(|it| it.to_string().lines().next().unwrap_or_default().to_owned())
        };
        let has = |what: &str| Some(format!("{} has {what}", folder.path().display()));
        assert_eq!(refused(Kind::Prove, Some("rover")), None);
        let write = |text: &str| fs::write(folder.path().join(RESULTS), text).expect("a file");
        write(
            r#"{"format": "bulkhead-proof-v1", "ok": true, "name": "rover", "failures": [], "tasks": []}"#,
        );
        assert_eq!(refused(Kind::Prove, Some("rover")), None);
        let other = has("results of the system `rover`");
        assert_eq!(refused(Kind::Prove, Some("servers")), other);
        assert_eq!(refused(Kind::Measure, None), has("results of `bulkhead prove`"));
        write(r#"{"mine": 1}"#);
        let none = has("a results.json that is no result of bulkhead");
        assert_eq!(refused(Kind::Prove, Some("rover")), none);
        write("{");
        assert_eq!(refused(Kind::Measure, None), none);
    }
}
