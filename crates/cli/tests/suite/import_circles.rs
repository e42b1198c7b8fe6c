//! Circles of imports: files that need each other can only be understood together. None has more than three files, but for
//! the core of the hypervisor, which may only become smaller.
//!
//! A file imports another one if it names an item of it by a path that begins with `crate`, `super` or `self`. A name that a
//! module passes on (`use` of an item of its own modules, or `pub use`) counts as the item of the file that has it: a module
//! is made of its own modules. What is in a block of tests does not count.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Most files of a circle.
const FILES_MAX: usize = 3;
/// Files in the circle of the hypervisor's core.
const CORE_FILES: usize = 36;

/// A path in modules of a crate, such as `["plan", "read"]`.
type Names = Vec<String>;

/// The files of a crate.
#[derive(Default)]
struct Crate {
    /// The text of each module, without comments and tests.
    modules: BTreeMap<Names, String>,
}

impl Crate {
    fn read(source: &Path) -> Self {
        let mut all = Self::default();
        let mut folders = vec![source.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).expect("a folder").flatten() {
                let path = entry.path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|it| it == "rs") {
                    let inside = path.strip_prefix(source).expect("below").with_extension("");
                    let names = inside.iter().map(|it| it.to_string_lossy().into_owned());
                    let mut names: Names = names.collect();
                    if names.iter().any(|it| it == "tests") {
                        continue;
                    }
                    if names.last().is_some_and(|it| ["mod", "lib", "main"].contains(&&**it)) {
                        names.pop();
                    }
                    let text = fs::read_to_string(&path).expect("a text");
                    all.modules.entry(names).or_default().push_str(&code(&text));
                }
            }
        }
        all
    }

    /// Returns the modules that each module imports.
    fn imports(&self) -> BTreeMap<&Names, BTreeSet<&Names>> {
        let imported = |module| {
            let (uses, body) = uses(&self.modules[module]);
            let is_import = |(is_public, path): &(bool, Names)| !is_public && begins_outside(path);
            let uses = uses.into_iter().filter(is_import).map(|(_, path)| path);
            let paths = uses.chain(paths(&body)).filter_map(|path| self.resolve(module, &path, 0));
            paths.filter(|other| *other != module).collect()
        };
        self.modules.keys().map(|module| (module, imported(module))).collect()
    }

    /// Returns the module that has the item with this path, as `module` names it.
    fn resolve(&self, module: &Names, path: &[String], depth: usize) -> Option<&Names> {
        let mut full: Names = match path.first()?.as_str() {
            "crate" => path[1..].to_vec(),
            "self" => [module, &path[1..]].concat(),
            "super" => {
                let up = path.iter().take_while(|it| *it == "super").count();
                let above = module.get(..module.len().checked_sub(up)?)?;
                [above, &path[up..]].concat()
            }
            first => {
                let own = [&module[..], &[first.to_owned()]].concat();
                self.modules.contains_key(&own).then(|| [module, path].concat())?
            }
        };
        let item_at = (0..=full.len()).rev().find(|&at| self.modules.contains_key(&full[..at]))?;
        let (module, _) = self.modules.get_key_value(&full[..item_at])?;
        let rest = full.split_off(item_at);
        if let (Some(item), true) = (rest.first(), depth < 8) {
            let passed_on = uses(&self.modules[module]).0.into_iter().map(|(_, path)| path);
            let mut passed_on = passed_on.filter(|path| path.last() == Some(item));
            let found = passed_on.find_map(|path| self.resolve(module, &path, depth + 1));
            return found.or(Some(module));
        }
        Some(module)
    }

    /// Returns the circles, each with its modules.
    fn circles(&self) -> Vec<Vec<String>> {
        let imports = self.imports();
        let reached = |from| {
            let mut reached = BTreeSet::new();
            let mut open: Vec<_> = imports[from].iter().copied().collect();
            while let Some(next) = open.pop() {
                if reached.insert(next) {
                    open.extend(&imports[next]);
                }
            }
            reached
        };
        let reached: BTreeMap<_, BTreeSet<_>> =
            self.modules.keys().map(|it| (it, reached(it))).collect();
        let mut circles = BTreeSet::new();
        for (module, others) in &reached {
            let circle = others.iter().filter(|other| reached[**other].contains(*module));
            let circle: Vec<String> = circle.map(|it| it.join("/")).collect();
            circles.extend((!circle.is_empty()).then_some(circle));
        }
        circles.into_iter().collect()
    }
}

/// Returns a text without comments, and without what follows `#[cfg(test)]` at the begin of a line, which is at the end.
fn code(text: &str) -> String {
    let end = text.find("\n#[cfg(test)]\nmod tests {").unwrap_or(text.len());
    let lines = text[..end].lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.map(|line| format!("{line}\n")).collect()
}

