//! `bulkhead run` with a script in place of QEMU.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{chown, symlink};
use std::process::Stdio;

use testing::{Result, Sandbox, eventually, sandbox, signal};

/// A run in which all is well.
const GOOD: &str = "\
echo '[bulkhead] ready'; echo '[linux] booting'; echo '[rt   ] rt: hello'; echo '[linux] shell'; \
echo '[rt   ] rt: task control period_us=1000 jobs=10 misses=0 response_min_ns=1500 response_mean_ns=2000 response_max_ns=12345'; \
echo '[bulkhead] summary vm=linux state=off reason=- restarts=0 exits=1234 irqs=56'; \
echo '[bulkhead] summary vm=rt state=off reason=- restarts=1 exits=99 irqs=7'; \
echo '[bulkhead] power off'";

#[test]
fn good_run_shows_lines_and_summary() {
    let sandbox = sandbox!();
    let result = sandbox.run(GOOD, &["--until-off"]);
    result.assert_status(0);
    let (console, summary) = result.stdout.split_once("\n\n").expect("console and summary");
    assert!(console.ends_with("[linux] shell\n[rt   ] rt: task control period_us=1000 jobs=10 misses=0 response_min_ns=1500 response_mean_ns=2000 response_max_ns=12345\n[bulkhead] power off"), "{console}");
    let words: Vec<Vec<&str>> =
        summary.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(words[1][..6], ["linux", "off", "0", "1234", "56", "2"]);
    assert_eq!(words[2][..6], ["rt", "off", "1", "99", "7", "2"]);
    assert_eq!(
        words[4].join(" "),
        "times of this host, which prove nothing about the machine: `--deterministic` gives those"
    );
    assert_eq!(words[6][..6], ["rt", "control", "1000", "us", "10", "0"]);
    assert!(summary.contains("12.345 us") && summary.ends_with("all is well\n"), "{summary}");
    assert!(!result.stdout.contains('\x1b'), "no colours without a terminal");
    assert!(sandbox.path("cache/bulkhead/test.log").exists());
    let files = std::fs::read_dir(sandbox.path("cache/bulkhead")).expect("a folder").count();
    assert_eq!(files, 1, "the image is removed");
}

#[test]
fn run_as_json_is_one_document_with_units_in_its_fields() {
    let sandbox = sandbox!();
    let result = sandbox.run(GOOD, &["--json", "--log", "all.log"]);
    result.assert_status(0);
    let document = result.json();
    assert_eq!(document["result"], "ok");
    assert_eq!(document["log_file"], "all.log");
    assert_eq!(document["vms"][0]["exits"], 1234);
    assert_eq!(document["vms"][1]["tasks"][0]["response_max_ns"], 12345);
    assert!(document["elapsed_ms"].is_u64() && document["vms"][0]["first_line_ms"].is_u64());
    assert!(result.stderr.contains("[linux] shell"), "the console is on the standard error");
    let log = std::fs::read_to_string(sandbox.path("all.log")).expect("a log");
    assert!(log.contains("summary vm=rt"), "{log}");
}

#[test]
fn runs_that_are_not_well_have_status_1_and_say_why() {
    let sandbox = sandbox!();
    let stopped = GOOD.replace("vm=rt state=off reason=-", "vm=rt state=stopped reason=bad-access");
    for (script, arguments, part) in [
        (stopped.as_str(), &[][..], "VM `rt` was stopped: bad-access"),
        (&GOOD.replace("misses=0", "misses=3"), &[], "task `control` of VM `rt` missed 3 of 10"),
        (
            &GOOD.replace("vm=linux state=off", "vm=linux state=running"),
            &["--until-off"],
            "`linux` did not",
        ),
        ("echo '[bulkhead] ready'", &[], "without power-off"),
        (
            "echo '[bulkhead] plan: no good'; echo '[bulkhead] no VM was started'",
            &[],
            "the hypervisor started no VM: plan: no good",
        ),
        (
            "echo up; echo oh >&2; exit 3",
            &[],
            "QEMU says: oh\nnot well: QEMU ended with exit status 3",
        ),
    ] {
        let result = sandbox.run(script, arguments);
        result.assert_status(1);
        assert!(result.stdout.contains(part), "`{part}` is not in: {}", result.stdout);
        assert!(result.stdout.contains("log: "), "{}", result.stdout);
    }
    let running = GOOD.replace("vm=linux state=off", "vm=linux state=running");
    sandbox.run(&running, &[]).assert_status(0);
}

