//! The section about deliveries, in the terminal and in `report.md`.

use analysis::{page, summary::Summary};
use report::{console, markdown};
use serde_json::json;

use crate::support::{self, Folder};

#[test]
fn deliveries_have_a_section_in_every_report() {
    let folder = Folder::new();
    let mut run = support::write(&folder.0, &support::plan(&[]));
    let listeners = json!({
        "listeners": 200, "connected": 199, "left": 1, "due": 150, "expected": 30_000,
        "received": 29_720, "expected_of_unknown": 10, "unknown": 1, "absent": 7,
        "listeners_with_losses": 3,
    });
    let mqtt = json!({ "connected": 9, "due": 40, "received": 80, "again": 2 });
    run.found = Some(json!({ "listeners": listeners, "mqtt": mqtt, "mocks": [] }));
    let page = page::build(&run);
    let text = console::summary_text(&page.summary);
    let block = "Deliveries to WebSocket listeners
  listeners: 199 of 200 connected, 1 of them lost their connection
  published: 150 messages, 0 refused, 1 unknown
  deliveries: 30,000 expected, 29,720 received, 270 to 280 lost (inexact because messages are
    unknown), 0 duplicates, 0 out of order
  deliveries that were not due, because the receiver was not connected: 7
  listeners that missed a message: 3

Deliveries to MQTT subscribers
  published: 40 messages, 0 refused, 0 unknown
  deliveries: 80 received, 2 duplicates, 0 out of order; for some clients the number of lost";
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(plain(&text).contains(&plain(block)), "{text}");
    let paper = plain(&markdown::render(&page).text);
    for part in [
        "## Deliveries",
        "| WebSocket listeners | 150 | 0 | 1 | 30,000 | 29,720 | 270 to 280 | 0 | 0 | 7 |",
        "| MQTT subscribers | 40 | 0 | 0 | – | 80 | – | 2 | 0 | – |",
        "- listeners that missed a message: 3",
    ] {
        assert!(paper.contains(part), "{part}: {paper}");
    }
    let again: Summary =
        serde_json::from_value(serde_json::to_value(&page.summary).unwrap()).unwrap();
    assert_eq!(again.deliveries, page.summary.deliveries);
}

#[test]
fn run_without_receivers_has_no_deliveries() {
    let folder = Folder::new();
    let mut run = support::write(&folder.0, &support::plan(&[]));
    run.found = Some(json!({ "listeners": {}, "mqtt": { "connected": 4, "due": 9 } }));
    let page = page::build(&run);
    assert!(page.summary.deliveries.is_empty());
    assert!(!console::summary_text(&page.summary).contains("Deliveries"));
    assert!(!markdown::render(&page).text.contains("Deliveries"));
}
