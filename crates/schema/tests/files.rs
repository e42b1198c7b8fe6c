//! The schemas accept the files that there are, and refuse what the readers refuse.

mod validator;

use std::fs;
use std::path::{Path, PathBuf};

use schema::Kind;
use validator::mistakes;

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The files of a folder that are called `*.toml`.
fn files(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(project().join(folder)).expect("a folder");
    let paths = entries.map(|it| it.expect("an entry").path());
    paths.filter(|it| it.extension().is_some_and(|end| end == "toml")).collect()
}

fn of(kind: Kind, text: &str) -> Vec<String> {
    let value: serde_json::Value = toml::from_str(text).expect("TOML");
    mistakes(&schema::schema(kind), &value)
}

#[test]
fn all_files_are_valid() {
    let folders = [
        ("systems", Kind::Description),
        ("experiments/systems", Kind::Description),
        ("systems/platforms", Kind::Platform),
        ("experiments/sweeps", Kind::Experiment),
    ];
    for (folder, kind) in folders {
        let files = files(folder);
        assert!(files.len() > 2, "{folder}");
        for file in files {
            let found = of(kind, &fs::read_to_string(&file).expect("a file"));
            assert!(found.is_empty(), "{}: {found:#?}", file.display());
        }
    }
}

#[test]
fn examples_of_the_documentation_are_valid() {
    let mut seen = 0;
    for page in
        ["reference/description.md", "tutorial.md", "how-to/let-two-vms-talk.md", "how-to/sweep.md"]
    {
        let text = fs::read_to_string(project().join("docs").join(page)).expect("a page");
        for block in text.split("```toml\n").skip(1).filter_map(|it| it.split("```").next()) {
            let kind = match () {
                () if block.contains("[[vm]]") => Kind::Description,
                () if block.contains("[[cpu]]") => Kind::Platform,
                () if block.contains("[grid]") => Kind::Experiment,
                () => continue,
            };
            // A part of a description, without its beginning.
            let whole = kind != Kind::Description || block.contains("platform");
            let text = if whole { block.to_owned() } else { format!("platform = \"x\"\n{block}") };
            let found = of(kind, &text);
            assert!(found.is_empty(), "{page}: {found:#?}\n{block}");
            seen += 1;
        }
    }
    assert!(seen >= 5, "{seen}");
}

const RIGHT: &str = r#"
platform = "qemu-virt"
[[vm]]
name = "rt"
memory = "16MiB"
kernel = "rt.bin"
colors = "0-3,8"
[[vm.task]]
name = "control"
period = "10ms"
wcet = { 1 = "4ms", 8 = "2.5 ms" }
"#;

#[test]
fn typos_and_wrong_types_are_refused() {
    assert_eq!(of(Kind::Description, RIGHT), [""; 0]);
    let changes = [
        ("period = ", "perriod = "),
        ("\"10ms\"", "10"),
        ("\"10ms\"", "\"10\""),
        ("\"10ms\"", "\"10 KiB\""),
        ("\"16MiB\"", "\"16 MB\""),
        ("\"0-3,8\"", "\"0-\""),
        ("1 = \"4ms\"", "one = \"4ms\""),
        ("[[vm]]\nname", "[[vm]]\nvcpus = 0\nname"),
        ("[[vm]]\nname", "[[vm]]\nvcpus = \"2\"\nname"),
        ("[[vm]]\nname", "[[vm]]\nboot = \"Linux\"\nname"),
        ("[[vm]]\nname", "[[vm]]\nconsole = \"true\"\nname"),
        ("name = \"rt\"", "name = \"Real time\""),
        ("kernel = \"rt.bin\"", ""),
        ("platform = \"qemu-virt\"", "platfrom = \"qemu-virt\""),
        ("[[vm.task]]", "[[vm.tsk]]"),
    ];
    for (from, to) in changes {
        let text = RIGHT.replacen(from, to, 1);
        assert_ne!(text, RIGHT, "{from}");
        assert!(!of(Kind::Description, &text).is_empty(), "{to}");
        let read = system::description::System::from_toml("a.toml", &text, Path::new("."));
        assert!(read.is_err(), "the reader takes `{to}`");
    }
    let sweep = "title = \"\"\nseed = 1\nsystems = 2\n[servers]\nvcpus = 3\n";
    assert_eq!(of(Kind::Experiment, sweep), [""; 0]);
    for (from, to) in [("vcpus", "vcpu"), ("= 3", "= \"3\""), ("seed", "sed"), ("= 2", "= 0")] {
        assert!(!of(Kind::Experiment, &sweep.replacen(from, to, 1)).is_empty(), "{to}");
    }
    let platform = fs::read_to_string(project().join("systems/platforms/zcu102.toml")).unwrap();
    for (from, to) in [("gicd", "gidc"), ("\"aarch64\"", "\"arm64\""), ("count = 4", "count = 0")] {
        let text = platform.replacen(from, to, 1);
        assert!(text != platform && !of(Kind::Platform, &text).is_empty(), "{to}");
    }
}
