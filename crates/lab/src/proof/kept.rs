//! Proofs that Coq has compiled, kept from one check to the next.
//!
//! Coq believes a compiled file. So one is used again only if it is the one that Coq of the same version wrote for
//! exactly these proofs: each file has its digest in a list beside it, and the folder belongs to the user, who alone
//! may write there. Otherwise all proofs are compiled anew.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use ::certificate::folder::PROOFS;
use sha2::{Digest, Sha256};

use crate::workspace;

/// The format of a kept folder, which changes with its meaning.
const FORMAT: &str = "compiled proofs of Bulkhead, 1";
/// The list of digests, as `sha256sum` writes and checks it.
const DIGESTS: &str = "SHA256SUMS";

/// The place of the compiled proofs of one version of Coq.
pub struct Kept {
    folder: PathBuf,
}

impl Kept {
    /// Returns the place in the user's cache; `None` if there is no cache. `version`: the version that Coq states.
    pub fn of_user(version: &str) -> Option<Self> {
        Some(Self::within(&workspace::cache()?.join("proofs"), version))
    }

    /// Returns the place in a folder.
    pub fn within(folder: &Path, version: &str) -> Self {
        let mut all = Sha256::new();
        let texts = PROOFS.iter().flat_map(|(name, text)| [*name, *text]);
        for part in [FORMAT, version].into_iter().chain(texts) {
            // With its length, so that no two lists of parts are the same bytes.
            all.update((part.len() as u64).to_le_bytes());
            all.update(part);
        }
        Self { folder: folder.join(hex(&all.finalize())) }
    }

    /// Copies the compiled proofs into a folder. Returns false, and leaves it as it is, if they are not there or are
    /// not those that were kept.
    pub fn copy(&self, into: &Path) -> bool {
        let Some(all) = self.read() else { return false };
        all.iter().all(|(name, bytes)| fs::write(into.join(name), bytes).is_ok())
    }

    fn read(&self) -> Option<Vec<(String, Vec<u8>)>> {
        if !is_private(&self.folder) {
            return None;
        }
        let files = compiled().map(|name| Some((fs::read(self.folder.join(&name)).ok()?, name)));
        let files: Vec<_> =
            files.map(|it| it.map(|(bytes, name)| (name, bytes))).collect::<Option<_>>()?;
        let digests = fs::read_to_string(self.folder.join(DIGESTS)).ok()?;
        (digests == list(&files)).then_some(files)
    }

    /// Keeps the proofs that Coq has compiled in a folder. Where that is not possible, the next check compiles them again.
    pub fn keep(&self, from: &Path) {
        let _ = self.try_to_keep(from);
    }

    fn try_to_keep(&self, from: &Path) -> io::Result<()> {
        let read = |name: String| Ok((fs::read(from.join(&name))?, name));
        let files = compiled().map(|name| read(name).map(|(bytes, name)| (name, bytes)));
        let files: Vec<_> = files.collect::<io::Result<_>>()?;
        let parent = self.folder.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(parent)?;
        // Others see all of it or nothing. Nobody else may write there.
        let gathered = tempfile::Builder::new().prefix(".new-").tempdir_in(parent)?;
        for (name, bytes) in &files {
            fs::write(gathered.path().join(name), bytes)?;
        }
        fs::write(gathered.path().join(DIGESTS), list(&files))?;
        if self.folder.exists() {
            fs::remove_dir_all(&self.folder)?;
        }
        fs::rename(gathered.path(), &self.folder)
    }
}

/// Removes the files that Coq compiled of the proofs in this folder, so that `make` there depends on nothing that was kept.
pub fn remove_compiled(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_none_or(|it| it != "v") {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// The names of the compiled proofs.
fn compiled() -> impl Iterator<Item = String> {
    PROOFS.iter().map(|(name, _)| format!("{name}.vo"))
}

fn list(files: &[(String, Vec<u8>)]) -> String {
    files.iter().map(|(name, bytes)| format!("{}  {name}\n", hex(&Sha256::digest(bytes)))).collect()
}

fn hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns true if `folder` is a folder of this user in which nobody else may write.
fn is_private(folder: &Path) -> bool {
    let own = rustix::process::geteuid().as_raw();
    let found = fs::symlink_metadata(folder);
    found.is_ok_and(|it| it.is_dir() && it.uid() == own && it.permissions().mode() & 0o022 == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with files that could be compiled proofs, which are kept, and one for copies.
    fn kept() -> (tempfile::TempDir, Kept, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let [from, into] = ["from", "into"].map(|it| folder.path().join(it));
        for folder in [&from, &into] {
            fs::create_dir(folder).expect("a folder");
        }
        for name in compiled() {
            fs::write(from.join(&name), format!("compiled {name}")).expect("a file");
        }
        let kept = Kept::within(&folder.path().join("cache"), "8.16.1 4.13.1");
        assert!(!kept.copy(&into), "nothing is kept");
        kept.keep(&from);
        (folder, kept, into)
    }

    fn names(folder: &Path) -> usize {
        fs::read_dir(folder).expect("a folder").count()
    }

    #[test]
    fn what_was_kept_is_copied() {
        let (_folder, kept, into) = kept();
        assert!(kept.copy(&into));
        for name in compiled() {
            let text = fs::read_to_string(into.join(&name)).expect("a file");
            assert_eq!(text, format!("compiled {name}"));
        }
        fs::write(into.join("Counting.v"), "the proof").expect("a file");
        remove_compiled(&into).expect("a folder");
        assert_eq!(names(&into), 1);
    }

    #[test]
    fn another_coq_has_other_files() {
        let (folder, _, into) = kept();
        let other = Kept::within(&folder.path().join("cache"), "8.16.1 4.14.0");
        assert!(!other.copy(&into));
    }

    #[test]
    fn changed_files_are_not_used_and_are_replaced() {
        for spoil in [
            |folder: &Path| fs::write(folder.join("Tasks.vo"), "compiled Tasks.va"),
            |folder: &Path| fs::remove_file(folder.join("Certificate.vo")),
            |folder: &Path| fs::write(folder.join(DIGESTS), ""),
            |folder: &Path| fs::set_permissions(folder, PermissionsExt::from_mode(0o777)),
        ] {
            let (folder, kept, into) = kept();
            spoil(&kept.folder).expect("it can be spoiled");
            assert!(!kept.copy(&into));
            assert_eq!(names(&into), 0);
            kept.keep(&folder.path().join("from"));
            assert!(kept.copy(&into));
        }
    }

    #[test]
    fn what_is_not_complete_is_not_kept() {
        let (folder, kept, into) = kept();
        fs::remove_dir_all(&kept.folder).expect("it is there");
        fs::remove_file(folder.path().join("from/Below.vo")).expect("it is there");
        kept.keep(&folder.path().join("from"));
        assert!(!kept.copy(&into));
    }
}
