//! Records for Python, as JSON.

use std::path::PathBuf;

use analysis::figures::{Figure, Sampled};
use measure::{TimeKind, label};
use pyo3::{
    exceptions::{PyFileNotFoundError, PyOSError, PyValueError},
    prelude::*,
};
use record::{RecordError, Run};

#[pyclass(name = "Record", module = "loadline._native", frozen)]
pub struct PyRecord {
    run: Run,
}

fn json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| PyValueError::new_err(error.to_string()))
}

#[pymethods]
impl PyRecord {
    /// Opens a record. It is given by its folder, or by its name or a prefix of the name within a
    /// folder of runs.
    #[new]
    fn new(py: Python<'_>, runs: PathBuf, wanted: &str) -> PyResult<PyRecord> {
        let found = py.detach(|| Run::find(&runs, wanted));
        let run = found.map_err(|error| {
            let line = error.to_string();
            match error {
                RecordError::NotFound { .. } => PyFileNotFoundError::new_err(line),
                RecordError::Ambiguous { .. } => PyValueError::new_err(line),
                _ => PyOSError::new_err(line),
            }
        })?;
        Ok(PyRecord { run })
    }

    #[getter]
    fn folder(&self) -> Option<PathBuf> {
        self.run.dir.clone()
    }

    fn summary(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| json(&audit::page(&self.run).summary))
    }

    /// Returns the run over time, as in `series.json`.
    fn series(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| {
            let summary = analysis::summarise(&self.run);
            json(&analysis::series::build(&self.run, &summary))
        })
    }

    /// Returns the summary as it is printed on the terminal.
    fn text(&self, py: Python<'_>) -> String {
        py.detach(|| report::console::summary_text(&audit::page(&self.run).summary))
    }

    /// Evaluates a criterion as if it belonged to the run.
    fn check(&self, py: Python<'_>, text: &str) -> PyResult<String> {
        plan::criteria::parse_criterion(text).map_err(|error| {
            let column = text[..error.offset.min(text.len())].chars().count() + 1;
            PyValueError::new_err(format!("'{text}', column {column}: {error}"))
        })?;
        py.detach(|| {
            let mut run = Run::clone(&self.run);
            run.manifest.criteria = vec![text.to_owned()];
            json(&analysis::summarise(&run).criteria.first())
        })
    }

    /// Returns a percentile (0 to 100) of a type of time under a label in nanoseconds, or None if
    /// there are no samples.
    fn percentile(
        &self,
        kind: &str,
        percentile: f64,
        name: Option<&str>,
    ) -> PyResult<Option<String>> {
        let kind = TimeKind::named(kind).ok_or_else(|| {
            PyValueError::new_err(format!("'{kind}' is not a valid kind of time"))
        })?;
        if !(0.0..=100.0).contains(&percentile) {
            let line = format!("{percentile} is not a percentile: use 0 to 100");
            return Err(PyValueError::new_err(line));
        }
        let id = match name {
            None => label::ALL,
            Some(name) => {
                let labels = &self.run.labels;
                let label = labels.iter().find(|label| label.text == name);
                label.map(|label| label.id).ok_or_else(|| {
                    PyValueError::new_err(format!("this run has no label '{name}'"))
                })?
            }
        };
        let sampled = Sampled::from_totals(&self.run.totals.label(id), kind);
        let figure: Option<Figure> = sampled.given_quantile(percentile / 100.0);
        figure.map(|figure| json(&figure)).transpose()
    }
}
