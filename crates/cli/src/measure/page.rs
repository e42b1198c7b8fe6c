//! Results as a page with the plots of the paper (IsoTest, Figs. 2 to 6).

use lab::made::Made;
use measure::isolation::words::{answer, beside, heading, interval, name, notes, verdict};
use measure::isolation::{Machine, Report, Row};
use report::page::Page;
use report::{Axis, Whisker, WhiskerChart, Whiskers};
use units::Bytes;

use crate::failure::Failure;

/// The page.
pub fn html(report: &Report) -> Result<String, Failure> {
    let mut page = Page::new("Measurement of a machine", "Isolation");
    page.text(&answer(report));
    page.text(
        "I = P / C - 1: P is the median time of the victim's runs beside leeches, C that of its \
         runs without them. Intervals are bootstrap intervals of 95 %. The first row of each \
         test compares the baseline with itself. Error bars end at the shortest and the longest \
         run.",
    );
    let Some(first) = report.contexts.first() else { return Ok(page.html()) };
    for (at, test) in first.tests.iter().enumerate() {
        page.section(&heading(test));
        page.figure(&chart(report, at)?);
        let mut titles = vec!["beside".to_owned()];
        for context in &report.contexts {
            let of = match report.contexts.as_slice() {
                [_] => String::new(),
                _ => format!(", {}", context.name),
            };
            titles.extend([format!(">I{of}"), format!("95 %{of}"), format!("verdict{of}")]);
        }
        let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
        let lines: Vec<Vec<String>> = (0..test.rows.len())
            .map(|place| {
                let mut cells = vec![beside(&test.rows[place])];
                for context in &report.contexts {
                    let found = context.tests.get(at).and_then(|test| test.rows.get(place));
                    cells.extend(found.map_or_else(Default::default, answer_of));
                }
                cells
            })
            .collect();
        page.table(&titles, &lines);
    }
    page.section("The machine");
    let mut rows = machine(&report.machine);
    rows.push(vec!["measured".into(), format!("{} UTC", Made::now("measure").shown())]);
    page.table(&["", ""], &rows);
    page.section("Remarks");
    page.text(&format!("Measured in {:.0} s.", report.seconds));
    page.list(notes(report));
    page.list(report.machine.mitigations.iter().cloned());
    Ok(page.html())
}

fn answer_of(row: &Row) -> [String; 3] {
    let [value, low, high] = interval(row);
    [value, format!("{low} .. {high}"), row.verdict.map_or("A/A", verdict).into()]
}

/// Times of a test in all contexts, and misses where they are counted. How often runs repeat the
/// workload differs between contexts: what is shown is one repetition.
fn chart(report: &Report, at: usize) -> Result<String, Failure> {
    let tests = || report.contexts.iter().map(|context| (context, context.tests.get(at)));
    let places = tests().filter_map(|(_, test)| test).max_by_key(|test| test.rows.len());
    let (title, places) = match places {
        Some(test) => (name(test), test.rows.iter().map(beside).collect()),
        None => (String::new(), Vec::new()),
    };
    let series = tests()
        .filter_map(|(context, test)| {
            let test = test?;
            let (rows, repeats) = (&test.rows, f64::from(test.repeats));
            Some(Whiskers {
                name: context.name.clone(),
                values: rows
                    .iter()
                    .map(|row| {
                        let ms = |ns: f64| ns / 1e6 / repeats;
                        Some(Whisker {
                            low: ms(row.loaded.min_ns as f64),
                            middle: ms(row.loaded.median_ns),
                            high: ms(row.loaded.max_ns as f64),
                        })
                    })
                    .collect(),
                counts: rows.iter().map(|row| Some(row.llc_misses[1]? / repeats)).collect(),
            })
        })
        .collect();
    let chart = WhiskerChart {
        title,
        places,
        label: "leeches".into(),
        y: Axis::from_zero("time of one repetition (ms)"),
        series,
        counts: Some(Axis::from_zero("LLC misses of one repetition")),
    };
    chart.svg().map_err(|error| Failure::new("figure", error))
}

fn machine(machine: &Machine) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let mut row = |name: &str, value: &str| rows.push(vec![name.to_owned(), value.to_owned()]);
    row("CPUs", &format!("{} ({})", machine.cpu, machine.cpus));
    for cache in &machine.caches {
        let size = Bytes(cache.size_bytes);
        let text = format!("{size}, {} ways, shared by {} CPUs", cache.ways, cache.shared_by);
        row(&format!("L{}", cache.level), &text);
    }
    row("page", &Bytes(machine.page_bytes as u64).to_string());
    row("kernel", &machine.kernel);
    let arguments = match machine.kernel_arguments.as_str() {
        "" => "none",
        arguments => arguments,
    };
    row("kernel's arguments that matter for time", arguments);
    row("governor", machine.governor.as_deref().unwrap_or("unknown"));
    row("huge pages", machine.huge_pages.as_deref().unwrap_or("unknown"));
    row("real-time share (us of 1,000,000)", machine.real_time_us.as_deref().unwrap_or("unknown"));
    row("virtual machine", if machine.is_virtual { "yes: CPUs may move" } else { "no" });
    rows
}
