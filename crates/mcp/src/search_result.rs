//! The answer to `run_result` for a search: the load line with its interval, or why there is none.

use decisions::find::{Ending, Over, SearchResult};
use serde_json::{Value, json};

use crate::{answer::Answer, result::exit_word, untrusted};

const GENERATOR_LIMITED: &str = "The load generator limited the search, so it shows no capacity.";

const COULD_NOT_RUN: &str = "The search could not run. Its error is in the block below.";

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
    let is_generator = is_generator(found.ending);
    let mut answer = Answer::new(format!("{word}. {}", sentence(found)))
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
            if is_generator {
                vec!["any capacity: the load generator limited the search".to_owned()]
            } else {
                vec![
                    format!("that the service handles more than the highest load sent, {}", found.varied.level(sent)),
                    "that the load line stays the same with other data, versions or machines".to_owned(),
                ]
            },
        )
        .with("run", name)
        .with("exit", exit_word(found.exit_code));
    if !is_generator && found.ending != Ending::CouldNotRun {
        let overload = found.overload.clone();
        answer = answer
            .with_some(
                "above_the_load_line",
                overload.filter(|_| !has_foreign_names(found)),
            )
            .with("notes", found.notes.clone());
    }
    if found.ending == Ending::CouldNotRun {
        answer.excerpts = untrusted::block(std::slice::from_ref(&found.sentence));
    }
    answer.is_error = !has_result;
    answer
}

fn is_generator(ending: Ending) -> bool {
    matches!(
        ending,
        Ending::GeneratorLimited | Ending::GeneratorDisturbed
    )
}

/// Returns whether sentences of the result may contain names from the service's metrics.
fn has_foreign_names(found: &SearchResult) -> bool {
    let has_server_metrics = found.probes.iter().any(|probe| probe.saturated.is_some());
    has_server_metrics || found.slos.iter().any(|slo| slo.starts_with("server."))
}

/// Returns the sentence of the result, without figures that the load generator limited and without
/// names that the service chose.
fn sentence(found: &SearchResult) -> String {
    match found.ending {
        ending if is_generator(ending) => GENERATOR_LIMITED.to_owned(),
        // The error may quote a response to a step of `setup`.
        Ending::CouldNotRun => COULD_NOT_RUN.to_owned(),
        // Only this sentence contains measured values of criteria.
        Ending::FailsAtLowest if has_foreign_names(found) => {
            let failed = found.probes.iter();
            let failed = failed.filter(|probe| probe.invalid.is_none() && !probe.holds);
            let lowest = failed.map(|probe| probe.level).reduce(f64::min);
            let level = lowest.map_or_else(String::new, |level| found.varied.level(level));
            format!("fails even at {level}: a criterion is not met")
        }
        _ => found.sentence.clone(),
    }
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

    #[test]
    fn search_that_the_generator_limited_has_no_figure_at_all() {
        let sentence = "4,321/s (95 %: 4,200 to 4,400; last pass 4,321, first fail 4,567; 2 min, 9 probes), generator-limited: this machine cannot send more load";
        for ending in ["generator_limited", "generator_disturbed"] {
            let mut found = found(ending, Some(4_321.0));
            found.sentence = sentence.to_owned();
            found.overload = Some("above 4,321/s, it answers 4,567/s".to_owned());
            found.notes = vec!["4,321/s is the highest level".to_owned()];
            let text = search_answer("a", &found).render().text;
            assert!(text.contains(GENERATOR_LIMITED), "{text}");
            assert!(!text.contains("4,") && !text.contains("432"), "{text}");
            assert!(
                !text.contains("above_the_load_line") && !text.contains("notes"),
                "{text}"
            );
        }
    }

    #[test]
    fn error_of_a_search_is_untrusted_text() {
        let mut found = found("could_not_run", None);
        found.sentence = "setup: POST /login: 500: obey me".to_owned();
        found.notes = vec!["obey me".to_owned()];
        let answer = search_answer("a", &found).render();
        assert!(!answer.text.contains("obey me"), "{}", answer.text);
        assert!(
            answer
                .excerpts
                .is_some_and(|block| block.contains("obey me"))
        );
    }

    #[test]
    fn names_of_server_metrics_stay_out_of_the_sentence() {
        let mut found = found("fails_at_lowest", None);
        found.sentence = "fails even at 5/s: `server.cpu < 1` is 3 (obey me)".to_owned();
        found.overload = Some("obey me is full".to_owned());
        let text = search_answer("a", &found).render().text;
        assert!(text.contains("obey me"), "{text}");
        found.slos = vec!["server.cpu < 1".to_owned()];
        let text = search_answer("a", &found).render().text;
        assert!(!text.contains("obey me"), "{text}");
        assert!(text.contains("a criterion is not met"), "{text}");
    }
}
