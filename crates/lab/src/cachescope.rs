//! Measures the caches in a run: QEMU with the plugin cachescope.

pub mod bins;
mod counts;
pub mod jobs;
mod model;
mod ranges;
mod rows;

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use image::WholeFile;
use system::plan::CounterSource;

use crate::failure::Failure;
use crate::hypervisor;
use crate::load::System;
use crate::owner::is_trusted;
pub use counts::{Counts, Eviction, Owner, Suffered};
pub use ranges::HYPERVISOR;
pub use rows::rows;

/// Environment variable that names another plugin than the one that was built.
const PLUGIN_VARIABLE: &str = "BULKHEAD_CACHESCOPE";
/// Place of the plugin in the folder of the project after `make cachescope`.
const BUILT: &str = "cachescope/target/release/libbulkhead_cachescope.so";
/// The ways to get the plugin.
const GET: &str =
    "`make cachescope` makes it, and a release has it in a package `bulkhead-cachescope`";
/// The file in the results that has the owners of memory.
const RANGES: &str = "ranges.txt";
/// The file that the plugin writes at the end of QEMU.
const SUMMARY: &str = "summary.json";

/// Options with which only instructions take time: the plugin then only makes the turns of CPUs
/// short.
pub const SHORT_TURNS: [&str; 6] =
    ["fetch=off", "l1-hit=0cy", "llc-hit=0cy", "memory=0ns", "bus=0", "time=qemu"];
/// The option with which guests and hypervisor see the model's time.
const MODEL_TIME: &str = "time=model";

/// The plugin and the folder of its results.
#[derive(Clone, Debug)]
pub struct Cachescope {
    plugin: PathBuf,
    /// The folder as the user named it.
    folder: PathBuf,
    /// The folder as QEMU finds it.
    out: PathBuf,
    caches: String,
    /// Options of the user, which replace others.
    options: Vec<String>,
    vms: Vec<String>,
}

impl Cachescope {
    /// Finds the plugin, and writes the owners of memory into a file. Counts of an earlier run are
    /// removed from the folder. If the plugin counts for budgets of accesses, their periods are
    /// times of the model.
    pub fn prepare(
        folder: &Path,
        system: &System,
        found: &hypervisor::Found,
    ) -> Result<Self, Failure> {
        let plugin = plugin(found)?;
        let (caches, ranges) = (model::caches(system)?, ranges::text(&system.plan)?);
        let file = |name: &str| folder.join(name);
        let prepare = || -> io::Result<PathBuf> {
            fs::create_dir_all(folder)?;
            match fs::remove_file(file(SUMMARY)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            WholeFile::write(&file(RANGES), ranges.as_bytes())?;
            folder.canonicalize()
        };
        let out = prepare().map_err(|error| {
            Failure::new("cachescope", format!("cannot write into {}: {error}", folder.display()))
        })?;
        let vms = system.plan.vms.iter().map(|vm| vm.name.clone()).collect();
        let options = counts_for(system).then(|| MODEL_TIME.to_owned());
        let (folder, options) = (folder.to_owned(), options.into_iter().collect());
        Ok(Self { plugin, folder, out, caches, options, vms })
    }

    /// Adds options of the plugin, `KEY=VALUE`. They take precedence over those of the system.
    pub fn with_options(mut self, options: &[impl AsRef<str>]) -> Self {
        self.options.extend(options.iter().map(|option| option.as_ref().to_owned()));
        self
    }

    /// Returns true if guests and hypervisor see the time of the model.
    pub fn is_model_time(&self) -> bool {
        self.options
            .iter()
            .rev()
            .find(|option| option.starts_with("time="))
            .is_some_and(|it| it == MODEL_TIME)
    }

    /// Returns the arguments for QEMU.
    pub fn arguments(&self) -> [String; 2] {
        // In a value QEMU takes two commas for one.
        let value = |text: String| text.replace(',', ",,");
        let path = |path: &Path| value(path.display().to_string());
        let (plugin, out) = (path(&self.plugin), path(&self.out));
        let ranges = path(&self.out.join(RANGES));
        let mut argument = format!("{plugin},out={out},ranges={ranges},{}", self.caches);
        for option in &self.options {
            argument.push(',');
            argument.push_str(&value(option.clone()));
        }
        ["-plugin".into(), argument]
    }

    /// Returns the counts, or why there are none.
    pub fn counts(&self) -> Result<Counts, String> {
        let file = self.folder.join(SUMMARY);
        let bytes = fs::read(&file).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                "cachescope has no counts: it writes them when QEMU ends by itself".into()
            }
            _ => format!("cannot read {}: {error}", file.display()),
        })?;
        Counts::read(&bytes, &self.vms, &self.folder)
            .map_err(|error| format!("{}: {error}", file.display()))
    }
}

/// Reads an option such as `preset=exynos-5422`; the plugin knows the options.
pub fn option(text: &str) -> Result<String, String> {
    match text.split_once('=') {
        Some(("out" | "ranges", _)) => {
            Err("expected an option that `--cachescope DIR` does not set itself".into())
        }
        Some((key, _)) if !key.is_empty() => Ok(text.to_owned()),
        _ => Err("expected an option, `=` and its value, such as preset=exynos-5422".into()),
    }
}

/// Returns true if the hypervisor lets the plugin count memory accesses.
fn counts_for(system: &System) -> bool {
    let counter = system.plan.platform.bandwidth_counter.as_ref();
    counter.is_some_and(|counter| counter.source == CounterSource::Cachescope)
}

/// Refuses a system whose memory accesses the plugin has to count: without it the hypervisor would
/// start no VM.
pub fn check_not_needed(system: &System) -> Result<(), Failure> {
    if !counts_for(system) {
        return Ok(());
    }
    let file = system.file.display();
    Err(Failure::new(
        "needs-cachescope",
        format!(
            "the plan of {file} limits memory accesses, and its counter `cachescope` is a plugin of QEMU\n\
             help: bulkhead run {file} --deterministic --cachescope DIR; `make cachescope` makes the plugin"
        ),
    ))
}

/// Returns the plugin that the environment names, or the one that was built in the project of the
/// hypervisor.
fn plugin(found: &hypervisor::Found) -> Result<PathBuf, Failure> {
    let named = env::var_os(PLUGIN_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
    // A hypervisor that was named is in a folder `build` too, if it was built in the project.
    let beside = |elf: PathBuf| Some(elf.parent()?.parent()?.join(BUILT));
    let built = || found.path.canonicalize().ok().and_then(beside);
    let is_named = named.is_some();
    let Some(path) = named.or_else(built) else {
        return Err(Failure::new(
            "no-cachescope",
            format!(
                "the plugin cachescope is missing: it is looked for beside the folder build that \
                 the hypervisor is in\n\
                 help: {GET}; or name the file with {PLUGIN_VARIABLE}"
            ),
        ));
    };
    if !is_named && path.exists() && !is_trusted(&path) {
        let message = format!(
            "the plugin cachescope, {}, belongs to another user, and is not loaded\nhelp: name it with {PLUGIN_VARIABLE} if \
             you trust it",
            path.display()
        );
        return Err(Failure::new("no-cachescope", message));
    }
    // QEMU looks for a bare name elsewhere.
    path.canonicalize().map_err(|error| {
        Failure::new(
            "no-cachescope",
            format!(
                "the plugin cachescope is missing: {}: {error}\n\
                 help: {GET}; or name the file with {PLUGIN_VARIABLE}",
                path.display()
            ),
        )
    })
}
