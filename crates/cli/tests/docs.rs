//! The documentation: links lead somewhere, and every page is in the book.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use report::verdicts::Rule;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// All pages of the repository.
fn pages() -> Vec<PathBuf> {
    files(".md")
}

/// All files of the repository whose names end like this.
fn files(end: &str) -> Vec<PathBuf> {
    let mut folders = vec![PathBuf::from(ROOT)];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder").flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_string_lossy();
            if path.is_dir() {
                if !name.starts_with('.') && !["target", "build"].contains(&&*name) {
                    folders.push(path);
                }
            } else if name.ends_with(end) {
                files.push(path);
            }
        }
    }
    files
}

/// The text outside of blocks of code.
fn prose(page: &Path) -> String {
    let text = fs::read_to_string(page).expect("a page");
    let mut inside = false;
    let lines = text.lines().filter(|line| {
        let fence = line.trim_start().starts_with("```");
        inside ^= fence;
        !inside && !fence
    });
    lines.map(|line| format!("{line}\n")).collect()
}

/// Where the links of a page lead.
fn links(prose: &str) -> Vec<&str> {
    let ends = prose.split("](").skip(1);
    ends.filter_map(|rest| rest.split_once(')')).map(|(target, _)| target).collect()
}

/// The anchors of a page's headings.
fn anchors(page: &Path) -> Vec<String> {
    let slug = |heading: &str| {
        let kept = heading.trim().to_lowercase();
        let kept = kept.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    let prose = prose(page);
    let headings = prose.lines().filter(|line| line.starts_with('#'));
    headings.map(|line| slug(line.trim_start_matches('#'))).collect()
}

/// CONTRIBUTING.md shows by an example which source files know a property of the plan: four at most.
#[test]
fn a_property_of_the_plan_stands_in_the_files_that_are_shown() {
    let page = fs::read_to_string(Path::new(ROOT).join("CONTRIBUTING.md")).expect("a page");
    let (_, section) = page.split_once("### A property of the plan\n").expect("a section");
    let (section, _) = section.split_once("\n## ").expect("another section");
    let steps = section.lines().filter_map(|line| line.split_once(". `")?.1.split_once("`: "));
    let mut shown: Vec<PathBuf> = steps.map(|(path, _)| path.into()).collect();
    shown.sort();
    assert!(shown.len() <= 4, "{shown:?}");
    let knows = |path: &PathBuf| {
        let text = fs::read_to_string(path).expect("text");
        text.contains("restart_limit") || text.contains("RESTART_LIMIT")
    };
    let is_product = |path: &PathBuf| {
        let outside = ["testing", "tests"];
        path.iter().any(|name| name == "src")
            && !path.iter().any(|name| outside.iter().any(|other| name == *other))
    };
    let sources = files(".rs").into_iter().filter(is_product);
    let found = sources.filter(knows).map(|path| path.strip_prefix(ROOT).expect("below").into());
    let mut found: Vec<PathBuf> = found.collect();
    found.sort();
    assert_eq!(found, shown);
}

#[test]
fn links_lead_somewhere() {
    let mut broken = Vec::new();
    for page in pages() {
        for link in links(&prose(&page)) {
            if link.contains("://") {
                continue;
            }
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => page.clone(),
                file => page.parent().expect("a folder").join(file),
            };
            let heading = anchor.is_empty() || anchors(&target).iter().any(|it| it == anchor);
            if !target.exists() || !heading {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn every_page_is_in_the_book() {
    let docs = Path::new(ROOT).join("docs");
    let summary = prose(&docs.join("SUMMARY.md"));
    let listed = links(&summary);
    let exempt = |page: &str| page == "SUMMARY.md" || page.starts_with("reproduce/");
    for page in pages().iter().filter_map(|page| page.strip_prefix(&docs).ok()) {
        let page = page.to_string_lossy();
        assert!(exempt(&page) || listed.contains(&&*page), "{page} is not in docs/SUMMARY.md");
    }
}

#[test]
fn the_book_says_of_which_version_it_is() {
    let make = Command::new("make").current_dir(ROOT).args(["--dry-run", "book"]).output();
    let shown = String::from_utf8(make.expect("make starts").stdout).expect("text");
    let title = concat!("MDBOOK_BOOK__TITLE=\"Bulkhead ", env!("CARGO_PKG_VERSION"), ", ");
    assert!(shown.contains(title), "{shown}");
}

/// The first block of code of this kind.
fn block<'a>(page: &'a str, kind: &str) -> &'a str {
    let start = page.split_once(&format!("```{kind}\n")).expect("a block").1;
    start.split_once("```").expect("its end").0
}

#[test]
fn each_task_of_the_how_to_for_coloured_tasks_has_a_vcpu() {
    let page = Path::new(ROOT).join("docs/how-to/color-linux-tasks.md");
    let page = fs::read_to_string(page).expect("a page");
    let system = block(&page, "toml");
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("tasks.toml"), system).expect("a file");
    let mut check = Command::new(env!("CARGO_BIN_EXE_bulkhead"));
    let check = check.current_dir(&folder).args(["check", "tasks.toml"]).output();
    let check = check.expect("the command starts");
    assert!(check.status.success(), "{}", String::from_utf8_lossy(&check.stderr));

    let number = |text: &str, key: &str| -> u32 {
        let digits = text.split_once(key).expect(key).1;
        digits
            .split(|c: char| !c.is_ascii_digit())
            .next()
            .and_then(|it| it.parse().ok())
            .expect(key)
    };
    assert_eq!(number(system, "vcpus = "), 1 + number(&page, "job.corunners="));
}

/// Each line is one that `check` prints about this system.
fn assert_check_shows(system: &str, lines: &str) {
    let mut check = Command::new(env!("CARGO_BIN_EXE_bulkhead"));
    let check = check.current_dir(ROOT).args(["check", system]).output();
    let shown = String::from_utf8(check.expect("the command starts").stdout).expect("text");
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for line in lines.lines() {
        let found = shown.lines().any(|it| words(it) == words(line));
        assert!(found, "`{line}` is not in\n{shown}");
    }
}

#[test]
fn the_bound_in_the_how_to_for_channels_is_that_of_the_example() {
    let page = Path::new(ROOT).join("docs/how-to/let-two-vms-talk.md");
    let page = fs::read_to_string(page).expect("a page");
    assert_check_shows("systems/channel.toml", block(&page, "text"));
}

#[test]
fn the_limit_in_the_how_to_for_isolation_is_that_of_the_example() {
    let page = Path::new(ROOT).join("docs/how-to/see-isolation.md");
    let page = fs::read_to_string(page).expect("a page");
    let (_, bus) = page.split_once("## The bus\n").expect("a section");
    assert_check_shows("systems/bandwidth.toml", block(bus, "text"));
}

#[test]
fn readme_can_be_read_in_two_minutes() {
    let readme = fs::read_to_string(Path::new(ROOT).join("README.md")).expect("a page");
    assert!(readme.lines().count() <= 120, "{} lines", readme.lines().count());
    let long: Vec<_> = readme.lines().filter(|line| line.chars().count() > 100).collect();
    assert!(long.is_empty(), "{long:#?}");
}

/// Each cell of the table in README is the first word about that system in the section of that row, with a source.
#[test]
fn each_cell_of_the_comparison_has_a_source() {
    let read = |page| fs::read_to_string(Path::new(ROOT).join(page)).expect("a page");
    let (readme, page) = (read("README.md"), read("docs/comparison.md"));
    let rows = readme.lines().filter(|line| line.starts_with("| "));
    let mut rows = rows.map(|row| row.trim_matches('|').split('|').map(str::trim));
    let systems: Vec<&str> = rows.next().expect("a table").skip(1).collect();
    let sections: Vec<&str> = page.split("\n## ").skip(1).collect();
    let mut compared = Vec::new();
    for mut row in rows {
        let name = row.next().expect("a name");
        let section = sections.iter().find(|it| it.starts_with(&format!("{name}\n")));
        let section = section.unwrap_or_else(|| panic!("no section `{name}`"));
        for (system, cell) in systems.iter().zip(row) {
            let start = format!("- **{system}**: {cell}. ");
            let (_, item) = section.split_once(&start).unwrap_or_else(|| panic!("{name}: {start}"));
            let item = item.split("\n- ").next().expect("an item");
            assert!(item.contains("](") || item.contains("]["), "{name}, {system}: no source");
        }
        compared.push(name);
    }
    let sections: Vec<_> = sections.iter().filter_map(|it| it.lines().next()).collect();
    assert_eq!(compared, sections);
    let labels = page.split("][").skip(1).filter_map(|rest| rest.split_once(']'));
    for (label, _) in labels {
        assert!(page.contains(&format!("\n[{label}]: https://")), "{label} leads nowhere");
    }
}

#[test]
fn each_term_of_the_glossary_is_linked_where_the_book_uses_it() {
    let glossary = Path::new(ROOT).join("docs/glossary.md");
    let headings = fs::read_to_string(&glossary).expect("a page");
    let is_term = |line: &&str| line.starts_with("### ");
    let terms = headings.lines().filter(is_term).map(|line| line[4..].to_lowercase());
    let others: String = pages()
        .iter()
        .filter(|page| !page.ends_with("docs/glossary.md"))
        .map(|page| prose(page))
        .collect();
    for term in terms {
        let link = format!("glossary.md#{})", term.replace(' ', "-"));
        assert!(others.contains(&link), "no page links to `{term}`");
    }
}

/// The lines below the first line that ends like this, without their indentation.
fn indented(text: &str, end: &str) -> String {
    let lines: Vec<&str> = text.lines().skip_while(|line| !line.ends_with(end)).skip(1).collect();
    let depth = lines.first().and_then(|line| line.find(|it| it != ' ')).expect("a line");
    let is_inside = |line: &&&str| line.len() > depth && line[..depth].trim().is_empty();
    let inside = lines.iter().take_while(is_inside);
    inside.map(|line| format!("{}\n", &line[depth..])).collect()
}

/// The scripts of both recipes, in a repository with a change that makes a task late.
#[test]
fn the_recipes_for_ci_show_what_a_change_does() {
    let page = Path::new(ROOT).join("docs/how-to/check-in-ci.md");
    let page = fs::read_to_string(page).expect("a page");
    let late = block(&page, "toml");
    let github = page.split_once("## GitHub\n").expect("a section").1;
    let gitlab = page.split_once("## GitLab\n").expect("a section").1;
    let (_, step) = github.split_once("- name: Check\n").expect("a step");
    let scripts = [
        (indented(step, "run: |"), "check.sarif"),
        (indented(block(gitlab, "yaml"), "    - |"), "check.xml"),
    ];
    for (script, document) in scripts {
        let parent = tempfile::tempdir().expect("a folder");
        let folder = parent.path().join("pilot");
        fs::create_dir(&folder).expect("a folder");
        let path = |name: &str| folder.join(name);
        let program = Path::new(env!("CARGO_BIN_EXE_bulkhead")).parent().expect("a folder");
        let search = format!("{}:{}", program.display(), std::env::var("PATH").expect("a path"));
        let run = |script: &str, base: &str| {
            let mut bash = Command::new("bash");
            bash.current_dir(&folder).args(["-e", "-c", script]).env("PATH", &search);
            bash.env("GIT_CONFIG_GLOBAL", "/dev/null").env_remove("BULKHEAD_TOKEN");
            bash.env("SYSTEM", "system.toml").env("GITHUB_STEP_SUMMARY", path("summary.md"));
            bash.env("BASE", base).env("CI_MERGE_REQUEST_DIFF_BASE_SHA", base);
            bash.output().expect("bash starts")
        };
        let text = |name: &str| fs::read_to_string(path(name)).expect(name);
        fs::write(path("system.toml"), late.replace("\"3ms\"", "\"2ms\"")).expect("a file");
        let commit = "git init -q; git add system.toml; \
                      git -c user.name=a -c user.email=a@example.com commit -qm a";
        let made = run(commit, "");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));

        // A description that is new is compared with nothing.
        let ended = run(&script, "0000000");
        assert_eq!(ended.status.code(), Some(0), "{}", String::from_utf8_lossy(&ended.stderr));
        assert!(text("comment.md").contains("`bulkhead check system.toml`: schedulable\n"));
        assert!(!text("comment.md").contains("bulkhead diff"));

        fs::write(path("system.toml"), late).expect("a file");
        let ended = run(&script, "HEAD");
        assert_eq!(ended.status.code(), Some(1), "{}", String::from_utf8_lossy(&ended.stderr));
        let comment = text("comment.md");
        assert!(comment.starts_with(block(&page, "text")), "{comment}");
        let row = "| differs | `difference` | `task pilot.pid: execution time` | 2 ms | 3 ms |";
        assert!(comment.contains(row) && !comment.contains(": kernel"), "{comment}");
        assert!(text(document).contains("can be late by 32.736 us"), "{}", text(document));
        assert!(document == "check.xml" || text("summary.md").ends_with(&comment));

        // A mistake shows in the document and in the log.
        fs::write(path("system.toml"), late.replace("wcet", "wect")).expect("a file");
        let ended = run(&script, "HEAD");
        assert_eq!(ended.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&ended.stderr).contains("unknown key `wect`"));
        assert!(text(document).contains("input/unknown-key"), "{}", text(document));
        assert!(text("comment.md").contains("bad input"), "{}", text("comment.md"));
    }
}

