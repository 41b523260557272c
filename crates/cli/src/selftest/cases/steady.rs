//! Tests the steady-state analysis of simulated runs: warm-up, drift, shift, steady, overload.

use analysis::steady::{
    Behaviour, Steady,
    simulated::{MS, phase, plan, queue, simulated_run, steady},
};
use plan::units::SECOND;

use super::super::{Assertion, Depth};

const RUNS: u64 = 20;
const FLAT: u64 = 40;
const TWO_MINUTES: u64 = 120;

pub fn courses(_: Depth) -> Result<Vec<Assertion>, String> {
    let at_least = |what: &str, least: u64, of: u64, found: u64| Assertion {
        what: what.to_owned(),
        expected: format!("≥ {least} of {of}"),
        measured: found.to_string(),
        holds: found >= least,
    };
    let drifts = |reported: Steady| reported.behaviour == Behaviour::Drifting;
    let stays = |reported: Steady| reported.settled_ns == Some(0);
    let step = |t: f64| if t < 60.0 { 5.0 } else { 6.0 };
    let grows = |seconds| {
        let reported = steady(&queue(seconds, 1_100, None));
        reported.is_some_and(|reported| reported.behaviour == Behaviour::Overload)
    };
    let slowly = |t: f64| 5.0 + 5.0 * t / TWO_MINUTES as f64;
    Ok(vec![
        at_least(
            "5 ms + 45 ms × exp(−t / 10 s): cut between 25 and 60 s, p50 after the cut 5 ms ± 2 %",
            RUNS,
            RUNS,
            count(RUNS, TWO_MINUTES, warms_up, |t| {
                5.0 + 45.0 * (-t / 10.0).exp()
            }),
        ),
        at_least(
            "from 5 to 10 ms in 120 s: drifting",
            RUNS,
            RUNS,
            count(RUNS, TWO_MINUTES, drifts, slowly),
        ),
        at_least(
            "from 5 to 6 ms at 60 s: shifting, at 60 ± 3 s",
            RUNS,
            RUNS,
            count(RUNS, TWO_MINUTES, shifts, step),
        ),
        at_least(
            "5 ms: steady from the first second on",
            38,
            FLAT,
            count(FLAT, 60, stays, |_| 5.0),
        ),
        Assertion {
            what: "1,100/s to a server of 1,000/s: overload within 15 s".into(),
            expected: "reported".into(),
            measured: if grows(15) {
                "reported"
            } else {
                "not reported"
            }
            .into(),
            holds: grows(15),
        },
    ])
}

fn count(
    runs: u64,
    seconds: u64,
    is_told: impl Fn(Steady) -> bool,
    ms: impl Fn(f64) -> f64,
) -> u64 {
    let plan = plan(vec![phase(seconds)]);
    let is_told =
        |seed: &u64| steady(&simulated_run(&plan, *seed, seconds, &ms)).is_some_and(&is_told);
    (0..runs).filter(is_told).count() as u64
}

fn warms_up(reported: Steady) -> bool {
    let cut = reported.settled_ns.map(|ns| ns / SECOND);
    let p50 = reported.stats.and_then(|stats| stats.p50.ns);
    cut.is_some_and(|cut| (25..=60).contains(&cut))
        && p50.is_some_and(|ns| (ns as f64 / (5.0 * MS) - 1.0).abs() < 0.02)
}

fn shifts(reported: Steady) -> bool {
    let at = reported.at_ns.map(|ns| ns / SECOND);
    reported.behaviour == Behaviour::Shifting && at.is_some_and(|at| (57..=63).contains(&at))
}
