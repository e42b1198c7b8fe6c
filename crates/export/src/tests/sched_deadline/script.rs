//! The script, executed on a host that is a folder, with a `chrt` that writes down how it is called.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};

use tempfile::TempDir;

use super::*;

const CHRT: &str = "#!/bin/sh\n\
    case $1 in\n\
    --help) echo --sched-runtime ;;\n\
    --pid) echo SCHED_DEADLINE ;;\n\
    *) echo \"$@\" >>\"$ROOT/chrt.log\" ;;\n\
    esac\n";
/// Files of the kernel's own do not keep it from removing a group.
const RMDIR: &str = "#!/bin/sh\nexec rm -r \"$1\"\n";

/// A host with the VMs of [`Host::plan`], under QEMU since a moment ago.
struct Host(TempDir);

impl Host {
    fn new() -> Self {
        let host = Self(tempfile::tempdir().expect("a folder"));
        for (path, text) in [
            ("sys/fs/cgroup/cgroup.controllers", "cpuset cpu io\n"),
            ("sys/fs/cgroup/cgroup.subtree_control", "cpu\n"),
            ("sys/fs/cgroup/user.slice/cgroup.procs", ""),
            ("sys/devices/system/cpu/online", "0-2,4\n"),
            ("proc/sys/kernel/sched_deadline_period_min_us", "100\n"),
            ("proc/sys/kernel/sched_deadline_period_max_us", "4194304\n"),
            ("proc/sys/kernel/sched_rt_runtime_us", "950000\n"),
            ("proc/sys/kernel/sched_rt_period_us", "1000000\n"),
            ("chrt.log", ""),
        ] {
            host.write(path, text);
        }
        for (path, text) in [("chrt", CHRT), ("id", "#!/bin/sh\necho 0\n"), ("rmdir", RMDIR)] {
            host.program(path, text);
        }
        host.qemu(100, "a,debug-threads=on", &["CPU 0/KVM"]);
        host.qemu(200, "guest=b,debug-threads=on", &["CPU 0/KVM", "CPU 1/KVM"]);
        // A process that has started QEMU has the same arguments.
        host.qemu(300, "a,debug-threads=on", &[]);
        host
    }

