//! How a run is told to end: first no new arrivals and a drain, then at once; and why, which is kept. Who asks - a signal, a rule, a
//! button - is somebody else's business.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicU8, AtomicU64, Ordering},
};

/// The number of SIGINT.
const INTERRUPT: u8 = 2;

/// How urgently the run shall end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Urgency {
    /// It runs.
    None,
    /// No new arrivals; what is under way may finish.
    Drain,
    /// What is under way is given up.
    Abort,
}

/// What a rule that ends a run makes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It has shown what it was to show.
    Pass,
    /// It has failed.
    Fail,
    /// Nothing can be said.
    Inconclusive,
}

/// Why a run ends before its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// Somebody sent the process a signal of this number.
    Signal(u8),
    /// A rule of the test fired.
    Rule {
        /// What it makes of the run.
        verdict: Verdict,
        /// As the user wrote it.
        text: String,
    },
    /// A bound that whoever conducts the run has set: time, money, a budget.
    Limit(String),
    /// The button of the page.
    Page,
    /// Something of ours has failed.
    Fault(String),
}

impl Cause {
    /// The kind of it, as a record keeps it.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Cause::Signal(_) => "signal",
            Cause::Rule { verdict, .. } => match verdict {
                Verdict::Pass => "rule pass",
                Verdict::Fail => "rule fail",
                Verdict::Inconclusive => "rule inconclusive",
            },
            Cause::Limit(_) => "limit",
            Cause::Page => "page",
            Cause::Fault(_) => "fault",
        }
    }
}

/// To stand behind "ended early by".
impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Cause::Signal(15) => f.write_str("SIGTERM"),
            Cause::Signal(1) => f.write_str("SIGHUP"),
            Cause::Signal(_) => f.write_str("SIGINT"),
            Cause::Rule { text, .. } => write!(f, "the stop rule `{text}`"),
            Cause::Limit(text) => f.write_str(text),
            Cause::Page => f.write_str("the live view's stop button"),
            Cause::Fault(text) => f.write_str(text),
        }
    }
}

/// Tells a run to end. Cheap to copy; workers look at it a hundred times a second.
#[derive(Debug, Clone, Default)]
pub struct StopHandle(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    urgency: AtomicU8,
    /// The number of the first signal; the page's button counts as Ctrl-C.
    signal: AtomicU8,
    /// When the first stop came, in nanoseconds from the start of the test plus one; 0: never.
    at: AtomicU64,
    /// Why it came.
    cause: OnceLock<Cause>,
}

impl StopHandle {
    /// Asks for an end. The first to ask is the cause. A signal behind that is a hurry; a rule that goes on holding and a button
    /// that is pressed twice are none.
    pub fn stop(&self, cause: Cause) {
        // Kept before anybody can see that there is a stop.
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

    /// Ends the run at once, because something has failed.
    pub fn fail(&self, reason: &str) {
        let _ = self.0.cause.set(Cause::Fault(reason.to_owned()));
        self.0
            .urgency
            .store(Urgency::Abort as u8, Ordering::Relaxed);
    }

    /// Why the run was ended, if it was.
    #[must_use]
    pub fn cause(&self) -> Option<&Cause> {
        self.0.cause.get()
    }

    /// How urgent it is.
    #[must_use]
    pub fn urgency(&self) -> Urgency {
        match self.0.urgency.load(Ordering::Relaxed) {
            0 => Urgency::None,
            1 => Urgency::Drain,
            _ => Urgency::Abort,
        }
    }

    /// The number of the signal that asked, if one did.
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

    /// When workers noticed the first request to stop, in nanoseconds from the start of the test.
    #[must_use]
    pub fn noticed_at(&self) -> Option<u64> {
        self.0.at.load(Ordering::Relaxed).checked_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_first_is_the_cause_and_only_signals_are_in_a_hurry() {
        let stop = StopHandle::default();
        let rule = Cause::Rule {
            verdict: Verdict::Fail,
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
    fn the_button_ends_as_ctrl_c_does() {
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
