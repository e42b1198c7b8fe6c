//! The origin of a proof: the command that makes it again, and the files from which it was made.

use std::env;
use std::fs;
use std::path::Path;

use image::Hypervisor;
use report::proof::{Command, Fact, File, Origin};
use sha2::{Digest, Sha256};

use super::Options;
use super::caches::model;
use super::evidence::Evidence;
use super::folder::{Folder, PLAN, PLAN_WITHOUT};
use crate::failure::Failure;
use crate::hypervisor::Found;
use crate::made::Made;

/// Returns commands, digests of the files that were read, and settings.
pub fn origin(
    options: &Options,
    evidence: &Evidence,
    hypervisor: Option<&Found>,
    folder: &Folder,
) -> Result<Origin, Failure> {
    let system = evidence.system;
    let mut files = vec![digest("description", &options.file)?];
    files.extend(hypervisor.map(|it| loaded(&it.path)).transpose()?);
    for vm in &system.plan.vms {
        let loaded =
            [("kernel", Some(&vm.boot.kernel)), ("initial RAM disk", vm.boot.initrd.as_ref())];
        for (what, file) in loaded {
            let Some(file) = file else { continue };
            let purpose = format!("{what} of `{}`", vm.name);
            let mut found = digest(&purpose, &system.folder.join(&file.file))?;
            found.name.clone_from(&file.file);
            files.push(found);
        }
    }
    let fact = |name: &str, value: String| Fact { name: name.into(), value };
    let simulated =
        format!("{}, longest executions, accesses that meet in the worst way", options.simulate);
    let made = Made::now("prove");
    let mut facts = vec![
        fact("Bulkhead", made.version.into()),
        fact("made", format!("{} UTC", made.shown())),
        fact("host", host()),
        fact("simulation", simulated),
    ];
    match evidence.measured {
        Some(_) => {
            facts.push(fact("runs", "measured under Linux and KVM: each one differs".into()));
        }
        None => {
            facts.push(fact("cache model", model(&evidence.with)?));
            let runs = "deterministic: jobs repeat to the nanosecond, ends of runs do not";
            facts.push(fact("runs", runs.into()));
            facts.extend(qemu().map(|version| fact("QEMU", version)));
        }
    }
    let named = hypervisor.filter(|it| it.build.is_none()).map(|it| it.path.as_path());
    Ok(Origin { commands: commands(options, evidence, folder, named), files, facts })
}

/// The machine that this runs on, without a name that only its owner knows.
fn host() -> String {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    let cpus = read("/proc/cpuinfo");
    let mut models = cpus.lines().filter_map(|line| line.strip_prefix("model name"));
    let model = models.next().map(|it| format!(", {}", it.trim_start_matches([' ', '\t', ':'])));
    let release = read("/proc/sys/kernel/osrelease");
    let (release, model) = (release.trim(), model.unwrap_or_default());
    format!("Linux {release}, {}{model}", env::consts::ARCH)
}

fn qemu() -> Option<String> {
    let program = env::var(qemu::PROGRAM_VARIABLE);
    let program = program.unwrap_or_else(|_| "qemu-system-aarch64".into());
    qemu::Version::of(&program).ok().map(|version| version.to_string())
}

/// `named`: the hypervisor, if it is not the one that was built.
fn commands(
    options: &Options,
    evidence: &Evidence,
    folder: &Folder,
    named: Option<&Path>,
) -> Vec<Command> {
    let of_path = |path: &Path| quoted(&path.display().to_string());
    let option = |name: &str, value: String| format!(" --{name} {value}");
    let file = of_path(&options.file);
    let appended = options.append.iter().map(|(vm, text)| quoted(&format!("{vm}={text}")));
    let appended: String = appended.map(|it| option("append", it)).collect();
    let scope = options.cachescope_options.iter().map(|it| quoted(it));
    let scope: String = scope.map(|it| option("cachescope-option", it)).collect();
    let hypervisor = named.map_or(String::new(), |it| option("hypervisor", of_path(it)));
    let command = |purpose: &str, line: String| Command { purpose: purpose.into(), line };
    let run = |plan: &str| {
        let plan = of_path(&folder.place(plan));
        format!(
            "bulkhead run {plan} --deterministic --cachescope scope --cachescope-option time=model{scope}{hypervisor} \
             --trace run.trace"
        )
    };
    let on = if evidence.measured.is_some() { " --on kvm" } else { "" };
    let output = options.output.as_deref();
    let output = output.map_or(String::new(), |it| option("output", of_path(it)));
    // As options are read: in one word.
    let time = |time: units::Duration| time.to_string().replace(' ', "");
    let timeout = u64::try_from(options.timeout.as_nanos()).unwrap_or(u64::MAX);
    let timeout = option("timeout", time(units::Duration(timeout)));
    let simulated = time(options.simulate);
    let certificate = if options.certificate { " --certificate" } else { "" };
    let all = format!(
        "bulkhead prove {file}{on}{output}{appended}{timeout} --simulate {simulated}{scope}{certificate}{hypervisor}"
    );
    let mut commands = vec![
        command("All of it", all),
        command("Analysis", format!("bulkhead check {file}")),
        command("Plan", format!("bulkhead plan {file}")),
        command(
            "Simulation",
            format!("bulkhead sim {file} --contention worst --until {simulated}"),
        ),
    ];
    if evidence.measured.is_some() {
        let run = format!("bulkhead run --on kvm {file}{appended}{timeout} --trace run.trace");
        commands.push(command("Run with the plan", run));
        return commands;
    }
    if evidence.plain.is_some() {
        commands.push(command("Run without isolation", run(PLAN_WITHOUT)));
    }
    commands.push(command("Run with the plan", run(PLAN)));
    commands
}

/// Returns a text as a shell takes it for one word.
fn quoted(text: &str) -> String {
    match text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./=,:+".contains(c)) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

/// Returns the digest of the loaded parts of the `hypervisor`: its file also says in which folder it was built.
fn loaded(hypervisor: &Path) -> Result<File, Failure> {
    let memory = Hypervisor::read(hypervisor)?;
    Ok(File {
        purpose: "hypervisor, as it is loaded".into(),
        name: hypervisor.display().to_string(),
        sha256: sha256(memory.memory()),
    })
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn digest(purpose: &str, path: &Path) -> Result<File, Failure> {
    let bytes = fs::read(path).map_err(|error| {
        Failure::file("cannot-read", format!("cannot read {}: {error}", path.display()))
    })?;
    Ok(File { purpose: purpose.into(), name: path.display().to_string(), sha256: sha256(&bytes) })
}

#[cfg(test)]
mod tests {
    use testing::Elf;

    use super::*;

    #[test]
    fn what_is_not_loaded_of_the_hypervisor_does_not_change_its_digest() {
        let folder = tempfile::tempdir().expect("a folder");
        let of = |file: &[u8]| {
            let path = folder.path().join("hypervisor.elf");
            fs::write(&path, file).expect("written");
            loaded(&path).unwrap_or_else(|failure| panic!("{failure:?}")).sha256
        };
        let file = Elf::default().to_bytes();
        // As debug information is.
        let longer = [&file[..], b"/home/somebody/bulkhead"].concat();
        assert_eq!(of(&longer), of(&file));
        let mut other = Elf::default();
        other.code[0x1000] = 1;
        assert_ne!(of(&other.to_bytes()), of(&file));
    }
}
