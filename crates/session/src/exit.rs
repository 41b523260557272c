//! Exit codes of native commands, derived from the verdict, the reason of the end, and errors.
//! Front ends define their own exit codes ([`crate::RunObserver`]).

use worker::stop::{Cause, RuleVerdict};

use crate::{RunOutcome, StartError};

/// All criteria passed, or the run has no criteria.
pub const PASS: u8 = 0;
/// A criterion failed.
pub const FAIL: u8 = 1;
/// The input is invalid.
pub const BAD_INPUT: u8 = 2;
/// The run could not be started or completed.
pub const COULD_NOT_RUN: u8 = 3;
/// The measurement is invalid.
pub const INVALID: u8 = 4;
/// The result of a criterion is undecided.
pub const INCONCLUSIVE: u8 = 5;

/// Returns the exit code of a process that a signal ended: 128 plus the signal's number.
#[must_use]
pub fn of_signal(number: u8) -> u8 {
    128 + number
}

/// Returns the native exit code of a run that could not start.
#[must_use]
pub fn of_not_run(reason: &StartError) -> u8 {
    match reason {
        StartError::Refused(refused) if refused.bad_input => BAD_INPUT,
        StartError::Refused(_) | StartError::Before { signal: None, .. } => COULD_NOT_RUN,
        StartError::Before {
            signal: Some(signal),
            ..
        } => of_signal(*signal),
    }
}

/// Returns the native exit code of a finished run.
#[must_use]
pub fn code(outcome: &RunOutcome<'_>) -> u8 {
    if outcome.error.is_some() || !outcome.files_written {
        return COULD_NOT_RUN;
    }
    if let Some(signal) = outcome.signal {
        return of_signal(signal);
    }
    let code = strictly(outcome.summary.exit_code, is_short(outcome));
    with_cause(code, outcome.cause)
}

/// Returns whether the run lost a process and therefore must not pass.
fn is_short(outcome: &RunOutcome<'_>) -> bool {
    outcome.strict && !outcome.summary.lost.is_empty()
}

/// Replaces the code with `INVALID` if the run lost a process, unless the run could not be
/// completed.
fn strictly(code: u8, is_short: bool) -> u8 {
    match code {
        PASS | FAIL | INCONCLUSIVE if is_short => INVALID,
        _ => code,
    }
}

/// Returns the native exit code of a recorded run. `code` is the result of the criteria, which the
/// recorded end may override.
#[must_use]
pub fn of_record(code: u8, run: &record::Run) -> u8 {
    let end = run.manifest.end.as_ref();
    let verdict = match end.and_then(|end| end.cause.as_deref()) {
        Some("rule fail") => RuleVerdict::Fail,
        Some("rule inconclusive") => RuleVerdict::Inconclusive,
        _ => return code,
    };
    let text = String::new();
    with_cause(code, Some(&Cause::Rule { verdict, text }))
}

/// Returns whether a stop rule, a lost process or a criterion fails the run. Front ends need this
/// if their own exit codes do not cover these cases.
#[must_use]
pub fn is_failed(outcome: &RunOutcome<'_>) -> bool {
    let code = outcome.summary.exit_code;
    // The front end's own codes cover the thresholds of its script.
    let mut criteria = outcome.summary.criteria.iter();
    let is_judged = criteria.any(|criterion| !criterion.is_of_script);
    with_cause(PASS, outcome.cause) != PASS
        || is_short(outcome)
        || is_judged && matches!(code, FAIL | INCONCLUSIVE | INVALID)
}

/// Combines the code of the criteria with a stop rule's verdict. `INVALID` stays. Otherwise, the
/// worse result counts.
fn with_cause(code: u8, cause: Option<&Cause>) -> u8 {
    let Some(Cause::Rule { verdict, .. }) = cause else {
        return code;
    };
    match (code, verdict) {
        (COULD_NOT_RUN | INVALID | FAIL, _) | (_, RuleVerdict::Pass) => code,
        (_, RuleVerdict::Fail) => FAIL,
        (_, RuleVerdict::Inconclusive) => INCONCLUSIVE,
    }
}

/// Combines the code with the result of `teardown`. A run that did not pass keeps its code.
pub(crate) fn with_after(code: u8, after: After, failed: u8) -> u8 {
    match after {
        _ if code != PASS => code,
        After::Done => code,
        After::Signal(number) => of_signal(number),
        After::Failed => failed,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    Done,
    Signal(u8),
    Failed,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_that_fired_is_the_verdict_unless_there_is_a_worse_one() {
        let rule = |verdict| Cause::Rule {
            verdict,
            text: String::new(),
        };
        for (code, cause, ends) in [
            (PASS, rule(RuleVerdict::Fail), FAIL),
            (PASS, rule(RuleVerdict::Pass), PASS),
            (PASS, rule(RuleVerdict::Inconclusive), INCONCLUSIVE),
            (INCONCLUSIVE, rule(RuleVerdict::Fail), FAIL),
            (FAIL, rule(RuleVerdict::Pass), FAIL),
            (FAIL, rule(RuleVerdict::Inconclusive), FAIL),
            (INVALID, rule(RuleVerdict::Fail), INVALID),
            (COULD_NOT_RUN, rule(RuleVerdict::Fail), COULD_NOT_RUN),
            (PASS, Cause::Limit("an hour".into()), PASS),
        ] {
            assert_eq!(with_cause(code, Some(&cause)), ends, "{code} {cause:?}");
        }
    }

    #[test]
    fn a_run_that_lost_a_process_ends_as_invalid_only_where_that_was_asked_for() {
        for code in [PASS, FAIL, COULD_NOT_RUN, INVALID, INCONCLUSIVE] {
            assert_eq!(strictly(code, false), code);
            let strict = if code == COULD_NOT_RUN { code } else { INVALID };
            assert_eq!(strictly(code, true), strict);
        }
    }

    #[test]
    fn teardown_changes_only_a_pass() {
        assert_eq!(with_after(PASS, After::Failed, 1), 1);
        assert_eq!(with_after(FAIL, After::Signal(2), 0), FAIL);
        assert_eq!(with_after(PASS, After::Signal(15), 0), 143);
        assert_eq!(with_after(PASS, After::Done, 1), PASS);
    }
}
