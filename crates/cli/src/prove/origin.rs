//! How to get a proof again, and from what it was made.

use std::fs;
use std::path::Path;

use bulkhead_report::proof::{Command, Fact, File, Origin};
use sha2::{Digest, Sha256};

use super::options::ProveOptions;
use crate::failure::Failure;
use crate::input::System;

/// Commands, digests of what was read, and settings.
pub fn origin(
    options: &ProveOptions,
    system: &System,
    hypervisor: &Path,
) -> Result<Origin, Failure> {
    let file = options.file.display();
    let word =
        |text: &str| match text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./=,:".contains(c))
        {
            true => text.to_owned(),
            false => format!("'{}'", text.replace('\'', "'\\''")),
        };
    let more: String = options
        .append
        .iter()
        .map(|(vm, text)| format!(" --append {}", word(&format!("{vm}={text}"))))
        .chain(
            options.cachescope_option.iter().map(|it| format!(" --cachescope-option {}", word(it))),
        )
        .collect();
    let command = |purpose: &str, line: String| Command { purpose: purpose.into(), line };
    let commands = vec![
        command("all of it", format!("bulkhead prove {file}{more}")),
        command("the analysis", format!("bulkhead check {file}")),
        command("the plan", format!("bulkhead plan {file}")),
        command("the simulation", format!("bulkhead sim {file} --contention worst")),
        command(
            "the run with the plan",
            format!(
                "bulkhead run {file}{} --deterministic --cachescope scope --cachescope-option time=model --trace run.trace",
                options
                    .append
                    .iter()
                    .map(|(vm, text)| format!(" --append {}", word(&format!("{vm}={text}"))))
                    .collect::<String>()
            ),
        ),
    ];
    let mut files = vec![digest("description", &options.file)?, digest("hypervisor", hypervisor)?];
    for vm in &system.plan.vms {
        let loaded =
            [("kernel", Some(&vm.boot.kernel)), ("initial RAM disk", vm.boot.initrd.as_ref())];
        for (what, file) in loaded {
            let Some(file) = file else { continue };
            let mut found =
                digest(&format!("{what} of `{}`", vm.name), &system.folder.join(&file.file))?;
            found.name.clone_from(&file.file);
            files.push(found);
        }
    }
    let fact = |name: &str, value: String| Fact { name: name.into(), value };
    let facts = vec![
        fact("Bulkhead", env!("CARGO_PKG_VERSION").into()),
        fact(
            "time",
            "that of the cache model; one instruction is a cycle, and runs repeat to the byte"
                .into(),
        ),
        fact(
            "simulation",
            format!(
                "{}, longest executions, accesses that meet as badly as they can",
                options.simulate
            ),
        ),
    ];
    Ok(Origin { commands, files, facts })
}

fn digest(purpose: &str, path: &Path) -> Result<File, Failure> {
    let bytes = fs::read(path).map_err(|error| {
        Failure::new("cannot-read", format!("cannot read {}: {error}", path.display()))
    })?;
    let sha256 = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(File { purpose: purpose.into(), name: path.display().to_string(), sha256 })
}
