//! Rules for conclusions. Each rule reads the summary and returns at most one conclusion.

use measure::TimeKind;

use super::{
    decided,
    overload::{self, FEW_ERRORS, Overloaded, falls_behind, lags, peak},
    slowest::slowest,
    steady::{self, steady},
};
use crate::{
    saturation,
    summary::{Conclusion, Figure, PeakRecovery, Stats, Summary, Tone},
};
use record::{Model, units};

type Rule = fn(&Summary) -> Option<Conclusion>;

pub(super) const ALL: [Rule; 14] = [
    decided::stopped,
    decided::failed,
    nothing,
    generator,
    overload,
    saturated,
    errors,
    healthy,
    steady,
    load_trend,
    recovery,
    slowest,
    not_sent,
    busy_machine,
];

/// Share of failed requests at which conclusions no longer attribute limits to the server.
const MOSTLY_FAILED: f64 = 0.5;

fn headline_path(summary: &Summary, figure: &str) -> String {
    match summary.headline() {
        TimeKind::Response => format!("all.response.{figure}"),
        _ => format!("all.service.{figure}"),
    }
}

fn error_share(summary: &Summary) -> f64 {
    summary.all.error_share.unwrap_or(0.0)
}

fn phase_name<'a>(summary: &'a Summary, peak: &PeakRecovery) -> &'a str {
    let phase = summary.phases.get(peak.phase);
    phase.map_or("", |phase| phase.name.as_str())
}

fn nothing(summary: &Summary) -> Option<Conclusion> {
    (summary.requests.issued == 0).then(|| {
        let text = match summary.run.record_ends_ns {
            Some(_) => "The record contains no requests, so no conclusions are possible.",
            None => "No requests were sent, so no conclusions are possible.",
        };
        Conclusion::new("nothing", Tone::Bad, text.into(), &["requests.issued"])
    })
}

fn generator(summary: &Summary) -> Option<Conclusion> {
    let m = summary.measurement.as_ref()?;
    let reasons = m.reasons.join("; ");
    match m.verdict.as_str() {
        "INVALID" => {
            // The verdict's sentence states the reasons.
            let stand = summary.criteria.iter();
            let stand = stand
                .filter(|judged| judged.is_robust == Some(true))
                .count();
            let of_server = match stand {
                0 => format!(
                    "the latencies of {} requests do not describe the server",
                    units::count(summary.all.count)
                ),
                n => format!(
                    "the results of {n} of {} criteria do not depend on generator errors",
                    summary.criteria.len()
                ),
            };
            let subject = if error_share(summary) >= MOSTLY_FAILED {
                "The measurement is INVALID"
            } else {
                "The load generator, not the server, was the limit"
            };
            Some(Conclusion::new(
                "generator",
                Tone::Bad,
                format!("{subject}: {of_server}."),
                &["all.count"],
            ))
        }
        // Fewer requests were sent than planned, although the load generator reached no limit.
        "DEGRADED" if !summary.lost.is_empty() => Some(Conclusion::new(
            "generator",
            Tone::Bad,
            format!(
                "For part of the run, the load was lower than planned: {reasons}. Latencies from that time were measured under a lower load. Criteria exclude that time."
            ),
            &["measurement.reasons"],
        )),
        // If most requests were refused, the load generator's capacity is unknown.
        "DEGRADED" if error_share(summary) < FEW_ERRORS => Some(Conclusion::new(
            "generator",
            Tone::Bad,
            format!(
                "The load generator was the limit ({reasons}): the server can handle {} requests/s or more.",
                units::rate(summary.all.per_second)
            ),
            &["measurement.reasons", "all.per_second"],
        )),
        "DEGRADED" => Some(Conclusion::new(
            "generator",
            Tone::Bad,
            format!("The load generator was the limit ({reasons})."),
            &["measurement.reasons"],
        )),
        _ => None,
    }
}

fn overload(summary: &Summary) -> Option<Conclusion> {
    let trend = match falls_behind(summary)? {
        Overloaded::LoadControl(trend) => trend,
        Overloaded::Backlog(steady) => {
            let text = steady.sentence.clone();
            let figures = [
                "steady.arrived_per_second",
                "steady.answered_per_second",
                "steady.backlog_per_second",
            ];
            return Some(Conclusion::new("overload", Tone::Bad, text, &figures));
        }
        Overloaded::Peak(peak) => {
            let text = format!(
                "The server did not keep up with the peak (phase {}): {} requests/s sent, {}/s answered; {} in flight at the end of the phase.",
                phase_name(summary, peak),
                units::rate(peak.issued_per_second),
                units::rate(peak.answered_per_second),
                units::count(peak.in_flight),
            );
            let figures = [
                "recovery.peak.issued_per_second",
                "recovery.peak.answered_per_second",
                "recovery.peak.in_flight",
            ];
            return Some(Conclusion::new("overload", Tone::Bad, text, &figures));
        }
    };
    let (first, last) = (&trend.first, &trend.last);
    let (before, after) = (first.in_flight?, last.in_flight?);
    let verb = if after > before { "grew" } else { "went" };
    let none = overload::overloaded(summary).map_or("", |_| " No steady state was reached.");
    Some(Conclusion::new(
        "overload",
        Tone::Bad,
        format!(
            "The server did not keep up. With {} arrivals/s due, requests in flight {verb} from {} in the first quarter of the load to {} in the last; at best {}/s were answered as expected.{none}",
            units::rate(last.due_per_second),
            units::rate(before),
            units::rate(after),
            units::rate(trend.best.ok_per_second),
        ),
        &[
            "trend.last.due_per_second",
            "trend.first.in_flight",
            "trend.last.in_flight",
            "trend.best.ok_per_second",
        ],
    ))
}

