//! Known defects, each of which breaks one rule of honest measurement on purpose. The self-test
//! must find them.
//!
//! They exist only in builds with the feature `mutants`. Without it [`is`] is a constant `false`.
//! The product is never built with it.

/// A known defect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutant {
    /// A request that waited for a connection counts from when it got one.
    StampAtDequeue,
    /// Requests that time out are left out.
    DropTimeouts,
    /// Timers in whole milliseconds.
    MillisecondTimers,
    /// The next arrival is due one gap after the last one really came.
    NowPlusPeriod,
    /// Percentiles of intervals are averaged.
    AveragedPercentiles,
    /// The last fiftieth of the schedule is missing.
    TruncatedSchedule,
    /// Requests without an answer are left out of the distribution.
    ErrorsLeftOut,
    /// Arrivals that were never sent are called skipped.
    SkippedForUnsent,
    /// Each run counts as several: as if requests were compared, and not runs.
    RunsCountedOften,
    /// Neighbouring requests are taken for independent ones.
    IndependentRequests,
    /// Nothing is left out as a warm-up.
    WarmUpKept,
    /// A peak is told of throughput that need not fall.
    PeakWithoutEvidence,
    /// What waits for a place in a pool is taken for what is in one.
    WaitingCountedAsServed,
    /// Lateness of the generator never makes a measurement invalid. Tests that judge logic choose
    /// it, so that a busy machine cannot change their result.
    LatenessForgiven,
}

/// All, with their names.
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

/// Chooses the defect of this process. Returns false if no defect has this name.
#[cfg(feature = "mutants")]
pub fn choose(name: &str) -> bool {
    let found = ALL.into_iter().find(|(_, known)| *known == name);
    found.is_some_and(|(mutant, _)| CHOSEN.set(mutant).is_ok())
}

/// Whether this process has this defect.
#[cfg(feature = "mutants")]
#[must_use]
pub fn is(mutant: Mutant) -> bool {
    CHOSEN.get() == Some(&mutant)
}

/// Whether this process has this defect: never.
#[cfg(not(feature = "mutants"))]
#[must_use]
#[inline]
pub const fn is(_: Mutant) -> bool {
    false
}
