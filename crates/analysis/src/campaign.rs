//! What several runs of one campaign mean together: which stages hold, which do not and why, how the service came back, what follows. Kept as
//! `campaign.json`. Every figure is from the runs' own summaries; it runs nothing and lays nothing out.

mod projection;

use plan::deployment::Scaling;
use record::units;
use serde::Serialize;

use crate::{
    page::Page,
    saturation::Saturation,
    summary::{SHARES, Summary, Tone},
    verdict::Judgement,
};

pub use projection::{Bracket, Estimate, Projection};

/// The version of the format.
pub const SCHEMA: u32 = 1;
/// Of callers' time-outs that would do: the next of these above twice the slowest answer in ten thousand.
const TIMEOUTS_MS: [u64; 10] = [
    100, 250, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 30_000, 60_000,
];

/// Who is back sooner was never away.
const AT_ONCE_NS: u64 = 1_000_000_000;

/// What is known of a campaign before any of its stages ran.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Identity {
    /// Its title.
    pub name: String,
    /// What was loaded; empty where every stage is another tool's.
    pub target: String,
    /// When it started.
    pub started_utc: String,
    /// The same in nanoseconds since 1970.
    pub started_wall_ns: u64,
    /// Loadline's version.
    pub version: String,
    /// The file that it was read from.
    pub file: String,
    /// What is taken for granted, in the user's words.
    pub assumptions: Vec<String>,
    /// What is recommended, in the user's words.
    pub recommendations: Vec<String>,
    /// From which service to which its figures are to lead, if to any.
    pub scaling: Option<Scaling>,
}

/// A stage as it came out.
#[derive(Debug)]
pub struct Stage<'a> {
    /// Its name.
    pub name: &'a str,
    /// The load in words, or another tool's command line.
    pub load: &'a str,
    /// What it sends at its highest rate.
    pub planned: Option<&'a Planned>,
    /// What became of it.
    pub outcome: Outcome<'a>,
    /// How the service was behind it, where that was looked at.
    pub cool_down: Option<&'a CoolDown>,
}

/// What a stage is to send at its highest rate, on average.
#[derive(Debug, Clone, PartialEq, Serialize, serde::Deserialize)]
pub struct Planned {
    /// All scenarios together.
    pub arrivals_per_second: f64,
    /// All endpoints together.
    pub requests_per_second: f64,
    /// Arrivals by scenario.
    pub scenarios: Vec<Rate>,
    /// Requests by endpoint.
    pub endpoints: Vec<Rate>,
}

/// How often something is to come.
#[derive(Debug, Clone, PartialEq, Serialize, serde::Deserialize)]
pub struct Rate {
    /// Whose rate it is.
    pub name: String,
    /// What the user said of it, as it was written.
    pub volume: Option<String>,
    /// So often.
    pub per_second: f64,
}

/// What became of a stage.
#[derive(Debug)]
pub enum Outcome<'a> {
    /// It ran to its end, or to that of a stop rule.
    Ran {
        /// Its figures.
        page: &'a Page,
        /// Its exit code.
        code: u8,
        /// Where its own report is, from the campaign's folder.
        report: &'a str,
    },
    /// It could not be run.
    CouldNotRun(&'a str),
    /// It was ended before its time, by a signal or with the campaign.
    Unfinished,
    /// It was not run.
    NotRun,
}

/// How the service was behind a stage.
#[derive(Debug, Clone, PartialEq, Serialize, serde::Deserialize)]
pub struct CoolDown {
    /// From the end of the stage's load to the first moment from which on the service was as before; none: it was not.
    pub recovered_ns: Option<u64>,
    /// From the end of the stage's load to the first look: nothing is known of what is between.
    pub first_look_ns: u64,
    /// From the end of the stage's load to the last look.
    pub looked_until_ns: u64,
    /// As before: 95th percentile of the response time at most so much, in nanoseconds.
    pub bound_ns: u64,
    /// As before: at most this share of the requests fails.
    pub error_bound: f64,
    /// For so long it had to be.
    pub settled_ns: u64,
    /// Where the looks are recorded, from the campaign's folder.
    pub runs: Vec<String>,
}

