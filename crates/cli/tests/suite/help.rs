//! Completions, man pages, and colours of texts.

use std::fs;
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use testing::{eventually, sandbox, terminal};

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

/// Returns true if a shell is here; says so if not.
fn has(shell: &str) -> bool {
    let found = Command::new(shell).arg("--version").output().is_ok_and(|it| it.status.success());
    if !found {
        eprintln!("{shell} is not installed: its completions are not executed");
    }
    found
}

#[test]
fn fish_completes_commands_options_and_values() {
    if !has("fish") {
        return;
    }
    let sandbox = sandbox!();
    sandbox.write("completions", &sandbox.bulkhead(&["completions", "fish"]).stdout);
    for (line, expected) in [
        ("bulkhead ch", &["check"][..]),
        ("bulkhead check --s", &["--sensitivity"]),
        ("bulkhead export --to x", &["xen", "xvisor"]),
        ("bulkhead import ", &["dtb", "help", "jailhouse", "xl"]),
    ] {
        let script = format!("source completions; complete -C '{line}'");
        let mut fish = Command::new("fish");
        // It keeps a history.
        fish.env("HOME", sandbox.path("home")).env("XDG_DATA_HOME", sandbox.path("home"));
        let output =
            fish.current_dir(sandbox.path("")).args(["--no-config", "-c", &script]).output();
        let output = String::from_utf8(output.expect("fish starts").stdout).expect("text");
        // A word, and what it means behind a tab.
        let words: Vec<&str> = output
            .lines()
            .filter_map(|it| it.split('\t').next())
            .filter(|it| !it.starts_with("--") || line.ends_with("--s"))
            .collect();
        assert_eq!(words, expected, "{line}: {output}");
    }
}

/// Zsh completes only what is typed at a terminal.
#[test]
fn zsh_completes_commands_and_values_at_a_terminal() {
    if !has("zsh") {
        return;
    }
    let sandbox = sandbox!();
    sandbox.write("_bulkhead", &sandbox.bulkhead(&["completions", "zsh"]).stdout);
    let (ours, theirs) = terminal();
    let copy = || Stdio::from(theirs.try_clone().expect("a copy"));
    let mut zsh = Command::new("zsh")
        .args(["-f", "-i"])
        .current_dir(sandbox.path(""))
        .env("TERM", "xterm")
        .stdin(copy())
        .stdout(copy())
        .stderr(copy())
        .spawn()
        .expect("zsh starts");
    drop(theirs);
    let (mut screen, shown) = (fs::File::from(ours), Arc::new(Mutex::new(String::new())));
    let (mut keys, seen) = (screen.try_clone().expect("a copy"), Arc::clone(&shown));
    let reader = thread::spawn(move || {
        let mut buffer = [0; 4096];
        // Fails when zsh has gone.
        while let Ok(count @ 1..) = screen.read(&mut buffer) {
            let text = String::from_utf8_lossy(&buffer[..count]).into_owned();
            seen.lock().expect("nobody panics").push_str(&text);
        }
    });
    let mut press = |what: &str, expected: &str| {
        shown.lock().expect("nobody panics").clear();
        keys.write_all(what.as_bytes()).expect("a terminal");
        eventually(expected, || shown.lock().expect("nobody panics").contains(expected));
    };
    press(
        "PS1='rea''dy> '; fpath=($PWD $fpath); autoload -U compinit; compinit -u -D\n",
        "ready> ",
    );
    press("bulkhead ch\t", "check");
    // Ctrl-U removes the line; several possibilities are listed.
    press("\x15bulkhead export --to x\t\t", "xvisor");
    press("\x15bulkhead check --sen\t", "sitivity");
    keys.write_all(b"\x15exit\n").expect("a terminal");
    zsh.wait().expect("it ends");
    reader.join().expect("it ends");
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
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(141), &b""[..]));

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
        assert!(page.contains(&format!(".TH {name} 1 \"\" \"bulkhead ")), "{page}");
        assert!(page.contains("\n.SH \"EXIT STATUS\"\n0 "), "{name} has no exit status");
        assert!(page.contains("\n.SH EXAMPLES\n.nf\n  "), "{name} has no examples");
        assert!(!page.contains("EXTRA"), "{name}");
    }
    // `mandoc` and `groff` find nothing to say; columns of examples stay below each other.
    let groff = ("groff", &["-man", "-ww", "-z"][..]);
    for (program, arguments) in [groff, ("mandoc", &["-Tlint", "-W", "warning"])] {
        for file in files {
            let file = sandbox.path(file.as_str().expect("a path"));
            let Ok(output) = Command::new(program).args(arguments).arg(&file).output() else {
                continue;
            };
            let said = String::from_utf8([output.stdout, output.stderr].concat()).expect("text");
            // Pages have no date, so that each build writes the same bytes.
            let mut said = said.lines().filter(|line| !line.contains("missing date"));
            assert_eq!(said.next(), None, "{program}");
        }
    }
    let shown = Command::new("groff")
        .args(["-man", "-Tascii", "-P-cbou"])
        .arg(sandbox.path("share/man1/bulkhead-plan.1"))
        .output();
    if let Ok(output) = shown {
        let shown = String::from_utf8_lossy(&output.stdout);
        let line =
            "  bulkhead plan systems/demo.toml                writes systems/demo.plan.dts\n";
        assert!(shown.contains(line), "{shown}");
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
