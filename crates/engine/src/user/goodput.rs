//! Counts requests that succeed within the bounds of a goodput metric.

use measure::{Recorder, Sample, sample::RequestOutcome, stream::StreamSample};
use plan::criteria::{GoodputBound, SpanFilter};

use super::User;

impl User<'_> {
    pub(super) fn count_good(
        &self,
        recorder: &mut Recorder,
        sample: &Sample,
        streamed: Option<&StreamSample>,
    ) {
        for (index, bounds) in self.program.goodputs.iter().enumerate() {
            if is_good(bounds, sample, streamed) {
                recorder.good(sample.done_ns, sample.label, sample.intended, index as u16);
            }
        }
    }
}

fn is_good(bounds: &[GoodputBound], sample: &Sample, streamed: Option<&StreamSample>) -> bool {
    let streamed = streamed.filter(|one| one.is_complete());
    sample.ended == RequestOutcome::Ok
        && bounds.iter().all(|bound| {
            let time = match bound.span {
                SpanFilter::FirstEvent => streamed.and_then(StreamSample::first_event),
                SpanFilter::Ttft => streamed.and_then(StreamSample::ttft),
                // A response of one token has no time per token, so it cannot exceed the bound.
                SpanFilter::PerToken => streamed.map(|one| one.per_token().unwrap_or(0)),
                _ => Some(sample.response_ns()),
            };
            time.is_some_and(|ns| ns < bound.below_ns)
        })
}

#[cfg(test)]
mod tests {
    use measure::{Fault, Intended, Status, outcome::StreamFault};

    use super::*;

    const MS: u64 = 1_000_000;

    fn sample(ended: RequestOutcome) -> (Sample, StreamSample) {
        let intended = Intended::scheduled(0);
        let sample = Sample {
            label: 2,
            intended,
            started_ns: 0,
            first_write_ns: Some(0),
            first_read_ns: Some(MS),
            done_ns: 100 * MS,
            ended,
            status: Some(Status::Http(200)),
            bytes_out: 0,
            bytes_in: 0,
            trace: None,
        };
        let streamed = StreamSample {
            label: 2,
            intended,
            first_write_ns: Some(0),
            first_event_ns: Some(10 * MS),
            first_token_ns: Some(20 * MS),
            last_token_ns: Some(80 * MS),
            done_ns: 100 * MS,
            ended,
            chunks: 7,
            tokens: None,
        };
        (sample, streamed)
    }

    #[test]
    fn all_bounds_must_hold() {
        let good = |ended, bounds: &[(SpanFilter, u64)]| {
            let (sample, streamed) = sample(ended);
            let bounds: Vec<GoodputBound> = bounds
                .iter()
                .map(|(span, ms)| GoodputBound {
                    span: *span,
                    below_ns: ms * MS,
                })
                .collect();
            is_good(&bounds, &sample, Some(&streamed))
        };
        let ok = RequestOutcome::Ok;
        assert!(good(
            ok,
            &[(SpanFilter::Ttft, 21), (SpanFilter::PerToken, 11)]
        ));
        assert!(!good(ok, &[(SpanFilter::Ttft, 20)]));
        assert!(!good(
            ok,
            &[(SpanFilter::Ttft, 21), (SpanFilter::PerToken, 10)]
        ));
        assert!(good(
            ok,
            &[(SpanFilter::FirstEvent, 11), (SpanFilter::Response, 101)]
        ));
        assert!(!good(ok, &[(SpanFilter::Response, 100)]));
        let incomplete = Fault::Stream(StreamFault::NoEndMark);
        assert!(!good(
            RequestOutcome::Unanswered(incomplete),
            &[(SpanFilter::Ttft, 21)]
        ));
    }

    #[test]
    fn request_without_stream_is_not_good_for_times_of_streams() {
        let (sample, _) = sample(RequestOutcome::Ok);
        let bound = |span| GoodputBound {
            span,
            below_ns: u64::MAX,
        };
        assert!(is_good(&[bound(SpanFilter::Response)], &sample, None));
        for span in [
            SpanFilter::Ttft,
            SpanFilter::PerToken,
            SpanFilter::FirstEvent,
        ] {
            assert!(!is_good(&[bound(span)], &sample, None));
        }
    }
}
