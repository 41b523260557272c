//! The Python package's way into the engine: a test that runs, requests into it, answers out of it; and into the records of runs. Every call is short, holds nothing
//! while another greenlet runs, and never calls back into Python; waiting is done in Python. The threads of the engine never touch Python.

mod answer;
mod division;
mod log;
mod record;
mod run;

use pyo3::prelude::*;

/// What the package `loadline` is made of.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::answer::PyResponse;
    #[pymodule_export]
    use super::division::Division;
    #[pymodule_export]
    use super::record::PyRecord;
    #[pymodule_export]
    use super::run::PyRun;

    use super::{Bound, PyModule, PyModuleMethods, PyResult, pyfunction};

    /// CLOCK_MONOTONIC in nanoseconds: the clock of orders.
    #[pyfunction]
    fn now_ns() -> u64 {
        bridge::now_ns()
    }

    /// Raises one line of what is wrong with what the environment asks for.
    #[pyfunction]
    fn check_wishes() -> PyResult<()> {
        frontend_locust::check_wishes().map_err(pyo3::exceptions::PyValueError::new_err)
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        #[cfg(feature = "mutants")]
        if let Ok(name) = std::env::var("LOADLINE_MUTANT") {
            base::mutant::choose(&name);
        }
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
