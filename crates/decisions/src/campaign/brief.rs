//! The question of a campaign, and how certain its answer is.

use super::{FinishedStage, Identity, StageOutcome, StageRow, StageVerdict};

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
    let stages = super::text::listed(&names).unwrap_or_default();
    if texts.is_empty() {
        return format!("How does the service respond in these stages: {stages}?");
    }
    let texts: Vec<String> = texts.iter().map(|text| format!("`{text}`")).collect();
    format!(
        "In which of these stages do the criteria hold: {stages}? The criteria are {}.",
        texts.join(", ")
    )
}

pub(super) fn certainty(stages: &[FinishedStage<'_>], rows: &[StageRow]) -> String {
    let verdict_of = |stage: &FinishedStage<'_>| match &stage.outcome {
        StageOutcome::Ran { page, .. } => {
            let measurement = page.summary.measurement.as_ref();
            Some(measurement.map(|measurement| measurement.verdict.clone()))
        }
        _ => None,
    };
    let verdicts: Vec<(&str, Option<String>)> = stages
        .iter()
        .filter_map(|stage| Some((stage.name, verdict_of(stage)?)))
        .collect();
    let named = |wanted: Option<&str>| {
        let names = verdicts.iter();
        let names = names.filter(|(_, verdict)| verdict.as_deref() == wanted);
        let names: Vec<&str> = names.map(|(name, _)| *name).collect();
        super::text::listed(&names)
    };
    let mut texts = Vec::new();
    texts.extend(
        named(Some("INVALID")).map(|names| {
            format!("None for {names}: the load generator disturbed the measurement.")
        }),
    );
    texts.extend(named(Some("DEGRADED")).map(|names| {
        format!("Reduced for {names}: the load generator may have affected the figures.")
    }));
    texts.extend(named(None).map(|names| {
        format!("Unknown for {names}: another tool measured them, or too little was sent.")
    }));
    texts.extend(named(Some("VALID")).map(|names| {
        format!("High for {names}: the load generator kept up. Each stage ran once.")
    }));
    let unsure = rows.iter();
    let unsure = unsure.filter(|row| row.verdict == StageVerdict::Inconclusive);
    let unsure: Vec<&str> = unsure.map(|row| row.name.as_str()).collect();
    texts.extend(
        super::text::listed(&unsure)
            .map(|names| format!("Not all criteria of {names} could be decided.")),
    );
    if texts.is_empty() {
        texts.push("None: no stage was measured.".to_owned());
    }
    texts.join(" ")
}
