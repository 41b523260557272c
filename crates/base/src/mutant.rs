//! Known defects (mutants), each of which breaks one rule of honest measurement. The self-test must
//! find all of them.
//!
//! Without the feature `mutants`, [`is`] always returns `false`.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutant {
    /// Measures a request only from when it gets a connection, ignoring the wait for the
    /// connection.
    StampAtDequeue,
    /// Does not record requests that time out.
    DropTimeouts,
    MillisecondTimers,
    /// Schedules each arrival one gap after the start of the previous one, instead of one gap after
    /// the time at which it was due.
    NowPlusPeriod,
    AveragedPercentiles,
    TruncatedSchedule,
    ErrorsLeftOut,
    SkippedForUnsent,
    /// Counts each run several times, as if individual requests were compared instead of runs.
    RunsCountedOften,
    IndependentRequests,
    /// Never excludes the warm-up.
    WarmUpKept,
    /// Reports a peak even without evidence that the throughput has one.
    PeakWithoutEvidence,
    WaitingCountedAsServed,
    /// Never invalidates a measurement because of lateness, so that a busy machine cannot change
    /// the result of a test.
    LatenessForgiven,
}

pub const ALL: [(Mutant, &str); 14] = [
    (Mutant::StampAtDequeue, "stamp-at-dequeue"),
    (Mutant::DropTimeouts, "drop-timeouts"),
    (Mutant::MillisecondTimers, "millisecond-timers"),
    (Mutant::NowPlusPeriod, "now-plus-period"),
    (Mutant::AveragedPercentiles, "averaged-percentiles"),
    (Mutant::TruncatedSchedule, "truncated-schedule"),
    (Mutant::ErrorsLeftOut, "errors-left-out"),
    (Mutant::SkippedForUnsent, "skipped-for-unsent"),
    (Mutant::RunsCountedOften, "runs-counted-often"),
    (Mutant::IndependentRequests, "independent-requests"),
    (Mutant::WarmUpKept, "warm-up-kept"),
    (Mutant::PeakWithoutEvidence, "peak-without-evidence"),
    (Mutant::WaitingCountedAsServed, "waiting-counted-as-served"),
    (Mutant::LatenessForgiven, "lateness-forgiven"),
];

#[cfg(feature = "mutants")]
static CHOSEN: std::sync::OnceLock<Mutant> = std::sync::OnceLock::new();

#[cfg(feature = "mutants")]
pub fn choose(name: &str) -> bool {
    let found = ALL.into_iter().find(|(_, known)| *known == name);
    found.is_some_and(|(mutant, _)| CHOSEN.set(mutant).is_ok())
}

#[cfg(feature = "mutants")]
#[must_use]
pub fn is(mutant: Mutant) -> bool {
    CHOSEN.get() == Some(&mutant)
}

/// Returns whether this defect is enabled in this process. Without the feature `mutants`, always
/// returns `false`.
#[cfg(not(feature = "mutants"))]
#[must_use]
#[inline]
pub const fn is(_: Mutant) -> bool {
    false
}
