use std::{collections::BTreeMap, fs};

use analysis::{
    summary::Summary,
    verdict::{Judged, Judgement},
};
use measure::{Labels, label::LabelGroup};
use record::{Run, RunState};
use report::export;

use crate::support::{
    Folder, MS, SECOND, end, intervals, labels, plan, write, writer, writer_of_all, writer_of_part,
};

pub fn judged(text: &str, judgement: Judgement) -> Judged {
    Judged {
        text: text.into(),
        judgement,
        measured: Some("312 ms".into()),
        value: Some(312e6),
        figure: None,
        margin: Some(-0.25),
        reason: Some("too \"few\"".into()),
        is_robust: None,
        first_violation_ns: Some(2 * SECOND),
        is_of_script: false,
    }
}

fn a_summary() -> Summary {
    let folder = Folder::new();
    analysis::summarise(&write(&folder.0, &plan(&[])))
}

#[test]
fn junit_has_a_case_for_each_criterion_and_one_for_the_measurement() {
    let mut summary = a_summary();
    summary.run.name = "shop & <co>.yml".into();
    summary.record = Some("runs/1".into());
    summary.criteria = vec![
        judged("p99 < 250ms", Judgement::Fail),
        judged("p50 < 1s", Judgement::Pass),
        judged("errors of \"a\u{1}b\" < 1%", Judgement::Inconclusive),
    ];
    let measurement = summary.measurement.as_mut().unwrap();
    measurement.verdict = "INVALID".into();
    measurement.reasons = vec!["3 % of the planned load was never started".into()];
    summary.exit_code = 4;
    let text = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="loadline" tests="4" failures="0" errors="3" skipped="0" time="3.000">
  <testsuite name="shop &amp; &lt;co&gt;.yml" tests="4" failures="0" errors="3" skipped="0" time="3.000" timestamp="2026-11-20T13:15:00">
    <properties>
      <property name="measurement" value="INVALID"/>
      <property name="measurement.reasons" value="3 % of the planned load was never started"/>
      <property name="exit_code" value="4"/>
      <property name="target" value="http://shop.example.test:8080"/>
      <property name="load" value="open, 10/s evenly spaced for 2 s, then 20/s evenly spaced for 1 s"/>
      <property name="version" value="0.1.0"/>
      <property name="record" value="runs/1"/>
    </properties>
    <testcase classname="loadline.shop &amp; &lt;co&gt;_yml" name="p99 &lt; 250ms" time="0.000">
      <error type="invalid" message="measured 312 ms, expected p99 &lt; 250ms, 25.0 % past the bound, first at 2.00 s (too &quot;few&quot;), but the measurement is invalid: 3 % of the planned load was never started">measured 312 ms, expected p99 &lt; 250ms, 25.0 % past the bound, first at 2.00 s (too &quot;few&quot;), but the measurement is invalid: 3 % of the planned load was never started</error>
    </testcase>
    <testcase classname="loadline.shop &amp; &lt;co&gt;_yml" name="p50 &lt; 1s" time="0.000"/>
    <testcase classname="loadline.shop &amp; &lt;co&gt;_yml" name="errors of &quot;a�b&quot; &lt; 1%" time="0.000">
      <error type="inconclusive" message="measured 312 ms, expected errors of &quot;a�b&quot; &lt; 1%, 25.0 % past the bound, first at 2.00 s (too &quot;few&quot;)">measured 312 ms, expected errors of &quot;a�b&quot; &lt; 1%, 25.0 % past the bound, first at 2.00 s (too &quot;few&quot;)</error>
    </testcase>
    <testcase classname="loadline.shop &amp; &lt;co&gt;_yml" name="measurement" time="3.000">
      <error type="invalid" message="measurement INVALID  3 % of the planned load was never started">measurement INVALID  3 % of the planned load was never started</error>
    </testcase>
    <system-out>`think: 0.5` is half a second</system-out>
  </testsuite>
</testsuites>
"#;
    assert_eq!(export::junit(&summary), text);
}

