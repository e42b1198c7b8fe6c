//! Systems to begin with: descriptions of the project, each written into a folder of its own with the guests that it boots.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use system::description::folder_name;

use crate::failure::Failure;
use crate::{hypervisor, keep};

/// The file that a description is written to.
pub const FILE: &str = "system.toml";
/// The start of names of files of the folder `build` in descriptions of the project.
const BUILD: &str = "\"../build/";

/// Help about a file of another system.
const IN_THE_WAY: &str = "name another folder, or remove the file";

/// A system to begin with.
#[derive(Clone, Copy, Debug)]
pub struct Template {
    /// Its name.
    pub name: &'static str,
    /// The system in a line.
    pub about: &'static str,
    /// Arguments of the next commands of `bulkhead`, in the folder.
    pub next: &'static [&'static str],
    /// Name of the description in the project.
    file: &'static str,
    /// The description.
    text: &'static str,
}

/// All of them, in the order in which one is chosen for those who name none.
pub const TEMPLATES: [Template; 4] = [
    Template {
        name: "linux-rt",
        about: "Linux and a real-time guest with three tasks",
        next: &[
            "check system.toml",
            "run system.toml --append linux=bulkhead.job=demo --until-off --deterministic",
            "run system.toml --console linux",
        ],
        file: "systems/demo.toml",
        text: include_str!("../../../systems/demo.toml"),
    },
    Template {
        name: "two-ecus",
        about: "two real-time guests; one sends messages to the other",
        next: &["check system.toml", "run system.toml --deterministic"],
        file: "systems/channel.toml",
        text: include_str!("../../../systems/channel.toml"),
    },
    Template {
        name: "rover",
        about: "five VMs on four CPUs, with cache colours, limits on memory accesses and a mutex",
        next: &["check system.toml", "prove system.toml -o proof"],
        file: "systems/rover.toml",
        text: include_str!("../../../systems/rover.toml"),
    },
    Template {
        name: "kvm",
        about: "three guests on one CPU of a Linux host with KVM, on x86-64",
        next: &["check system.toml", "measure host", "run --on kvm system.toml --trace run.trace"],
        file: "systems/kvm-first.toml",
        text: include_str!("../../../systems/kvm-first.toml"),
    },
];

impl Template {
    /// Returns the description as it is in a folder of its own, whose name is that of the system: results of two systems
    /// are not taken for those of one.
    fn description(&self, folder: &Path) -> String {
        let given = folder.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = given.or_else(|| folder_name(folder)).unwrap_or_else(|| self.name.to_owned());
        let is_plain = |it: &char| !it.is_control() && !['"', '\\'].contains(it);
        let name: String = name.chars().filter(is_plain).collect();
        let lines = self.text.lines().filter(|line| line.trim() != "#   make demo");
        let text: String = lines.map(|line| format!("{line}\n")).collect();
        // Files that commands write go into the folder, too.
        let text = text.replace(BUILD, "\"").replace(self.file, FILE).replace(" build/", " ");
        // The name stands before the platform and all tables, in place of the one that is there.
        let is_next = |line: &&str| line.starts_with("platform") || line.starts_with('[');
        let next = text.lines().position(|line| is_next(&line)).unwrap_or(0);
        let (head, rest): (Vec<_>, Vec<_>) =
            text.lines().enumerate().partition(|(index, _)| *index < next);
        let head = head.into_iter().filter(|(_, line)| !line.starts_with("name = "));
        let head = head.map(|(_, line)| line.to_owned());
        let lines = head.chain([format!("name = \"{name}\"")]);
        let lines = lines.chain(rest.into_iter().map(|(_, line)| line.to_owned()));
        lines.map(|line| format!("{line}\n")).collect()
    }

    /// Returns the first template whose guests are all here; where none is, the first.
    pub fn usable() -> Self {
        let build = hypervisor::build_folder();
        let is_here = |it: &Self| build.as_ref().is_some_and(|build| it.missing(build).is_none());
        TEMPLATES.into_iter().find(is_here).unwrap_or(TEMPLATES[0])
    }

    /// Returns the first guest that is not there.
    fn missing(&self, build: &Path) -> Option<PathBuf> {
        self.guests().iter().map(|guest| build.join(guest)).find(|guest| !guest.is_file())
    }

    /// Says which guest is not there, and what to do.
    fn lacks(&self, build: &Path, guest: &Path) -> Failure {
        let made = image::checkout::command_for(guest).map(|it| format!("`{it}` makes it"));
        let usable = TEMPLATES.iter().filter(|it| it.missing(build).is_none());
        let usable: Vec<String> = usable.map(|it| format!("`--template {}`", it.name)).collect();
        let usable = match usable.is_empty() {
            true => None,
            false => Some(format!("without it, these work here: {}", usable.join(", "))),
        };
        let help: Vec<String> = made.into_iter().chain(usable).collect();
        let help = match help.is_empty() {
            true => "install the release again: a file of it is missing".into(),
            false => help.join("; "),
        };
        let (name, guest) = (self.name, guest.display());
        let message = format!("template `{name}` boots {guest}, which is not there\nhelp: {help}");
        Failure::new("no-guests", message)
    }

    /// Returns the files below `build` that the VMs boot.
    fn guests(&self) -> Vec<&'static str> {
        let parts = self.text.split(BUILD).skip(1);
        let mut guests: Vec<&str> = parts.filter_map(|part| part.split('"').next()).collect();
        guests.sort_unstable();
        guests.dedup();
        guests
    }

    /// Writes the description and its guests into a folder, which is made; returns their paths. No file is replaced by
    /// another one.
    ///
    /// # Errors
    ///
    /// A guest is missing, a file is there with other contents, or one cannot be written. Then no description is
    /// written.
    pub fn write(&self, folder: &Path) -> Result<Vec<PathBuf>, Failure> {
        let build = hypervisor::build_folder().ok_or_else(|| {
            let message = format!(
                "the guests are missing: there is no build/hypervisor.elf in this folder or one above it, or above this \
                 program\nhelp: {}, and the guests beside it",
                hypervisor::source()
            );
            Failure::new("no-guests", message)
        })?;
        if let Some(guest) = self.missing(&build) {
            return Err(self.lacks(&build, &guest));
        }
        let mut files = BTreeMap::new();
        for guest in self.guests() {
            let path = build.join(guest);
            let bytes = fs::read(&path).map_err(|error| {
                Failure::new("no-guests", format!("cannot read {}: {error}", path.display()))
            })?;
            files.insert(folder.join(guest), bytes);
        }
        let description = folder.join(FILE);
        let text = self.description(folder);
        keep::other(&description, text.as_bytes(), IN_THE_WAY)?;
        for (path, bytes) in &files {
            keep::other(path, bytes, IN_THE_WAY)?;
        }
        for (path, bytes) in &files {
            image::write(path, bytes)?;
        }
        image::write(&description, text.as_bytes())?;
        Ok([description].into_iter().chain(files.into_keys()).collect())
    }
}
