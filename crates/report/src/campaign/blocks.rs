//! The structure of a campaign's report: the answer, the load, the results, the server, recovery,
//! the estimate, assumptions, and an appendix with all rows.

use decisions::campaign::{Campaign, Comparison, StageRow, recovered};
use plan::{about::About, report_content::SectionPlace};
use record::units;

use super::{appendix, charts::Charts, load, or_dash, projection, results, server};
use crate::{
    about,
    sheet::{Block, Brief, SheetTable},
};

pub(super) fn build<'a>(campaign: &Campaign, charts: &'a Charts) -> Vec<Block<'a>> {
    let identity = &campaign.identity;
    let local = identity.local(identity.started_wall_ns);
    let when = load::clock(local.as_ref(), Some(&identity.started_utc));
    let zone = load::zone_name(campaign);
    // If the name of the zone is an offset, do not repeat it.
    let offset = zone.strip_prefix("UTC").filter(|offset| !offset.is_empty());
    let when = when.map(
        |when| match offset.and_then(|offset| when.strip_suffix(offset)) {
            Some(time) => time.trim_end().to_owned(),
            None => when,
        },
    );
    let target = (!identity.target.is_empty()).then(|| identity.target.clone());
    let facts = [
        target,
        when.map(|when| format!("{when} {zone}")),
        Some(format!("{} stages", campaign.stages.len())),
    ];
    let facts: Vec<String> = facts.into_iter().flatten().collect();
    let mut blocks = vec![
        Block::Title(format!("Load test: {}", identity.name)),
        Block::Facts(facts.join(" · ")),
        Block::Brief(Brief {
            verdict: campaign.verdict.map(Into::into),
            question: campaign.question.clone(),
            sentence: campaign.sentence.clone(),
            cause: campaign.cause.clone(),
            advice: campaign.recommendations.clone(),
            certainty: campaign.certainty.clone(),
        }),
    ];
    blocks.extend(identity.about.iter().filter_map(about_table));
    blocks.extend(sections(campaign, SectionPlace::Start));
    blocks.extend(load::blocks(campaign));
    blocks.extend(results::blocks(campaign, charts));
    blocks.extend(before_and_after(campaign));
    blocks.extend(server::blocks(campaign, charts));
    if campaign.stages.iter().any(|row| row.cool_down.is_some()) {
        blocks.push(Block::Heading("Recovery"));
        blocks.push(Block::Table(recovery(&campaign.stages)));
        blocks.push(Block::Text(
            "After a stage, a few requests probe the service until it responds as in the first stage, for the time in the last column."
                .into(),
        ));
    }
    let rates = campaign.identity.content.rates;
    let projected = campaign.projection.iter();
    blocks.extend(projected.flat_map(|projection| projection::blocks(projection, rates)));
    if !campaign.assumptions.is_empty() {
        blocks.push(Block::Heading("Assumptions"));
        blocks.push(Block::List(campaign.assumptions.clone()));
    }
    blocks.extend(sections(campaign, SectionPlace::End));
    blocks.extend(appendix::blocks(campaign, charts));
    blocks.push(Block::Text(format!(
        "Loadline {} · {} · started {}",
        identity.version, identity.file, identity.started_utc
    )));
    blocks
}

fn about_table<'a>(about: &About) -> Option<Block<'a>> {
    let rows = about::rows(about);
    if rows.is_empty() {
        return None;
    }
    let mut table = SheetTable::new(&["About", "<"]);
    for (name, text, link) in rows {
        table.row([name, text], link);
    }
    Some(Block::Table(table))
}

/// Returns the sections that the team wrote for this position in the report.
fn sections<'a>(campaign: &Campaign, place: SectionPlace) -> Vec<Block<'a>> {
    let sections = campaign.identity.content.sections.iter();
    let sections = sections.filter(|section| section.place == place);
    let blocks = sections.flat_map(|section| {
        [
            Block::OwnHeading(section.title.clone()),
            Block::Written {
                text: section.text.clone(),
                level: 2,
            },
        ]
    });
    blocks.collect()
}

fn before_and_after<'a>(campaign: &Campaign) -> Vec<Block<'a>> {
    if campaign.comparisons.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec![Block::Heading("Before and after")];
    let tables = campaign.comparisons.iter().map(compared);
    blocks.extend(tables.map(Block::Table));
    blocks.push(Block::Text(format!(
        "One run of each stage: a difference no larger than between two runs of the same service may be due to chance. Times are {} of all requests.",
        campaign.times()
    )));
    blocks
}

fn compared(comparison: &Comparison) -> SheetTable {
    let mut table = SheetTable::new(&["", &comparison.before, &comparison.after, "Change"]);
    for figure in &comparison.figures {
        let cells = [
            figure.name.to_owned(),
            or_dash(figure.before.clone()),
            or_dash(figure.after.clone()),
            figure.change.clone().unwrap_or_default(),
        ];
        table.row(cells, None);
    }
    table
}

fn recovery(rows: &[StageRow]) -> SheetTable {
    let heads = [
        "After",
        "<The service recovered",
        "<Recovered if p95 at most",
        "Errors at most",
        "For",
    ];
    let mut table = SheetTable::new(&heads);
    for row in rows {
        let Some(cool_down) = &row.cool_down else {
            continue;
        };
        let back = recovered(cool_down).unwrap_or_else(|| match &cool_down.unmeasured {
            Some(reason) => format!("unknown: {reason}"),
            None => format!("not within {}", units::time(cool_down.probed_until_ns)),
        });
        let cells = [
            row.name.clone(),
            back,
            units::time(cool_down.bound_ns),
            units::share(cool_down.error_bound),
            units::time(cool_down.settled_ns),
        ];
        table.row(cells, None);
    }
    table
}
