//! Verdicts as documents: each form is valid, whatever names and reasons contain.

use report::verdicts::{Form, Outcome, Place, Row, Rule, Verdicts};
use roxmltree::{Document, Node};
use serde_json::{Value, json};

const NASTY: &str =
    "a<b>&\"'`|\\ \u{1b}[31m\u{0}\u{fffe}]]> {x} *y* _z_ #\r\nä\t<!-- ${{ c }} @you :x: \u{7f}";

fn place(line: usize) -> Option<Place> {
    Some(Place { file: "systems/a b.toml".into(), line, column: 3, end_column: 9 })
}

fn verdicts(rows: Vec<Row>) -> Verdicts {
    Verdicts {
        command: "check",
        file: "systems/a b.toml".into(),
        answer: "not schedulable".into(),
        rows,
        notes: vec!["no VM has colours".into()],
    }
}

/// One of each outcome, and a mistake.
fn mixed() -> Verdicts {
    verdicts(vec![
        Row::new(Rule::Plan, "system demo"),
        Row {
            details: "  22 ms  without supply\n".into(),
            ..Row::new(Rule::Deadline, "task pilot.pid")
                .figure("bound", "26 ms")
                .figure("limit", "24 ms")
                .fails_if(["task `pid` can be late by 2 ms"])
                .at(place(7))
        },
        Row::new(Rule::Budget, "VCPU pilot.0")
            .figure("limit", "10 ms")
            .open_if(["it may not get its budget"]),
        Row::new(Rule::Input("unknown-key"), "systems/a b.toml:9:1")
            .fails_if(["unknown key `x`"])
            .at(place(9)),
    ])
}

/// Names and reasons of nothing but what needs care, in all places.
fn nasty() -> Verdicts {
    let row = Row {
        details: format!("{NASTY}\n```\n{NASTY}"),
        place: Some(Place { file: NASTY.into(), line: 1, column: 1, end_column: 2 }),
        ..Row::new(Rule::Deadline, NASTY).figure("bound", NASTY).fails_if([NASTY, NASTY])
    };
    Verdicts {
        file: NASTY.into(),
        answer: NASTY.into(),
        notes: vec![NASTY.into()],
        ..verdicts(vec![
            row.clone(),
            Row { outcome: Outcome::Open, ..row.clone() },
            Row { outcome: Outcome::Holds, ..row },
        ])
    }
}

/// The elements of this name in an element.
fn inner<'a>(node: Node<'a, 'a>, name: &'static str) -> Vec<Node<'a, 'a>> {
    node.children().filter(|it| it.has_tag_name(name)).collect()
}

fn attributes<'a>(node: Node<'a, 'a>, names: &[&str]) -> Vec<&'a str> {
    names.iter().map(|name| node.attribute(*name).unwrap_or("-")).collect()
}

/// What XML 1.0 can contain of a text.
fn legal(text: &str) -> String {
    text.replace(['\u{1b}', '\u{0}', '\u{fffe}'], "\u{fffd}")
}

#[test]
fn junit_has_a_test_case_for_each_verdict() {
    let text = mixed().document(Form::Junit);
    assert!(text.starts_with("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites "), "{text}");
    let document = Document::parse(&text).expect("XML");
    let suites = document.root_element();
    let names = ["name", "tests", "failures", "errors", "skipped"];
    assert_eq!(attributes(suites, &names), ["bulkhead check", "4", "1", "1", "1"]);
    let [suite] = inner(suites, "testsuite")[..] else { panic!("{text}") };
    assert_eq!(attributes(suite, &names), ["systems/a b.toml", "4", "1", "1", "1"]);
    let cases = inner(suite, "testcase");
    let shown: Vec<_> =
        cases.iter().map(|it| attributes(*it, &["classname", "name", "file", "line"])).collect();
    assert_eq!(
        shown,
        [
            ["check.plan", "system demo", "systems/a b.toml", "-"],
            ["check.deadline", "task pilot.pid", "systems/a b.toml", "7"],
            ["check.budget", "VCPU pilot.0", "systems/a b.toml", "-"],
            ["check.input/unknown-key", "systems/a b.toml:9:1", "systems/a b.toml", "9"],
        ]
    );
    assert_eq!(cases[0].children().count(), 0);
    let failure = inner(cases[1], "failure")[0];
    let message = "bound 26 ms, limit 24 ms: task `pid` can be late by 2 ms";
    assert_eq!(attributes(failure, &["message", "type"]), [message, "deadline"]);
    assert_eq!(failure.text(), Some(&*format!("{message}\n  22 ms  without supply")));
    let skipped = inner(cases[2], "skipped")[0];
    assert_eq!(attributes(skipped, &["message"]), ["limit 10 ms: it may not get its budget"]);
    let error = inner(cases[3], "error")[0];
    assert_eq!(attributes(error, &["type", "message"]), ["input/unknown-key", "unknown key `x`"]);
    assert_eq!(inner(suite, "system-out")[0].text(), Some("note: no VM has colours\n"));
}

