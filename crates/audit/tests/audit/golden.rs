use audit::{
    check::{self, Severity},
    import,
};

use super::change::audit;

macro_rules! golden {
($($name:literal),* $(,)?) => {
[$(($name, include_str!(concat!("golden/", $name)))),*]
};
}

#[test]
fn transcripts_pass() {
    let wrk = golden![
        "wrk-latency.txt",
        "wrk-done-script.txt",
        "wrk-not-found.txt",
        "wrk-remainder.txt",
        "wrk-script.txt",
        "wrk-script-syntax-error.txt",
        "wrk2-rate-latency.txt",
        "wrk2-rate-plain.txt",
        "wrk2-rate-u-latency.txt",
        "wrk2-done-script.txt",
        "wrk2-short-10s-no-calibration.txt",
        "run_stats.csv",
        "run_stats_history.csv",
        "run_failures.csv",
        "run_exceptions.csv",
        "locust-stderr.txt",
        "../../../../frontends/artillery/tests/golden/ensure-expect.json",
        "../../../../frontends/artillery/tests/golden/ensure-expect.out.txt",
        "../../../../frontends/artillery/tests/golden/failed-capture.json",
        "../../../../frontends/artillery/tests/golden/failed-capture.out.txt",
        "../../../../frontends/artillery/tests/golden/loop-capture.json",
        "../../../../frontends/artillery/tests/golden/loop-capture.out.txt",
        "../../../../frontends/artillery/tests/golden/max-vusers-think.json",
        "../../../../frontends/artillery/tests/golden/max-vusers-think.out.txt",
        "../../../../frontends/artillery/tests/golden/refused.json",
        "../../../../frontends/artillery/tests/golden/refused.out.txt",
    ];
    for (name, text) in wrk {
        let audit = audit(text);
        assert_eq!(audit.contradictions, 0, "{name}\n{}", audit.text());
        assert!(audit.figures > 0, "{name}");
    }
}

#[test]
fn formats_are_distinguished() {
    let format = |text| import::read(text).unwrap().format;
    assert_eq!(format(include_str!("golden/wrk-script.txt")), "wrk");
    assert_eq!(format(include_str!("golden/wrk2-rate-plain.txt")), "wrk2");
    assert_eq!(format(include_str!("golden/wrk2-done-script.txt")), "wrk2");
    assert_eq!(format(include_str!("golden/run_stats.csv")), "Locust's CSV");
    assert_eq!(format(include_str!("golden/locust-stderr.txt")), "Locust");
    assert_eq!(
        format(include_str!(
            "../../../frontends/artillery/tests/golden/loop-capture.json"
        )),
        "Artillery's JSON"
    );
    assert_eq!(
        format(include_str!(
            "../../../frontends/artillery/tests/golden/loop-capture.out.txt"
        )),
        "Artillery"
    );
}

#[test]
fn periods_of_different_length_are_remarked() {
    let loops = audit(include_str!(
        "../../../frontends/artillery/tests/golden/loop-capture.json"
    ));
    let remarks: Vec<_> = loops.findings.iter().map(ToString::to_string).collect();
    assert_eq!(remarks.len(), 1);
    assert!(
        remarks[0].contains("288 requests in 6.761 s are 42.6/s (-30 %)"),
        "{}",
        remarks[0]
    );
    assert!(
        remarks[0].contains("its 2 periods does match 30"),
        "{}",
        remarks[0]
    );
    let wrk = audit(include_str!("golden/wrk-latency.txt"));
    let remarks: Vec<_> = wrk
        .findings
        .iter()
        .map(|f| (f.kind, f.text.clone()))
        .collect();
    assert_eq!(remarks.len(), 1);
    assert_eq!(remarks[0].0, Severity::Remark);
    assert!(
        remarks[0]
            .1
            .contains("14.9 requests in flight, on 10 connections"),
        "{}",
        remarks[0].1
    );
}

#[test]
fn damage_of_web_pages_changes_nothing() {
    for text in [
        include_str!("../../../frontends/artillery/tests/golden/loop-capture.out.txt"),
        include_str!("golden/wrk-latency.txt"),
        include_str!("golden/wrk2-rate-latency.txt"),
        include_str!("golden/locust-stderr.txt"),
    ] {
        let whole_number = audit(text);
        let no_indent: String = text
            .lines()
            .map(|line| format!("{}\n", line.trim()))
            .collect();
        let spaced = text.replace("  ", "\u{a0} ").replace('\n', "\r\n");
        let dots = text.replace("....", "…");
        for damaged in [&no_indent, &spaced, &dots] {
            let again = audit(damaged);
            assert_eq!(
                (again.figures, again.relations, again.contradictions),
                (whole_number.figures, whole_number.relations, 0),
                "{damaged}"
            );
        }
        let twice = audit(&format!("A page.\n\n{text}\nAnd again:\n\n{text}"));
        assert_eq!(twice.figures, 2 * whole_number.figures, "{text}");
        assert_eq!(twice.contradictions, 0);
    }
}

#[test]
fn other_texts_are_not_read() {
    for text in [
        "",
        "hello",
        "{}",
        "{\"a\": 1}",
        "a,b\n1,2\n",
        "Running late for the test\n",
        "| a | b |\n|---|---|\n| 1 | 2 |\n",
        "Usage: wrk <options> <url>\n  Options:\n    -c, --connections <N>  Connections to keep open\n",
    ] {
        let unknown = import::read(text).unwrap_err().to_string();
        for word in ["Artillery", "JSON", "wrk2", "Locust", "CSV", "summary.json"] {
            assert!(unknown.contains(word), "{unknown}");
        }
    }
    let broken = import::read("{\n  \"aggregate\": {")
        .unwrap_err()
        .to_string();
    assert!(
        broken.contains("line 2, column 17: this is not JSON"),
        "{broken}"
    );
}

#[test]
fn findings_are_data_too() {
    let import = import::read(include_str!("published/medplum.txt")).unwrap();
    let json = serde_json::to_value(check::audit(&import)).unwrap();
    assert_eq!(json["contradictions"], 3);
    let first = &json["findings"][0];
    assert_eq!(first["kind"], "contradiction");
    assert_eq!(first["relation"], "rate");
    assert_eq!(first["figures"][0]["name"], "http.request_rate");
    assert_eq!(first["figures"][0]["text"], "266/sec");
    assert_eq!(first["figures"][0]["line"], first["line"]);
}
