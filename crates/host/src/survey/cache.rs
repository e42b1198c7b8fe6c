//! The last-level cache of a host.

use std::path::Path;

use super::files::Files;

/// A cache, as Linux describes it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct HostCache {
    /// Its size.
    pub bytes: u64,
    /// Its ways.
    pub ways: u32,
    /// The size of a line.
    pub line_bytes: u32,
}

/// Returns the last cache that a CPU has for data, if Linux tells. `root`: `/`, or a folder with files of such a host.
pub fn last_level_cache(root: &Path, cpu: usize) -> Option<HostCache> {
    let files = Files::new(root);
    let last = last_level(&files, cpu)?;
    let size = files.text(&format!("{last}/size"))?;
    let number = |name: &str| u32::try_from(files.number(&format!("{last}/{name}"))?).ok();
    Some(HostCache {
        bytes: size.strip_suffix('K')?.parse::<u64>().ok()?.checked_mul(1024)?,
        ways: number("ways_of_associativity")?,
        line_bytes: number("coherency_line_size")?,
    })
}

/// Returns the number by which Linux tells this cache of a CPU from those of other CPUs.
pub fn id_of_last_level(root: &Path, cpu: usize) -> Option<i64> {
    let files = Files::new(root);
    files.number(&format!("{}/id", last_level(&files, cpu)?))
}

/// Returns the folder of the last cache that a CPU has for data.
fn last_level(files: &Files, cpu: usize) -> Option<String> {
    let folder = |index: usize| format!("sys/devices/system/cpu/cpu{cpu}/cache/index{index}");
    let all = (0..16).map(folder).filter(|it| files.exists(&format!("{it}/level")));
    let with_data =
        all.filter(|it| files.text(&format!("{it}/type")).is_none_or(|kind| kind != "Instruction"));
    with_data.max_by_key(|it| files.number(&format!("{it}/level")))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_last_cache_with_data_is_that_of_the_host() {
        let root = tempfile::tempdir().expect("a folder");
        assert_eq!(last_level_cache(root.path(), 1), None);
        let caches = [
            ("1", "Data", "48K", "12"),
            ("1", "Instruction", "32K", "8"),
            ("3", "Unified", "8192K", "16"),
        ];
        for (index, (level, kind, size, ways)) in caches.into_iter().enumerate() {
            let folder =
                root.path().join(format!("sys/devices/system/cpu/cpu1/cache/index{index}"));
            fs::create_dir_all(&folder).expect("a folder");
            for (name, text) in
                [("level", level), ("type", kind), ("size", size), ("ways_of_associativity", ways)]
            {
                fs::write(folder.join(name), format!("{text}\n")).expect("a file");
            }
            // The last file of a cache: without it nothing is known.
            assert_eq!(
                last_level_cache(root.path(), 1),
                (index == 1).then_some(HostCache { bytes: 48 << 10, ways: 12, line_bytes: 64 })
            );
            fs::write(folder.join("coherency_line_size"), "64\n").expect("a file");
        }
        let last = HostCache { bytes: 8 << 20, ways: 16, line_bytes: 64 };
        assert_eq!(last_level_cache(root.path(), 1), Some(last));
        assert_eq!(last_level_cache(root.path(), 0), None);
    }
}
