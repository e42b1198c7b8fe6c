//! Owners whose files and folders are used without being named: in a folder above the current one they can be anybody's.

use std::env;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::process::geteuid;

/// Returns true if a file belongs to root, to this user, or to whom the current folder belongs: a checkout that another
/// user shares with a container is one in which one works. Of a symbolic link, the link and its target both have to.
pub fn is_trusted(file: &Path) -> bool {
    let here = env::current_dir().and_then(|folder| folder.metadata());
    let here = here.ok().map(|it| it.uid());
    let is_known = |uid| uid == 0 || uid == geteuid().as_raw() || Some(uid) == here;
    [file.metadata(), file.symlink_metadata()]
        .into_iter()
        .all(|it| it.is_ok_and(|it| is_known(it.uid())))
}

/// Returns true if a file and the folder in which it is are trusted: whose folder it is can put another file in its place.
pub fn is_trusted_there(file: &Path) -> bool {
    is_trusted(file) && file.parent().is_some_and(is_trusted)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{chown, lchown, symlink};

    use super::*;

    const NOBODY: u32 = 65_534;

    /// Only root can give a file away: elsewhere only the first half is tested.
    #[test]
    fn files_of_others_are_not_trusted() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        assert!(is_trusted(file.path()));
        assert!(!is_trusted(Path::new("/nowhere")));
        if geteuid().is_root() {
            chown(file.path(), Some(NOBODY), None).expect("given away");
            assert!(!is_trusted(file.path()));
        }
    }

    #[test]
    fn links_and_folders_of_others_are_not_trusted() {
        if !geteuid().is_root() {
            return eprintln!("skipped: only root can give a file away");
        }
        let folder = tempfile::tempdir().expect("a folder");
        let [file, link] = ["file", "link"].map(|name| folder.path().join(name));
        std::fs::write(&file, "mine").expect("written");
        symlink(&file, &link).expect("a link");
        assert!(is_trusted(&link) && is_trusted_there(&file));
        lchown(&link, Some(NOBODY), None).expect("given away");
        assert!(!is_trusted(&link), "the target is root's, and the link is not");
        chown(folder.path(), Some(NOBODY), None).expect("given away");
        assert!(is_trusted(&file) && !is_trusted_there(&file));
    }
}
