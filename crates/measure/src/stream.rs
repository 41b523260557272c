//! Counts, times and faults of streamed responses.

use serde::{Deserialize, Serialize};

use crate::{
    Histogram, LabelId, OutcomeClass, Recorder, TimeKind, is_zero,
    sample::{Intended, RequestOutcome},
};

/// Why a streamed response is incomplete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StreamFault {
    /// The response ended without the end marker of its format.
    NoEndMark,
    /// The connection was lost after the first event.
    Lost,
    /// The server reported an error in an event.
    ErrorEvent,
    /// An event is not valid JSON, although the format requires JSON.
    Malformed,
    /// A line or an event is too long.
    TooLong,
    /// The time limit between two events expired.
    Idle,
    /// The response is compressed, so the times of its events are unknown.
    Encoded,
}

impl StreamFault {
    /// All faults.
    pub const ALL: [StreamFault; 7] = [
        StreamFault::NoEndMark,
        StreamFault::Lost,
        StreamFault::ErrorEvent,
        StreamFault::Malformed,
        StreamFault::TooLong,
        StreamFault::Idle,
        StreamFault::Encoded,
    ];

    /// Returns the name in the record.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            StreamFault::NoEndMark => "stream_no_end_mark",
            StreamFault::Lost => "stream_lost",
            StreamFault::ErrorEvent => "stream_error_event",
            StreamFault::Malformed => "stream_malformed",
            StreamFault::TooLong => "stream_too_long",
            StreamFault::Idle => "stream_idle",
            StreamFault::Encoded => "stream_encoded",
        }
    }

    /// Returns a short text for users.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            StreamFault::NoEndMark => "stream incomplete: no end mark",
            StreamFault::Lost => "stream incomplete: connection lost",
            StreamFault::ErrorEvent => "stream incomplete: error event",
            StreamFault::Malformed => "stream incomplete: an event is not JSON",
            StreamFault::TooLong => "stream incomplete: an event is too long",
            StreamFault::Idle => "stream incomplete: no event for too long",
            StreamFault::Encoded => "stream not read: the response is compressed",
        }
    }
}

/// Counts of streamed responses. A record omits counts that are 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StreamCounts {
    /// Finished requests for which the plan expects a streamed response.
    #[serde(skip_serializing_if = "is_zero")]
    pub requests: u64,
    /// Finished requests whose stream was complete.
    #[serde(skip_serializing_if = "is_zero")]
    pub complete: u64,
    /// Complete streams for which the server reported the number of output tokens.
    #[serde(skip_serializing_if = "is_zero")]
    pub reporting: u64,
    /// Number of output tokens that servers reported.
    #[serde(skip_serializing_if = "is_zero")]
    pub tokens: u64,
    /// Events with content in streams without a reported number of tokens. They count instead of
    /// tokens.
    #[serde(skip_serializing_if = "is_zero")]
    pub unreported_chunks: u64,
    /// Events except pings.
    #[serde(skip_serializing_if = "is_zero")]
    pub events: u64,
    /// Events with content.
    #[serde(skip_serializing_if = "is_zero")]
    pub chunks: u64,
    /// Events with content that were the only one in a read.
    #[serde(skip_serializing_if = "is_zero")]
    pub alone: u64,
}

impl StreamCounts {
    /// Number of fields.
    pub const LEN: usize = 8;

    /// Adds other counts.
    pub fn add(&mut self, other: &StreamCounts) {
        let others = other.numbers();
        for (mine, n) in self.members().into_iter().zip(others) {
            *mine += n;
        }
    }

    /// Returns the fields in order.
    #[must_use]
    pub fn numbers(mut self) -> [u64; Self::LEN] {
        self.members().map(|member| *member)
    }

    /// Creates counts from the fields in order.
    #[must_use]
    pub fn from_numbers(numbers: [u64; Self::LEN]) -> StreamCounts {
        let mut counts = StreamCounts::default();
        for (member, n) in counts.members().into_iter().zip(numbers) {
            *member = n;
        }
        counts
    }

