//! The terminal during and after an interactive run.

use rustix::termios::{LocalModes, tcgetattr};
use testing::{eventually, sandbox, signal, terminal};

#[test]
fn terminal_is_restored_however_the_run_ends() {
    let script = "echo '[bulkhead] ready'; exec cat";
    for end in ["INT", "TERM", "HUP", "keys", "power-off"] {
        let sandbox = sandbox!();
        let (ours, theirs) = terminal();
        let before = tcgetattr(&theirs).expect("a terminal").local_modes;
        assert!(before.contains(LocalModes::ICANON | LocalModes::ECHO));
        let script =
            if end == "power-off" { "sleep 0.3; echo '[bulkhead] power off'" } else { script };
        let mut child = sandbox
            .run_command(script, &["--console", "linux"])
            .stdin(theirs.try_clone().expect("a copy"))
            .spawn()
            .expect("the command starts");
        let modes = || tcgetattr(&theirs).expect("a terminal").local_modes;
        eventually("the terminal is raw", || {
            !modes().intersects(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
        });
        match end {
            "keys" => assert_eq!(rustix::io::write(&ours, b"\x1dq"), Ok(2)),
            "power-off" => {}
            name => signal(&child, name),
        }
        let status = child.wait().expect("it ends").code();
        let expected = match end {
            "INT" => 130,
            "TERM" => 143,
            "HUP" => 129,
            _ => 0,
        };
        assert_eq!(status, Some(expected), "{end}");
        assert_eq!(modes(), before, "{end}");
        assert!(sandbox.qemu_has_gone(), "{end}");
    }
}

#[test]
fn a_time_for_documents_that_is_none_is_refused() {
    let sandbox = sandbox!();
    for wrong in ["rubbish", "-1", "1e3", "99999999999999"] {
        let mut command = sandbox.command(&["check", "test.dts", "--json"]);
        let output = command.env("SOURCE_DATE_EPOCH", wrong).output().expect("it starts");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(&format!("SOURCE_DATE_EPOCH is `{wrong}`")), "{text}");
    }
}
