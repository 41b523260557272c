//! The question of a campaign, and how certain its answer is.

use record::units;

use super::{FinishedStage, Identity, StageOutcome, StageRow, StageVerdict, mended};

pub(super) fn question(identity: &Identity, rows: &[StageRow]) -> String {
    let about = identity.about.as_ref();
    if let Some(objective) = about.and_then(|about| about.objective.clone()) {
        return objective;
    }
    let mut texts: Vec<&str> = Vec::new();
    for judged in rows.iter().flat_map(|row| &row.criteria) {
        if !texts.contains(&judged.text.as_str()) {
            texts.push(&judged.text);
        }
    }
    let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    let stages = units::listed(&names);
    if texts.is_empty() {
        return format!("How does the service respond in these stages: {stages}?");
    }
    let texts: Vec<String> = texts.iter().map(|text| format!("`{text}`")).collect();
    format!(
        "In which of these stages do the criteria hold: {stages}? The criteria are {}.",
        texts.join(", ")
    )
}

/// Returns the resource that saturated first in the stage that failed, or else in the first stage
/// that reached a limit.
pub(super) fn cause(rows: &[StageRow]) -> Option<String> {
    let saturated = rows.iter().enumerate().filter_map(|(number, row)| {
        let saturation = row.saturation.as_ref()?;
        (!saturation.reached.is_empty()).then_some((number, row, saturation))
    });
    let failed = saturated.clone().find(|(number, row, _)| {
        row.verdict == StageVerdict::Fail && mended(rows, *number).is_none()
    });
    let (_, row, saturation) = failed.or_else(|| saturated.clone().next())?;
    Some(format!("{}: {}", row.name, saturation.sentence))
}

/// Returns how certain the results are, with one sentence for each group of equally certain stages.
pub(super) fn certainty(stages: &[FinishedStage<'_>], rows: &[StageRow]) -> String {
    let measured = stages.iter().zip(rows).filter_map(|(stage, row)| {
        let StageOutcome::Ran { page, .. } = &stage.outcome else {
            return None;
        };
        let measurement = page.summary.measurement.as_ref();
        let verdict = measurement.map(|measurement| measurement.verdict.as_str());
        Some((row, verdict))
    });
    let certainties: Vec<(&str, &str)> = measured
        .map(|(row, verdict)| {
            let certainty = match verdict {
                Some("INVALID") => "None for STAGES: the load generator disturbed the measurement.",
                Some("DEGRADED") => {
                    "Reduced for STAGES: the load generator may have affected the figures."
                }
                None => "Unknown for STAGES: another tool measured them, or too little was sent.",
                _ if row.verdict == StageVerdict::Inconclusive => {
                    "Low for STAGES: not all criteria could be decided."
                }
                _ => "High for STAGES: the load generator kept up. Each stage ran once.",
            };
            (certainty, row.name.as_str())
        })
        .collect();
    let mut texts: Vec<String> = Vec::new();
    for (at, (certainty, _)) in certainties.iter().enumerate() {
        if certainties[..at]
            .iter()
            .any(|(known, _)| known == certainty)
        {
            continue;
        }
        let same = certainties.iter().filter(|(known, _)| known == certainty);
        let names: Vec<&str> = same.map(|(_, name)| *name).collect();
        texts.push(certainty.replace("STAGES", &units::listed(&names)));
    }
    if texts.is_empty() {
        texts.push("None: no stage was measured.".to_owned());
    }
    texts.join(" ")
}
