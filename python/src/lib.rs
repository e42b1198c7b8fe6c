//! Bulkhead for Python: a thin layer over the crates of this project.
//!
//! What is computed leaves the interpreter lock, on a thread of its own, so that Ctrl-C works. Results
//! go over as JSON documents or lists; the Python side gives them types. See `bulkhead/_bulkhead.pyi`.

mod checking;
mod failure;
mod generating;
mod interrupt;
mod planning;
mod proving;
mod responding;
mod running;
mod simulating;
mod sweeping;
mod tracing;

use pyo3::prelude::*;

/// The compiled part of the package `bulkhead`.
#[pymodule]
fn _bulkhead(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("SOURCES", sweep::SOURCES)?;
    module.add_function(wrap_pyfunction!(checking::check, module)?)?;
    module.add_function(wrap_pyfunction!(planning::plan, module)?)?;
    module.add_function(wrap_pyfunction!(simulating::simulate, module)?)?;
    module.add_function(wrap_pyfunction!(running::run, module)?)?;
    module.add_function(wrap_pyfunction!(proving::prove, module)?)?;
    module.add_function(wrap_pyfunction!(tracing::trace, module)?)?;
    module.add_function(wrap_pyfunction!(responding::response_times, module)?)?;
    module.add_function(wrap_pyfunction!(generating::uunifast, module)?)?;
    module.add_function(wrap_pyfunction!(generating::uunifast_discard, module)?)?;
    module.add_function(wrap_pyfunction!(generating::log_uniform, module)?)?;
    module.add_function(wrap_pyfunction!(generating::vcache, module)?)?;
    module.add_function(wrap_pyfunction!(generating::vmpcp, module)?)?;
    module.add_class::<sweeping::Experiment>()?;
    module.add_class::<sweeping::Journal>()
}
