//! The answer to `run_result` for a search: the load line with its interval, or why there is none.

use decisions::find::{Ending, Over, SearchResult};
use serde_json::{Value, json};

use crate::{answer::Answer, result::exit_word};

/// Returns the answer for a search.
pub(crate) fn search_answer(name: &str, found: &SearchResult) -> Answer {
    let has_result = matches!(found.ending, Ending::Found | Ending::HoldsToMost);
    let word = match found.ending {
        Ending::Found => "LOAD LINE FOUND",
        Ending::HoldsToMost => "LOWER BOUND FOUND",
        Ending::FailsAtLowest => "FAILS AT THE LOWEST LOAD",
        Ending::GeneratorLimited | Ending::GeneratorDisturbed => {
            "INVALID MEASUREMENT. No capacity conclusion can be drawn"
        }
        _ => "INCONCLUSIVE",
    };
    let unit = match found.varied {
        Over::Rate => "arrivals/s",
        Over::Users => "users",
    };
    let sent = found.probes.iter().map(|probe| probe.level);
    let sent = sent.fold(0.0, f64::max);
    let mut figure = json!({
        "value": found.estimate.filter(|_| found.ending == Ending::Found),
        "unit": unit,
        "of": "highest load at which all criteria hold",
        "low": found.interval.map(|(low, _)| low),
        "high": found.interval.map(|(_, high)| high),
        "samples": found.probes.len(),
        "trust": if found.ending == Ending::Found { "full" } else { "lower-bound" },
    });
    if found.ending == Ending::HoldsToMost {
        figure["at_least"] = sent.into();
    }
    let has_server_metrics = found.probes.iter().any(|probe| probe.saturated.is_some());
    let mut answer = Answer::new(format!("{word}. {}", found.sentence))
        .with(
            "measurement",
            json!({ "stamp": if has_result { "VALID" } else { "NONE" }, "reasons": [], "when": [] }),
        )
        .with("criteria", found.slos.clone())
        .with(
            "figures",
            if has_result {
                json!([figure])
            } else {
                Value::Null
            },
        )
        .with(
            "must_not_claim",
            vec![
                format!("that the service handles more than the highest load sent, {}", found.varied.level(sent)),
                "that the load line stays the same with other data, versions or machines".to_owned(),
            ],
        )
        .with("run", name)
        .with("exit", exit_word(found.exit_code))
        .with_some(
            "above_the_load_line",
            // With server metrics, the line contains names that the service chose.
            found.overload.clone().filter(|_| !has_server_metrics),
        )
        .with("notes", found.notes.clone());
    answer.is_error = !has_result;
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(ending: &str, estimate: Option<f64>) -> SearchResult {
        let interval = estimate.map(|level| [level - 5.0, level + 5.0]);
        serde_json::from_value(json!({
            "schema": 1, "test": "plan.yml", "target": null, "started_utc": "", "varied": "rate",
            "slos": ["p99 < 200ms"], "ending": ending, "estimate": estimate, "interval": interval,
            "last_pass": null, "first_fail": null, "duration_s": 1.0, "sentence": "a sentence",
            "overload": null, "notes": [], "probes": [], "probabilities": [], "exit_code": 0,
        }))
        .unwrap()
    }

    #[test]
    fn load_line_has_its_interval() {
        let answer = search_answer("a", &found("found", Some(100.0))).render();
        assert_eq!(answer.body["figures"][0]["low"], 95.0);
        assert!(answer.text.starts_with("LOAD LINE FOUND. a sentence"));
    }

    #[test]
    fn search_without_result_has_no_figure() {
        for ending in [
            "out_of_budget",
            "generator_limited",
            "drifts",
            "interrupted",
        ] {
            let answer = search_answer("a", &found(ending, Some(100.0))).render();
            assert!(
                answer.is_error && answer.body["figures"].is_null(),
                "{ending}"
            );
        }
    }
}
