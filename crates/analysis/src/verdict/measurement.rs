//! Judges whether the measurement is valid, based only on effects: lateness, unsent load, lack of
//! descriptors or ports, and a busy core in a closed loop. CPU use and stalls are reported as
//! reasons.

use measure::{
    Fault, Histogram, TimeKind, label,
    slot::Counters,
    summary::{KindTimes, Quantile},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Borrow;

use plan::mutant::{self, Mutant};
use record::{EventKind, IntervalRow, Model, Run, units};

use crate::figures::{self, ArrivalLedger, Requests};

const BOUND: &str = "generator-bound: the measured throughput is a lower bound";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measurement {
    /// Verdict: `VALID`, `DEGRADED` or `INVALID`.
    pub verdict: String,
    pub reasons: Vec<String>,
    pub late_ns: Vec<(u64, u64)>,
    pub first_bad_ns: Option<u64>,
    /// 99th percentile of lateness, in nanoseconds. `None` in a closed loop.
    pub lateness_p99_ns: Option<u64>,
    /// 99th percentile of the stall, in nanoseconds. A stall is a period in which a worker could
    /// neither send nor read.
    #[serde(default)]
    pub stall_p99_ns: Option<u64>,
    /// Share of planned arrivals that certainly started. `None` in a closed loop.
    pub sent: Option<f64>,
    /// CPU use of the busiest worker as a share of a core, without the time spent spinning.
    pub cpu: f64,
    /// Largest share of time in which a worker was ready to run but waited for a CPU.
    #[serde(default)]
    pub waiting: f64,
    /// Difference between the sampled number of requests in flight and rate × time, as a share of
    /// the sampled number.
    pub littles_law: Option<f64>,
}

impl Measurement {
    #[must_use]
    pub fn is_generator_bound(&self) -> bool {
        self.reasons.iter().any(|reason| reason.starts_with(BOUND))
    }
}

impl Measurement {
    #[must_use]
    pub fn line(&self) -> String {
        format!("measurement {}  {}", self.verdict, self.reasons.join(" · "))
    }
}

pub const LATE_NS: u64 = 1_000_000;
const LATE_SHARE: f64 = 0.05;
const UNSENT_SHARE: f64 = 0.005;
const BUSY: f64 = 0.85;
const CROWDED: f64 = 0.25;
const STEAL: f64 = 0.02;
/// Minimum sum of the samples of requests in flight. With a smaller sum, the random error exceeds 1
/// %.
const SEEN: u64 = 10_000;

/// Time after which a live run is judged, if it has enough requests.
const SETTLED_NS: u64 = 10_000_000_000;
const SETTLED: u64 = 200;

const FEW_LATE: f64 = 2.0;

/// Returns the lateness that decides: p99, or the second largest value if there are fewer than 150
/// samples.
fn decisive(times: &Histogram) -> Option<u64> {
    // Half a rank of tolerance prevents rounding to another sample.
    let below = (FEW_LATE - 0.5) / times.count().max(1) as f64;
    times.quantile((1.0 - below).clamp(0.0, 0.99))
}

/// Judges the measurement. Returns `None` if nothing was sent, if a live run has just started, or
/// if the run is a trial and the load generator had no faults.
#[must_use]
pub fn judge(run: &Run, arrivals: &ArrivalLedger, requests: &Requests) -> Option<Measurement> {
    let all = run.totals.label(label::ALL);
    let too_young = run.totals.rows.end_ns < SETTLED_NS || all.slot.counters.ended() < SETTLED;
    if requests.issued == 0 || run.live && too_young {
        return None;
    }
    let own = |kind| all.slot.histogram(kind, measure::OutcomeClass::Ok);
    let (late, held_up) = (own(TimeKind::Lateness), own(TimeKind::Stall));
    let lateness_ns = late.and_then(decisive);
    let stall_ns = held_up.and_then(decisive);
    let has_users = run.manifest.load.has_users();
    let reported = match KindTimes::from_slot(&all.slot, TimeKind::Response).quantile(0.99) {
        Quantile::Ns(ns) | Quantile::NoAnswer(ns) => ns,
        Quantile::Empty => 0,
    };
    let bound = LATE_NS.max((reported as f64 * LATE_SHARE) as u64);
    let mut m = Measurement {
        verdict: "VALID".into(),
        reasons: Vec::new(),
        late_ns: stretches(run, |row| {
            let stall_ns = row.stall_p99_ns.filter(|_| has_users);
            let is_closed = run.manifest.load.model == Model::Closed;
            let late_ns = row.lateness_p99_ns.filter(|_| !is_closed);
            stall_ns.max(late_ns).is_some_and(|p99| p99 > bound)
        }),
        first_bad_ns: None,
        lateness_p99_ns: late.and_then(|times| times.quantile(0.99)),
        stall_p99_ns: held_up.and_then(|times| times.quantile(0.99)),
        sent: sent(arrivals),
        cpu: busiest(run.totals.rows.iter()),
        waiting: most_waiting(run.totals.rows.iter()),
        littles_law: littles_law(run),
    };
    m.first_bad_ns = m.late_ns.first().map(|(from, _)| *from);
    // A single iteration is a trial, whose timing is not judged.
    let is_trial = run.manifest.load.model == Model::Once;
    if is_trial {
        m.late_ns.clear();
        m.first_bad_ns = None;
    }
    let is_forgiven = mutant::is(Mutant::LatenessForgiven);
    let bound = if is_trial || is_forgiven {
        u64::MAX
    } else {
        bound
    };
    let errors = GeneratorErrors {
        counters: &all.slot.counters,
        has_users,
        bound_ns: bound,
        lateness_ns,
        stall_ns,
        unsent: unsent_by_others(run, arrivals),
        unrecorded: unrecorded_share(run, arrivals),
    };
    let invalid = effects(run, &m, &errors);
    if is_trial && invalid.is_empty() {
        return None;
    }
    if !invalid.is_empty() {
        m.verdict = "INVALID".into();
        m.reasons = invalid;
    } else if let Some(missing) = missing(run) {
        m.verdict = "DEGRADED".into();
        m.reasons = missing;
    } else if has_users && m.cpu > BUSY && !is_forgiven {
        m.verdict = "DEGRADED".into();
        m.reasons = vec![format!("{BOUND} (generator CPU {})", units::share(m.cpu))];
    } else if has_users && m.waiting > CROWDED && !is_forgiven {
        m.verdict = "DEGRADED".into();
        m.reasons = vec![format!(
            "{BOUND} (its workers waited for a CPU for {} of the time: use fewer workers, or more cores)",
            percent(m.waiting)
        )];
    } else {
        m.reasons = figures(&m, has_users);
    }
    Some(m)
}

struct GeneratorErrors<'a> {
    counters: &'a Counters,
    /// Whether part of the load is a closed loop, which a stall slows down.
    has_users: bool,
    /// Largest lateness or stall that a valid measurement may have.
    bound_ns: u64,
    lateness_ns: Option<u64>,
    stall_ns: Option<u64>,
    unsent: f64,
    unrecorded: f64,
}

