//! Evaluation of a campaign: which stages passed, recovery, and recommendations. The result is
//! saved as `campaign.json`.

mod brief;
mod calls;
mod comparison;
mod links;
mod projection;
mod server_changes;
mod stage_row;
mod stage_tables;
mod text;

use plan::{about::About, deployment::Scaling, report_content::ReportContent};
use record::{Zone, units};
use serde::Serialize;

use analysis::{
    page::Page,
    saturation::Saturation,
    summary::{MockRow, Summary},
    verdict::{Judged, Judgement},
};

pub use calls::{CallRow, PlannedCall};
pub use comparison::{Compared, Comparison};
pub use links::StageLink;
pub use projection::{Bracket, Estimate, Projection};
pub use server_changes::ServerChange;
pub use stage_tables::{EndpointRow, FailureRow, ServerFigures};
pub use text::highest_holding;

use stage_row::load_rate;

pub const SCHEMA: u32 = 3;
const AT_ONCE_NS: u64 = 1_000_000_000;

/// The properties of a campaign that are known before the first stage.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Identity {
    pub name: String,
    pub target: String,
    pub started_utc: String,
    pub started_wall_ns: u64,
    pub version: String,
    pub file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<About>,
    pub assumptions: Vec<String>,
    pub recommendations: Vec<String>,
    pub scaling: Option<Scaling>,
    pub content: ReportContent,
    /// Time zone of `content`. `None` means UTC.
    #[serde(skip)]
    pub zone: Option<Zone>,
}

impl Identity {
    /// Formats a time in the campaign's time zone, in RFC 3339. `None` without a time zone.
    #[must_use]
    pub fn local(&self, wall_ns: u64) -> Option<String> {
        self.zone.as_ref()?.rfc3339(wall_ns)
    }
}

#[derive(Debug)]
pub struct FinishedStage<'a> {
    pub name: &'a str,
    pub load: &'a str,
    pub target: Option<&'a str>,
    pub against: Option<usize>,
    pub planned: Option<&'a Planned>,
    pub outcome: StageOutcome<'a>,
    pub cool_down: Option<&'a CoolDown>,
    /// Text of the team for the report, in Markdown.
    pub notes: Option<&'a str>,
}

#[derive(Debug, Clone, PartialEq, Serialize, serde::Deserialize)]
pub struct Planned {
    #[serde(default)]
    pub varies: bool,
    pub arrivals_per_second: f64,
    pub requests_per_second: f64,
    pub scenarios: Vec<VolumeRate>,
    pub endpoints: Vec<VolumeRate>,
    /// Requests of each scenario by endpoint. Empty if the plan has a single scenario.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<PlannedCall>,
}

#[derive(Debug, Clone, PartialEq, Serialize, serde::Deserialize)]
pub struct VolumeRate {
    pub name: String,
    pub volume: Option<String>,
    pub per_second: f64,
    /// Present volume of the scenario. `None` if the plan does not contain it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub today: Option<PresentVolume>,
}

/// How often a scenario currently starts in production.
#[derive(Debug, Clone, PartialEq, Serialize, serde::Deserialize)]
pub struct PresentVolume {
    /// Volume as written in the plan.
    pub text: String,
    /// Starts per second.
    pub per_second: f64,
}

#[derive(Debug)]
pub enum StageOutcome<'a> {
    Ran {
        page: &'a Page,
        code: u8,
        report: &'a str,
    },
    CouldNotRun(&'a str),
    Unfinished,
    NotRun,
}

#[derive(Debug, Clone, PartialEq, Serialize, serde::Deserialize)]
pub struct CoolDown {
    pub recovered_ns: Option<u64>,
    /// Time from the end of the load to the first probe.
    pub first_probe_ns: u64,
    pub probed_until_ns: u64,
    /// Maximum p95 of the response time that counts as recovered, in nanoseconds.
    pub bound_ns: u64,
    pub error_bound: f64,
    /// Minimum time below `bound_ns`, in nanoseconds.
    pub settled_ns: u64,
    pub runs: Vec<String>,
    /// Why it is unknown whether the service recovered: all probes were INVALID. `None` if any
    /// probe was valid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unmeasured: Option<String>,
}

