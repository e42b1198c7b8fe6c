//! `bulkhead view`: results of commands as a site.

use std::fs;
use std::path::Path;

use testing::{Sandbox, sandbox};

/// A system whose first task has this execution time, as the file `pilot.toml`.
fn described(sandbox: &Sandbox, wcet: &str) {
    let text = format!(
        "name = \"pilot\"\nplatform = \"qemu-virt\"\n[[vm]]\nname = \"rt\"\nboot = \"raw\"\nmemory = \"4MiB\"\n\
         kernel = \"k\"\n[[vm.task]]\nname = \"gyro\"\nperiod = \"10ms\"\nwcet = {wcet:?}\n"
    );
    sandbox.write("pilot.toml", &text);
}

/// Checks the system with this execution time, and keeps the document, which is made at this second.
fn checked(sandbox: &Sandbox, wcet: &str, second: u64, file: &str) {
    described(sandbox, wcet);
    let mut command = sandbox.command(&["check", "pilot.toml", "--json"]);
    let output = command.env("SOURCE_DATE_EPOCH", second.to_string()).output().expect("it starts");
    assert!(!output.stdout.is_empty());
    sandbox.write(file, std::str::from_utf8(&output.stdout).expect("text"));
}

const DAY: u64 = 86_400;

/// The files below a folder, with what is in them.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push((path.display().to_string(), fs::read(&path).expect("a file"))),
        }
    }
    found.sort();
    found
}

/// The index, and the page of the only system.
fn pages(sandbox: &Sandbox, site: &str) -> [String; 2] {
    let mut systems = fs::read_dir(sandbox.path(site).join("systems")).expect("pages");
    let system = systems.next().expect("a page").expect("an entry").path();
    assert!(systems.next().is_none(), "there is one system");
    let index = sandbox.path(site).join("index.html");
    [index, system].map(|path| fs::read_to_string(path).expect("a page"))
}

#[test]
fn a_changed_description_is_shown_as_a_changed_bound() {
    let sandbox = sandbox!();
    checked(&sandbox, "1ms", 20_000 * DAY, "one.json");
    checked(&sandbox, "2ms", 20_001 * DAY, "two.json");
    checked(&sandbox, "11ms", 20_002 * DAY, "three.json");
    let result = sandbox.bulkhead(&["view", "two.json", "one.json", "-o", "site", "--json"]);
    result.assert_status(0);
    let document = result.json();
    assert_eq!((&document["results"], &document["added"]), (&2.into(), &2.into()));
    assert_eq!(document["systems"], serde_json::json!(["pilot"]));
    assert_eq!(document["index"], "site/index.html");
    let [index, system] = pages(&sandbox, "site");
    for date in ["2024-10-04", "2024-10-05"] {
        assert!(index.contains(date) && system.contains(date), "{date}");
    }
    assert!(index.contains("1\u{a0}bound longer"), "{index}");
    let longer = "rt gyro: bound longer by 1.000 ms: ";
    assert!(system.contains(longer) && !system.contains("shorter"), "{system}");

    // The next result comes beside those that are there, and again it is one only.
    for added in [1, 0] {
        let result = sandbox.bulkhead(&["view", "three.json", "-o", "site", "--json"]);
        result.assert_status(0);
        assert_eq!(result.json()["added"], added);
    }
    let [index, system] = pages(&sandbox, "site");
    assert!(index.contains("verdict: schedulable → not schedulable, 1\u{a0}bound lost"), "{index}");
    assert!(system.contains(longer) && system.contains("no bound any more"), "{system}");

    // A site is a folder of results, too.
    sandbox.bulkhead(&["view", "site", "-o", "other"]).assert_status(0);
    assert_eq!(pages(&sandbox, "other"), [index, system]);

    // Whose result is removed is not shown any more, and its page goes.
    let gone = sandbox.path("site/results");
    fs::remove_dir_all(&gone).expect("removed");
    let old = "{\"name\": \"arm\", \"result\": \"ok\", \"power_off\": true, \"times\": \"host\", \"problems\": [],\
               \"vms\": [{\"name\": \"rt\", \"tasks\": []}]}";
    sandbox.write("old.json", old);
    sandbox.write("site/notes.txt", "mine");
    sandbox.bulkhead(&["view", "old.json", "-o", "site"]).assert_status(0);
    let [index, system] = pages(&sandbox, "site");
    assert!(system.contains("<h1>arm</h1>") && !index.contains("pilot"));
    assert!(index.contains("does not say when it was made"), "as old ones do not");
    assert_eq!(fs::read_to_string(sandbox.path("site/notes.txt")).expect("it stays"), "mine");
}

