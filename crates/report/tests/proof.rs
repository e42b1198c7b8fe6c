//! The page of a proof: complete in itself, whatever is in it.

mod rover;
mod structure;

use report::proof::{Checked, Proof};
use structure::check_structure;

#[test]
fn the_story_is_told_in_its_order_with_the_verdict_first() {
    let html = rover::rover().html();
    check_structure(&html);
    let mut from = 0;
    for part in [
        "<h1>rover</h1>",
        "With its plan, <strong>rover</strong> meets every deadline",
        "Without isolation</h2>",
        "Analysed</a></h3>",
        "not schedulable",
        "Executed</a></h3>",
        "deadlines missed",
        "With the plan</h2>",
        "Planned and analysed</a></h3>",
        "Simulated</a></h3>",
        "Executed</a></h3>",
        "no deadline missed",
        "nothing limits the memory accesses of linux and noise",
        "<caption>Response times in ms</caption>",
        "How to get this again",
        "bulkhead prove systems/rover.toml",
    ] {
        let at = html[from..].find(part).unwrap_or_else(|| panic!("{part} does not follow"));
        from += at;
    }
}

/// Nothing is guaranteed where times are measured, and the analysis has a word of its own.
#[test]
fn no_page_speaks_of_guarantees() {
    for measured in [false, true] {
        let html = Proof { measured, ..rover::rover() }.html();
        check_structure(&html);
        assert!(html.contains("Why it is not schedulable without isolation"));
        assert!(!html.to_lowercase().contains("guarantee"));
    }
}

#[test]
fn nothing_comes_from_elsewhere() {
    let html = rover::rover().html();
    for word in ["http:", "https:", "src=", "@import", "<link", "style=\""] {
        let script = html.find("<script>").expect("there is a script");
        assert!(!html[..script].contains(word), "{word} is in the page");
    }
    assert!(html.contains("default-src 'none'"));
}

#[test]
fn hostile_names_stay_text() {
    let html = rover::hostile().html();
    check_structure(&html);
    assert_eq!(html.matches("<script>").count(), 1, "there is one script, the page's own");
    assert!(!html.contains("<img") && !html.contains('\u{202e}'));
    assert!(html.contains("&lt;/title&gt;&lt;script&gt;"));
}

#[test]
fn what_refutes_a_proof_is_marked() {
    let html = rover::broken().html();
    check_structure(&html);
    assert!(html.contains("The plan of <strong>rover</strong> does not hold: 1\u{a0}deadline was missed with the plan."));
    assert!(html.contains("6.000<span class=\"beyond\"> above the bound</span>"));
    assert!(html.contains("1\u{a0}eviction across VMs") && html.contains("✗ above the limit"));
    let good = rover::rover().html();
    assert!(!good.contains("above the bound</span>") && !good.contains("✗ above the limit"));
}

/// Deadlines that nobody saw kept are not ticked.
#[test]
fn a_run_with_problems_or_without_jobs_is_not_ticked() {
    let steps = |change: fn(&mut Proof)| {
        let mut proof = rover::rover();
        change(&mut proof);
        let html = proof.html();
        check_structure(&html);
        let items = html.split("<li class=\"").filter_map(|item| {
            let (kind, step) = item.split_once(' ')?;
            let is_step = ["analysed", "simulated", "executed"].contains(&kind);
            is_step.then(|| step.split("<h2").next().unwrap_or(step).to_owned())
        });
        let steps: Vec<String> = items.collect();
        assert_eq!(steps.len(), 5, "{steps:#?}");
        steps
    };
    let is = |step: &str, mark: &str, parts: &[&str]| {
        assert!(step.starts_with(mark) && parts.iter().all(|it| step.contains(it)), "{step}");
    };
    for step in [3, 4] {
        is(&steps(|_| ())[step], "good", &["no deadline missed"]);
    }
    let noted = steps(|proof| {
        for run in [&mut proof.simulation, &mut proof.with] {
            run.as_mut().expect("a run").notes.push("it was stopped".into());
        }
    });
    for step in [3, 4] {
        is(&noted[step], "open", &["aria-label=\"not known\"", "1\u{a0}problem"]);
    }
    let never = steps(|proof| {
        let responses = proof.tasks[0].with.as_mut().expect("it ran");
        (responses.jobs, responses.missed, responses.max_ns) = (0, 0, None);
        for task in &mut proof.tasks {
            task.simulated = None;
        }
    });
    is(&never[3], "open", &["no complete job was seen"]);
    is(&never[4], "open", &["1\u{a0}task without a complete job"]);
    let late = steps(|proof| {
        let run = proof.with.as_mut().expect("a run");
        run.notes.push("it was stopped".into());
        let responses = proof.tasks[0].with.as_mut().expect("it ran");
        responses.missed = 2;
    });
    is(&late[4], "bad", &["2\u{a0}deadlines missed", "1\u{a0}problem"]);
}

