//! Experiments over random systems.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use serde_json::{Map, Value, json as value};
use sweep::{Scalar, Shard, Summary};

use crate::failure::{Failure, json};
use crate::interrupt::{After, detached};

/// An experiment whose parameters make sense at all its points.
#[pyclass(frozen, module = "bulkhead._bulkhead")]
pub struct Experiment(Arc<sweep::Experiment>);

#[pymethods]
impl Experiment {
    /// Reads an experiment; `name` is what messages call the text.
    #[new]
    fn new(py: Python<'_>, name: &str, text: &str) -> PyResult<Self> {
        let read = sweep::Experiment::from_toml(name, text);
        read.map(|it| Self(Arc::new(it))).map_err(|errors| Failure::from(errors).raise(py))
    }

    #[getter]
    fn title(&self) -> &str {
        self.0.title()
    }

    #[getter]
    fn text(&self) -> &str {
        self.0.text()
    }

    #[getter]
    fn parameters(&self) -> Vec<String> {
        self.0.parameters().to_vec()
    }

    #[getter]
    fn points(&self) -> usize {
        self.0.points().len()
    }

    #[getter]
    fn systems(&self) -> u64 {
        self.0.systems()
    }

    #[getter]
    fn shards(&self) -> u64 {
        self.0.shards()
    }

    /// Computes a shard, as a line of text.
    fn compute(&self, py: Python<'_>, shard: u64) -> PyResult<String> {
        let experiment = self.0.clone();
        let work = move |stop: &AtomicBool| {
            let computed = Shard::compute(&experiment, shard, stop)?;
            Ok(computed.map(|shard| shard.to_line()).unwrap_or_default())
        };
        detached(py, After::Wait, work, |_| Ok(()))
    }
}

/// The finished shards of an experiment, in a folder.
#[pyclass(frozen, module = "bulkhead._bulkhead")]
pub struct Journal {
    experiment: Arc<sweep::Experiment>,
    journal: Arc<Mutex<Option<sweep::Journal>>>,
}

/// The journal, which no panic leaves half-changed.
fn lock(journal: &Mutex<Option<sweep::Journal>>) -> MutexGuard<'_, Option<sweep::Journal>> {
    journal.lock().unwrap_or_else(PoisonError::into_inner)
}

fn closed() -> Failure {
    Failure::new("the journal is closed")
}

#[pymethods]
impl Journal {
    /// Opens the journal in a folder, with all shards that are finished.
    #[new]
    fn new(py: Python<'_>, folder: PathBuf, experiment: &Experiment) -> PyResult<Self> {
        let experiment = experiment.0.clone();
        let journal = sweep::Journal::open(&folder, &experiment);
        let journal = journal.map_err(|error| Failure::from(error).raise(py))?;
        Ok(Self { experiment, journal: Arc::new(Mutex::new(Some(journal))) })
    }

    /// The shards that are not finished.
    fn open_shards(&self, py: Python<'_>) -> PyResult<Vec<u64>> {
        self.with(py, |journal| Ok(journal.open_shards(&self.experiment)))
    }

    /// Keeps a shard that was computed here or elsewhere.
    fn add(&self, py: Python<'_>, line: &str) -> PyResult<()> {
        self.with(py, |journal| Ok(journal.add(Shard::from_line(&self.experiment, line)?)?))
    }

    /// Computes what is not finished, with so many threads; tells whether all is finished then.
    /// `progress` is called with the number of finished shards and that of all.
    fn run(
        &self,
        py: Python<'_>,
        jobs: Option<NonZeroUsize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<bool> {
        let jobs = jobs.or_else(|| std::thread::available_parallelism().ok());
        let jobs = jobs.unwrap_or(NonZeroUsize::MIN);
        let (experiment, journal) = (self.experiment.clone(), self.journal.clone());
        let shards = experiment.shards();
        let open = self.open_shards(py)?.len() as u64;
        let finished = Arc::new(AtomicU64::new(shards - open));
        let counter = finished.clone();
        let work = move |stop: &AtomicBool| {
            let mut journal = lock(&journal);
            let journal = journal.as_mut().ok_or_else(closed)?;
            let watch = |finished| {
                counter.store(finished, Ordering::SeqCst);
                !stop.load(Ordering::SeqCst)
            };
            Ok(journal.fill(&experiment, jobs, watch)?)
        };
        let mut shown = None;
        let mut tell = |py: Python<'_>| {
            let finished = finished.load(Ordering::SeqCst);
            match &progress {
                Some(progress) if shown != Some(finished) => {
                    shown = Some(finished);
                    progress.call1(py, (finished, shards)).map(drop)
                }
                _ => Ok(()),
            }
        };
        tell(py)?;
        let complete = detached(py, After::Wait, work, &mut tell)?;
        tell(py)?;
        Ok(complete)
    }

    /// A line for each point, as JSON.
    fn summary(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |journal| {
            let summary = Summary::new(&self.experiment, journal);
            let points: Vec<Value> = summary
                .points
                .iter()
                .map(|point| {
                    let mut fields = Map::new();
                    for (name, value) in self.experiment.parameters().iter().zip(&point.values) {
                        fields.insert(name.clone(), scalar(value));
                    }
                    fields.insert("systems".into(), value!(point.systems));
                    for (name, cell) in summary.columns.iter().zip(&point.cells) {
                        fields.insert(name.clone(), value!(cell));
                    }
                    Value::Object(fields)
                })
                .collect();
            Ok(json(&value!({ "ok": summary.holds(), "points": points })))
        })
    }

    /// Puts all shards into the table and closes the journal. Returns the path of the table.
    fn finish(&self, py: Python<'_>) -> PyResult<String> {
        let journal = lock(&self.journal).take().ok_or_else(|| closed().raise(py))?;
        let table = journal.finish(&self.experiment);
        let table = table.map_err(|error| Failure::from(error).raise(py))?;
        Ok(table.display().to_string())
    }

    /// Lets others have the folder; what is finished is kept.
    fn close(&self) {
        *lock(&self.journal) = None;
    }
}

impl Journal {
    fn with<T>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut sweep::Journal) -> Result<T, Failure>,
    ) -> PyResult<T> {
        let mut journal = lock(&self.journal);
        let done = journal.as_mut().ok_or_else(closed).and_then(work);
        done.map_err(|failure| failure.raise(py))
    }
}

fn scalar(value: &Scalar) -> Value {
    match value {
        Scalar::Int(value) => value!(value),
        Scalar::Real(value) => value!(value),
        Scalar::Text(value) => value!(value),
    }
}