#[test]
fn two_files_called_system_toml_are_two_systems() {
    let sandbox = sandbox!();
    described(&sandbox, "1ms");
    let text = fs::read_to_string(sandbox.path("pilot.toml")).expect("a description");
    let unnamed = text.replace("name = \"pilot\"\n", "");
    let check = |folder: &str, file: &str, name: &str| {
        let mut command = sandbox.command(&["check", file, "--json"]);
        let output = command.current_dir(sandbox.path(folder)).output().expect("it starts");
        sandbox.write(name, std::str::from_utf8(&output.stdout).expect("text"));
    };
    for folder in ["arm", "drive"] {
        fs::create_dir(sandbox.path(folder)).expect("a folder");
        sandbox.write(&format!("{folder}/system.toml"), &unnamed);
        check(folder, "system.toml", &format!("{folder}.json"));
        sandbox.bulkhead(&["plan", &format!("{folder}/system.toml")]).assert_status(0);
        check(folder, "system.plan.dts", &format!("{folder}-plan.json"));
        sandbox.write(&format!("{folder}/system.toml"), "nane = ");
        check(".", &format!("{folder}/system.toml"), &format!("{folder}-broken.json"));
    }
    let documents =
        ["", "-plan", "-broken"].map(|it| [format!("arm{it}.json"), format!("drive{it}.json")]);
    let documents: Vec<&str> = documents.iter().flatten().map(String::as_str).collect();
    let result = sandbox.bulkhead(&[&["view", "-o", "site", "--json"], &documents[..]].concat());
    result.assert_status(0);
    let document = result.json();
    assert_eq!(document["systems"], serde_json::json!(["arm", "drive"]));
    assert_eq!(document["results"], 6);
}

#[test]
fn what_is_no_result_is_refused_with_nothing_changed() {
    let sandbox = sandbox!();
    checked(&sandbox, "1ms", DAY, "good.json");
    sandbox.bulkhead(&["view", "good.json", "-o", "site"]).assert_status(0);
    let good = fs::read_to_string(sandbox.path("good.json")).expect("a document");
    sandbox.write("half.json", &good[..good.len() / 2]);
    sandbox.write("wrong.json", &good.replace("\"deadline_ns\": 10000000", "\"deadline_ns\": -1"));
    sandbox.write("when.json", &good.replacen("1970-01-02T", "yesterday", 1));
    sandbox.write("new.json", "{\"format\": \"bulkhead-proof-v2\"}");
    sandbox.write("other.json", "[1]");
    fs::create_dir(sandbox.path("none")).expect("a folder");
    sandbox.write("none/package.json", "{}");
    fs::create_dir(sandbox.path("some")).expect("a folder");
    sandbox.write("some/good.json", &good);
    sandbox.write("some/half.json", &good[..good.len() / 2]);
    let failed = sandbox.bulkhead(&["sweep", "missing.toml", "--json"]);
    sandbox.write("failed.json", &failed.stdout);
    let before = files(&sandbox.path("site"));
    let refused = |path: &str, parts: &[&str]| {
        for site in ["new", "site"] {
            sandbox.bulkhead(&["view", path, "-o", site]).assert_refused(parts);
        }
        assert!(!sandbox.path("new").exists(), "{path}");
        assert_eq!(files(&sandbox.path("site")), before, "{path}");
    };
    refused("missing", &["cannot read missing: No such file"]);
    refused("none", &["no results in none", "help: name a folder into which `bulkhead prove`"]);
    refused("half.json", &["half.json is damaged: it is no whole JSON document: EOF", "at line"]);
    refused("some", &["some/half.json is damaged"]);
    refused(
        "wrong.json",
        &["wrong.json is damaged: invalid value: integer `-1`, expected u64 at line"],
    );
    refused(
        "when.json",
        &["when.json is damaged: the time is `yesterday", "and not one such as 2026"],
    );
    refused("new.json", &["new.json is damaged: the format is `bulkhead-proof-v2`"]);
    refused("other.json", &["other.json is no result"]);
    refused(
        "failed.json",
        &["failed.json has no result: the command failed: cannot read missing.toml"],
    );
    sandbox.bulkhead(&["view"]).assert_status(2);

    // In a folder it is left out, and that is said.
    fs::remove_file(sandbox.path("some/half.json")).expect("removed");
    sandbox.write("some/failed.json", &failed.stdout);
    let result = sandbox.bulkhead(&["view", "some", "-o", "new"]);
    result.assert_status(0);
    let left = "left out: some/failed.json: the command failed: cannot read missing.toml";
    assert!(result.stdout.contains(left), "{}", result.stdout);
}

