//! Checks that the verdict on the measurement detects faults of the load generator and raises no
//! false alarms.

use super::super::{
    Assertion, Depth,
    experiment::{Experiment, Results},
    machine::{Neighbour, Starved},
};

pub fn verdict(results: &Results) -> String {
    results
        .summary
        .measurement
        .as_ref()
        .map_or_else(|| "none".to_owned(), |m| m.verdict.clone())
}

pub fn verdicts(depth: Depth) -> Result<Vec<Assertion>, String> {
    let (healthy, starved, stalled) = depth.runs;
    let mut findings = Vec::new();
    let constant = Experiment {
        server: "mode=constant&service=2ms".into(),
        rate: 200,
        seconds: 3,
        ..Experiment::default()
    };
    let valid = on_a_healthy_machine(healthy, &constant)?;
    findings.push(valid.finding("healthy runs that are VALID", depth));
    let invalid = count(starved, || {
        let running = constant.start()?;
        let starved = Starved::child(&running.generator);
        let results = running.finish();
        drop(starved);
        let results = results?;
        let early = results
            .summary
            .measurement
            .as_ref()
            .is_some_and(|m| m.first_bad_ns.is_some_and(|ns| ns <= 2_000_000_000));
        Ok(verdict(&results) == "INVALID" && early && results.exit == Some(4))
    })?;
    findings.push(Assertion::same(
        "starved runs that are INVALID within 2 s",
        starved,
        invalid,
    ));
    let stall = Experiment {
        server: "mode=stall&stall=500ms&every=1s&service=1ms".into(),
        rate: 200,
        seconds: 3,
        ..Experiment::default()
    };
    let fair = on_a_healthy_machine(stalled, &stall)?;
    findings.push(fair.finding("stalled servers not attributed to the generator", depth));
    findings.extend(closed_loops(depth)?);
    Ok(findings)
}

/// Tests closed loops. Their requests cannot be late, so faults appear as stalls.
fn closed_loops(depth: Depth) -> Result<Vec<Assertion>, String> {
    let (healthy, stolen, neighbours) = depth.closed;
    let closed = Experiment {
        server: "mode=constant&service=2ms".into(),
        users: Some(4),
        seconds: 3,
        ..Experiment::default()
    };
    let valid = on_a_healthy_machine(healthy, &closed)?;
    let found = count(stolen, || {
        let running = closed.start()?;
        let starved = Starved::child(&running.generator);
        let results = running.finish();
        drop(starved);
        let results = results?;
        Ok(verdict(&results) == "INVALID" && results.exit == Some(4))
    })?;
    // If a neighbouring process affects the figures, the verdict must report it.
    let unsaid = count(neighbours, || {
        let running = closed.start()?;
        let neighbour = Neighbour::on_core(1);
        let results = running.finish();
        drop(neighbour);
        let results = results?;
        let (reported, truth) = (results.service_ms(0.99), results.true_service_ms(0.99));
        let moved = reported > truth + f64::max(truth * MOVED, MOVED_MS);
        Ok(moved && verdict(&results) == "VALID")
    })?;
    Ok(vec![
        valid.finding("healthy closed loops that are VALID", depth),
        Assertion::same("starved closed loops that are INVALID", stolen, found),
        Assertion::same(
            "closed loops next to a busy neighbour that changed and are VALID",
            0,
            unsaid,
        ),
    ])
}

const MOVED: f64 = 0.05;
const MOVED_MS: f64 = 2.0;

fn count(runs: usize, mut run: impl FnMut() -> Result<bool, String>) -> Result<usize, String> {
    let mut hits = 0;
    for _ in 0..runs {
        hits += usize::from(run()?);
    }
    Ok(hits)
}

#[derive(Default)]
struct RunVerdicts {
    well: usize,
    decided: usize,
    excused: usize,
    blamed: Vec<String>,
}

impl RunVerdicts {
    fn finding(&self, what: &str, depth: Depth) -> Assertion {
        let mut remarks = self.blamed.clone();
        if self.excused > 0 {
            remarks.push(format!(
                "in {} more the machine itself was late",
                self.excused
            ));
        }
        let remarks = match remarks.as_slice() {
            [] => String::new(),
            some => format!(" ({})", some.join("; ")),
        };
        Assertion {
            what: what.to_owned(),
            expected: self.decided.to_string(),
            measured: format!("{}{remarks}", self.well),
            // Only a long self-test requires decided runs, because the machine may be busy.
            holds: self.well == self.decided && (self.decided > 0 || !depth.microseconds),
        }
    }
}

/// Repeats an experiment. A verdict other than VALID is excused if the witness thread was also
/// late.
fn on_a_healthy_machine(runs: usize, experiment: &Experiment) -> Result<RunVerdicts, String> {
    let mut reported = RunVerdicts::default();
    for _ in 0..runs {
        let results = experiment.run()?;
        if verdict(&results) == "VALID" {
            reported.well += 1;
            reported.decided += 1;
        } else if results.machine_was_late {
            reported.excused += 1;
        } else {
            reported.decided += 1;
            reported.blamed.push(reasons(&results));
        }
    }
    Ok(reported)
}

fn reasons(results: &Results) -> String {
    let measurement = results.summary.measurement.as_ref();
    measurement.map_or_else(
        || "no verdict".to_owned(),
        analysis::verdict::Measurement::line,
    )
}

pub fn validity(name: &str, results: &Results) -> Assertion {
    Assertion::same(format!("{name}measurement"), "VALID", verdict(results))
        .excused(results.machine_was_late)
}
