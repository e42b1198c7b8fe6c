//! Parts of the last-level cache and of the memory bandwidth for CPUs, which Linux gives to groups (resctrl).
//!
//! A group has CPUs, so that all that executes on one of them has its parts: VMs, and Linux in their name. A run makes its
//! groups before VMs start and removes them at its end. Groups of a process that was killed are removed by the next run.
//!
//! Files and their forms: "User Interface for Resource Control feature" in the documentation of Linux.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use policy::color::ColorSet;

use crate::survey::{Files, RESCTRL, cache_id, list};

/// How the names of groups begin; the number of the process and of the group follow.
const NAME: &str = "bulkhead-";

/// What CPUs get.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Share {
    /// Ways of the last-level cache; `None`: all.
    pub ways: Option<ColorSet>,
    /// Percentage of the memory bandwidth, which the processor rounds up; `None`: all.
    pub percent: Option<u8>,
}

/// Groups of CPUs, which are removed when this is dropped.
#[derive(Debug)]
pub struct Partition {
    groups: Vec<Group>,
}

/// A group, and its files as Linux showed them when the group was made.
#[derive(Debug)]
struct Group {
    folder: PathBuf,
    made: Option<[String; 2]>,
}

const FILES: [&str; 2] = ["schemata", "cpus_list"];

impl Group {
    fn files(&self) -> io::Result<[String; 2]> {
        let [shares, cpus] = FILES.map(|name| fs::read_to_string(self.folder.join(name)));
        Ok([shares?, cpus?])
    }
}

impl Partition {
    /// Gives CPUs, by their numbers, their shares. `root`: `/`, or a folder with files of such a host.
    ///
    /// # Errors
    ///
    /// A sentence that says what the host refuses, and a line with help. Nothing is changed then.
    pub fn new(root: &Path, shares: &[(usize, Share)]) -> Result<Self, String> {
        let tree = root.join(RESCTRL);
        remove_left(root).map_err(|error| {
            format!("groups of an earlier run cannot be removed from {}: {error}", tree.display())
        })?;
        let host = Host::read(root);
        host.check_groups(shares)?;
        let lines = shares.iter().map(|(cpu, share)| Ok((*cpu, host.lines(root, *cpu, *share)?)));
        let lines = lines.collect::<Result<Vec<_>, String>>()?;
        let mut made = Self { groups: Vec::new() };
        let mut groups: Vec<(Vec<String>, Vec<usize>)> = Vec::new();
        for (cpu, lines) in lines {
            match groups.iter_mut().find(|(known, _)| *known == lines) {
                Some((_, cpus)) => cpus.push(cpu),
                None => groups.push((lines, vec![cpu])),
            }
        }
        for (index, (lines, cpus)) in groups.iter().enumerate() {
            let group = tree.join(format!("{NAME}{}-{index}", std::process::id()));
            made.make(&tree, &group, lines, cpus)?;
        }
        Ok(made)
    }

    /// Returns why CPUs may not have had their shares all the time, if others have changed the groups.
    pub fn lost(&self) -> Option<String> {
        let is_same = |group: &Group| group.files().ok() == group.made;
        let lost = self.groups.iter().find(|group| !is_same(group))?;
        Some(format!(
            "another program has changed or removed {}: VMs did not have their ways or their bandwidth all the time\n\
             help: find that program, and start the run again",
            lost.folder.display()
        ))
    }

    fn make(
        &mut self,
        tree: &Path,
        group: &Path,
        lines: &[String],
        cpus: &[usize],
    ) -> Result<(), String> {
        let refused = |what: String| {
            // Linux says there why it refused the last change.
            let status = fs::read_to_string(tree.join("info/last_cmd_status"));
            let said = status.map(|said| format!(" (it says: {})", said.trim_end()));
            move |error: io::Error| {
                format!("Linux refuses {what}: {error}{}", said.unwrap_or_default())
            }
        };
        let full = "a group for parts of the cache";
        fs::create_dir(group).map_err(|error| {
            let help =
                "remove groups of others below /sys/fs/resctrl, or let more VMs have the same ways";
            format!("{}\nhelp: {help}", refused(full.into())(error))
        })?;
        self.groups.push(Group { folder: group.to_owned(), made: None });
        for line in lines {
            fs::write(group.join("schemata"), format!("{line}\n"))
                .map_err(|error| refused(format!("`{line}`"))(error))?;
        }
        let list: Vec<String> = cpus.iter().map(usize::to_string).collect();
        let list = list.join(",");
        fs::write(group.join("cpus_list"), format!("{list}\n"))
            .map_err(|error| refused(format!("CPUs {list}"))(error))?;
        if let Some(group) = self.groups.last_mut() {
            let files = group.files();
            let what = || format!("to show the files of {}", group.folder.display());
            group.made = Some(files.map_err(|error| refused(what())(error))?);
        }
        Ok(())
    }
}

