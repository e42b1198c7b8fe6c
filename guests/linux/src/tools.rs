//! Compiles `bhctl` and its libraries for the guest.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::file;

/// Debian's cross compiler; on arm64 machines it is the compiler itself.
const COMPILER: &str = "aarch64-linux-gnu-gcc";
const ARCHIVER: &str = "aarch64-linux-gnu-ar";

/// The folder of the sources.
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/bhctl");

/// The flags with which everything is compiled. Position independent: the library goes into programs and
/// into a shared library. Warnings are errors.
const FLAGS: &[&str] = &[
    "-std=gnu17",
    "-D_GNU_SOURCE",
    "-O2",
    "-fPIC",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wshadow",
    "-Wconversion",
    "-Wstrict-prototypes",
    "-Wmissing-prototypes",
];

/// Programs of ours in the guest.
pub struct Tools {
    /// The command `bhctl`, statically linked.
    pub bhctl: Vec<u8>,
    /// `libbulkhead-color.so`, for dynamically linked programs.
    pub preload: Vec<u8>,
}

/// Compiles everything, and leaves it and the header in the folder `out`.
pub fn build(out: &Path) -> Result<Tools> {
    let folder = tempfile::tempdir().context("cannot make a folder for object files")?;
    let [library, bhctl, preload] =
        ["libbulkhead.a", "bhctl", "libbulkhead-color.so"].map(|name| folder.path().join(name));

    let objects = compile("lib", folder.path())?;
    // D: the same objects give the same bytes.
    run(ARCHIVER, [OsStr::new("rcsD"), library.as_ref()], &objects)?;
    let mut commands = compile("tool", folder.path())?;
    commands.push(library.clone());
    let program = ["-static", "-Wl,--gc-sections", "-s", "-o"].map(OsStr::new);
    run(COMPILER, program.into_iter().chain([bhctl.as_ref()]), &commands)?;
    let mut shared = compile("preload", folder.path())?;
    shared.push(library.clone());
    // Nothing of the library may get in the way of names in the program.
    let hidden = ["-shared", "-Wl,--exclude-libs,ALL", "-s", "-o"].map(OsStr::new);
    run(COMPILER, hidden.into_iter().chain([preload.as_ref()]), &shared)?;

    let tools = Tools { bhctl: file::read(&bhctl)?, preload: file::read(&preload)? };
    file::write_if_changed(&out.join("bhctl"), &tools.bhctl)?;
    file::write_if_changed(&out.join("libbulkhead-color.so"), &tools.preload)?;
    file::write_if_changed(&out.join("libbulkhead.a"), &file::read(&library)?)?;
    for name in ["bulkhead.h", "bulkhead_channel.h"] {
        let header = file::read(&Path::new(SOURCES).join(name))?;
        file::write_if_changed(&out.join(name), &header)?;
    }
    Ok(tools)
}

/// Compiles the sources in one folder of the tool; the object files.
fn compile(name: &str, folder: &Path) -> Result<Vec<PathBuf>> {
    let mut objects = Vec::new();
    for source in sources(name)? {
        let stem = source.file_stem().context("a source has a name")?.to_string_lossy();
        let object = folder.join(format!("{name}-{stem}.o"));
        let flags = FLAGS.iter().map(OsStr::new);
        let output = ["-c".as_ref(), "-o".as_ref(), object.as_os_str()];
        run(COMPILER, flags.chain(output), &[source])?;
        objects.push(object);
    }
    Ok(objects)
}

/// The C files of a folder, sorted: the same sources give the same programs.
fn sources(name: &str) -> Result<Vec<PathBuf>> {
    let folder = Path::new(SOURCES).join(name);
    let mut files = Vec::new();
    let entries = fs::read_dir(&folder);
    for entry in entries.with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if path.extension() == Some("c".as_ref()) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn run(
    program: &str,
    options: impl IntoIterator<Item = impl AsRef<OsStr>>,
    files: &[PathBuf],
) -> Result<()> {
    let mut command = Command::new(program);
    command.args(options).args(files.iter().map(OsString::from));
    let output = command.output().with_context(|| {
        format!("cannot start {program}, which compiles bhctl: `make setup` installs it")
    })?;
    if !output.status.success() {
        bail!("{command:?} failed:\n{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}
