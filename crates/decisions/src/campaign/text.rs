//! Texts for the results of a campaign, grouped by service.

use plan::report_content::RateUnit;
use record::units;

use super::{
    CoolDown, FinishedStage, Identity, StageOutcome, StageRow, StageVerdict, mended, recovered,
};
use analysis::{
    conclusions,
    summary::{SHARES, Summary},
};

/// Timeouts to suggest to callers. The first timeout above twice the 99.99th percentile is chosen.
const TIMEOUTS_MS: [u64; 10] = [
    100, 250, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 30_000, 60_000,
];

fn load_of(row: &StageRow, unit: RateUnit) -> String {
    let rate = |per_second: f64| units::rate(unit.from_per_second(per_second));
    let per = unit.name();
    let rates = match (&row.planned, row.requests_per_second) {
        (Some(planned), _) => {
            let (arrivals, requests) = (planned.arrivals_per_second, planned.requests_per_second);
            let peak = if planned.varies { " at its peak" } else { "" };
            if (arrivals - requests).abs() > 0.02 * arrivals {
                format!(
                    "{} arrivals and {} requests per {per}{peak}",
                    rate(arrivals),
                    rate(requests)
                )
            } else {
                format!("{} requests per {per}{peak}", rate(requests))
            }
        }
        (None, Some(requests)) => format!("{} requests per {per}", rate(requests)),
        (None, None) => return row.name.clone(),
    };
    format!("{} ({rates})", row.name)
}

type ServiceStages<'a> = (&'a str, Vec<(usize, &'a StageRow)>);

fn groups<'a>(rows: &'a [StageRow], identity: &'a Identity) -> Vec<ServiceStages<'a>> {
    let mut groups: Vec<ServiceStages<'a>> = Vec::new();
    for (number, row) in rows.iter().enumerate() {
        let target = row.target.as_deref().unwrap_or(&identity.target);
        match groups.iter_mut().find(|(known, _)| *known == target) {
            Some((_, group)) => group.push((number, row)),
            None => groups.push((target, vec![(number, row)])),
        }
    }
    groups
}

fn highest<'a>(group: &[(usize, &'a StageRow)]) -> Option<&'a StageRow> {
    let holding = group.iter().take_while(|(_, row)| row.verdict.holds());
    holding.last().map(|(_, row)| *row)
}

/// Returns the last stage on the campaign's own target that passed before one failed. `None` if the
/// first stage failed.
#[must_use]
pub fn highest_holding<'a>(rows: &'a [StageRow], identity: &'a Identity) -> Option<&'a StageRow> {
    let groups = groups(rows, identity);
    let own = groups.iter().find(|(target, _)| *target == identity.target);
    own.and_then(|(_, group)| highest(group))
}

pub(super) fn sentence(rows: &[StageRow], identity: &Identity) -> String {
    let groups = groups(rows, identity);
    let of_each = groups.iter().map(|(target, group)| {
        let text = of_group(group, identity.content.rates);
        if groups.len() > 1 && !text.is_empty() {
            format!("`{target}`: {text}")
        } else {
            text
        }
    });
    let mut sentences: Vec<String> = of_each.filter(|text| !text.is_empty()).collect();
    let not_run: Vec<&str> = rows
        .iter()
        .filter(|row| row.verdict == StageVerdict::NotRun)
        .map(|row| row.name.as_str())
        .collect();
    if !not_run.is_empty() {
        let names = units::listed(&not_run);
        let verb = if not_run.len() == 1 { "was" } else { "were" };
        sentences.push(format!("{names} {verb} not run."));
    }
    for row in rows {
        let Some(cool_down) = &row.cool_down else {
            continue;
        };
        sentences.extend(match recovered(cool_down) {
            Some(_) if row.verdict.holds() => None,
            Some(text) => Some(format!("After {} the service recovered {text}.", row.name)),
            None if cool_down.unmeasured.is_some() => Some(format!(
                "It is unknown whether the service recovered after {}: the probes were INVALID ({}).",
                row.name,
                cool_down.unmeasured.as_deref().unwrap_or_default()
            )),
            None => Some(format!(
                "After {} the service did not recover within {}.",
                row.name,
                units::time(cool_down.probed_until_ns)
            )),
        });
    }
    sentences.join(" ")
}

fn of_group(group: &[(usize, &StageRow)], unit: RateUnit) -> String {
    let mut sentences = Vec::new();
    let mut bad = group
        .iter()
        .map(|(_, row)| row)
        .filter(|row| !row.verdict.holds() && row.verdict != StageVerdict::NotRun);
    // Prefer a failed stage to an invalid one.
    let failed = bad.clone().find(|row| row.verdict == StageVerdict::Fail);
    let first_bad = failed.or_else(|| bad.next());
    match (highest(group), first_bad) {
        (Some(row), None) if group.iter().all(|(_, row)| row.verdict.holds()) => {
            let all = if group.len() == 1 {
                "The stage holds".to_owned()
            } else {
                format!("All {} stages hold", group.len())
            };
            sentences.push(format!("{all}, up to {}.", load_of(row, unit)));
        }
        (Some(row), _) => sentences.push(format!("{} holds.", load_of(row, unit))),
        (None, _) => {}
    }
    if let Some(bad) = first_bad {
        let what = match bad.verdict {
            StageVerdict::Fail => "does not hold",
            StageVerdict::Inconclusive => "cannot be judged",
            StageVerdict::Invalid => "was not measured well enough for a conclusion",
            StageVerdict::CouldNotRun => "could not be run",
            _ => "did not finish",
        };
        let reason = if bad.reason.is_empty() {
            String::new()
        } else {
            format!(": {}", bad.reason)
        };
        sentences.push(format!("{} {what}{reason}.", bad.name));
        let saturation = bad.saturation.as_ref();
        let known = saturation.filter(|saturation| saturation.first.is_some());
        sentences.extend(known.map(|saturation| saturation.sentence.clone()));
    }
    sentences.join(" ")
}