fn effects(run: &Run, m: &Measurement, errors: &GeneratorErrors<'_>) -> Vec<String> {
    let GeneratorErrors {
        has_users,
        unsent,
        unrecorded,
        ..
    } = *errors;
    let mut invalid = Vec::new();
    let exceeds = |decisive: Option<u64>| decisive.is_some_and(|ns| ns > errors.bound_ns);
    let late = m.lateness_p99_ns.filter(|_| exceeds(errors.lateness_ns));
    let stall = m
        .stall_p99_ns
        .filter(|_| has_users && exceeds(errors.stall_ns));
    // Causes and periods that lateness and stalls share are reported once.
    let named = [("lateness", late), ("stall", stall)];
    let named = named
        .into_iter()
        .filter_map(|(name, p99)| Some(format!("{name} p99 {}", units::time(p99?))));
    let named: Vec<String> = named.collect();
    if !named.is_empty() {
        let how = if late.is_some() { "late" } else { "held up" };
        let cause = because(run, &m.late_ns, how);
        invalid.push(format!("{cause}: {}", named.join(", ")));
    }
    if unsent > UNSENT_SHARE {
        invalid.push(format!(
            "{} of the planned load was never started",
            units::share(unsent)
        ));
    }
    if unrecorded > UNSENT_SHARE {
        invalid.push(format!(
            "it is unknown whether {} of the planned load was started",
            units::share(unrecorded)
        ));
    }
    if !invalid.is_empty() {
        invalid.extend(missing(run).into_iter().flatten());
    }
    for (fault, name) in [
        (Fault::NoDescriptors, "EMFILE: no file descriptors left"),
        (Fault::NoPorts, "EADDRNOTAVAIL: no local ports left"),
        (Fault::OutOfMemory, "the generator ran out of memory"),
    ] {
        let faults = errors.counters.faults.0.iter().filter(|(f, _)| *f == fault);
        let n = faults.map(|(_, n)| n).sum::<u64>();
        if n > 0 {
            invalid.push(format!("{name} for {} requests", units::count(n)));
        }
    }
    invalid
}

