//! Tests sweeps over simulated levels: with a peak, without a peak, and with a pool.

use decisions::find::{
    simulated::POOL,
    sweep::{Scaling, level, scaling},
};
use plan::rng::{Purpose, Rng};
use statistics::Law;

use super::super::{Assertion, Depth};

const SWEEPS: u64 = 100;
const USERS: [f64; 8] = [1.0, 2.0, 4.0, 8.0, 16.0, 24.0, 32.0, 48.0];
const NOISE: f64 = 0.02;
const PEAKS: Law = Law {
    one: 100.0,
    serial: 0.05,
    crosstalk: 0.002,
};
const GROWS: Law = Law {
    crosstalk: 0.0,
    ..PEAKS
};
/// Number of users at the peak, √((1 − s) / k), and the throughput there.
const PEAK: (f64, f64) = (21.8, 739.8);
const PLATEAU: f64 = 160.0;

pub fn peaks(_: Depth) -> Result<Vec<Assertion>, String> {
    let (mut users, mut height, mut none) = (0, 0, 0);
    for seed in 0..SWEEPS {
        let found = swept(&measured(PEAKS, seed), seed)?;
        let is_near = |found: Option<f64>, truth: f64, share: f64| {
            found.is_some_and(|found| (found / truth - 1.0).abs() <= share)
        };
        users += u64::from(is_near(found.peak_users.map(|peak| peak.0), PEAK.0, 0.15));
        height += u64::from(is_near(found.peak, PEAK.1, 0.05));
        none += u64::from(swept(&measured(GROWS, seed), seed)?.peak_users.is_none());
    }
    let at_least = |what: String, least: u64, measured: u64| Assertion {
        what,
        expected: format!("≥ {least} of {SWEEPS}"),
        measured: measured.to_string(),
        holds: measured >= least,
    };
    Ok(vec![
        at_least(format!("peak at {} users ± 15 %", PEAK.0), 95, users),
        at_least(format!("peak of {}/s ± 5 %", PEAK.1), 95, height),
        at_least("no peak reported if there is none".into(), 90, none),
    ])
}

pub fn pool_of_eight(_: Depth) -> Result<Vec<Assertion>, String> {
    const LEVELS: usize = 9;
    const COUNTED_S: f64 = 15.0;
    let levels: Vec<(f64, f64)> = (0..LEVELS)
        .map(level)
        .map(|users| {
            (
                users,
                POOL.throughput(users as usize, COUNTED_S, users as u64),
            )
        })
        .collect();
    let most = levels.iter().map(|(_, x)| *x).fold(0.0, f64::max);
    let pool = swept(&levels, 1)?.pool;
    let size = pool.map_or_else(
        || "none".to_owned(),
        |(servers, _)| servers.round().to_string(),
    );
    Ok(vec![
        Assertion::same("places of a pool of 8 that take 50 ms each", 8, size),
        Assertion {
            what: "its plateau".into(),
            expected: format!("{PLATEAU}/s ± 2 %"),
            measured: format!("{most:.1}/s"),
            holds: (most / PLATEAU - 1.0).abs() <= 0.02,
        },
    ])
}

fn swept(levels: &[(f64, f64)], seed: u64) -> Result<Scaling, String> {
    scaling(levels, seed).ok_or_else(|| "levels too few for a result".to_owned())
}

fn measured(law: Law, seed: u64) -> Vec<(f64, f64)> {
    let mut random = Rng::keyed(seed, Purpose::Resampling, 14, 0);
    let mut noise = || (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
    USERS
        .iter()
        .map(|users| (*users, law.at(*users) * (1.0 + NOISE * noise())))
        .collect()
}
