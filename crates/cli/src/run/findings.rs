//! What mocks and background MQTT clients found during a run.

use plan::mocks::MockAddress;
use session::{FinishedRun, mock_process};

use crate::{log, messages};

/// Adds the results of mocks and background MQTT clients to the record.
pub(super) fn record_findings(ended: &mut FinishedRun, places: &[MockAddress], has_beside: bool) {
    if places.is_empty() && !has_beside {
        return;
    }
    let (mut sentences, mut document) = (Vec::new(), serde_json::json!({}));
    if !places.is_empty() {
        match mock_process::fetch_stats(places) {
            Ok(reported) => document["mocks"] = reported.into(),
            Err(reason) => not_in_the_record("the mocks served", &reason),
        }
    }
    if let Some((ledger, counts)) = messages::found(ended, has_beside) {
        sentences.extend(ledger);
        document["mqtt"] = counts;
    }
    if let Err(reason) = ended.run.write_findings(&sentences, &document) {
        not_in_the_record("was found during the load", &reason);
    }
}

fn not_in_the_record(what: &str, reason: &dyn std::fmt::Display) {
    log::warning(format_args!(
        "the record does not contain the findings ({what}): {reason}"
    ));
}
