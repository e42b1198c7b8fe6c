//! `bulkhead run --cachescope`: with a script in place of QEMU, and the commands
//! of the how-to on the real thing, for which `make build cachescope` is needed.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use testing::{Result, Sandbox, eventually, sandbox, signal};

/// The console of a run in which all is well.
const GOOD: &str = "echo '[bulkhead] ready'; echo '[bulkhead] power off'";

/// A summary with 7 evictions between VMs.
const SUMMARY: &str = r#"{"format":"bulkhead-cachescope-summary-v1","started":true,
"model":{"llc":{"size_bytes":1048576,"ways":16}},
"owners":[{"name":"hypervisor","accesses":1,"l1_misses":1,"llc_misses":1}],
"evictions":{"suffered":[],"owners":["hypervisor","linux","rt"],"by_line":[[0,1,2],[0,9,3],[0,4,9]]}}"#;

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs in the sandbox, with a file for the plugin, and a script for QEMU.
fn run(sandbox: &Sandbox, script: &str, arguments: &[&str]) -> Result {
    let mut command = sandbox.run_command(script, arguments);
    command.env("BULKHEAD_CACHESCOPE", sandbox.path("plugin,1.so"));
    Result::of(command.output().expect("the command starts"))
}

fn sandbox() -> Sandbox {
    let sandbox = sandbox!();
    sandbox.write("plugin,1.so", "");
    sandbox.write("summary", SUMMARY);
    sandbox
}

#[test]
fn counts_are_shown_and_are_a_part_of_the_document() {
    let sandbox = sandbox();
    let script = format!("{GOOD}; cp summary scope/summary.json; echo \"$@\" > arguments");
    let arguments = ["--deterministic", "--cachescope", "scope"];
    let more = ["--cachescope-option", "fetch=off", "--cachescope-option", "bin=2ms"];
    let result = run(&sandbox, &script, &[&arguments[..], &more].concat());
    result.assert_status(0);
    assert!(result.stdout.contains("\ncross-VM evictions: 7\n"), "{}", result.stdout);
    assert!(result.stdout.contains("all counts: scope\n"), "{}", result.stdout);

    let ranges = std::fs::read_to_string(sandbox.path("scope/ranges.txt")).expect("ranges");
    let expected = "vm=hypervisor:0x40000000+0x6000000\nvm=linux:0x46000000+0x8000000\n\
                    vm=rt:0x4e000000+0x8000000\ncpu=0:linux\ncpu=1:linux\ncpu=2:rt\n";
    assert_eq!(ranges, expected);
    let line = std::fs::read_to_string(sandbox.path("arguments")).expect("arguments");
    let folder = sandbox.path("scope").canonicalize().expect("a folder");
    let folder = folder.display();
    assert!(line.contains("/plugin,,1.so,out="), "commas are doubled for QEMU: {line}");
    let options = format!(
        "out={folder},ranges={folder}/ranges.txt,llc=1048576:16,line=64,l1=32768:4,l1i=32768:2,fetch=off,bin=2ms "
    );
    assert!(line.contains(&options), "{options} is not in {line}");

    let document = run(&sandbox, &script, &[&arguments[..], &["--json"]].concat()).json();
    let counts = &document["cachescope"];
    assert_eq!(counts["cross_vm_evictions"], 7);
    assert_eq!(counts["vm_evictions_by_hypervisor"], 3);
    assert_eq!(counts["hypervisor_evictions_by_vms"], 0);
    assert_eq!(counts["owners"][0]["llc_misses"], 1);
    let eviction = &counts["evictions"][5];
    assert_eq!((&eviction["came"], &eviction["went"]), (&"linux".into(), &"rt".into()));
    assert_eq!(eviction["evictions"], 3);
}

#[test]
fn counts_of_an_earlier_run_are_not_taken_for_those_of_this_one() {
    let sandbox = sandbox();
    std::fs::create_dir(sandbox.path("scope")).expect("a folder");
    sandbox.write("scope/summary.json", SUMMARY);
    let result = run(&sandbox, GOOD, &["--deterministic", "--cachescope", "scope"]);
    result.assert_status(1);
    assert!(result.stdout.contains("not well: cachescope has no counts"), "{}", result.stdout);
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let sandbox = sandbox();
    run(&sandbox, GOOD, &["--cachescope", "scope"]).assert_refused(&["--deterministic"]);
    for (option, expected) in [
        ("fetch", "expected an option, `=` and its value"),
        ("out=elsewhere", "that `--cachescope DIR` does not set itself"),
    ] {
        let arguments = ["--deterministic", "--cachescope", "scope", "--cachescope-option", option];
        run(&sandbox, GOOD, &arguments).assert_refused(&[expected]);
    }
    let arguments = ["--deterministic", "--cachescope", "scope"];
    sandbox.run(GOOD, &arguments).assert_refused(&[
        "the plugin cachescope is missing",
        "`make cachescope`",
        "BULKHEAD_CACHESCOPE",
    ]);
    let arguments = ["--deterministic", "--cachescope", "hypervisor.elf"];
    run(&sandbox, GOOD, &arguments).assert_refused(&["cannot write into hypervisor.elf"]);
}

