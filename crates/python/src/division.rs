//! The master's view of a test that is divided among several processes.

use std::sync::{Mutex, MutexGuard, PoisonError};

use frontend_locust::Conducting;
use pyo3::{exceptions::PyRuntimeError, prelude::*};

use crate::{
    log::sink,
    run::{Facts, RunResult, test},
};

/// A test that other processes run.
#[pyclass(module = "loadline._native", frozen)]
pub struct Division {
    conducting: Mutex<Option<Conducting>>,
    #[pyo3(get)]
    record: String,
}

fn over() -> PyErr {
    PyRuntimeError::new_err("the test has ended")
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

    /// Returns the settings that a process needs in addition to its number.
    fn handed(&self) -> PyResult<String> {
        self.with(|conducting| conducting.handed())?
            .map_err(PyRuntimeError::new_err)
    }

    /// Returns whether a process has ended its part, or None if it has not started.
    fn has_ended(&self, number: u64) -> PyResult<Option<bool>> {
        self.with(|conducting| conducting.has_ended(number))
    }

    /// Returns the folder in which a process keeps its part.
    fn folder(&self, number: u64) -> PyResult<String> {
        self.with(|conducting| conducting.folder(number).display().to_string())
    }

    /// Records that the requests of this client are missing from the record.
    fn is_unmeasured(&self, source: &str) -> PyResult<()> {
        self.with(|conducting| conducting.is_unmeasured(source))
    }

    /// Records a remark that every report shows.
    fn remark(&self, text: &str) -> PyResult<()> {
        self.with(|conducting| conducting.remark(text))
    }

    /// Records server metrics measured since the last call.
    fn look(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.with(Conducting::look))
    }

    /// Ends the test. Returns its messages, whether it failed, and the path of its record.
    fn end(&self, py: Python<'_>) -> Option<RunResult> {
        let conducting = self.held().take()?;
        let reported = py.detach(|| conducting.end());
        Some((reported.lines, reported.failed, reported.record))
    }
}
