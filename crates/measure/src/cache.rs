//! The caches of a CPU, as the kernel describes them.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::Missing;
use crate::machine::text;

/// A cache of data behind the first level.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct CpuCache {
    /// Level, from 2.
    pub level: u32,
    /// Size, of all slices together.
    pub size_bytes: u64,
    /// Ways.
    pub ways: u32,
    /// Bytes of a line.
    pub line_bytes: u32,
    /// Sets, of all slices together.
    pub sets: u64,
    /// Number of CPUs that share it.
    pub shared_by: usize,
}

impl CpuCache {
    /// Returns the most bits of a frame number that can be its colour: the bits in the set index if
    /// the cache has one slice. With several slices there are fewer.
    pub fn color_bits_max(&self, page_bytes: u64) -> u32 {
        // Numbers of slices need not be powers of two, sets of a slice are.
        let sets = 1 << self.sets.trailing_zeros();
        (sets * u64::from(self.line_bytes) / page_bytes).checked_ilog2().unwrap_or(0)
    }
}

/// Returns the caches of a CPU that hold data, behind the first level, nearest first.
///
/// # Errors
///
/// The kernel does not describe them.
pub fn of_cpu(cpu: usize) -> Result<Vec<CpuCache>, Missing> {
    in_folder(&PathBuf::from(format!("/sys/devices/system/cpu/cpu{cpu}/cache")))
}

fn in_folder(folder: &Path) -> Result<Vec<CpuCache>, Missing> {
    let entries =
        fs::read_dir(folder).map_err(|error| Missing::File { path: folder.to_owned(), error })?;
    let mut caches = Vec::new();
    for entry in entries.flatten() {
        let folder = entry.path();
        let is_index = entry.file_name().to_string_lossy().starts_with("index");
        if !is_index || text(folder.join("type"))? == "Instruction" {
            continue;
        }
        let level = number(folder.join("level"))? as u32;
        if level > 1 {
            caches.push(CpuCache {
                level,
                size_bytes: size(folder.join("size"))?,
                ways: number(folder.join("ways_of_associativity"))? as u32,
                line_bytes: number(folder.join("coherency_line_size"))? as u32,
                sets: number(folder.join("number_of_sets"))?,
                shared_by: sharers(folder.join("shared_cpu_list"))?,
            });
        }
    }
    caches.sort_by_key(|cache| cache.level);
    Ok(caches)
}

/// Returns a number of at most 32 bits that is not 0.
fn number(path: PathBuf) -> Result<u64, Missing> {
    let found = text(path.clone())?;
    match found.parse::<u32>() {
        Ok(number) if number > 0 => Ok(number.into()),
        _ => Err(Missing::Form { path, found, expected: "a number" }),
    }
}

/// `2048K`
fn size(path: PathBuf) -> Result<u64, Missing> {
    let found = text(path.clone())?;
    let kib = found.strip_suffix('K').and_then(|kib| kib.parse::<u32>().ok());
    match kib {
        Some(kib) if kib > 0 => Ok(u64::from(kib) << 10),
        _ => Err(Missing::Form { path, found, expected: "a size in K" }),
    }
}

/// `0-3,8`: five CPUs.
fn sharers(path: PathBuf) -> Result<usize, Missing> {
    let found = text(path.clone())?;
    let count = |part: &str| -> Option<usize> {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u16, u16) = (first.parse().ok()?, last.parse().ok()?);
        Some(usize::from(last.checked_sub(first)?) + 1)
    };
    let counts: Option<Vec<usize>> = found.split(',').map(count).collect();
    match counts {
        Some(counts) => Ok(counts.iter().sum()),
        None => Err(Missing::Form { path, found, expected: "a list of CPUs" }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes a folder as Linux shows a CPU with these caches: level, type, size, ways, sets, CPUs.
    fn folder(caches: &[[&str; 6]]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for (index, [level, kind, size, ways, sets, cpus]) in caches.iter().enumerate() {
            let folder = folder.path().join(format!("index{index}"));
            fs::create_dir(&folder).expect("a folder");
            for (name, value) in [
                ("level", level),
                ("type", kind),
                ("size", size),
                ("ways_of_associativity", ways),
                ("coherency_line_size", &"64"),
                ("number_of_sets", sets),
                ("shared_cpu_list", cpus),
            ] {
                fs::write(folder.join(name), format!("{value}\n")).expect("a file");
            }
        }
        folder
    }

    const FIRST: [&str; 6] = ["1", "Data", "32K", "8", "64", "0"];

    /// vCache, section 6.1.1: the i7-2600 has 32 colours in four slices.
    #[test]
    fn caches_behind_the_first_level_are_read() {
        let code = ["2", "Instruction", "64K", "8", "128", "0"];
        let llc = ["3", "Unified", "8192K", "16", "8192", "0-3,8"];
        let folder = folder(&[FIRST, llc, ["2", "Unified", "256K", "8", "512", "0,4"], code]);
        let caches = in_folder(folder.path()).expect("caches");
        let levels: Vec<_> = caches.iter().map(|cache| (cache.level, cache.shared_by)).collect();
        assert_eq!(levels, [(2, 2), (3, 5)]);
        assert_eq!((caches[1].size_bytes, caches[1].ways), (8 << 20, 16));
        let bits: Vec<_> = caches.iter().map(|cache| cache.color_bits_max(4096)).collect();
        assert_eq!(bits, [3, 7], "one slice is assumed: five bits, and two that choose a slice");
        assert_eq!(caches[0].color_bits_max(1 << 16), 0);
    }

    #[test]
    fn slices_that_are_no_power_of_two_leave_the_bits_of_one() {
        let folder = folder(&[["3", "Unified", "307200K", "20", "245760", "0-1"]]);
        let caches = in_folder(folder.path()).expect("caches");
        assert_eq!(caches[0].color_bits_max(4096), 8, "15 slices of 2^14 sets, or 60 of 2^12");
    }

    #[test]
    fn what_the_kernel_does_not_know_is_named() {
        for (at, value, expected) in [
            (2, "8M", "size says \"8M\", which is not a size in K"),
            (3, "0", "ways_of_associativity says \"0\", which is not a number"),
            (5, "3-1", "shared_cpu_list says \"3-1\", which is not a list of CPUs"),
        ] {
            let mut cache = ["2", "Unified", "256K", "8", "512", "0"];
            cache[at] = value;
            let folder = folder(&[cache]);
            let error = in_folder(folder.path()).expect_err(value).to_string();
            assert!(error.ends_with(expected), "{error}");
        }
        let error = in_folder(Path::new("/nowhere")).expect_err("no folder").to_string();
        assert!(error.starts_with("cannot read /nowhere"), "{error}");
    }
}