#[test]
fn limits_of_accesses_that_cachescope_counts_need_it() {
    let sandbox = sandbox();
    let system = "platform = \"qemu-virt\"\n[[vm]]\nname = \"rt\"\nboot = \"raw\"\nmemory = \"1MiB\"\n\
                  kernel = \"k\"\nbandwidth = \"80MB/s\"\n";
    sandbox.write("s.toml", system);
    sandbox.write("k", "kernel");
    sandbox.bulkhead(&["plan", "s.toml", "-o", "test.dts"]).assert_status(0);
    for arguments in [&[][..], &["--deterministic"]] {
        run(&sandbox, GOOD, arguments).assert_refused(&[
            "limits memory accesses, and its counter `cachescope` is a plugin of QEMU",
            "help: bulkhead run test.dts --deterministic --cachescope DIR;",
        ]);
    }
    let script = format!("{GOOD}; cp summary scope/summary.json; echo \"$@\" > arguments");
    let arguments = ["--deterministic", "--cachescope", "scope"];
    run(&sandbox, &script, &arguments).assert_status(0);
    let line = std::fs::read_to_string(sandbox.path("arguments")).expect("arguments");
    assert!(line.contains(",time=model "), "periods of budgets are times of the model: {line}");
    run(&sandbox, &script, &["--deterministic", "--short-turns"]).assert_status(0);
    let line = std::fs::read_to_string(sandbox.path("arguments")).expect("arguments");
    assert!(line.contains(",time=qemu "), "instructions alone take time: {line}");
}

/// Evictions between VMs in a run of a system to its end.
fn cross_vm_evictions(system: &Path, out: &str) -> u64 {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(out);
    let output = Command::new(env!("CARGO_BIN_EXE_bulkhead"))
        .current_dir(project())
        .args(["run", "--json", "--append", "linux=bulkhead.job=demo", "--until-off"])
        .args(["--deterministic", "--timeout", "180s", "--cachescope"])
        .args([&out, system])
        .arg("--log")
        .arg(out.with_extension("log"))
        .stdin(Stdio::null())
        .output()
        .expect("bulkhead starts");
    let result = Result::of(output);
    result.assert_status(0);
    let document = result.json();
    let counts = &document["cachescope"];
    println!("{}: {counts}", system.display());
    // Nothing was missed: the caches were under pressure, and every line had an owner.
    assert!(evictions(counts, |came, went| (came, went) == ("linux", "linux")) > 0);
    assert_eq!(evictions(counts, |came, went| [came, went].contains(&"unowned")), 0);
    counts["cross_vm_evictions"].as_u64().expect("a number")
}

/// Evictions of a kind, by whose line came and whose line went.
fn evictions(counts: &serde_json::Value, kind: impl Fn(&str, &str) -> bool) -> u64 {
    let name = |value: &serde_json::Value| value.as_str().expect("a name").to_owned();
    let all = counts["evictions"].as_array().expect("evictions").iter();
    all.filter(|it| kind(&name(&it["came"]), &name(&it["went"])))
        .map(|it| it["evictions"].as_u64().expect("a number"))
        .sum()
}

#[test]
fn vms_in_disjoint_colours_never_evict_each_other() {
    assert_eq!(cross_vm_evictions(Path::new("systems/colors.toml"), "scope-colors"), 0);
}

#[test]
fn the_same_vms_without_colours_evict_each_other() {
    let project = project().canonicalize().expect("the project");
    let text = std::fs::read_to_string(project.join("systems/colors.toml")).expect("a system");
    let plain: String = text
        .lines()
        .filter(|line| {
            let key = line.split(' ').next().unwrap_or_default();
            key.starts_with('#') || !(key.contains("color") || key.starts_with("extra"))
        })
        .map(|line| line.replace("../build", &format!("{}/build", project.display())) + "\n")
        .collect();
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("plain.toml");
    std::fs::write(&file, plain).expect("a file");
    let evictions = cross_vm_evictions(&file, "scope-plain");
    assert!(evictions > 100, "{evictions}");
}

/// The commands of the how-to are those of the tests above.
#[test]
fn the_how_to_shows_how_to_see_it() {
    let page = project().join("docs/how-to/see-isolation.md");
    let page = std::fs::read_to_string(page).expect("there is a page");
    for command in [
        "bulkhead run systems/colors.toml --append linux=bulkhead.job=demo --deterministic --cachescope",
        "sed -E '/^[a-z_]*color|^extra/d' systems/colors.toml",
    ] {
        assert!(page.contains(command), "{command}");
    }
}

/// QEMU that writes its counts when it is asked to end, as the plugin does.
const UNTIL_ASKED: &str = "trap 'cp summary scope/summary.json; \
                           echo qemu: terminating on signal 15 from pid 1 >&2; exit 0' TERM; echo '[bulkhead] ready'; \
                           touch up; while :; do sleep 0.01; done";

#[test]
fn what_was_counted_until_the_time_is_over_is_shown() {
    let sandbox = sandbox();
    let arguments = ["--deterministic", "--cachescope", "scope", "--timeout", "300ms"];
    let result = run(&sandbox, UNTIL_ASKED, &arguments);
    result.assert_status(1);
    assert!(result.stdout.contains("\ncross-VM evictions: 7\n"), "{}", result.stdout);
    assert!(result.stdout.contains("not well: it timed out"), "{}", result.stdout);
    assert!(!result.stdout.contains("nothing"), "{}", result.stdout);
    assert!(!result.stdout.contains("signal"), "{}", result.stdout);
}

#[test]
fn what_was_counted_until_ctrl_c_is_shown() {
    let sandbox = sandbox();
    let mut command =
        sandbox.run_command(UNTIL_ASKED, &["--deterministic", "--cachescope", "scope"]);
    command.env("BULKHEAD_CACHESCOPE", sandbox.path("plugin,1.so"));
    let child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts");
    eventually("QEMU starts", || sandbox.path("up").exists());
    signal(&child, "INT");
    let output = child.wait_with_output().expect("it ends");
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(shown.contains("\ncross-VM evictions: 7\n"), "{shown}");
}
