//! Proofs.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use lab::proof::{self, Options};
use pyo3::prelude::*;

use crate::failure::Failure;
use crate::interrupt::{After, detached};
use crate::running::{named, scope_options, timeout};

/// Proves that a system is isolated: the results, as JSON.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "they have names in Python")]
pub fn prove(
    py: Python<'_>,
    file: PathBuf,
    output: Option<PathBuf>,
    append: Vec<(String, String)>,
    timeout_s: f64,
    simulate_ns: u64,
    cachescope_options: Vec<String>,
    hypervisor: Option<PathBuf>,
) -> PyResult<String> {
    let options = || {
        Ok(Options {
            file,
            on: proof::On::Model,
            output,
            append,
            timeout: timeout(timeout_s)?,
            simulate: units::Duration(simulate_ns),
            cachescope_options: scope_options(cachescope_options)?,
            hypervisor: named(hypervisor),
            certificate: false,
            compile_proofs: false,
        })
    };
    let options = options().map_err(|failure: Failure| failure.raise(py))?;
    let work = move |stop: &AtomicBool| {
        // Nobody looks at what comes after Ctrl-C.
        Ok(proof::prove(&options, stop)?.map(|proven| proven.results).unwrap_or_default())
    };
    detached(py, After::Wait, work, |_| Ok(()))
}
