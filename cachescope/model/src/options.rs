//! The arguments: what to model and whose memory is whose.

mod error;
#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};

pub use error::OptionError;

use crate::owners::{Owner, Owners};
use crate::preset::{self, Preset, Shape};
use crate::{Clock, Duration, Format, Geometry, GuestTime, Policy, Start, ranges};

/// Most CPUs.
pub const CPUS_MAX: usize = 64;

/// Most lines that a CPU may have on their way before it asks for them.
const PREFETCH_MAX: u64 = 16;

/// The machine to model. The defaults are a Cortex-A53 at 1 GHz with 1 MiB of shared cache.
#[derive(Clone, Debug)]
pub struct Options {
    /// Folder of the results.
    pub out: PathBuf,
    /// Private data cache of each CPU, if any.
    pub l1: Option<Geometry>,
    /// Its replacement.
    pub l1_policy: Policy,
    /// Instruction cache of each CPU.
    pub l1i: Geometry,
    /// True if fetches of instructions are modelled.
    pub fetch: bool,
    /// Last-level cache.
    pub llc: Geometry,
    /// True if there is one for all CPUs, false if there is one for each.
    pub llc_shared: bool,
    /// Its replacement.
    pub llc_policy: Policy,
    /// Lines of each CPU that may be on their way before it asks for them; 0: it reads nothing ahead.
    pub prefetch: usize,
    /// True if a line that leaves the last-level cache leaves the private caches too.
    pub inclusive: bool,
    /// Start of the generators of [`Policy::Random`].
    pub seed: u64,
    /// Bytes of a page, of which colours are made.
    pub page: u64,
    /// Clock of the CPUs.
    pub clock: Clock,
    /// The time of a hit in the private cache beyond the instruction.
    pub l1_hit: Duration,
    /// The time of a hit in the last-level cache beyond the instruction.
    pub llc_hit: Duration,
    /// The time of an access to memory beyond the instruction, without waiting for the bus.
    pub memory: Duration,
    /// The time for which a line occupies the bus.
    pub bus: Duration,
    /// The time by which clocks of CPUs may run apart; 0: as far as QEMU makes them.
    pub quantum: Duration,
    /// The time that guests see.
    pub time: GuestTime,
    /// Interval of the time series.
    pub bin: Duration,
    /// The first instruction that is counted.
    pub start: Start,
    /// The format in which tables are written.
    pub format: Format,
    /// Whose memory is whose.
    pub owners: Owners,
    /// The VMs whose memory the machine tells while it runs, by their numbers.
    pub told: Vec<Owner>,
    /// VM of each CPU, as far as it is known.
    cpus: Vec<Option<Owner>>,
}

/// Shapes and the line, until all options are known.
struct Shapes {
    l1: Option<Shape>,
    l1i: Shape,
    llc: Shape,
    line: u32,
}

