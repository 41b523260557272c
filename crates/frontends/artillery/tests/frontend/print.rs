//! Rebuilds Artillery's transcripts from its JSON files. The only differences are the definition of
//! the request rate and a stray null.

use std::collections::BTreeMap;

use frontend_artillery::{
    Accumulator,
    plugins::Plugins,
    print::{Console, PrintOptions, Zone},
};
use measure::{
    Interval, TimeSpan,
    accumulator::{self, Sketch, Tally},
};
use plan::{Phase, Shape};
use record::Manifest;
use serde_json::Value;

use crate::made::{Folder, SECOND, WALL, end, intervals_with, plan, started, write_all};

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden");

fn sketch(summary: &Value) -> Sketch {
    let figure = |name: &str| summary[name].as_f64().unwrap();
    let (count, min, max) = (figure("count"), figure("min"), figure("max"));
    let mut sketch = Sketch {
        sum: figure("mean") * count,
        min,
        max,
        ..Sketch::default()
    };
    let mut seen = 0;
    for (name, q) in [
        ("p50", 0.5),
        ("p75", 0.75),
        ("p90", 0.9),
        ("p95", 0.95),
        ("p99", 0.99),
        ("p999", 0.999),
        ("p999", 1.0),
    ] {
        let upto = (q * (count - 1.0)).floor() as u64 + 1;
        let n = upto.saturating_sub(seen);
        seen = seen.max(upto);
        let rendered = figure(name);
        if rendered == 0.0 {
            sketch.zeros += n;
        } else if n > 0 {
            *sketch.keys.entry(key_shown_as(rendered)).or_default() += n;
        }
    }
    sketch
}

fn key_shown_as(rendered: f64) -> i64 {
    let near = (rendered.ln() / (1.01f64 / 0.99).ln()).ceil() as i64;
    let value = |key: i64| {
        let mut sketch = Sketch {
            max: 1.0,
            ..Sketch::default()
        };
        sketch.keys.insert(key, 1);
        (sketch.quantile(0.5) * 10.0 + 0.5).floor() / 10.0
    };
    (near - 3..near + 3)
        .find(|key| (value(*key) - rendered).abs() < 1e-9)
        .unwrap_or_else(|| panic!("no key is shown as {rendered}"))
}

fn part(period: &Value) -> Tally {
    let at = |name: &str| period[name].as_u64();
    let mut part = Tally::default();
    for (name, n) in period["counters"].as_object().unwrap() {
        part.counters.insert(name.clone(), n.as_u64().unwrap());
    }
    for (name, summary) in period["summaries"].as_object().unwrap() {
        part.sketches.insert(name.clone(), sketch(summary));
    }
    for (kind, first, last) in [
        ("counter", "firstCounterAt", "lastCounterAt"),
        ("histogram", "firstHistogramAt", "lastHistogramAt"),
    ] {
        if let (Some(first), Some(last)) = (at(first), at(last)) {
            part.firsts.insert(kind.into(), first);
            part.lasts.insert(kind.into(), last);
        }
    }
    let (requests, rate) = (
        part.counters["http.requests"],
        period["rates"]["http.request_rate"].as_u64().unwrap(),
    );
    let first = at("firstCounterAt").unwrap();
    part.firsts.insert("rate".into(), first);
    part.lasts
        .insert("rate".into(), first + requests * 1000 / rate);
    part
}

struct Golden {
    out: String,
    json: Value,
    ours: (String, Value),
}

