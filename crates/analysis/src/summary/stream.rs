//! Figures of streamed responses: time to first token, gaps, tokens and goodput.

use measure::{TimeKind, stream::StreamCounts};
use plan::criteria::{GoodputBound, SpanFilter, goodputs, parse_criterion};
use record::{LabelTotals, Run, units};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::figures::{ArrivalLedger, Figure, Sampled, Stats, per_second, share_of};

/// The streamed responses of a row. In the times of whole responses, incomplete streams rank above
/// all others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamRow {
    /// Finished requests for which the plan expects a streamed response.
    pub requests: u64,
    /// Finished requests whose stream was complete.
    pub complete: u64,
    /// Time from the intended start to the first event.
    pub first_event: Option<Stats>,
    /// Time from the first byte written to the first event.
    pub first_event_service: Option<Stats>,
    /// Time from the intended start to the first event with content: the time to first token
    /// (TTFT).
    pub ttft: Option<Stats>,
    /// Time from the first byte written to the first event with content.
    pub ttft_service: Option<Stats>,
    /// Time between two events with content. All streams count together, so long streams have more
    /// influence.
    pub gap: Option<Stats>,
    /// Mean time per token after the first token of a stream.
    pub per_token: Option<Stats>,
    /// Number of events except pings.
    pub events: u64,
    /// Number of events with content.
    pub chunks: u64,
    /// Number of output tokens: the reported ones, and the events with content of streams without a
    /// reported number.
    pub tokens: u64,
    /// Complete streams for which the server reported the number of tokens.
    pub reporting: u64,
    /// Part of `tokens` that counts events with content, because their streams are incomplete or
    /// their servers reported no number.
    pub unreported_tokens: u64,
    /// `tokens` divided by the run's elapsed time in seconds.
    pub tokens_per_second: f64,
    /// Share of the events with content that were the only one in a read. The others have no time
    /// between them. `None` if there were no events with content.
    pub alone_share: Option<f64>,
}

impl StreamRow {
    /// Returns the statistics of a time. `None` if there are none.
    #[must_use]
    pub fn time(&self, span: SpanFilter) -> Option<&Stats> {
        match span {
            SpanFilter::FirstEvent => self.first_event.as_ref(),
            SpanFilter::Ttft => self.ttft.as_ref(),
            SpanFilter::Gap => self.gap.as_ref(),
            SpanFilter::PerToken => self.per_token.as_ref(),
            _ => None,
        }
    }

    /// Returns a description of how tokens are counted.
    #[must_use]
    pub fn token_source(&self) -> &'static str {
        if self.unreported_tokens == self.tokens {
            "events with content"
        } else if self.unreported_tokens == 0 {
            "the server's usage figures"
        } else {
            "the server's usage figures, and events with content where it reported none"
        }
    }
}

/// The requests within the bounds of a goodput metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GoodputRow {
    /// Bounds, for example `ttft < 1s`.
    pub bounds: Vec<String>,
    /// Successful requests within all bounds.
    pub good: u64,
    /// Denominator of `share`: ended requests and unsent arrivals.
    pub of: u64,
    /// `good` as a share of `of`. `None` if `of` is 0.
    pub share: Option<f64>,
    /// `good` divided by the run's elapsed time in seconds.
    pub per_second: f64,
}

/// Returns the streaming figures of a row. `None` if it has no requests with a streamed response.
pub(super) fn row(
    part: &LabelTotals,
    stats: impl Fn(TimeKind) -> Option<Stats>,
    elapsed_ns: u64,
) -> Option<StreamRow> {
    let counts = part.slot.counters.stream;
    if counts == StreamCounts::default() {
        return None;
    }
    Some(StreamRow {
        requests: counts.requests,
        complete: counts.complete,
        first_event: stats(TimeKind::FirstEvent),
        first_event_service: stats(TimeKind::FirstEventService),
        ttft: stats(TimeKind::Ttft),
        ttft_service: stats(TimeKind::TtftService),
        gap: stats(TimeKind::Gap),
        per_token: stats(TimeKind::PerToken),
        events: counts.events,
        chunks: counts.chunks,
        tokens: counts.all_tokens(),
        reporting: counts.reporting,
        unreported_tokens: counts.unreported_chunks,
        tokens_per_second: per_second(counts.all_tokens(), elapsed_ns),
        alone_share: share_of(counts.alone, counts.chunks),
    })
}

