use audit::check;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    change::{Direction, caught, contradictions, figures, last, named_in, with},
    random::{Rng, Samples},
    support::{Folder, plan, write},
};

fn stats(samples: &Samples) -> Value {
    let ns = |ms: f64| (ms * 1e6) as u64;
    let at = |q: f64| {
        let rank = ((q * samples.n() as f64).ceil() as usize).max(1);
        json!({ "ns": ns(samples.0[rank - 1]), "beyond": samples.n() - rank })
    };
    json!({
        "count": samples.n(),
        "unanswered": 0,
        "mean_ns": samples.mean() * 1e6,
        "min_ns": ns(samples.min()),
        "p50": at(0.5),
        "p90": at(0.9),
        "p95": at(0.95),
        "p99": at(0.99),
        "p999": at(0.999),
        "max": at(1.0),
    })
}

fn random(seed: u64) -> String {
    let rng = &mut Rng(seed);
    let elapsed_s = rng.magnitude(2.0, 600.0);
    let mut rows = Vec::new();
    let mut all = Vec::new();
    for i in 0..rng.whole_number(1, 5) {
        let n = rng.whole_number(20, 800) as usize;
        let base = rng.magnitude(0.05, 900.0);
        let times: Vec<f64> = rng
            .times(n, base)
            .iter()
            .map(|ms| ms.min(1_900.0))
            .collect();
        let failed = rng.whole_number(0, n as u64);
        rows.push((format!("GET /{i}"), Samples::new(times.clone()), failed));
        all.extend(times);
    }
    let failed: u64 = rows.iter().map(|row| row.2).sum();
    let whole_number = ("all requests".to_owned(), Samples::new(all), failed);
    let row = |(text, samples, failed): &(String, Samples, u64)| {
        let n = samples.n() as u64;
        json!({
            "id": 2,
            "group": "request",
            "text": text,
            "count": n,
            "errors": failed,
            "error_share": *failed as f64 / n as f64,
            "per_second": n as f64 / elapsed_s,
            "service": stats(samples),
            "response": null,
            "iteration": null,
            "codes": { "200": n - failed, "500": failed },
            "none": {},
        })
    };
    let n = whole_number.1.n() as u64;
    let wait = Samples::new(vec![0.01; n as usize]);
    let level = (whole_number.1.mean() + wait.mean()) / 1e3 * n as f64 / elapsed_s;
    let (skipped, unsent) = (rng.whole_number(0, 50), rng.whole_number(0, 50));
    let broken = rng.whole_number(0, n);
    let summary = json!({
        "schema": 1,
        "run": { "elapsed_ns": (elapsed_s * 1e9) as u64 },
        "arrivals": {
            "planned": n + skipped + unsent, "started": n, "skipped": skipped, "unsent": unsent,
            "completed": n - broken, "failed": broken, "abandoned": 0, "in_flight": 0,
        },
        "requests": {
            "issued": n, "ok": n - failed, "failed": failed, "none": 0, "none_by_class": {}, "in_flight": 0,
        },
        "all": row(&whole_number),
        "labels": rows.iter().map(row).collect::<Vec<_>>(),
        "iterations": [],
        "wait": stats(&wait),
        "in_flight": { "mean": level, "max": largest(level) },
    });
    format!("{summary:#}")
}

fn largest(level: f64) -> f64 {
    (3.0 * level).ceil() + 3.0
}

#[test]
fn synchronized_users_are_consistent() {
    let mut summary: serde_json::Value = serde_json::from_str(&random(7)).unwrap();
    let level = summary["in_flight"]["mean"].as_f64().unwrap();
    summary["in_flight"] = json!({ "mean": 2.5 * level, "max": 1_000_000 });
    assert_eq!(
        contradictions(&format!("{summary:#}")),
        Vec::<String>::new()
    );
}

