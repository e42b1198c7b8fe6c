//! The map in ARCHITECTURE.md: no crate depends on another one that its row does not name.

use std::fs;
use std::path::Path;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Returns the crates of this project that a Cargo.toml names in its `[dependencies]`, or in its `[dev-dependencies]`.
fn dependencies<'a>(manifest: &'a str, kind: &str) -> Vec<&'a str> {
    let mut found = Vec::new();
    let mut counts = false;
    for line in manifest.lines() {
        if let Some(section) = line.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
            // Those of one target belong to it, too.
            counts = section == kind
                || section.starts_with("target.") && section.ends_with(&format!(".{kind}"));
        } else if let (true, Some(rest)) = (counts, line.strip_prefix("bulkhead-")) {
            found.extend(rest.split(['.', ' ', '=']).next());
        }
    }
    found
}

/// Returns the names in a cell: `` `abi`, `guests/rt` `` are `abi` and `rt`.
fn names(cell: &str) -> Vec<&str> {
    let names = cell.split('`').skip(1).step_by(2);
    names.filter_map(|it| it.rsplit('/').next()).collect()
}

/// Returns what a crate uses although the cell of its row does not name it.
fn unnamed<'a>(cell: &str, manifest: &'a str) -> Vec<&'a str> {
    let (product, tests) = cell.split_once("; its tests").unwrap_or((cell, ""));
    let (product, tests) = (names(product), names(tests));
    let of_product = dependencies(manifest, "dependencies").into_iter();
    let of_product = of_product.filter(|it| !product.contains(it));
    let of_tests = dependencies(manifest, "dev-dependencies").into_iter();
    let of_tests = of_tests.filter(|it| !product.contains(it) && !tests.contains(it));
    of_product.chain(of_tests).collect()
}

#[test]
fn crates_use_what_the_map_says() {
    let read = |path: &str| fs::read_to_string(Path::new(ROOT).join(path)).expect("a file");
    let page = read("ARCHITECTURE.md");
    let mut rows = 0;
    for row in page.lines().filter(|line| line.starts_with("| `")) {
        let mut cells = row.trim_matches('|').split('|').map(str::trim);
        let (folder, cell) = (cells.next().expect("a folder"), cells.nth(1).expect("crates"));
        let folder = folder.trim_matches('`');
        let manifest = Path::new(ROOT).join(folder).join("Cargo.toml");
        // Those that may use all crates, as tools do, name none.
        if cell.is_empty()
            || cell.contains("all ")
            || cell == "all"
            || cell.contains("crates that these")
        {
            continue;
        }
        let Ok(manifest) = fs::read_to_string(manifest) else { continue };
        rows += 1;
        let mut unnamed = unnamed(cell, &manifest);
        // A crate in the folder, such as that of cachescope's model.
        unnamed.retain(|it| !it.starts_with(folder));
        assert!(
            unnamed.is_empty(),
            "{folder} uses {unnamed:?}, which ARCHITECTURE.md does not say"
        );
    }
    assert!(rows > 25, "{rows} rows");
}

#[test]
fn what_the_map_does_not_say_is_found() {
    let manifest = "[dependencies]\nanyhow = \"1\"\nbulkhead-abi.workspace = true\n\n\
                    [target.'cfg(unix)'.dependencies]\nbulkhead-vmm = { path = \"../vmm\" }\n\n\
                    [dev-dependencies]\nbulkhead-rt = { path = \"../rt\" }\n";
    assert_eq!(unnamed("`abi`, `vmm`; its tests `guests/rt`", manifest), [""; 0]);
    assert_eq!(unnamed("nothing", manifest), ["abi", "vmm", "rt"]);
    assert_eq!(unnamed("`abi`; its tests `vmm`, `rt`", manifest), ["vmm"]);
}
