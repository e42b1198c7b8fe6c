//! Consoles of VMs on sockets.

use std::fs::{self, Permissions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::Child;
use std::time::Duration;

use testing::{Result, Sandbox, eventually, sandbox, signal};

/// Starts a run with sockets in the folder `consoles`.
fn start(sandbox: &Sandbox, script: &str, arguments: &[&str]) -> Child {
    sandbox.start(script, &[&["--consoles", "consoles"], arguments].concat())
}

fn connect(sandbox: &Sandbox, vm: &str) -> UnixStream {
    let path = sandbox.path(&format!("consoles/{vm}.sock"));
    let client = UnixStream::connect(path).expect("the run listens");
    client.set_read_timeout(Some(Duration::from_secs(20))).expect("set");
    client
}

#[track_caller]
fn assert_reads(client: &mut UnixStream, expected: &str) {
    let mut read = vec![0; expected.len()];
    client.read_exact(&mut read).expect("output comes");
    assert_eq!(String::from_utf8_lossy(&read), expected);
}

fn sockets(sandbox: &Sandbox) -> usize {
    fs::read_dir(sandbox.path("consoles")).expect("a folder").count()
}

#[test]
fn clients_see_their_vm_alone_and_type_there() {
    let sandbox = sandbox!();
    let script = "echo '[bulkhead] ready'; echo '[linux] first'; echo '[rt   ] other'; head -c 6 > typed; \
                  echo '[rt   ] typed'; head -c 3 > more; echo '[linux] end'; echo '[bulkhead] power off'";
    let child = start(&sandbox, script, &["--json", "--log", "log"]);
    let mut clients = ["linux", "linux", "rt"].map(|vm| connect(&sandbox, vm));
    let [linux, second, rt] = &mut clients;
    assert_reads(linux, "first\r\n");
    assert_reads(second, "first\r\n");
    rt.write_all(b"h\x1d").expect("written");
    assert_reads(rt, "other\r\ntyped\r\n");
    assert_eq!(fs::read(sandbox.path("typed")).expect("a file"), b"\x1dBh\x1dB\x1d");
    second.write_all(b"x").expect("written");
    for client in [linux, second] {
        let mut rest = String::new();
        client.read_to_string(&mut rest).expect("it ends with the run");
        assert_eq!(rest, "end\r\n");
    }
    assert_eq!(fs::read(sandbox.path("more")).expect("a file"), b"\x1dAx");

    let result = Result::of(child.wait_with_output().expect("it ends"));
    result.assert_status(0);
    assert_eq!(result.json()["result"], "ok");
    let log = fs::read_to_string(sandbox.path("log")).expect("a log");
    assert!(log.starts_with("[bulkhead] ready\n[linux] first\n[rt   ] other\n"), "{log}");
    assert_eq!(sockets(&sandbox), 0);
}

#[test]
fn a_client_that_reads_nothing_is_dropped_and_the_run_goes_on() {
    let sandbox = sandbox!();
    let script = "echo '[bulkhead] ready'; head -c 3 > /dev/null; yes '[linux] flood' | head -n 200000; \
                  echo '[rt   ] after'; head -c 3 > /dev/null; echo '[bulkhead] power off'";
    let child = start(&sandbox, script, &["--json"]);
    let reader = std::thread::spawn(move || child.wait_with_output().expect("it ends"));
    let (mut hung, mut rt) = (connect(&sandbox, "linux"), connect(&sandbox, "rt"));
    // It is a client before the flood begins.
    hung.write_all(b"x").expect("written");
    assert_reads(&mut rt, "after\r\n");
    let mut got = Vec::new();
    if let Err(error) = hung.read_to_end(&mut got) {
        assert_eq!(error.kind(), ErrorKind::ConnectionReset, "the client was dropped");
    }
    assert!(!reader.is_finished() && got.len() < 200_000 * 7, "{}", got.len());
    rt.write_all(b"x").expect("the other client is still there");
    Result::of(reader.join().expect("it ends")).assert_status(0);
}

#[test]
fn sockets_are_for_this_user_and_go_with_the_run() {
    let sandbox = sandbox!();
    for (name, status) in [("INT", 130), ("HUP", 129)] {
        let child = start(&sandbox, "echo '[bulkhead] ready'; exec sleep 600", &[]);
        let mode = |name: &str| {
            fs::metadata(sandbox.path(name)).expect("it is there").permissions().mode()
        };
        assert_eq!([mode("consoles") & 0o777, mode("consoles/rt.sock") & 0o777], [0o700, 0o600]);
        sandbox
            .run("echo started", &["--consoles", "consoles"])
            .assert_refused(&["consoles/linux.sock", "another run uses this socket"]);
        signal(&child, name);
        let result = Result::of(child.wait_with_output().expect("it ends"));
        result.assert_status(status);
        assert_eq!(sockets(&sandbox), 0);
        fs::remove_file(sandbox.path("pid")).expect("removed");
    }
}

#[test]
fn what_is_in_the_way_is_refused_before_anything_starts() {
    let sandbox = sandbox!();
    let run = |folder: &str| sandbox.run("echo '[bulkhead] power off'", &["--consoles", folder]);
    // A killed run has left the first of these.
    fs::create_dir(sandbox.path("consoles")).expect("made");
    drop(UnixListener::bind(sandbox.path("consoles/linux.sock")).expect("bound"));
    sandbox.write("consoles/rt.sock", "precious");
    run("consoles").assert_refused(&["consoles/rt.sock", "a file and no socket", "help: "]);
    assert_eq!(fs::read(sandbox.path("consoles/rt.sock")).expect("a file"), b"precious");
    run("test.dts").assert_refused(&["cannot make test.dts"]);
    run(&"long/".repeat(20)).assert_refused(&["linux.sock", "Linux allows 107", "shorter"]);
    assert!(!sandbox.path("long").exists());
    fs::set_permissions(sandbox.path("consoles"), Permissions::from_mode(0o777)).expect("set");
    run("consoles").assert_refused(&["other users can write in this folder"]);
    assert!(sandbox.qemu().is_none());

    fs::set_permissions(sandbox.path("consoles"), Permissions::from_mode(0o755)).expect("set");
    fs::remove_file(sandbox.path("consoles/rt.sock")).expect("removed");
    run("consoles").assert_status(0);
    assert_eq!(sockets(&sandbox), 0);
}

#[test]
fn the_keyboard_and_sockets_work_together() {
    let sandbox = sandbox!();
    let script = "echo '[bulkhead] ready'; head -c 4 > focus; head -c 3 > typed; echo '[bulkhead] power off'";
    let child = start(&sandbox, script, &["--console", "rt"]);
    eventually("the keyboard is connected", || {
        fs::read(sandbox.path("focus")).is_ok_and(|keys| keys.len() == 4)
    });
    // All VMs stay in sight.
    assert_eq!(fs::read(sandbox.path("focus")).expect("a file"), b"\x1d1\x1da");
    connect(&sandbox, "linux").write_all(b"x").expect("written");
    Result::of(child.wait_with_output().expect("it ends")).assert_status(0);
    assert_eq!(fs::read(sandbox.path("typed")).expect("a file"), b"\x1dAx");
}