impl CoolDown {
    /// Returns whether the service certainly did not recover.
    #[must_use]
    pub fn is_not_back(&self) -> bool {
        self.recovered_ns.is_none() && self.unmeasured.is_none()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum StageVerdict {
    Pass,
    Ran,
    Fail,
    Inconclusive,
    Invalid,
    #[serde(rename = "COULD NOT RUN")]
    CouldNotRun,
    Unfinished,
    #[serde(rename = "NOT RUN")]
    NotRun,
}

impl StageVerdict {
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

    #[must_use]
    pub fn holds(self) -> bool {
        matches!(self, StageVerdict::Pass | StageVerdict::Ran)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StageRow {
    pub name: String,
    pub load: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against: Option<usize>,
    pub verdict: StageVerdict,
    pub reason: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<Judged>,
    pub planned: Option<Planned>,
    pub requests_per_second: Option<f64>,
    pub busiest_phase_per_second: Option<f64>,
    pub requests: Option<u64>,
    pub error_share: Option<f64>,
    #[serde(skip)]
    pub is_unanswered: bool,
    /// Time that the percentiles refer to: `response time`, or `service time` if a stage has no
    /// response times.
    pub time: Option<&'static str>,
    /// p50, p95 and p99 of this time.
    pub percentiles: [Option<String>; 3],
    pub elapsed_ns: Option<u64>,
    pub from_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_utc: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_utc: Option<String>,
    /// Start and end in the campaign's time zone, in RFC 3339. `None` without a time zone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_local: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_local: Option<String>,
    pub report: Option<String>,
    pub saturation: Option<Saturation>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mocks: Vec<MockRow>,
    pub cool_down: Option<CoolDown>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub requests_by_endpoint: Vec<EndpointRow>,
    /// Why requests failed, by endpoint, most frequent first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<FailureRow>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub server: Vec<ServerFigures>,
    /// Changes of server metrics, compared with the first stage on the same service.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub server_changes: Vec<ServerChange>,
    /// Links to the plan's dashboards, for the period of the stage.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<StageLink>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Endpoint {
    pub text: String,
    pub per_second: Vec<Option<f64>>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Campaign {
    pub schema: u32,
    pub identity: Identity,
    pub verdict: Option<Judgement>,
    pub sentence: String,
    /// The question that the campaign answers.
    pub question: String,
    /// How certain the answer is, with the reason.
    pub certainty: String,
    /// Resource that saturated first in the stage that failed, or else in the first stage that
    /// reached a limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    pub stages: Vec<StageRow>,
    pub endpoints: Vec<Endpoint>,
    /// Requests per iteration of each scenario by endpoint. Empty with a single scenario.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CallRow>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub comparisons: Vec<Comparison>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub projection: Option<Projection>,
    pub recommendations: Vec<String>,
    pub assumptions: Vec<String>,
    /// Notes about the figures, for example about the source of external metrics.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Campaign {
    /// Returns the name of the times in tables, in the plural.
    #[must_use]
    pub fn times(&self) -> String {
        let of_time = |time| {
            let rows = self.stages.iter().filter(|row| row.time == Some(time));
            rows.map(|row| row.name.as_str()).collect::<Vec<_>>()
        };
        let (response, service) = (of_time("response time"), of_time("service time"));
        match (response.as_slice(), service.as_slice()) {
            (_, []) => "response times".to_owned(),
            ([], _) => "service times".to_owned(),
            (_, service) => format!(
                "response times (service times in {})",
                units::listed(service)
            ),
        }
    }
}

#[must_use]
pub fn judge(identity: Identity, stages: &[FinishedStage<'_>]) -> Campaign {
    let rows = stages.iter().map(|stage| stage_row::row(stage, &identity));
    let mut rows: Vec<StageRow> = rows.collect();
    server_changes::add(&mut rows);
    let mut recommendations = text::recommendations(stages, &rows, &identity);
    recommendations.extend(identity.recommendations.iter().cloned());
    let mut assumptions = identity.assumptions.clone();
    assumptions.extend(shared(stages));
    Campaign {
        schema: SCHEMA,
        verdict: verdict(&rows),
        sentence: text::sentence(&rows, &identity),
        question: brief::question(&identity, &rows),
        certainty: brief::certainty(stages, &rows),
        cause: brief::cause(&rows),
        endpoints: endpoints(stages),
        calls: calls::rows(stages),
        comparisons: comparison::compare_stages(stages, &rows),
        projection: identity
            .scaling
            .map(|scaling| projection::project(scaling, identity.content.rates, stages, &rows)),
        stages: rows,
        recommendations,
        assumptions,
        notes: Vec::new(),
        identity,
    }
}

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

#[must_use]
pub fn judged(summary: &Summary, code: u8) -> StageVerdict {
    let invalid = summary
        .measurement
        .as_ref()
        .is_some_and(|measurement| measurement.verdict == "INVALID");
    // A front end has one exit code for all failed criteria, so detect a stop rule separately.
    let by_criteria = !summary.criteria.is_empty() && summary.run.stopped.is_none();
    match (code, summary.verdict.criteria) {
        _ if summary.run.unrecorded.is_some() => StageVerdict::CouldNotRun,
        (129..=255, _) => StageVerdict::Unfinished,
        (1, _) if by_criteria && invalid => StageVerdict::Invalid,
        (1, Some(Judgement::Inconclusive)) if by_criteria => StageVerdict::Inconclusive,
        // The cause is a stop rule, a criterion, or a failure of the front end's tool.
        (1, _) => StageVerdict::Fail,
        (3, _) => StageVerdict::Fail,
        _ if invalid => StageVerdict::Invalid,
        (5, _) => StageVerdict::Inconclusive,
        (0, Some(Judgement::Pass)) => StageVerdict::Pass,
        (0, None) => StageVerdict::Ran,
        (0, Some(Judgement::Inconclusive)) => StageVerdict::Inconclusive,
        _ => StageVerdict::Fail,
    }
}

/// Returns a later stage with the same load that passes all criteria that failed in this stage.
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

#[must_use]
pub fn recovered(cool_down: &CoolDown) -> Option<String> {
    let ns = cool_down.recovered_ns?;
    Some(if ns < AT_ONCE_NS {
        "immediately".to_owned()
    } else if ns <= cool_down.first_probe_ns {
        format!(
            "at the first probe, {} after the load",
            units::time(cool_down.first_probe_ns)
        )
    } else {
        format!("{} after the load", units::time(ns))
    })
}

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
            endpoints[at].per_second[number] = Some(load_rate(page, label.count));
        }
    }
    endpoints
}
