//! `systems/planned.toml` on the real thing: what is planned is what boots, and no task is late.
//! Hypervisor, Linux and real-time guests must have been built (`make build cachescope`).

mod real;

use real::{project, succeeds};

const SYSTEM: &str = "systems/planned.toml";

/// The plan, as `docs/reference/planning.md` shows it.
#[test]
fn the_documentation_shows_this_plan() {
    let folder = tempfile::tempdir().expect("a folder");
    let target = folder.path().join("planned.plan.dts");
    let shown = succeeds(&["plan", SYSTEM, "-o", target.to_str().expect("UTF-8")]);
    let page = project().join("docs/reference/planning.md");
    let page = std::fs::read_to_string(page).expect("there is a page");
    // Paths of files depend on the folder of the plan.
    let (_, report) = shown.split_once("\n\nVM       VCPU  task ").expect("a table of tasks");
    for line in report.lines().skip(1).filter(|line| !line.is_empty()) {
        assert!(page.contains(&format!("    {line}\n")), "not in the documentation:\n{shown}");
    }
    let checked = succeeds(&["check", SYSTEM]);
    assert!(checked.contains(": ok\n"), "{checked}");
    succeeds(&["check", target.to_str().expect("UTF-8")]);
}

/// What slack costs, why, and from an old plan, as the same page shows it.
#[test]
fn the_documentation_shows_these_searches() {
    let folder = tempfile::tempdir().expect("a folder");
    let build = folder.path().to_str().expect("UTF-8");
    let page = project().join("docs/reference/planning.md");
    let page = std::fs::read_to_string(page).expect("there is a page");
    let [old, new] = ["planned", "new"].map(|name| format!("{build}/{name}.plan.dts"));
    let (chart, front) = (format!("--front={build}/front.svg"), format!("{build}/front"));
    for (heading, command) in [
        ("Why", &["--objective", "least-time", "--explain", "-o", &old][..]),
        ("From an old plan", &["--from", &old, "--changes", "3", "-o", &new]),
        ("Several plans", &[&chart, "-o", &front]),
    ] {
        let (_, section) = page.split_once(&format!("\n## {heading}: ")).expect("a section");
        let (section, _) = section.split_once("\n## ").expect("another section");
        let shown = succeeds(&[&["plan", SYSTEM], command].concat()).replace(build, "build");
        // Columns are as wide as names of files.
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let shown = words(&shown);
        let lines = section.lines().filter_map(|line| line.strip_prefix("    "));
        for line in lines.filter(|line| !line.starts_with("bulkhead ")) {
            assert!(shown.contains(&words(line)), "`{line}` is not in:\n{shown}");
        }
    }
}

/// In the file, the guest is told to run the tasks where the plan has them.
#[test]
fn the_plan_boots_and_no_task_is_late() {
    let document = succeeds(&["plan", SYSTEM, "-o", "-", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&document).expect("JSON");
    let tasks = document["report"]["tasks"].as_array().expect("tasks");
    let second = tasks.iter().filter(|task| task["vm"] == "control" && task["vcpu"] == 1);
    let names: Vec<&str> = second.map(|task| task["task"].as_str().expect("a name")).collect();
    let text = std::fs::read_to_string(project().join(SYSTEM)).expect("there is a system");
    assert!(text.contains(&format!(" rt.second={}\"", names.join(","))), "{names:?}");

    let run =
        ["run", SYSTEM, "--append", "linux=bulkhead.job=demo", "--until-off", "--timeout", "300s"];
    // Short turns: otherwise QEMU's timers are a millisecond late.
    let shown = succeeds(&[&run[..], &["--deterministic", "--short-turns"]].concat());
    assert!(shown.contains("linux: job done") && shown.contains("all is well"), "{shown}");
    for task in tasks {
        let (vm, name) =
            (task["vm"].as_str().expect("a VM"), task["task"].as_str().expect("a name"));
        let line = shown.lines().find(|line| {
            line.starts_with(&format!("[{vm}")) && line.contains(&format!("rt: task {name} "))
        });
        let line = line.unwrap_or_else(|| panic!("{vm}: {name}\n{shown}"));
        assert!(line.contains(" misses=0 ") && line.ends_with(" overruns=0"), "{line}");
        let response = line.split_once("response_max_ns=").and_then(|(_, it)| it.split_once(' '));
        let response: u64 = response.expect("a time").0.parse().expect("a number");
        assert!(response <= task["wcrt_ns"].as_u64().expect("a bound"), "{line}");
    }
}
