//! The pages of a site: what changed is shown, whatever names contain.

mod history;
mod structure;

use report::site::{Bound, Page, Site, Subject, Timed};

use history::{history, hostile, rover};
use structure::check_structure;

/// The pages, each of which is looked at.
fn pages(site: &Site) -> Vec<Page> {
    let pages = site.pages();
    for page in &pages {
        check_structure(&page.html);
        for word in ["http:", "https:", "@import", "<link", "style=\"", "<script"] {
            assert!(!page.html.contains(word), "{word} is in {}", page.path);
        }
        assert!(page.html.contains("default-src 'none'"));
    }
    pages
}

/// The page of a system.
fn system<'p>(pages: &'p [Page], name: &str) -> &'p str {
    let path = format!("systems/{name}-");
    let page = pages.iter().find(|page| page.path.starts_with(&path));
    &page.unwrap_or_else(|| panic!("no page of {name}")).html
}

#[track_caller]
fn in_order(html: &str, parts: &[&str]) {
    let mut from = 0;
    for part in parts {
        let at = html[from..].find(part).unwrap_or_else(|| panic!("{part} does not follow"));
        from += at + part.len();
    }
}

#[test]
fn the_index_has_each_system_with_its_latest_result_and_then_all_results() {
    let pages = pages(&history());
    let index = &pages[0];
    assert_eq!((pages.len(), index.path.as_str()), (3, "index.html"));
    in_order(
        &index.html,
        &[
            "<h2>Systems</h2>",
            ">arm</a>",
            ">rover</a></th><td class=\"n\">3</td><td>2026-11-03 00:00</td><td>prove</td>",
            "✗ does not hold",
            "2 of 3</strong>",
            "1 of 2</strong>",
            "verdict: holds → does not hold, 1\u{a0}bound lost",
            "<h2>All results, the newest first</h2>",
            "2026-11-03 00:00",
            "2026-11-02 00:00 *",
            "2026-11-02 00:00<",
            "1\u{a0}bound longer",
            "results/b/report.html",
            "2026-11-01 00:00",
            "cannot tell",
            "* The result does not say when it was made",
        ],
    );
    for page in &pages[1..] {
        assert!(index.html.contains(&format!("href=\"{}\"", page.path)), "{}", page.path);
    }
}

#[test]
fn a_system_shows_what_changed_in_the_order_of_time() {
    let pages = pages(&history());
    let rover = system(&pages, "rover");
    in_order(
        rover,
        &[
            "<h1>rover</h1>",
            "2026-11-01 00:00</th>",
            "2026-11-02 00:00</th>",
            "drive wheels: bound longer by 10.0 µs: 150.0 µs → 160.0 µs",
            "../results/b/report.html",
            "2026-11-03 00:00</th>",
            "✗ verdict: holds → does not hold",
            "drive terrain: <strong class=\"bad\">✗ no bound any more",
            "COUNTEREXAMPLE: task <code>wheels</code>",
            "<h3>drive wheels</h3>",
            "<path class=\"run-line\"",
            "<path class=\"bound-line\"",
            "5.000 ms</td><td class=\"n\">150.0 µs</td><td class=\"n\">110.0 µs</td>\
             <td class=\"n\">73.4 %</td><td class=\"n\">0 of 400</td><td class=\"changed\"></td>",
            "bound longer by 10.0 µs",
            "170.0 µs, above the bound",
            "<h3>drive terrain</h3>",
            "✗ 3 of 400",
        ],
    );
    assert!(!rover.contains("shorter") && !rover.contains("new</li>"));
    // One result has nothing before it.
    let arm = system(&pages, "arm");
    assert!(!arm.contains("→") && arm.contains("100.0 µs"), "{arm}");
}

