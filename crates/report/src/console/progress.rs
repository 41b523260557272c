//! The progress line about the most recent second.

use measure::{Interval, TimeKind, TimeSpan, label, summary::KindTimes, summary::Quantile};

use record::units::{count, duration, rate, time};

/// Formats the elapsed and the total time, and the rate, percentiles, requests in flight and errors
/// of the most recent second. After the load, shows what the run is waiting for.
#[must_use]
pub fn progress_line(interval: &Interval, load_end_ns: u64, errors_so_far: u64) -> String {
    let all = interval.label(label::ALL);
    let TimeSpan {
        from_ns: from,
        to_ns: to,
    } = interval.span;
    let ended = all.counters.ended();
    let per_second = if to > from {
        ended as f64 * 1e9 / (to - from) as f64
    } else {
        0.0
    };
    let times = KindTimes::from_slot(&all, TimeKind::Response);
    let render = |q: f64| match times.quantile(q) {
        Quantile::Empty => "-".to_owned(),
        Quantile::Ns(ns) => time(ns),
        Quantile::NoAnswer(_) => "no answer".to_owned(),
    };
    let seconds = |ns: u64| (ns + 500_000_000) / 1_000_000_000;
    let whole = |ns: u64| duration(seconds(ns) * 1_000_000_000);
    if load_end_ns > 0 && seconds(to) > seconds(load_end_ns) {
        return format!(
            "{}, after the load of {}: waiting for {} in flight, {} errors",
            whole(to),
            whole(load_end_ns),
            count(interval.run.in_flight.last),
            count(errors_so_far)
        );
    }
    let total = if load_end_ns > 0 {
        format!(" of {}", whole(load_end_ns))
    } else {
        String::new()
    };
    format!(
        "{}{total}: {} requests/s, p50 {}, p99 {}, {} in flight, {} errors",
        whole(to),
        rate(per_second),
        render(0.5),
        render(0.99),
        count(interval.run.in_flight.last),
        count(errors_so_far)
    )
}
