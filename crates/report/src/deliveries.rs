//! The ledger of deliveries: messages that were published, and how many of them each receiver got.
//! MQTT subscribers and WebSocket listeners share it.

use measure::accumulator::Tally;
use record::{Run, units::count};

/// Returns the sentence about expected and received deliveries. `is_whole` is false if
/// some receivers did not report.
#[must_use]
pub fn text(counts: &Tally, is_whole: bool) -> String {
    let of = |name: &str| counts.counters.get(name).copied().unwrap_or(0);
    let (expected, received) = (of("expected"), of("received"));
    let irregular = format!(
        "{} duplicates, {} out of order",
        count(of("again")),
        count(of("late"))
    );
    if !is_whole {
        return format!(
            "deliveries: {} received, {irregular}; for some clients the number of lost deliveries is unknown",
            count(received)
        );
    }
    let most = expected.saturating_sub(received);
    let least = most.saturating_sub(of("expected_of_unknown"));
    let lost = if least == most {
        format!("{} lost", count(most))
    } else {
        format!(
            "{} to {} lost (inexact because messages are unknown)",
            count(least),
            count(most)
        )
    };
    format!(
        "deliveries: {} expected, {} received, {lost}, {irregular}",
        count(expected),
        count(received),
    )
}

/// Returns the counts of a run's listeners.
#[must_use]
pub fn listener_counts(run: &Run) -> Tally {
    let mut all = Tally::default();
    for (_, part) in run.frontend_parts() {
        all.merge(part);
    }
    all.counters.retain(|name, _| !name.starts_with("so_far_"));
    all
}

/// Returns the ledger of listeners, one sentence per line.
#[must_use]
pub fn listener_lines(counts: &Tally) -> Vec<String> {
    let of = |name: &str| counts.counters.get(name).copied().unwrap_or(0);
    if !counts.counters.contains_key("listeners") {
        return vec!["listeners: no counts, because the run did not finish".to_owned()];
    }
    let mut lines = vec![format!(
        "listeners: {} of {} connected, {} of them lost their connection",
        count(of("connected")),
        count(of("listeners")),
        count(of("left")),
    )];
    lines.push(format!(
        "published: {} messages, {} refused, {} unknown",
        count(of("due")),
        count(of("turned_down")),
        count(of("unknown")),
    ));
    lines.push(text(counts, true));
    let more = [
        ("listeners_with_losses", "listeners that missed a message"),
        (
            "absent",
            "deliveries that were not due, because the listener was not connected",
        ),
        (
            "not_due",
            "messages received although they were refused or published before the listener was ready",
        ),
        ("foreign", "messages received from another run"),
        (
            "unstamped",
            "messages received without the fields of `push`",
        ),
    ];
    let more = more.iter().filter(|(name, _)| of(name) > 0);
    lines.extend(more.map(|(name, text)| format!("{text}: {}", count(of(name)))));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(counts: &[(&str, u64)]) -> Tally {
        let mut tally = Tally::default();
        let counts = counts.iter().map(|(name, n)| ((*name).to_owned(), *n));
        tally.counters.extend(counts);
        tally
    }

    #[test]
    fn losses_are_a_range_if_messages_are_unknown() {
        let counts = [
            ("expected", 10),
            ("received", 7),
            ("expected_of_unknown", 2),
        ];
        let shown = text(&tally(&counts), true);
        assert!(shown.contains("1 to 3 lost"), "{shown}");
        assert!(text(&tally(&counts[..2]), true).contains("7 received, 3 lost"));
    }

    #[test]
    fn listeners_have_one_line_per_fact() {
        let counts = tally(&[
            ("listeners", 3),
            ("connected", 3),
            ("due", 5),
            ("expected", 15),
            ("received", 15),
            ("foreign", 2),
        ]);
        assert_eq!(
            listener_lines(&counts),
            [
                "listeners: 3 of 3 connected, 0 of them lost their connection",
                "published: 5 messages, 0 refused, 0 unknown",
                "deliveries: 15 expected, 15 received, 0 lost, 0 duplicates, 0 out of order",
                "messages received from another run: 2",
            ]
        );
        assert_eq!(listener_lines(&Tally::default()).len(), 1);
    }
}