/// Returns the paths of all `use`, whether each is public, and the text without them.
fn uses(text: &str) -> (Vec<(bool, Names)>, String) {
    let (mut found, mut body) = (Vec::new(), String::new());
    let mut rest = text;
    while let Some(at) = rest.find("use ") {
        let begins = rest[..at].rfind('\n').map_or(0, |it| it + 1);
        let before = rest[begins..at].trim();
        let end = rest[at..].find(';').map_or(rest.len(), |it| at + it);
        if before.is_empty() || before.starts_with("pub") && !before.contains('{') {
            body.push_str(&rest[..begins]);
            let mut paths = Vec::new();
            expand(&[], &rest[at + 4..end], &mut paths);
            found.extend(paths.into_iter().map(|path| (!before.is_empty(), path)));
            rest = &rest[end..];
        } else {
            body.push_str(&rest[..at + 4]);
            rest = &rest[at + 4..];
        }
    }
    body.push_str(rest);
    (found, body)
}

/// Returns the paths of a tree such as `a::{b, c::{self, d as e}}`.
fn expand(before: &[String], tree: &str, paths: &mut Vec<Names>) {
    let tree = tree.trim();
    if let Some((path, group)) = tree.split_once('{') {
        let names = path.split("::").map(str::trim).filter(|it| !it.is_empty());
        let before: Names = before.iter().cloned().chain(names.map(str::to_owned)).collect();
        let group = &group[..group.rfind('}').unwrap_or(group.len())];
        let (mut depth, mut start) = (0, 0);
        for (at, letter) in group.char_indices().chain([(group.len(), ',')]) {
            match letter {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    if !group[start..at].trim().is_empty() {
                        expand(&before, &group[start..at], paths);
                    }
                    start = at + 1;
                }
                _ => {}
            }
        }
        return;
    }
    let tree = tree.split(" as ").next().unwrap_or_default();
    let names = tree.split("::").map(str::trim).filter(|it| !it.is_empty());
    let mut path: Names = before.iter().cloned().chain(names.map(str::to_owned)).collect();
    if path.len() > 1 && path.last().is_some_and(|it| it == "self") {
        path.pop();
    }
    paths.push(path);
}

/// Returns the paths in code that begin with `crate`, `super` or `self`.
fn paths(body: &str) -> Vec<Names> {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == ':';
    let words = body.split(|letter| !is_part(letter)).filter(|word| word.contains("::"));
    let paths = words.map(|word| word.split("::").map(str::to_owned).collect::<Names>());
    paths.filter(begins_outside).collect()
}

/// Returns true if a path does not begin with a module of its own file.
fn begins_outside(path: &Names) -> bool {
    ["crate", "super", "self"].contains(&&*path[0])
}

#[test]
fn no_circle_has_more_than_three_files() {
    let crates = fs::read_dir(Path::new(ROOT).join("crates")).expect("a folder").flatten();
    let crates = crates.map(|it| format!("crates/{}", it.file_name().to_string_lossy()));
    let others = [
        "hypervisor",
        "guests/rt",
        "guests/programs",
        "guests/linux",
        "xtask",
        "cachescope",
        "cachescope/model",
    ];
    let all = crates.chain(others.map(str::to_owned));
    let mut large = Vec::new();
    for folder in all.collect::<BTreeSet<_>>() {
        let mut circles = Crate::read(&Path::new(ROOT).join(&folder).join("src")).circles();
        circles.retain(|it| it.len() > FILES_MAX);
        if folder == "hypervisor" && circles.len() == 1 && circles[0].len() <= CORE_FILES {
            continue;
        }
        large.extend(
            circles.iter().map(|it| format!("{folder}, {} files: {}", it.len(), it.join(" "))),
        );
    }
    assert!(large.is_empty(), "{}", large.join("\n"));
}

#[test]
fn circles_are_found_through_groups_passed_on_names_and_paths_in_code() {
    let module = |(name, text): (&str, &str)| {
        let names = name.split('/').filter(|it| !it.is_empty());
        (names.map(str::to_owned).collect(), code(text))
    };
    let texts = [
        ("", "mod a; mod b; mod c;\npub use b::{Item, c::Other as Renamed};\n"),
        ("a", "use crate::{Item, leaf::Leaf};\n// use crate::nowhere::X;\n"),
        ("b", "mod c;\nfn f() -> super::d::D { loop {} }\npub struct Item;\n"),
        ("b/c", "use super::super::a;\npub struct Other;\n"),
        (
            "d",
            "pub struct D;\nuse crate::b::c::Other;\n#[cfg(test)]\nmod tests {\nuse crate::leaf::Leaf;\n}\n",
        ),
        ("leaf", "pub struct Leaf;\n"),
    ];
    let all = Crate { modules: texts.map(module).into() };
    assert_eq!(all.circles(), [["a", "b", "b/c", "d"].map(str::to_owned)]);
}