#[test]
fn samples_of_a_worker_without_a_cpu_may_show_any_level() {
    let mut summary: serde_json::Value = serde_json::from_str(&random(7)).unwrap();
    let level = summary["in_flight"]["mean"].as_f64().unwrap();
    summary["in_flight"] = json!({ "mean": 25.0 * level, "max": 40.0 * level });
    let found = |summary: &serde_json::Value| contradictions(&format!("{summary:#}")).len();
    summary["measurement"] = json!({ "waiting": 0.01 });
    assert_eq!(found(&summary), 1);
    summary["measurement"] = json!({ "waiting": 0.7 });
    assert_eq!(found(&summary), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn consistent_summaries_pass(seed: u64) {
        let text = random(seed);
        prop_assert_eq!(contradictions(&text), Vec::<String>::new(), "{}", text);
    }

    #[test]
    fn changed_counts_and_rates_are_named(seed: u64, up: bool, which: prop::sample::Index) {
        let text = random(seed);
        let direction = if up { Direction::Up } else { Direction::Down };
        let bound: Vec<_> = figures(&text)
            .into_iter()
            .filter(|f| ["arrivals", "requests"].iter().any(|of| f.name.starts_with(of)) || f.name.ends_with(" count") || f.name.ends_with("per_second") || f.name.ends_with(" 200"))
            .collect();
        let figure = &bound[which.index(bound.len())];
        caught(&text, figure, direction, 1.0, 0.0).map_err(TestCaseError::fail)?;
        let elapsed = last(&text, "elapsed");
        caught(&text, &elapsed, direction, 1.0, 0.0).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn levels_that_contradict_littles_law_are_named(seed: u64) {
        let text = random(seed);
        let level = last(&text, "in flight");
        if level.value < 0.05 {
            return Ok(());
        }
        let elapsed = last(&text, "elapsed").value;
        let time = last(&text, "all requests service mean_ns").value;
        let samples = (elapsed / (2.0 * time).max(0.01)).max(1.0);
        let per_sample = largest(level.value) / samples;
        let chance = 16.0 * per_sample + 5.0 * (1.03 * level.value * per_sample).sqrt();
        let above = level.value * 1.03 + chance;
        named_in(&with(&text, &level, above), &level).map_err(TestCaseError::fail)?;
    }
}

#[test]
fn a_real_run_agrees_with_itself() {
    let folder = Folder::new();
    let run = write(&folder.0, &plan(&[]));
    let mut summary = analysis::summarise(&run);
    assert_eq!(check::of_summary(&summary), []);
    summary.requests.ok += 1;
    let findings = check::of_summary(&summary);
    assert!(
        findings[0]
            .text
            .starts_with("requests issued 80, but requests ok 77 + requests failed 2"),
        "{findings:?}"
    );
}

/// Tests an MQTT run, in which connects have a service time and messages without acknowledgement
/// have none.
#[test]
fn rows_are_compared_by_a_time_that_all_have() {
    let service = Samples::new(vec![0.1; 20]);
    let connects = Samples::new(vec![5.0; 20]);
    let messages = Samples::new(vec![2.0; 80]);
    let all = Samples::new([vec![5.0; 20], vec![2.0; 80]].concat());
    let row = |text: &str, service: Value, response: &Samples| {
        json!({
            "group": "mqtt", "text": text, "count": response.n(), "errors": 0, "error_share": 0.0,
            "per_second": response.n() as f64 / 10.0, "service": service,
            "response": stats(response), "iteration": null, "codes": {}, "none": {},
        })
    };
    let summary = json!({
        "schema": 1,
        "run": { "elapsed_ns": 10_000_000_000u64 },
        "requests": {
            "issued": 100, "ok": 100, "failed": 0, "none": 0, "none_by_class": {}, "under_way": 0,
        },
        "all": row("all requests", Value::Null, &all),
        "labels": [
            row("CONNECT", stats(&service), &connects),
            row("PUBLISH QoS 0", Value::Null, &messages),
        ],
        "iterations": [],
    });
    let text = format!("{summary:#}");
    assert_eq!(contradictions(&text), Vec::<String>::new());
    let wrong = text.replacen("2000000.0", "2500000.0", 9);
    assert_ne!(contradictions(&wrong), Vec::<String>::new(), "{wrong}");
}
