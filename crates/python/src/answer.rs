//! Completions for Python, and their settlement.

use std::sync::Arc;

use bridge::{Answered, Bridge, Completion, PendingSample, Settlement, now_ns};
use measure::{Failure, Fault, sample::RequestOutcome};
use pyo3::{exceptions::PyRuntimeError, prelude::*, types::PyBytes};

/// Failure reported by the test.
const BY_RULE: Failure = Failure::Check("script");
/// An exception skipped the report.
const UNREPORTED: Failure = Failure::Check("unreported");

/// An answer, or why there is none. Whoever leaves it unsettled has it counted as unreported.
#[pyclass(name = "Answer", module = "loadline._native")]
pub struct PyResponse {
    bridge: Arc<Bridge>,
    #[pyo3(get)]
    token: u64,
    answer: Answered,
    fault: Option<Fault>,
    /// None once it is settled.
    account: Option<PendingSample>,
    was_sent: bool,
    service_ns: Option<u64>,
    /// When the greenlet that waited for it had it.
    resumed_ns: u64,
}

impl PyResponse {
    /// Taken over the bridge now.
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
    /// The status; 0 where no head came.
    #[getter]
    fn status(&self) -> u16 {
        self.answer.status
    }

    /// The name of what kept the answer from being complete.
    #[getter]
    fn fault(&self) -> Option<&'static str> {
        self.fault.map(Fault::name)
    }

    /// The same in words.
    #[getter]
    fn fault_text(&self) -> Option<&'static str> {
        self.fault.map(Fault::text)
    }

    /// Whether a byte of the request was written.
    #[getter]
    fn was_sent(&self) -> bool {
        self.was_sent
    }

    /// First byte written → last byte read, in nanoseconds.
    #[getter]
    fn service_ns(&self) -> Option<u64> {
        self.service_ns
    }

    /// Where the answer redirects to.
    #[getter]
    fn location(&self) -> Option<&str> {
        self.answer.location.as_deref()
    }

    /// Whether it sets cookies.
    #[getter]
    fn sets_cookies(&self) -> bool {
        self.answer.sets_cookies
    }

    /// The head as it came.
    #[getter]
    fn head<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.answer.head)
    }

    /// The body, unpacked. It is handed out once.
    fn take_body<'py>(&mut self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &std::mem::take(&mut self.answer.body))
    }

    /// How long the body is.
    fn __len__(&self) -> usize {
        self.answer.body.len()
    }

    /// Why the body could not be unpacked.
    #[getter]
    fn unreadable(&self) -> Option<&str> {
        self.answer.unreadable.as_deref()
    }

    /// Whether it is in the ledger, or spoken for.
    #[getter]
    fn is_settled(&self) -> bool {
        self.account.is_none()
    }

    /// The greenlet that waited for it has it: answers that were taken before it, in the same batch, had their turn first.
    fn resumed(&mut self) {
        self.resumed_ns = now_ns();
    }

    /// It is as it should be.
    #[pyo3(signature = (renamed=None))]
    fn settle_ok(&mut self, renamed: Option<(String, String)>) {
        self.settled(RequestOutcome::Ok, renamed, String::new());
    }

    /// It is not: by its status, or by the test's own rule.
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

    /// Nobody waits for it any more.
    fn cancelled(&mut self) {
        if let Some(account) = self.account.take() {
            self.bridge.settle(Settlement::cancelled(account));
        }
    }

    /// This answer is to a request that another answer led to: one account for both.
    fn follows(&mut self, first: &mut PyResponse) -> PyResult<()> {
        let (Some(account), Some(before)) = (&mut self.account, first.account.take()) else {
            return Err(PyRuntimeError::new_err("an account that is closed already"));
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
            "the test never reported it".to_owned(),
        );
    }
}
