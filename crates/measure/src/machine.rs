//! The kernel's facts about the machine.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use rustix::thread::{CpuSet, sched_getcpu, sched_setaffinity};

use crate::Missing;

/// Bytes of an entry of `/proc/self/pagemap` (Linux, `admin-guide/mm/pagemap.rst`).
const ENTRY: usize = 8;

/// Returns the text of a file of the kernel, without the end of its line.
pub fn text(path: PathBuf) -> Result<String, Missing> {
    match fs::read_to_string(&path) {
        Ok(text) => Ok(text.trim_end().to_owned()),
        Err(error) => Err(Missing::File { path, error }),
    }
}

/// Bytes of a page.
pub fn page_bytes() -> usize {
    rustix::param::page_size()
}

/// Keeps this thread on the CPU on which it is, as far as the system lets it, and
/// returns which one that is.
pub fn stay() -> usize {
    let cpu = sched_getcpu();
    let mut set = CpuSet::new();
    set.set(cpu);
    // Where this is not allowed the measurement is noisier, not wrong.
    let _ = sched_setaffinity(None, &set);
    cpu
}

/// Bytes of memory that programs can have without pushing others out.
pub fn available_bytes() -> Result<u64, Missing> {
    let path = PathBuf::from("/proc/meminfo");
    let found = text(path.clone())?;
    let line = found.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    let expected = "a list with MemAvailable in kB";
    Ok(kib.ok_or(Missing::Form { path, found, expected })?.saturating_mul(1024))
}

/// Returns true if the kernel knows that it runs in a virtual machine.
pub fn is_virtual() -> bool {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags = cpu.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    flags.split_whitespace().any(|flag| flag == "hypervisor")
        || Path::new("/proc/device-tree/hypervisor").exists()
        || Path::new("/sys/hypervisor/type").exists()
}

/// Returns the numbers of the frames behind pages that this process has touched, from a virtual
/// address on.
pub fn frames(address: usize, pages: usize) -> Result<Vec<u64>, Missing> {
    const PRESENT: u64 = 1 << 63;
    const NUMBER: u64 = (1 << 55) - 1;
    let path = PathBuf::from("/proc/self/pagemap");
    let start = (address / page_bytes() * ENTRY) as u64;
    let mut bytes = vec![0; pages * ENTRY];
    let read = File::open(&path).and_then(|mut file| {
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(&mut bytes)
    });
    read.map_err(|error| Missing::File { path, error })?;
    let (entries, _) = bytes.as_chunks();
    let numbers: Vec<u64> = entries
        .iter()
        .map(|entry| u64::from_ne_bytes(*entry))
        .map(|entry| if entry & PRESENT == 0 { 0 } else { entry & NUMBER })
        .collect();
    // Without CAP_SYS_ADMIN all numbers are 0.
    if numbers.iter().all(|number| *number == 0) {
        return Err(Missing::FrameNumbers);
    }
    Ok(numbers)
}
