//! Notes on HTTP/2: waiting for streams, requests sent twice, lost connections.

use measure::interval::Http2Counts;
use record::units;

/// Returns the notes for a run that issued this number of requests.
pub(super) fn notes(counts: Http2Counts, issued: u64) -> Vec<String> {
    let mut notes = Vec::new();
    if counts.waited * 100 > issued {
        notes.push(format!(
            "{} of {} requests waited for a stream of an HTTP/2 connection; the wait is part of \
            their response times, not of their service times",
            units::count(counts.waited),
            units::count(issued)
        ));
    }
    if counts.resent > 0 {
        notes.push(format!(
            "requests sent twice over HTTP/2, because the server had not processed them: {}",
            units::count(counts.resent)
        ));
    }
    if counts.lost > 0 {
        notes.push(format!(
            "HTTP/2 connections lost: {}, with {} requests in flight",
            units::count(counts.lost),
            units::count(counts.lost_requests)
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_waits_are_not_noted() {
        let counts = Http2Counts {
            waited: 2,
            ..Http2Counts::default()
        };
        assert!(notes(counts, 200).is_empty());
        assert_eq!(notes(counts, 199).len(), 1);
    }

    #[test]
    fn lost_connections_are_counted_with_their_requests() {
        let counts = Http2Counts {
            resent: 3,
            lost: 1,
            lost_requests: 40,
            ..Http2Counts::default()
        };
        let expected = [
            "requests sent twice over HTTP/2, because the server had not processed them: 3",
            "HTTP/2 connections lost: 1, with 40 requests in flight",
        ];
        assert_eq!(notes(counts, 1000), expected);
    }
}
