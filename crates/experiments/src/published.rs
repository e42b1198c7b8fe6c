//! All statements of all experiments on one page: `published.md`.

use std::path::Path;

use lab::Failure;
use lab::WholeFile;
use report::markdown;

use crate::claim::Verdict;
use crate::papers::{Paper, Papers};
use crate::results::{self, Results};
use crate::took::Took;

/// The page's file.
const PAGE: &str = "published.md";

/// The heading of experiments that come from no paper.
const OWN: &str = "This project's own";

/// Writes the page into the folder of results.
pub fn write(papers: &Papers, all: &[&Results], output: &Path) -> Result<(), Failure> {
    let file = output.join(PAGE);
    WholeFile::write(&file, page(papers, all).as_bytes())
        .map_err(|error| results::cannot_write(&file, &error))
}

fn page(papers: &Papers, all: &[&Results]) -> String {
    let of = |paper: Option<&Paper>| -> Vec<&Results> {
        let is_of = |results: &&&Results| paper_of(papers, results).map(|it| &it.name);
        all.iter().filter(|it| is_of(it) == paper.map(|it| &it.name)).copied().collect()
    };
    let mut groups: Vec<(&str, Option<&Paper>, Vec<&Results>)> =
        papers.papers.iter().map(|it| (it.name.as_str(), Some(it), of(Some(it)))).collect();
    groups.push((OWN, None, of(None)));
    let counts = |name: &str, of: &[&Results]| {
        let count = |verdict| judged(of).filter(|it| *it == verdict).count().to_string();
        let verdicts = [Verdict::Confirmed, Verdict::NotConfirmed, Verdict::NotCheckable];
        let mut row = vec![name.to_owned(), of.len().to_string()];
        row.extend(verdicts.map(count));
        row
    };
    let mut rows: Vec<_> = groups.iter().map(|(name, _, of)| counts(name, of)).collect();
    rows.push(counts("all", all));
    let heading = ["paper", ">experiments", ">confirmed", ">not confirmed", ">not checkable"];
    let parts = [
        "# What was published, and what was measured here".into(),
        "Each statement that was published about a figure or table, or follows from it, with what \
         was measured here and a verdict. The page of an experiment says what is done, why figures \
         differ, and has all values; statements whose source is this project stand among them, as \
         it says there. This page is written by the command at its end."
            .into(),
        markdown::table(&heading, &rows).trim_end().to_owned(),
    ];
    let groups = groups.iter().flat_map(|(name, paper, of)| group(name, *paper, of));
    let again = again(all);
    let parts: Vec<String> = parts.into_iter().chain(groups).chain([again]).collect();
    format!("{}\n", parts.join("\n\n"))
}

/// Returns how to write the page again, and what that takes.
fn again(all: &[&Results]) -> String {
    let took: Vec<Took> = all.iter().filter_map(|it| it.took).collect();
    let sum = Took {
        processor_s: took.iter().map(|it| it.processor_s).sum(),
        boots: took.iter().map(|it| it.boots).sum(),
    };
    let took = match (took.len(), all.len()) {
        (0, _) => String::new(),
        (some, all) if some == all => {
            format!("All {all} experiments together took {}.\n\n", sum.text())
        }
        (some, all) => {
            format!("{some} of these {all} experiments together took {}.\n\n", sum.text())
        }
    };
    format!(
        "## Again\n\n{took}```sh\nmake reproduce-setup\ntarget/release/bulkhead reproduce all          \
         # hours; or with the names of some\n```"
    )
}

fn group(name: &str, paper: Option<&Paper>, of: &[&Results]) -> Vec<String> {
    let mut parts = vec![format!("## {name}")];
    parts.extend(paper.map(|it| format!("{}.", it.title)));
    let rows: Vec<_> = of.iter().flat_map(|results| statements(results)).collect();
    let heading = ["experiment", "statement", "published", "measured here", "verdict"];
    if !rows.is_empty() {
        parts.push(markdown::table(&heading, &rows).trim_end().to_owned());
    }
    let absent = paper.map_or(&[][..], |it| &it.absent);
    if !absent.is_empty() {
        let row = |it: &crate::papers::Absent| vec![it.what.clone(), it.why.clone()];
        let rows: Vec<_> = absent.iter().map(row).collect();
        parts.push(markdown::table(&["not measured", "why"], &rows).trim_end().to_owned());
    }
    parts
}

fn statements(results: &Results) -> Vec<Vec<String>> {
    let name = &results.experiment.name;
    let link = format!("[{name}]({name}/{})", results::PAGE);
    let claims = results.experiment.published.claims.iter().zip(&results.judged);
    let row = |(claim, judged): (&crate::claim::Claim, &crate::claim::Judged)| {
        vec![
            link.clone(),
            claim.text.clone(),
            claim.published.clone(),
            judged.measured.clone(),
            judged.verdict.text().into(),
        ]
    };
    let rows: Vec<_> = claims.map(row).collect();
    match rows.is_empty() {
        true => vec![vec![link, "(no statement)".into(), String::new(), String::new(), "".into()]],
        false => rows,
    }
}

fn judged(of: &[&Results]) -> impl Iterator<Item = Verdict> {
    of.iter().flat_map(|results| &results.judged).map(|judged| judged.verdict)
}

fn paper_of<'a>(papers: &'a Papers, results: &Results) -> Option<&'a Paper> {
    let source = &results.experiment.plan.source;
    papers.papers.iter().find(|paper| {
        let rest = source.strip_prefix(&paper.name);
        rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
    })
}