/// Returns a row for each goodput metric in the criteria.
pub(super) fn goodput_rows(
    run: &Run,
    arrivals: Option<&ArrivalLedger>,
    elapsed_ns: u64,
) -> Vec<GoodputRow> {
    let unsent = arrivals.and_then(|arrivals| arrivals.unsent).unwrap_or(0);
    let all = run.totals.label(measure::label::ALL);
    let row = |(index, bounds): (usize, Vec<GoodputBound>)| {
        let Goodput { good, of } = Goodput::from_part(&all, &bounds, index);
        let of = of + unsent;
        GoodputRow {
            bounds: bounds.iter().map(GoodputBound::text).collect(),
            good,
            of,
            share: share_of(good, of),
            per_second: per_second(good, elapsed_ns),
        }
    };
    all_goodputs(run).into_iter().enumerate().map(row).collect()
}

/// Returns the bounds of all goodput metrics in a run's criteria. The record uses their indices.
pub(crate) fn all_goodputs(run: &Run) -> Vec<Vec<GoodputBound>> {
    let manifest = &run.manifest;
    let criteria = manifest.criteria.iter().chain(&manifest.unjudged_criteria);
    let criteria: Vec<_> = criteria
        .filter_map(|text| parse_criterion(text).ok())
        .collect();
    goodputs(&criteria)
}

/// The number of requests within bounds.
pub(crate) struct Goodput {
    pub good: u64,
    /// Finished requests that count in the denominator.
    pub of: u64,
}

impl Goodput {
    pub(crate) fn from_part(part: &LabelTotals, bounds: &[GoodputBound], index: usize) -> Goodput {
        let counters = &part.slot.counters;
        let of_index = |(known, _): &&(u16, u64)| usize::from(*known) == index;
        let good = counters.good.0.iter().find(of_index);
        let is_of_streams = bounds.iter().any(|bound| bound.span.is_of_streams());
        Goodput {
            good: good.map_or(0, |(_, n)| *n),
            of: if is_of_streams {
                counters.stream.requests
            } else {
                counters.ended()
            },
        }
    }
}

/// Share of events that arrive alone below which the report notes that events are bundled.
const ALONE: f64 = 0.9;
/// Maximum share of a gap that the load generator's own delay may have.
const OWN_DELAY: f64 = 0.05;

/// Returns the notes on the streams of all requests.
pub(super) fn notes(run: &Run, all: Option<&StreamRow>) -> Vec<String> {
    let Some(row) = all else { return Vec::new() };
    let mut notes = Vec::new();
    if let Some(share) = row.alone_share.filter(|share| *share < ALONE) {
        notes.push(format!(
            "only {} of the events with content arrived alone: the server or the network bundles \
            them, so gaps are between bundles",
            units::share(share)
        ));
    }
    let totals = run.totals.label(measure::label::ALL);
    let stall = Sampled::from_totals(&totals, TimeKind::Stall).quantile(0.99);
    let stall = stall.and_then(|figure: Figure| figure.ns);
    let gap = row.gap.as_ref().and_then(|gap| gap.p99.ns);
    if let (Some(stall), Some(gap)) = (stall, gap)
        && stall as f64 > OWN_DELAY * gap as f64
    {
        notes.push(format!(
            "gaps cannot be trusted: this machine read up to {} late (p99), and their p99 is {}",
            units::time(stall),
            units::time(gap)
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use measure::slot::KeyCounts;

    use super::*;

    fn bounds(span: SpanFilter) -> Vec<GoodputBound> {
        vec![GoodputBound {
            span,
            below_ns: 1_000_000_000,
        }]
    }

    #[test]
    fn goodput_of_streams_is_a_share_of_streaming_requests() {
        let mut part = LabelTotals::default();
        let counters = &mut part.slot.counters;
        (counters.ok, counters.failed) = (90, 10);
        counters.stream.requests = 40;
        counters.good = KeyCounts(vec![(0, 30), (1, 80)]);
        let of = |span, index| {
            let Goodput { good, of } = Goodput::from_part(&part, &bounds(span), index);
            (good, of)
        };
        assert_eq!(of(SpanFilter::Ttft, 0), (30, 40));
        assert_eq!(of(SpanFilter::Response, 1), (80, 100));
        assert_eq!(of(SpanFilter::Response, 2), (0, 100));
    }

    #[test]
    fn token_source_is_named() {
        let row = |tokens, unreported_chunks| {
            let mut part = LabelTotals::default();
            part.slot.counters.stream = StreamCounts {
                requests: 5,
                complete: 4,
                reporting: 4,
                tokens,
                unreported_chunks,
                ..StreamCounts::default()
            };
            row(&part, |_| None, 2_000_000_000).unwrap()
        };
        assert_eq!(row(0, 20).token_source(), "events with content");
        assert_eq!(row(100, 0).token_source(), "the server's usage figures");
        // All complete streams reported a number, and an incomplete stream did not.
        assert!(row(100, 20).token_source().contains("and events"));
        let row = row(100, 20);
        assert_eq!((row.tokens, row.tokens_per_second), (120, 60.0));
    }
}
