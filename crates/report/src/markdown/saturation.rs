//! Section of `report.md` about the first bottleneck.

use super::{sections::section, table::MarkdownTable};
use analysis::summary::Summary;
use plan::units::SECOND;
use record::units;

pub fn saturation(summary: &Summary) -> String {
    let Some(saturation) = &summary.saturation else {
        return String::new();
    };
    let sentence = super::table::escaped(&saturation.sentence);
    if saturation.reached.is_empty() {
        return section("What saturated first", &sentence);
    }
    let mut table = MarkdownTable::new(&[
        "Resource",
        "<Limit",
        "<Instances",
        "Reached at",
        "Held",
        "Requests/s at that time",
        "<Cause",
    ]);
    for one in &saturation.reached {
        table.row([
            format!("{} ({})", one.resource, one.source),
            one.limit.clone(),
            format!("{} of {}", one.instances, one.all_instances),
            units::duration(whole_seconds(one.at_ns)),
            units::duration(whole_seconds(one.held_ns)),
            one.issued_per_second
                .map_or_else(|| "–".into(), units::rate),
            one.cause.clone().unwrap_or_else(|| "–".into()),
        ]);
    }
    section("What saturated first", &format!("{sentence}\n\n{table}"))
}

fn whole_seconds(ns: u64) -> u64 {
    (ns + SECOND / 2) / SECOND * SECOND
}