/// How a stage came out, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verdict {
    /// Every criterion holds.
    Pass,
    /// It ran; there was nothing to judge.
    Ran,
    /// A criterion does not hold, or a rule stopped it.
    Fail,
    /// The record cannot tell.
    Inconclusive,
    /// The measurement cannot be trusted.
    Invalid,
    /// It could not be run.
    #[serde(rename = "COULD NOT RUN")]
    CouldNotRun,
    /// It was ended before its time.
    Unfinished,
    /// It was not run.
    #[serde(rename = "NOT RUN")]
    NotRun,
}

impl Verdict {
    /// As reports write it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Pass => "PASS",
            Verdict::Ran => "ran",
            Verdict::Fail => "FAIL",
            Verdict::Inconclusive => "INCONCLUSIVE",
            Verdict::Invalid => "INVALID",
            Verdict::CouldNotRun => "COULD NOT RUN",
            Verdict::Unfinished => "unfinished",
            Verdict::NotRun => "not run",
        }
    }

    /// Whether the stages behind it may be run whatever is said of failing.
    #[must_use]
    pub fn holds(self) -> bool {
        matches!(self, Verdict::Pass | Verdict::Ran)
    }
}

/// A stage's row.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// The load in words.
    pub load: String,
    /// How it came out.
    pub verdict: Verdict,
    /// Why, in a sentence; empty of one that simply holds.
    pub why: String,
    /// What it was to send at its highest rate.
    pub planned: Option<Planned>,
    /// Requests that ended, per second.
    pub requests_per_second: Option<f64>,
    /// Requests that ended.
    pub requests: Option<u64>,
    /// The share of them that failed or had no answer.
    pub error_share: Option<f64>,
    /// 50th, 95th and 99th percentile of all requests' service time as they are shown.
    pub percentiles: [Option<String>; 3],
    /// From its start to the last completion or the end of the load.
    pub elapsed_ns: Option<u64>,
    /// When it started, in nanoseconds from the campaign's start.
    pub from_ns: Option<u64>,
    /// Where its report is.
    pub report: Option<String>,
    /// What gave in first, where the server was measured.
    pub saturation: Option<Saturation>,
    /// How the service was behind it.
    pub cool_down: Option<CoolDown>,
}

/// Requests per second of an endpoint, stage by stage.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Endpoint {
    /// Its name.
    pub text: String,
    /// By stage; none of one that did not run.
    pub per_second: Vec<Option<f64>>,
}

/// A whole campaign.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Campaign {
    /// Version of the format.
    pub schema: u32,
    /// What was run.
    pub identity: Identity,
    /// All stages together; none where nothing was judged.
    pub verdict: Option<Judgement>,
    /// What came of it, in a few sentences.
    pub sentence: String,
    /// Stage by stage.
    pub stages: Vec<Row>,
    /// Endpoint by endpoint.
    pub endpoints: Vec<Endpoint>,
    /// What it means for another service, where one is meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub projection: Option<Projection>,
    /// What follows.
    pub recommendations: Vec<String>,
    /// What was taken for granted.
    pub assumptions: Vec<String>,
}