#[test]
fn arguments_that_qemu_refuses_are_bad_input() {
    let sandbox = sandbox!();
    let result = sandbox.run("echo \"no $1\" >&2; exit 3", &["--qemu-arg=-nosuch"]);
    result.assert_refused(&[
        "QEMU did not start the machine: it ended with exit status 3",
        "QEMU says: no ",
    ]);
}

#[test]
fn timeout_ends_the_run_with_status_1() {
    let sandbox = sandbox!();
    let result = sandbox.run("echo '[linux] up'; exec sleep 600", &["--timeout", "300ms"]);
    result.assert_status(1);
    assert!(result.stdout.contains("it timed out after "), "{}", result.stdout);
    assert!(sandbox.qemu_has_gone());
}

#[test]
fn ctrl_c_ends_the_run_cleanly() {
    let sandbox = sandbox!();
    for (name, status) in [("INT", 130), ("TERM", 143)] {
        let mut child = sandbox.start("echo '[bulkhead] ready'; exec sleep 600", &[]);
        let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut shown = String::new();
        stdout.read_line(&mut shown).expect("a line");
        signal(&child, name);
        stdout.read_to_string(&mut shown).expect("the rest");
        assert_eq!(child.wait().expect("it ends").code(), Some(status), "{shown}");
        assert!(shown.starts_with("[bulkhead] ready\n"), "{shown}");
        assert!(shown.contains("\nlinux  running"), "{shown}");
        assert!(sandbox.qemu_has_gone());
        let files = std::fs::read_dir(sandbox.path("cache/bulkhead")).expect("a folder").count();
        assert_eq!(files, 1, "the image is removed");
        std::fs::remove_file(sandbox.path("pid")).expect("removed");
    }
}

#[test]
fn qemu_dies_with_a_killed_command() {
    let sandbox = sandbox!();
    let mut child = sandbox.start("exec sleep 600", &[]);
    child.kill().expect("killed");
    child.wait().expect("it ends");
    eventually("QEMU ends", || sandbox.qemu_has_gone());

    // Nobody was left to remove the image: the next run does.
    let images = || {
        let files = std::fs::read_dir(sandbox.path("cache/bulkhead")).expect("a folder");
        let names = files.map(|file| file.expect("a file").file_name().into_string());
        names.filter(|name| name.as_ref().is_ok_and(|name| name.ends_with(".img"))).count()
    };
    assert_eq!(images(), 1);
    sandbox.run(GOOD, &[]).assert_status(0);
    assert_eq!(images(), 0);
}

#[test]
fn reader_that_goes_away_ends_the_run() {
    let sandbox = sandbox!();
    let mut child = sandbox.start("while :; do echo '[linux] noise'; sleep 0.01; done", &[]);
    let mut first = String::new();
    BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut first).expect("a line");
    let result = Result::of(child.wait_with_output().expect("it ends"));
    assert_eq!((first.as_str(), result.stderr.as_str()), ("[linux] noise\n", ""));
    assert!(sandbox.qemu_has_gone());
}

