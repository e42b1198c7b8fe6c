//! Bounds of response times.

use std::path::Path;

use lab::check::{Document, Options};
use pyo3::prelude::*;

use crate::failure::{Failure, json};
use crate::interrupt::{After, detached};

/// The verdict on a description or plan, as JSON.
#[pyfunction]
pub fn check(py: Python<'_>, file: String) -> PyResult<String> {
    detached(py, After::Leave, move |_| checked(Path::new(&file)), |_| Ok(()))
}

fn checked(file: &Path) -> Result<String, Failure> {
    let checked = lab::check::check(file, &Options::default())?;
    Ok(json(&Document::new(&checked)))
}
