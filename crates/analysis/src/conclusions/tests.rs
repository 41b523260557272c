use proptest::prelude::*;

use crate::{
    steady::simulated::{bounded_queue, phase, plan, simulated_run},
    summarise::summarise,
    summary::{Summary, Tone},
};

fn claims(summary: &Summary) -> Vec<&'static str> {
    let mut claims = Vec::new();
    for conclusion in &summary.conclusions {
        let claim = match (conclusion.kind.as_str(), conclusion.tone) {
            ("overload", _) => Some("overload"),
            ("steady", Tone::Bad) => Some("drift"),
            ("steady", _) if conclusion.text.starts_with("Steady from") => Some("steady"),
            ("healthy", _) if conclusion.text.starts_with("The server kept up") => Some("kept up"),
            _ => None,
        };
        claims.extend(claim);
    }
    claims
}

fn contradict(claims: &[&str]) -> bool {
    claims.len() > 1 && claims != ["kept up", "steady"]
}

#[test]
fn a_rise_into_overload_is_not_a_warm_up() {
    // In the middle of the run, the queue of 25,000 requests is full. From then on, p50 is
    // constant.
    for (seconds, comes, limit_s) in [
        (60, 1_100, 2.0),
        (60, 1_050, 1.0),
        (90, 1_200, 5.0),
        (120, 1_100, 3.0),
    ] {
        let summary = summarise(&bounded_queue(seconds, comes, None, Some(limit_s)));
        let texts: Vec<&str> = summary
            .conclusions
            .iter()
            .map(|one| one.text.as_str())
            .collect();
        assert!(
            !texts.iter().any(|text| text.starts_with("Steady from")),
            "{texts:?}"
        );
        let steady = summary.steady.as_ref().unwrap();
        assert_eq!(
            steady.settled_ns, None,
            "{seconds} {comes} {limit_s}: {}",
            steady.sentence
        );
        assert!(!contradict(&claims(&summary)), "{texts:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn overload_drift_kept_up_and_steady_exclude_one_another(
        seconds in prop::sample::select(vec![20u64, 30, 60, 120]),
        comes in 300u64..1_500,
        gives_up in prop::sample::select(vec![None, Some(0.5), Some(2.0), Some(10.0)]),
        limit_s in prop::sample::select(vec![None, Some(0.05), Some(0.5), Some(2.0), Some(8.0)]),
    ) {
        let summary = summarise(&bounded_queue(seconds, comes, gives_up, limit_s));
        let claims = claims(&summary);
        let texts: Vec<&str> = summary.conclusions.iter().map(|one| one.text.as_str()).collect();
        prop_assert!(!contradict(&claims), "{:?}", texts);
    }

    #[test]
    fn changing_times_are_reported_once(
        seed in 0u64..1_000,
        seconds in prop::sample::select(vec![40u64, 60, 120]),
        from_ms in 2.0f64..50.0,
        by in -0.8f64..4.0,
        shape in 0usize..4,
    ) {
        let length = seconds as f64;
        let ms = move |t: f64| from_ms * (1.0 + by * match shape {
            0 => t / length,
            1 => f64::from(u8::from(t > length / 3.0)),
            2 => (-t / (length / 8.0)).exp(),
            _ => 1.0 - (-t / (length / 8.0)).exp(),
        });
        let summary = summarise(&simulated_run(&plan(vec![phase(seconds)]), seed, seconds, ms));
        let claims = claims(&summary);
        let texts: Vec<&str> = summary.conclusions.iter().map(|one| one.text.as_str()).collect();
        prop_assert!(!contradict(&claims), "{:?}", texts);
    }
}

#[test]
fn the_generator_is_not_the_limit_of_a_target_that_failed_most_requests() {
    let mut summary = summarise(&bounded_queue(60, 1_100, None, Some(2.0)));
    let measurement = summary.measurement.as_mut().unwrap();
    measurement.verdict = "INVALID".into();
    measurement.reasons = vec!["12 % of the planned load was never started".into()];
    for (error_share, blames) in [(0.0, true), (0.2, true), (0.96, false), (1.0, false)] {
        summary.all.error_share = Some(error_share);
        let conclusions = super::draw(&summary);
        let generator = conclusions.iter().find(|one| one.kind == "generator");
        let text = &generator.unwrap().text;
        assert_eq!(
            text.contains("not the server, was the limit"),
            blames,
            "{text}"
        );
        // The verdict's sentence states the reason.
        assert!(!text.contains("12 % of the plan"), "{text}");
    }
}
