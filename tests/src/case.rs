//! A system of a test, and how it is booted.

use std::path::PathBuf;
use std::time::Duration;

use abi::image::{ConsoleKind, PLAN_BLOB};
use abi::limits::PAGE_BYTES;
use abi::trace::Record;
use image::{Blob, EarlyConsole, Image, pack};
use lab::board::board;
use lab::load::{self, System};
use lab::record::SharedRam;
use qemu::{Board, LogFile, Machine, Options, Session, Time};
use system::plan::{self, Plan};
use trace::rings::Rings;

use crate::{Run, Vm, hypervisor, scratch};

/// A system of a test, if nothing else is said on QEMU's `virt` with a GICv3 and four CPUs.
#[derive(Clone, Debug)]
pub struct Case {
    name: String,
    platform: String,
    cpu: Option<String>,
    vms: Vec<Vm>,
    tables: String,
    timeout: Duration,
}

impl Case {
    /// A system without VMs; the name is that of its files in `target/tmp`.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.into(),
            platform: "board = \"qemu-virt\"\n".into(),
            cpu: None,
            vms: Vec::new(),
            tables: String::new(),
            timeout: Duration::from_secs(120),
        }
    }

    /// Runs on this bundled platform, in the board of QEMU that is its model.
    pub fn on(mut self, platform: &str) -> Self {
        self.platform = format!("board = {platform:?}\n");
        self
    }

    /// Runs on another model of CPU.
    pub fn cpu(mut self, model: &str) -> Self {
        self.cpu = Some(model.into());
        self
    }

    /// One more key of the platform in the description, a string.
    pub fn platform(mut self, key: &str, value: &str) -> Self {
        self.platform.push_str(&format!("{key} = {value:?}\n"));
        self
    }

    /// Counts cycles in place of accesses to memory, which QEMU's CPUs do not count, with so many
    /// bits.
    pub fn counts_cycles(self, bits: u32) -> Self {
        self.bandwidth(&format!("counter = \"cycles\"\ncounter_bits = {bits}"))
    }

    /// What counts accesses to memory: lines of the description.
    pub fn bandwidth(mut self, lines: &str) -> Self {
        self.platform.push_str(&format!("[platform.bandwidth]\n{lines}\n"));
        self
    }

    /// Lets the counter tick once in an instruction.
    pub fn tick_is_an_instruction(self) -> Self {
        self.cpu("cortex-a53,cntfrq=1000000000")
    }

    /// One more VM.
    pub fn vm(mut self, vm: Vm) -> Self {
        self.vms.push(vm);
        self
    }

    /// Anything more, as it stands in the description: tables beside those of VMs.
    pub fn more(mut self, tables: &str) -> Self {
        self.tables.push_str(tables);
        self
    }

    /// Gives up after this time instead of two minutes.
    pub fn timeout(mut self, seconds: u64) -> Self {
        self.timeout = Duration::from_secs(seconds);
        self
    }

    /// Returns the system, read from a description in `target/tmp` that can be run by hand.
    pub fn system(&self) -> System {
        let vms: String = self.vms.iter().map(Vm::toml).collect();
        let Self { name, platform, tables, .. } = self;
        let toml = format!("name = {name:?}\n[platform]\n{platform}{tables}{vms}");
        let file = self.file("toml");
        std::fs::write(&file, &toml).expect("a file in target/tmp can be written");
        load::plan(&file).unwrap_or_else(|failure| panic!("{failure}\n{toml}"))
    }

    /// Returns the plan of the system.
    pub fn plan(&self) -> Plan {
        self.system().plan
    }

    /// Returns the image of the system.
    pub fn image(&self) -> Image {
        self.system().image(&hypervisor()).unwrap_or_else(|failure| panic!("{failure}"))
    }

    /// Returns the image of the system with its plan changed in the text. The tools check the plan.
    pub fn image_with(&self, change: impl FnOnce(String) -> String) -> Image {
        let system = self.system();
        let text = change(system.plan.to_dts());
        let plan = Plan::from_dts("plan.dts", &text).unwrap_or_else(|errors| panic!("{errors}"));
        let image = System { plan, ..system }.image(&hypervisor());
        image.unwrap_or_else(|failure| panic!("{failure}"))
    }

    /// Returns the board of QEMU for the system.
    pub fn board(&self) -> Board {
        self.board_of(&self.system())
    }

    fn board_of(&self, system: &System) -> Board {
        let board = board(system).unwrap_or_else(|failure| panic!("{failure}"));
        Board { cpu: self.cpu.clone().or(board.cpu), ..board }
    }

    /// Boots the system and waits until the machine is off.
    pub fn run(&self) -> Run {
        self.boot(&self.image().bytes)
    }

    /// Boots the system where the hypervisor's RAM is full of ones, and waits until the machine is off.
    pub fn run_in_used_ram(&self) -> Run {
        let system = self.system();
        let board = self.board_of(&system);
        let ram = ram(&system.plan, &board);
        let own = &system.plan.platform.hypervisor;
        let ones = vec![0xff; usize::try_from(own.size.0).expect("it is small")];
        ram.write(own.start.0, &ones).expect("the RAM can be written");
        let image = self.image();
        let arguments = ram.arguments().into();
        let session = self.start_with(&board, &image.bytes, Time::Deterministic, arguments);
        Run::of(session.finish(self.timeout))
    }

    /// Boots the system, waits until a line of the console contains the text, and then ends
    /// it. Returns the last records of each PCPU's trace, the oldest first.
    #[track_caller]
    pub fn trace_until(&self, text: &str) -> Vec<Vec<Record>> {
        let System { plan, .. } = self.system();
        let board = self.board();
        let ram = ram(&plan, &board);
        let arguments = ram.arguments().into();
        let image = self.image();
        let mut session = self.start_with(&board, &image.bytes, Time::Deterministic, arguments);
        if let Err(error) = session.wait_for(text, self.timeout) {
            panic!("{error}");
        }
        session.stop();
        traces(&ram, &plan)
    }

    /// Boots these bytes and waits until the machine is off.
    pub fn boot(&self, image: &[u8]) -> Run {
        Run::of(self.start(image, Time::Deterministic).finish(self.timeout))
    }

    /// Boots the system with its plan changed in the text, all other blobs as they
    /// are, and waits until the machine is off. The tools do not check the plan.
    pub fn boot_with_plan(&self, change: impl FnOnce(String) -> String) -> Run {
        let source = change(self.plan().to_dts());
        let tree = plan::compile("plan.dts", &source).unwrap_or_else(|errors| panic!("{errors}"));
        self.boot(&self.image_with_plan(&tree)).ended()
    }

    /// The image of the system with another plan, compiled.
    pub fn image_with_plan(&self, tree: &[u8]) -> Vec<u8> {
        let image = self.image();
        let contents = image::verify(&image.bytes).expect("the image is intact");
        let blob = |(name, _): &(String, u64)| {
            let data = contents.blob(&image.bytes, name).expect("the blob is in the image");
            let data = if name == PLAN_BLOB { tree } else { data }.to_vec();
            Blob { name: name.clone(), data }
        };
        let blobs: Vec<Blob> = image.blobs.iter().map(blob).collect();
        let console = EarlyConsole { kind: ConsoleKind::Pl011, address: 0x0900_0000 };
        let mut bytes = image.bytes[..image.hypervisor_bytes as usize].to_vec();
        bytes.extend(pack(console, &blobs).expect("the blobs fit"));
        bytes
    }

    /// Boots these bytes.
    pub fn start(&self, image: &[u8], time: Time) -> Session {
        self.start_on(&self.board(), image, time)
    }

    /// Boots these bytes on a board.
    pub fn start_on(&self, board: &Board, image: &[u8], time: Time) -> Session {
        self.start_with(board, image, time, Vec::new())
    }

    fn start_with(
        &self,
        board: &Board,
        image: &[u8],
        time: Time,
        arguments: Vec<String>,
    ) -> Session {
        let path = self.file("img");
        image::write(&path, image).unwrap_or_else(|error| panic!("{error}"));
        let options = Options {
            time,
            timeout: Some(self.timeout),
            log_file: Some(LogFile::named(self.file("log"))),
            arguments,
            ..Options::default()
        };
        Machine::start(board, &path, &options).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Tests run at the same time, each on a thread that is named after it.
    fn file(&self, ending: &str) -> PathBuf {
        let thread = std::thread::current();
        let test = thread.name().unwrap_or("test").replace("::", "-");
        scratch().join(format!("{test}.{}.{ending}", self.name))
    }
}

fn ram(plan: &Plan, board: &Board) -> SharedRam {
    SharedRam::of(plan, board).unwrap_or_else(|failure| panic!("{failure}"))
}

/// The last records of each PCPU.
fn traces(ram: &SharedRam, plan: &Plan) -> Vec<Vec<Record>> {
    let own = &plan.platform.hypervisor;
    let pages = (own.start.0..own.start.0 + own.size.0).step_by(PAGE_BYTES as usize);
    let rings = Rings::find(ram, pages);
    let mut rings = rings.expect("the RAM can be read").expect("the hypervisor names its rings");
    let mut traces = vec![Vec::new(); rings.count()];
    for (pcpu, records) in traces.iter_mut().enumerate() {
        rings.poll(ram, pcpu, records).expect("the RAM can be read");
    }
    traces
}