#[test]
fn only_a_site_or_an_empty_folder_becomes_a_site() {
    let sandbox = sandbox!();
    checked(&sandbox, "1ms", DAY, "good.json");
    fs::create_dir(sandbox.path("mine")).expect("a folder");
    sandbox.write("mine/index.html", "mine");
    let view = |folder| sandbox.bulkhead(&["view", "good.json", "-o", folder]);
    view("mine").assert_refused(&["mine is no site of `bulkhead view`, and not empty", "help:"]);
    assert_eq!(files(&sandbox.path("mine")).len(), 1);
    view("good.json").assert_refused(&["cannot write good.json"]);
    sandbox.write(
        "mine/site.json",
        "{\"format\": \"bulkhead-site-v9\", \"pages\": [], \"dates\": {}}",
    );
    view("mine").assert_refused(&["mine/site.json is damaged: the format is `bulkhead-site-v9`"]);
    // Nothing outside of the pages is removed, whatever the file names.
    let known = "{\"format\": \"bulkhead-site-v1\", \"pages\": [\"../good.json\", \"systems/../../good.json\"], \"dates\": {}}";
    sandbox.write("mine/site.json", known);
    view("mine").assert_status(0);
    assert!(sandbox.path("good.json").is_file());
    fs::create_dir(sandbox.path("empty")).expect("a folder");
    view("empty").assert_status(0);
    let hidden = |(name, _): &(String, Vec<u8>)| name.contains("/.view-");
    assert!(!files(&sandbox.path("empty")).iter().any(hidden), "nothing unfinished is left");
}

#[test]
fn chains_have_lines_with_their_limits() {
    let sandbox = sandbox!();
    let system = concat!(env!("CARGO_MANIFEST_DIR"), "/../../systems/chains.toml");
    let result = sandbox.bulkhead(&["check", system, "--json"]);
    let checked = result.json();
    sandbox.write("chains.json", &checked.to_string());
    sandbox.bulkhead(&["view", "chains.json", "-o", "site"]).assert_status(0);
    let [index, page] = pages(&sandbox, "site");
    let chains = checked["analysis"]["chains"].as_array().expect("chains");
    let tasks: usize =
        ["plan", "drive"].iter().map(|vm| page.matches(&format!("<h3>{vm} ")).count()).sum();
    let limits = chains.iter().flat_map(|it| [&it["max_reaction_ns"], &it["max_age_ns"]]);
    let limits = limits.filter(|it| it.is_u64()).count();
    assert!(tasks > 0 && limits > 1, "{tasks} {limits}");
    assert!(index.contains(&format!("<td class=\"n\">{0} of {0}</td>", tasks + limits)), "{index}");
    for chain in chains {
        let name = chain["chain"].as_str().expect("a name");
        for time in ["reaction", "data age"] {
            assert!(page.contains(&format!("<h3>{time} of chain {name}</h3>")), "{page}");
        }
    }
}

/// What a command says at this second, kept as a document.
fn kept(sandbox: &Sandbox, arguments: &[&str], second: u64, file: &str) {
    let mut command = sandbox.command(arguments);
    let output = command.env("SOURCE_DATE_EPOCH", second.to_string()).output().expect("it starts");
    sandbox.write(file, std::str::from_utf8(&output.stdout).expect("text"));
}

