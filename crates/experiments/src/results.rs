//! Results of an experiment: files and text.

mod row;

use std::io;
use std::path::{Path, PathBuf};

use lab::Failure;
use lab::WholeFile;
use report::markdown;
use report::text::table;
use row::Row;
use serde::Serialize;

use crate::claim::{Judged, Verdict};
use crate::experiment::{Experiment, Measure, Runs};
use crate::timeline;
use crate::took::Took;
use crate::values::{Value, Values};

/// The values as a table for programs.
const DATA: &str = "data.csv";
/// The page for people.
pub const PAGE: &str = "table.md";
/// The cell of a table where there is no value for a known reason.
const NONE: &str = "none";
/// A page has this sentence if values are missing.
const INCOMPLETE: &str = "Incomplete: it was ended before all values were measured.";
/// The file with the note, for [`Results::again`].
const NOTE: &str = "note.txt";
/// The file with the time that the measurement took, for the same.
const TOOK: &str = "took.json";

/// The results of an experiment.
#[derive(Debug)]
pub struct Results<'a> {
    /// The experiment.
    pub experiment: &'a Experiment,
    /// The values that there are.
    pub values: Values,
    /// The verdicts, in the order of the claims.
    pub judged: Vec<Judged>,
    /// True if few places were measured.
    pub quick: bool,
    /// True if all values are there.
    pub complete: bool,
    /// A note on the results.
    pub note: Option<String>,
    /// The time that the measurement took, if all was measured in one run.
    pub took: Option<Took>,
}

impl<'a> Results<'a> {
    /// Judges values. `all`: whether all that were wanted are there.
    pub fn new(experiment: &'a Experiment, values: Values, quick: bool, all: bool) -> Self {
        let judged = experiment.published.claims.iter().map(|claim| {
            let values = experiment.published.beside(&values, claim);
            claim.judge_placements(&values, experiment.plan.divide_by.as_ref())
        });
        Self {
            experiment,
            judged: judged.collect(),
            values,
            quick,
            complete: all,
            note: None,
            took: None,
        }
    }

    /// The same with something else to say.
    pub fn with_note(self, note: String) -> Self {
        Self { note: Some(note), ..self }
    }

    /// Judges the values of an earlier run, which must be all that are wanted.
    pub fn again(experiment: &'a Experiment, output: &Path) -> Result<Self, Failure> {
        let file = output.join(&experiment.name).join(DATA);
        let fail = |why: String| {
            let text = format!("{}: {why}\nhelp: run it without --judge first", file.display());
            Failure::new("no-data", text)
        };
        let rows = csv::Reader::from_path(&file)
            .and_then(|mut reader| reader.deserialize().collect::<Result<Vec<Row>, _>>())
            .map_err(|error| fail(error.to_string()))?;
        let mut values = Values::default();
        for row in rows {
            row.add_to(&mut values).map_err(fail)?;
        }
        let wanted = experiment.plan.runs.iter();
        let mut wanted =
            wanted.flat_map(|runs| runs.places(false).iter().map(|x| (&runs.series, x)));
        match wanted.find(|(series, x)| !values.is_known(series, x)) {
            Some((series, x)) => Err(fail(format!("there is no value of `{series}` at {x}"))),
            None => {
                let note = std::fs::read_to_string(file.with_file_name(NOTE)).ok();
                let note = note.map(|note| note.trim_end().to_owned());
                let took = std::fs::read_to_string(file.with_file_name(TOOK)).ok();
                let took = took.and_then(|text| serde_json::from_str(&text).ok());
                Ok(Self { note, took, ..Self::new(experiment, values, false, true) })
            }
        }
    }

    /// Returns true if no statement is refuted.
    pub fn hold(&self) -> bool {
        self.judged.iter().all(|judged| judged.verdict != Verdict::NotConfirmed)
    }

