//! Completions, man pages, and colours of texts.

use std::fs;
use std::process::{Command, Stdio};

use testing::sandbox;

#[test]
fn bash_completes_commands_options_and_values() {
    let sandbox = sandbox!();
    let script = sandbox.bulkhead(&["completions", "bash"]);
    script.assert_status(0);
    sandbox.write("completions", &script.stdout);
    let cases = [
        ("check", "COMP_WORDS=(bulkhead ch); COMP_CWORD=1; _bulkhead bulkhead ch bulkhead"),
        (
            "--sensitivity",
            "COMP_WORDS=(bulkhead check --s); COMP_CWORD=2; _bulkhead bulkhead --s check",
        ),
        (
            "xen xvisor",
            "COMP_WORDS=(bulkhead export --to x); COMP_CWORD=3; _bulkhead bulkhead x --to",
        ),
    ];
    for (expected, words) in cases {
        let script = format!(". ./completions; {words}; echo ${{COMPREPLY[@]}}");
        let folder = sandbox.path("");
        let output = Command::new("bash").current_dir(folder).args(["-c", &script]).output();
        let output = String::from_utf8(output.expect("bash starts").stdout).expect("text");
        assert_eq!(output.trim_end(), expected, "{words}");
    }
}

#[test]
fn other_shells_have_every_command() {
    for (shell, start) in [("zsh", "#compdef bulkhead"), ("fish", "# Print an optspec")] {
        let script = sandbox!().bulkhead(&["completions", shell]);
        script.assert_status(0);
        assert!(script.stdout.starts_with(start), "{shell}: {}", script.stdout);
        for word in ["sensitivity", "replay", "--certificate", "Check a description or a plan"] {
            let word = if shell == "fish" { word.trim_start_matches('-') } else { word };
            assert!(script.stdout.contains(word), "{shell}: {word}");
        }
    }
    sandbox!().bulkhead(&["completions", "csh"]).assert_refused(&["csh", "bash", "zsh", "fish"]);
}

#[test]
fn completions_end_quietly_with_their_reader_and_loudly_on_a_full_disk() {
    let sandbox = sandbox!();
    let mut command = sandbox.command(&["completions", "bash"]);
    let mut child = command.stdout(Stdio::piped()).spawn().expect("the command starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));

    let full = fs::File::create("/dev/full").expect("the device");
    let output = sandbox.command(&["completions", "zsh"]).stdout(full).output();
    let output = output.expect("the command starts");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("No space left on device"));
}

#[test]
fn each_command_has_a_man_page() {
    let sandbox = sandbox!();
    let result = sandbox.bulkhead(&["man", "share/man1", "--json"]);
    result.assert_status(0);
    let document = result.json();
    let files = document["files"].as_array().expect("files");
    let written = fs::read_dir(sandbox.path("share/man1")).expect("the folder").count();
    assert_eq!(files.len(), written);
    for name in ["bulkhead", "bulkhead-check", "bulkhead-trace-compare", "bulkhead-measure-colors"]
    {
        let page = fs::read_to_string(sandbox.path(&format!("share/man1/{name}.1")));
        let page = page.expect("a page");
        assert!(page.contains(&format!(".TH {name} 1")), "{page}");
        assert!(page.contains("Exit status: 0"), "{name} has no exit status");
    }
    assert!(!sandbox.path("share/man1/bulkhead-measure-worker.1").exists(), "it is hidden");

    sandbox.write("file", "");
    sandbox.bulkhead(&["man", "file"]).assert_refused(&["file/bulkhead"]);
    sandbox.bulkhead(&["man"]).assert_refused(&["<DIR>"]);
}

#[test]
fn color_is_asked_for_or_left_out() {
    let colored = |arguments: &[&str]| {
        let sandbox = sandbox!();
        sandbox.write("empty.toml", "nane = 1\n");
        let result = sandbox.bulkhead(arguments);
        result.assert_status(2);
        result.stderr.contains('\u{1b}')
    };
    // Mistakes in a file, and mistakes in the command line itself.
    assert!(colored(&["check", "empty.toml", "--color", "always"]));
    assert!(colored(&["check", "--nonsense", "--color", "always"]));
    assert!(colored(&["--color=always", "chekc"]));
    assert!(!colored(&["check", "empty.toml", "--color", "never"]));
    assert!(!colored(&["check", "empty.toml"]));
    assert!(!colored(&["check", "empty.toml", "--color", "sometimes"]));
}

#[test]
fn help_fits_into_a_narrow_terminal() {
    for command in [&["check"][..], &["plan"], &["run"], &["prove"], &["man"], &["trace", "export"]]
    {
        let sandbox = sandbox!();
        let mut command = sandbox.command(command);
        let output = command.arg("--help").env("COLUMNS", "60").output().expect("it starts");
        let help = String::from_utf8(output.stdout).expect("text");
        for line in help.lines().filter(|line| line.chars().count() > 60) {
            // A column of examples stays where it is, and a word stays whole.
            let words = line.trim_start();
            let is_column = line.len() - words.len() > 40;
            let long = words.split(' ').any(|word| word.chars().count() > 40);
            assert!(is_column || long, "{line}");
        }
    }
}