#[test]
fn junit_of_a_run_without_criteria_is_its_measurement() {
    let mut summary = a_summary();
    let text = export::junit(&summary);
    assert!(text.contains(r#"tests="1" failures="0" errors="0" skipped="0""#));
    let case = r#"<testcase classname="loadline.shop_yml" name="measurement" time="3.000"/>"#;
    assert!(text.contains(case), "{text}");

    summary.measurement.as_mut().unwrap().verdict = "DEGRADED".into();
    assert!(export::junit(&summary).contains(case));
    summary.requests.ok = 0;
    summary.requests.failed = 0;
    assert!(export::junit(&summary).contains(r#"<error type="no-answer""#));
    summary.measurement = None;
    assert!(export::junit(&summary).contains(r#"<error type="nothing-measured""#));
}

type Table = Vec<BTreeMap<String, String>>;

fn csv_of(run: &Run) -> Table {
    let mut bytes = Vec::new();
    assert!(export::csv(run, &mut bytes).unwrap());
    let text = String::from_utf8(bytes).unwrap();
    let mut lines = text.lines().map(cells);
    let header = lines.next().unwrap();
    lines
        .map(|row| {
            assert_eq!(row.len(), header.len());
            header.iter().cloned().zip(row).collect()
        })
        .collect()
}

fn cells(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut quoted = false;
    let mut characters = line.chars().peekable();
    while let Some(c) = characters.next() {
        let cell = cells.last_mut().unwrap();
        match c {
            '"' if quoted && characters.peek() == Some(&'"') => {
                characters.next();
                cell.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            c => cell.push(c),
        }
    }
    cells
}

fn sum(rows: &Table, label: &str, column: &str) -> u64 {
    let rows = rows.iter().filter(|row| row["label"] == label);
    rows.map(|row| row[column].parse::<u64>().unwrap()).sum()
}

#[test]
fn csv_adds_up_to_the_summary() {
    let folder = Folder::new();
    let run = write(&folder.0, &plan(&[]));
    let summary = analysis::summarise(&run);
    let rows = csv_of(&run);
    let all = "all requests";
    assert_eq!(sum(&rows, all, "sent"), summary.requests.issued);
    assert_eq!(sum(&rows, all, "done"), summary.all.count);
    assert_eq!(sum(&rows, all, "ok"), summary.requests.ok);
    assert_eq!(sum(&rows, all, "failed"), summary.requests.failed);
    assert_eq!(sum(&rows, all, "no_answer"), summary.requests.unanswered);
    assert_eq!(sum(&rows, all, "planned"), 40);
    assert_eq!(sum(&rows, all, "started"), 40);
    for row in summary.labels.iter().chain(&summary.iterations) {
        assert_eq!(sum(&rows, &row.text, "done"), row.count);
    }
    assert_eq!(sum(&rows, all, "bytes_out"), summary.all.bytes_out);

    let first = &rows[0];
    assert_eq!(first["time_s"], "0.000000000");
    // The run starts at .3 s of the wall clock. Intervals end at whole seconds.
    assert_eq!(first["length_s"], "0.700000000");
    assert_eq!(first["wall_utc"], "2026-11-20T13:15:00.300Z");
    assert_eq!(
        (first["phase"].as_str(), first["group"].as_str()),
        ("warm", "all")
    );
    let cart = rows.iter().find(|row| row["label"] == "GET /cart").unwrap();
    assert_eq!(
        (cart["planned"].as_str(), cart["in_flight_max"].as_str()),
        ("", "")
    );
    assert!(cart["service_p50_ms"].parse::<f64>().unwrap() >= 1.0);
    assert!(
        cart["response_p50_ms"].parse::<f64>().unwrap() > cart["service_p50_ms"].parse().unwrap()
    );
    let order = rows
        .iter()
        .find(|row| row["label"] == "POST /order")
        .unwrap();
    assert_eq!(order["response_p50_ms"], "2.050000");
    let checkout = rows.iter().find(|row| row["group"] == "iteration").unwrap();
    assert_eq!(
        (
            checkout["sent"].as_str(),
            checkout["service_p50_ms"].as_str()
        ),
        ("", "")
    );
    assert!(checkout["iteration_max_ms"].parse::<f64>().unwrap() > 3.0);
}

#[test]
fn csv_of_killed_run_has_finished_intervals() {
    let folder = Folder::new();
    let mut writer = writer(&folder.0, &plan(&[]), labels().all());
    for interval in intervals().iter().take(2) {
        writer.interval(interval, &Default::default());
    }
    let dir = writer.dir().unwrap().to_owned();
    drop(writer);
    let counters = dir.join("counters.jsonl");
    let torn = fs::read_to_string(&counters).unwrap() + "{\"i\":2,\"label\":0,\"iss";
    fs::write(&counters, torn).unwrap();
    let run = Run::open(&dir).unwrap();
    assert_eq!(run.manifest.state, RunState::Running);
    let rows = csv_of(&run);
    let ends = rows.iter().filter(|row| row["group"] == "all");
    assert_eq!(ends.count(), 2);
    assert_eq!(
        sum(&rows, "all requests", "sent"),
        analysis::summarise(&run).requests.issued
    );
}

#[test]
fn csv_adds_processes_up_and_holds_any_name() {
    let folder = Folder::new();
    let mut names = Labels::default();
    names.id(LabelGroup::Request, "GET", "/cart");
    names.id(LabelGroup::Request, "", "=cmd(), \"x\"");
    names.id(LabelGroup::Iteration, "", "checkout");
    let whole = writer_of_all(&folder.0, &plan(&[]), 2)
        .finish(RunState::Complete, end())
        .0;
    let dir = whole.dir.clone().unwrap();
    for (number, labels) in [(0, labels().all()), (1, names.all())] {
        let mut writer = writer_of_part(&dir, &plan(&[]), labels, number, 2);
        for interval in intervals() {
            writer.interval(&interval, &Default::default());
        }
    }
    let run = Run::open(&dir).unwrap();
    let rows = csv_of(&run);
    let summary = analysis::summarise(&run);
    assert_eq!(sum(&rows, "all requests", "sent"), summary.requests.issued);
    assert_eq!(sum(&rows, "all requests", "planned"), 80);
    for row in &summary.labels {
        let text = row.text.replacen("=cmd", "'=cmd", 1);
        assert_eq!(sum(&rows, &text, "done"), row.count, "{text}");
    }
    assert_eq!(sum(&rows, "'=cmd(), \"x\"", "done"), 40);
    assert_eq!(sum(&rows, "GET /cart", "done"), 80);
}

type Samples = BTreeMap<(String, Tags), f64>;

type Tags = Vec<(String, String)>;

/// A strict Prometheus parser. It rejects invalid names, labels and numbers, types that are late or
/// repeated, and samples that are separated or repeated.
fn scraped(text: &str) -> (Samples, BTreeMap<String, String>) {
    assert!(text.ends_with('\n'));
    let (mut samples, mut types) = (Samples::new(), BTreeMap::new());
    let mut family = String::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').unwrap();
            assert!(!help.is_empty() && !types.contains_key(name), "{line}");
            family = name.to_owned();
            continue;
        }
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert_eq!(name, family);
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
            assert!(types.insert(name.to_owned(), kind.to_owned()).is_none());
            assert_eq!(kind == "counter", name.ends_with("_total"), "{name}");
            continue;
        }
        let (name, labels, value) = sample(line);
        let base = ["_bucket", "_sum", "_count"]
            .iter()
            .find_map(|suffix| name.strip_suffix(suffix));
        let of_histogram =
            base.is_some_and(|base| types.get(base).is_some_and(|kind| kind == "histogram"));
        assert_eq!(
            if of_histogram { base.unwrap() } else { &name },
            family,
            "{line}"
        );
        assert!(
            samples.insert((name, labels), value).is_none(),
            "twice: {line}"
        );
    }
    (samples, types)
}

fn is_name(name: &str) -> bool {
    let first = name.starts_with(|c: char| c.is_ascii_lowercase());
    first && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn sample(line: &str) -> (String, Tags, f64) {
    let at = line.find(['{', ' ']).unwrap();
    let (name, mut rest) = line.split_at(at);
    assert!(is_name(name), "{line}");
    let mut labels = Vec::new();
    if let Some(inner) = rest.strip_prefix('{') {
        rest = inner;
        loop {
            let (label, more) = rest.split_once("=\"").unwrap();
            assert!(is_name(label), "{line}");
            let mut value = String::new();
            let mut characters = more.char_indices();
            let end = loop {
                match characters.next().unwrap() {
                    (at, '"') => break at,
                    (_, '\\') => match characters.next().unwrap().1 {
                        'n' => value.push('\n'),
                        c @ ('\\' | '"') => value.push(c),
                        c => panic!("\\{c} in {line}"),
                    },
                    (_, c) => value.push(c),
                }
            };
            labels.push((label.to_owned(), value));
            rest = &more[end + 1..];
            match rest.strip_prefix(',') {
                Some(more) => rest = more,
                None => break,
            }
        }
        rest = rest.strip_prefix('}').unwrap();
    }
    let value = rest.strip_prefix(' ').unwrap();
    (name.to_owned(), labels, value.parse().unwrap())
}

fn labelled(samples: &Samples, name: &str, wanted: &[(&str, &str)]) -> f64 {
    let labels = wanted
        .iter()
        .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()));
    samples[&(name.to_owned(), labels.collect())]
}

#[test]
fn prometheus_figures_equal_the_summary() {
    let folder = Folder::new();
    let run = write(&folder.0, &plan(&[]));
    let summary = analysis::summarise(&run);
    let (samples, types) = scraped(&export::prometheus(&run));
    let value = |name: &str, wanted: &[(&str, &str)]| labelled(&samples, name, wanted);
    let order = "POST /order";
    let cpu_ns: u64 = run.totals.rows.iter().map(|row| row.run.cpu_ns[0]).sum();
    let row = summary.labels.iter().find(|row| row.text == order).unwrap();
    let outcome = |outcome| {
        value(
            "loadline_requests_total",
            &[("label", order), ("outcome", outcome)],
        )
    };
    assert_eq!(
        outcome("ok") + outcome("failed") + outcome("none"),
        row.count as f64
    );
    assert_eq!(outcome("failed") + outcome("none"), row.errors as f64);
    let code = |code| {
        value(
            "loadline_responses_total",
            &[("label", order), ("code", code)],
        )
    };
    assert_eq!(code("201"), row.codes["201"] as f64);
    assert_eq!(code("500"), row.codes["500"] as f64);
    let timeouts = [("label", order), ("cause", "timeout")];
    assert_eq!(
        value("loadline_requests_without_answer_total", &timeouts),
        row.unanswered["timeout"] as f64
    );
    assert_eq!(
        value("loadline_sent_bytes_total", &[("label", order)]),
        row.bytes_out as f64
    );
    assert_eq!(
        value("loadline_arrivals_total", &[("state", "started")]),
        40.0
    );
    assert_eq!(
        value(
            "loadline_iterations_total",
            &[("scenario", "checkout"), ("outcome", "ok")]
        ),
        summary.arrivals.unwrap().completed as f64
    );
    assert_eq!(value("loadline_running", &[]), 0.0);
    assert_eq!(
        value("loadline_worker_cpu_seconds_total", &[("worker", "0")]),
        cpu_ns as f64 / 1e9
    );
    assert_eq!(types["loadline_request_duration_seconds"], "histogram");
    let bucket = |le| {
        value(
            "loadline_request_duration_seconds_bucket",
            &[("label", order), ("le", le)],
        )
    };
    assert_eq!(bucket("0.001"), 0.0);
    assert_eq!(bucket("0.0025"), bucket("60"));
    assert_eq!(
        bucket("+Inf") - bucket("60"),
        row.unanswered["timeout"] as f64
    );
    assert_eq!(
        bucket("+Inf"),
        value(
            "loadline_request_duration_seconds_count",
            &[("label", order)]
        )
    );
    let sum = value("loadline_request_duration_seconds_sum", &[("label", order)]);
    let timed_out = row.unanswered["timeout"] as f64 * (100 * MS) as f64 / 1e9;
    let answered = (row.count - row.unanswered["timeout"]) as f64 * (2 * MS) as f64 / 1e9;
    assert!((sum - timed_out - answered).abs() < 1e-9, "{sum}");
    assert!(value("loadline_lateness_seconds_count", &[]) >= 40.0);
}

#[test]
fn prometheus_histograms_never_fall() {
    let folder = Folder::new();
    let run = write(&folder.0, &plan(&[]));
    let (samples, types) = scraped(&export::prometheus(&run));
    for (name, _) in types.iter().filter(|(_, kind)| *kind == "histogram") {
        let mut series: BTreeMap<Tags, Vec<(f64, f64)>> = BTreeMap::new();
        for ((_, labels), value) in samples
            .iter()
            .filter(|((n, _), _)| *n == format!("{name}_bucket"))
        {
            let (le, others): (Vec<_>, Vec<_>) =
                labels.iter().cloned().partition(|(label, _)| label == "le");
            let bound = le[0].1.replace("+Inf", "inf").parse().unwrap();
            series.entry(others).or_default().push((bound, *value));
        }
        for buckets in series.values_mut() {
            buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
            assert_eq!(buckets.len(), 21);
            assert!(
                buckets.windows(2).all(|pair| pair[0].1 <= pair[1].1),
                "{name}: {buckets:?}"
            );
        }
    }
}

#[test]
fn prometheus_takes_any_name() {
    let folder = Folder::new();
    let mut names = Labels::default();
    names.id(LabelGroup::Request, "", "say \"hi\\\"\nto");
    names.id(LabelGroup::Request, "GET", "/x");
    names.id(LabelGroup::Iteration, "", "checkout");
    let mut writer = writer(&folder.0, &plan(&[]), names.all());
    for interval in intervals() {
        writer.interval(&interval, &Default::default());
    }
    let (samples, _) = scraped(&export::prometheus(writer.run()));
    let tags = [("label", "say \"hi\\\"\nto"), ("outcome", "ok")];
    assert_eq!(labelled(&samples, "loadline_requests_total", &tags), 40.0);
    assert_eq!(labelled(&samples, "loadline_running", &[]), 1.0);
}

#[test]
fn prometheus_before_the_first_interval() {
    let folder = Folder::new();
    let writer = writer(&folder.0, &plan(&[]), labels().all());
    let (samples, _) = scraped(&export::prometheus(writer.run()));
    assert_eq!(labelled(&samples, "loadline_elapsed_seconds", &[]), 0.0);
    assert_eq!(labelled(&samples, "loadline_in_flight", &[]), 0.0);
}

#[test]
fn junit_skips_criteria_that_a_single_iteration_cannot_decide() {
    let mut summary = a_summary();
    summary.run.model = record::Model::Once;
    summary.measurement = None;
    summary.unjudged_criteria = vec!["p95 < 1us".into()];
    let xml = export::junit(&summary);
    assert!(xml.contains(r#"errors="0" skipped="2""#), "{xml}");
    assert!(xml.contains(r#"name="p95 &lt; 1us""#), "{xml}");
    assert!(!xml.contains("<error"), "{xml}");
}