    /// The VM `a` has CPU 1 with the first VCPU of `b`, and the second one has CPU 2 alone.
    fn plan() -> Plan {
        let b = vcpu(1, 1, ["5ms", "10ms"]) + "[[vm.vcpu]]\npcpu = 2\n";
        plan(QEMU, &[&vm("a", &vcpu(1, 2, ["4ms", "20ms"])), &vm("b", &b)])
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    fn program(&self, name: &str, text: &str) {
        let path = format!("bin/{name}");
        self.write(&path, text);
        fs::set_permissions(self.path(&path), fs::Permissions::from_mode(0o755)).expect("rights");
    }

    /// A process with the thread of the same number, and threads of these names behind it.
    fn qemu(&self, process: u32, name: &str, threads: &[&str]) {
        let folder = format!("proc/{process}");
        self.write(
            &format!("{folder}/cmdline"),
            &format!("qemu-system-x86_64\0-name\0{name}\0-smp\x002\0"),
        );
        self.write(&format!("{folder}/cgroup"), "0::/user.slice\n");
        let main = [(process, "qemu-system-x86")];
        let others = threads.iter().zip(process + 1..).map(|(name, thread)| (thread, *name));
        for (thread, name) in main.into_iter().chain(others) {
            self.write(&format!("{folder}/task/{thread}/comm"), &format!("{name}\n"));
            self.write(&format!("{folder}/task/{thread}/cgroup"), "0::/user.slice\n");
        }
    }

    fn command(&self, plan: &Plan, arguments: &[&str]) -> Command {
        let export = written(plan, Target::SchedDeadline);
        self.write("deadline.sh", text(&export, "deadline.sh"));
        let mut command = Command::new("sh");
        command.arg(self.path("deadline.sh")).args(arguments).env("ROOT", self.0.path());
        let path = format!("{}:/usr/bin:/bin", self.path("bin").display());
        command.env("PATH", path).env_remove("CPUS");
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(&Self::plan(), arguments).output().expect("a shell")
    }

    #[track_caller]
    fn assert_refused(&self, output: &Output, part: &str) {
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert_has(&error, &[part]);
        assert_eq!(self.read("chrt.log"), "");
        assert_eq!(self.groups(), 0);
        assert_eq!(self.read("sys/fs/cgroup/cgroup.subtree_control"), "cpu\n");
    }

    /// Returns the number of groups of the script.
    fn groups(&self) -> usize {
        let entries = fs::read_dir(self.path("sys/fs/cgroup")).expect("a folder");
        let names = entries.map(|entry| entry.expect("an entry").file_name());
        names.filter(|name| name.to_string_lossy().starts_with("bulkhead")).count()
    }

    /// Says where the kernel has put what the script has moved.
    fn moved(&self) {
        for (path, group) in [
            ("100", ""),
            ("200", ""),
            ("100/task/101", "bulkhead-s-cpu1"),
            ("200/task/201", "bulkhead-s-cpu1"),
            ("200/task/202", "bulkhead-s-cpu2"),
        ] {
            self.write(&format!("proc/{path}/cgroup"), &format!("0::/{group}\n"));
        }
    }
}

#[track_caller]
fn assert_done(output: &Output) {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

const SET: &str = "--deadline --reset-on-fork --sched-runtime 4000000 --sched-deadline 20000000 --sched-period 20000000 --pid 0 101\n\
                   --deadline --reset-on-fork --sched-runtime 5000000 --sched-deadline 10000000 --sched-period 10000000 --pid 0 201\n";

#[test]
fn threads_get_what_the_plan_says_and_nothing_is_done_twice() {
    let host = Host::new();
    assert_done(&host.run(&[]));
    assert_eq!(host.read("chrt.log"), SET);
    for (file, expected) in [
        ("cgroup.subtree_control", "+cpuset\n"),
        ("cgroup.procs", "100\n200\n"),
        ("bulkhead-s-cpu1/cgroup.type", "threaded\n"),
        ("bulkhead-s-cpu1/cpuset.cpus", "1\n"),
        ("bulkhead-s-cpu1/cpuset.cpus.partition", "root\n"),
        ("bulkhead-s-cpu1/cgroup.threads", "101\n201\n"),
        ("bulkhead-s-cpu2/cgroup.threads", "202\n"),
    ] {
        assert_eq!(host.read(&format!("sys/fs/cgroup/{file}")), expected, "{file}");
    }

    host.moved();
    host.write("sys/fs/cgroup/cgroup.subtree_control", "cpuset cpu\n");
    assert_done(&host.run(&[]));
    // The same parameters change nothing.
    assert_eq!(host.read("chrt.log"), SET.repeat(2));
    assert_eq!(host.read("sys/fs/cgroup/cgroup.subtree_control"), "cpuset cpu\n");
    assert_eq!(host.read("sys/fs/cgroup/cgroup.procs"), "100\n200\n");
    assert_eq!(host.read("sys/fs/cgroup/bulkhead-s-cpu1/cgroup.threads"), "101\n201\n");
}

#[test]
fn a_check_changes_nothing() {
    let host = Host::new();
    assert_done(&host.run(&["--check"]));
    assert_eq!((host.read("chrt.log").as_str(), host.groups()), ("", 0));
    assert!(!host.path("run").exists());
}

#[test]
fn what_is_taken_back_is_what_was_changed() {
    let host = Host::new();
    // Nothing was.
    assert_done(&host.run(&["--undo"]));
    assert_done(&host.run(&[]));
    host.moved();
    host.write("chrt.log", "");
    // Ended meanwhile.
    fs::remove_dir_all(host.path("proc/200")).expect("it was there");
    assert_done(&host.run(&["--undo"]));
    assert_eq!(
        host.read("chrt.log"),
        "--other --pid 0 101\n--other --pid 0 201\n--other --pid 0 202\n"
    );
    assert_eq!(host.groups(), 0);
    assert_eq!(host.read("sys/fs/cgroup/user.slice/cgroup.procs"), "100\n");
    assert_eq!(host.read("sys/fs/cgroup/cgroup.subtree_control"), "-cpuset\n");
    assert!(!host.path("run/bulkhead-deadline-s").exists());
}

#[test]
fn what_a_host_lacks_is_said_and_nothing_is_changed() {
    for (path, text, part) in [
        ("sys/fs/cgroup/cgroup.controllers", "cpu io\n", "no cgroup v2 with cpusets"),
        ("sys/devices/system/cpu/online", "0-1\n", "CPU 2 is not online"),
        ("sys/devices/system/cpu/online", "1-2\n", "no CPU is left for Linux"),
        ("proc/sys/kernel/sched_deadline_period_min_us", "", "older than 5.6"),
        (
            "proc/sys/kernel/sched_deadline_period_min_us",
            "10001\n",
            "VCPU 0 of `b` is too short for this Linux",
        ),
        (
            "proc/sys/kernel/sched_deadline_period_max_us",
            "19999\n",
            "sched_deadline_period_max_us=20000",
        ),
        ("proc/sys/kernel/sched_rt_runtime_us", "-1\n", "does not test whether budgets fit"),
        ("proc/sys/kernel/sched_rt_runtime_us", "699999\n", "sched_rt_runtime_us=700000"),
        ("proc/100/cmdline", "qemu\0-name\0aa\0", "no QEMU for `a`"),
        (
            "proc/100/task/101/comm",
            "CPU 0/TCG\n",
            "no QEMU for `a` with threads such as `CPU 0/KVM`",
        ),
        ("proc/300/task/301/comm", "CPU 0/KVM\n", "several processes are the VM `a`: 100 300"),
        (
            "proc/200/task/202/comm",
            "CPU 10/KVM\n",
            "has not one thread `CPU 1/KVM`: start QEMU with -smp 2",
        ),
        ("proc/200/task/203/comm", "CPU 1/KVM\n", "has not one thread `CPU 1/KVM`"),
    ] {
        let host = Host::new();
        host.write(path, text);
        let output = host.run(&[]);
        host.assert_refused(&output, part);
        host.assert_refused(&output, "nothing was changed");
    }
    for (name, program, part) in [
        ("id", "#!/bin/sh\necho 1000\n", "only root"),
        ("chrt", "#!/bin/sh\necho --fifo\n", "this chrt knows no SCHED_DEADLINE"),
    ] {
        let host = Host::new();
        host.program(name, program);
        host.assert_refused(&host.run(&[]), part);
    }
}

/// Linux 6.12 keeps 5 % of each CPU for threads without priorities.
#[test]
fn the_fair_server_counts() {
    let host = Host::new();
    host.write("proc/sys/kernel/sched_rt_runtime_us", "749999\n");
    assert_done(&host.run(&["--check"]));
    let server = "sys/kernel/debug/sched/fair_server/cpu1";
    host.write(&format!("{server}/runtime"), "50000000\n");
    host.write(&format!("{server}/period"), "1000000000\n");
    host.assert_refused(&host.run(&[]), "sched_rt_runtime_us=750000");
    host.write(&format!("{server}/runtime"), "400000000\n");
    host.assert_refused(&host.run(&[]), "echo 0 > ");
}

#[test]
fn a_user_chooses_cpus() {
    let host = Host::new();
    let with =
        |cpus: &str| host.command(&Host::plan(), &[]).env("CPUS", cpus).output().expect("a shell");
    for (cpus, part) in [
        ("1", "one CPU for each of the PCPUs 1 2"),
        ("1 2 3", "one CPU for each"),
        ("1 1", "has CPU 1 twice"),
        ("1 x", "`x` is no number"),
        ("1 3", "CPU 3 is not online"),
    ] {
        host.assert_refused(&with(cpus), part);
    }
    host.assert_refused(&host.run(&["--help"]), "usage: deadline.sh");
    assert_done(&with("4 0"));
    assert_eq!(host.read("sys/fs/cgroup/bulkhead-s-cpu4/cgroup.threads"), "101\n201\n");
}

#[test]
fn a_refusal_of_linux_has_a_reason() {
    let host = Host::new();
    host.program("chrt", &CHRT.replace("*)", "*) exit 1;"));
    let output = host.run(&[]);
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8_lossy(&output.stderr);
    assert_has(&error, &["Linux refuses 4000000 ns in 20000000 ns for thread 101 of process 100"]);
}

/// A process that does nothing, until this is dropped.
struct Sleeper(Child);

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The process is real, and so is `chrt`; only files are not.
#[test]
fn linux_takes_budget_and_period() {
    let sleeper = Sleeper(Command::new("sleep").arg("60").spawn().expect("it starts"));
    let process = sleeper.0.id();
    let chrt =
        |arguments: &[&str]| Command::new("chrt").args(arguments).arg(process.to_string()).output();
    let times = [
        "--sched-runtime",
        "2000000",
        "--sched-deadline",
        "20000000",
        "--sched-period",
        "20000000",
    ];
    match chrt(&[&["--deadline"], &times[..], &["--pid", "0"]].concat()) {
        Ok(tried) if tried.status.success() => {}
        other => return eprintln!("skipped: no thread gets SCHED_DEADLINE here: {other:?}"),
    }
    let host = Host::new();
    fs::remove_file(host.path("bin/chrt")).expect("it was there");
    fs::remove_dir_all(host.path("proc/100")).expect("it was there");
    host.qemu(process - 1, "a", &["CPU 0/KVM"]);
    let plan = alone(["1.5ms", "15ms"]);
    assert_done(&host.command(&plan, &[]).output().expect("a shell"));
    let shown = |arguments: &[&str]| {
        String::from_utf8(chrt(arguments).expect("chrt").stdout).expect("text")
    };
    assert_has(&shown(&["--pid"]), &["SCHED_DEADLINE", "1500000/15000000/15000000"]);
    assert_done(&host.command(&plan, &["--undo"]).output().expect("a shell"));
    assert_has(&shown(&["--pid"]), &["SCHED_OTHER"]);
}

#[test]
fn shells_and_shellcheck_accept_the_script() {
    let host = Host::new();
    host.command(&Host::plan(), &[]);
    let script: &Path = &host.path("deadline.sh");
    for (program, arguments) in
        [("sh", &["-n"][..]), ("bash", &["-n"]), ("shellcheck", &["--severity=style"])]
    {
        match Command::new(program).args(arguments).arg(script).output() {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                eprintln!("skipped: there is no {program}")
            }
            result => {
                let output = result.expect("it runs");
                assert!(
                    output.status.success(),
                    "{program}: {}",
                    String::from_utf8_lossy(&output.stdout)
                );
            }
        }
    }
}