impl Drop for Partition {
    fn drop(&mut self) {
        for group in &self.groups {
            // What remains, the next run removes.
            let _ = fs::remove_dir(&group.folder);
        }
    }
}

/// Removes groups of processes that do not live any more. Where nothing divides the cache, there are none.
pub fn remove_left(root: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(root.join(RESCTRL)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let numbers = name.to_str().and_then(|name| name.strip_prefix(NAME)?.split_once('-'));
        let numbers = numbers.and_then(|(process, group)| {
            group.parse::<usize>().ok()?;
            process.parse::<u32>().ok()
        });
        let Some(process) = numbers.filter(|_| entry.path().is_dir()) else { continue };
        // This process makes its groups afterwards: one with its number is that of an earlier process.
        if process == std::process::id() || !root.join("proc").join(process.to_string()).exists() {
            match fs::remove_dir(entry.path()) {
                // Another run was faster.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                removed => removed?,
            }
        }
    }
    Ok(())
}

/// What a processor can divide, and how finely.
struct Host {
    /// The mask of all ways.
    ways: Option<u64>,
    /// Fewest ways of a group.
    ways_min: u32,
    /// True if ways of a group need not lie side by side.
    sparse: bool,
    /// The smallest percentage.
    percent_min: Option<i64>,
    /// Limits of the bandwidth are percentages, and not other units: megabytes, or eighths of a gigabyte in a second.
    has_percent: bool,
    /// CPUs that are in no group that somebody has made.
    free: Option<Vec<usize>>,
    /// The group of this process, if it is not the one of all.
    own: Option<String>,
}

impl Host {
    fn read(root: &Path) -> Self {
        let files = Files::new(root);
        let info = |name: &str| files.text(&format!("{RESCTRL}/info/{name}"));
        let number = |name: &str| info(name)?.parse::<i64>().ok();
        let ways = info("L3/cbm_mask").and_then(|mask| u64::from_str_radix(&mask, 16).ok());
        let ways_min = number("L3/min_cbm_bits").and_then(|bits| bits.try_into().ok());
        let (sparse, percent_min) =
            (number("L3/sparse_masks") == Some(1), number("MB/min_bandwidth"));
        let all = files.text(&format!("{RESCTRL}/schemata")).unwrap_or_default();
        let limits = all.lines().filter_map(|line| line.trim().strip_prefix("MB:"));
        let mut limits =
            limits.flat_map(|line| line.split(';')).filter_map(|it| it.split_once('='));
        let is_percent =
            |(_, limit): (&str, &str)| limit.trim().parse().is_ok_and(|it: u64| it <= 100);
        let free = files.text(&format!("{RESCTRL}/cpus_list")).map(|text| list(&text));
        let own = files.text("proc/self/cpu_resctrl_groups");
        let own = own
            .and_then(|text| Some(text.lines().find_map(|it| it.strip_prefix("res:"))?.to_owned()));
        Self {
            ways,
            ways_min: ways_min.unwrap_or(1),
            sparse,
            percent_min,
            has_percent: limits.all(is_percent),
            free,
            own: own.filter(|own| own != "/"),
        }
    }

    /// Refuses shares that would not hold because somebody else has made groups.
    fn check_groups(&self, shares: &[(usize, Share)]) -> Result<(), String> {
        if let Some(own) = &self.own {
            return Err(format!(
                "this process is in the group `{}` of /sys/fs/resctrl, which counts for it on each CPU\n\
                 help: write its number into /sys/fs/resctrl/tasks, or start the run elsewhere",
                own.trim_matches('/')
            ));
        }
        let is_taken = |cpu: &usize| self.free.as_ref().is_some_and(|free| !free.contains(cpu));
        match shares.iter().map(|(cpu, _)| *cpu).find(is_taken) {
            None => Ok(()),
            Some(cpu) => Err(format!(
                "CPU {cpu} is in a group of /sys/fs/resctrl that somebody else has made\n\
                 help: remove the group, or put the VCPUs on other PCPUs"
            )),
        }
    }

    /// Returns the lines of `schemata` that give a CPU a share.
    fn lines(&self, root: &Path, cpu: usize, share: Share) -> Result<Vec<String>, String> {
        let domain = cache_id(root, cpu).ok_or_else(|| {
            format!(
                "Linux does not say which last-level cache CPU {cpu} has\nhelp: remove `ways` and `bandwidth_percent`"
            )
        })?;
        let mut lines = Vec::new();
        if let Some(ways) = share.ways {
            let mask = self.mask(ways)?;
            lines.push(format!("L3:{domain}={mask:x}"));
        }
        if let Some(percent) = share.percent {
            let least = self.percent_min.filter(|_| self.has_percent).ok_or_else(|| {
                "this processor or this mount of resctrl does not limit memory bandwidth by percentages\n\
                 help: remove `bandwidth_percent`, or use `bandwidth`"
                    .to_owned()
            })?;
            if i64::from(percent) < least {
                return Err(format!(
                    "this processor limits the memory bandwidth to {least} % at least, and `bandwidth_percent` is {percent}\n\
                     help: write at least {least}"
                ));
            }
            lines.push(format!("MB:{domain}={percent}"));
        }
        Ok(lines)
    }