#[test]
fn junit_says_what_was_written_whatever_it_contains() {
    let text = nasty().document(Form::Junit);
    let document = Document::parse(&text).expect("XML");
    let suite = inner(document.root_element(), "testsuite")[0];
    assert_eq!(suite.attribute("name"), Some(&*legal(NASTY)));
    let cases = inner(suite, "testcase");
    assert_eq!(cases[0].attribute("name"), Some(&*legal(NASTY)));
    assert_eq!(cases[0].attribute("file"), Some(&*legal(NASTY)));
    let nasty = legal(NASTY);
    let failure = inner(cases[0], "failure")[0];
    let message = format!("bound {nasty}: {nasty}; {nasty}");
    assert_eq!(failure.attribute("message"), Some(&*message));
    assert!(failure.text().expect("text").starts_with(&message));
}

/// What the schema and GitHub ask for, of a document of one run.
fn sarif(verdicts: &Verdicts) -> Value {
    let document: Value = serde_json::from_str(&verdicts.document(Form::Sarif)).expect("JSON");
    assert_eq!(document["version"], "2.1.0");
    assert!(document["$schema"].as_str().expect("a URI").ends_with("sarif-schema-2.1.0.json"));
    let runs = document["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), 1);
    let run = &runs[0];
    let driver = &run["tool"]["driver"];
    assert_eq!(driver["name"], "bulkhead");
    let rules = driver["rules"].as_array().expect("rules");
    for rule in rules {
        for text in ["shortDescription", "fullDescription", "help"] {
            assert!(rule[text]["text"].as_str().is_some_and(|it| !it.is_empty()), "{rule}");
        }
    }
    let mut ids: Vec<_> = rules.iter().map(|rule| rule["id"].as_str().expect("an id")).collect();
    for result in run["results"].as_array().expect("results") {
        let index = result["ruleIndex"].as_u64().expect("an index") as usize;
        assert_eq!(result["ruleId"], ids[index]);
        assert!(result["message"]["text"].as_str().is_some_and(|it| !it.is_empty()), "{result}");
        assert!(["error", "note"].contains(&result["level"].as_str().expect("a level")));
        let location = &result["locations"][0]["physicalLocation"];
        let uri = location["artifactLocation"]["uri"].as_str().expect("a URI");
        let is_uri = |it: char| it.is_ascii_alphanumeric() || "-._~/%:".contains(it);
        assert!(!uri.is_empty() && uri.chars().all(is_uri), "{uri}");
        assert!(result["partialFingerprints"].as_object().is_some_and(|it| it.len() == 1));
    }
    ids.sort_unstable();
    let count = ids.len();
    ids.dedup();
    assert_eq!(ids.len(), count, "ids of rules are unique");
    assert!(run["invocations"][0]["executionSuccessful"].is_boolean());
    for told in run["invocations"][0]["toolExecutionNotifications"].as_array().expect("a list") {
        assert!(told["message"]["text"].as_str().is_some_and(|it| !it.is_empty()), "{told}");
    }
    run.clone()
}

#[test]
fn sarif_has_a_result_for_each_verdict_that_fails() {
    let run = sarif(&mixed());
    let results = run["results"].as_array().expect("results");
    assert_eq!(results.len(), 2);
    assert_eq!(results[0]["ruleId"], "deadline");
    assert_eq!(
        results[0]["message"]["text"],
        "task pilot.pid: bound 26 ms, limit 24 ms: task `pid` can be late by 2 ms\n  22 ms  without supply"
    );
    assert_eq!(
        results[0]["locations"][0]["physicalLocation"],
        json!({
            "artifactLocation": { "uri": "systems/a%20b.toml" },
            "region": { "startLine": 7, "startColumn": 3, "endColumn": 9 },
        })
    );
    assert_eq!(results[1]["ruleId"], "input/unknown-key");
    let invocation = &run["invocations"][0];
    assert_eq!(invocation["executionSuccessful"], false);
    let told = &invocation["toolExecutionNotifications"];
    let open = "VCPU pilot.0: limit 10 ms: it may not get its budget";
    assert_eq!(told[0], json!({ "level": "warning", "message": { "text": open } }));
    assert_eq!(told[1], json!({ "level": "note", "message": { "text": "no VM has colours" } }));
    assert_eq!(run["automationDetails"]["id"], "check systems/a b.toml/");
}

#[test]
fn sarif_of_what_has_no_place_names_the_file_only() {
    let row = Row::new(Rule::Difference, "VM pilot").fails_if(["memory"]);
    let run = sarif(&verdicts(vec![row]));
    let location = &run["results"][0]["locations"][0]["physicalLocation"];
    assert_eq!(*location, json!({ "artifactLocation": { "uri": "systems/a%20b.toml" } }));
    assert_eq!(run["results"][0]["level"], "note");
    assert_eq!(run["invocations"][0]["executionSuccessful"], true);
}

#[test]
fn sarif_keeps_what_was_written() {
    let run = sarif(&nasty());
    let name = &run["results"][0]["locations"][0]["logicalLocations"][0]["fullyQualifiedName"];
    assert_eq!(name, NASTY);
}

#[test]
fn markdown_counts_in_english() {
    let counted = |rows: Vec<Row>| {
        let text = verdicts(rows).document(Form::Markdown);
        text.lines().nth(2).expect("a line of counts").to_owned()
    };
    let holds = || Row::new(Rule::Plan, "system demo");
    let fails = || Row::new(Rule::Plan, "system demo").fails_if(["it is late"]);
    for (rows, expected) in [
        (vec![fails()], "**1 of 1 verdict fails**."),
        (vec![fails(), holds()], "**1 of 2 verdicts fails**."),
        (vec![fails(), fails()], "**2 of 2 verdicts fail**."),
        (vec![holds()], "1 of 1 verdict holds."),
        (vec![holds(), holds()], "2 of 2 verdicts hold."),
    ] {
        assert_eq!(counted(rows), expected);
    }
}

#[test]
fn markdown_is_a_table_with_failures_first() {
    let text = mixed().document(Form::Markdown);
    let expected = "\
### `bulkhead check systems/a b.toml`: not schedulable

**2 of 4 verdicts fail**, 1 open.

|  | rule | of | bound | limit | why |
| --- | --- | --- | ---: | ---: | --- |
| **fails** | `deadline` | `task pilot.pid` | 26 ms | 24 ms | task `pid` can be late by 2 ms |
| **fails** | `input/unknown-key` | `systems/a b.toml:9:1` |  |  | unknown key `x` |
| open | `budget` | `VCPU pilot.0` |  | 10 ms | it may not get its budget |
| holds | `plan` | `system demo` |  |  |  |

`task pilot.pid`

```text
  22 ms  without supply
```

note: no VM has colours
";
    assert_eq!(text, expected);
}

#[test]
fn markdown_keeps_its_table_whatever_names_contain() {
    let text = nasty().document(Form::Markdown);
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
    assert_eq!(rows.len(), 5, "{text}");
    for row in rows {
        assert_eq!(row.matches('|').count(), 6, "{row}");
        assert!(row.chars().all(|it| !it.is_control()), "{row:?}");
        let row = row.replace("<br>", "").replace("`deadline`", "");
        assert!(!row.contains(['<', '>']), "{row}");
        for mark in ["*y", "_z", "`", "[31m", "{x"] {
            assert_eq!(
                row.matches(mark).count(),
                row.matches(&format!("\\{mark}")).count(),
                "{row}"
            );
        }
    }
    assert!(text.contains("\n````text\n") && text.contains("\n````\n"), "{text}");
}

#[test]
fn names_in_backticks_are_code_only_where_that_is_certain() {
    let why = |text: &str| {
        let row = Row::new(Rule::Plan, "s").fails_if([text]);
        let text = verdicts(vec![row]).document(Form::Markdown);
        let line = text.lines().find(|it| it.starts_with("| **fails**")).expect("a row");
        line.rsplit(" | ").next().expect("a cell").trim_end_matches(" |").to_owned()
    };
    assert_eq!(why("VM `a_b` has *no* `x`"), "VM `a_b` has \\*no\\* `x`");
    assert_eq!(why("`a` and `b"), "\\`a\\` and \\`b");
    assert_eq!(why("``a``"), "\\`\\`a\\`\\`");
    assert_eq!(why("`a``b`"), "\\`a\\`\\`b\\`");
    assert_eq!(why("VM `a|b`"), "VM a&#124;b");
    assert_eq!(why("\\`a`"), "&#92;`a`");
}

#[test]
fn markdown_fits_into_a_comment() {
    let row = |index: usize| {
        let rule = Row::new(Rule::Deadline, format!("task vm.{index}"));
        if index == 4000 { rule.fails_if(["late"]) } else { rule }
    };
    let text = verdicts((0..5000).map(row).collect()).document(Form::Markdown);
    assert!(text.len() < 65_536 && text.contains("`task vm.4000`"), "{}", text.len());
    let shown = text.lines().filter(|line| line.starts_with("| ") && line.contains("`deadline`"));
    let left = format!("\n{} more verdicts are not shown.\n", 5000 - shown.count());
    assert!(text.contains(&left), "{left}");
}

#[test]
fn nothing_judged_is_a_valid_document_too() {
    let none = Verdicts { rows: Vec::new(), notes: Vec::new(), ..mixed() };
    let text = none.document(Form::Junit);
    let document = Document::parse(&text).expect("XML");
    assert_eq!(document.root_element().attribute("tests"), Some("0"));
    assert_eq!(sarif(&none)["results"], json!([]));
    assert!(!none.document(Form::Markdown).contains('|'));
}