impl Options {
    /// Reads arguments `key=value`; `read` gives the text of a file.
    ///
    /// # Errors
    /// The first argument that cannot be used, and a description of the expected ones.
    pub fn parse<'a>(
        arguments: impl IntoIterator<Item = &'a str>,
        read: impl Fn(&Path) -> io::Result<String>,
    ) -> Result<Self, OptionError> {
        let arguments: Vec<&str> = arguments.into_iter().collect();
        // What is said explicitly holds, wherever the preset stands.
        let preset = match arguments.iter().rev().find_map(|it| it.strip_prefix("preset=")) {
            None => Preset::DEFAULT,
            Some(name) => Preset::named(name).ok_or_else(|| OptionError::Value {
                key: "preset".into(),
                value: name.into(),
                expected: preset::NAMES,
            })?,
        };
        let mut shapes = Shapes { l1: Some(preset.l1), l1i: preset.l1i, llc: preset.llc, line: 64 };
        let geometry = |key, shape: Shape, line| match Geometry::new(shape.size, shape.ways, line) {
            Ok(geometry) => Ok(geometry),
            Err(source) => Err(OptionError::Geometry { key, source }),
        };
        let mut options = Self {
            out: PathBuf::new(),
            l1: None,
            l1_policy: Policy::Lru,
            l1i: geometry("l1i", preset.l1i, 64)?,
            fetch: true,
            llc: geometry("llc", preset.llc, 64)?,
            llc_shared: preset.llc_shared,
            llc_policy: Policy::Lru,
            prefetch: 0,
            inclusive: false,
            seed: 1,
            page: 4096,
            clock: Clock { mhz: preset.mhz },
            l1_hit: Duration::Cycles(1),
            llc_hit: preset.llc_hit,
            memory: preset.memory,
            bus: preset.bus,
            quantum: Duration::Cycles(500),
            time: GuestTime::Qemu,
            bin: Duration::Nanoseconds(1_000_000),
            start: Start::Guest,
            format: Format::Csv,
            owners: Owners::default(),
            told: Vec::new(),
            cpus: Vec::new(),
        };
        for argument in arguments {
            options.take(argument, &mut shapes, &read)?;
        }
        options.l1 = shapes.l1.map(|l1| geometry("l1", l1, shapes.line)).transpose()?;
        options.l1i = geometry("l1i", shapes.l1i, shapes.line)?;
        options.llc = geometry("llc", shapes.llc, shapes.line)?;
        options.check()?;
        Ok(options)
    }

    /// VM of a CPU, if it is known.
    #[inline]
    pub fn vm_of(&self, cpu: usize) -> Option<Owner> {
        self.cpus.get(cpu).copied().flatten()
    }

    /// Highest CPU that was given to a VM.
    pub fn last_cpu(&self) -> Option<usize> {
        self.cpus.len().checked_sub(1)
    }

    fn take(
        &mut self,
        argument: &str,
        shapes: &mut Shapes,
        read: &impl Fn(&Path) -> io::Result<String>,
    ) -> Result<(), OptionError> {
        let (key, value) = argument.split_once('=').unwrap_or((argument, ""));
        let bad = |expected| OptionError::Value { key: key.into(), value: value.into(), expected };
        let policy = || Policy::from_name(value).ok_or_else(|| bad("lru, plru or random"));
        let shape = || shape(value).ok_or_else(|| bad("SIZE:WAYS, such as 1MiB:16"));
        let time = || duration(value).ok_or_else(|| bad("a time, such as 20 or 20cy or 100ns"));
        let switch = || match value {
            "on" => Ok(true),
            "off" => Ok(false),
            _ => Err(bad("on or off")),
        };
        match key {
            "preset" => {}
            "format" => {
                let format = Format::from_name(value);
                self.format = format.ok_or_else(|| bad("csv, parquet or both"))?;
                if !self.format.is_built_in() {
                    return Err(bad("csv; Parquet needs a plugin built with --features parquet"));
                }
            }
            "out" if value.is_empty() => return Err(OptionError::NoOut),
            "out" => self.out = value.into(),
            "l1" if value == "none" => shapes.l1 = None,
            "l1" => shapes.l1 = Some(shape()?),
            "l1i" => shapes.l1i = shape()?,
            "fetch" => self.fetch = switch()?,
            "llc" => shapes.llc = shape()?,
            "llc-shared" => self.llc_shared = switch()?,
            "line" => {
                let line = ranges::size(value).and_then(|line| u32::try_from(line).ok());
                shapes.line = line.ok_or_else(|| bad("bytes of a line, such as 64"))?;
            }
            "l1-policy" => self.l1_policy = policy()?,
            "llc-policy" => self.llc_policy = policy()?,
            "inclusive" => self.inclusive = switch()?,
            "prefetch" => {
                let lines = ranges::number(value).filter(|lines| *lines <= PREFETCH_MAX);
                self.prefetch = lines.ok_or_else(|| bad("a number of lines, at most 16"))? as usize;
            }
            "seed" => self.seed = ranges::number(value).ok_or_else(|| bad("a number"))?,
            "page" => {
                let page = ranges::size(value).filter(|page| page.is_power_of_two());
                self.page = page
                    .filter(|&page| (4096..=1 << 30).contains(&page))
                    .ok_or_else(|| bad("a power of two of bytes from 4KiB to 1GiB"))?;
            }
            "mhz" => {
                let mhz = ranges::number(value).filter(|mhz| (1..=100_000).contains(mhz));
                self.clock.mhz = mhz.ok_or_else(|| bad("a clock in MHz, 1 to 100000"))?;
            }
            "l1-hit" => self.l1_hit = time()?,
            "llc-hit" => self.llc_hit = time()?,
            "memory" => self.memory = time()?,
            "bus" => self.bus = time()?,
            "quantum" => self.quantum = time()?,
            "bin" => {
                self.bin = time()?;
                if matches!(self.bin, Duration::Cycles(0) | Duration::Nanoseconds(0)) {
                    return Err(bad("a time above 0"));
                }
            }
            "time" => {
                self.time = GuestTime::from_name(value).ok_or_else(|| bad("qemu or model"))?;
            }
            "start" => {
                self.start = Start::from_name(value).ok_or_else(|| bad("guest or boot"))?;
            }
            "vm" if ranges::is_name(value) => {
                let vm = self.owners.named(value);
                let vm = vm.map_err(|source| OptionError::Owners {
                    key: "vm",
                    value: value.into(),
                    source,
                })?;
                if self.told.contains(&vm) || self.owners.bytes(vm) > 0 {
                    return Err(bad("a name for each VM once"));
                }
                self.told.push(vm);
            }
            "vm" => {
                let (name, start, size) = ranges::memory(value).ok_or_else(|| {
                    bad("NAME:START+SIZE, such as linux:0x46000000+512MiB, or NAME")
                })?;
                let owners = &mut self.owners;
                let given = owners.named(name).and_then(|owner| owners.give(owner, start, size));
                given.map_err(|source| OptionError::Owners {
                    key: "vm",
                    value: value.into(),
                    source,
                })?;
            }
            "uncached" => {
                let (start, size) = ranges::range(value)
                    .ok_or_else(|| bad("START+SIZE, such as 0x40000000+16MiB"))?;
                let excluded = self.owners.exclude(start, size);
                excluded.map_err(|source| OptionError::Owners {
                    key: "uncached",
                    value: value.into(),
                    source,
                })?;
            }
            "cpu" => {
                let (cpu, name) = ranges::cpu(value)
                    .filter(|&(cpu, _)| cpu < CPUS_MAX)
                    .ok_or_else(|| bad("CPU:NAME, such as 0:linux; CPUs are 0 to 63"))?;
                if self.vm_of(cpu).is_some() {
                    return Err(OptionError::CpuTwice(cpu));
                }
                let vm = self.owners.named(name);
                let vm = vm.map_err(|source| OptionError::Owners {
                    key: "cpu",
                    value: value.into(),
                    source,
                })?;
                self.cpus.resize(self.cpus.len().max(cpu + 1), None);
                self.cpus[cpu] = Some(vm);
            }
            "ranges" => self.take_file(Path::new(value), shapes, read)?,
            _ => return Err(OptionError::Unknown(key.into())),
        }
        Ok(())
    }

    /// Lines `vm=...`, `cpu=...` and `uncached=...`; empty ones, and what follows `#`, do not count.
    fn take_file(
        &mut self,
        path: &Path,
        shapes: &mut Shapes,
        read: &impl Fn(&Path) -> io::Result<String>,
    ) -> Result<(), OptionError> {
        let text = read(path).map_err(|source| OptionError::File { path: path.into(), source })?;
        for (number, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or("").trim();
            let taken = match line {
                "" => Ok(()),
                _ if ["vm=", "cpu=", "uncached="].iter().any(|key| line.starts_with(key)) => {
                    self.take(line, shapes, read)
                }
                _ => Err(OptionError::Value {
                    key: "line".into(),
                    value: line.into(),
                    expected: "vm=NAME:START+SIZE, vm=NAME, cpu=CPU:NAME or uncached=START+SIZE",
                }),
            };
            taken.map_err(|source| OptionError::Line {
                path: path.into(),
                line: number + 1,
                source: Box::new(source),
            })?;
        }
        Ok(())
    }

    fn check(&self) -> Result<(), OptionError> {
        if self.out.as_os_str().is_empty() {
            return Err(OptionError::NoOut);
        }
        if self.time == GuestTime::Model && self.clock.cycles(self.quantum) == 0 {
            return Err(OptionError::NoQuantum);
        }
        let l1 = self.l1.map(|l1| ("l1-policy", self.l1_policy, l1.ways()));
        let l1i = self.fetch.then_some(("l1-policy", self.l1_policy, self.l1i.ways()));
        let llc = Some(("llc-policy", self.llc_policy, self.llc.ways()));
        for (key, policy, ways) in [l1, l1i, llc].into_iter().flatten() {
            if policy == Policy::Plru && !ways.is_power_of_two() {
                return Err(OptionError::Plru { key, ways });
            }
        }
        for (cpu, vm) in self.cpus.iter().enumerate() {
            if let Some(vm) = *vm
                && self.owners.bytes(vm) == 0
            {
                return Err(OptionError::NoMemory { cpu, vm: self.owners.name(vm).into() });
            }
        }
        Ok(())
    }
}

fn shape(value: &str) -> Option<Shape> {
    let (size, ways) = value.split_once(':')?;
    Some(Shape { size: ranges::size(size)?, ways: ways.parse().ok()? })
}

fn duration(value: &str) -> Option<Duration> {
    let digits = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
    let (number, unit) = value.split_at(digits);
    let number: u64 = number.parse().ok()?;
    let nanoseconds = |each: u64| number.checked_mul(each).map(Duration::Nanoseconds);
    match unit {
        "" | "cy" => Some(Duration::Cycles(number)),
        "ns" => nanoseconds(1),
        "us" => nanoseconds(1000),
        "ms" => nanoseconds(1_000_000),
        _ => None,
    }
}
