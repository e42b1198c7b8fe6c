//! The package for Python as a wheel: one for all versions of CPython that the package supports, with the licences of the packages
//! that it contains.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::archive::{Files, Source, write_files};
use super::dependencies::Dependencies;
use super::{Programs, tracked};
use crate::cargo;
use crate::workspace::Workspace;

/// The folder of the package that has licences, which only a wheel has.
const NOTICES: &str = "package/bulkhead/notices";

/// Builds the wheel with this program `maturin`; its files were changed at this time, in seconds since 1970. Returns its path.
pub fn write(
    workspace: &Workspace,
    programs: &Programs,
    maturin: &Path,
    folder: &Path,
    time: &str,
) -> Result<PathBuf> {
    let sources = sources(workspace)?;
    let stage = tempfile::tempdir_in(folder)
        .with_context(|| format!("cannot make a folder in {}", folder.display()))?;
    let mut build = Command::new(maturin);
    build
        .current_dir(sources)
        .args(["build", "--release", "--locked", "--strip", "--out"])
        .arg(stage.path());
    programs.settings(&mut build, "python");
    build.env("SOURCE_DATE_EPOCH", time);
    cargo::run(build)?;

    let files = stage.path().read_dir().context("cannot read the folder of the wheel")?;
    let paths = files.map(|it| Ok(it?.path())).collect::<Result<Vec<_>>>()?;
    let [wheel] = paths.as_slice() else {
        bail!("{} made {} files, expected one wheel", maturin.display(), paths.len());
    };
    let path = folder.join(wheel.file_name().context("a wheel has no name")?);
    fs::rename(wheel, &path).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

/// Writes `build/wheel`, a workspace that has the package for Python, the licences, and the work tree as its folder `tree`.
///
/// Cargo names what it compiles by paths in the workspace, but by absolute paths where a package lies outside, as those in
/// `crates` do for `python`: the bytes would depend on where the work tree is.
fn sources(workspace: &Workspace) -> Result<PathBuf> {
    let root = workspace.root();
    let mut files = Files::new();
    for path in tracked(workspace, &["python"])? {
        let inner = path.strip_prefix("python/").unwrap_or(&path);
        files.insert(inner.into(), Source::File(root.join(&path)));
    }
    let manifest = root.join("python/Cargo.toml");
    let text = fs::read_to_string(&manifest)
        .with_context(|| format!("cannot read {}", manifest.display()))?;
    files.insert("Cargo.toml".into(), Source::Bytes(moved(&text).into_bytes()));
    let mut notices = Files::new();
    Dependencies::of(&manifest)?.add(&["bulkhead-python"], "", &mut notices)?;
    for name in ["LICENSE-APACHE", "LICENSE-MIT"] {
        notices.insert(name.into(), Source::File(root.join(name)));
    }
    files.extend(notices.into_iter().map(|(path, source)| (format!("{NOTICES}/{path}"), source)));

    let folder = workspace.build("wheel");
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(error).with_context(|| format!("cannot remove {}", folder.display()));
        }
        _ => {}
    }
    write_files(&files, &folder)?;
    symlink("../..", folder.join("tree"))
        .with_context(|| format!("cannot make a link in {}", folder.display()))?;
    Ok(folder)
}

/// Returns the manifest of the package for Python for the folder whose `tree` is the work tree.
fn moved(manifest: &str) -> String {
    manifest
        .replace("[workspace]", "[workspace]\nexclude = [\"tree\"]")
        .replace("path = \"../", "path = \"tree/")
}

/// The program that builds wheels: this one, or the one that is in PATH.
pub fn maturin(asked: Option<PathBuf>) -> Result<PathBuf> {
    let program = asked.unwrap_or_else(|| "maturin".into());
    let found = Command::new(&program).arg("--version").output();
    match found {
        Ok(output) if output.status.success() => Ok(program),
        _ => bail!(
            "cannot start {}, which builds the wheel for Python: `make release` installs it; or name it with --maturin",
            program.display()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_of_the_work_tree_are_below_the_workspace() {
        let manifest = include_str!("../../../python/Cargo.toml");
        let moved = moved(manifest);
        assert!(manifest.contains("\"../crates/lab\"") && moved.contains("\"tree/crates/lab\""));
        assert!(!moved.contains("../") && moved.contains("[workspace]\nexclude = [\"tree\"]\n"));
    }
}