    /// Writes all files into a folder named after the experiment, and returns the folder. Incomplete
    /// results do not replace complete ones: they go into a folder beside, `NAME.incomplete`.
    pub fn write(&self, output: &Path) -> Result<PathBuf, Failure> {
        let mut folder = output.join(&self.experiment.name);
        if !self.complete && has_complete(&folder) {
            folder.set_extension("incomplete");
        }
        let put = |name: &str, text: &str| -> Result<(), Failure> {
            let file = folder.join(name);
            WholeFile::write(&file, text.as_bytes()).map_err(|error| cannot_write(&file, &error))
        };
        std::fs::create_dir_all(&folder).map_err(|error| cannot_write(&folder, &error))?;
        put(DATA, &self.data().map_err(|error| Failure::file("output", error))?)?;
        let plan = &self.experiment.plan;
        for (svg, (_, file)) in plan.draw(&self.values)?.iter().zip(plan.figures(&self.values)) {
            put(&file, svg)?;
        }
        if let Some(note) = &self.note {
            put(NOTE, &format!("{note}\n"))?;
        }
        if let Some(text) = self.took.and_then(|took| serde_json::to_string(&took).ok()) {
            put(TOOK, &format!("{text}\n"))?;
        }
        put(PAGE, &self.page())?;
        Ok(folder)
    }

    /// `data.csv`: a row for each value.
    fn data(&self) -> Result<String, csv::Error> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        for row in Row::all(&self.values) {
            writer.serialize(row)?;
        }
        let bytes = writer.into_inner().map_err(|error| error.into_error())?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Heading and rows of all values, with published ones beside them.
    fn values_table(&self) -> (Vec<String>, Vec<Vec<String>>) {
        let series = self.values.series();
        let published = &self.experiment.published.values;
        let mut columns: Vec<&str> = Vec::new();
        for value in published {
            if !columns.contains(&value.column.as_str()) {
                columns.push(&value.column);
            }
        }
        let mut heading = vec![self.experiment.plan.x.clone()];
        heading.extend(series.iter().map(|name| format!(">{name}")));
        heading.extend(columns.iter().map(|name| format!(">{name}")));
        let row = |x: &str| {
            let mut row = vec![x.to_owned()];
            row.extend(series.iter().map(|name| match self.values.get(name, x) {
                Some(value) => self.number(value),
                None if self.values.is_known(name, x) => NONE.into(),
                None => String::new(),
            }));
            row.extend(columns.iter().map(|column| {
                let value = published.iter().find(|it| it.x == x && it.column == *column);
                value.map_or(String::new(), |it| it.value.clone())
            }));
            row
        };
        (heading, self.values.places().into_iter().map(row).collect())
    }

    fn number(&self, value: &Value) -> String {
        let plan = &self.experiment.plan;
        let is_fine = |runs: &Runs| matches!(runs.measure, Measure::Excess(_) | Measure::Moment(_));
        let is_fine = plan.runs.iter().any(is_fine);
        let usual = match plan.divide_by {
            Some(_) => 3,
            None if is_fine => 3,
            None if plan.locks.is_some() || plan.peers.is_some() || plan.chains.is_some() => 2,
            None => 0,
        };
        let decimals = plan.decimals.unwrap_or(usual);
        format!("{:.decimals$}", value.shown)
    }

