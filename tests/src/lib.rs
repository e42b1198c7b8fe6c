//! Boots systems in QEMU, for the end-to-end tests in `tests/`.
//!
//! A [`Vm`] says what runs, a [`Case`] puts VMs together and boots them in
//! deterministic time, a [`Run`] is what came out. Everything that a test needs
//! must have been built: `make build`, or `make test`, which does that first.
//! The description, the image and the log of every run stay in `target/tmp`.

#![forbid(unsafe_code)]

mod case;
mod run;
mod vm;

use std::path::{Path, PathBuf};

pub use case::Case;
pub use run::Run;
pub use vm::Vm;

/// The folder of the project.
pub fn project() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().expect("the tests lie in the project").to_owned()
}

/// The folder for images and logs.
pub fn scratch() -> PathBuf {
    let folder = project().join("target/tmp");
    std::fs::create_dir_all(&folder).expect("target/tmp can be made");
    folder
}

/// Returns the hypervisor.
pub fn hypervisor() -> image::Hypervisor {
    let found = lab::hypervisor::find(Some(&project().join("build/hypervisor.elf")))
        .and_then(|found| found.load());
    found.unwrap_or_else(|failure| panic!("{failure}"))
}
