//! No output replaces an input, or a file that the user may have completed.

use std::fs;
use std::path::Path;

use system::description::inputs;

use crate::failure::Failure;
use crate::load;

/// Refuses a target that is one of the files from which it would be made.
pub fn files<'f>(target: &Path, read: impl IntoIterator<Item = &'f Path>) -> Result<(), Failure> {
    unless_one_of(target, read, "a file that is read here")
}

/// Refuses a target that is the description in `file`, or a file that the description names.
pub fn description(target: &Path, file: &Path) -> Result<(), Failure> {
    if load::ending(file) != Some("toml") {
        return files(target, [file]);
    }
    unless_one_of(target, [file], "the description")?;
    // A description that cannot be read is said later.
    let named = load::text(file).map_or(Vec::new(), |text| inputs(&text, load::folder(file)));
    let named = named.iter().map(|it| it.as_path());
    unless_one_of(target, named, "a file that the description names")
}

/// Refuses to replace a file that has other contents than these; `help` says what to do. A device has no contents.
///
/// # Errors
///
/// There is such a file, or a link to nowhere.
pub fn other(path: &Path, bytes: &[u8], help: &str) -> Result<(), Failure> {
    let is_free = fs::symlink_metadata(path).is_err() || image::is_special(path);
    if is_free || fs::read(path).is_ok_and(|there| there == bytes) {
        return Ok(());
    }
    let message =
        format!("{} is there already, and nothing is replaced\nhelp: {help}", path.display());
    Err(Failure::file("output", message))
}

fn unless_one_of<'f>(
    target: &Path,
    files: impl IntoIterator<Item = &'f Path>,
    what: &str,
) -> Result<(), Failure> {
    let Ok(path) = target.canonicalize() else { return Ok(()) };
    // A device keeps nothing.
    if !path.is_file() || files.into_iter().all(|it| it.canonicalize().ok().as_ref() != Some(&path))
    {
        return Ok(());
    }
    let target = target.display();
    let text = format!("{target} is {what}: it would be replaced\nhelp: name another file");
    Err(Failure::file("output", text))
}