/// The script for editors, and the patterns by which they find the places in its lines.
#[test]
fn the_task_for_editors_shows_mistakes_and_late_tasks_at_their_lines() {
    let how_to = |name: &str| {
        fs::read_to_string(Path::new(ROOT).join("docs/how-to").join(name)).expect("a page")
    };
    let page = how_to("check-in-an-editor.md");
    let late = how_to("check-in-ci.md");
    let late = block(&late, "toml");
    let task: serde_json::Value = serde_json::from_str(block(&page, "json")).expect("JSON");
    let pattern = &task["tasks"][0]["problemMatcher"]["pattern"];
    assert_eq!(pattern["regexp"], "^(.+):([0-9]+):([0-9]+): (error): (.*)$");
    let is_line = |line: &str| {
        let (place, text) = line.split_once(": error: ").expect(line);
        let numbers = place.rsplitn(3, ':').take(2);
        numbers.into_iter().all(|it| it.parse::<u32>().is_ok()) && !text.is_empty()
    };
    if !Command::new("jq").arg("--version").output().is_ok_and(|it| it.status.success()) {
        println!("jq is missing: the script for editors is not executed");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("bulkhead-lines");
    fs::write(&script, block(&page, "sh")).expect("a file");
    let program = Path::new(env!("CARGO_BIN_EXE_bulkhead")).parent().expect("a folder");
    let search = format!("{}:{}", program.display(), std::env::var("PATH").expect("a path"));
    let lines = |text: &str| {
        fs::write(folder.path().join("system.toml"), text).expect("a file");
        let mut shell = Command::new("sh");
        shell.current_dir(&folder).arg(&script).arg("system.toml").env("PATH", &search);
        String::from_utf8(shell.output().expect("sh starts").stdout).expect("text")
    };
    let shown = lines(late);
    assert_eq!(shown, block(&page, "text"));
    assert!(shown.lines().all(is_line));
    let shown = lines(&late.replace("wcet", "wect"));
    assert!(
        shown.starts_with("system.toml:12:1: error: ") && shown.lines().count() == 2,
        "{shown}"
    );
    assert!(shown.lines().all(is_line) && shown.contains("unknown key `wect`"), "{shown}");
    assert_eq!(lines(&late.replace("\"3ms\"", "\"2ms\"")), "", "all is well");
}

#[test]
fn the_rules_of_verdicts_are_all_documented() {
    let page = Path::new(ROOT).join("docs/how-to/check-in-ci.md");
    let page = fs::read_to_string(page).expect("a page");
    let (_, table) = page.split_once("| rule | it holds if |\n|---|---|\n").expect("a table");
    let rows: Vec<&str> = table.lines().take_while(|line| line.starts_with('|')).collect();
    assert_eq!(rows.len(), Rule::ALL.len());
    for (row, rule) in rows.iter().zip(Rule::ALL) {
        let name = match rule {
            Rule::Input(_) => "input/...".into(),
            rule => rule.id(),
        };
        assert!(row.starts_with(&format!("| `{name}` | {}", rule.about())), "{row}");
    }
}
