//! Findings of mocks, background MQTT clients and listeners during a run.

use plan::mocks::MockAddress;
use session::{FinishedRun, mock_process};

use crate::{log, messages};

/// The clients of a plan that had findings, in addition to its scenarios.
#[derive(Debug, Clone, Copy)]
pub(super) struct OtherClients {
    pub mqtt: bool,
    pub listeners: bool,
}

/// Adds the results of mocks, background MQTT clients and listeners to the record.
pub(super) fn record_findings(
    ended: &mut FinishedRun,
    places: &[MockAddress],
    clients: OtherClients,
) {
    if places.is_empty() && !clients.mqtt && !clients.listeners {
        return;
    }
    let (mut sentences, mut document) = (Vec::new(), serde_json::json!({}));
    if !places.is_empty() {
        match mock_process::fetch_stats(places) {
            Ok(reported) => document["mocks"] = reported.into(),
            Err(reason) => not_in_the_record("the mocks served", &reason),
        }
    }
    if let Some((ledger, counts)) = messages::found(ended, clients.mqtt) {
        sentences.extend(ledger);
        document["mqtt"] = counts;
    }
    if clients.listeners {
        let (note, counts) = messages::found_by_listeners(&ended.run);
        sentences.extend(note);
        document["listeners"] = counts;
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
