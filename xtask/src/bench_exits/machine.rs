//! Boots the system that measures.

use std::fmt::Display;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Error, Result, ensure};
use image::Hypervisor;
use linux_guest::file;
use qemu::{Board, Exit, Options, Time};
use system::address::Ipa;
use system::description::System;
use system::plan::{self, File, Plan};
use tempfile::TempDir;
use units::Bytes;

use super::rows::Rows;
use crate::workspace::Workspace;

/// The system for the costs of exits.
pub const EXITS: &str = "systems/bench.toml";
/// The system for the costs of first touches and requests for colours.
pub const COLORING: &str = "systems/bench-coloring.toml";
/// The system for the cost of VCPUs that take turns.
pub const SWITCHING: &str = "systems/bench-switch.toml";
/// The system for the cost when one of them waits.
pub const WAITING: &str = "systems/bench-wait.toml";
/// The system for the costs of memory budgets.
pub const REGULATION: &str = "systems/bench-memory.toml";
/// The system for the costs of critical sections and shared resources.
pub const LOCKS: &str = "systems/bench-locks.toml";
/// The system for the costs of VCPUs on different CPUs to each other.
pub const KICKS: &str = "systems/bench-kick.toml";
/// The system for the costs of rings for channels.
pub const RINGS: &str = "systems/bench-ring.toml";
/// The system for the costs of serial lines.
pub const SERIAL: &str = "systems/bench-serial.toml";
/// The system for the costs of links.
pub const LINKS: &str = "systems/bench-link.toml";
const CPU: &str = "arm,cortex-a53";
/// Arguments of QEMU with which it logs each instruction and each exception.
const LOG: [&str; 4] = ["-accel", "tcg,one-insn-per-tb=on", "-d", "exec,nochain,int"];
/// The address at which QEMU loads an image.
pub const IMAGE_START: u64 = 0x4008_0000;
/// Longest time for one run.
const TIMEOUT: Duration = Duration::from_secs(120);
/// RAM of the VM when it gets a file.
const RAM_WITH_FILE: Bytes = Bytes::mib(32);
/// The place of the file in it.
const FILE_OFFSET: u64 = 16 << 20;

/// The files that are loaded.
#[derive(Clone, Copy, Debug)]
pub enum Load {
    /// The guest.
    Guest,
    /// The guest, filled up with zeros to this number of bytes.
    Large(u64),
    /// A file of this number of bytes besides.
    File(u64),
}

/// The system, planned, and the board that runs it.
pub struct Machine {
    plan: Plan,
    folder: PathBuf,
    hypervisor: Hypervisor,
    board: Board,
    files: PathBuf,
}

impl Machine {
    /// Reads and plans a system; `keep` chooses lines of its description.
    pub fn new(
        workspace: &Workspace,
        description: &'static str,
        keep: impl Fn(&str) -> bool,
    ) -> Result<Self> {
        let path = workspace.root().join(description);
        let text = String::from_utf8(file::read(&path)?)
            .with_context(|| format!("{description} is not UTF-8"))?;
        let text: String = text.split_inclusive('\n').filter(|line| keep(line)).collect();
        let folder = workspace.root().join("systems");
        let system = System::from_toml(description, &text, &folder)?;
        let plan = plan::make(&system)?;
        let platform = &system.platform.value;
        let qemu = platform
            .qemu
            .as_ref()
            .with_context(|| format!("the platform in {description} is no board of QEMU"))?;
        let board = Board {
            machine: qemu.machine.clone(),
            cpu: qemu.cpu.clone(),
            cpus: qemu.cpus.and_then(|cpus| u32::try_from(cpus).ok()),
            memory_bytes: qemu.memory.map(Bytes::get),
        };
        let hypervisor = Hypervisor::read(&workspace.hypervisor_elf()).map_err(whole)?;
        let files = workspace.build("run");
        file::make_folder(&files)?;
        Ok(Self { plan, folder, hypervisor, board, files })
    }

    /// The same with another hypervisor.
    pub fn with_hypervisor(self, path: &Path) -> Result<Self> {
        Ok(Self { hypervisor: Hypervisor::read(path).map_err(whole)?, ..self })
    }

