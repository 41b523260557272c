//! Trace contexts (W3C Trace Context, level 1) and the slowest of the traced requests.

use std::{fmt, num::NonZeroU64};

use crate::{LabelId, Sample};

/// Number of traced requests to keep for each label.
pub const KEPT: usize = 20;
/// Number of failed traced requests to keep per interval and worker.
pub const FAILED: usize = 20;

/// The trace and span IDs under which a service may record a request. Displayed as the value of the
/// header `traceparent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpanContext {
    trace: [u64; 2],
    span: NonZeroU64,
    /// Whether the client asks the service to record the request.
    is_sampled: bool,
}

impl SpanContext {
    /// Creates a context. IDs of zero are invalid and are replaced by 1.
    #[must_use]
    pub fn new(trace: [u64; 2], span: u64) -> SpanContext {
        SpanContext {
            trace: [trace[0], trace[1].max(1)],
            span: NonZeroU64::new(span).unwrap_or(NonZeroU64::MIN),
            is_sampled: true,
        }
    }

    /// Returns the trace ID as bytes.
    #[must_use]
    pub fn trace_bytes(&self) -> [u8; 16] {
        let id = u128::from(self.trace[0]) << 64 | u128::from(self.trace[1]);
        id.to_be_bytes()
    }

    /// Returns the span ID of the request as bytes.
    #[must_use]
    pub fn span_bytes(&self) -> [u8; 8] {
        self.span.get().to_be_bytes()
    }

    /// Sets whether the client asks the service to record the request. If not, the service decides.
    #[must_use]
    pub fn sampled(self, is_sampled: bool) -> SpanContext {
        SpanContext { is_sampled, ..self }
    }

    fn flags(&self) -> &'static str {
        if self.is_sampled { "01" } else { "00" }
    }

    /// Returns the trace ID as 32 hexadecimal digits.
    #[must_use]
    pub fn trace_id(&self) -> String {
        format!("{:016x}{:016x}", self.trace[0], self.trace[1])
    }

    /// Returns the span ID of the request as 16 hexadecimal digits.
    #[must_use]
    pub fn span_id(&self) -> String {
        format!("{:016x}", self.span)
    }

    /// Appends the request's `traceparent` header line.
    pub fn write_header(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(b"traceparent: 00-");
        for id in self.trace {
            write_hex(bytes, id);
        }
        bytes.push(b'-');
        write_hex(bytes, self.span.get());
        bytes.push(b'-');
        bytes.extend_from_slice(self.flags().as_bytes());
        bytes.extend_from_slice(b"\r\n");
    }
}

impl fmt::Display for SpanContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (trace, span) = (self.trace_id(), self.span_id());
        write!(f, "00-{trace}-{span}-{}", self.flags())
    }
}

fn write_hex(bytes: &mut Vec<u8>, id: u64) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for shift in (0..16).rev() {
        bytes.push(DIGITS[(id >> (4 * shift)) as usize & 0xf]);
    }
}

/// The slowest traced requests of each label since the start of the run, by response time.
///
/// [`SlowestRequests::take`] returns only the requests that were added since the last call. A run
/// without traced requests allocates no memory here.
#[derive(Debug, Default)]
pub struct SlowestRequests {
    by_label: Vec<Vec<SlowRequest>>,
    /// Labels with requests that [`SlowestRequests::take`] has not returned yet.
    changed: Vec<LabelId>,
}

#[derive(Debug)]
struct SlowRequest {
    response_ns: u64,
    /// The request. `None` after it was returned by [`SlowestRequests::take`].
    sample: Option<Sample>,
}

impl SlowestRequests {
    /// Adds a request if it is among the slowest of its label.
    pub fn offer(&mut self, sample: &Sample) {
        let response_ns = sample.response_ns();
        let label = usize::from(sample.label);
        if self.by_label.len() <= label {
            self.by_label.resize_with(label + 1, Vec::new);
        }
        let kept = &mut self.by_label[label];
        if kept.len() == KEPT {
            if kept[0].response_ns >= response_ns {
                return;
            }
            kept.remove(0);
        }
        let place = kept.partition_point(|one| one.response_ns < response_ns);
        let request = SlowRequest {
            response_ns,
            sample: Some(*sample),
        };
        kept.insert(place, request);
        if !self.changed.contains(&sample.label) {
            self.changed.push(sample.label);
        }
    }

