//! The digest of all sources that results depend on: programs with the same one give the same
//! results, and may share work.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// Crates of this project that results depend on.
const CRATES: [&str; 9] =
    ["analysis", "planner", "policy", "sim", "sweep", "system", "taskgen", "units", "verdict"];

fn main() -> io::Result<()> {
    let crates = Path::new("..");
    let mut digest = Sha256::new();
    for name in CRATES {
        let folder = crates.join(name).join("src");
        println!("cargo::rerun-if-changed={}", folder.display());
        let mut files = Vec::new();
        collect(&folder, &mut files)?;
        files.sort();
        for file in files {
            let path = file.to_string_lossy();
            let text = fs::read(&file)?;
            digest.update((path.len() as u64).to_le_bytes());
            digest.update(path.as_bytes());
            digest.update((text.len() as u64).to_le_bytes());
            digest.update(text);
        }
    }
    let hex: String = digest.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    println!("cargo::rustc-env=BULKHEAD_SOURCES={hex}");
    Ok(())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        match path.is_dir() {
            true => collect(&path, files)?,
            false => files.push(path),
        }
    }
    Ok(())
}
