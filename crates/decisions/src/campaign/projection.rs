//! Estimates the capacity of the target service from that of the tested service, if there is
//! evidence that the bottleneck scales with the number of instances.

use plan::{
    deployment::{Deployment, Scaling},
    report_content::RateUnit,
};
use record::units;
use serde::Serialize;

use super::{FinishedStage, Planned, StageOutcome, StageRow, StageVerdict};
use analysis::saturation::{Reached, ResourceScope};

/// Maximum ratio of target capacity to tested capacity for an estimate.
const MOST: f64 = 4.0;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Projection {
    #[serde(flatten)]
    pub scaling: Scaling,
    pub estimate: Option<Estimate>,
    pub sentence: String,
    pub assumptions: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Estimate {
    pub held: String,
    pub failed: String,
    pub resource: String,
    pub times: f64,
    pub rows: Vec<Bracket>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bracket {
    pub name: String,
    pub measured: [f64; 2],
    pub estimated: [f64; 2],
}

struct LimitEvidence<'a> {
    held: &'a StageRow,
    failed: &'a StageRow,
    planned: [&'a Planned; 2],
    reached: &'a Reached,
}

pub(super) fn project(
    scaling: Scaling,
    unit: RateUnit,
    stages: &[FinishedStage<'_>],
    rows: &[StageRow],
) -> Projection {
    match found(scaling, stages, rows) {
        Ok(found) => Projection {
            scaling,
            sentence: sentence(scaling, unit, &found),
            assumptions: assumptions(scaling, &found),
            estimate: Some(estimate(scaling, &found)),
        },
        Err(reason) => Projection {
            scaling,
            estimate: None,
            sentence: format!(
                "The capacity of {} cannot be estimated: {reason}.",
                describe(scaling.target)
            ),
            assumptions: Vec::new(),
        },
    }
}

fn found<'a>(
    scaling: Scaling,
    stages: &[FinishedStage<'_>],
    rows: &'a [StageRow],
) -> Result<LimitEvidence<'a>, String> {
    let reach = scaling.reach();
    if reach > MOST {
        return Err(format!(
            "they are {} times the tested size, and beyond {MOST:.0} times another limit may come first: test more than {}",
            units::decimal(tenths(reach)),
            describe(scaling.tested)
        ));
    }
    if let Some(other) = rows.iter().find(|row| row.target.is_some()) {
        return Err(format!(
            "{} loads a different service, so the test does not cover a single service",
            other.name
        ));
    }
    let ran = rows
        .iter()
        .filter(|row| row.verdict != StageVerdict::NotRun);
    let Some(failed) = ran.into_iter().find(|row| !row.verdict.holds()) else {
        return Err(
            "no stage failed: the tested service may sustain more, but how much is unknown"
                .to_owned(),
        );
    };
    if failed.verdict != StageVerdict::Fail {
        return Err(format!(
            "{} ended as {}, so the limit was not measured",
            failed.name,
            failed.verdict.word()
        ));
    }
    let (held, skipped) = sustained(stages, rows)?;
    let [of_held, of_failed] = [held, failed].map(|row| {
        row.planned.as_ref().ok_or_else(|| {
format!(
"{} has no rate, and only load that does not wait for the service can show its capacity",
row.name
)
})
    });
    let planned = [of_held?, of_failed?];
    if planned[0].arrivals_per_second >= planned[1].arrivals_per_second {
        return Err(format!(
            "{} failed at a load no higher than one at which {} held",
            failed.name, held.name
        ));
    }
    if skipped > 0 {
        return Err(format!(
            "{} holds only because the cap in the plan turned away {} arrivals",
            held.name,
            units::count(skipped)
        ));
    }
    Ok(LimitEvidence {
        held,
        failed,
        planned,
        reached: limit(scaling.tested, failed)?,
    })
}

fn sustained<'a>(
    stages: &[FinishedStage<'_>],
    rows: &'a [StageRow],
) -> Result<(&'a StageRow, u64), String> {
    let rate = |row: &StageRow| {
        let planned = row.planned.as_ref();
        planned.map_or(0.0, |planned| planned.arrivals_per_second)
    };
    let held = stages
        .iter()
        .zip(rows)
        .filter(|(_, row)| row.verdict.holds());
    let Some((stage, row)) = held.max_by(|(_, a), (_, b)| rate(a).total_cmp(&rate(b))) else {
        return Err("no stage holds, so the capacity is below all of their loads".to_owned());
    };
    let skipped = match &stage.outcome {
        StageOutcome::Ran { page, .. } => page.summary.arrivals.as_ref(),
        _ => None,
    };
    Ok((row, skipped.map_or(0, |arrivals| arrivals.skipped)))
}

fn limit(tested: Deployment, failed: &StageRow) -> Result<&Reached, String> {
    let Some(saturation) = &failed.saturation else {
        return Err(format!(
            "the service was not measured in {}, so the bottleneck is unknown: list its metrics under `server`",
            failed.name
        ));
    };
    let Some(reached) = saturation
        .first
        .and_then(|place| saturation.reached.get(place))
    else {
        let sentence = saturation.sentence.trim_end_matches('.');
        return Err(format!("in {}: {sentence}", failed.name));
    };
    if let ResourceScope::Shared(what) = ResourceScope::from_reached(reached) {
        return Err(format!(
            "the bottleneck is {what}, and more instances do not raise its capacity"
        ));
    }
    let (of, instances) = (reached.all_instances, tested.instances as usize);
    let measured = format!(
        "the {} ({}) was measured on {of}, but `tested` declares {instances}",
        reached.resource, reached.source
    );
    if of > instances {
        return Err(format!("{measured}: correct the wrong number"));
    }
    if of < instances {
        return Err(format!(
            "{measured}: it is unknown whether the instances share it, so measure every instance"
        ));
    }
    Ok(reached)
}

fn estimate(scaling: Scaling, found: &LimitEvidence<'_>) -> Estimate {
    let times = scaling.times();
    let bracket = |name: &str, measured: [f64; 2]| Bracket {
        name: name.to_owned(),
        measured,
        estimated: measured.map(|rate| rate * times),
    };
    let [held, failed] = found.planned;
    let mut rows: Vec<Bracket> = held
        .scenarios
        .iter()
        .zip(&failed.scenarios)
        .map(|(held, failed)| bracket(&held.name, [held.per_second, failed.per_second]))
        .collect();
    if rows.len() < 2 {
        // A single scenario receives all arrivals, so its row would repeat the total.
        rows.clear();
    }
    rows.push(bracket(
        "All arrivals",
        [held.arrivals_per_second, failed.arrivals_per_second],
    ));
    rows.push(bracket(
        "All requests",
        [held.requests_per_second, failed.requests_per_second],
    ));
    Estimate {
        held: found.held.name.clone(),
        failed: found.failed.name.clone(),
        resource: found.reached.resource.clone(),
        times,
        rows,
    }
}

fn sentence(scaling: Scaling, unit: RateUnit, found: &LimitEvidence<'_>) -> String {
    let times = scaling.times();
    let [held, failed] = found.planned;
    let per = unit.name();
    let span = |of: fn(&Planned) -> f64| {
        format!(
            "{} and {}",
            units::rate(unit.from_per_second(of(held)) * times),
            units::rate(unit.from_per_second(of(failed)) * times)
        )
    };
    // If a journey consists of one request, both rates are equal.
    let requests = span(|planned| planned.requests_per_second);
    let is_one = (failed.arrivals_per_second - failed.requests_per_second).abs()
        <= 0.02 * failed.arrivals_per_second;
    let between = if is_one {
        format!("between {requests} requests per {per}")
    } else {
        let arrivals = span(|planned| planned.arrivals_per_second);
        format!("between {arrivals} arrivals and between {requests} requests per {per}")
    };
    format!(
        "Estimate, not measured: the limit of {} is {between}, {} times that of the tested service. The tested service held with {} and failed with {}.",
        describe(scaling.target),
        units::decimal(hundredths(times)),
        found.held.name,
        found.failed.name
    )
}

fn assumptions(scaling: Scaling, found: &LimitEvidence<'_>) -> Vec<String> {
    let (reached, reach) = (found.reached, units::decimal(tenths(scaling.reach())));
    let (tested, target) = (scaling.tested, scaling.target);
    let mut texts = vec![
        format!(
            "Each instance has its own bottleneck: {} ({}), on {} of {} instances. Capacity is assumed to grow linearly with the part of the instances available to this load: {} were tested, the target has {}.",
            reached.resource,
            reached.source,
            reached.instances,
            reached.all_instances,
            left(tested),
            left(target)
        ),
        format!(
            "The limit is somewhere between {} and {}, so the estimate is a range too. It does not account for chance and is not a confidence interval.",
            found.held.name, found.failed.name
        ),
    ];
    texts.extend(reached.held_by.as_ref().map(|who| {
        format!(
            "{who}, which the threads wait for, handles {reach} times the load without slowing down."
        )
    }));
    texts.push(format!(
"Resources shared by all instances (databases, caches, locks, networks, load balancers) handle {reach} times the load. None of them was tested at that load."
));
    texts.push(
"All instances are equal, the load is distributed as in this test, and each request of the other load costs as much as one of this load."
.to_owned(),
);
    texts.push("Scenarios are in the same proportion as in this test.".to_owned());
    texts.extend(found.held.elapsed_ns.map(|ns| {
        format!(
            "A load that was sustained for {} can be sustained indefinitely.",
            units::duration(ns / plan::units::SECOND * plan::units::SECOND)
        )
    }));
    texts
}

fn describe(deployment: Deployment) -> String {
    let instances = match deployment.instances {
        1 => "1 instance".to_owned(),
        many => format!("{many} instances"),
    };
    if deployment.background == 0.0 {
        return instances;
    }
    let share = percent(deployment.background);
    format!("{instances} with {share} used by other load")
}

fn left(deployment: Deployment) -> String {
    let left = units::decimal(hundredths(deployment.left()));
    if deployment.background == 0.0 {
        return left;
    }
    let share = percent(1.0 - deployment.background);
    format!("{} × {share} = {left}", deployment.instances)
}

fn percent(share: f64) -> String {
    format!("{} %", units::decimal(hundredths(share * 100.0)))
}

fn tenths(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

fn hundredths(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests;
