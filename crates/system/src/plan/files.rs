//! The files that a plan names.

use std::io::Read;
use std::path::{Component, Path, PathBuf};

use units::Bytes;

use super::Plan;
use super::path::vm;
use crate::address::{Ipa, Region};
use crate::diagnostic::{Diagnostic, Errors};

/// Facts about files that are not wrong.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct FileReport {
    /// Files that do not exist (yet), as paths from the working folder.
    pub missing: Vec<PathBuf>,
}

impl Plan {
    /// Changes the paths of files from being relative to `from` to being relative to `to`: the
    /// future folder of the plan. Absolute paths stay.
    ///
    /// # Errors
    ///
    /// The working folder is unknown.
    pub fn move_files(&mut self, from: &Path, to: &Path) -> std::io::Result<()> {
        for boot in self.vms.iter_mut().map(|vm| &mut vm.boot) {
            for file in [Some(&mut boot.kernel), boot.initrd.as_mut()].into_iter().flatten() {
                if Path::new(&file.file).is_relative() {
                    file.file = moved(&file.file, from, to)?;
                }
            }
        }
        Ok(())
    }
}

/// Returns a path that is relative to `from` as it is seen from `to`. Fails if the working folder is unknown.
pub(crate) fn moved(path: &str, from: &Path, to: &Path) -> std::io::Result<String> {
    Ok(relative(&std::path::absolute(from)?.join(path), &std::path::absolute(to)?))
}

/// `path` as seen from `folder`, both absolute.
fn relative(path: &Path, folder: &Path) -> String {
    let (path, folder) = (normal(path), normal(folder));
    let common = path.iter().zip(&folder).take_while(|(a, b)| a == b).count();
    let up = folder[common..].iter().map(|_| "..");
    let names: Vec<&str> = up.chain(path[common..].iter().map(String::as_str)).collect();
    names.join("/")
}

/// Returns the path with `/` between names, without `.` and needless `..`.
pub(super) fn tidy(path: &Path) -> String {
    let root = if path.has_root() { "/" } else { "" };
    let names = normal(path).join("/");
    match names.as_str() {
        "" if root.is_empty() => ".".into(),
        _ => format!("{root}{names}"),
    }
}

/// Returns the names in a path, `.` and `name/..` resolved.
fn normal(path: &Path) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => names.push(name.to_string_lossy().into_owned()),
            Component::ParentDir => match names.last().is_some_and(|last| last != "..") {
                true => drop(names.pop()),
                false if path.has_root() => {}
                false => names.push("..".into()),
            },
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    names
}

/// Checks the files of a plan in `folder`: each has to fit into the RAM of its VM without
/// overlapping another. The report lists files that do not exist.
///
/// # Errors
///
/// Files that do not fit, and files that cannot be read.
pub fn check_files(plan: &Plan, folder: &Path) -> Result<FileReport, Errors> {
    let mut report = FileReport::default();
    let mut mistakes = Vec::new();
    for (index, one) in plan.vms.iter().enumerate() {
        let boot = &one.boot;
        let mut loaded: Vec<(String, Region<Ipa>)> = Vec::new();
        let files = [("kernel", Some(&boot.kernel)), ("initrd", boot.initrd.as_ref())];
        for (name, file) in files {
            let Some(file) = file else { continue };
            let node = format!("{}/boot/{name}", vm(index));
            let path = folder.join(&file.file);
            match size(&path) {
                Ok(Some(size)) => loaded.push((node, Region { start: file.load, size })),
                Ok(None) => report.missing.push(path),
                Err(error) => mistakes.push(
                    Diagnostic::new(
                        "cannot-read",
                        format!("cannot read {}: {error}", path.display()),
                    )
                    .node(format!("{node}: file"))
                    .help("name a file that can be read"),
                ),
            }
        }
        for (at, (node, region)) in loaded.iter().enumerate() {
            let mut wrong = |message: String, help: &str| {
                let node = format!("{node}: load");
                mistakes.push(Diagnostic::new("no-memory", message).node(node).help(help));
            };
            if !one.memory.iter().any(|map| map.ipa_region().contains(region)) {
                let message =
                    format!("{} at {} end outside the RAM of the VM", region.size, region.start);
                wrong(message, "give the VM more memory, or load the file further down");
            }
            if let Some(tree) = boot.device_tree.filter(|tree| region.has(*tree)) {
                let message = format!("the file fills {region}, but the device tree is at {tree}");
                wrong(message, "give the VM more memory, or another load address");
            }
            if let Some((other, place)) = loaded[..at].iter().find(|(_, it)| it.overlaps(region)) {
                let message = format!("the file fills {region} and overlaps {other} ({place})");
                wrong(message, "give the VM more memory, or another load address");
            }
        }
    }
    Errors::unless_none(mistakes, report)
}

/// Bytes that a file needs once it is loaded; `None` if it does not exist.
///
/// An arm64 `Image` says in its header how much it needs with its zeroed
/// memory (Linux, Documentation/arch/arm64/booting.rst).
pub(super) fn size(path: &Path) -> std::io::Result<Option<Bytes>> {
    let mut file = match std::fs::File::open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let bytes = file.metadata()?.len();
    let mut header = Vec::new();
    file.by_ref().take(64).read_to_end(&mut header)?;
    let image_size = match (header.get(56..60), header.get(16..24)) {
        (Some(b"ARMd"), Some(size)) => size.try_into().map_or(0, u64::from_le_bytes),
        _ => 0,
    };
    Ok(Some(Bytes(bytes.max(image_size))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_rebased() {
        let see = |path: &str, folder: &str| relative(Path::new(path), Path::new(folder));
        assert_eq!(see("/p/systems/../build/k", "/p/systems"), "../build/k");
        assert_eq!(see("/p/systems/../build/k", "/p/build/demo"), "../k");
        assert_eq!(see("/p/k", "/p"), "k");
    }

    #[test]
    fn paths_are_tidied() {
        let tidy = |path: &str| tidy(Path::new(path));
        assert_eq!(tidy("./a//b/../c"), "a/c");
        assert_eq!(tidy("../a"), "../a");
        assert_eq!(tidy("/../a"), "/a");
        assert_eq!(tidy("a/.."), ".");
    }
}
