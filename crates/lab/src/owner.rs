//! Whose files are executed without being named: in a folder above the current one they can be anybody's.

use std::env;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::process::geteuid;

/// Returns true if a file belongs to root, to this user, or to whom the current folder belongs: a checkout that another
/// user shares with a container is one in which one works.
pub fn is_trusted(file: &Path) -> bool {
    let owner = |path: &Path| path.metadata().ok().map(|it| it.uid());
    let here = env::current_dir().ok().and_then(|folder| owner(&folder));
    owner(file).is_some_and(|uid| uid == 0 || uid == geteuid().as_raw() || Some(uid) == here)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::chown;

    use super::*;

    /// Only root can give a file away: elsewhere only the first half is tested.
    #[test]
    fn files_of_others_are_not_trusted() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        assert!(is_trusted(file.path()));
        assert!(!is_trusted(Path::new("/nowhere")));
        if geteuid().is_root() {
            chown(file.path(), Some(65_534), None).expect("given away");
            assert!(!is_trusted(file.path()));
        }
    }
}
