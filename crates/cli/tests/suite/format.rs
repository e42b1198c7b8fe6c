//! `--format`: documents of verdicts for tools that review changes.

use roxmltree::Document;
use serde_json::{Value, json};
use testing::{Result, Sandbox, sandbox};

const FORMS: [&str; 3] = ["junit", "sarif", "markdown"];

/// A system whose task `pid` can be late, and a chain that is.
const LATE: &str = "\
platform = \"zcu102\"

[[chain]]
name = \"steer\"
steps = [\"pilot.gyro\", \"pilot.pid\"]
max_reaction = \"50ms\"

[[chain]]
name = \"watch\"
steps = [\"pilot.gyro\"]

[[vm]]
name = \"pilot\"
boot = \"raw\"
memory = \"16MiB\"
kernel = \"rt.bin\"

[[vm.vcpu]]
pcpu = 1
server = \"sporadic\"
budget = \"2ms\"
period = \"10ms\"

[[vm.task]]
name = \"gyro\"
period = \"20ms\"
wcet = \"1ms\"

[[vm.task]]
name = \"pid\"
period = \"40ms\"
deadline = \"24ms\"
wcet = \"2ms\"

[[vm]]
name = \"other\"
boot = \"raw\"
memory = \"16MiB\"
kernel = \"rt.bin\"

[[vm.vcpu]]
pcpu = 1
server = \"deferrable\"
budget = \"3ms\"
period = \"5ms\"
";

fn in_time() -> String {
    LATE.replace("24ms", "30ms").replace("\"50ms\"", "\"110ms\"")
}

fn with(files: &[(&str, &str)]) -> Sandbox {
    let sandbox = sandbox!();
    files.iter().for_each(|(name, text)| sandbox.write(name, text));
    sandbox
}

/// The class and the name of a test case, and the element that says that it has not passed, with its message.
type Case = (String, String, Option<(String, String)>);

/// The test cases of a JUnit document.
fn cases(result: &Result) -> Vec<Case> {
    let document = Document::parse(&result.stdout).expect("the standard output is XML");
    let cases = document.descendants().filter(|it| it.has_tag_name("testcase"));
    let case = |it: roxmltree::Node<'_, '_>| {
        let get = |name: &str| it.attribute(name).expect(name).to_owned();
        let problem = it.children().find_map(|it| {
            Some((it.tag_name().name().to_owned(), it.attribute("message")?.to_owned()))
        });
        (get("classname"), get("name"), problem)
    };
    cases.map(case).collect()
}

/// The results of a SARIF document: rule, file and lines, and message.
fn results(result: &Result) -> Vec<(String, String, Value, String)> {
    let document = result.json();
    let results = document["runs"][0]["results"].as_array().expect("results").clone();
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let result = |it: &Value| {
        let place = &it["locations"][0]["physicalLocation"];
        let uri = text(&place["artifactLocation"]["uri"]);
        (text(&it["ruleId"]), uri, place["region"].clone(), text(&it["message"]["text"]))
    };
    results.iter().map(result).collect()
}

/// What stands in a text at the region of a result.
fn marked(text: &str, region: &Value) -> String {
    let number = |name: &str| region[name].as_u64().expect(name) as usize;
    let line = text.lines().nth(number("startLine") - 1).expect("a line");
    let columns = number("startColumn") - 1..number("endColumn") - 1;
    line.chars().skip(columns.start).take(columns.len()).collect()
}

#[test]
fn text_is_the_default_and_json_has_two_names() {
    let sandbox = with(&[("s.toml", LATE)]);
    let check = |more: &[&str]| sandbox.bulkhead(&[&["check", "s.toml"], more].concat());
    assert_eq!(check(&["--format", "text"]).stdout, check(&[]).stdout);
    let json = check(&["--json"]).stdout;
    assert_eq!(check(&["--format", "json"]).stdout, json);
    assert_eq!(check(&["--json", "--format=json"]).stdout, json);
    // As all options of all commands, also before the command.
    assert_eq!(sandbox.bulkhead(&["--format", "json", "check", "s.toml"]).stdout, json);
    assert_eq!(sandbox.bulkhead(&["schema", "description", "--format", "json"]).status, Some(0));
}

#[test]
fn two_formats_and_unknown_ones_are_refused() {
    let sandbox = with(&[("s.toml", LATE)]);
    for other in ["text", "junit", "sarif", "markdown"] {
        let result = sandbox.bulkhead(&["check", "s.toml", "--json", "--format", other]);
        result.assert_refused(&["`--json` and `--format` name different formats", "help: remove"]);
    }
    let unknown = sandbox.bulkhead(&["check", "s.toml", "--format", "xml"]);
    unknown.assert_refused(&["'xml'", "text, json, junit, sarif, markdown"]);
    sandbox.bulkhead(&["check", "s.toml", "--format"]).assert_refused(&["--format"]);
}

#[test]
fn commands_without_verdict_refuse_documents_of_verdicts() {
    let sandbox = with(&[("s.toml", LATE)]);
    let parts = ["this command has no verdict", "`check`, `diff`, `prove` and `run`"];
    for command in [
        &["plan", "s.toml"][..],
        &["sim", "s.toml"],
        &["export", "s.toml", "--to", "xen"],
        &["init", "new"],
        &["import", "dtb", "f"],
        &["trace", "export", "f", "--to", "csv"],
        &["measure", "host"],
        &["reproduce", "--list"],
        &["sweep", "f.toml"],
        &["schema", "description"],
        &["completions", "bash"],
        &["man", "pages"],
        &["run", "s.toml", "--image-only", "image"],
    ] {
        for form in FORMS {
            sandbox.bulkhead(&[command, &["--format", form]].concat()).assert_refused(&parts);
        }
    }
    for file in ["new", "pages", "image", "s.plan.dts", "s.xen"] {
        assert!(!sandbox.path(file).exists(), "{file}");
    }
}

#[test]
fn check_has_a_test_case_for_each_task_chain_and_budget() {
    let sandbox = with(&[("late.toml", LATE), ("good.toml", &in_time())]);
    let result = sandbox.bulkhead(&["check", "late.toml", "--format", "junit"]);
    result.assert_status(1);
    let cases = cases(&result);
    let names: Vec<_> = cases.iter().map(|(class, name, _)| format!("{class}: {name}")).collect();
    let expected = [
        "check.plan: system late",
        "check.deadline: task pilot.gyro",
        "check.deadline: task pilot.pid",
        "check.chain: chain steer",
        "check.budget: VCPU other.0",
        "check.budget: VCPU pilot.0",
    ];
    assert_eq!(names, expected);
    let failed: Vec<_> = cases.iter().filter_map(|(.., problem)| problem.clone()).collect();
    let failure = |text: &str| ("failure".to_owned(), text.to_owned());
    let late =
        "bound 26 ms, limit 24 ms: task `pid` on VCPU 0 of VM `pilot` can be late by 2 ms: 26 ms";
    let chain = "bound reaction 101 ms, data age 101 ms, limit reaction 50 ms: the reaction of chain \
                 `steer` can take 101 ms: 51 ms longer than `max_reaction`";
    assert_eq!(failed, [failure(late), failure(chain)]);
    for detail in ["22 ms  without supply", "2 jobs of `gyro` above it", "reads once in 40 ms"] {
        assert!(result.stdout.contains(detail), "{detail}: {}", result.stdout);
    }
    let good = sandbox.bulkhead(&["check", "good.toml", "--format", "junit"]);
    good.assert_status(0);
    assert!(self::cases(&good).iter().all(|(.., problem)| problem.is_none()), "{}", good.stdout);
}

#[test]
fn check_shows_what_fails_at_its_line() {
    let sandbox = sandbox!();
    std::fs::create_dir(sandbox.path("systems")).expect("a folder");
    sandbox.write("systems/late.toml", LATE);
    let result = sandbox.bulkhead(&["check", "systems/late.toml", "--format", "sarif"]);
    result.assert_status(1);
    assert_eq!(result.stderr, "");
    let found = results(&result);
    let rules: Vec<_> = found.iter().map(|(rule, uri, ..)| (rule.as_str(), uri.as_str())).collect();
    assert_eq!(rules, [("deadline", "systems/late.toml"), ("chain", "systems/late.toml")]);
    let marked: Vec<_> = found.iter().map(|(.., region, _)| marked(LATE, region)).collect();
    assert_eq!(marked, ["\"pid\"", "\"steer\""]);
    assert!(found[0].3.starts_with("task pilot.pid: bound 26 ms, limit 24 ms: "), "{}", found[0].3);
}

#[test]
fn check_is_a_table_for_a_comment() {
    let sandbox = with(&[("late.toml", LATE), ("good.toml", &in_time())]);
    let late = sandbox.bulkhead(&["check", "late.toml", "--format", "markdown"]);
    late.assert_status(1);
    let start = "\
### `bulkhead check late.toml`: not schedulable

**2 of 6 verdicts fail**.

|  | rule | of | bound | limit | why |
| --- | --- | --- | ---: | ---: | --- |
| **fails** | `deadline` | `task pilot.pid` | 26 ms | 24 ms | task `pid` on VCPU 0 of VM `pilot` can be late by 2 ms: 26 ms |
";
    assert!(late.stdout.starts_with(start), "{}", late.stdout);
    assert!(late.stdout.contains("\nnote: VCPU 0 of VM `pilot`: "), "{}", late.stdout);
    let good = sandbox.bulkhead(&["check", "good.toml", "--format", "markdown"]);
    good.assert_status(0);
    let start = "### `bulkhead check good.toml`: schedulable\n\n6 of 6 verdicts hold.\n";
    assert!(good.stdout.starts_with(start), "{}", good.stdout);
}

#[test]
fn options_of_check_have_their_results_in_documents_too() {
    let sandbox = with(&[("s.toml", &in_time())]);
    let options = ["--sensitivity", "--certificate", "theorems"];
    let text = sandbox.bulkhead(&[&["check", "s.toml"], &options[..]].concat()).stdout;
    let sentence = |part: &str| {
        let line = text.lines().find(|line| line.contains(part)).expect(part);
        line.trim().to_owned()
    };
    for form in FORMS {
        let command = [&["check", "s.toml", "--format", form], &options[..]].concat();
        let result = sandbox.bulkhead(&command);
        result.assert_status(0);
        for part in ["all execution times together can grow by", "no theorem"] {
            let sentence = sentence(if part == "no theorem" { "theorem" } else { part });
            let plain = result.stdout.replace('\\', "").replace("&lt;", "<");
            assert!(plain.contains(&sentence), "{form}: {sentence}\n{}", result.stdout);
        }
    }
}

#[test]
fn a_budget_that_nothing_promises_is_open_and_not_a_failure() {
    let vcpu = |name: &str, server: &str, budget: &str, period: &str| {
        format!(
            "[[vm]]\nname = \"{name}\"\nboot = \"raw\"\nmemory = \"4MiB\"\nkernel = \"k\"\n[[vm.vcpu]]\n\
             pcpu = 1\nserver = \"{server}\"\nbudget = \"{budget}\"\nperiod = \"{period}\"\n"
        )
    };
    let [low, high] =
        [vcpu("pilot", "sporadic", "2ms", "6ms"), vcpu("other", "deferrable", "3ms", "5ms")];
    let sandbox = with(&[("s.toml", &format!("platform = \"zcu102\"\n{low}{high}"))]);
    let shown = sandbox.bulkhead(&["check", "s.toml"]);
    shown.assert_status(0);
    assert!(shown.stdout.contains("may not get its budget"), "{}", shown.stdout);
    let result = sandbox.bulkhead(&["check", "s.toml", "--format", "junit"]);
    result.assert_status(0);
    let open: Vec<_> =
        cases(&result).into_iter().filter_map(|(_, name, it)| Some((name, it?.0))).collect();
    assert_eq!(open, [("VCPU pilot.0".to_owned(), "skipped".to_owned())]);
    let sarif = sandbox.bulkhead(&["check", "s.toml", "--format", "sarif"]);
    sarif.assert_status(0);
    assert_eq!(results(&sarif), []);
    let told = &sarif.json()["runs"][0]["invocations"][0]["toolExecutionNotifications"];
    assert_eq!(told[0]["level"], "warning");
}

#[test]
fn a_system_without_tasks_and_a_plan_have_a_verdict() {
    let none = "platform = \"qemu-virt\"\n[[vm]]\nname = \"a\"\nboot = \"raw\"\nmemory = \"4MiB\"\nkernel = \"k\"\n";
    let sandbox = with(&[("none.toml", none)]);
    for (file, system) in [("none.toml", "system none"), ("test.dts", "system test")] {
        let result = sandbox.bulkhead(&["check", file, "--format", "junit"]);
        result.assert_status(0);
        assert_eq!(cases(&result), [("check.plan".into(), system.into(), None)], "{file}");
        let result = sandbox.bulkhead(&["check", file, "--format", "sarif"]);
        assert_eq!(results(&result), [], "{file}");
        let result = sandbox.bulkhead(&["check", file, "--format", "markdown"]);
        assert!(result.stdout.contains(&format!("| holds | `plan` | `{system}` |")), "{file}");
    }
}

#[test]
fn mistakes_are_in_the_document_and_in_the_log() {
    let text = LATE.replace("wcet = \"2ms\"", "wect = \"2ms\"").replace("zcu102", "zcu1o2");
    let sandbox = with(&[("s.toml", &text)]);
    let shown = sandbox.bulkhead(&["check", "s.toml"]);
    for form in FORMS {
        let result = sandbox.bulkhead(&["check", "s.toml", "--format", form]);
        result.assert_status(2);
        assert_eq!(result.stderr, shown.stderr, "{form}");
        match form {
            "junit" => {
                let all = cases(&result);
                assert_eq!((&*all[0].0, &*all[0].1), ("check.input/unknown-name", "s.toml:1:12"));
                assert_eq!((&*all[1].0, &*all[1].1), ("check.input/unknown-key", "s.toml:33:1"));
                let message = "unknown key `wect`; help: did you mean `wcet`?";
                assert_eq!(all[1].2, Some(("error".into(), message.into())));
            }
            "sarif" => {
                let all = results(&result);
                let marked: Vec<_> = all.iter().map(|it| marked(&text, &it.2)).collect();
                assert_eq!(marked, ["\"zcu1o2\"", "wect"]);
                let run = &result.json()["runs"][0];
                assert_eq!(run["invocations"][0]["executionSuccessful"], false);
            }
            _ => {
                let row = "| **fails** | `input/unknown-key` | `s.toml:33:1` | unknown key `wect`<br>help: did you mean `wcet`? |";
                assert!(result.stdout.contains(row), "{}", result.stdout);
                assert!(result.stdout.contains("`bulkhead check s.toml`: bad input\n"));
            }
        }
    }
}

#[test]
fn what_cannot_be_read_is_in_the_document_without_a_line() {
    let sandbox = with(&[("s.toml", LATE)]);
    for command in [
        &["check", "gone.toml"][..],
        &["prove", "gone.toml"],
        &["run", "gone.toml"],
        &["diff", "s.toml", "gone.toml"],
    ] {
        let result = sandbox.bulkhead(&[command, &["--format", "sarif"]].concat());
        result.assert_status(2);
        assert!(result.stderr.starts_with("error: cannot read gone.toml"), "{}", result.stderr);
        let all = results(&result);
        assert_eq!(all.len(), 1);
        let (rule, uri, region, message) = &all[0];
        assert_eq!((rule.as_str(), uri.as_str()), ("input/cannot-read", "gone.toml"));
        assert_eq!(*region, Value::Null);
        assert!(message.contains("cannot read gone.toml"), "{message}");
        let junit = sandbox.bulkhead(&[command, &["--format", "junit"]].concat());
        assert_eq!(cases(&junit)[0].0, format!("{}.input/cannot-read", command[0]));
    }
}

#[test]
fn no_plan_is_a_failure_of_the_plan() {
    let text = LATE.replace("budget = \"2ms\"\n", "").replace("24ms", "2ms");
    let sandbox = with(&[("s.toml", &text)]);
    let result = sandbox.bulkhead(&["check", "s.toml", "--format", "junit"]);
    result.assert_status(1);
    assert!(result.stderr.starts_with("error"), "{}", result.stderr);
    let all = cases(&result);
    assert!(!all.is_empty());
    for (class, _, problem) in all {
        assert_eq!(
            (class.as_str(), problem.expect("a problem").0.as_str()),
            ("check.plan", "failure")
        );
    }
    let all = results(&sandbox.bulkhead(&["check", "s.toml", "--format", "sarif"]));
    assert!(all.iter().all(|(rule, ..)| rule == "plan") && !all.is_empty(), "{all:?}");
}

#[test]
fn names_of_files_may_contain_anything() {
    let file = "a<b>&\"|`\n$(x) ä.toml";
    let bad = LATE.replace("wcet = \"2ms\"", "wect = \"2ms\"");
    for (text, status) in [(LATE, 1), (&*bad, 2)] {
        let sandbox = with(&[(file, text)]);
        let check = |form: &str| sandbox.bulkhead(&["check", file, "--format", form]);
        let junit = check("junit");
        junit.assert_status(status);
        let document = Document::parse(&junit.stdout).expect("XML");
        let case = document.descendants().find(|it| it.has_tag_name("testcase")).expect("a case");
        assert_eq!(case.attribute("file"), Some(file));
        let (_, uri, ..) = &results(&check("sarif"))[0];
        assert_eq!(uri, "a%3Cb%3E%26%22%7C%60%0A%24%28x%29%20%C3%A4.toml");
        let markdown = check("markdown");
        let title = markdown.stdout.lines().next().expect("a title");
        assert!(
            title.starts_with("### bulkhead check a&#60;b&#62;&#38;\"&#124;\\` \\$(x) ä.toml: "),
            "{title}"
        );
        let widths: Vec<_> = markdown.stdout.lines().filter(|it| it.starts_with("| ")).collect();
        let count = |line: &&str| line.matches(" | ").count();
        assert!(
            widths.windows(2).all(|two| count(&two[0]) == count(&two[1])),
            "{}",
            markdown.stdout
        );
    }
}

#[test]
fn differences_are_shown_at_the_second_description() {
    let sandbox = with(&[("a.toml", LATE), ("b.toml", &LATE.replace("24ms", "30ms"))]);
    let diff = |form: &str, b: &str| sandbox.bulkhead(&["diff", "a.toml", b, "--format", form]);
    let text = std::fs::read_to_string(sandbox.path("b.toml")).expect("a file");
    let result = diff("sarif", "b.toml");
    result.assert_status(1);
    let all = results(&result);
    let deadline = all.iter().find(|it| it.3.starts_with("task pilot.pid: deadline: "));
    let (rule, uri, region, message) = deadline.unwrap_or_else(|| panic!("{all:?}"));
    assert_eq!((rule.as_str(), uri.as_str()), ("difference", "b.toml"));
    assert_eq!(marked(&text, region), "\"pid\"");
    assert!(message.contains("before 24 ms, after 30 ms"), "{message}");
    let levels = &result.json()["runs"][0]["results"];
    assert!(levels.as_array().expect("a list").iter().all(|it| it["level"] == "note"), "{levels}");

    let result = diff("junit", "b.toml");
    result.assert_status(1);
    assert_eq!(cases(&result).len(), all.len());
    assert!(cases(&result).iter().all(|(class, _, it)| class == "diff.difference" && it.is_some()));
    let result = diff("markdown", "b.toml");
    let row = "| differs | `difference` | `task pilot.pid: deadline` | 24 ms | 30 ms | deadline differs |";
    assert!(result.stdout.contains(row), "{}", result.stdout);
    let title = format!("### `bulkhead diff b.toml`: {} differences from a.toml\n\n|", all.len());
    assert!(result.stdout.starts_with(&title), "{}", result.stdout);

    for form in FORMS {
        diff(form, "a.toml").assert_status(0);
    }
    assert_eq!(cases(&diff("junit", "a.toml")), [("diff.difference".into(), "all".into(), None)]);
    assert_eq!(results(&diff("sarif", "a.toml")), []);
}

/// A run in which all is well, but for what is replaced.
const RUN: &str = "\
echo '[bulkhead] ready'; echo '[rt   ] rt: hello'; \
echo '[rt   ] rt: task control period_us=1000 jobs=10 misses=0 response_min_ns=1500 response_mean_ns=2000 response_max_ns=12345'; \
echo '[bulkhead] summary vm=linux state=off reason=- restarts=0 exits=1234 irqs=56'; \
echo '[bulkhead] summary vm=rt state=off reason=- restarts=1 exits=99 irqs=7'; \
echo '[bulkhead] power off'";

#[test]
fn a_run_has_a_verdict_on_each_vm_and_task() {
    let sandbox = sandbox!();
    let good = sandbox.run(RUN, &["--format", "junit"]);
    good.assert_status(0);
    let passed = |class: &str, name: &str| (class.to_owned(), name.to_owned(), None);
    let expected = [
        passed("run.run", "run"),
        passed("run.vm", "VM linux"),
        passed("run.vm", "VM rt"),
        passed("run.deadline", "task rt.control"),
    ];
    assert_eq!(cases(&good), expected);
    assert!(good.stderr.contains("rt: hello"), "the console is on the standard error");
    for (script, name, problem) in [
        (
            RUN.replace("misses=0", "misses=3"),
            "task rt.control",
            "executed 12.345 us: task `control` of VM `rt` missed 3 of 10 deadlines",
        ),
        (
            RUN.replace("vm=rt state=off reason=-", "vm=rt state=stopped reason=bad-access"),
            "VM rt",
            "VM `rt` was stopped: bad-access",
        ),
        (RUN.replace("power off", "bye"), "run", "the hypervisor ended without power-off"),
    ] {
        let result = sandbox.run(&script, &["--format", "junit"]);
        result.assert_status(1);
        let failed = cases(&result).into_iter().filter_map(|(_, name, it)| Some((name, it?)));
        let expected = (name.to_owned(), ("failure".to_owned(), problem.to_owned()));
        assert_eq!(failed.collect::<Vec<_>>(), [expected]);
        let result = sandbox.run(&script, &["--format", "sarif"]);
        result.assert_status(1);
        assert_eq!(results(&result)[0].1, "test.dts");
        let result = sandbox.run(&script, &["--format", "markdown"]);
        result.assert_status(1);
        let title = "### `bulkhead run test.dts`: not well\n";
        assert!(result.stdout.starts_with(title), "{}", result.stdout);
    }
    let slow = sandbox.run("echo up; exec sleep 600", &["--format", "junit", "--timeout", "300ms"]);
    slow.assert_status(1);
    assert!(cases(&slow)[0].2.as_ref().expect("late").1.starts_with("it timed out after "));
}

#[test]
fn a_document_ends_quietly_with_its_reader_and_loudly_on_a_full_disk() {
    let sandbox = with(&[("s.toml", LATE)]);
    for form in FORMS {
        let full = std::fs::File::create("/dev/full").expect("the device");
        let mut command = sandbox.command(&["check", "s.toml", "--format", form]);
        let output = command.stdout(full).output().expect("the command starts");
        assert_eq!(output.status.code(), Some(2), "{form}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("No space left on device"));
    }
}

#[test]
fn a_table_of_json_says_the_same() {
    let sandbox = with(&[("s.toml", LATE)]);
    let json = sandbox.bulkhead(&["check", "s.toml", "--json"]).json();
    let junit = cases(&sandbox.bulkhead(&["check", "s.toml", "--format", "junit"]));
    let pcpus = json["analysis"]["pcpus"].as_array().expect("PCPUs");
    let vcpus = pcpus.iter().flat_map(|it| it["vcpus"].as_array().expect("VCPUs"));
    let tasks = vcpus.flat_map(|it| it["tasks"].as_array().expect("tasks"));
    let of_json: Vec<_> = tasks.map(|it| (it["task"].clone(), it["ok"].clone())).collect();
    let deadlines = junit.iter().filter(|(class, ..)| class == "check.deadline");
    let name = |name: &str| name.rsplit('.').next().expect("a name").to_owned();
    let of_junit: Vec<_> =
        deadlines.map(|(_, task, it)| (json!(name(task)), json!(it.is_none()))).collect();
    assert_eq!(of_json, of_junit);
}