fn golden(name: &str, phases: Vec<Phase>, start_ms: u64, now_ms: u64, hidden: bool) -> Golden {
    let read = |suffix: &str| std::fs::read_to_string(format!("{GOLDEN}/{name}.{suffix}")).unwrap();
    let json: Value = serde_json::from_str(&read("json")).unwrap();
    let mut plan = plan(&[]);
    plan.load = plan::Load::Open {
        phases,
        first: plan::FirstArrival::AfterOneGap,
    };
    let manifest = Manifest::new(
        &plan,
        record::RunContext {
            wall_ns: start_ms * 1_000_000,
            ..started()
        },
    );
    let options = PrintOptions {
        hidden: hidden
            .then(|| "plugins.metrics-by-endpoint".to_owned())
            .into_iter()
            .collect(),
        ..PrintOptions::default()
    };
    let mut console = Console::new(&manifest, Plugins::default(), Zone::fixed(0), options);
    let mut text = console.begin();
    let parts: BTreeMap<u64, Tally> = json["intermediate"]
        .as_array()
        .unwrap()
        .iter()
        .map(|period| {
            (
                period["period"].as_str().unwrap().parse().unwrap(),
                part(period),
            )
        })
        .collect();
    let end = now_ms.max(start_ms + manifest.load.end_ns / 1_000_000);
    let mut seen = Vec::new();
    for ms in (start_ms..end).step_by(100) {
        let mut interval = Interval {
            span: TimeSpan::new(
                (ms - start_ms) * 1_000_000,
                (ms - start_ms + 100) * 1_000_000,
            ),
            ..Interval::default()
        };
        let period = ms / 10_000 * 10_000;
        if let Some(part) = parts.get(&period).filter(|_| !seen.contains(&period)) {
            seen.push(period);
            interval.frontend = part.clone();
        }
        text.push_str(&console.interval(&interval));
    }
    text.push_str(&console.finish(now_ms * 1_000_000));
    text.push_str(&console.log_file(&format!("{name}.json")));
    Golden {
        out: read("out.txt"),
        json,
        ours: (text, serde_json::from_str(&console.json()).unwrap()),
    }
}

fn split(text: &str) -> (Vec<&str>, Vec<&str>) {
    let phases = text
        .lines()
        .filter(|line| line.starts_with("Phase "))
        .collect();
    let mut reports = Vec::new();
    let mut in_report = false;
    for line in text.lines() {
        if line.starts_with("-----") || line.starts_with("All VUs") {
            in_report = true;
        }
        if line.starts_with("Phase ") || line.starts_with("id ") || line.starts_with('[') {
            in_report = in_report && line.starts_with("id ");
            continue;
        }
        if in_report {
            reports.push(line);
        }
        if line.starts_with("Log file") {
            break;
        }
    }
    (phases, reports)
}

fn phase(name: Option<&str>, seconds: u64) -> Phase {
    Phase {
        name: name.map(str::to_owned),
        duration_text: format!("{seconds}s"),
        ..Phase::new(seconds * SECOND, Shape::Count(1))
    }
}

fn differing(golden: &Golden) -> Vec<&str> {
    let (their_phases, theirs) = split(&golden.out);
    let (our_phases, ours) = split(&golden.ours.0);
    assert_eq!(our_phases, their_phases);
    assert_eq!(ours.len(), theirs.len(), "{}", golden.ours.0);
    let lines = ours
        .into_iter()
        .zip(theirs)
        .filter(|(ours, theirs)| ours != theirs);
    lines
        .filter_map(|(ours, _)| ours.trim().split(':').next())
        .collect()
}

fn shape(value: &Value, path: &str, out: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            let is_free = path.ends_with("counters")
                || path.ends_with("summaries")
                || path.ends_with("histograms");
            let mut keys: Vec<&String> = map
                .keys()
                .filter(|key| !(*key == "http.request_rate" && map[*key].is_null()))
                .collect();
            if is_free {
                keys.sort();
            }
            keys.iter()
                .for_each(|key| shape(&map[*key], &format!("{path}/{key}"), out));
        }
        Value::Array(items) => items
            .iter()
            .enumerate()
            .for_each(|(i, item)| shape(item, &format!("{path}/{i}"), out)),
        leaf => out.push(format!(
            "{path}: {}",
            if leaf.is_string() { "text" } else { "number" }
        )),
    }
}

fn check_json(golden: &Golden) {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    shape(&golden.ours.1, "", &mut ours);
    shape(&golden.json, "", &mut theirs);
    assert_eq!(ours, theirs);
    for (ours, theirs) in golden.ours.1["intermediate"]
        .as_array()
        .unwrap()
        .iter()
        .zip(golden.json["intermediate"].as_array().unwrap())
    {
        let without_null = |value: &Value| {
            let mut map = value.as_object().unwrap().clone();
            map.remove("http.request_rate");
            map
        };
        assert_eq!(without_null(ours), without_null(theirs));
    }
}

#[test]
fn refused_connections_are_printed() {
    let golden = golden(
        "refused",
        vec![phase(None, 2)],
        1_795_178_041_200,
        1_795_178_045_000,
        true,
    );
    assert_eq!(differing(&golden), [""; 0]);
    check_json(&golden);
    assert_eq!(golden.ours.1["aggregate"], golden.json["aggregate"]);
    let theirs = golden
        .out
        .split_once('\n')
        .unwrap()
        .1
        .split("[exit")
        .next()
        .unwrap();
    assert_eq!(golden.ours.0, theirs);
}

