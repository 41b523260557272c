//! Checks that the counts add up and match those of the server, even after failures.

use super::{
    super::{
        Assertion, Depth,
        experiment::{Experiment, Results},
        machine,
    },
    verdicts::verdict,
};

pub fn ledgers(depth: Depth) -> Result<Vec<Assertion>, String> {
    let mut findings = Vec::new();
    let seconds = (depth.seconds / 4).max(2);
    let never = Experiment {
        server: "mode=never&share=20%".into(),
        rate: 200,
        seconds,
        timeout: "500ms",
        ..Experiment::default()
    }
    .run()?;
    let unanswered = never
        .truth
        .requests
        .values()
        .filter(|(_, release)| release.is_none())
        .count();
    findings.extend(balance("never answered: ", &never));
    findings.push(Assertion::same(
        "never answered: time-outs",
        unanswered,
        class(&never, "timeout"),
    ));
    findings.push(Assertion::same(
        "never answered: p90 is at least the time-out",
        true,
        never.response_ms(0.9) >= 500.0,
    ));
    let reset = Experiment {
        server: "mode=reset&share=10%".into(),
        rate: 200,
        seconds,
        ..Experiment::default()
    }
    .run()?;
    findings.extend(balance("resets: ", &reset));
    findings.push(Assertion::same(
        "resets: the server received every issued request",
        reset.summary.requests.issued,
        reset.truth.requests.len(),
    ));
    let mut running = Experiment {
        rate: 200,
        seconds,
        ..Experiment::default()
    }
    .start()?;
    worker::clock::pause(1_000_000_000);
    running.kill_server();
    let killed = running.finish()?;
    findings.extend(balance("server killed: ", &killed));
    findings.push(Assertion::same(
        "server killed: some refused",
        true,
        class(&killed, "refused") > 0,
    ));
    findings.extend(overrun()?);
    Ok(findings)
}

fn overrun() -> Result<Vec<Assertion>, String> {
    let experiment = Experiment {
        rate: 500,
        seconds: 2,
        drain: "0s",
        ..Experiment::default()
    };
    let running = experiment.start()?;
    worker::clock::pause(1_000_000_000);
    machine::hold(&running.generator, 2_500_000_000);
    let results = running.finish()?;
    let arrivals = results
        .summary
        .arrivals
        .as_ref()
        .ok_or("no arrivals were counted")?;
    Ok(vec![
        Assertion::same(
            "overrun: skipped by a cap that the plan does not have",
            0,
            arrivals.skipped,
        ),
        Assertion::same(
            "overrun: some were never sent",
            true,
            arrivals.unsent.is_some_and(|unsent| unsent > 100),
        ),
        Assertion::same("overrun: measurement", "INVALID", verdict(&results)),
    ])
}

fn class(results: &Results, name: &str) -> usize {
    results
        .summary
        .requests
        .unanswered_by_class
        .get(name)
        .copied()
        .unwrap_or(0) as usize
}

fn balance(name: &str, results: &Results) -> Vec<Assertion> {
    let summary = &results.summary;
    let planned = summary
        .arrivals
        .as_ref()
        .and_then(|a| a.planned)
        .unwrap_or(0);
    let adds_up = summary.requests.adds_up && summary.arrivals.as_ref().is_some_and(|a| a.adds_up);
    vec![
        Assertion::same(format!("{name}both ledgers add up"), true, adds_up),
        Assertion::same(format!("{name}issued"), planned, summary.requests.issued),
    ]
}