    fn members(&mut self) -> [&mut u64; Self::LEN] {
        [
            &mut self.requests,
            &mut self.complete,
            &mut self.reporting,
            &mut self.tokens,
            &mut self.unreported_chunks,
            &mut self.events,
            &mut self.chunks,
            &mut self.alone,
        ]
    }

    /// Returns whether nothing was counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == StreamCounts::default()
    }

    /// Returns the number of output tokens: the reported ones, and the events with content of
    /// streams that reported none.
    #[must_use]
    pub fn all_tokens(&self) -> u64 {
        self.tokens + self.unreported_chunks
    }
}

/// The events in one read of a streamed response.
#[derive(Debug, Clone, Copy, Default)]
pub struct StreamRead {
    /// Number of events except pings.
    pub events: u64,
    /// Number of events with content that came earlier in the same read.
    pub chunks_before: u64,
    /// Number of events with content. They arrived together, so no time between them was measured.
    pub chunks: u64,
    /// Time since the previous event with content, in nanoseconds. `None` for the first event.
    pub gap_ns: Option<u64>,
}

/// A finished request for which the plan expects a streamed response. Times are in nanoseconds from
/// the start of the run.
#[derive(Debug, Clone, Copy)]
pub struct StreamSample {
    /// Label of the request.
    pub label: LabelId,
    /// Intended start of the request.
    pub intended: Intended,
    /// When the first byte was written. `None` if nothing was written.
    pub first_write_ns: Option<u64>,
    /// When the first event was read.
    pub first_event_ns: Option<u64>,
    /// When the first event with content was read.
    pub first_token_ns: Option<u64>,
    /// When the last event with content was read.
    pub last_token_ns: Option<u64>,
    /// When the request ended.
    pub done_ns: u64,
    /// Result of the request.
    pub ended: RequestOutcome,
    /// Number of events with content.
    pub chunks: u64,
    /// Number of output tokens, if the server reported it.
    pub tokens: Option<u64>,
}

impl StreamSample {
    /// Returns whether the stream is complete. It may be complete although the request failed, for
    /// example because of a check.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        !matches!(self.ended, RequestOutcome::Unanswered(_)) && self.first_event_ns.is_some()
    }

    /// Returns the time from the intended start to the first event.
    #[must_use]
    pub fn first_event(&self) -> Option<u64> {
        self.first_event_ns.map(|ns| self.since_intended(ns))
    }

    /// Returns the time from the intended start to the first event with content.
    #[must_use]
    pub fn ttft(&self) -> Option<u64> {
        self.first_token_ns.map(|ns| self.since_intended(ns))
    }

    /// Returns the mean time per token after the first token. `None` if there are fewer than two
    /// tokens.
    #[must_use]
    pub fn per_token(&self) -> Option<u64> {
        let after_first = self.tokens.unwrap_or(self.chunks).checked_sub(1)?;
        let took = self.last_token_ns?.saturating_sub(self.first_token_ns?);
        took.checked_div(after_first)
    }

    fn since_intended(&self, ns: u64) -> u64 {
        ns.saturating_sub(self.intended.ns())
    }
}

impl Recorder {
    /// Records one read that contained complete events of a streamed response.
    pub fn stream_read(
        &mut self,
        now_ns: u64,
        label: LabelId,
        intended: Intended,
        read: StreamRead,
    ) {
        self.advance(now_ns);
        let slot = self.slot(label, intended.ns());
        let counts = &mut slot.counters.stream;
        counts.events += read.events;
        counts.chunks += read.chunks;
        match (read.chunks_before, read.chunks) {
            (0, 1) => counts.alone += 1,
            // The previous event counted as alone, but another event came in the same read.
            (1, 1..) => counts.alone = counts.alone.saturating_sub(1),
            _ => {}
        }
        if read.chunks == 0 {
            return;
        }
        let gaps: &mut Histogram<u32> = slot.histogram_mut(TimeKind::Gap, OutcomeClass::Ok);
        if let Some(ns) = read.gap_ns {
            gaps.record(ns);
        }
        if read.chunks > 1 {
            gaps.record_n(0, read.chunks - 1);
        }
    }

