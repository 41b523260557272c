//! What several runs of one campaign mean together: which stages hold, which do not and why, how the service came back, what follows. Kept as
//! `campaign.json`. Every figure is from the runs' own summaries; it runs nothing and lays nothing out.

mod comparison;
mod projection;
mod text;

use plan::{about::About, deployment::Scaling};
use record::units;
use serde::Serialize;

use analysis::{
    page::Page,
    saturation::Saturation,
    summary::{MockRow, Summary},
    verdict::{Judged, Judgement},
};

pub use comparison::{Compared, Comparison};
pub use projection::{Bracket, Estimate, Projection};

/// The version of the format.
pub const SCHEMA: u32 = 1;
/// How the time of a stage's start and end is written.
const UTC: &str = "%Y-%m-%dT%H:%M:%SZ";
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
    /// What it is for, in its owner's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<About>,
    /// What is taken for granted, in the user's words.
    pub assumptions: Vec<String>,
    /// What is recommended, in the user's words.
    pub recommendations: Vec<String>,
    /// From which service to which its figures are to lead, if to any.
    pub scaling: Option<Scaling>,
}

/// A stage as it came out.
#[derive(Debug)]
pub struct FinishedStage<'a> {
    /// Its name.
    pub name: &'a str,
    /// The load in words, or another tool's command line.
    pub load: &'a str,
    /// What it loads, where that is not what the campaign does.
    pub target: Option<&'a str>,
    /// The earlier stage, by its number, whose load it repeats on something else.
    pub against: Option<usize>,
    /// What it sends at its highest rate.
    pub planned: Option<&'a Planned>,
    /// What became of it.
    pub outcome: StageOutcome<'a>,
    /// How the service was behind it, where that was looked at.
    pub cool_down: Option<&'a CoolDown>,
}

/// What a stage is to send at its highest rate, on average.
#[derive(Debug, Clone, PartialEq, Serialize, serde::Deserialize)]
pub struct Planned {
    /// Whether the plan also has lower rates, so that the mean of the stage is below this one.
    #[serde(default)]
    pub varies: bool,
    /// All scenarios together.
    pub arrivals_per_second: f64,
    /// All endpoints together.
    pub requests_per_second: f64,
    /// Arrivals by scenario.
    pub scenarios: Vec<VolumeRate>,
    /// Requests by endpoint.
    pub endpoints: Vec<VolumeRate>,
}

/// How often something is to come.
#[derive(Debug, Clone, PartialEq, Serialize, serde::Deserialize)]
pub struct VolumeRate {
    /// Whose rate it is.
    pub name: String,
    /// What the user said of it, as it was written.
    pub volume: Option<String>,
    /// So often.
    pub per_second: f64,
}

/// What became of a stage.
#[derive(Debug)]
pub enum StageOutcome<'a> {
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
    /// Why nothing is known of the service's recovery: every look was INVALID, for this reason. `None` where a look can be trusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unmeasured: Option<String>,
}

impl CoolDown {
    /// Whether the service is known not to have come back.
    #[must_use]
    pub fn is_not_back(&self) -> bool {
        self.recovered_ns.is_none() && self.unmeasured.is_none()
    }
}

/// How a stage came out, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum StageVerdict {
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

impl StageVerdict {
    /// As reports write it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            StageVerdict::Pass => "PASS",
            StageVerdict::Ran => "ran",
            StageVerdict::Fail => "FAIL",
            StageVerdict::Inconclusive => "INCONCLUSIVE",
            StageVerdict::Invalid => "INVALID",
            StageVerdict::CouldNotRun => "COULD NOT RUN",
            StageVerdict::Unfinished => "unfinished",
            StageVerdict::NotRun => "not run",
        }
    }

    /// Whether the stages behind it may be run whatever is said of failing.
    #[must_use]
    pub fn holds(self) -> bool {
        matches!(self, StageVerdict::Pass | StageVerdict::Ran)
    }
}

