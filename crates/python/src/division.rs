//! A divided test in the conducting process.

use std::sync::{Mutex, MutexGuard, PoisonError};

use frontend_locust::Conducting;
use pyo3::{exceptions::PyRuntimeError, prelude::*};

use crate::{
    log::sink,
    run::{Facts, RunResult, test},
};

/// A test that others carry out: from its making to `end`.
#[pyclass(module = "loadline._native", frozen)]
pub struct Division {
    conducting: Mutex<Option<Conducting>>,
    /// Where the record is.
    #[pyo3(get)]
    record: String,
}

fn over() -> PyErr {
    PyRuntimeError::new_err("the test is over")
}

impl Division {
    fn held(&self) -> MutexGuard<'_, Option<Conducting>> {
        self.conducting
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(&self, look: impl FnOnce(&mut Conducting) -> T) -> PyResult<T> {
        self.held().as_mut().map(look).ok_or_else(over)
    }
}

#[pymethods]
impl Division {
    /// Begins the record of a test for so many processes.
    #[new]
    fn new(py: Python<'_>, facts: Facts, processes: u64) -> PyResult<Division> {
        let test = test(facts)?;
        let conducting = py
            .detach(|| Conducting::begin(test, processes, &sink()))
            .map_err(|lines| PyRuntimeError::new_err(lines.join("\n")))?;
        Ok(Division {
            record: conducting.record.display().to_string(),
            conducting: Mutex::new(Some(conducting)),
        })
    }

    /// What processes are to be told, beside the number of each.
    fn handed(&self) -> PyResult<String> {
        self.with(|conducting| conducting.handed())?
            .map_err(PyRuntimeError::new_err)
    }

    /// Whether the process of a number has ended its part; none where it has not begun it.
    fn has_ended(&self, number: u64) -> PyResult<Option<bool>> {
        self.with(|conducting| conducting.has_ended(number))
    }

    /// Where the process of a number keeps its part.
    fn folder(&self, number: u64) -> PyResult<String> {
        self.with(|conducting| conducting.folder(number).display().to_string())
    }

    /// Writes down whose requests are not in the record.
    fn is_unmeasured(&self, source: &str) -> PyResult<()> {
        self.with(|conducting| conducting.is_unmeasured(source))
    }

    /// Writes down something that everybody who reads the record is told.
    fn remark(&self, text: &str) -> PyResult<()> {
        self.with(|conducting| conducting.remark(text))
    }

    /// Writes down what was measured during the load.
    fn look(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.with(Conducting::look))
    }

    /// Ends the test: what there is to say of it, whether it failed, and where its record is.
    fn end(&self, py: Python<'_>) -> Option<RunResult> {
        let conducting = self.held().take()?;
        let reported = py.detach(|| conducting.end());
        Some((reported.lines, reported.failed, reported.record))
    }
}