    /// Records the end of a streamed response. Times of an incomplete stream rank above all others.
    pub fn stream(&mut self, sample: &StreamSample) {
        self.advance(sample.done_ns);
        let waited = sample.since_intended(sample.done_ns);
        let served = sample
            .first_write_ns
            .map(|write| sample.done_ns.saturating_sub(write));
        let after_write = |ns: Option<u64>| Some(ns?.saturating_sub(sample.first_write_ns?));
        let times = [
            (TimeKind::FirstEvent, sample.first_event(), Some(waited)),
            (
                TimeKind::FirstEventService,
                after_write(sample.first_event_ns),
                served,
            ),
            (TimeKind::Ttft, sample.ttft(), Some(waited)),
            (
                TimeKind::TtftService,
                after_write(sample.first_token_ns),
                served,
            ),
        ];
        let is_complete = sample.is_complete();
        let outcome = sample.ended.outcome();
        let open_gap = sample.last_token_ns.filter(|_| !is_complete);
        let slot = self.slot(sample.label, sample.intended.ns());
        for (kind, time, until_end) in times {
            match (time.filter(|_| is_complete), until_end) {
                (Some(ns), _) => slot.record(kind, outcome, ns),
                (None, Some(ns)) => slot.record(kind, OutcomeClass::Unanswered, ns),
                (None, None) => {}
            }
        }
        if let Some(last) = open_gap {
            // The next event never came.
            let ns = sample.done_ns.saturating_sub(last);
            slot.record(TimeKind::Gap, OutcomeClass::Unanswered, ns);
        }
        match sample.per_token() {
            Some(ns) if is_complete => slot.record(TimeKind::PerToken, outcome, ns),
            _ if !is_complete => slot.record(TimeKind::PerToken, OutcomeClass::Unanswered, 0),
            _ => {}
        }
        let counts = &mut slot.counters.stream;
        counts.requests += 1;
        counts.complete += u64::from(is_complete);
        match sample.tokens {
            Some(tokens) => {
                counts.tokens += tokens;
                counts.reporting += u64::from(is_complete);
            }
            None => counts.unreported_chunks += sample.chunks,
        }
    }