/// Puts stages together.
#[must_use]
pub fn of(identity: Identity, stages: &[Stage<'_>]) -> Campaign {
    let rows: Vec<Row> = stages.iter().map(|stage| row(stage, &identity)).collect();
    let mut recommendations = recommendations(stages, &rows);
    recommendations.extend(identity.recommendations.iter().cloned());
    let mut assumptions = identity.assumptions.clone();
    assumptions.extend(shared(stages));
    Campaign {
        schema: SCHEMA,
        verdict: verdict(&rows),
        sentence: sentence(&rows),
        endpoints: endpoints(stages),
        projection: identity
            .scaling
            .map(|scaling| projection::of(scaling, stages, &rows)),
        stages: rows,
        recommendations,
        assumptions,
        identity,
    }
}

/// What every stage that ran took for granted.
fn shared(stages: &[Stage<'_>]) -> Vec<String> {
    let mut of_each = stages.iter().filter_map(|stage| match &stage.outcome {
        Outcome::Ran { page, .. } => Some(&page.summary.assumptions),
        _ => None,
    });
    let mut shared = of_each.next().cloned().unwrap_or_default();
    for texts in of_each {
        shared.retain(|text| texts.contains(text));
    }
    shared
}

/// How a run came out, by what it has left and what it exited with.
#[must_use]
pub fn judged(summary: &Summary, code: u8) -> Verdict {
    let invalid = summary
        .measurement
        .as_ref()
        .is_some_and(|measurement| measurement.verdict == "INVALID");
    match (code, summary.verdict.criteria) {
        (129..=255, _) => Verdict::Unfinished,
        // A rule that has stopped it, a criterion, or what the tool whose door it was calls a failure.
        (1, _) => Verdict::Fail,
        _ if invalid => Verdict::Invalid,
        (5, _) => Verdict::Inconclusive,
        (0, Some(Judgement::Pass)) => Verdict::Pass,
        (0, None) => Verdict::Ran,
        (0, Some(Judgement::Inconclusive)) => Verdict::Inconclusive,
        _ => Verdict::Fail,
    }
}

fn row(stage: &Stage<'_>, identity: &Identity) -> Row {
    let mut row = Row {
        name: stage.name.to_owned(),
        load: stage.load.to_owned(),
        verdict: Verdict::NotRun,
        why: String::new(),
        planned: stage.planned.cloned(),
        requests_per_second: None,
        requests: None,
        error_share: None,
        percentiles: [None, None, None],
        elapsed_ns: None,
        from_ns: None,
        report: None,
        saturation: None,
        cool_down: stage.cool_down.cloned(),
    };
    match &stage.outcome {
        Outcome::NotRun => {}
        Outcome::Unfinished => {
            row.verdict = Verdict::Unfinished;
            "it was ended before its time".clone_into(&mut row.why);
        }
        Outcome::CouldNotRun(why) => {
            row.verdict = Verdict::CouldNotRun;
            (*why).clone_into(&mut row.why);
        }
        Outcome::Ran { page, code, report } => {
            let summary = &page.summary;
            row.verdict = judged(summary, *code);
            row.why = why(summary, row.verdict, *code);
            row.requests_per_second = Some(summary.all.per_second);
            row.requests = Some(summary.all.count);
            row.error_share = summary.all.error_share;
            row.percentiles = percentiles(summary);
            row.elapsed_ns = Some(summary.run.elapsed_ns);
            row.saturation = summary.saturation.clone();
            let from = summary.run.started_wall_ns;
            row.from_ns = from.checked_sub(identity.started_wall_ns);
            row.report = Some((*report).to_owned());
        }
    }
    row
}

fn percentiles(summary: &Summary) -> [Option<String>; 3] {
    let stats = summary.all.service.as_ref();
    let text = |figure: Option<&crate::summary::Figure>| figure.map(ToString::to_string);
    [
        text(stats.map(|stats| &stats.p50)),
        text(stats.map(|stats| &stats.p95)),
        text(stats.map(|stats| &stats.p99)),
    ]
}

/// Why a stage came out so: the rule that has stopped it, the criteria that do not hold, the generator.
fn why(summary: &Summary, verdict: Verdict, code: u8) -> String {
    if let Some(stopped) = &summary.run.stopped {
        return format!(
            "stopped after {}: {}",
            units::time(stopped.at_ns),
            stopped.text
        );
    }
    let wanted = match verdict {
        Verdict::Fail => Judgement::Fail,
        Verdict::Inconclusive => Judgement::Inconclusive,
        Verdict::Invalid => {
            let reasons = summary.measurement.iter().flat_map(|m| &m.reasons);
            return reasons.cloned().collect::<Vec<_>>().join("; ");
        }
        Verdict::Unfinished => return "it was ended before its time".to_owned(),
        _ => return String::new(),
    };
    let judged = summary
        .criteria
        .iter()
        .filter(|judged| judged.judgement == wanted);
    let texts: Vec<String> = judged
        .map(|judged| {
            let measured = judged.measured.as_deref();
            measured.map_or_else(
                || judged.text.clone(),
                |measured| format!("{} (measured {measured})", judged.text),
            )
        })
        .collect();
    if texts.is_empty() {
        return format!("the tool that ran it exited with {code}");
    }
    let verb = if wanted == Judgement::Fail {
        "does not hold"
    } else {
        "cannot be told"
    };
    format!("{} {verb}", texts.join(", "))
}

fn verdict(rows: &[Row]) -> Option<Judgement> {
    let any = |wanted: &[Verdict]| rows.iter().any(|row| wanted.contains(&row.verdict));
    if any(&[Verdict::Fail]) {
        return Some(Judgement::Fail);
    }
    let not_back = rows.iter().filter_map(|row| row.cool_down.as_ref());
    if not_back
        .into_iter()
        .any(|cool_down| cool_down.recovered_ns.is_none())
    {
        return Some(Judgement::Fail);
    }
    if any(&[
        Verdict::Inconclusive,
        Verdict::Invalid,
        Verdict::CouldNotRun,
        Verdict::Unfinished,
        Verdict::NotRun,
    ]) {
        return Some(Judgement::Inconclusive);
    }
    any(&[Verdict::Pass]).then_some(Judgement::Pass)
}

/// The load that a stage was to carry, in the words of a sentence.
fn load_of(row: &Row) -> String {
    let rates = match (&row.planned, row.requests_per_second) {
        (Some(planned), _) => {
            let (arrivals, requests) = (planned.arrivals_per_second, planned.requests_per_second);
            if (arrivals - requests).abs() > 0.02 * arrivals {
                format!(
                    "{} arrivals and {} requests per second",
                    units::rate(arrivals),
                    units::rate(requests)
                )
            } else {
                format!("{} requests per second", units::rate(requests))
            }
        }
        (None, Some(requests)) => format!("{} requests per second", units::rate(requests)),
        (None, None) => return row.name.clone(),
    };
    format!("{} ({rates})", row.name)
}

/// The last stage that holds before one that does not.
fn highest(rows: &[Row]) -> Option<&Row> {
    let first_bad = rows.iter().position(|row| !row.verdict.holds());
    rows[..first_bad.unwrap_or(rows.len())].last()
}

fn sentence(rows: &[Row]) -> String {
    let mut sentences = Vec::new();
    let first_bad = rows
        .iter()
        .find(|row| !row.verdict.holds() && row.verdict != Verdict::NotRun);
    match (highest(rows), first_bad) {
        (Some(row), None) if rows.iter().all(|row| row.verdict.holds()) => {
            let all = if rows.len() == 1 {
                "The stage holds".to_owned()
            } else {
                format!("All {} stages hold", rows.len())
            };
            sentences.push(format!("{all}, up to {}.", load_of(row)));
        }
        (Some(row), _) => sentences.push(format!("{} holds.", load_of(row))),
        (None, _) => {}
    }
    if let Some(bad) = first_bad {
        let what = match bad.verdict {
            Verdict::Fail => "does not hold",
            Verdict::Inconclusive => "cannot be judged",
            Verdict::Invalid => "was not measured well enough to say anything",
            Verdict::CouldNotRun => "could not be run",
            _ => "did not come to its end",
        };
        let why = if bad.why.is_empty() {
            String::new()
        } else {
            format!(": {}", bad.why)
        };
        sentences.push(format!("{} {what}{why}.", bad.name));
        let saturation = bad.saturation.as_ref();
        // That nobody knows what gave in is said further down.
        let known = saturation.filter(|saturation| saturation.first.is_some());
        sentences.extend(known.map(|saturation| saturation.sentence.clone()));
    }
    let not_run: Vec<&str> = rows
        .iter()
        .filter(|row| row.verdict == Verdict::NotRun)
        .map(|row| row.name.as_str())
        .collect();
    if let Some(names) = listed(&not_run) {
        let verb = if not_run.len() == 1 { "was" } else { "were" };
        sentences.push(format!("{names} {verb} not run."));
    }
    for row in rows {
        let Some(cool_down) = &row.cool_down else {
            continue;
        };
        sentences.extend(match recovered(cool_down) {
            // Behind a stage that holds that is no news.
            Some(_) if row.verdict.holds() => None,
            Some(text) => Some(format!("Behind {} the service was back {text}.", row.name)),
            None => Some(format!(
                "Behind {} the service did not recover within {}.",
                row.name,
                units::time(cool_down.looked_until_ns)
            )),
        });
    }
    sentences.join(" ")
}

/// When the service was back, in words; none if it was not.
#[must_use]
pub fn recovered(cool_down: &CoolDown) -> Option<String> {
    let ns = cool_down.recovered_ns?;
    Some(if ns < AT_ONCE_NS {
        "at once".to_owned()
    } else if ns <= cool_down.first_look_ns {
        format!(
            "by the first look, {} after the load",
            units::time(cool_down.first_look_ns)
        )
    } else {
        format!("{} after the load", units::time(ns))
    })
}

fn listed(names: &[&str]) -> Option<String> {
    match names {
        [] => None,
        [one] => Some((*one).to_owned()),
        [first @ .., last] => Some(format!("{} and {last}", first.join(", "))),
    }
}

/// By name, in the order in which they come up.
fn endpoints(stages: &[Stage<'_>]) -> Vec<Endpoint> {
    let mut endpoints: Vec<Endpoint> = Vec::new();
    for (number, stage) in stages.iter().enumerate() {
        let Outcome::Ran { page, .. } = &stage.outcome else {
            continue;
        };
        for label in &page.summary.labels {
            let known = endpoints.iter().position(|known| known.text == label.text);
            let at = known.unwrap_or_else(|| {
                endpoints.push(Endpoint {
                    text: label.text.clone(),
                    per_second: vec![None; stages.len()],
                });
                endpoints.len() - 1
            });
            endpoints[at].per_second[number] = Some(label.per_second);
        }
    }
    endpoints
}

fn recommendations(stages: &[Stage<'_>], rows: &[Row]) -> Vec<String> {
    let mut texts = Vec::new();
    let bad = rows.iter().find(|row| row.verdict == Verdict::Fail);
    match (highest(rows), bad) {
        (Some(good), Some(bad)) => texts.push(format!(
            "Do not plan for more than {} until what made {} fail is mended, and run the campaign again then.",
            load_of(good),
            bad.name
        )),
        (None, Some(bad)) => texts.push(format!(
            "Mend what made {} fail before anything else is measured.",
            bad.name
        )),
        (Some(good), None) if rows.iter().all(|row| row.verdict.holds()) => {
            texts.push(format!("Proceed: nothing up to {} speaks against it.", load_of(good)));
        }
        _ => {}
    }
    for row in rows {
        if row
            .cool_down
            .as_ref()
            .is_some_and(|cool_down| cool_down.recovered_ns.is_none())
        {
            texts.push(format!(
                "Find out why the service does not come back by itself behind {}: until then an overload needs somebody's hand.",
                row.name
            ));
        }
    }
    let page = stages
        .iter()
        .zip(rows)
        .rev()
        .find_map(|(stage, row)| match &stage.outcome {
            Outcome::Ran { page, .. } if row.verdict.holds() => Some((page, row)),
            _ => None,
        });
    texts.extend(page.and_then(|(page, row)| timeout(&page.summary, row)));
    texts.extend(
        stages
            .iter()
            .zip(rows)
            .rev()
            .find_map(|(stage, row)| match &stage.outcome {
                Outcome::Ran { page, .. } => warning(&page.summary, row),
                _ => None,
            }),
    );
    texts
}

/// A time-out for callers: above twice the slowest answer in ten thousand under the highest load that holds.
fn timeout(summary: &Summary, row: &Row) -> Option<String> {
    let ladder = summary
        .ladders
        .iter()
        .find(|ladder| ladder.id == summary.all.id)?;
    let at = SHARES.iter().position(|share| *share == 0.9999)?;
    let figure = ladder.figures.get(at)?;
    let ns = figure.ns.filter(|_| !figure.too_few)?;
    let chosen = TIMEOUTS_MS.iter().find(|ms| **ms * 1_000_000 > 2 * ns)?;
    Some(format!(
        "Callers can time out after {}: 99.99 % of the answers took {} at most in {}, and who has no answer by then will hardly get one.",
        units::time(chosen * 1_000_000),
        units::time(ns),
        row.name
    ))
}

/// The gravest thing that a stage's own report says, and that is not told of it elsewhere.
fn warning(summary: &Summary, row: &Row) -> Option<String> {
    let is_told = |text: &str| {
        let saturation = row.saturation.as_ref();
        saturation.is_some_and(|saturation| saturation.sentence == text)
    };
    let grave = summary
        .conclusions
        .iter()
        .find(|conclusion| conclusion.tone == Tone::Bad && !is_told(&conclusion.text))?;
    Some(format!("Look at {}: {}", row.name, grave.text))
}
