//! Deliveries as text: sentences about messages and how many of them each receiver got, and table
//! cells.

use analysis::summary::{DeliveryRow, LostRange};
use measure::accumulator::Tally;
use record::{Run, units::count};

pub const HEADS: [&str; 10] = [
    "Receivers",
    "Published",
    "Refused",
    "Unknown",
    "Expected",
    "Received",
    "Lost",
    "Duplicates",
    "Out of order",
    "Not due",
];

pub const MEANING: &str = "Expected: deliveries of all messages that were not refused, to each receiver that was connected. Unknown: messages without an answer. Not due: deliveries to receivers that were not connected.";

/// Returns the sentence about expected and received deliveries. `is_whole` is false if some
/// receivers did not report.
#[must_use]
pub fn text(counts: &Tally, is_whole: bool) -> String {
    let mut counts = counts.counters.clone();
    if is_whole {
        counts.entry("expected".to_owned()).or_insert(0);
    } else {
        counts.remove("expected");
    }
    sentence(&DeliveryRow::from_counts("mqtt", &counts))
}

/// Returns the sentence about the deliveries of a row.
fn sentence(row: &DeliveryRow) -> String {
    let irregular = format!(
        "{} duplicates, {} out of order",
        count(row.duplicates),
        count(row.out_of_order)
    );
    let received = count(row.received);
    match row.expected.zip(row.lost) {
        Some((expected, lost)) => format!(
            "deliveries: {} expected, {received} received, {}, {irregular}",
            count(expected),
            lost_text(lost),
        ),
        None => format!(
            "deliveries: {received} received, {irregular}; for some clients the number of lost deliveries is unknown"
        ),
    }
}

fn lost_text(lost: LostRange) -> String {
    if lost.least == lost.most {
        return format!("{} lost", count(lost.most));
    }
    format!(
        "{} to {} lost (inexact because messages are unknown)",
        count(lost.least),
        count(lost.most)
    )
}

/// Returns the name of the receivers.
#[must_use]
pub fn receivers(row: &DeliveryRow) -> &'static str {
    match row.receivers.as_str() {
        "listeners" => "WebSocket listeners",
        _ => "MQTT subscribers",
    }
}

/// Returns the cells of a row, in the order of [`HEADS`].
#[must_use]
pub fn cells(row: &DeliveryRow) -> [String; 10] {
    let lost = row.lost.map(|lost| match lost.least == lost.most {
        true => count(lost.most),
        false => format!("{} to {}", count(lost.least), count(lost.most)),
    });
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "–".into());
    [
        receivers(row).to_owned(),
        count(row.published),
        count(row.refused),
        count(row.unknown),
        or_dash(row.expected.map(count)),
        count(row.received),
        or_dash(lost),
        count(row.duplicates),
        count(row.out_of_order),
        or_dash(row.not_due.map(count)),
    ]
}

/// Returns the figures of a row as sentences, one per line.
#[must_use]
pub fn lines(row: &DeliveryRow) -> Vec<String> {
    let mut lines: Vec<String> = connections(row).into_iter().collect();
    lines.push(format!(
        "published: {} messages, {} refused, {} unknown",
        count(row.published),
        count(row.refused),
        count(row.unknown),
    ));
    lines.push(sentence(row));
    let not_due = row.not_due.filter(|n| *n > 0).map(|n| {
        format!(
            "deliveries that were not due, because the receiver was not connected: {}",
            count(n)
        )
    });
    lines.extend(not_due);
    lines.extend(remarks(row));
    lines
}

/// Returns how many listeners connected. `None` for MQTT, whose connections include other clients
/// than subscribers.
#[must_use]
pub fn connections(row: &DeliveryRow) -> Option<String> {
    row.planned.map(|planned| {
        format!(
            "listeners: {} of {} connected, {} of them lost their connection",
            count(row.connected),
            count(planned),
            count(row.left),
        )
    })
}

/// Returns the figures that tables omit and that are not zero.
#[must_use]
pub fn remarks(row: &DeliveryRow) -> Vec<String> {
    let foreign = match row.receivers.as_str() {
        "listeners" => "messages received from another run",
        _ => "messages received without a header of this run",
    };
    let all = [
        (row.receivers_with_losses, "listeners that missed a message"),
        (
            row.received_not_due,
            "messages received although they were refused or published before the receiver was ready",
        ),
        (row.foreign, foreign),
        (
            row.unstamped,
            "messages received without the fields of `push`",
        ),
    ];
    let some = all.into_iter().filter(|(n, _)| *n > 0);
    some.map(|(n, text)| format!("{text}: {}", count(n)))
        .collect()
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
        let shown = text(&tally(&counts), false);
        assert!(shown.contains("lost deliveries is unknown"), "{shown}");
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
            lines(&DeliveryRow::from_counts("listeners", &counts.counters)),
            [
                "listeners: 3 of 3 connected, 0 of them lost their connection",
                "published: 5 messages, 0 refused, 0 unknown",
                "deliveries: 15 expected, 15 received, 0 lost, 0 duplicates, 0 out of order",
                "messages received from another run: 2",
            ]
        );
    }
}
