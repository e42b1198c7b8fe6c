//! Finds the image of the hypervisor.

use std::env;
use std::path::{Path, PathBuf};

use image::Hypervisor;

use crate::failure::Failure;
use crate::owner::is_trusted_there;

/// The environment variable that names another hypervisor than the built one.
pub const VARIABLE: &str = "BULKHEAD_HYPERVISOR";
/// Place of the hypervisor after `make build`.
const BUILT: &str = "build/hypervisor.elf";

/// The hypervisor's file.
#[derive(Debug)]
pub struct Found {
    /// The ELF file.
    pub path: PathBuf,
    /// The folder `build`, if it was found there.
    pub build: Option<PathBuf>,
}

impl Found {
    /// Reads the file.
    pub fn load(&self) -> Result<Hypervisor, Failure> {
        Ok(Hypervisor::read(&self.path)?)
    }
}

/// Finds the hypervisor: the given file, the file that the environment names ([`VARIABLE`]), or
/// `build/hypervisor.elf` in the current folder, in one above it, or in one above this program.
pub fn find(asked: Option<&Path>) -> Result<Found, Failure> {
    let named = env::var_os(VARIABLE).filter(|name| !name.is_empty()).map(PathBuf::from);
    if let Some(path) = asked.map(Path::to_owned).or(named) {
        return Ok(Found { path, build: None });
    }
    built().map(|path| Found { build: path.parent().map(Path::to_owned), path }).ok_or_else(|| {
        let of_others: String = candidates()
            .filter(|path| !is_trusted_there(path))
            .map(|path| format!("\n{} or its folder belongs to another user, and is not used", path.display()))
            .collect();
        let has_it = source();
        Failure::new(
            "no-hypervisor",
            format!(
                "the hypervisor is missing: there is no {BUILT} in this folder or one above it{of_others}\n\
                     help: {has_it}; or name an ELF file in {VARIABLE}"
            ),
        )
    })
}

/// Returns the folder `build` of the hypervisor that [`find`] finds where none is named.
pub fn build_folder() -> Option<PathBuf> {
    built()?.parent().map(Path::to_owned)
}

/// Says where hypervisor and guests are to be had: in a checkout by `make build`.
pub(crate) fn source() -> &'static str {
    let is_checkout = starts().any(|it| image::checkout::root_above(&it).is_some());
    match is_checkout {
        true => "`make build` makes it",
        false => "archives and packages of a release have it",
    }
}

/// Returns the built hypervisor in the current folder, in one above it, or in one above this program.
fn built() -> Option<PathBuf> {
    candidates().find(|path| is_trusted_there(path))
}

/// The current folder, and this program.
fn starts() -> impl Iterator<Item = PathBuf> {
    [env::current_dir(), env::current_exe()].into_iter().flatten()
}

/// The files at the place of a built hypervisor, the nearest first.
fn candidates() -> impl Iterator<Item = PathBuf> {
    let folders =
        starts().flat_map(|start| start.ancestors().map(Path::to_owned).collect::<Vec<_>>());
    folders.map(|folder| folder.join(BUILT)).filter(|path| path.is_file())
}