    /// Returns at most `most` requests that were added since the last call and are still among the
    /// slowest. The slowest request of each label comes first, then the second slowest, and so on.
    /// The remaining requests stay for the next call.
    pub fn take(&mut self, most: usize) -> Vec<Sample> {
        let mut ranked = Vec::new();
        for label in &self.changed {
            let kept = self.by_label[usize::from(*label)].iter().rev();
            let new = kept.filter_map(|one| one.sample);
            ranked.extend(new.enumerate());
        }
        ranked.sort_by_key(|(rank, sample)| (*rank, std::cmp::Reverse(sample.response_ns())));
        ranked.truncate(most);
        for (_, taken) in &ranked {
            let kept = self.by_label[usize::from(taken.label)].iter_mut();
            kept.filter(|one| one.sample.is_some_and(|sample| sample.trace == taken.trace))
                .for_each(|one| one.sample = None);
        }
        let by_label = &self.by_label;
        self.changed.retain(|label| {
            let kept = &by_label[usize::from(*label)];
            kept.iter().any(|one| one.sample.is_some())
        });
        ranked.into_iter().map(|(_, sample)| sample).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Intended, Status, sample::RequestOutcome};

    fn sample(label: LabelId, response_ns: u64) -> Sample {
        Sample {
            label,
            intended: Intended::scheduled(100),
            started_ns: 100,
            first_write_ns: Some(100),
            first_read_ns: Some(100 + response_ns),
            done_ns: 100 + response_ns,
            ended: RequestOutcome::Ok,
            status: Some(Status::Http(200)),
            bytes_out: 1,
            bytes_in: 1,
            trace: Some(SpanContext::new([1, response_ns], 1)),
        }
    }

    #[test]
    fn header_has_the_form_of_the_standard() {
        let context = SpanContext::new([0x0af7_6519_16cd_43dd, 0x8448_eb21_1c80_319c], 0xb7ad);
        let mut bytes = Vec::new();
        context.write_header(&mut bytes);
        let line = "traceparent: 00-0af7651916cd43dd8448eb211c80319c-000000000000b7ad-01\r\n";
        assert_eq!(String::from_utf8(bytes).unwrap(), line);
        assert_eq!(format!("traceparent: {context}\r\n"), line);
        assert_eq!(context.trace_bytes()[..2], [0x0a, 0xf7]);
        assert_eq!(context.span_bytes()[6..], [0xb7, 0xad]);
    }

    #[test]
    fn ids_are_never_zero() {
        let context = SpanContext::new([0, 0], 0);
        assert_eq!(context.trace_id(), format!("{:032x}", 1));
        assert_eq!(context.span_id(), format!("{:016x}", 1));
    }

    #[test]
    fn request_that_is_replaced_before_it_is_taken_is_not_returned() {
        let mut slowest = SlowestRequests::default();
        (0..=KEPT as u64).for_each(|ns| slowest.offer(&sample(2, ns)));
        let taken = slowest.take(usize::MAX);
        assert_eq!(taken.len(), KEPT);
        assert_eq!(taken[0].response_ns(), KEPT as u64);
        assert_eq!(taken[KEPT - 1].response_ns(), 1);
        slowest.offer(&sample(2, 1));
        assert!(slowest.take(usize::MAX).is_empty());
    }

    #[test]
    fn slowest_of_every_label_comes_first() {
        let mut slowest = SlowestRequests::default();
        for (label, ns) in [(2, 5), (2, 9), (3, 1), (4, 7)] {
            slowest.offer(&sample(label, ns));
        }
        let taken = slowest.take(usize::MAX);
        let order: Vec<_> = taken.iter().map(|s| (s.label, s.response_ns())).collect();
        assert_eq!(order, [(2, 9), (4, 7), (3, 1), (2, 5)]);
    }

    #[test]
    fn requests_beyond_the_limit_are_returned_later() {
        let mut slowest = SlowestRequests::default();
        for label in 2..7 {
            (1..4).for_each(|n| slowest.offer(&sample(label, u64::from(label) * 10 + n)));
        }
        let mut taken = slowest.take(6);
        assert!(
            taken[..5]
                .iter()
                .all(|sample| sample.response_ns() % 10 == 3)
        );
        taken.extend(slowest.take(6));
        taken.extend(slowest.take(6));
        assert_eq!(taken.len(), 15);
        assert!(slowest.take(6).is_empty());
    }

    proptest! {
        #[test]
        fn slowest_requests_of_all_calls_are_returned(
            times in prop::collection::vec((2_u16..4, 0_u64..500), 0..300),
            chunk in 1_usize..60,
        ) {
            let mut slowest = SlowestRequests::default();
            let mut taken = Vec::new();
            for part in times.chunks(chunk) {
                part.iter().for_each(|(label, ns)| slowest.offer(&sample(*label, *ns)));
                taken.extend(slowest.take(usize::MAX));
            }
            for label in 2..4 {
                let longest = |mut all: Vec<u64>| {
                    all.sort_unstable_by(|a, b| b.cmp(a));
                    all.truncate(KEPT);
                    all
                };
                let of_label = times.iter().filter(|(one, _)| *one == label);
                let expected = longest(of_label.map(|(_, ns)| *ns).collect());
                let found = taken.iter().filter(|sample| sample.label == label);
                prop_assert_eq!(longest(found.map(Sample::response_ns).collect()), expected);
            }
        }
    }
}
