//! Responses for Python. Settling a response determines the final name and outcome in the record.

use std::sync::Arc;

use bridge::{Answered, Bridge, Completion, PendingSample, Settlement, now_ns};
use measure::{Failure, Fault, sample::RequestOutcome};
use pyo3::{exceptions::PyRuntimeError, prelude::*, types::PyBytes};

const BY_RULE: Failure = Failure::Check("script");
const UNREPORTED: Failure = Failure::Check("unreported");

/// A response, or the reason why there is none. A response that is never settled counts as
/// unreported.
#[pyclass(name = "Answer", module = "loadline._native")]
pub struct PyResponse {
    bridge: Arc<Bridge>,
    #[pyo3(get)]
    token: u64,
    answer: Answered,
    fault: Option<Fault>,
    /// The measured times. `None` once the response is settled.
    account: Option<PendingSample>,
    was_sent: bool,
    service_ns: Option<u64>,
    resumed_ns: u64,
}

impl PyResponse {
    pub fn new(bridge: &Arc<Bridge>, done: Completion, taken_ns: u64) -> PyResponse {
        PyResponse {
            bridge: Arc::clone(bridge),
            token: done.token,
            answer: done.answer,
            fault: done.fault,
            was_sent: done.account.was_sent(),
            service_ns: done.account.service_ns(),
            account: Some(done.account),
            resumed_ns: taken_ns,
        }
    }

    fn settled(
        &mut self,
        ended: RequestOutcome,
        renamed: Option<(String, String)>,
        detail: String,
    ) {
        if let Some(account) = self.account.take() {
            self.bridge.settle(Settlement {
                account,
                renamed,
                ended: self.fault.map_or(ended, RequestOutcome::Unanswered),
                detail,
                resumed_ns: Some(self.resumed_ns),
            });
        }
    }
}

#[pymethods]
impl PyResponse {
    /// Returns the status, or 0 if no head arrived.
    #[getter]
    fn status(&self) -> u16 {
        self.answer.status
    }

    /// Returns the name of the fault that made the response incomplete, if any.
    #[getter]
    fn fault(&self) -> Option<&'static str> {
        self.fault.map(Fault::name)
    }

    #[getter]
    fn fault_text(&self) -> Option<&'static str> {
        self.fault.map(Fault::text)
    }

    /// Returns whether at least one byte of the request was written.
    #[getter]
    fn was_sent(&self) -> bool {
        self.was_sent
    }

    /// Returns the time from the first byte written to the last byte read, in nanoseconds.
    #[getter]
    fn service_ns(&self) -> Option<u64> {
        self.service_ns
    }

    /// Returns the URL to which a redirect points.
    #[getter]
    fn location(&self) -> Option<&str> {
        self.answer.location.as_deref()
    }

    #[getter]
    fn sets_cookies(&self) -> bool {
        self.answer.sets_cookies
    }

    #[getter]
    fn head<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.answer.head)
    }

    /// Returns the decoded body, which can be taken only once.
    fn take_body<'py>(&mut self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &std::mem::take(&mut self.answer.body))
    }

    fn __len__(&self) -> usize {
        self.answer.body.len()
    }

    /// Returns why the body could not be decoded, or None if it could.
    #[getter]
    fn unreadable(&self) -> Option<&str> {
        self.answer.unreadable.as_deref()
    }

    /// Returns whether the response has been settled, or will be settled together with another one.
    #[getter]
    fn is_settled(&self) -> bool {
        self.account.is_none()
    }

    /// Records the time at which the waiting greenlet resumes.
    fn resumed(&mut self) {
        self.resumed_ns = now_ns();
    }

    /// Settles the response as expected.
    #[pyo3(signature = (renamed=None))]
    fn settle_ok(&mut self, renamed: Option<(String, String)>) {
        self.settled(RequestOutcome::Ok, renamed, String::new());
    }

    /// Settles the response as failed because of its status or a rule of the test.
    #[pyo3(signature = (by_status, detail, renamed=None))]
    fn settle_failed(
        &mut self,
        by_status: bool,
        detail: String,
        renamed: Option<(String, String)>,
    ) {
        let failure = if by_status {
            Failure::Status(self.answer.status)
        } else {
            BY_RULE
        };
        self.settled(RequestOutcome::Failed(failure), renamed, detail);
    }

    /// Settles the response as cancelled because its user was stopped.
    fn cancelled(&mut self) {
        if let Some(account) = self.account.take() {
            self.bridge.settle(Settlement::cancelled(account));
        }
    }

    /// Merges this response with `first`, which redirected to it. Both count as one request.
    fn follows(&mut self, first: &mut PyResponse) -> PyResult<()> {
        let (Some(account), Some(before)) = (&mut self.account, first.account.take()) else {
            return Err(PyRuntimeError::new_err(
                "the result of this request is already reported",
            ));
        };
        account.follows(&before);
        Ok(())
    }
}

impl Drop for PyResponse {
    fn drop(&mut self) {
        self.settled(
            RequestOutcome::Failed(UNREPORTED),
            None,
            "the test did not report a result for it".to_owned(),
        );
    }
}
