use super::*;
use crate::find::{ViolationTally, search::InvalidProbe};

fn answer_from(probes: &[(f64, bool, bool)]) -> (SearchResult, Vec<ProbeResult>) {
    let probed = |(level, holds, counts): &(f64, bool, bool)| ProbeResult {
        level: *level,
        reason: ProbeReason::Near,
        spent_s: 4.0,
        tallies: vec![ViolationTally {
            allowed: 0.01,
            seconds: vec![(1_000.0, if *holds { 0.0 } else { 500.0 })],
        }],
        grows: None,
        answered: None,
        invalid: (!counts).then_some(InvalidProbe::Disturbed),
    };
    let probed: Vec<ProbeResult> = probes.iter().map(probed).collect();
    let row = |probed: &ProbeResult| ProbeRow {
        level: probed.level,
        reason: probed.reason,
        holds: probed.holds(),
        invalid: probed.invalid.map(|_| "late".to_owned()),
        counted_s: 4.0,
        requests: 1_000,
        goodput: probed.level,
        errors: Some(0.0),
        ns: [None; 3],
        measured: vec![Some("300 ms".to_owned())],
        beyond: probed.tallies.iter().map(ViolationTally::share).collect(),
        arrived: None,
        answered: None,
        wait: None,
        service: None,
        backlog_growth: None,
        cause: None,
        saturated: None,
        run: String::new(),
    };
    let found = SearchResult {
        schema: 2,
        test: "plan.yml".into(),
        target: None,
        started_utc: String::new(),
        varied: Over::Rate,
        slos: vec!["p99 < 200ms".into()],
        ending: Ending::Interrupted,
        estimate: None,
        interval: None,
        drift: None,
        last_pass: None,
        first_fail: None,
        duration_s: 61.0,
        sentence: String::new(),
        overload: None,
        scaling: None,
        notes: Vec::new(),
        probes: probed.iter().map(row).collect(),
        probabilities: Vec::new(),
        exit_code: 5,
    };
    (found, probed)
}

fn ended(probes: &[(f64, bool, bool)], end: &SearchEnd) -> (String, Option<String>, u8) {
    let (mut found, probed) = answer_from(probes);
    found.end(end, &probed);
    (found.sentence, found.overload, found.exit_code)
}

#[test]
fn an_end_without_an_answer_says_what_is_known() {
    let (reported, above, code) = ended(
        &[(100.0, true, true), (400.0, false, true)],
        &SearchEnd::OutOfBudget,
    );
    assert_eq!(
        reported,
        "no result within the budget: somewhere between 100/s and 400/s"
    );
    assert_eq!(above.unwrap(), "`p99 < 200ms` is 300 ms at 400/s");
    assert_eq!(code, 5);
    let (reported, ..) = ended(
        &[(400.0, true, true), (390.0, false, true)],
        &SearchEnd::OutOfBudget,
    );
    assert_eq!(
        reported,
        "no result within the budget: somewhere between 390/s and 400/s"
    );
    let (reported, above, code) = ended(&[(100.0, true, true)], &SearchEnd::GeneratorLimited);
    assert_eq!(
        reported,
        "at least 100/s, generator-limited: this machine cannot send more load"
    );
    assert_eq!((above, code), (None, 4));
    let (reported, ..) = ended(&[(100.0, true, true)], &SearchEnd::GeneratorDisturbed);
    assert!(
        reported.ends_with("; everything held at 100/s"),
        "{reported}"
    );
}

#[test]
fn what_does_not_count_fails_nothing() {
    let probes = [(2.0, false, false), (5.0, false, true), (1.0, false, true)];
    let (reported, above, code) = ended(&probes, &SearchEnd::NotEvenLowest);
    assert_eq!(reported, "fails even at 1.00/s: `p99 < 200ms` is 300 ms");
    assert_eq!((above, code), (None, 1));
    let (reported, ..) = ended(&[(2.0, false, false)], &SearchEnd::GeneratorLimited);
    assert!(reported.starts_with("unknown: "), "{reported}");
}

#[test]
fn earlier_answer_is_dropped_if_search_ends_without_one() {
    let looks = [
        (95.0, true, true),
        (100.0, true, true),
        (105.0, false, true),
        (110.0, false, true),
    ];
    let (mut found, probed) = answer_from(&looks);
    found.interrupted(&probed);
    assert!(
        found.sentence.starts_with("interrupted: 1"),
        "{}",
        found.sentence
    );
    assert!(found.estimate.is_some() && !found.probabilities.is_empty());
    found.died(&probed);
    assert_eq!((found.estimate, found.interval), (None, None));
    assert!(
        found
            .sentence
            .contains("the service stopped responding after 110/s")
    );
    assert!(found.sentence.ends_with("; everything held at 100/s"));
    found.could_not_go_on("the disk is full", &probed);
    assert_eq!(
        found.sentence,
        "no result: the disk is full; everything held at 100/s"
    );
    assert_eq!(found.exit_code, 3);
}

#[test]
fn a_service_that_drifts_has_no_answer() {
    let (mut found, mut probed) = answer_from(&[
        (126.0, true, true),
        (110.0, false, true),
        (126.0, false, true),
    ]);
    probed[2].reason = ProbeReason::Again;
    found.probes[2].reason = ProbeReason::Again;
    found.probes[2].answered = Some(101.2);
    found.end(&SearchEnd::Drifts(-0.3), &probed);
    assert_eq!(
        found.sentence,
        "no result: the service is not stable. It became slower during the search: 126/s held first, but failed later and answered 101/s"
    );
    assert_eq!(
        (found.exit_code, found.estimate, found.interval),
        (5, None, None)
    );
    assert!((found.drift.unwrap() + 0.26).abs() < 0.01);
    assert_eq!(found.overload, None);
}