#[test]
fn commands_are_compared_with_what_they_ask() {
    let with = |change: fn(&mut Site)| {
        let mut site = Site { entries: vec![rover("a", 0, 150, 110), rover("b", 1, 140, 110)] };
        change(&mut site);
        system(&pages(&site), "rover").to_owned()
    };
    assert!(with(|_| {}).contains("bound shorter by 10.0 µs: 150.0 µs → 140.0 µs"));
    // A run asks something else than a proof, and may not state bounds.
    let run = with(|site| {
        site.entries[1].kind = report::site::Kind::Run;
        site.entries[1].verdict = "not well".into();
        site.entries[1].timed[0].bound = Bound::NotStated;
        site.entries[1].timed.remove(1);
        site.entries.push(rover("c", 2, 150, 110));
    });
    assert!(!run.contains('→') && !run.contains("any more"), "{run}");
    let other = with(|site| {
        site.entries[1].timed[0].deadline_ns = Some(4_000_000);
        site.entries[1].timed[1].subject = Subject::Task { vm: "drive".into(), name: "map".into() };
    });
    in_order(
        &other,
        &[
            "drive wheels: deadline: 5.000 ms → 4.000 ms",
            "drive map: new",
            "drive terrain: not there any more",
        ],
    );
    // Times of this host refute no bound.
    let host = with(|site| {
        for timed in &mut site.entries[1].timed {
            (timed.executed_ns, timed.exact) = (Some(9_000_000), false);
        }
    });
    assert!(!host.contains("above the bound"));
}

#[test]
fn chains_are_followed_like_tasks() {
    let mut site = Site { entries: vec![rover("a", 0, 150, 110), rover("b", 1, 150, 110)] };
    let reaction = &mut site.entries[1].timed[2];
    (reaction.bound, reaction.executed_ns) = (Bound::Ns(29_000_000), Some(30_000_000));
    let age = Timed { subject: Subject::Age("avoid".into()), ..reaction.clone() };
    site.entries[1].timed.push(age);
    let pages = pages(&site);
    assert!(pages[0].html.contains("1\u{a0}bound longer, 1\u{a0}new time of chains"));
    in_order(
        system(&pages, "rover"),
        &[
            "reaction of chain avoid: bound longer by 5.000 ms: 24.000 ms → 29.000 ms",
            "data age of chain avoid: new",
            "<h2>Every task and chain over time</h2>",
            "<h3>drive wheels</h3>",
            ">deadline</th>",
            "<h3>reaction of chain avoid</h3>",
            ">limit</th>",
            "28.000 ms</td><td class=\"n\">24.000 ms</td><td class=\"n\">20.000 ms</td>",
            "✗ 29.000 ms",
            "✗ 30.000 ms, above the bound",
            "<h3>data age of chain avoid</h3>",
        ],
    );
}

#[test]
fn a_bad_verdict_stays_in_sight_behind_another_command() {
    let mut proof = rover("a", 0, 150, 110);
    (proof.verdict, proof.good) = ("does not hold".into(), Some(false));
    let mut check = rover("b", 1, 150, 110);
    (check.kind, check.verdict) = (report::site::Kind::Check, "schedulable".into());
    let index = &pages(&Site { entries: vec![proof, check] })[0].html;
    let (systems, _) = index.split_once("All results").expect("two tables");
    in_order(systems, &["✓ schedulable", "prove: ", "✗ does not hold"]);
}

#[test]
fn of_many_results_a_task_shows_the_latest() {
    let entries = (0..103).map(|day| rover(&format!("r{day}"), day, 150, 110)).collect();
    let pages = pages(&Site { entries });
    let page = system(&pages, "rover");
    let (_, task) = page.split_once("<h3>drive wheels</h3>").expect("a section");
    let (task, _) = task.split_once("<h3>").expect("the next section");
    assert_eq!(task.matches("<th scope=\"row\">").count(), 100);
    assert!(task.contains("The data has 3\u{a0}results before these."));
}

#[test]
fn hostile_names_stay_text() {
    for page in pages(&hostile()) {
        assert!(!page.html.contains("<img") && !page.html.contains('\u{202e}'));
        assert!(page.html.contains("&lt;/title&gt;&lt;script&gt;"));
    }
}

#[test]
fn much_and_nothing_are_shown() {
    assert_eq!(pages(&Site::default()).len(), 1);
    let mut many = rover("a", 0, 150, 110);
    let timed = many.timed[0].clone();
    many.timed = (0..1_000)
        .map(|number| Subject::Task { vm: "drive".into(), name: format!("t{number}") })
        .map(|subject| Timed { subject, ..timed.clone() })
        .collect();
    many.timed[0].bound = Bound::Ns(u64::MAX);
    many.timed[1].executed_ns = Some(0);
    let site = Site { entries: vec![many] };
    assert!(system(&pages(&site), "rover").contains("<p>800 more are in the data.</p>"));
}
