//! Detection of overload: responses fell behind requests.

use record::Model;

use crate::{
    steady::piles_up,
    summary::{Behaviour, PeakRecovery, Steady, Summary, Trend, TrendSpan},
};

/// Minimum share of failed requests for which conclusions mention errors.
pub(super) const FEW_ERRORS: f64 = 0.01;
/// A server keeps up if its response rate is below the request rate by at most this share.
const LAGS: f64 = 0.05;
const PILE: f64 = 10.0;
const SAME_LOAD: f64 = 0.2;

/// Returns the steady-state result, unless the load generator distorted it.
pub(super) fn found(summary: &Summary) -> Option<&Steady> {
    let steady = summary.steady.as_ref();
    steady.filter(|_| !summary.is_generators())
}

pub(super) fn overloaded(summary: &Summary) -> Option<&Steady> {
    found(summary).filter(|steady| steady.behaviour == Behaviour::Overload)
}

pub(super) enum Overloaded<'a> {
    /// Overload in the phase with the highest load.
    Peak(&'a PeakRecovery),
    LoadControl(&'a Trend),
    Backlog(&'a Steady),
}

pub(super) fn falls_behind(summary: &Summary) -> Option<Overloaded<'_>> {
    let has_arrivals = matches!(summary.run.model, Model::Open | Model::Mixed);
    if !has_arrivals || summary.is_generators() {
        return None;
    }
    if let Some(peak) = peak(summary) {
        let lags = peak.answered_per_second < peak.issued_per_second * (1.0 - LAGS);
        // Some requests are always in flight, even if all responses are fast.
        if lags && peak.in_flight as f64 > PILE && peak.settled_ns != Some(0) {
            return Some(Overloaded::Peak(peak));
        }
    }
    course_falls_behind(summary)
        .map(Overloaded::LoadControl)
        .or_else(|| Some(Overloaded::Backlog(overloaded(summary)?)))
}

pub(super) fn is_behind(summary: &Summary) -> bool {
    falls_behind(summary).is_some()
}

fn course_falls_behind(summary: &Summary) -> Option<&Trend> {
    let trend = summary.trend.as_ref()?;
    let (first, last) = (&trend.first, &trend.last);
    let (before, after) = (first.in_flight?, last.in_flight?);
    let same_load = (last.due_per_second - first.due_per_second).abs()
        <= first.due_per_second.max(1.0) * SAME_LOAD;
    let grew = piles_up(before, after);
    // Compare responses with requests instead of arrivals, because one arrival may send several
    // requests.
    let lags = lags(last);
    let same_requests = last.issued_per_second <= first.issued_per_second * (1.0 + SAME_LOAD);
    ((grew && ((same_load && same_requests) || gave_up(summary))) || (lags && gave_up(summary)))
        .then_some(trend)
}

/// Returns whether responses fell behind requests, and requests piled up. While the load rises, a
/// slow service lags without being overloaded.
pub(super) fn lags(span: &TrendSpan) -> bool {
    let behind = span.ok_per_second < span.issued_per_second * (1.0 - LAGS);
    behind && span.in_flight.is_some_and(|in_flight| in_flight > PILE)
}

fn gave_up(summary: &Summary) -> bool {
    let none = &summary.all.unanswered;
    let n: u64 = ["timeout", "unfinished"]
        .iter()
        .filter_map(|class| none.get(*class))
        .sum();
    n as f64 >= summary.all.count as f64 * FEW_ERRORS && n > 0
}

pub(super) fn peak(summary: &Summary) -> Option<&PeakRecovery> {
    summary.recovery.as_ref()?.peak.as_ref()
}