    fn mask(&self, ways: ColorSet) -> Result<u64, String> {
        let all = self.ways.ok_or_else(|| {
            "this processor does not divide its last-level cache by ways (Intel: CAT, AMD: QoS extensions)\n\
             help: remove `ways`, or use `colors`"
                .to_owned()
        })?;
        let (mask, number) = (ways.bits(), all.count_ones());
        if mask & !all != 0 {
            return Err(format!(
                "the last-level cache of this host has ways 0-{}, and `ways` are {ways}\nhelp: use ways that there are",
                number.saturating_sub(1)
            ));
        }
        if ways.len() < self.ways_min {
            return Err(format!(
                "this processor gives at least {} ways to a group, and `ways` are {ways}\nhelp: add ways",
                self.ways_min
            ));
        }
        if ways.runs().count() > 1 && !self.sparse {
            return Err(format!(
                "this processor needs ways that lie side by side, and `ways` are {ways}\nhelp: use one range"
            ));
        }
        Ok(mask)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A host whose processor has 12 ways, of which a group needs two, in two caches: of CPUs 0 and 1, and of CPU 2.
    fn host() -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a folder");
        let files = [
            ("sys/fs/resctrl/info/L3/cbm_mask", "fff"),
            ("sys/fs/resctrl/info/L3/min_cbm_bits", "2"),
            ("sys/fs/resctrl/info/L3/sparse_masks", "0"),
            ("sys/fs/resctrl/info/MB/min_bandwidth", "10"),
            ("sys/fs/resctrl/info/last_cmd_status", "ok"),
            ("sys/fs/resctrl/schemata", "    L3:0=fff;7=fff\n    MB:0=100;7=100"),
            ("sys/fs/resctrl/cpus_list", "0-3"),
            ("proc/self/cpu_resctrl_groups", "res:/\nmon:"),
            ("sys/devices/system/cpu/cpu0/cache/index3/level", "3"),
            ("sys/devices/system/cpu/cpu0/cache/index3/id", "0"),
            ("sys/devices/system/cpu/cpu1/cache/index3/level", "3"),
            ("sys/devices/system/cpu/cpu1/cache/index3/id", "0"),
            ("sys/devices/system/cpu/cpu2/cache/index3/level", "3"),
            ("sys/devices/system/cpu/cpu2/cache/index3/id", "7"),
            ("proc/4711/status", ""),
        ];
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, format!("{text}\n")).expect("a file");
        }
        root
    }

    fn share(ways: &str, percent: Option<u8>) -> Share {
        let ways = (!ways.is_empty()).then(|| ways.parse().expect("ways"));
        Share { ways, percent }
    }

    fn groups(root: &Path) -> Vec<(String, String, String)> {
        let tree = root.join(RESCTRL);
        let entries = fs::read_dir(&tree).expect("a folder");
        let names =
            entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("text"));
        let own = ["info", "schemata", "cpus_list"];
        let mut names: Vec<_> = names.filter(|name| !own.contains(&name.as_str())).collect();
        names.sort();
        let text = |name: &str, file: &str| {
            fs::read_to_string(tree.join(name).join(file)).unwrap_or_default()
        };
        let read = |name: String| (text(&name, "schemata"), text(&name, "cpus_list"), name);
        names.into_iter().map(read).map(|(lines, cpus, name)| (name, lines, cpus)).collect()
    }

    #[test]
    fn cpus_with_equal_shares_have_a_group() {
        let root = host();
        let shares =
            [(0, share("0-3", None)), (1, share("0-3", None)), (2, share("4-11", Some(50)))];
        let partition = Partition::new(root.path(), &shares).expect("a partition");
        let process = std::process::id();
        // A file of the kernel takes each line; an ordinary file shows the last one.
        let expected = [
            (format!("bulkhead-{process}-0"), "L3:0=f\n".into(), "0,1\n".into()),
            (format!("bulkhead-{process}-1"), "MB:7=50\n".into(), "2\n".into()),
        ];
        assert_eq!(groups(root.path()), expected);
        // Files of resctrl vanish with their folder, those of this test do not.
        for (name, ..) in &expected {
            for file in ["schemata", "cpus_list"] {
                fs::remove_file(root.path().join(RESCTRL).join(name).join(file)).expect("removed");
            }
        }
        drop(partition);
        assert!(groups(root.path()).is_empty());
    }

    #[test]
    fn equal_ways_of_different_caches_are_different_groups() {
        let root = host();
        let shares = [(0, share("0-3", None)), (2, share("0-3", None))];
        let _partition = Partition::new(root.path(), &shares).expect("a partition");
        let lines: Vec<_> = groups(root.path()).into_iter().map(|(_, lines, _)| lines).collect();
        assert_eq!(lines, ["L3:0=f\n", "L3:7=f\n"]);
    }

    #[test]
    fn groups_of_killed_runs_are_removed_and_those_of_others_stay() {
        let root = host();
        let own = format!("bulkhead-{}-7", std::process::id());
        let killed = ["bulkhead-4712-0", "bulkhead-4712-1", &own];
        for name in killed.iter().chain(&["bulkhead-4711-0", "bulkhead-my-0", "mine"]) {
            fs::create_dir(root.path().join(RESCTRL).join(name)).expect("a folder");
        }
        let _partition = Partition::new(root.path(), &[]).expect("a partition");
        let names: Vec<_> = groups(root.path()).into_iter().map(|(name, ..)| name).collect();
        assert_eq!(names, ["bulkhead-4711-0", "bulkhead-my-0", "mine"]);
    }

    #[test]
    fn what_a_processor_cannot_do_is_said_and_changes_nothing() {
        let root = host();
        let refusals = [
            (0, share("8-12", None), "ways 0-11"),
            (0, share("0", None), "at least 2 ways"),
            (0, share("0-1,4-5", None), "side by side"),
            (0, share("", Some(9)), "to 10 % at least"),
            (3, share("0-1", None), "which last-level cache CPU 3 has"),
        ];
        for (cpu, wrong, says) in refusals {
            let shares = [(1, share("0-1", None)), (cpu, wrong)];
            let error = Partition::new(root.path(), &shares).expect_err("a refusal");
            assert!(error.contains(says) && error.contains("\nhelp: "), "{error}");
            assert!(groups(root.path()).is_empty());
        }
        fs::remove_dir_all(root.path().join(RESCTRL).join("info")).expect("removed");
        for (wrong, says) in [(share("0-1", None), "by ways"), (share("", Some(50)), "percentages")]
        {
            let error = Partition::new(root.path(), &[(0, wrong)]).expect_err("a refusal");
            assert!(error.contains(says), "{error}");
        }
    }

    #[test]
    fn a_group_that_linux_refuses_leaves_none() {
        let root = host();
        // No folder can have the name of the second group.
        let taken = root.path().join(RESCTRL).join(format!("bulkhead-{}-1", std::process::id()));
        fs::write(&taken, "").expect("a file");
        let shares = [(0, share("4-5", None)), (1, share("0-1", None))];
        let error = Partition::new(root.path(), &shares).expect_err("a refusal");
        assert!(error.contains("refuses a group") && error.contains("it says: ok"), "{error}");
    }

    #[test]
    fn groups_that_others_change_are_noticed() {
        let root = host();
        let shares = [(0, share("0-3", None))];
        let partition = Partition::new(root.path(), &shares).expect("a partition");
        assert_eq!(partition.lost(), None);
        let group = root.path().join(RESCTRL).join(format!("bulkhead-{}-0", std::process::id()));
        fs::write(group.join("cpus_list"), "").expect("a file");
        assert!(partition.lost().expect("lost").contains("has changed or removed"));
        fs::remove_dir_all(group).expect("removed");
        assert!(partition.lost().is_some());
    }

    /// Linux would take the share of the other group, or take the CPU away from it.
    #[test]
    fn groups_of_others_prevent_shares() {
        let refused = |file: &str, text: &str, share: Share| {
            let root = host();
            fs::write(root.path().join(file), text).expect("a file");
            let error = Partition::new(root.path(), &[(1, share)]).expect_err("a refusal");
            assert!(groups(root.path()).is_empty() && error.contains("\nhelp: "), "{error}");
            error
        };
        let (ways, half) = (share("0-3", None), share("", Some(50)));
        let other = refused("proc/self/cpu_resctrl_groups", "res:/other\nmon:\n", ways);
        assert!(other.contains("in the group `other`"), "{other}");
        let taken = refused("sys/fs/resctrl/cpus_list", "0,2-3\n", ways);
        assert!(taken.contains("CPU 1 is in a group"), "{taken}");
        // AMD's unit, and that of a mount with `mba_MBps`.
        for limit in ["2048", "4294967295"] {
            let unit =
                refused("sys/fs/resctrl/schemata", &format!("MB:0={limit};7={limit}\n"), half);
            assert!(unit.contains("by percentages"), "{unit}");
        }
    }
}
