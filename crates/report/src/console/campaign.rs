//! Terminal output of a campaign: one row per stage, then the conclusions.

use analysis::verdict::Judgement;
use decisions::campaign::{Campaign, Comparison, StageRow};
use plan::report_content::RateUnit;
use record::units;

use super::text::{Columns, wrap};

const HEADS: [&str; 8] = [
    "stage",
    "verdict",
    "requests/s",
    "errors",
    "p50",
    "p95",
    "p99",
    "lasted",
];

const RATE: usize = 2;

#[must_use]
pub fn campaign_text(campaign: &Campaign) -> String {
    campaign_in(campaign, Columns::MOST)
}

#[must_use]
pub fn campaign_in(campaign: &Campaign, columns: Columns) -> String {
    let unit = campaign.identity.content.rates;
    let mut heads = HEADS.map(str::to_owned);
    heads[RATE] = format!("requests{}", unit.suffix());
    let mut rows: Vec<[String; 8]> = vec![heads];
    rows.extend(campaign.stages.iter().map(|row| cells(row, unit)));
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..HEADS.len()).map(width).collect();
    let mut text = String::from("\n");
    for row in &rows {
        let cells = row
            .iter()
            .zip(&widths)
            .enumerate()
            .map(|(column, (cell, width))| {
                if column < 2 {
                    format!("{cell:<width$}")
                } else {
                    format!("{cell:>width$}")
                }
            });
        let line: Vec<String> = cells.collect();
        text += line.join("  ").trim_end();
        text.push('\n');
    }
    text += &format!("p50, p95, p99: {} of all requests\n\n", campaign.times());
    let word = match campaign.verdict {
        Some(Judgement::Pass) => "PASS  ",
        Some(Judgement::Fail) => "FAIL  ",
        Some(Judgement::Inconclusive) => "INCONCLUSIVE  ",
        None => "",
    };
    text += &wrap(&format!("{word}{}", campaign.sentence), 0, columns);
    text.push('\n');
    for recommendation in &campaign.recommendations {
        text += &wrap(&format!("- {recommendation}"), 2, columns);
        text.push('\n');
    }
    text.push('\n');
    for comparison in campaign.comparisons.iter().filter_map(comparison_line) {
        text += &wrap(&comparison, 0, columns);
        text.push('\n');
    }
    if let Some(projection) = &campaign.projection {
        text += &wrap(&projection.sentence, 0, columns);
        text.push('\n');
        if !projection.assumptions.is_empty() {
            text += "It assumes:\n";
        }
        for assumption in &projection.assumptions {
            text += &wrap(&format!("- {assumption}"), 2, columns);
            text.push('\n');
        }
    }
    text
}

fn comparison_line(comparison: &Comparison) -> Option<String> {
    let changed = comparison.figures.iter().filter_map(|figure| {
        let (before, after) = (figure.before.as_ref()?, figure.after.as_ref()?);
        let change = figure.change.as_ref()?;
        Some(format!(
            "{} {after} instead of {before} ({change})",
            figure.name
        ))
    });
    let changed: Vec<String> = changed.collect();
    (!changed.is_empty()).then(|| {
        format!(
            "{} next to {}: {}. One run of each.",
            comparison.after,
            comparison.before,
            changed.join(", ")
        )
    })
}

fn cells(row: &StageRow, unit: RateUnit) -> [String; 8] {
    let dash = |text: Option<String>| text.unwrap_or_else(|| "–".into());
    let [p50, p95, p99] = row.percentiles.clone();
    [
        row.name.clone(),
        row.verdict.word().to_owned(),
        dash(
            row.requests_per_second
                .map(|rate| units::rate(unit.from_per_second(rate))),
        ),
        dash(row.error_share.map(units::share)),
        dash(p50),
        dash(p95),
        dash(p99),
        dash(row.elapsed_ns.map(units::time)),
    ]
}