    /// Counts a request that met all bounds of the goodput definition with this index.
    pub fn good(&mut self, now_ns: u64, label: LabelId, intended: Intended, index: u16) {
        self.advance(now_ns);
        self.slot(label, intended.ns())
            .counters
            .good
            .count(index, 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Fault, cuts::Cuts};

    const MS: u64 = 1_000_000;

    fn recorder() -> Recorder {
        Recorder::new(0, Cuts::new(0, &[]), 3, None)
    }

    fn sample() -> StreamSample {
        StreamSample {
            label: 2,
            intended: Intended::scheduled(10 * MS),
            first_write_ns: Some(14 * MS),
            first_event_ns: Some(20 * MS),
            first_token_ns: Some(30 * MS),
            last_token_ns: Some(70 * MS),
            done_ns: 71 * MS,
            ended: RequestOutcome::Ok,
            chunks: 5,
            tokens: Some(11),
        }
    }

    fn recorded(samples: &[StreamSample]) -> crate::Slot<u32> {
        let mut recorder = recorder();
        for sample in samples {
            recorder.stream(sample);
        }
        recorder.finish(100 * MS);
        let mut full = recorder.take_full();
        full.remove(0).slots.remove(0).1
    }

    fn only(slot: &crate::Slot<u32>, kind: TimeKind, outcome: OutcomeClass) -> Option<u64> {
        slot.histogram(kind, outcome).and_then(Histogram::max)
    }

    #[test]
    fn times_start_at_the_intended_start_or_at_the_first_byte() {
        let slot = recorded(&[sample()]);
        let ok = |kind| only(&slot, kind, OutcomeClass::Ok).unwrap();
        assert_eq!(ok(TimeKind::FirstEvent), 10 * MS);
        assert_eq!(ok(TimeKind::FirstEventService), 6 * MS);
        assert_eq!(ok(TimeKind::Ttft), 20 * MS);
        assert_eq!(ok(TimeKind::TtftService), 16 * MS);
        // Ten tokens follow the first one in 40 ms, whatever the number of events.
        assert_eq!(ok(TimeKind::PerToken), 4 * MS);
        let counts = slot.counters.stream;
        assert_eq!(
            (counts.requests, counts.complete, counts.reporting),
            (1, 1, 1)
        );
        assert_eq!((counts.tokens, counts.unreported_chunks), (11, 0));
    }

    #[test]
    fn without_usage_events_count_instead_of_tokens() {
        let slot = recorded(&[StreamSample {
            tokens: None,
            ..sample()
        }]);
        let counts = slot.counters.stream;
        assert_eq!(
            only(&slot, TimeKind::PerToken, OutcomeClass::Ok),
            Some(10 * MS)
        );
        assert_eq!((counts.tokens, counts.unreported_chunks), (0, 5));
        assert_eq!((counts.reporting, counts.all_tokens()), (0, 5));
    }

    #[test]
    fn incomplete_streams_rank_above_all_others() {
        let slot = recorded(&[StreamSample {
            ended: RequestOutcome::Unanswered(Fault::Stream(StreamFault::NoEndMark)),
            ..sample()
        }]);
        for kind in [TimeKind::FirstEvent, TimeKind::Ttft, TimeKind::PerToken] {
            assert_eq!(only(&slot, kind, OutcomeClass::Ok), None);
            assert!(only(&slot, kind, OutcomeClass::Unanswered).is_some());
        }
        assert_eq!(
            only(&slot, TimeKind::Ttft, OutcomeClass::Unanswered),
            Some(61 * MS)
        );
        assert_eq!(slot.counters.stream.complete, 0);
        let gap = only(&slot, TimeKind::Gap, OutcomeClass::Unanswered);
        assert_eq!(gap, Some(MS), "the gap that never ended");
    }

    #[test]
    fn events_of_one_read_have_no_time_between_them() {
        let mut recorder = recorder();
        let read = |chunks, gap_ns| StreamRead {
            events: chunks + 1,
            chunks_before: 0,
            chunks,
            gap_ns,
        };
        let intended = Intended::scheduled(0);
        recorder.stream_read(1, 2, intended, read(1, None));
        recorder.stream_read(2, 2, intended, read(3, Some(5 * MS)));
        recorder.stream_read(3, 2, intended, read(0, None));
        recorder.finish(MS);
        let slot = recorder.take_full().remove(0).slots.remove(0).1;
        let gaps = slot.histogram(TimeKind::Gap, OutcomeClass::Ok).unwrap();
        assert_eq!(
            (gaps.count(), gaps.min(), gaps.max()),
            (3, Some(0), Some(5 * MS))
        );
        let counts = slot.counters.stream;
        assert_eq!((counts.events, counts.chunks, counts.alone), (7, 4, 1));
    }

    #[test]
    fn parts_of_a_read_count_together() {
        let mut recorder = recorder();
        let part = |chunks_before, chunks| StreamRead {
            events: chunks,
            chunks_before,
            chunks,
            gap_ns: None,
        };
        let intended = Intended::scheduled(0);
        recorder.stream_read(1, 2, intended, part(0, 1));
        recorder.stream_read(2, 2, intended, part(0, 1));
        recorder.stream_read(2, 2, intended, part(1, 1));
        recorder.stream_read(2, 2, intended, part(2, 1));
        recorder.finish(MS);
        let slot = recorder.take_full().remove(0).slots.remove(0).1;
        assert_eq!(
            (slot.counters.stream.chunks, slot.counters.stream.alone),
            (4, 1)
        );
    }

    #[test]
    fn counts_are_added_member_by_member() {
        let mut counts = StreamCounts::from_numbers([1, 2, 3, 4, 5, 6, 7, 8]);
        counts.add(&StreamCounts::from_numbers([
            10, 20, 30, 40, 50, 60, 70, 80,
        ]));
        assert_eq!(counts.numbers(), [11, 22, 33, 44, 55, 66, 77, 88]);
        assert_eq!(counts.all_tokens(), 99);
    }
}