#[test]
fn failed_captures() {
    let golden = golden(
        "failed-capture",
        vec![phase(None, 2)],
        1_795_177_974_900,
        1_795_177_978_600,
        true,
    );
    assert_eq!(differing(&golden), [""; 0]);
    check_json(&golden);
    assert_eq!(golden.ours.1["aggregate"], golden.json["aggregate"]);
}

#[test]
fn plugins_shown_when_they_are_not_hidden() {
    let golden = golden(
        "ensure-expect",
        vec![phase(None, 2)],
        1_795_177_957_300,
        1_795_177_961_000,
        false,
    );
    assert_eq!(differing(&golden), [""; 0]);
    check_json(&golden);
}

#[test]
fn two_phases_over_a_period_border() {
    let golden = golden(
        "loop-capture",
        vec![phase(Some("warm"), 3), phase(Some("ramp"), 4)],
        1_795_177_993_200,
        1_795_178_002_900,
        true,
    );
    assert_eq!(differing(&golden), ["http.request_rate", "mean", "median"]);
    check_json(&golden);
}

#[test]
fn capped_and_paused() {
    let phases = vec![phase(Some("capped"), 3), phase(None, 2), phase(None, 2)];
    let golden = golden(
        "max-vusers-think",
        phases,
        1_795_178_016_300,
        1_795_178_026_000,
        true,
    );
    assert_eq!(differing(&golden), ["http.request_rate"]);
    check_json(&golden);
}

fn accumulator() -> Box<dyn accumulator::Accumulator> {
    let endpoints = ["", "", "/cart", "/order"].map(str::to_owned);
    let scenarios = vec!["checkout".to_owned()];
    Box::new(Accumulator::new(scenarios, endpoints.to_vec(), None))
}

#[test]
fn a_run_is_printed_again_from_its_record() {
    let folder = Folder::new();
    let mut plan = plan(&[]);
    let plugins = Plugins {
        hidden: vec!["plugins.metrics-by-endpoint".into()],
        ..Plugins::default()
    };
    plan.provenance.frontend_settings = plugins.settings();
    let run = write_all(&folder.0, &plan, intervals_with(accumulator()));
    let zone = || Zone::fixed(2 * 3600);
    let mut live = Console::new(&run.manifest, plugins, zone(), PrintOptions::default());
    let mut text = live.begin();
    for interval in intervals_with(accumulator()) {
        text.push_str(&live.interval(&interval));
    }
    text.push_str(&live.finish(WALL + end().ns));
    let (again, replayed) = Console::replay(&run, zone(), PrintOptions::default()).unwrap();
    assert_eq!(replayed, text);
    assert_eq!(again.json(), live.json());
    assert!(
        text.starts_with(
            "Phase started: warm (index: 0, duration: 2s) 15:15:00(+0200)\n\nPhase completed: warm"
        ),
        "{text}"
    );
    assert!(text.contains("\nAll VUs finished. Total time: 3 seconds\n\n"));
    assert!(!text.contains("metrics-by-endpoint") && live.json().contains("metrics-by-endpoint"));
}

#[test]
fn settings_of_older_records_and_of_none_are_read() {
    let folder = Folder::new();
    let run = write_all(&folder.0, &plan(&[]), intervals_with(accumulator()));
    let mut json = serde_json::to_value(&run.manifest).unwrap();
    assert_eq!(json.get("frontend_settings"), None);
    json["plugins"] = serde_json::json!({
        "ensure": null, "apdex_ms": 50.0, "extended_metrics": false, "endpoints": null, "hidden": ["h"], "expect": null,
    });
    let older: Manifest = serde_json::from_value(json.clone()).unwrap();
    let plugins = Plugins::from_settings(&older.frontend_settings).unwrap();
    assert_eq!(
        (plugins.apdex_ms, plugins.hidden),
        (Some(50.0), vec!["h".to_owned()])
    );
    json["plugins"] = serde_json::json!({ "apdex_ms": "no" });
    let damaged: Manifest = serde_json::from_value(json).unwrap();
    assert!(Plugins::from_settings(&damaged.frontend_settings).is_err());
}