fn missing(run: &Run) -> Option<Vec<String>> {
    let unmeasured = run
        .events
        .iter()
        .filter(|event| event.event == EventKind::Unmeasured)
        .map(|event| event.text.clone());
    let nodes = figures::losses(run).into_iter().map(|loss| loss.text);
    let reasons: Vec<String> = nodes.chain(lost(run)).chain(unmeasured).collect();
    (!reasons.is_empty()).then_some(reasons)
}

fn lost(run: &Run) -> Option<String> {
    let lost = (run.missing.len() + run.lost().count()) as u64;
    let of = run.manifest.processes.unwrap_or(0);
    (lost > 0).then(|| format!("{lost} of {of} processes did not finish"))
}

fn figures(m: &Measurement, has_users: bool) -> Vec<String> {
    let mut figures = Vec::new();
    figures.extend(
        m.stall_p99_ns
            .filter(|_| has_users)
            .map(|ns| format!("stall p99 {}", units::time(ns))),
    );
    figures.extend(
        m.lateness_p99_ns
            .map(|ns| format!("lateness p99 {}", units::time(ns))),
    );
    figures.extend(
        m.sent
            .map(|sent| format!("{} of plan started", percent(sent))),
    );
    figures.push(format!("generator CPU {}", percent(m.cpu)));
    figures.extend(
        m.littles_law
            .map(|off| format!("Little's law within {}", units::share(off.max(0.001)))),
    );
    figures
}

fn percent(share: f64) -> String {
    match share * 100.0 {
        // Shares below 100 % are never rounded up to 100 %.
        p if (99.0..100.0).contains(&p) => format!("{:.2} %", (p * 100.0).floor() / 100.0),
        p if p >= 10.0 => format!("{p:.0} %"),
        _ => units::share(share),
    }
}

fn sent(arrivals: &ArrivalLedger) -> Option<f64> {
    let planned = arrivals.planned.filter(|planned| *planned > 0)?;
    let missing = arrivals.unsent.unwrap_or(0) + arrivals.unknown;
    Some(1.0 - missing as f64 / planned as f64)
}

/// Returns the share of the plan that the remaining nodes did not send.
fn unsent_by_others(run: &Run, arrivals: &ArrivalLedger) -> f64 {
    let unsent = arrivals.unsent.unwrap_or(0);
    let of_nodes = figures::unsent_with_nodes(run) + run.left_by_lost();
    let of_others = unsent.saturating_sub(of_nodes);
    of_others as f64 / arrivals.planned.unwrap_or(0).max(1) as f64
}

fn unrecorded_share(run: &Run, arrivals: &ArrivalLedger) -> f64 {
    let planned = arrivals.planned.unwrap_or(0).max(1);
    figures::unrecorded(run) as f64 / planned as f64
}

fn stretches(run: &Run, is_bad: impl Fn(&IntervalRow) -> bool) -> Vec<(u64, u64)> {
    let mut stretches: Vec<(u64, u64)> = Vec::new();
    for row in run.totals.rows.iter().filter(|row| is_bad(row)) {
        match stretches.last_mut() {
            // A single interval without arrivals does not separate two late periods.
            Some((_, end)) if row.span.from_ns <= *end + 1_000_000_000 => *end = row.span.to_ns,
            _ => stretches.push((row.span.from_ns, row.span.to_ns)),
        }
    }
    stretches
}

fn busiest<R: Borrow<IntervalRow>>(rows: impl Iterator<Item = R>) -> f64 {
    let mut time = 0;
    let mut work: Vec<u64> = Vec::new();
    for row in rows {
        let row = row.borrow();
        time += row.span.to_ns - row.span.from_ns;
        work.resize(work.len().max(row.run.cpu_ns.len()), 0);
        for (i, cpu) in row.run.cpu_ns.iter().enumerate() {
            work[i] += cpu.saturating_sub(row.run.spin_ns.get(i).copied().unwrap_or(0));
        }
    }
    work.into_iter().max().unwrap_or(0) as f64 / time.max(1) as f64
}

fn most_waiting<R: Borrow<IntervalRow>>(rows: impl Iterator<Item = R>) -> f64 {
    let mut time = 0;
    let mut waiting: Vec<u64> = Vec::new();
    for row in rows {
        let row = row.borrow();
        time += row.span.to_ns - row.span.from_ns;
        waiting.resize(waiting.len().max(row.run.waiting_ns.len()), 0);
        for (sum, ns) in waiting.iter_mut().zip(&row.run.waiting_ns) {
            *sum += ns;
        }
    }
    waiting.into_iter().max().unwrap_or(0) as f64 / time.max(1) as f64
}