#[test]
fn console_of_a_vm_gets_the_keys_and_can_be_left() {
    let sandbox = sandbox!();
    let script = "echo early; sleep 0.2; echo '[bulkhead] ready'; exec cat";
    let mut child = sandbox
        .run_command(script, &["--console", "rt"])
        .stdin(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let mut stdout = child.stdout.take().expect("a pipe");
    stdin.write_all(b"hello\n").expect("written");
    let mut seen = Vec::new();
    while !seen.ends_with(b"hello\n") {
        let mut byte = [0];
        stdout.read_exact(&mut byte).expect("output goes on");
        seen.extend(byte);
    }
    // The second VM is brought to the front before the first key.
    assert_eq!(seen, b"early\n[bulkhead] ready\n\x1d1hello\n");
    stdin.write_all(b"\x1dq").expect("written");
    let result = Result::of(child.wait_with_output().expect("it ends"));
    result.assert_status(0);
    assert!(result.stderr.starts_with("console of `rt`: Ctrl-] q leaves"), "{}", result.stderr);
    assert!(sandbox.qemu_has_gone());
}

/// Lines of VMs that are not shown may be failures, and a user who leaves does not make good what failed.
#[test]
fn a_console_of_one_vm_hides_no_verdict() {
    let sandbox = sandbox!();
    let focus = "echo '[bulkhead] console: linux; Ctrl-] a for all VMs'";
    let script = GOOD.replacen("; echo '[linux] shell'", &format!("; {focus}"), 1);
    let result = sandbox.run(&script, &[]);
    let hidden = "failures of `rt` were not seen while the console showed another VM alone";
    assert!(
        result.stdout.ends_with(&format!("nothing went wrong, but {hidden}\n")),
        "{}",
        result.stdout
    );
    let document = sandbox.run(&script, &["--json"]).json();
    assert_eq!((&document["unseen"], &document["ok"]), (&true.into(), &true.into()));
    let junit = sandbox.run(&script, &["--format", "junit"]).stdout;
    let of_rt = junit.split("name=\"VM rt\"").nth(1).and_then(|it| it.split("</testcase>").next());
    let skipped = of_rt.is_some_and(|it| it.contains("<skipped") && it.contains("were not seen"));
    assert!(skipped, "{junit}");

    let failed = "echo '[bulkhead] ready'; echo '[linux] linux: job FAILED: no room'; exec cat";
    let mut child = sandbox
        .run_command(failed, &["--console", "rt"])
        .stdin(Stdio::piped())
        .spawn()
        .expect("the command starts");
    child.stdin.take().expect("a pipe").write_all(b"\x1dq").expect("written");
    let result = Result::of(child.wait_with_output().expect("it ends"));
    result.assert_status(1);
    assert!(result.stdout.contains("not well: VM `linux` says: job FAILED"), "{}", result.stdout);
}

#[test]
fn console_of_an_unknown_vm_lists_the_known_ones() {
    sandbox!()
        .run(GOOD, &["--console", "linus"])
        .assert_refused(&["no VM `linus`", "`linux`, `rt`"]);
}

/// It lies beside the folder of the hypervisor, whether that is named or found.
#[test]
fn the_plugin_is_found_beside_a_hypervisor_that_is_named() {
    let sandbox = sandbox!();
    std::fs::create_dir(sandbox.path("build")).expect("a folder");
    let named = sandbox.path("build/hypervisor.elf");
    std::fs::copy(sandbox.path("hypervisor.elf"), named).expect("a copy");
    let plugin = "cachescope/target/release/libbulkhead_cachescope.so";
    std::fs::create_dir_all(sandbox.path("cachescope/target/release")).expect("folders");
    sandbox.write(plugin, "a plugin");
    let run = ["run", "test.dts", "--hypervisor", "build/hypervisor.elf", "--deterministic"];
    let scope = ["--cachescope", "scope", "--qemu-arg", "echo \"$@\""];
    let mut command = sandbox.command(&[&run[..], &scope].concat());
    let result = Result::of(command.env_remove("BULKHEAD_CACHESCOPE").output().expect("it starts"));
    assert!(result.stdout.contains(plugin), "{}{}", result.stdout, result.stderr);
}

#[test]
fn missing_hypervisor_and_guest_files_say_what_to_run() {
    let sandbox = sandbox!();
    // The program itself may lie below a folder with a hypervisor: name one that is missing.
    sandbox
        .bulkhead(&["run", "test.dts", "--hypervisor", "no.elf"])
        .assert_refused(&["no.elf", "help: name build/hypervisor.elf of a checkout"]);
    sandbox
        .bulkhead(&["run", "test.dts", "--hypervisor", "rt.bin"])
        .assert_refused(&["rt.bin is not a Bulkhead hypervisor", "ELF"]);
    std::fs::remove_file(sandbox.path("rt.bin")).expect("removed");
    sandbox.run(GOOD, &[]).assert_refused(&[
        "VM `rt`",
        "kernel",
        "rt.bin",
        "help: paths are relative to",
    ]);
}

#[test]
fn hypervisor_is_found_in_the_build_folder_above() {
    let sandbox = sandbox!();
    std::fs::create_dir_all(sandbox.path("build")).expect("a folder");
    std::fs::create_dir_all(sandbox.path("systems/deep")).expect("a folder");
    std::fs::copy(sandbox.path("hypervisor.elf"), sandbox.path("build/hypervisor.elf"))
        .expect("copied");
    let result = sandbox
        .command(&["run", "../../test.dts", "--qemu-arg", GOOD])
        .current_dir(sandbox.path("systems/deep"))
        .output()
        .expect("the command starts");
    Result::of(result).assert_status(0);
    // It is that of an installation, in which nothing is written.
    assert!(
        sandbox.path("cache/bulkhead/test.log").exists() && !sandbox.path("build/run").exists()
    );
    std::fs::create_dir_all(sandbox.path("guests/programs")).expect("a folder");
    sandbox.write("guests/programs/Cargo.toml", "");
    sandbox.write("Makefile", "");
    sandbox.bulkhead(&["run", "test.dts", "--qemu-arg", GOOD]).assert_status(0);
    assert!(sandbox.path("build/run/test.log").exists());
}

/// Services and containers have no home, or `/`.
#[test]
fn runs_need_no_home() {
    let sandbox = sandbox!();
    let without_home = |cache: Option<&str>, home: Option<&str>, temporary: &str| {
        let mut command = sandbox.run_command(GOOD, &[]);
        command.env_remove("XDG_CACHE_HOME").env_remove("HOME");
        command.envs(cache.map(|it| ("XDG_CACHE_HOME", sandbox.path(it))));
        command.envs(home.map(|it| ("HOME", it))).env("TMPDIR", sandbox.path(temporary));
        Result::of(command.output().expect("the command starts"))
    };
    let user = rustix::process::geteuid().as_raw();
    std::fs::create_dir(sandbox.path("tmp")).expect("a folder");
    // Neither home can be written, not even by root; a relative one names nothing.
    for home in [None, Some("/dev/null"), Some("")] {
        without_home(None, home, "tmp").assert_status(0);
        let folder = sandbox.path(&format!("tmp/bulkhead-{user}"));
        assert!(folder.join("test.log").exists());
        let mode = std::os::unix::fs::MetadataExt::mode(&folder.metadata().expect("a folder"));
        assert_eq!(mode & 0o777, 0o700);
        std::fs::remove_dir_all(folder).expect("removed");
    }
    let home = sandbox.path("home");
    without_home(Some("test.dts"), home.to_str(), "tmp").assert_status(0);
    assert!(home.join(".cache/bulkhead/test.log").exists());
    without_home(Some("named"), home.to_str(), "tmp").assert_status(0);
    assert!(sandbox.path("named/bulkhead/test.log").exists());
    without_home(None, Some("/dev/null"), "nowhere").assert_refused(&[
        "there is no place for the image: /dev/null/.cache/bulkhead: ",
        "; ",
        &format!("nowhere/bulkhead-{user}: "),
        "help: name a folder that can be written in XDG_CACHE_HOME",
    ]);
}

#[test]
fn a_log_that_is_cut_off_is_not_well() {
    let sandbox = sandbox!();
    let result = sandbox.run(GOOD, &["--log", "/dev/full"]);
    result.assert_status(1);
    let said = result.stdout.matches("the log /dev/full is cut off: No space left").count();
    assert!(said == 1 && result.stdout.contains("not well: the log"), "{}", result.stdout);
    let junit = sandbox.run(GOOD, &["--log", "/dev/full", "--format", "junit"]).stdout;
    assert!(junit.contains("the log /dev/full is cut off"), "{junit}");
}

/// Where another user has `build/run`, the log is not written through a link that lies there.
#[test]
fn no_link_of_another_user_is_followed() {
    const NOBODY: u32 = 65_534;
    if !rustix::process::geteuid().is_root() {
        return eprintln!("skipped: only root can give a folder away");
    }
    let sandbox = sandbox!();
    let path = |name: &str| sandbox.path(name);
    // A checkout.
    for folder in ["build/run", "guests/programs"] {
        std::fs::create_dir_all(path(folder)).expect("a folder");
    }
    sandbox.write("Makefile", "");
    sandbox.write("guests/programs/Cargo.toml", "");
    symlink("../hypervisor.elf", path("build/hypervisor.elf")).expect("a link");
    sandbox.write("victim", "mine");
    symlink("../../victim", path("build/run/test.log")).expect("a link");
    let run = || sandbox.bulkhead(&["run", "test.dts", "--qemu-arg", GOOD]);
    let is_kept = || std::fs::read_to_string(path("victim")).is_ok_and(|it| it == "mine");
    // One of ours is not written through either.
    run().assert_refused(&["build/run/test.log: it is a symbolic link", "`--log`"]);
    assert!(is_kept());
    chown(path("build/run"), Some(NOBODY), None).expect("given away");
    run().assert_status(0);
    assert!(is_kept() && path("cache/bulkhead/test.log").exists());
}

#[test]
fn missing_qemu_says_how_to_install_it() {
    let sandbox = sandbox!();
    let output = sandbox.run_command(GOOD, &[]).env("BULKHEAD_QEMU", "/no/qemu").output();
    Result::of(output.expect("the command starts"))
        .assert_refused(&["cannot start `/no/qemu`", "apt-get install"]);
}

#[test]
fn platform_without_qemu_board_is_refused() {
    let sandbox = sandbox!();
    let mut plan = testing::files::plan();
    plan.platform.board = "breadboard".into();
    sandbox.write("test.dts", &plan.to_dts());
    sandbox
        .run(GOOD, &[])
        .assert_refused(&["no board for the platform `breadboard`", "--image-only"]);
}

#[test]
fn image_can_be_written_without_a_run() {
    let sandbox = sandbox!();
    let result = sandbox.run("echo must not run", &["--image-only", "out/test.img", "--json"]);
    result.assert_status(0);
    let image = std::fs::read(sandbox.path("out/test.img")).expect("an image");
    let contents = image::verify(&image).expect("a good image");
    let document = result.json();
    assert_eq!(document["image_bytes"], image.len());
    assert_eq!(document["blobs"][1]["name"], contents.blobs[1].name);
    assert!(sandbox.qemu().is_none());
}

/// What lies in the folder and was written beside a trace.
fn leftovers(sandbox: &Sandbox) -> Vec<String> {
    let files = std::fs::read_dir(sandbox.path("")).expect("a folder");
    let names = files.map(|file| file.expect("a file").file_name().into_string().expect("text"));
    names.filter(|name| name.starts_with(".bulkhead-") || name.ends_with(".trace")).collect()
}

#[test]
fn a_recording_without_a_run_leaves_no_file() {
    let sandbox = sandbox!();
    let mut command = sandbox.run_command(GOOD, &["--trace", "a.trace"]);
    let result = Result::of(command.env("BULKHEAD_QEMU", "/no/qemu").output().expect("it starts"));
    result.assert_refused(&["/no/qemu"]);
    assert_eq!(leftovers(&sandbox), [""; 0]);

    let mut child = sandbox.start("while echo busy; do sleep 0.05; done", &["--trace", "a.trace"]);
    drop(child.stdout.take());
    child.wait().expect("it ends when its reader goes away");
    assert_eq!(leftovers(&sandbox), [""; 0]);
}

#[test]
fn a_recording_removes_what_one_left_that_was_killed() {
    let sandbox = sandbox!();
    let mut killed = sandbox.start("while echo busy; do sleep 0.05; done", &["--trace", "a.trace"]);
    killed.kill().expect("it runs");
    killed.wait().expect("it has ended");
    let left = leftovers(&sandbox);
    assert_eq!(left.len(), 1, "{left:?}");
    let mut runs = sandbox.start("while echo busy; do sleep 0.05; done", &["--trace", "b.trace"]);
    eventually("the file of the one that was killed goes", || {
        let now = leftovers(&sandbox);
        now != left && now.len() == 1
    });
    // One that still runs keeps its file.
    let result = sandbox.run(GOOD, &["--trace", "c.trace"]);
    assert_ne!(result.status, None);
    assert!(leftovers(&sandbox).iter().any(|name| name.starts_with(".bulkhead-")));
    drop(runs.stdout.take());
    runs.wait().expect("it ends when its reader goes away");
}

#[test]
fn top_is_for_systems_that_can_run() {
    let sandbox = sandbox!();
    sandbox.bulkhead(&["top", "nowhere.toml"]).assert_refused(&["cannot read nowhere.toml"]);
    let refused = sandbox.bulkhead(&["top", "test.dts", "--json"]);
    assert_eq!(
        (refused.status, &refused.json()["errors"][0]["help"]),
        (Some(2), &"add `--once`".into())
    );
    // The console is in the log, and the summary is that of a run.
    let run = sandbox.run_command(GOOD, &["--log", "console.log"]);
    let mut top = sandbox.command(&["top"]);
    top.args(run.get_args().skip(1));
    let result = Result::of(top.output().expect("it starts"));
    assert!(
        result.stdout.contains("restarts") && !result.stdout.contains("booting"),
        "{}",
        result.stdout
    );
    let log = std::fs::read_to_string(sandbox.path("console.log")).expect("a log");
    assert!(log.contains("[linux] booting"), "{log}");
}
