//! Known defects (mutants), each of which breaks one rule of honest measurement. The self-test must
//! find them.
//!
//! They exist only in builds with the feature `mutants`. Without it [`is`] is a constant `false`.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutant {
    /// The time of a request that waits for a connection starts only when it gets one.
    StampAtDequeue,
    /// Requests that time out are not recorded.
    DropTimeouts,
    MillisecondTimers,
    /// The next arrival is due one gap after the last one was started, instead of after it was due.
    NowPlusPeriod,
    AveragedPercentiles,
    TruncatedSchedule,
    ErrorsLeftOut,
    SkippedForUnsent,
    /// Each run counts several times, as if requests were compared instead of runs.
    RunsCountedOften,
    IndependentRequests,
    /// Warm-up is never excluded.
    WarmUpKept,
    /// A peak is reported even if throughput may not have one.
    PeakWithoutEvidence,
    WaitingCountedAsServed,
    /// Lateness never makes a measurement invalid. Tests of logic use it, so that a busy machine
    /// cannot change their result.
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

/// Enables a defect in this process. Returns false if the name is unknown.
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

/// Whether this defect is enabled in this process. Always false without the feature `mutants`.
#[cfg(not(feature = "mutants"))]
#[must_use]
#[inline]
pub const fn is(_: Mutant) -> bool {
    false
}
