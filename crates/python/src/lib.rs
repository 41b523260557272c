//! Python bindings for running tests, sending requests and reading records. Calls are short, hold
//! no lock while greenlets switch, and never call back into Python. The engine's threads do not use
//! Python.

mod answer;
mod division;
mod log;
mod record;
mod run;

use pyo3::prelude::*;

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

    /// Returns the time of CLOCK_MONOTONIC in nanoseconds. Request times use the same clock.
    #[pyfunction]
    fn now_ns() -> u64 {
        bridge::now_ns()
    }

    /// Raises a one-line error if a setting in the environment is invalid.
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
