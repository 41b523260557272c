//! Stopping of a run in two steps, drain and abort. Stores the cause.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicU8, AtomicU64, Ordering},
};

const INTERRUPT: u8 = 2;

/// How urgently a run must end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Urgency {
    /// The run continues.
    None,
    /// No new arrivals start, but in-flight work may finish.
    Drain,
    /// In-flight work is abandoned.
    Abort,
}

/// Verdict of the stop rule that ended a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleVerdict {
    /// The run passes.
    Pass,
    /// The run fails.
    Fail,
    /// The run is inconclusive.
    Inconclusive,
}

/// Why a run ended early.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// The process received a signal with this number.
    Signal(u8),
    #[expect(missing_docs, reason = "the names are self-explanatory")]
    Rule { verdict: RuleVerdict, text: String },
    /// The conductor enforced a limit, such as a time or a budget.
    Limit(String),
    /// The user pressed the stop button on the live page.
    Page,
    /// The test script stopped the run, for this reason.
    Script(String),
    /// Loadline itself failed, for this reason.
    Fault(String),
}

impl Cause {
    /// Returns the name of the cause in the record.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Cause::Signal(_) => "signal",
            Cause::Rule { verdict, .. } => match verdict {
                RuleVerdict::Pass => "rule pass",
                RuleVerdict::Fail => "rule fail",
                RuleVerdict::Inconclusive => "rule inconclusive",
            },
            Cause::Limit(_) => "limit",
            Cause::Page => "page",
            Cause::Script(_) => "script",
            Cause::Fault(_) => "fault",
        }
    }
}

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Cause::Signal(15) => f.write_str("SIGTERM"),
            Cause::Signal(1) => f.write_str("SIGHUP"),
            Cause::Signal(_) => f.write_str("SIGINT"),
            Cause::Rule { text, .. } => write!(f, "the stop rule `{text}`"),
            Cause::Limit(text) => f.write_str(text),
            Cause::Page => f.write_str("the stop button of the live view"),
            Cause::Script(text) | Cause::Fault(text) => f.write_str(text),
        }
    }
}

/// A handle that stops a run. Clones refer to the same run. Workers poll it a hundred times per
/// second.
#[derive(Debug, Clone, Default)]
pub struct StopHandle(Arc<StopState>);

#[derive(Debug, Default)]
struct StopState {
    urgency: AtomicU8,
    signal: AtomicU8,
    /// Time at which the first stop was noticed, in nanoseconds from the start, plus one. 0 means
    /// that no stop was requested.
    at: AtomicU64,
    cause: OnceLock<Cause>,
}

impl StopHandle {
    /// Requests a stop. The first request is recorded as the cause. A second signal aborts the run.
    pub fn stop(&self, cause: Cause) {
        // Store the cause before the stop becomes visible.
        let _ = self.0.cause.set(cause.clone());
        let urgency = &self.0.urgency;
        let (none, drain) = (Urgency::None as u8, Urgency::Drain as u8);
        let first = urgency.compare_exchange(none, drain, Ordering::Relaxed, Ordering::Relaxed);
        let number = match cause {
            Cause::Signal(number) => number,
            Cause::Page if first.is_ok() => INTERRUPT,
            _ => 0,
        };
        let signal = &self.0.signal;
        let _ = signal.compare_exchange(0, number, Ordering::Relaxed, Ordering::Relaxed);
        if first.is_err() && matches!(cause, Cause::Signal(_)) {
            urgency.store(Urgency::Abort as u8, Ordering::Relaxed);
        }
    }

    /// Aborts the run because of a failure.
    pub fn fail(&self, reason: &str) {
        let _ = self.0.cause.set(Cause::Fault(reason.to_owned()));
        self.0
            .urgency
            .store(Urgency::Abort as u8, Ordering::Relaxed);
    }

    /// Returns why the run was stopped. `None` if it was not.
    #[must_use]
    pub fn cause(&self) -> Option<&Cause> {
        self.0.cause.get()
    }

    /// Returns the current urgency.
    #[must_use]
    pub fn urgency(&self) -> Urgency {
        match self.0.urgency.load(Ordering::Relaxed) {
            0 => Urgency::None,
            1 => Urgency::Drain,
            _ => Urgency::Abort,
        }
    }

    /// Returns the number of the signal, if the cause was a signal.
    #[must_use]
    pub fn signal(&self) -> Option<u8> {
        Some(self.0.signal.load(Ordering::Relaxed)).filter(|n| *n > 0)
    }

    pub(crate) fn noticed(&self, now_ns: u64) {
        let _ = self
            .0
            .at
            .compare_exchange(0, now_ns + 1, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Returns the time at which a worker noticed the first stop, in nanoseconds from the start.
    #[must_use]
    pub fn noticed_at(&self) -> Option<u64> {
        self.0.at.load(Ordering::Relaxed).checked_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_stop_is_the_cause_and_second_signal_aborts() {
        let stop = StopHandle::default();
        let rule = Cause::Rule {
            verdict: RuleVerdict::Fail,
            text: "errors > 10%".into(),
        };
        stop.stop(rule.clone());
        stop.stop(rule.clone());
        stop.stop(Cause::Page);
        assert_eq!((stop.urgency(), stop.signal()), (Urgency::Drain, None));
        stop.stop(Cause::Signal(15));
        assert_eq!((stop.urgency(), stop.signal()), (Urgency::Abort, Some(15)));
        assert_eq!(stop.cause(), Some(&rule));
        assert_eq!(rule.kind(), "rule fail");
    }

    #[test]
    fn page_button_stops_like_ctrl_c() {
        let stop = StopHandle::default();
        stop.stop(Cause::Page);
        assert_eq!((stop.urgency(), stop.signal()), (Urgency::Drain, Some(2)));
        stop.fail("a worker died");
        assert_eq!(
            (stop.urgency(), stop.cause()),
            (Urgency::Abort, Some(&Cause::Page))
        );
    }
}