#[test]
fn chains_stand_beside_their_limits() {
    let html = rover::rover().html();
    let row = "<td>nav.locate → drive.wheels</td><td>reaction</td><td class=\"n\">80.000 ms</td>\
               <td class=\"n\">70.000 ms</td><td class=\"n\">60.000 ms</td>";
    assert!(html.contains(row) && html.contains("✓ within the limit"));
    assert!(html.contains("<td>no limit</td>"), "of the data age");
    assert!(html.contains("<li>1 of 1\u{a0}chain within the limits</li>"));
    let with = |change: fn(&mut report::proof::Chain)| {
        let mut proof = rover::rover();
        change(&mut proof.chains[0]);
        let html = proof.html();
        check_structure(&html);
        html
    };
    let above = with(|chain| chain.with.reaction_ns = Some(71_000_000));
    assert!(above.contains("71.000 ms<span class=\"beyond\"> above the bound</span>"));
    let late = with(|chain| chain.bounds_with.reaction_ns = Some(81_000_000));
    assert!(late.contains("<td>✗ above the limit</td>"));
    assert!(late.contains("<li>0 of 1\u{a0}chain within the limits</li>"));
    let none = with(|chain| chain.bounds_with.reaction_ns = None);
    assert!(none.contains("<td>✗ no bound</td>"));
}

/// Words in tables may break anywhere on paper, numbers nowhere, and a heading stays with its rows. Browsers show it in
/// `make test-report`.
#[test]
fn numbers_are_printed_on_one_line() {
    let html = rover::rover().html();
    let style = html.split("<style>").nth(1).and_then(|it| it.split("</style>").next());
    let (screen, print) = style.and_then(|it| it.split_once("@media print")).expect("styles");
    for (of, rule) in [
        (screen, ".n { text-align: right; white-space: nowrap; }"),
        (print, ".n { white-space: nowrap; }"),
        (print, "thead { display: table-header-group; break-inside: avoid; break-after: avoid; }"),
    ] {
        assert!(of.contains(rule), "{rule}");
    }
}

/// A step that is red says what made it red, not what went well.
#[test]
fn the_result_of_a_step_is_what_is_wrong() {
    let mut proof = rover::rover();
    let cache = proof.with.as_mut().and_then(|run| run.cache.as_mut()).expect("a cache");
    let owner = |vm| cache.owners.iter().position(|it| it.vm == Some(vm)).expect("it is there");
    let (came, went) = (owner(0), owner(1));
    cache.evictions[came][went] = 7;
    let html = proof.html();
    let last = html.split("Executed</a></h3>").nth(2).expect("a step");
    let result = last.split("<p class=\"result\">").nth(1).and_then(|it| it.split("</p>").next());
    let result = result.expect("a result");
    assert!(result.ends_with("7\u{a0}evictions across VMs"), "{result}");
}

#[test]
fn what_is_measured_on_a_real_machine_is_no_proof() {
    let mut proof = rover::rover();
    proof.measured = true;
    let html = proof.html();
    check_structure(&html);
    let parts = [
        ": measured, not promised</title>",
        ">Measured, not promised</p>",
        "have priorities alone",
    ];
    for part in parts {
        assert!(html.contains(part), "{part}");
    }
    for part in
        ["Proof of timing isolation", "stayed within every bound", "PCPUs and servers are the same"]
    {
        assert!(rover::rover().html().contains(part) && !html.contains(part), "{part}");
    }
}

#[test]
fn a_page_has_a_size_whatever_there_is() {
    let html = rover::huge().html();
    check_structure(&html);
    assert!(html.len() < 8 << 20, "{} bytes", html.len());
    for part in [
        "1500 more tasks are not shown",
        "more lanes are left out",
        "The middle of the window alone",
    ] {
        assert!(html.contains(part), "{part} is missing");
    }
}

#[test]
fn what_is_not_known_is_left_out() {
    let html = Proof { name: "nothing".into(), ..Proof::default() }.html();
    check_structure(&html);
    assert!(
        !html.contains("<section") && html.contains("not analysed") && html.contains("not done")
    );
    assert!(!html.contains("NaN") && !rover::rover().html().contains("NaN"));
}

#[test]
fn the_same_proof_gives_the_same_page_and_says_its_size() {
    let html = rover::rover().html();
    assert_eq!(html, rover::rover().html());
    let (before, _) = html.split_once(" bytes.</p></footer>").expect("the size");
    let digits: String = before
        .rsplit(' ')
        .next()
        .into_iter()
        .flat_map(str::chars)
        .filter(char::is_ascii_digit)
        .collect();
    assert_eq!(digits.parse(), Ok(html.len()));
}

#[test]
fn theorems_stand_beside_who_has_checked_them() {
    let mut proof = rover::rover();
    let page = proof.html();
    for part in [
        "Checked by Coq 8.16.1: 1 of 2 bounds.",
        "bound_of_wheels in vm_drive_0.v, with the hypotheses that the VCPU has its budget<",
        "none: it waits for",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let theorems = proof.theorems.as_mut().expect("some");
    theorems.checked = Checked::NoCoq;
    assert!(proof.html().contains("which are not checked: Coq is missing"));
    let theorems = proof.theorems.as_mut().expect("some");
    let refused = "vm_drive_0.v: Error: <no>.".into();
    theorems.checked = Checked::Refused { version: "8.16.1".into(), refused };
    assert!(proof.html().contains("Coq 8.16.1 does not accept vm_drive_0.v: Error: &lt;no&gt;."));
    proof.theorems = None;
    assert!(!proof.html().contains("Bounds as theorems"));
}
