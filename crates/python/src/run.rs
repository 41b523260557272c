//! A running test as a Python class.

use std::{os::fd::AsRawFd, sync::Arc};

use bridge::{Bridge, ExternalSample, Order, arrivals::Due, now_ns};
use codec::Origin;
use frontend_locust::{LocustTest, RunningTest};
use measure::{Failure, Fault, sample::RequestOutcome};
use pyo3::{
    exceptions::{PyRuntimeError, PyValueError},
    prelude::*,
};
use worker::client::Built;

use crate::{answer::PyResponse, log::sink};

/// A running test.
#[pyclass(name = "Run", module = "loadline._native", frozen)]
pub struct PyRun {
    bridge: Arc<Bridge>,
    state: std::sync::Mutex<RunHandleState>,
    record: Option<String>,
    live_view: Option<String>,
    has_arrivals: bool,
}

struct RunHandleState {
    running: Option<RunningTest>,
    outcome: RunResult,
}

impl PyRun {
    fn begun(
        py: Python<'_>,
        begin: impl FnOnce() -> Result<RunningTest, Vec<String>> + Send,
    ) -> PyResult<PyRun> {
        let running = py
            .detach(begin)
            .map_err(|lines| PyRuntimeError::new_err(lines.join("\n")))?;
        Ok(PyRun {
            bridge: Arc::clone(running.bridge()),
            record: running.record.clone(),
            live_view: running.live_view.clone(),
            has_arrivals: running.has_arrivals,
            state: std::sync::Mutex::new(RunHandleState {
                running: Some(running),
                outcome: RunResult::default(),
            }),
        })
    }
}

pub type RunResult = (Vec<String>, bool, Option<String>);

fn ns(seconds: f64) -> PyResult<u64> {
    if !(0.0..1e9).contains(&seconds) {
        return Err(PyValueError::new_err(format!(
            "{seconds} is not a number of seconds"
        )));
    }
    Ok((seconds * 1e9) as u64)
}

pub type Facts = (
    Option<String>,
    u32,
    Option<f64>,
    Vec<String>,
    Vec<(String, String)>,
    Option<String>,
);

pub fn test((target, users, duration, files, settings, arrivals): Facts) -> PyResult<LocustTest> {
    let test = LocustTest {
        target,
        users,
        duration_ns: duration.map(ns).transpose()?,
        files,
        settings,
        arrivals,
        ..LocustTest::default()
    };
    Ok(test.with_environment())
}

#[pymethods]
impl PyRun {
    /// Starts a test, with a live view if `is_watched` is true.
    #[new]
    fn new(py: Python<'_>, facts: Facts, is_watched: bool) -> PyResult<PyRun> {
        let test = test(facts)?;
        PyRun::begun(py, || RunningTest::begin(&test, is_watched, &sink()))
    }

    /// Starts one part of a test that the master has divided.
    #[staticmethod]
    fn of_part(py: Python<'_>, handed: &str, number: u64) -> PyResult<PyRun> {
        PyRun::begun(py, || RunningTest::begin_part(handed, number, &sink()))
    }

    #[getter]
    fn record(&self) -> Option<String> {
        self.record.clone()
    }

    #[getter]
    fn live_view(&self) -> Option<String> {
        self.live_view.clone()
    }

    /// Returns a file descriptor that is readable when `take` has something to return.
    fn fileno(&self) -> i32 {
        self.bridge.readable().as_raw_fd()
    }

