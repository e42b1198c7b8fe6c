//! Hosts that are folders with files.

use std::fs;
use std::os::unix::net::UnixListener;
use std::path::Path;

use host::survey::{Effect, Lack, survey};
use tempfile::TempDir;

/// A host that lacks nothing, and the changes to it.
fn host(changes: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let good = [
        ("dev/kvm", ""),
        ("proc/self/status", "Name:\tx\nCapEff:\t000001fffeffffff\nCpus_allowed_list:\t0-3\n"),
        (
            "proc/self/limits",
            "Max locked memory         8388608   8388608   bytes\nMax realtime priority     0   0\n",
        ),
        ("proc/self/cgroup", "8:pids:/\n2:cpu,cpuacct:/\n0::/\n"),
        ("sys/fs/cgroup/cpu/cpu.rt_runtime_us", "950000\n"),
        ("proc/stat", "cpu  1000 0 1000 100000 0 0 0 0 0 0\ncpu0 1 1 1 1\n"),
        ("proc/sys/kernel/sched_rt_runtime_us", "-1\n"),
        ("proc/sys/kernel/sched_rt_period_us", "1000000\n"),
        ("sys/kernel/realtime", "1\n"),
        ("proc/sys/kernel/osrelease", "5.16.0-1-amd64\n"),
        ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
        ("sys/devices/system/cpu/smt/active", "0\n"),
        ("sys/devices/system/cpu/online", "0-3\n"),
        ("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance\n"),
        ("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
        ("proc/self/pagemap", ""),
        ("proc/self/uid_map", "         0          0 4294967295\n"),
        ("proc/sys/vm/compact_unevictable_allowed", "0\n"),
        ("proc/sys/kernel/numa_balancing", "0\n"),
        ("sys/bus/event_source/devices/cpu/type", "4\n"),
        ("proc/sys/kernel/perf_event_paranoid", "2\n"),
        ("sys/fs/resctrl/info/L3/cbm_mask", "fff\n"),
        ("sys/fs/resctrl/schemata", "L3:0=fff\n"),
        ("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu hypervisor_of_none npt\n"),
    ];
    for (path, text) in good.iter().chain(changes) {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
    folder
}

fn names(lacks: &[Lack]) -> Vec<&'static str> {
    lacks.iter().map(|lack| lack.name).collect()
}

#[test]
fn a_good_host_lacks_nothing() {
    assert_eq!(survey(host(&[]).path(), &[1, 2]), []);
}

#[test]
fn kernels_that_are_new_or_unknown_lack_nothing() {
    for release in ["5.16", "5.100.1-rt", "6.1.0-18-amd64", "10.0", "unknown", ""] {
        let folder = host(&[("proc/sys/kernel/osrelease", release)]);
        assert_eq!(survey(folder.path(), &[1, 2]), [], "{release}");
    }
}

#[test]
fn each_lack_is_found() {
    let user = "CapEff:\t0000000000000000\nCpus_allowed_list:\t0-3\n";
    let no_admin = "CapEff:\t000001fffedfffff\nCpus_allowed_list:\t0-3\n";
    let own = "CapEff:\t000001fffeffffff\nCpus_allowed_list:\t1-2\n";
    let few = "CapEff:\t000001fffeffffff\nCpus_allowed_list:\t0,2\n";
    for (file, text, name, effect) in [
        ("proc/self/status", few, "cpus-allowed", Effect::Prevents),
        ("sys/devices/system/cpu/online", "0,2-3\n", "cpus", Effect::Prevents),
        ("sys/devices/system/cpu/online", "1-2\n", "housekeeping", Effect::Prevents),
        ("proc/self/status", own, "housekeeping", Effect::Prevents),
        ("sys/fs/cgroup/cpu/cpu.rt_runtime_us", "0\n", "real-time-group", Effect::Prevents),
        ("proc/sys/kernel/sched_rt_runtime_us", "950000\n", "throttling", Effect::Delays),
        ("sys/kernel/realtime", "0\n", "preempt-rt", Effect::Delays),
        ("proc/sys/kernel/osrelease", "5.15.0-91-generic\n", "kernel", Effect::Prevents),
        ("proc/sys/kernel/osrelease", "4.19.0+\n", "kernel", Effect::Prevents),
        (
            "sys/kernel/mm/transparent_hugepage/enabled",
            "[always] madvise never\n",
            "huge-pages",
            Effect::Delays,
        ),
        ("sys/devices/system/cpu/smt/active", "1\n", "smt", Effect::Delays),
        (
            "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor",
            "schedutil\n",
            "governor",
            Effect::Delays,
        ),
        (
            "sys/devices/system/clocksource/clocksource0/current_clocksource",
            "hpet\n",
            "clock",
            Effect::Delays,
        ),
        ("proc/stat", "cpu  1000 0 1000 100000 0 0 0 500 0 0\n", "steal", Effect::Delays),
        ("proc/self/status", no_admin, "pagemap", Effect::PreventsColors),
        ("proc/self/uid_map", "0 1000 1\n", "pagemap", Effect::PreventsColors),
        ("proc/sys/vm/compact_unevictable_allowed", "1\n", "compaction", Effect::WeakensColors),
        ("proc/sys/kernel/numa_balancing", "1\n", "numa-balancing", Effect::WeakensColors),
        ("proc/cpuinfo", "flags\t\t: fpu hypervisor npt\n", "frames", Effect::WeakensColors),
    ] {
        let lacks = survey(host(&[(file, text)]).path(), &[1, 2]);
        assert_eq!(names(&lacks), [name], "{file}: {text}");
        assert_eq!(lacks[0].effect, effect);
        assert!(!lacks[0].help.is_empty());
    }
    let lacks = survey(host(&[("proc/self/status", user)]).path(), &[1, 2]);
    let all = ["real-time-rights", "memory-rights", "pagemap", "counter-rights"];
    assert_eq!(names(&lacks), all);
}

/// One right is enough, and with two kinds of cores the monitors of the CPUs have other names.
#[test]
fn limits_of_memory_accesses_need_a_counter_and_the_right_to_use_it() {
    let status = |capabilities: &str| format!("CapEff:\t{capabilities}\nCpus_allowed_list:\t0-3\n");
    // All but CAP_PERFMON and CAP_SYS_ADMIN, and each of the two.
    for (capabilities, paranoid, lacking) in [
        ("000001bfffdfffff", "2\n", true),
        ("000001bfffdfffff", "1\n", false),
        ("000001bfffdfffff", "-1\n", false),
        ("000001ffffdfffff", "4\n", false),
        ("000001bfffffffff", "4\n", false),
    ] {
        let status = status(capabilities);
        let changes =
            [("proc/self/status", &*status), ("proc/sys/kernel/perf_event_paranoid", paranoid)];
        let lacks = survey(host(&changes).path(), &[1, 2]);
        let found = names(&lacks).contains(&"counter-rights");
        assert_eq!(found, lacking, "{capabilities} {paranoid}");
    }
    let folder = host(&[]);
    let devices = folder.path().join("sys/bus/event_source/devices");
    fs::rename(devices.join("cpu"), devices.join("cpu_core")).expect("renamed");
    assert_eq!(survey(folder.path(), &[1, 2]), []);
    fs::remove_dir_all(devices).expect("removed");
    fs::remove_file(folder.path().join("proc/sys/kernel/perf_event_paranoid")).expect("removed");
    let lacks = survey(folder.path(), &[1, 2]);
    assert_eq!(names(&lacks), ["counter", "counter-rights"]);
    assert!(lacks.iter().all(|it| it.effect == Effect::PreventsLimits && !it.help.is_empty()));
}

/// The help says what to do: nothing can be done about a processor.
#[test]
fn ways_of_the_cache_need_a_processor_that_divides_it_and_mounted_files() {
    let folder = host(&[]);
    fs::remove_dir_all(folder.path().join("sys/fs/resctrl")).expect("removed");
    for (filesystems, help) in [
        ("nodev\tproc\n", "a processor with"),
        ("nodev\tproc\nnodev\tresctrl\n", "`mount -t resctrl"),
    ] {
        fs::write(folder.path().join("proc/filesystems"), filesystems).expect("a file");
        let lacks = survey(folder.path(), &[1, 2]);
        assert_eq!((names(&lacks), lacks[0].effect), (vec!["resctrl"], Effect::PreventsWays));
        assert!(lacks[0].help.starts_with(help), "{}", lacks[0].help);
    }
    fs::create_dir_all(folder.path().join("sys/fs/resctrl/info")).expect("a folder");
    assert_eq!(names(&survey(folder.path(), &[1, 2])), ["resctrl-rights"]);
}

/// What pins memory keeps it from being moved.
#[test]
fn compaction_weakens_colours_only_where_memory_cannot_be_pinned() {
    let compaction = ("proc/sys/vm/compact_unevictable_allowed", "1\n");
    for (disabled, lacking) in [("0\n", None), ("1\n", None), ("2\n", Some("compaction"))] {
        let folder = host(&[compaction, ("proc/sys/kernel/io_uring_disabled", disabled)]);
        let lacks = survey(folder.path(), &[1, 2]);
        assert_eq!(names(&lacks).first().copied(), lacking, "{disabled}");
    }
}

#[test]
fn a_real_time_limit_counts_from_the_priority_that_is_used() {
    let user = "CapEff:\t0000000000200000\nCpus_allowed_list:\t0-3\n";
    let cases: [(&str, &[&str]); 4] =
        [("79", &["real-time-rights"]), ("80", &[]), ("99", &[]), ("unlimited", &[])];
    for (limit, lacking) in cases {
        let limits = format!(
            "Max locked memory     unlimited unlimited bytes\nMax realtime priority {limit} 99\n"
        );
        let folder = host(&[("proc/self/status", user), ("proc/self/limits", &limits)]);
        assert_eq!(names(&survey(folder.path(), &[1, 2])), lacking, "{limit}");
    }
}

#[test]
fn all_lacks_are_told_at_once_and_those_that_prevent_runs_first() {
    let folder = host(&[
        ("sys/devices/system/cpu/smt/active", "1\n"),
        ("sys/devices/system/cpu/online", "0-1\n"),
        ("proc/stat", "cpu  0 0 0 0 0 0 0 1\n"),
    ]);
    fs::remove_file(folder.path().join("dev/kvm")).expect("it was there");
    let lacks = survey(folder.path(), &[1, 5, 6]);
    assert_eq!(names(&lacks), ["kvm", "cpus", "smt", "steal"]);
    assert!(lacks[1].found.contains("CPUs 5, 6"), "{}", lacks[1].found);
}

#[test]
fn a_device_file_without_a_driver_is_no_matter_of_rights() {
    let folder = host(&[]);
    let file = folder.path().join("dev/kvm");
    fs::remove_file(&file).expect("it was there");
    // A socket cannot be opened either, with the same error as such a file.
    let _socket = UnixListener::bind(&file).expect("a socket");
    let lacks = survey(folder.path(), &[1, 2]);
    assert_eq!(names(&lacks), ["kvm"]);
    assert!(lacks[0].found.contains("no driver"), "{}", lacks[0].found);
}

#[test]
fn a_folder_without_files_is_a_host_without_kvm() {
    let folder = tempfile::tempdir().expect("a folder");
    let all = ["kvm", "pagemap", "counter", "counter-rights", "resctrl", "preempt-rt"];
    assert_eq!(names(&survey(folder.path(), &[1])), all);
    // This host has files, whatever they say.
    let _ = survey(Path::new("/"), &[]);
}
