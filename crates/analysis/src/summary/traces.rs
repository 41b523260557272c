//! Traced requests in the summary: their number, and the slowest ones of each label.

use std::collections::BTreeMap;

use measure::{LabelId, Status, trace_context::KEPT};
use plan::TraceContext;
use record::{Run, TraceIds, TracedRequest, units};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::figures::share_of;

/// The requests that carried a trace context.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Traces {
    /// Which requests carry a trace context: `all requests`, or a description of the part.
    pub sampling: String,
    /// Number of finished requests that carried a trace context.
    pub requests: u64,
    /// Share of all finished requests. `None` if no request finished.
    pub share: Option<f64>,
    /// The requests with the longest response times, at most 20 of each label, by label and with
    /// the slowest first.
    pub slowest: Vec<SlowRequest>,
    /// Sentence about the effect of tracing on the measurement.
    pub sentence: String,
}

/// A traced request that is one of the slowest of its label. Times are in nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SlowRequest {
    /// ID of the label.
    pub label: LabelId,
    /// Name of the label.
    pub text: String,
    /// Trace and span IDs of the request.
    #[serde(flatten)]
    pub ids: TraceIds,
    /// URL of the trace. `None` if the plan has no URL for traces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Time from the intended start to the last byte of the response, or until the request was
    /// abandoned.
    pub response_ns: u64,
    /// Time from the first byte written to the last byte of the response. `None` if nothing was
    /// written.
    pub service_ns: Option<u64>,
    /// Intended start, in nanoseconds from the start of the run.
    pub intended_ns: u64,
    /// Status of the response: an HTTP code, or a text. `None` if there was no response.
    #[schemars(with = "serde_json::Value")]
    pub status: Option<Status>,
    /// Reason under which the request counts as an error. `None` if it succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl SlowRequest {
    /// Returns the status or the reason of the error.
    #[must_use]
    pub fn outcome(&self) -> String {
        match (&self.reason, self.status) {
            (Some(reason), _) => reason.clone(),
            (None, Some(status)) => status.to_string(),
            (None, None) => "–".to_owned(),
        }
    }
}

impl Traces {
    /// Returns at most `of_label` slowest requests of each label, and at most `all` together,
    /// starting with the slowest of every label.
    #[must_use]
    pub fn most_useful(&self, of_label: usize, all: usize) -> Vec<&SlowRequest> {
        let mut rank = BTreeMap::new();
        let ranked = self.slowest.iter().map(|one| {
            let rank = rank.entry(one.label).or_insert(0_usize);
            *rank += 1;
            (*rank - 1, one)
        });
        let mut chosen: Vec<(usize, &SlowRequest)> =
            ranked.filter(|(rank, _)| *rank < of_label).collect();
        chosen.sort_by_key(|(rank, one)| (*rank, std::cmp::Reverse(one.response_ns)));
        chosen.truncate(all);
        chosen.sort_by_key(|(_, one)| std::cmp::Reverse(one.response_ns));
        chosen.into_iter().map(|(_, one)| one).collect()
    }
}

/// Maximum number of rows per label, and of all rows, during a run.
const SHOWN_LIVE: [usize; 2] = [5, 100];

/// Returns the traced requests of a run. `None` if no request could carry a trace context.
pub(super) fn row(run: &Run, finished: u64) -> Option<Traces> {
    let context = run.manifest.trace_context.as_ref()?;
    let requests = run.totals.rows.traced;
    let mut by_label: BTreeMap<LabelId, Vec<&TracedRequest>> = BTreeMap::new();
    for request in run.events.iter().filter_map(|event| event.request.as_ref()) {
        by_label.entry(request.label).or_default().push(request);
    }
    let slow = |one: &TracedRequest| SlowRequest {
        label: one.label,
        text: run
            .label(one.label)
            .map_or_else(|| one.label.to_string(), |label| label.text.clone()),
        url: run
            .manifest
            .trace_url
            .as_ref()
            .map(|url| TraceContext::link(url, &one.ids.trace_id, &one.ids.span_id)),
        ids: one.ids.clone(),
        response_ns: one.response_ns(),
        service_ns: one
            .first_write_ns
            .map(|write_ns| one.done_ns.saturating_sub(write_ns)),
        intended_ns: one.intended_ns,
        status: one.status,
        reason: one.reason.clone(),
    };
    let mut slowest = Vec::new();
    for (_, mut requests) in by_label {
        requests.sort_by_key(|one| (std::cmp::Reverse(one.response_ns()), &one.ids.span_id));
        requests.dedup_by_key(|one| &one.ids.span_id);
        slowest.extend(requests.into_iter().take(KEPT).map(slow));
    }
    let share = share_of(requests, finished);
    let traces = Traces {
        sampling: context.sampling.to_string(),
        requests,
        share,
        slowest,
        sentence: sentence(requests, share, context.asks_to_record),
    };
    if !run.live {
        return Some(traces);
    }
    // A live page receives the summary every second.
    let shown = traces.most_useful(SHOWN_LIVE[0], SHOWN_LIVE[1]);
    let slowest = shown.into_iter().cloned().collect();
    Some(Traces { slowest, ..traces })
}

fn sentence(requests: u64, share: Option<f64>, asks_to_record: bool) -> String {
    let who = match requests {
        0 => return "No request carried a trace context.".to_owned(),
        1 => "1 request".to_owned(),
        n => format!("{} requests", units::count(n)),
    };
    let share = share.map_or_else(String::new, |share| {
        format!(" ({} of all finished requests)", units::share(share))
    });
    let meaning = if asks_to_record {
        "that asks the service to record them, which costs the service time"
    } else {
        "and the service decides which ones it records"
    };
    format!("{who}{share} carried a trace context {meaning}.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentence_fits_the_number_and_the_flag() {
        assert_eq!(
            sentence(0, None, true),
            "No request carried a trace context."
        );
        assert_eq!(
            sentence(1, Some(0.5), false),
            "1 request (50.0 % of all finished requests) carried a trace context and the service \
             decides which ones it records."
        );
        assert!(sentence(2000, Some(1.0), true).starts_with("2,000 requests (100 % of all"));
    }
}
