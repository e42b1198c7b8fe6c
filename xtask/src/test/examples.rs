//! The libraries whose documentation has examples: for each other one, `cargo test --doc` would only take time.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

/// Returns the folders of libraries whose documentation has examples.
pub fn documented(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for group in ["crates", "guests"] {
        let group = root.join(group);
        for entry in
            fs::read_dir(&group).with_context(|| format!("cannot read {}", group.display()))?
        {
            let folder = entry?.path();
            // `--doc` does not heed `doctest = false`, which is for copies of code of others.
            let is_copy = folder.ends_with("interleavings");
            if !is_copy && folder.join("src/lib.rs").exists() && has_examples(&folder.join("src"))?
            {
                found.push(folder);
            }
        }
    }
    found.sort();
    ensure!(!found.is_empty(), "no documentation has examples");
    Ok(found)
}

/// Returns true if the documentation in some file of a folder has a block of Rust.
fn has_examples(folder: &Path) -> Result<bool> {
    for entry in
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?
    {
        let path = entry?.path();
        let found = match path.is_dir() {
            true => has_examples(&path)?,
            false => {
                path.extension().is_some_and(|it| it == "rs")
                    && is_example(&fs::read_to_string(&path)?)
            }
        };
        if found {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns true if the documentation in this text has a block of Rust: one that names no language.
fn is_example(text: &str) -> bool {
    let lines = text.lines().map(str::trim_start);
    let lines = lines.filter_map(|line| line.strip_prefix("///").or(line.strip_prefix("//!")));
    let fences = lines.filter_map(|line| line.trim_start().strip_prefix("```"));
    let opening = fences.step_by(2).map(str::trim);
    opening.into_iter().any(|language| {
        language.is_empty()
            || ["rust", "no_run", "should_panic"].iter().any(|it| language.starts_with(it))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_example_is_a_block_of_rust_in_documentation() {
        for text in
            ["/// ```\n/// f();\n/// ```", "    //! ```rust\n//! ```", "/// ```should_panic"]
        {
            assert!(is_example(text), "{text}");
        }
        for text in
            ["/// ```text\n/// R = C\n/// ```", "// ```\n// f();\n// ```", "let s = \"```\";", ""]
        {
            assert!(!is_example(text), "{text}");
        }
    }

    #[test]
    fn those_that_are_not_tested_have_none() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let found = documented(&root).expect("folders");
        let names: Vec<_> = found.iter().filter_map(|it| it.file_name()?.to_str()).collect();
        assert!(names.contains(&"policy") && names.contains(&"analysis"), "{names:?}");
        assert!(!names.contains(&"host") && !names.contains(&"interleavings"), "{names:?}");
    }
}