/// Reports every limit that was reached. Reports an unknown bottleneck only if the server fell
/// behind.
fn saturated(summary: &Summary) -> Option<Conclusion> {
    let saturation = summary.saturation.as_ref()?;
    if saturation.reached.is_empty() && falls_behind(summary).is_none() {
        return None;
    }
    let figures = saturation.first.map(|place| {
        let of = |figure: &str| format!("saturation.reached.{place}.{figure}");
        [of("at_ns"), of("issued_per_second")]
    });
    let figures: Vec<&str> = figures.iter().flatten().map(String::as_str).collect();
    let tone = if saturation.reached.is_empty() {
        Tone::Neutral
    } else {
        Tone::Bad
    };
    Some(Conclusion::new(
        "saturation",
        tone,
        saturation.sentence.clone(),
        &figures,
    ))
}

fn errors(summary: &Summary) -> Option<Conclusion> {
    let share = error_share(summary);
    let first = summary.errors.first()?;
    if share < FEW_ERRORS {
        return None;
    }
    let text = |id| {
        let row = summary.labels.iter().find(|row| row.id == id);
        row.map(|row| row.text.as_str())
    };
    let under = match first.labels.as_slice() {
        [] => String::new(),
        [one] => text(*one).map_or_else(String::new, |text| format!(", all under {text}")),
        many if many.contains(&measure::label::OTHER) => {
            format!(", at {} endpoints or more", many.len())
        }
        many => format!(", at {} endpoints", many.len()),
    };
    Some(Conclusion::new(
        "errors",
        Tone::Bad,
        format!(
            "{} of {} requests failed ({}): most often {}, {}{under}.",
            units::count(summary.all.errors),
            units::count(summary.all.count),
            units::share(share),
            first.reason,
            units::times(first.count),
        ),
        &[
            "all.errors",
            "all.count",
            "all.error_share",
            "errors.0.count",
        ],
    ))
}

fn healthy(summary: &Summary) -> Option<Conclusion> {
    let ok = summary.requests.ok;
    if summary.is_generators()
        || falls_behind(summary).is_some()
        || peak(summary).is_some_and(|peak| peak.slow_until_end)
        || error_share(summary) >= FEW_ERRORS
        || ok == 0
    {
        return None;
    }
    let name = summary.headline_name();
    let stats = summary.headline_stats()?;
    // A service that slows down under constant load does not keep up.
    let keeps_up = keeps_up(summary) && !steady::gets_worse(summary);
    let errors = summary.all.errors;
    let wrong = if errors == 0 {
        "0 failed".to_owned()
    } else {
        format!("{} failed", units::count(errors))
    };
    let (percentile, figure) = highest(stats)?;
    Some(Conclusion::new(
        "healthy",
        Tone::Good,
        format!(
            "{}{} requests were answered as expected, {wrong}, at {}/s; the {percentile} of the {name} was {figure}.",
            if keeps_up { "The server kept up: " } else { "" },
            units::count(ok),
            units::rate(summary.all.per_second),
        ),
        &[
            "requests.ok",
            "all.errors",
            "all.per_second",
            &headline_path(
                summary,
                if percentile.starts_with('p') {
                    percentile
                } else {
                    "max"
                },
            ),
        ],
    ))
}

/// Returns whether the server certainly keeps up. Requires an open model, the full load, and a long
/// enough run.
fn keeps_up(summary: &Summary) -> bool {
    let skipped = summary.arrivals.as_ref().map_or(0, |a| a.skipped);
    let drained = (summary.recovery.as_ref()).is_none_or(|recovery| recovery.after_load.is_none());
    // A closed loop sends only as fast as it receives responses.
    let followed = summary.trend.as_ref().map(|trend| !lags(&trend.last));
    summary.run.model == Model::Open && skipped == 0 && followed.unwrap_or(drained)
}

pub(super) fn highest(stats: &Stats) -> Option<(&'static str, Figure)> {
    let given = [
        ("p99", stats.p99),
        ("p95", stats.p95),
        ("p90", stats.p90),
        ("p50", stats.p50),
    ];
    let best = given
        .into_iter()
        .find(|(_, figure)| !figure.too_few && !figure.unreported);
    best.or_else(|| (!stats.max.unreported).then_some(("largest value", stats.max)))
}