    /// Returns the sentence about missing values, if some are missing.
    fn lack(&self) -> Option<&'static str> {
        match (self.complete, self.quick) {
            (false, _) => Some(INCOMPLETE),
            (true, true) => Some("Measured with `--quick`, at a few places."),
            (true, false) => None,
        }
    }

    /// Returns why values are absent.
    fn absent(&self) -> Vec<String> {
        self.values.why_absent(|_| true)
    }

    /// `table.md`.
    fn page(&self) -> String {
        let Experiment { name, plan, published, .. } = self.experiment;
        let claims = published.claims.iter().zip(&self.judged).map(|(claim, judged)| {
            vec![
                claim.text.clone(),
                claim.published.clone(),
                judged.measured.clone(),
                judged.verdict.text().into(),
                claim.source.clone(),
            ]
        });
        let figures = plan
            .figures(&self.values)
            .into_iter()
            .map(|(title, file)| format!("![{title}]({file})"));
        let lines = timeline::drawn(self.experiment).into_iter().map(|(runs, file)| {
            let series = &runs.series;
            format!("![{series}]({file}.svg)\n\n[{series}, for Perfetto]({file}.pftrace)")
        });
        let figures: Vec<String> = figures.chain(lines).collect();
        let (heading, rows) = self.values_table();
        let heading: Vec<&str> = heading.iter().map(String::as_str).collect();
        let parts = [
            format!("# {name}: {}", plan.title),
            format!("After {}.", plan.source),
            self.lack().map(|it| format!("**{it}**")).unwrap_or_default(),
            plan.about.trim().to_owned(),
            self.note.clone().unwrap_or_default(),
            figures.join("\n\n"),
            "## Published and measured".into(),
            markdown::table(
                &["statement", "published", "measured here", "verdict", "source"],
                &claims.collect::<Vec<_>>(),
            )
            .trim_end()
            .to_owned(),
            "## Why figures differ".into(),
            plan.differences.trim().to_owned(),
            "## Values".into(),
            format!("{}; every value with its jobs is in [{DATA}]({DATA}).", plan.y),
            markdown::table(&heading, &rows).trim_end().to_owned(),
            self.absent()
                .iter()
                .map(|why| format!("- {why}\n"))
                .collect::<String>()
                .trim_end()
                .to_owned(),
            "## Again".into(),
            format!("```sh\nmake reproduce-setup\n{}\n```", self.command()),
        ];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        format!("{}\n", parts.join("\n\n"))
    }

    /// The command that gives these results.
    fn command(&self) -> String {
        let quick = if self.quick { " --quick" } else { "" };
        format!("target/release/bulkhead reproduce {}{quick}", self.experiment.name)
    }

    /// Returns the text for the terminal.
    pub fn text(&self, folder: &Path) -> String {
        let (heading, rows) = self.values_table();
        let heading: Vec<&str> = heading.iter().map(String::as_str).collect();
        let plan = &self.experiment.plan;
        let mut text = format!("{}: {}\n", self.experiment.name, plan.title);
        text.push_str(&self.lack().map(|it| format!("{it}\n")).unwrap_or_default());
        text.push_str(&self.note.iter().map(|it| format!("{it}\n")).collect::<String>());
        text.push_str(&format!("\n{}\n{}\n", plan.y, table(&heading, &rows)));
        text.extend(self.absent().iter().map(|why| format!("{why}\n")));
        for (claim, judged) in self.experiment.published.claims.iter().zip(&self.judged) {
            text.push_str(&format!(
                "{}: {}\n  published: {}\n  measured:  {}\n",
                judged.verdict.text(),
                claim.text,
                claim.published,
                judged.measured
            ));
        }
        text.push_str(&format!("files: {}\n", folder.display()));
        text
    }

    /// Returns the document for machines.
    pub fn document(&self, folder: &Path) -> Document<'_> {
        let claims = self.experiment.published.claims.iter().zip(&self.judged);
        Document {
            name: &self.experiment.name,
            title: &self.experiment.plan.title,
            folder: folder.display().to_string(),
            quick: self.quick,
            complete: self.complete,
            holds: self.hold(),
            claims: claims
                .map(|(claim, judged)| ClaimDocument {
                    text: &claim.text,
                    source: &claim.source,
                    published: &claim.published,
                    judged,
                })
                .collect(),
            values: Row::all(&self.values),
        }
    }
}

/// An experiment as `--json` shows it.
#[derive(Serialize)]
pub struct Document<'a> {
    name: &'a str,
    title: &'a str,
    folder: String,
    quick: bool,
    complete: bool,
    holds: bool,
    claims: Vec<ClaimDocument<'a>>,
    values: Vec<Row>,
}

#[derive(Serialize)]
struct ClaimDocument<'a> {
    text: &'a str,
    source: &'a str,
    published: &'a str,
    #[serde(flatten)]
    judged: &'a Judged,
}

/// Returns true if a folder has the page of complete results.
fn has_complete(folder: &Path) -> bool {
    std::fs::read_to_string(folder.join(PAGE)).is_ok_and(|page| !page.contains(INCOMPLETE))
}

/// A file of results that cannot be written.
pub fn cannot_write(file: &Path, error: &io::Error) -> Failure {
    Failure::file("output", format!("cannot write {}: {error}", file.display()))
}