#[test]
fn nothing_hides_that_an_answer_was_no() {
    let sandbox = sandbox!();
    checked(&sandbox, "11ms", 20_000 * DAY, "late.json");
    sandbox.bulkhead(&["plan", "pilot.toml", "-o", "pilot.plan.dts"]).assert_status(1);
    kept(&sandbox, &["check", "pilot.plan.dts", "--json"], 20_001 * DAY, "plan.json");
    sandbox.bulkhead(&["view", "late.json", "plan.json", "-o", "site"]).assert_status(0);
    let [index, page] = pages(&sandbox, "site");
    assert!(
        index.contains("sound; deadlines not checked") && !index.contains("→ schedulable"),
        "{index}"
    );
    assert!(!index.contains("✓") && !page.contains("✓"), "{index}");

    // A description that cannot be read any more is worse than one that was schedulable.
    checked(&sandbox, "1ms", 20_000 * DAY, "good.json");
    sandbox.write("pilot.toml", "name = ");
    kept(&sandbox, &["check", "pilot.toml", "--json"], 20_001 * DAY, "broken.json");
    sandbox.bulkhead(&["view", "good.json", "broken.json", "-o", "other"]).assert_status(0);
    let [index, page] = pages(&sandbox, "other");
    assert!(
        index.contains("✗ failed") && page.contains("verdict: schedulable → failed"),
        "{index}"
    );

    // Of two results of the same time the bad one counts as the later one.
    for (good, late) in [("good.json", "late.json"), ("late.json", "good.json")] {
        let _ = fs::remove_dir_all(sandbox.path("same"));
        sandbox.bulkhead(&["view", good, late, "-o", "same"]).assert_status(0);
        assert!(pages(&sandbox, "same")[1].contains("verdict: schedulable → not schedulable"));
    }
}

#[test]
fn what_nobody_saw_is_not_well() {
    let sandbox = sandbox!();
    let run = |jobs: u64, unseen: &str| {
        format!(
            "{{\"name\": \"arm\", \"result\": \"ok\", \"power_off\": true, \"times\": \"exact\", \"problems\": [], {unseen}\
             \"vms\": [{{\"name\": \"rt\", \"tasks\": [{{\"name\": \"a\", \"deadline_ns\": 5, \"bound_ns\": 4, \
             \"jobs\": {jobs}, \"misses\": 0, \"response_max_ns\": null}}]}}]}}"
        )
    };
    let unseen = "\"unseen\": true, \"notes\": [\"no chain was seen\"], ";
    for (jobs, unseen, well) in [(3, "", true), (0, "", false), (3, unseen, false)] {
        let _ = fs::remove_dir_all(sandbox.path("site"));
        sandbox.write("run.json", &run(jobs, unseen));
        sandbox.bulkhead(&["view", "run.json", "-o", "site"]).assert_status(0);
        let [index, _] = pages(&sandbox, "site");
        assert_eq!(index.contains("✓ all is well"), well, "{index}");
        assert_eq!(index.contains("nothing went wrong, but not all was seen"), !well);
    }
    let sweep = |column: &str| {
        format!(
            "{{\"ok\": true, \"title\": \"t\", \"complete\": true, \"shards\": 1, \"points\": [{{{column:?}: 0.0}}]}}"
        )
    };
    for (column, verdict) in
        [("exceeded_sum", "no bound exceeded"), ("cavm_ok_share", "no bound was compared")]
    {
        sandbox.write("sweep.json", &sweep(column));
        sandbox.bulkhead(&["view", "sweep.json", "-o", column]).assert_status(0);
        let index = fs::read_to_string(sandbox.path(column).join("index.html")).expect("a page");
        assert!(index.contains(verdict), "{index}");
    }
}

#[test]
fn only_regular_files_are_shown() {
    let sandbox = sandbox!();
    checked(&sandbox, "1ms", 20_000 * DAY, "results.json");
    fs::create_dir(sandbox.path("r")).expect("a folder");
    fs::rename(sandbox.path("results.json"), sandbox.path("r/results.json")).expect("moved");
    sandbox.write("secret", "secret");
    std::os::unix::fs::symlink("../secret", sandbox.path("r/report.html")).expect("a link");
    let refused = |part| {
        sandbox.bulkhead(&["view", "r", "-o", "site"]).assert_refused(&[part]);
        assert!(!sandbox.path("site").exists());
    };
    refused("cannot read r/report.html: this is no regular file");
    fs::remove_file(sandbox.path("r/report.html")).expect("removed");
    std::os::unix::fs::symlink("nowhere", sandbox.path("r/x.json")).expect("a link");
    refused("cannot read r/x.json");
}