pub(super) fn recommendations(
    stages: &[FinishedStage<'_>],
    rows: &[StageRow],
    identity: &Identity,
) -> Vec<String> {
    let mut texts = Vec::new();
    let groups = groups(rows, identity);
    for (target, group) in &groups {
        let with = if groups.len() > 1 {
            format!(" with `{target}`")
        } else {
            String::new()
        };
        texts.extend(of_service(group, rows, &with, identity.content.rates));
        texts.extend(causes(group, stages, rows));
    }
    texts.extend(unjudged(stages, rows));
    for row in rows {
        if row.cool_down.as_ref().is_some_and(CoolDown::is_not_back) {
            texts.push(format!(
                "Find out why the service does not recover by itself after {}: until then, an overload needs manual intervention.",
                row.name
            ));
        }
    }
    let page = stages
        .iter()
        .zip(rows)
        .rev()
        .find_map(|(stage, row)| match &stage.outcome {
            StageOutcome::Ran { page, .. } if row.verdict.holds() => Some((page, row)),
            _ => None,
        });
    texts.extend(page.and_then(|(page, row)| timeout(&page.summary, row)));
    texts
}

fn of_service(
    group: &[(usize, &StageRow)],
    rows: &[StageRow],
    with: &str,
    unit: RateUnit,
) -> Option<String> {
    let bad = group
        .iter()
        .find(|(_, row)| row.verdict == StageVerdict::Fail);
    let better = bad.and_then(|(number, _)| mended(rows, *number));
    Some(match (highest(group), bad, better) {
        (_, Some((_, bad)), Some(better)) => format!(
            "The cause of the failure of {} has been fixed{}: {} holds.",
            bad.name,
            better
                .target
                .as_ref()
                .map_or_else(String::new, |target| format!(" by `{target}`")),
            better.name
        ),
        (Some(good), Some((_, bad)), None) if has_more_load(bad, good) => format!(
            "Do not plan for more than {}{with}: the limit is between {} and {}. Fix the cause of the failure of {}, then run the campaign again.",
            load_of(good, unit),
            good.name,
            bad.name,
            bad.name
        ),
        (Some(good), Some((_, bad)), None) => format!(
            "Fix the cause of the failure of {}{with}, then run the campaign again: {} had at least as much load and held.",
            bad.name, good.name
        ),
        (None, Some((_, bad)), None) => format!(
            "Fix the cause of the failure of {}{with} before you measure anything else.",
            bad.name
        ),
        (Some(good), None, _) if group.iter().all(|(_, row)| row.verdict.holds()) => {
            format!(
                "Proceed{with}: all {}stages held, up to {}.",
                if with.is_empty() { "" } else { "of its " },
                load_of(good, unit)
            )
        }
        _ => return None,
    })
}

/// Returns the next steps for the first stage of a service that failed and was not fixed since:
/// changes to make, or questions to investigate.
fn causes(
    group: &[(usize, &StageRow)],
    stages: &[FinishedStage<'_>],
    rows: &[StageRow],
) -> Vec<String> {
    let failed = group
        .iter()
        .find(|(_, row)| row.verdict == StageVerdict::Fail);
    let open = failed.filter(|(number, _)| mended(rows, *number).is_none());
    match open.map(|(number, row)| (&stages[*number].outcome, row)) {
        Some((StageOutcome::Ran { page, .. }, row)) => {
            let causes = conclusions::causes(&page.summary).into_iter();
            causes.map(|text| format!("{}: {text}", row.name)).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the next steps for stages that ran without a result.
fn unjudged(stages: &[FinishedStage<'_>], rows: &[StageRow]) -> Vec<String> {
    let mut texts = Vec::new();
    for (stage, row) in stages.iter().zip(rows) {
        match (&stage.outcome, row.verdict) {
            (
                StageOutcome::Ran { page, .. },
                StageVerdict::Invalid | StageVerdict::Inconclusive | StageVerdict::Unfinished,
            ) => {
                let advice = page.summary.verdict.advice.iter();
                texts.extend(advice.map(|text| format!("{}: {text}", row.name)));
            }
            (_, StageVerdict::CouldNotRun | StageVerdict::Unfinished) => {
                texts.push(format!("Run {} again: {}.", row.name, row.reason));
            }
            _ => {}
        }
    }
    texts
}

/// Returns whether a stage had more load than another stage, as planned or else as measured.
fn has_more_load(row: &StageRow, than: &StageRow) -> bool {
    let planned = |row: &StageRow| Some(row.planned.as_ref()?.arrivals_per_second);
    let rates = match (planned(row), planned(than)) {
        (Some(more), Some(less)) => Some((more, less)),
        _ => row.requests_per_second.zip(than.requests_per_second),
    };
    rates.is_some_and(|(more, less)| more > less)
}

/// Suggests a timeout of more than twice the 99.99th percentile under the highest load that passes.
fn timeout(summary: &Summary, row: &StageRow) -> Option<String> {
    let more = summary
        .percentiles
        .iter()
        .find(|more| more.id == summary.all.id)?;
    let at = SHARES.iter().position(|share| *share == 0.9999)?;
    let figure = more.figures.get(at)?;
    let ns = figure.ns.filter(|_| !figure.too_few)?;
    let chosen = TIMEOUTS_MS.iter().find(|ms| **ms * 1_000_000 > 2 * ns)?;
    Some(format!(
        "Callers can time out after {}: 99.99 % of the responses took at most {} in {}, so later responses are unlikely.",
        units::time(chosen * 1_000_000),
        units::time(ns),
        row.name
    ))
}
