//! The page of the guests names all of them, and what their boot arguments choose.

use std::fs;
use std::path::Path;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../guests/programs");

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(FOLDER).join(path)).unwrap_or_else(|it| panic!("{path}: {it}"))
}

/// Returns the text between each occurrence of `start` and the next quotation mark.
fn quoted<'a>(text: &'a str, start: &str) -> Vec<&'a str> {
    text.split(start).skip(1).filter_map(|it| it.split('"').next()).collect()
}

#[test]
fn the_page_of_the_guests_names_them_and_their_choices() {
    let page = read("README.md");
    let guests = read("Cargo.toml");
    let guests = quoted(&guests, "[[bin]]\nname = \"");
    let modes = read("src/guests/storm/modes.rs");
    let modes = quoted(&modes, "    mode(\"");
    let hostile = read("src/guests/hostile/mod.rs");
    let hostile = quoted(&hostile, "\n    (\"");
    let color = read("src/guests/color/mod.rs");
    let color = quoted(&color, "\n    (\"");
    let found = [guests.len(), modes.len(), hostile.len(), color.len()];
    assert!(found[0] > 20 && found[1] > 40 && found[2] > 20 && found[3] > 20, "{found:?}");
    let rows = guests.iter().filter(|name| !page.contains(&format!("\n| `{name}` |")));
    let choices = modes.iter().chain(&hostile).chain(&color);
    let unnamed = choices.filter(|name| !page.contains(&format!("`{name}`")));
    let missing: Vec<_> = rows.chain(unnamed).collect();
    assert!(missing.is_empty(), "guests/programs/README.md does not name {missing:?}");
}