    #[pyo3(signature = (session, verifies, method, name, host, port, tls, data, connect, read, arrival_ns=None))]
    #[allow(
        clippy::too_many_arguments,
        reason = "one call per request, without creating an object for the arguments"
    )]
    fn send(
        &self,
        session: u64,
        verifies: bool,
        method: &str,
        name: &str,
        host: &str,
        port: u16,
        tls: bool,
        data: &[u8],
        connect: Option<f64>,
        read: Option<f64>,
        arrival_ns: Option<(u64, u64)>,
    ) -> PyResult<u64> {
        let origin = Origin {
            tls,
            host: host.to_owned(),
            port,
        };
        let request = Built::from_wire(origin, data.to_vec())
            .ok_or_else(|| PyValueError::new_err("the request has no complete head"))?;
        let token = self.bridge.send(Order {
            session,
            verifies,
            method: method.to_owned(),
            name: name.to_owned(),
            request,
            connect_ns: connect.map(ns).transpose()?,
            read_ns: read.map(ns).transpose()?,
            called_ns: now_ns(),
            arrival_ns,
        });
        token.ok_or_else(|| {
            PyRuntimeError::new_err("the engine has exited: see its last lines of output")
        })
    }

    fn take(&self, most: usize) -> Vec<PyResponse> {
        let taken_ns = now_ns();
        let done = self.bridge.take(most).into_iter();
        done.map(|done| PyResponse::new(&self.bridge, done, taken_ns))
            .collect()
    }

    /// Returns whether a schedule starts the tasks.
    #[getter]
    fn has_arrivals(&self) -> bool {
        self.has_arrivals
    }

    /// Returns the number and intended start of each due arrival. Must be called after `take`.
    fn arrivals(&self) -> Vec<(u64, u64)> {
        let due = self.bridge.arrivals().into_iter();
        due.map(|due| (due.number, due.intended_ns)).collect()
    }

    /// Reports that an arrival has started this task.
    fn started(&self, number: u64, intended_ns: u64, task: String) {
        let due = Due {
            number,
            intended_ns,
        };
        self.bridge.started(due, task);
    }

    /// Reports that the task of an arrival has ended. `well` is True without an error, False with
    /// an error, and None if the task was interrupted.
    #[pyo3(signature = (number, well))]
    fn over(&self, number: u64, well: Option<bool>) {
        let ended = match well {
            Some(true) => RequestOutcome::Ok,
            Some(false) => RequestOutcome::Failed(Failure::Check("script")),
            None => RequestOutcome::Unanswered(Fault::Unfinished),
        };
        self.bridge.over(number, ended);
    }

    fn end_arrivals(&self) {
        self.bridge.end_arrivals();
    }

    /// Cancels a request.
    fn cancel(&self, token: u64, session: u64) {
        self.bridge.cancel(token, session);
    }

    /// Closes the idle connections of a session.
    fn close(&self, session: u64) {
        self.bridge.close(session);
    }

    /// Records a request made by other code.
    #[pyo3(signature = (method, name, response_time, length, failed=None))]
    fn foreign(
        &self,
        method: String,
        name: String,
        response_time: Option<f64>,
        length: u64,
        failed: Option<String>,
    ) -> PyResult<()> {
        self.bridge.foreign(ExternalSample {
            method,
            name,
            done_ns: now_ns(),
            took_ns: response_time.map(|ms| (ms * 1e6) as u64),
            bytes_in: length,
            ended: failed.as_ref().map_or(RequestOutcome::Ok, |_| {
                RequestOutcome::Failed(Failure::Check("script"))
            }),
            detail: failed.unwrap_or_default(),
        });
        Ok(())
    }

    fn has_users(&self, users: u64) {
        self.bridge.has_users(users);
    }

    /// Returns whether the run is ending because of the stop button or a rule.
    #[getter]
    fn is_ending(&self) -> bool {
        self.bridge.is_ending()
    }

    /// Ends the test. Returns its messages, whether it failed, and the path of its record. A second
    /// call waits for the end and returns the same result.
    fn end(&self, py: Python<'_>) -> RunResult {
        // Release the GIL, because the holder of the lock may need it.
        py.detach(|| {
            let mut held = self
                .state
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            if let Some(running) = held.running.take() {
                let reported = running.end();
                held.outcome = (reported.lines, reported.failed, reported.record);
            }
            held.outcome.clone()
        })
    }
}
