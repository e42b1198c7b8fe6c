//! Threads that may make only the system calls of threads with VCPUs.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::io::ErrorKind;
use std::os::unix::process::ExitStatusExt;
use std::panic::catch_unwind;
use std::process::{Command, Output};
use std::thread;
use std::time::Duration;

use vmm::{RealTime, SystemCalls, now};

/// What a thread does, by the name that the test gives its process.
const ACTS: [(&str, fn()); 7] = [
    ("change a file", || drop(std::fs::remove_file("/proc/no-file"))),
    ("execute", || drop(Command::new("/bin/true").spawn())),
    ("connect", || drop(std::net::TcpStream::connect("127.0.0.1:1"))),
    ("ioctl", || drop(rustix::termios::tcgetattr(std::io::stderr()))),
    ("output", || {
        let _ = rustix::io::write(std::io::stdout(), b"words");
    }),
    ("other process", || {
        let _ = rustix::process::test_kill_process(rustix::process::Pid::INIT);
    }),
    ("all that it needs", || {
        // More than a heap has without asking for more, and a panic with its text.
        drop(vec![1u8; 64 << 20]);
        assert!(catch_unwind(|| panic!("nothing is right")).is_err());
        let refused = std::fs::File::open("/proc/self/status").expect_err("files are for others");
        assert_eq!(refused.kind(), ErrorKind::PermissionDenied);
        thread::yield_now();
    }),
];

const SIGSYS: i32 = 31;
const ACT: &str = "BULKHEAD_TEST_ACT";

/// Runs an act in a process of its own, in a thread with a filter.
fn ran(act: &str) -> Output {
    let this = std::env::current_exe().expect("this program");
    let mut command = Command::new(this);
    command.args(["--exact", "in_a_process_of_its_own", "--nocapture", "--ignored"]);
    command.env(ACT, act).env("RUST_BACKTRACE", "1").output().expect("it starts")
}

#[test]
#[ignore = "the other tests start it"]
fn in_a_process_of_its_own() {
    let name = std::env::var(ACT).expect("an act");
    let (_, act) = ACTS.iter().find(|(it, _)| *it == name).expect("an act");
    let calls = SystemCalls::new(None).expect("a filter");
    let thread = thread::spawn(move || {
        calls.enter().expect("Linux has filters");
        act();
    });
    thread.join().expect("it ends");
    println!("it has ended");
}

#[test]
fn other_calls_end_the_process_with_a_message() {
    for (act, call) in [
        ("change a file", 87),
        ("connect", 41),
        ("ioctl", 16),
        ("output", 1),
        ("other process", 62),
    ] {
        let output = ran(act);
        let [out, err] = [&output.stdout, &output.stderr].map(|it| String::from_utf8_lossy(it));
        assert_eq!(output.status.code(), Some(2), "{act}: {out}{err}");
        assert!(err.contains(&format!("made system call {call}, ")), "{act}: {err}");
        assert!(err.ends_with("no VM runs any more, and there are no results\n"), "{act}: {err}");
        assert!(!out.contains("it has ended") && !out.contains("words"), "{act}: {out}");
    }
}

/// The C library blocks signals while it starts a program, so that nothing can be said.
#[test]
fn calls_while_signals_are_blocked_end_the_process_without_a_message() {
    let output = ran("execute");
    assert_eq!(output.status.signal(), Some(SIGSYS), "{output:?}");
    assert!(!String::from_utf8_lossy(&output.stdout).contains("it has ended"));
}

#[test]
fn threads_allocate_panic_and_end_as_before() {
    let output = ran("all that it needs");
    let [out, err] = [&output.stdout, &output.stderr].map(|it| String::from_utf8_lossy(it));
    assert!(output.status.success() && out.contains("it has ended"), "{out}{err}");
    assert!(err.contains("nothing is right"), "{err}");
}

/// The calls of threads with VCPUs, but for those of KVM.
#[test]
fn alarms_and_kicks_work_as_before() {
    let calls = SystemCalls::new(None).expect("a filter");
    let thread = thread::spawn(move || {
        let thread = match RealTime::enter(1, 0) {
            Ok(thread) => thread,
            Err(error) => return eprintln!("skipped: {error}"),
        };
        let mut alarm = thread.alarm().expect("an alarm");
        calls.enter().expect("Linux has filters");
        let start = now();
        alarm.set(Some(start + 2_000_000));
        thread.wait();
        assert!(now() >= start + 2_000_000);
        thread.kick().kick();
        thread.wait();
        thread.kick().kick();
        thread.take();
    });
    let start = std::time::Instant::now();
    while !thread.is_finished() {
        assert!(start.elapsed() < Duration::from_secs(20), "it waits for ever");
        thread::sleep(Duration::from_millis(2));
    }
    thread.join().expect("it ends well");
}