/// A stage's row.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StageRow {
    /// Its name.
    pub name: String,
    /// The load in words.
    pub load: String,
    /// What it loads, where that is not what the campaign does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The earlier stage, by its number, whose load it repeats on something else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against: Option<usize>,
    /// How it came out.
    pub verdict: StageVerdict,
    /// Why, in a sentence; empty of one that simply holds.
    pub why: String,
    /// What it was judged by.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<Judged>,
    /// What it was to send at its highest rate.
    pub planned: Option<Planned>,
    /// Requests that ended, per second: the mean of the whole stage.
    pub requests_per_second: Option<f64>,
    /// The same of the phase with the most requests per second, where the stage has several phases.
    pub busiest_phase_per_second: Option<f64>,
    /// Requests that ended.
    pub requests: Option<u64>,
    /// The share of them that failed or had no answer.
    pub error_share: Option<f64>,
    /// Whether no request was answered.
    #[serde(skip)]
    pub is_unanswered: bool,
    /// 50th, 95th and 99th percentile of all requests' service time as they are shown.
    pub percentiles: [Option<String>; 3],
    /// From its start to the last completion or the end of the load.
    pub elapsed_ns: Option<u64>,
    /// When it started, in nanoseconds from the campaign's start.
    pub from_ns: Option<u64>,
    /// When it started, in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_utc: Option<String>,
    /// When it ended, in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_utc: Option<String>,
    /// Where its report is.
    pub report: Option<String>,
    /// What gave in first, where the server was measured.
    pub saturation: Option<Saturation>,
    /// How near the services behind the target came to what was asked of them, where the plan has some.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mocks: Vec<MockRow>,
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
    pub stages: Vec<StageRow>,
    /// Endpoint by endpoint.
    pub endpoints: Vec<Endpoint>,
    /// Stages that repeat another's load, beside that one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub comparisons: Vec<Comparison>,
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
pub fn judge(identity: Identity, stages: &[FinishedStage<'_>]) -> Campaign {
    let rows: Vec<StageRow> = stages.iter().map(|stage| row(stage, &identity)).collect();
    let mut recommendations = text::recommendations(stages, &rows, &identity);
    recommendations.extend(identity.recommendations.iter().cloned());
    let mut assumptions = identity.assumptions.clone();
    assumptions.extend(shared(stages));
    Campaign {
        schema: SCHEMA,
        verdict: verdict(&rows),
        sentence: text::sentence(&rows, &identity),
        endpoints: endpoints(stages),
        comparisons: comparison::compare_stages(stages, &rows),
        projection: identity
            .scaling
            .map(|scaling| projection::project(scaling, stages, &rows)),
        stages: rows,
        recommendations,
        assumptions,
        identity,
    }
}

/// What every stage that ran took for granted.
fn shared(stages: &[FinishedStage<'_>]) -> Vec<String> {
    let mut of_each = stages.iter().filter_map(|stage| match &stage.outcome {
        StageOutcome::Ran { page, .. } => Some(&page.summary.assumptions),
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
pub fn judged(summary: &Summary, code: u8) -> StageVerdict {
    let invalid = summary
        .measurement
        .as_ref()
        .is_some_and(|measurement| measurement.verdict == "INVALID");
    // Another tool's door knows one code for criteria that do not hold, whatever the reason; a rule that has stopped it is reason enough.
    let by_criteria = !summary.criteria.is_empty() && summary.run.stopped.is_none();
    match (code, summary.verdict.criteria) {
        _ if summary.run.unrecorded.is_some() => StageVerdict::CouldNotRun,
        (129..=255, _) => StageVerdict::Unfinished,
        (1, _) if by_criteria && invalid => StageVerdict::Invalid,
        (1, Some(Judgement::Inconclusive)) if by_criteria => StageVerdict::Inconclusive,
        // A rule that has stopped it, a criterion, or what the tool whose door it was calls a failure.
        (1, _) => StageVerdict::Fail,
        // No request was answered: how well that was measured changes nothing about it.
        (3, _) => StageVerdict::Fail,
        _ if invalid => StageVerdict::Invalid,
        (5, _) => StageVerdict::Inconclusive,
        (0, Some(Judgement::Pass)) => StageVerdict::Pass,
        (0, None) => StageVerdict::Ran,
        (0, Some(Judgement::Inconclusive)) => StageVerdict::Inconclusive,
        _ => StageVerdict::Fail,
    }
}

fn row(stage: &FinishedStage<'_>, identity: &Identity) -> StageRow {
    let mut row = StageRow {
        name: stage.name.to_owned(),
        load: stage.load.to_owned(),
        target: stage.target.map(ToOwned::to_owned),
        against: stage.against,
        verdict: StageVerdict::NotRun,
        why: String::new(),
        criteria: Vec::new(),
        planned: stage.planned.cloned(),
        requests_per_second: None,
        busiest_phase_per_second: None,
        requests: None,
        error_share: None,
        is_unanswered: false,
        percentiles: [None, None, None],
        elapsed_ns: None,
        from_ns: None,
        from_utc: None,
        to_utc: None,
        report: None,
        saturation: None,
        mocks: Vec::new(),
        cool_down: stage.cool_down.cloned(),
    };
    match &stage.outcome {
        StageOutcome::NotRun => {}
        StageOutcome::Unfinished => {
            row.verdict = StageVerdict::Unfinished;
            "it was ended before its time".clone_into(&mut row.why);
        }
        StageOutcome::CouldNotRun(why) => {
            row.verdict = StageVerdict::CouldNotRun;
            (*why).clone_into(&mut row.why);
        }
        StageOutcome::Ran { page, code, report } => {
            let summary = &page.summary;
            row.verdict = judged(summary, *code);
            row.why = why(summary, row.verdict, *code);
            row.criteria.clone_from(&summary.criteria);
            row.requests_per_second = Some(summary.all.per_second);
            row.busiest_phase_per_second = busiest_phase(summary);
            row.requests = Some(summary.all.count);
            let requests = &summary.requests;
            row.is_unanswered = requests.issued > 0 && requests.ok + requests.failed == 0;
            row.error_share = summary.all.error_share;
            row.percentiles = percentiles(summary);
            row.elapsed_ns = Some(summary.run.elapsed_ns);
            row.saturation = summary.saturation.clone();
            row.mocks.clone_from(&summary.mocks);
            let from = summary.run.started_wall_ns;
            row.from_ns = from.checked_sub(identity.started_wall_ns);
            let to = from + summary.run.elapsed_ns;
            row.from_utc = Some(record::utc(from, UTC));
            row.to_utc = Some(record::utc(to, UTC));
            row.report = Some((*report).to_owned());
        }
    }
    row
}

fn busiest_phase(summary: &Summary) -> Option<f64> {
    let rates = summary.phases.iter().map(|phase| phase.per_second);
    let has_several = summary.phases.len() > 1;
    rates.max_by(f64::total_cmp).filter(|_| has_several)
}

fn percentiles(summary: &Summary) -> [Option<String>; 3] {
    let stats = summary.all.service.as_ref();
    let text = |figure: Option<&analysis::summary::Figure>| figure.map(ToString::to_string);
    [
        text(stats.map(|stats| &stats.p50)),
        text(stats.map(|stats| &stats.p95)),
        text(stats.map(|stats| &stats.p99)),
    ]
}

/// Why a stage came out so: the rule that has stopped it, the criteria that do not hold, the generator.
fn why(summary: &Summary, verdict: StageVerdict, code: u8) -> String {
    if let Some(why) = &summary.run.unrecorded {
        return format!("it was ended by {why}");
    }
    if let Some(stopped) = &summary.run.stopped {
        return format!(
            "stopped after {}: {}",
            units::time(stopped.at_ns),
            stopped.text
        );
    }
    let wanted = match verdict {
        StageVerdict::Fail => Judgement::Fail,
        StageVerdict::Inconclusive => Judgement::Inconclusive,
        StageVerdict::Invalid => {
            let reasons = summary.measurement.iter().flat_map(|m| &m.reasons);
            return reasons.cloned().collect::<Vec<_>>().join("; ");
        }
        StageVerdict::Unfinished => return "it was ended before its time".to_owned(),
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
    if code == 3 {
        return format!(
            "not one of {} requests was answered",
            units::count(summary.requests.issued)
        );
    }
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

/// The stage that repeats another's load on something else, and passes by all that the other failed by: then that is no longer what counts.
/// One that nothing was asked of has passed nothing.
#[must_use]
pub fn mended(rows: &[StageRow], number: usize) -> Option<&StageRow> {
    let is = |wanted: Judgement| move |judged: &&Judged| judged.judgement == wanted;
    let failed = || rows[number].criteria.iter().filter(is(Judgement::Fail));
    let passes = |row: &StageRow, text: &str| {
        let mut passed = row.criteria.iter().filter(is(Judgement::Pass));
        passed.any(|judged| judged.text == text)
    };
    rows.iter().find(|row| {
        row.against == Some(number)
            && row.verdict == StageVerdict::Pass
            && failed().all(|judged| passes(row, &judged.text))
    })
}

fn verdict(rows: &[StageRow]) -> Option<Judgement> {
    let counts = rows.iter().enumerate();
    let counts = counts.filter(|(number, row)| {
        row.verdict != StageVerdict::Fail || mended(rows, *number).is_none()
    });
    let verdicts: Vec<StageVerdict> = counts.map(|(_, row)| row.verdict).collect();
    let any = |wanted: &[StageVerdict]| verdicts.iter().any(|verdict| wanted.contains(verdict));
    if any(&[StageVerdict::Fail]) {
        return Some(Judgement::Fail);
    }
    let not_back = rows.iter().filter_map(|row| row.cool_down.as_ref());
    if not_back.into_iter().any(CoolDown::is_not_back) {
        return Some(Judgement::Fail);
    }
    let unmeasured = rows.iter().filter_map(|row| row.cool_down.as_ref());
    if unmeasured
        .into_iter()
        .any(|cool_down| cool_down.unmeasured.is_some())
    {
        return Some(Judgement::Inconclusive);
    }
    if any(&[
        StageVerdict::Inconclusive,
        StageVerdict::Invalid,
        StageVerdict::CouldNotRun,
        StageVerdict::Unfinished,
        StageVerdict::NotRun,
    ]) {
        return Some(Judgement::Inconclusive);
    }
    any(&[StageVerdict::Pass]).then_some(Judgement::Pass)
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

/// By name, in the order in which they come up.
fn endpoints(stages: &[FinishedStage<'_>]) -> Vec<Endpoint> {
    let mut endpoints: Vec<Endpoint> = Vec::new();
    for (number, stage) in stages.iter().enumerate() {
        let StageOutcome::Ran { page, .. } = &stage.outcome else {
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