fn because(run: &Run, stretches: &[(u64, u64)], how: &str) -> String {
    let inside = |row: &IntervalRow| {
        stretches
            .iter()
            .any(|(from, to)| row.span.from_ns >= *from && row.span.to_ns <= *to)
    };
    let rows: Vec<IntervalRow> = run.totals.rows.iter().filter(inside).collect();
    let time: u64 = rows.iter().map(|row| row.host_length_ns()).sum();
    let share = |ns: u64| (ns as f64 / time.max(1) as f64).min(1.0);
    let steal = share(
        rows.iter()
            .map(|row| row.steal_ns.iter().max().copied().unwrap_or(0))
            .sum(),
    );
    let throttled = share(rows.iter().map(|row| row.throttled_ns).sum());
    let waiting = most_waiting(rows.iter());
    let stall = rows.iter().map(|row| row.run.stall_ns).max().unwrap_or(0);
    let cause = if busiest(rows.iter()) > BUSY {
        "generator CPU-bound".to_owned()
    } else if throttled > STEAL {
        format!(
            "generator throttled by its control group ({} of the time)",
            units::share(throttled)
        )
    } else if steal > STEAL {
        format!(
            "the hypervisor used {} of the CPU time",
            units::share(steal)
        )
    } else if waiting > CROWDED {
        format!(
            "the generator's workers waited for a CPU for {} of the time",
            units::share(waiting.min(1.0))
        )
    } else if stall > LATE_NS {
        format!(
            "generator was held up and had no CPU for up to {}",
            units::time(stall)
        )
    } else {
        format!("generator {how}")
    };
    format!("{cause}{}", ranges(stretches))
}

fn ranges(stretches: &[(u64, u64)]) -> String {
    const SHOWN: usize = 3;
    let seconds = |ns: u64| ns as f64 / 1e9;
    let text = |(from, to): &(u64, u64)| format!("{:.1}-{:.1}", seconds(*from), seconds(*to));
    let rendered: Vec<String> = stretches.iter().take(SHOWN).map(text).collect();
    match stretches.len() {
        0 => String::new(),
        n if n > SHOWN => format!(
            " at {} s and {} more",
            rendered.join(", "),
            units::times((n - SHOWN) as u64)
        ),
        _ => format!(" at {} s", rendered.join(", ")),
    }
}

/// Returns the relative deviation from Little's law, |sampled − rate × time| / sampled. `sampled`
/// is the mean number of requests in flight, and time is wait plus service time. `None` if the
/// samples add up to fewer than `SEEN` requests.
fn littles_law(run: &Run) -> Option<f64> {
    let (mut sum, mut samples, mut elapsed) = (0u64, 0u64, 0u64);
    for row in run.totals.rows.iter() {
        sum += row.run.in_flight.sum;
        samples += row.run.in_flight.samples;
        elapsed += row.span.to_ns - row.span.from_ns;
    }
    if sum < SEEN {
        return None;
    }
    let sampled = sum as f64 / samples as f64;
    let all = run.totals.label(label::ALL);
    let total = |kind| {
        measure::OutcomeClass::ALL
            .into_iter()
            .filter_map(|outcome| all.slot.histogram(kind, outcome))
            .map(measure::Histogram::sum)
            .sum::<u128>()
    };
    let expected =
        (total(TimeKind::Wait) + total(TimeKind::Service)) as f64 / elapsed.max(1) as f64;
    Some((sampled - expected).abs() / sampled)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decisive_ms(count: u64, late: u64) -> u64 {
        let mut times = Histogram::default();
        times.record_n(10_000, count - late);
        times.record_n(50_000_000, late);
        decisive(&times).unwrap() / 1_000_000
    }

    #[test]
    fn one_late_arrival_of_a_short_stage_decides_nothing() {
        assert_eq!(decisive_ms(75, 1), 0);
        assert!(decisive_ms(75, 2) >= 49);
        assert_eq!(decisive_ms(3, 1), 0);
        assert!(decisive_ms(3, 2) >= 49);
        assert!(decisive_ms(1, 1) >= 49);
    }

    #[test]
    fn a_long_stage_is_judged_by_its_99th_percentile() {
        for count in [250, 1_000, 100_000] {
            assert_eq!(decisive_ms(count, count / 100), 0, "{count}");
            assert!(decisive_ms(count, count / 100 + 1) >= 49, "{count}");
        }
    }
}
