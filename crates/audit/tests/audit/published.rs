use audit::check::Severity;

use super::change::{audit, contradictions};

const MEDPLUM: &str = include_str!("published/medplum.txt");
const PHOENIX: &str = include_str!("published/phoenix.txt");
const SHORTENER: &str = include_str!("published/shortener.md");
const PEPEUNIT: &str = include_str!("published/pepeunit.txt");

#[test]
fn artillerys_rates_contradict_its_counts() {
    let found = contradictions(MEDPLUM);
    assert_eq!(found.len(), 3, "{found:#?}");
    let wanted = [
        "http.request_rate 266/sec, but 166,000 requests in 5 min 15 s are 527/s (-50 %)",
        "http.request_rate 554/sec, but 166,000 requests in 5 min 15 s are 527/s (+5.1 %)",
        "http.request_rate 504/sec, but 30,000 requests in 1 min 17 s are 390/s (+29 %)",
    ];
    for (line, wanted) in found.iter().zip(wanted) {
        assert!(line.starts_with("contradiction  line "), "{line}");
        assert!(line.contains(wanted), "{line}");
        assert!(
            line.contains("Artillery's rate is the mean of the rates of its periods"),
            "{line}"
        );
    }
    assert!(
        audit(MEDPLUM)
            .text()
            .ends_with("relations checked, 3 contradictions\n")
    );
}

#[test]
fn more_in_flight_than_there_are_connections() {
    let found = contradictions(PHOENIX);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(
        found[0]
            .contains("24,387/s × 13.40 ms = 327 requests in flight, on 100 connections (+227 %)"),
        "{}",
        found[0]
    );
    assert!(
        found[0].contains("allow a mean of at most 4.10 ms"),
        "{}",
        found[0]
    );
}

#[test]
fn unexplained_user_time_is_found() {
    let audit = audit(SHORTENER);
    assert_eq!(audit.contradictions, 0);
    let remarks: Vec<_> = audit
        .findings
        .iter()
        .map(|f| (f.kind, f.text.clone()))
        .collect();
    assert_eq!(remarks.len(), 1, "{remarks:#?}");
    assert_eq!(remarks[0].0, Severity::Remark);
    let wanted = "472/s × 291 ms + 47.0/s × 399 ms = 156 requests in flight, on 175 users: 10.9 %";
    assert!(remarks[0].1.contains(wanted), "{}", remarks[0].1);
}

#[test]
fn nothing_is_wrong_with_pepeunits_percentiles() {
    let audit = audit(PEPEUNIT);
    assert_eq!(audit.findings, []);
    assert_eq!(audit.figures, 48);
    assert!(audit.relations > 40);
}
