//! Texts for comparisons.

use record::units;

use super::{
    Change, CompareConfig, Compared, FigureOutcome, FigureUnit, Method, Side, Subject, judge,
};

#[must_use]
pub fn value(unit: FigureUnit, value: f64) -> String {
    match unit {
        FigureUnit::Nanoseconds => units::time(value.round().max(0.0) as u64),
        FigureUnit::Share => units::share(value),
        FigureUnit::PerSecond => format!("{}/s", units::rate(value)),
    }
}

/// Formats `+8.1 %  (95 %: +6.2 to +9.9)`, or for shares `+0.30 points  (95 %: +0.21 to +0.42)`.
#[must_use]
pub fn change(unit: FigureUnit, change: &Change) -> String {
    let estimate = format!("{} {}", signed(unit, change.estimate), unit_of(unit));
    let Some((low, high)) = change.interval else {
        return estimate;
    };
    format!(
        "{estimate}  ({} %: {} to {})",
        units::decimal((change.confidence * 1000.0).round() / 10.0),
        signed(unit, low),
        signed(unit, high)
    )
}

fn unit_of(unit: FigureUnit) -> &'static str {
    match unit {
        FigureUnit::Share => "points",
        FigureUnit::Nanoseconds | FigureUnit::PerSecond => "%",
    }
}

fn signed(unit: FigureUnit, value: f64) -> String {
    let text = unsigned(unit, value.abs());
    let is_nothing = text.chars().all(|c| c == '0' || c == '.');
    let sign = match value {
        _ if is_nothing => "",
        value if value < 0.0 => "-",
        _ => "+",
    };
    format!("{sign}{text}")
}

fn unsigned(unit: FigureUnit, value: f64) -> String {
    let percent = value * 100.0;
    match unit {
        FigureUnit::Share => format!("{percent:.2}"),
        _ if percent >= 999.5 => units::count(percent.round() as u64),
        _ if percent >= 99.95 => format!("{percent:.0}"),
        _ => format!("{percent:.1}"),
    }
}

fn at_most(unit: FigureUnit, value: f64) -> String {
    let step = match unit {
        FigureUnit::Share => 1e-4,
        FigureUnit::Nanoseconds | FigureUnit::PerSecond => 1e-3,
    };
    unsigned(unit, (value / step - 1e-9).ceil() * step)
}

/// Formats `7.1 %`, or for shares `0.30 points`.
#[must_use]
pub fn amount(unit: FigureUnit, change: f64) -> String {
    format!("{} {}", unsigned(unit, change.abs()), unit_of(unit))
}

pub(super) fn judged(compared: &Compared, config: &CompareConfig) -> String {
    let unit = compared.unit;
    let bound = judge::margin(unit, config);
    let margin = margin(unit, config);
    let Some((change, interval)) = compared
        .change
        .and_then(|change| Some((change, change.interval?)))
    else {
        return "INCONCLUSIVE: no interval, because the random variation is unknown".to_owned();
    };
    if change.confidence < judge::least(config) {
        return "INCONCLUSIVE: too few runs for a useful interval".to_owned();
    }
    let (low, high) = judge::worsening(unit, interval.0, interval.1);
    match compared.outcome {
        // Without a p-value, the result is only a hint and must not raise an alarm.
        FigureOutcome::Regressed if change.p.is_none() => beyond(unit, config),
        FigureOutcome::Regressed => format!("REGRESSED {}", beyond(unit, config)),
        FigureOutcome::Improved => "improved".to_owned(),
        FigureOutcome::NoRegression if low.abs() <= bound => {
            let most = low.abs().max(high.abs());
            if most == 0.0 {
                return "no change".to_owned();
            }
            format!(
                "no change larger than {} {}",
                at_most(unit, most),
                unit_of(unit)
            )
        }
        FigureOutcome::NoRegression => {
            format!(
                "not worse by more than {} {}",
                at_most(unit, high.max(0.0)),
                unit_of(unit)
            )
        }
        FigureOutcome::Inconclusive if low > bound => format!(
            "INCONCLUSIVE: beyond {margin}, but among this many figures, one may be beyond it \
            by chance (p {:.2})",
            change.p_beyond_margin.unwrap_or(1.0)
        ),
        FigureOutcome::Inconclusive => format!("INCONCLUSIVE: {margin} is within the interval"),
    }
}

