//! The headline of a report: a verdict in one word, one sentence, and at most three figures.

use std::collections::BTreeSet;

use super::{decided, key_figures::key_figures, rules};
use crate::{
    summary::{Deciding, Headline, Summary},
    verdict::{Judged, Judgement},
};
use record::units;

const FIGURES: usize = 3;

#[must_use]
pub fn headline(summary: &Summary) -> Headline {
    let criteria = together(&summary.criteria);
    let sentence = match &summary.run.unrecorded {
        Some(cause) => {
            format!(
                "COULD NOT RUN: the run was ended by {cause}. Its figures support no conclusion."
            )
        }
        None => stopped(summary) + &of_what_is_there(summary, sentence(summary, criteria)),
    };
    Headline {
        criteria,
        sentence,
        figures: figures(summary, criteria),
        question: String::new(),
        certainty: String::new(),
        advice: Vec::new(),
        key_figures: key_figures(summary),
        key_conclusions: Vec::new(),
    }
}

fn together(criteria: &[Judged]) -> Option<Judgement> {
    let any = |judgement| criteria.iter().any(|judged| judged.judgement == judgement);
    if criteria.is_empty() {
        None
    } else if any(Judgement::Fail) {
        Some(Judgement::Fail)
    } else if any(Judgement::Inconclusive) {
        Some(Judgement::Inconclusive)
    } else {
        Some(Judgement::Pass)
    }
}

fn stopped(summary: &Summary) -> String {
    decided::stop_sentence(summary).map_or_else(String::new, |text| text + " ")
}

fn of_what_is_there(summary: &Summary, sentence: String) -> String {
    match summary.run.record_ends_ns {
        None => sentence,
        Some(0) => "The record contains no data from the run, so there is nothing to judge.".into(),
        Some(ns) => format!(
            "The record covers only the first {}: {sentence}",
            units::duration(ns)
        ),
    }
}

fn sentence(summary: &Summary, criteria: Option<Judgement>) -> String {
    if let Some(tool) = &summary.run.imported_from {
        return told_by(summary, tool);
    }
    if summary.requests.issued == 0 {
        return "Nothing was sent, so there is nothing to judge.".into();
    }
    if summary.requests.are_all_unanswered() {
        let text = summary.requests.none_answered();
        let (first, rest) = text.split_at(1);
        return format!("{}{rest}.", first.to_uppercase());
    }
    if let Some(m) = summary
        .measurement
        .as_ref()
        .filter(|_| summary.is_invalid())
    {
        return format!(
            "The measurement is invalid, whatever the results of the criteria: {}.",
            m.reasons.join("; ")
        );
    }
    let of = |judgement| {
        let mut found = summary.criteria.iter();
        found.find(|judged| judged.judgement == judgement)
    };
    let number = |judgement| {
        let all = summary.criteria.iter();
        all.filter(|judged| judged.judgement == judgement).count()
    };
    let all = summary.criteria.len();
    let of_all = |n: usize| match (n, all) {
        (1, 1) => "The criterion".to_owned(),
        _ => format!("{n} of {all} criteria"),
    };
    if let Some(failed) = decided::failed_sentence(&summary.criteria) {
        return failed;
    }
    match (criteria, criteria.and_then(of)) {
        (Some(Judgement::Inconclusive), Some(judged)) => format!(
            "{} cannot be decided: {} ({}).",
            of_all(number(Judgement::Inconclusive)),
            judged.text,
            judged.reason.as_deref().unwrap_or("nothing was measured"),
        ),
        (Some(Judgement::Pass), _) => held(&summary.criteria),
        _ => described(summary),
    }
}

fn held(criteria: &[Judged]) -> String {
    let closest = closest(criteria).into_iter().next();
    let all = match criteria.len() {
        1 => "The criterion held".to_owned(),
        2 => "Both criteria held".to_owned(),
        n => format!("All {n} criteria held"),
    };
    let Some(judged) = closest else {
        return format!("{all}.");
    };
    let measured = judged.measured.as_deref().unwrap_or("nothing");
    match judged.distance() {
        Some(distance) => format!(
            "{all}; the closest was {}, measured {measured}, {distance}.",
            judged.text
        ),
        None => format!("{all}; {}, measured {measured}.", judged.text),
    }
}

fn closest(criteria: &[Judged]) -> Vec<&Judged> {
    let mut closest: Vec<&Judged> = criteria.iter().collect();
    let margin = |judged: &&Judged| judged.margin.unwrap_or(f64::INFINITY);
    closest.sort_by(|a, b| margin(a).total_cmp(&margin(b)));
    closest
}

fn told_by(summary: &Summary, tool: &str) -> String {
    let all = &summary.all;
    let mut reported = Vec::new();
    if all.reports("count") {
        let rate = if all.reports("per_second") {
            format!(" at {}/s", units::rate(all.per_second))
        } else {
            String::new()
        };
        reported.push(format!("{} requests{rate}", units::count(all.count)));
    }
    if !summary.errors.is_empty() {
        let causes = summary.errors.iter().take(FIGURES);
        let causes: Vec<String> = causes
            .map(|row| format!("{} × {}", units::count(row.count), row.reason))
            .collect();
        reported.push(causes.join(", "));
    } else if all.reports("errors") {
        reported.push(match all.errors {
            0 => "none failed".to_owned(),
            n => format!("{} failed", units::count(n)),
        });
    }
    let stats = summary.headline_stats();
    let slow = stats.and_then(rules::highest);
    reported.extend(slow.map(|(percentile, figure)| {
        format!("{percentile} of the {} {figure}", summary.headline_name())
    }));
    if reported.is_empty() {
        return format!("{tool} reported no request figures.");
    }
    format!("As reported by {tool}: {}.", reported.join(", "))
}

fn described(summary: &Summary) -> String {
    let name = summary.headline_name();
    let slow = summary
        .headline_stats()
        .and_then(rules::highest)
        .map_or_else(String::new, |(percentile, figure)| {
            format!(", {percentile} of the {name} {figure}")
        });
    let failed = match summary.all.errors {
        0 => "none failed".to_owned(),
        n => format!(
            "{} failed ({})",
            units::count(n),
            units::share(summary.all.error_share.unwrap_or(0.0))
        ),
    };
    format!(
        "No criteria were set: {} requests at {}/s, {failed}{slow}.",
        units::count(summary.all.count),
        units::rate(summary.all.per_second),
    )
}

fn figures(summary: &Summary, criteria: Option<Judgement>) -> Vec<Deciding> {
    let decided = closest(&summary.criteria).into_iter().filter(|judged| {
        // If one criterion failed, the figures of the other criteria did not decide the verdict.
        let decides = criteria == Some(Judgement::Pass) || Some(judged.judgement) == criteria;
        decides && (!summary.is_invalid() || judged.is_robust == Some(true))
    });
    let mut figures: Vec<Deciding> = decided.filter_map(of_criterion).collect();
    let mut names = BTreeSet::new();
    figures.retain(|figure| names.insert(figure.name.clone()));
    figures.truncate(FIGURES);
    figures
}

fn of_criterion(judged: &Judged) -> Option<Deciding> {
    let (name, bound) = judged.text.rsplit_once(['<', '>'])?;
    let operator = &judged.text[name.len()..judged.text.len() - bound.len()];
    Some(Deciding {
        name: format!("criterion {}", name.trim()),
        value: judged.measured.clone()?,
        note: Some(format!("must be {operator}{bound}")),
    })
}
