//! The RAM of a machine as a file, in which the traces are found when it is off.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use abi::trace::Record;
use qemu::Board;
use system::plan::Plan;
use trace::rings::{Ram, Rings};

const PAGE_BYTES: usize = 4096;

/// RAM that outlives the machine.
#[derive(Debug)]
pub struct SharedRam {
    file: File,
    path: PathBuf,
    /// Address of its first byte in the machine, and its size.
    start: u64,
    bytes: u64,
    /// Where the hypervisor's page that names the rings can be.
    pages: Vec<u64>,
}

impl SharedRam {
    /// RAM of a board on which the plan is to run, in a file that is removed in the end.
    pub fn new(path: &Path, board: &Board, plan: &Plan) -> Self {
        let open = File::options().read(true).write(true).create(true).truncate(true).open(path);
        let file = open.expect("the file for the RAM can be made");
        let bytes = board.memory_bytes.expect("the board's RAM can be a file");
        file.set_len(bytes).expect("the file for the RAM can be as large");
        let start = plan.platform.memory[0].start.0;
        let own = &plan.platform.hypervisor;
        let pages = (own.start.0..own.start.0 + own.size.0).step_by(PAGE_BYTES).collect();
        Self { file, path: path.to_owned(), start, bytes, pages }
    }

    /// Fills what the hypervisor will have with ones, as firmware or an earlier system may leave it.
    pub fn fill_hypervisor(&self, plan: &Plan) {
        let own = &plan.platform.hypervisor;
        let ones = vec![0xff; usize::try_from(own.size.0).expect("it is small")];
        self.file.write_all_at(&ones, own.start.0 - self.start).expect("the RAM can be written");
    }

    /// The arguments for QEMU.
    pub fn arguments(&self) -> [String; 4] {
        let (bytes, path) = (self.bytes, self.path.display());
        let object = format!("memory-backend-file,id=ram,share=on,size={bytes},mem-path={path}");
        ["-object".into(), object, "-machine".into(), "memory-backend=ram".into()]
    }

    /// The last records of each PCPU.
    pub fn traces(&self) -> Vec<Vec<Record>> {
        let rings = Rings::find(self, self.pages.iter().copied());
        let mut rings =
            rings.expect("the RAM can be read").expect("the hypervisor names its rings");
        let mut traces = vec![Vec::new(); rings.count()];
        for (pcpu, records) in traces.iter_mut().enumerate() {
            rings.poll(self, pcpu, records).expect("the RAM can be read");
        }
        traces
    }
}

impl Ram for SharedRam {
    fn read(&self, address: u64, bytes: &mut [u8]) -> io::Result<()> {
        let outside = || io::Error::other(format!("there is no RAM at {address:#x}"));
        let offset = address.checked_sub(self.start).ok_or_else(outside)?;
        self.file.read_exact_at(bytes, offset)
    }
}

impl Drop for SharedRam {
    fn drop(&mut self) {
        // What is left of a failed test does not matter.
        let _ = fs::remove_file(&self.path);
    }
}
