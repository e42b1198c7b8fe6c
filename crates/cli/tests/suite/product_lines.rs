//! The command stays a command line.

use std::fs;
use std::path::Path;

/// Lines of code in `crates/cli/src`, without tests, comments and empty lines.
const LINES_MAX: usize = 6_000;

#[test]
fn the_command_is_options_text_and_tables_only() {
    let lines = lines_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    assert!(
        lines > LINES_MAX / 2,
        "only {lines} lines were found in crates/cli/src: they are not counted any more"
    );
    assert!(
        lines <= LINES_MAX,
        "crates/cli/src has {lines} lines of code, and may have {LINES_MAX}\n\
         help: move what is no option, text or table to the crate that it is about: what is judged, \
         and documents for `--json`, to `lab`, which Python uses too"
    );
}

fn lines_below(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).expect("the sources are there");
    let lines = entries.map(|entry| {
        let path = entry.expect("an entry").path();
        match path.extension() {
            _ if path.is_dir() => lines_below(&path),
            Some(ending) if ending == "rs" => {
                product_lines(&fs::read_to_string(path).expect("text"))
            }
            _ => 0,
        }
    });
    lines.sum()
}

/// Lines that are neither empty nor comments, before the tests of a file.
fn product_lines(source: &str) -> usize {
    let product = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    product.lines().filter(|line| !line.trim().is_empty() && !line.trim().starts_with("//")).count()
}

#[test]
fn tests_and_comments_are_no_product() {
    let source =
        "//! A.\n\nfn a() {\n    // Why.\n}\n\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\n";
    assert_eq!(product_lines(source), 2);
}