/// Compares the headline time of the first and last quarters of the load. Omits the comparison if a
/// planned peak with recovery explains the difference.
fn load_trend(summary: &Summary) -> Option<Conclusion> {
    let trend = summary.trend.as_ref()?;
    let (before, after) = (trend.first.p95?.ns?, trend.last.p95?.ns?);
    if summary.is_generators() || before == 0 {
        return None;
    }
    let name = summary.headline_name();
    let factor = after as f64 / before as f64;
    // The last quarter may overlap with the peak or its aftermath.
    let recovered = peak(summary).is_some_and(|peak| {
        let settled = peak.settled_ns.map(|ns| peak.end_ns + ns);
        settled.is_some_and(|at_ns| trend.last.from_ns < at_ns)
    });
    // The steady-state rule already reports a change under constant load.
    let is_told = summary.phases.len() <= 1 && steady::has_changed(summary);
    let (verb, tone) = match factor {
        _ if is_told => return None,
        f if f > 1.5 && recovered => return None,
        f if f > 1.5 => ("rose", Tone::Bad),
        f if f < 1.0 / 1.5 => ("fell", Tone::Neutral),
        _ if error_share(summary) >= FEW_ERRORS || falls_behind(summary).is_some() => return None,
        _ if steady::has_changed(summary) => return None,
        _ => ("stayed about the same", Tone::Good),
    };
    Some(Conclusion::new(
        "trend",
        tone,
        format!(
            "From the first quarter of the load to the last, p95 of the {name} {verb}: {} at {} requests/s, {} at {}.",
            units::time(before),
            units::rate(trend.first.issued_per_second),
            units::time(after),
            units::rate(trend.last.issued_per_second),
        ),
        &[
            "trend.first.p95",
            "trend.first.issued_per_second",
            "trend.last.p95",
            "trend.last.issued_per_second",
        ],
    ))
}

/// Reports how long responses stayed slow after a peak.
fn recovery(summary: &Summary) -> Option<Conclusion> {
    let peak = peak(summary).filter(|_| !summary.is_generators())?;
    let (name, before) = (phase_name(summary, peak), peak.before);
    let bound = units::time(peak.bound_ns);
    let (tone, text) = match peak.settled_ns {
        Some(0) => return None,
        None if !peak.slow_until_end => return None,
        Some(ns) => (
            Tone::Neutral,
            format!(
                "After the peak (phase {name}), responses returned to normal after {} and stayed so for 10 s: p95 was at most {bound} ({before} in the phase before the peak), and there were no more errors than before the peak.",
                units::time(ns)
            ),
        ),
        None => {
            let within = units::time(peak.observed_ns);
            let metastable = if peak.is_metastable {
                " The load after the peak was no higher than before it. The overload sustains itself (a metastable state)."
            } else {
                ""
            };
            (
                Tone::Bad,
                format!(
                    "After the peak (phase {name}) the server did not recover within {within}. Until the load ended, p95 was above {bound} ({before} in the phase before the peak) or errors were more frequent.{metastable}"
                ),
            )
        }
    };
    let within = match peak.settled_ns {
        Some(_) => "recovery.peak.settled_ns",
        None => "recovery.peak.observed_ns",
    };
    let figures = [within, "recovery.peak.bound_ns", "recovery.peak.before"];
    Some(Conclusion::new("recovery", tone, text, &figures))
}

fn not_sent(summary: &Summary) -> Option<Conclusion> {
    let arrivals = summary.arrivals.as_ref().filter(|a| a.skipped > 0)?;
    let planned = arrivals.planned?;
    let word = if arrivals.until_stop {
        "due"
    } else {
        "planned"
    };
    Some(Conclusion::new(
        "skipped",
        Tone::Bad,
        format!(
            "{} of {} {word} arrivals were skipped because of the plan's limit on virtual users: the load was lower than planned.",
            units::count(arrivals.skipped),
            units::count(planned),
        ),
        &["arrivals.skipped", "arrivals.planned"],
    ))
}

/// Reports that the load generator's machine had no CPU to spare. Even with a valid measurement,
/// this matters because it also affects a service on the same machine.
fn busy_machine(summary: &Summary) -> Option<Conclusion> {
    let busy = summary.busy_generator?;
    let second = |ns| units::duration(saturation::to_second(ns));
    Some(Conclusion::new(
        "machine",
        Tone::Bad,
        format!(
            "The CPU of the load generator's machine was fully used for {}, first at {}. Programs on it, including a service that runs there, may have slowed each other down. Run the generator on a separate machine, or send less.",
            second(busy.held_ns),
            second(busy.at_ns)
        ),
        &["busy_generator.held_ns", "busy_generator.at_ns"],
    ))
}
