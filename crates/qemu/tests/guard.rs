//! No process outlives its session. A shell script stands in for QEMU.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use qemu::{Board, Error, Exit, LogFile, Machine, Next, Options, Session};
use tempfile::TempDir;

const SOON: Duration = Duration::from_secs(10);

const FAKE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fake-qemu.sh");
const OLD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/old-qemu.sh");

/// A QEMU that does what `script` says.
struct Fake {
    folder: TempDir,
    script: String,
}

impl Fake {
    fn new(script: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("image"), "image").expect("an image");
        let pid = folder.path().join("pid");
        Self { script: format!("echo $$ > {}; {script}", pid.display()), folder }
    }

    fn options(&self) -> Options {
        Options {
            program: Some(FAKE.into()),
            log_file: Some(LogFile::named(self.folder.path().join("log"))),
            arguments: vec![self.script.clone()],
            ..Options::default()
        }
    }

    fn start(&self, options: &Options) -> Session {
        Machine::start(&Board::virt(), &self.folder.path().join("image"), options)
            .expect("the script starts")
    }

    fn process(&self) -> PathBuf {
        let pid = std::fs::read_to_string(self.folder.path().join("pid")).expect("a pid");
        Path::new("/proc").join(pid.trim())
    }
}

#[test]
fn dropping_the_session_kills_the_process() {
    let fake = Fake::new("echo up; exec sleep 600");
    let mut session = fake.start(&fake.options());
    session.wait_for("up", SOON).expect("the script runs");
    let process = fake.process();
    assert!(process.exists());
    drop(session);
    assert!(!process.exists());
}

#[test]
fn ending_lets_the_process_write_its_results() {
    let fake = Fake::new("trap 'echo results; exit 0' TERM; echo up; while :; do sleep 0.01; done");
    let mut session = fake.start(&fake.options());
    session.wait_for("up", SOON).expect("the script runs");
    let outcome = session.end(SOON);
    assert_eq!((outcome.exit, outcome.log.as_str()), (Exit::Code(0), "up\nresults\n"));
    assert!(!fake.process().exists());

    let stubborn = Fake::new("trap '' TERM; echo up; while :; do sleep 0.01; done");
    let mut session = stubborn.start(&stubborn.options());
    session.wait_for("up", SOON).expect("the script runs");
    assert_eq!(session.end(Duration::from_millis(200)).exit, Exit::TimedOut);
    assert!(!stubborn.process().exists());
}

#[test]
fn timeout_kills_the_process_though_nobody_waits_for_it() {
    let fake = Fake::new("echo up; exec sleep 600");
    let options = Options { timeout: Some(Duration::from_millis(300)), ..fake.options() };
    let mut session = fake.start(&options);
    session.wait_for("up", SOON).expect("the script runs");
    let process = fake.process();
    let deadline = Instant::now() + SOON;
    while process.exists() {
        assert!(Instant::now() < deadline, "the process is still there");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(session.finish(SOON).exit, Exit::TimedOut);
}

#[test]
fn what_a_process_writes_when_its_time_is_over_is_kept() {
    let polite = "trap 'echo results; exit 0' TERM; echo up; while :; do sleep 0.01; done";
    for script in [polite, "trap '' TERM; echo up; while :; do sleep 0.01; done"] {
        let fake = Fake::new(script);
        let options = Options { timeout: Some(Duration::from_millis(300)), ..fake.options() };
        let mut session = fake.start(&options);
        session.wait_for("up", SOON).expect("the script runs");
        let outcome = session.finish(SOON);
        assert_eq!(outcome.exit, Exit::TimedOut);
        assert_eq!(outcome.log.contains("results"), script == polite, "{outcome}");
        assert!(!fake.process().exists());
    }
}

#[test]
fn session_may_outlive_the_thread_that_started_it() {
    let fake = Fake::new("echo up; read line; echo got $line");
    let options = fake.options();
    let mut session =
        std::thread::scope(|scope| scope.spawn(|| fake.start(&options)).join().expect("started"));
    std::thread::sleep(Duration::from_millis(100));
    session.wait_for("up", SOON).expect("the script still runs");
    session.send(b"word\n");
    let outcome = session.finish(SOON);
    assert_eq!((outcome.exit, outcome.log.as_str()), (Exit::Code(0), "up\ngot word\n"));
}

#[test]
fn finish_kills_what_does_not_end() {
    let fake = Fake::new("while :; do echo noise; done");
    let session = fake.start(&fake.options());
    let outcome = session.finish(Duration::from_millis(300));
    assert_eq!(outcome.exit, Exit::TimedOut);
    assert!(!fake.process().exists());
}

#[test]
fn wait_for_goes_on_where_it_stopped_and_next_gives_the_rest() {
    let fake = Fake::new("printf 'one two one three'; exec sleep 600");
    let mut session = fake.start(&fake.options());
    assert_eq!(session.wait_for("one", SOON).expect("first"), "one");
    assert_eq!(session.wait_for("one", SOON).expect("second"), " two one");
    assert!(matches!(session.next(SOON), Next::Output(chunk) if chunk.bytes == b" three"));
    let error = session.wait_for("four", Duration::from_millis(100)).expect_err("no four");
    let message = error.to_string();
    assert!(matches!(error, Error::Timeout { .. }));
    assert!(message.contains("`four` did not appear within 0.1 s"), "{message}");
    assert!(message.contains("one two one three"), "{message}");
    assert!(message.contains("log: "), "{message}");
}

#[test]
fn own_errors_of_qemu_are_shown() {
    let fake = Fake::new("echo 'qemu: no such board' >&2; exit 1");
    let mut session = fake.start(&fake.options());
    let error = session.wait_for("ready", SOON).expect_err("it ends");
    let message = error.to_string();
    assert!(message.starts_with("QEMU ended (exit status 1) before `ready` appeared"), "{message}");
    assert!(message.contains("qemu: no such board"), "{message}");
}

#[test]
fn log_file_has_the_whole_console() {
    let fake = Fake::new("echo first; echo last");
    let outcome = fake.start(&fake.options()).finish(SOON);
    let log = std::fs::read_to_string(fake.folder.path().join("log")).expect("a log");
    assert_eq!((log.as_str(), outcome.log.as_str()), ("first\nlast\n", "first\nlast\n"));
}

#[test]
fn old_and_missing_qemus_are_refused_with_help() {
    let fake = Fake::new("");
    let image = fake.folder.path().join("image");
    for (program, part) in [(OLD, "is QEMU 7.2, 10.0 or newer"), ("/no/qemu", "cannot start")] {
        let options = Options { program: Some(program.into()), ..Options::default() };
        let error = Machine::start(&Board::virt(), &image, &options).expect_err("refused");
        let message = error.to_string();
        assert!(message.contains(part), "{message}");
        assert!(message.contains("help: ") && message.contains("backports"), "{message}");
    }
}
