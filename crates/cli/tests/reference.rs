//! Pages that are written out of the code: the reference of the command line out of `--help`, that of the hypervisor's calls
//! out of their documentation, and the table of the safety manual out of what tests say.

use std::fs;
use std::path::Path;
use std::process::Command;

use syn::{Attribute, Expr, Item, Lit, Meta};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Set to anything, the pages are written rather than compared.
const WRITE: &str = "BULKHEAD_WRITE_REFERENCE";

/// The page is what is in the repository; with [`WRITE`] it is from now on.
fn assert_current(page: &str, text: &str) {
    let file = Path::new(ROOT).join("docs").join(page);
    if std::env::var_os(WRITE).is_some() {
        fs::write(&file, text).expect("the page can be written");
    }
    let kept = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        kept == text,
        "docs/{page} is not current: {WRITE}=1 cargo test -p bulkhead --test reference"
    );
}

fn help(command: &[&str]) -> String {
    let mut program = Command::new(env!("CARGO_BIN_EXE_bulkhead"));
    let output =
        program.args(command).arg("--help").env_remove("COLUMNS").output().expect("it starts");
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// The commands that a help text lists.
fn commands(help: &str) -> Vec<&str> {
    let list = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let lines = list.take_while(|line| !line.is_empty());
    lines.filter_map(|line| line.split_whitespace().next()).filter(|it| *it != "help").collect()
}

fn describe(command: &[&str], page: &mut String) {
    let help = help(command);
    let name = [&["bulkhead"], command].concat().join(" ");
    let level = "#".repeat(2 + command.len().saturating_sub(1));
    page.push_str(&format!("{level} {name}\n\n```text\n{}\n```\n\n", help.trim()));
    for inner in commands(&help) {
        describe(&[command, &[inner]].concat(), page);
    }
}

#[test]
fn every_command_is_in_the_reference() {
    let mut page = "# The command line\n\nThe output of `--help` for each command.\n\n".to_owned();
    describe(&[], &mut page);
    for command in ["## bulkhead check\n", "### bulkhead trace compare\n"] {
        assert!(page.contains(command), "{command}");
    }
    assert_current("reference/cli.md", &format!("{}\n", page.trim_end()));
}

/// What stands above an item, without links.
fn documentation(attributes: &[Attribute]) -> String {
    let line = |attribute: &Attribute| match &attribute.meta {
        Meta::NameValue(it) if it.path.is_ident("doc") => match &it.value {
            Expr::Lit(it) => match &it.lit {
                Lit::Str(text) => Some(text.value().trim().to_owned()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    };
    let text: Vec<String> = attributes.iter().filter_map(line).collect();
    let text = text.join("\n");
    let parts: Vec<&str> = text.split("[`").collect();
    let unlinked = parts.iter().enumerate().map(|(index, part)| {
        let Some((code, rest)) = (index > 0).then(|| part.split_once("`]")).flatten() else {
            return (*part).to_owned();
        };
        let rest = match rest.strip_prefix('(') {
            Some(target) => target.split_once(')').map_or("", |(_, rest)| rest),
            None => rest,
        };
        format!("`{code}`{rest}")
    });
    unlinked.collect()
}

/// The number that a constant or variant is, as it stands in the code.
fn code(expression: &Expr) -> String {
    match expression {
        Expr::Lit(it) => match &it.lit {
            Lit::Int(number) => number.to_string().replace('_', ""),
            _ => String::new(),
        },
        Expr::Unary(it) => format!("-{}", code(&it.expr)),
        Expr::Binary(it) => format!("{} << {}", code(&it.left), code(&it.right)),
        Expr::Array(it) => it.elems.iter().map(code).collect::<Vec<_>>().join(", "),
        _ => String::new(),
    }
}

/// Function identifiers of the SMCCC begin so.
fn is_call(value: &str) -> bool {
    value.starts_with("0xC6") || value.starts_with("0x86")
}

#[test]
fn every_call_is_in_the_reference() {
    let file = Path::new(ROOT).join("crates/abi/src/hypercall.rs");
    let source = fs::read_to_string(file).expect("the source");
    let source = syn::parse_file(&source).expect("Rust");
    let mut calls = String::new();
    let mut values = String::new();
    let mut lists = String::new();
    for item in &source.items {
        match item {
            Item::Const(it) => {
                let (name, value) = (it.ident.to_string(), code(&it.expr));
                let text = documentation(&it.attrs);
                assert!(!value.is_empty(), "{name} has a value that this test cannot read");
                match is_call(&value) {
                    true => calls.push_str(&format!("### {name}: {value}\n\n{text}\n\n")),
                    false => {
                        let text = text.replace('\n', " ");
                        values.push_str(&format!("| `{name}` | {value} | {text} |\n"));
                    }
                }
            }
            Item::Enum(it) => {
                let (name, text) = (&it.ident, documentation(&it.attrs));
                lists.push_str(&format!(
                    "## {name}\n\n{text}\n\n| name | value | meaning |\n| --- | ---: | --- |\n"
                ));
                for variant in &it.variants {
                    let value = variant.discriminant.as_ref().map(|(_, it)| code(it));
                    let value = value.expect("a value");
                    let text = documentation(&variant.attrs).replace('\n', " ");
                    lists.push_str(&format!("| `{}` | {value} | {text} |\n", variant.ident));
                }
                lists.push('\n');
            }
            _ => {}
        }
    }
    let about = documentation(&source.attrs);
    let about = about.split_once('\n').map_or("", |(_, rest)| rest).trim();
    let page = format!(
        "# Hypervisor calls\n\nThe HVC interface between a guest and the hypervisor, as the crate `bulkhead-abi` has it.\n\n\
         {about}\n\n## Functions\n\n{calls}\
         ## Values\n\n| name | value | meaning |\n| --- | ---: | --- |\n{values}\n{lists}"
    );
    assert!(page.contains("### LOCK: 0xC600000A\n") && page.contains("| `Denied` | -13 |"));
    assert_current("reference/abi.md", &format!("{}\n", page.trim_end()));
}

/// How the line begins by which a test says behind which promises it stands.
const STANDS_BEHIND: &str = "/// Stands behind ";

/// How this line ends.
const OF_THE_MANUAL: &str = " of the safety manual.";

/// A test that `make test` runs, behind a promise.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Evidence {
    promise: usize,
    file: String,
    test: String,
}

/// The tests of a file that stand behind promises.
fn evidence(file: &str, text: &str) -> Vec<Evidence> {
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let Some(rest) = line.trim_start().strip_prefix(STANDS_BEHIND) else { continue };
        let numbers = rest.strip_suffix(OF_THE_MANUAL).unwrap_or_else(|| panic!("{file}: {line}"));
        let mut below = text.lines().skip(index + 1).map(str::trim);
        let attributes: Vec<_> = below.clone().take_while(|it| it.starts_with("#[")).collect();
        let function = below.nth(attributes.len()).unwrap_or_default();
        let name = function.strip_prefix("fn ").and_then(|it| it.split_once('('));
        let name = name.unwrap_or_else(|| panic!("{file}: `{line}` stands above no function")).0;
        let run = attributes.contains(&"#[test]")
            && attributes.iter().all(|it| !it.starts_with("#[ignore"));
        assert!(run, "{file}: {name} is not run");
        for number in numbers.split(" and ") {
            let promise = number.strip_prefix('P').and_then(|it| it.parse().ok());
            let promise = promise.unwrap_or_else(|| panic!("{file}: {line}"));
            found.push(Evidence { promise, file: file.into(), test: name.into() });
        }
    }
    found
}

/// Each promise has a test, and each test that stands behind a promise is in the table.
#[test]
fn each_promise_of_the_safety_manual_has_tests() {
    let tracked = Command::new("git").current_dir(ROOT).args(["ls-files", "*.rs"]).output();
    let tracked = String::from_utf8(tracked.expect("git starts").stdout).expect("text");
    let mut found = Vec::new();
    for file in tracked.lines() {
        // A file that is removed and not yet committed has no tests.
        let Ok(text) = fs::read_to_string(Path::new(ROOT).join(file)) else { continue };
        found.extend(evidence(file, &text));
    }
    found.sort();

    let page = fs::read_to_string(Path::new(ROOT).join("docs/safety-manual.md")).expect("a page");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| P"));
    let promises: Vec<_> = rows.filter(|row| !row.contains(".rs`")).collect();
    for (index, row) in promises.iter().enumerate() {
        let number = index + 1;
        assert!(row.starts_with(&format!("{number} | ")), "P{number} comes next, not: P{row}");
        assert!(found.iter().any(|it| it.promise == number), "no test stands behind P{number}");
    }
    let header = "| promise | file | test |\n|---|---|---|\n";
    let (before, _) = page.split_once(header).unwrap_or((&page, ""));
    let mut text = format!("{before}{header}");
    for Evidence { promise, file, test } in &found {
        assert!((1..=promises.len()).contains(promise), "{file}: there is no promise P{promise}");
        text.push_str(&format!("| P{promise} | `{file}` | `{test}` |\n"));
    }
    assert_current("safety-manual.md", &text);
}

#[test]
#[should_panic = "tests/a.rs: holds is not run"]
fn a_test_that_is_not_run_stands_behind_nothing() {
    let text =
        "/// Stands behind P1 of the safety manual.\n#[test]\n#[ignore = \"long\"]\nfn holds() {\n";
    evidence("tests/a.rs", text);
}