    /// Gives the first guest other boot arguments.
    pub fn tell(&mut self, arguments: String) -> Result<()> {
        let vm = self.plan.vms.first_mut().context("the system has no VM")?;
        vm.boot.bootargs = Some(arguments);
        Ok(())
    }

    /// Boots it once and reads its measurements.
    pub fn run(&self, load: Load) -> Result<Rows> {
        let console = self.console(load)?;
        Rows::read(&console).context(console)
    }

    /// Boots it once and returns all output.
    pub fn console(&self, load: Load) -> Result<String> {
        let files = self.temporary()?;
        Ok(self.boot(&files, load, Vec::new())?.0)
    }

    /// Boots it once, and shows each line of QEMU's log of all instructions and exceptions
    /// ([`LOG`]) with the image, which lies at [`IMAGE_START`].
    pub fn instructions(&self, mut see: impl FnMut(&str, &[u8])) -> Result<()> {
        let files = self.temporary()?;
        let log = files.path().join("instructions");
        let arguments = LOG.map(str::to_owned).into_iter();
        let arguments = arguments.chain(["-D".into(), log.to_string_lossy().into_owned()]);
        let (_, image) = self.boot(&files, Load::Guest, arguments.collect())?;
        for line in BufReader::new(fs::File::open(&log)?).lines() {
            see(&line?, &image);
        }
        Ok(())
    }

    fn temporary(&self) -> Result<TempDir> {
        Ok(tempfile::Builder::new().prefix("bench-exits-").tempdir_in(&self.files)?)
    }

    /// Boots it once with further arguments of QEMU; returns all output, and the image.
    fn boot(
        &self,
        files: &TempDir,
        load: Load,
        arguments: Vec<String>,
    ) -> Result<(String, Vec<u8>)> {
        let mut plan = self.plan.clone();
        let path = files.path().join("file");
        let write = |bytes| {
            fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
            Ok::<_, Error>(path.to_string_lossy().into_owned())
        };
        match load {
            Load::Guest => {}
            Load::Large(bytes) => {
                let kernel = kernel(&mut plan)?;
                let mut guest = file::read(&self.folder.join(&*kernel))?;
                ensure!(guest.len() as u64 <= bytes, "the guest has {} bytes", guest.len());
                guest.resize(bytes as usize, 0);
                *kernel = write(guest)?;
            }
            Load::File(bytes) => add_file(&mut plan, write(pseudo_random(bytes))?)?,
        }
        let image =
            image::build(&plan, &self.folder, &self.hypervisor, Some(CPU)).map_err(whole)?;
        let path = files.path().join("bench.img");
        image::write(&path, &image.bytes).map_err(whole)?;

        let (time, timeout) = (Time::Deterministic, Some(TIMEOUT));
        let options = Options { time, timeout, arguments, ..Options::default() };
        let session = qemu::Machine::start(&self.board, &path, &options).map_err(whole)?;
        let outcome = session.finish(TIMEOUT);
        ensure!(outcome.exit == Exit::Code(0), "the measurement did not end: {outcome}");
        Ok((outcome.log, image.bytes))
    }
}

/// An error whose text already says what its source says.
fn whole(error: impl Display) -> Error {
    Error::msg(error.to_string())
}

/// The file of the guest.
fn kernel(plan: &mut Plan) -> Result<&mut String> {
    Ok(&mut plan.vms.first_mut().context("the system has no VM")?.boot.kernel.file)
}

/// Gives the VM a file, and the RAM for it.
fn add_file(plan: &mut Plan, file: String) -> Result<()> {
    let vm = plan.vms.first_mut().context("the system has no VM")?;
    let memory = vm.memory.first_mut().context("the VM has no RAM")?;
    memory.size = RAM_WITH_FILE;
    vm.boot.initrd = Some(File { file, load: Ipa(memory.ipa.0 + FILE_OFFSET) });
    Ok(())
}

/// Bytes without a pattern, always the same: the loader must take them whatever they are.
fn pseudo_random(bytes: u64) -> Vec<u8> {
    // Xorshift, 64 bit. Source: Marsaglia, "Xorshift RNGs", 2003.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    (0..bytes)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 56) as u8
        })
        .collect()
}