pub(super) fn looked_at(mut compared: Compared, config: &CompareConfig) -> Compared {
    if compared.outcome == FigureOutcome::Regressed {
        compared.text = beyond(compared.unit, config);
    }
    compared
}

fn beyond(unit: FigureUnit, config: &CompareConfig) -> String {
    format!("beyond the margin of {}", margin(unit, config))
}

fn margin(unit: FigureUnit, config: &CompareConfig) -> String {
    let bound = judge::margin(unit, config);
    format!("{} {}", without_zeros(unit, bound), unit_of(unit))
}

fn without_zeros(unit: FigureUnit, value: f64) -> String {
    let text = match unit {
        FigureUnit::Share => format!("{:.3}", value * 100.0),
        _ => format!("{:.2}", value * 100.0),
    };
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

pub(super) fn unknown(subject: &Subject, baseline: &Side, candidate: &Side) -> String {
    let mut runs = baseline.runs.iter().chain(&candidate.runs);
    match runs.find(|run| subject.value(run).is_none()) {
        Some(run) => format!("INCONCLUSIVE: {} {}", run.name, subject.missing(run)),
        None => "INCONCLUSIVE: a ratio to zero is not defined".to_owned(),
    }
}

pub(super) fn method(
    baseline: &Side,
    candidate: &Side,
    method: Method,
    judged: usize,
    confidence: f64,
) -> Option<String> {
    let (first, second) = (baseline.runs.len(), candidate.runs.len());
    match method {
Method::Groups => {
let least = statistics::smallest_p(first, second);
let most = ((1.0 - confidence) / least).floor() as usize;
(judged > most).then(|| {
format!(
"{first} and {second} runs are too few to judge {judged} figures together: choose {} with --metric, or make more runs",
if most == 1 { "one".to_owned() } else { format!("at most {most}") }
)
})
}
Method::FewRuns => Some(format!(
"a hint: {first} and {second} runs are too few to tell a change from chance. Make at least 4 of each (5 are better)"
)),
Method::SingleRuns => Some(
"a hint: one run of each. The intervals show the variation within each run, not between repeated runs; make 5 of each"
.to_owned(),
),
Method::SingleFigures => Some(
"only a hint: each side has just one figure, and the random variation is unknown; make 5 runs of each".to_owned(),
),
}
}

pub(super) fn sentence(
    judged: &[Compared],
    verdict: FigureOutcome,
    method: Method,
    config: &CompareConfig,
) -> String {
    let of = |outcome: FigureOutcome| -> String {
        let those = judged.iter().filter(|compared| compared.outcome == outcome);
        let those: Vec<&str> = those.map(|compared| compared.subject.as_str()).collect();
        those.join(", ")
    };
    let sentence = match verdict {
        _ if judged.is_empty() => "none of the figures to judge was measured".to_owned(),
        FigureOutcome::Regressed => format!("worse by more than the margin: {}", of(verdict)),
        FigureOutcome::Inconclusive => {
            format!("cannot tell whether {} became worse", of(verdict))
        }
        FigureOutcome::NoRegression => {
            format!(
                "no figure is worse by more than {}",
                margins(judged, config)
            )
        }
        FigureOutcome::Improved => "better in all judged figures".to_owned(),
    };
    match method.is_hint() {
        true if config.hint_decides => format!("only a hint: {sentence}"),
        true => format!("only a hint: {sentence}"),
        false => sentence,
    }
}

/// Formats `5 %` or `5 % (errors: 0.1 points)`.
#[must_use]
pub fn margins(judged: &[Compared], config: &CompareConfig) -> String {
    let is_there = |is_share: bool| {
        judged
            .iter()
            .any(|one| (one.unit == FigureUnit::Share) == is_share)
    };
    let [relative, share] =
        [FigureUnit::Nanoseconds, FigureUnit::Share].map(|unit| margin(unit, config));
    match (is_there(false), is_there(true)) {
        (true, true) => format!("{relative} (errors: {share})"),
        (false, true) => share,
        _ => relative,
    }
}
