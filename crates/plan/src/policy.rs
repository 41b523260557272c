//! How a run is judged, observed and stopped early.

use serde::Serialize;

use crate::{Criterion, StopRule, server};

/// How a run is judged, observed and stopped early.
#[derive(Debug, Clone, Default, Serialize)]
pub struct RunPolicy {
    /// Criteria that are evaluated at the end of the run.
    pub criteria: Vec<Criterion>,
    /// Criteria that this run does not evaluate, because it runs a single iteration (`--once`).
    /// They are still validated.
    #[serde(skip)]
    pub unjudged_criteria: Vec<Criterion>,
    /// Stop rules that are evaluated during the run.
    pub stop: Vec<StopRule>,
    /// When the run ends, if it is a probe of a search. The history omits probes.
    #[serde(skip)]
    pub probing: Option<Probing>,
    /// Whether a run that lost a node exits with the code for "not measurable".
    #[serde(skip)]
    pub strict: bool,
    /// Whether a run without criteria passes even if all requests failed.
    #[serde(skip)]
    pub allow_failures: bool,
    /// Server metrics sampled during the load.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub server: Vec<server::MetricSource>,
    /// Whether Loadline stops increasing the load while most requests fail, even without stop
    /// rules.
    pub guard: bool,
    /// Whether the record omits excerpts of responses, even for the first failures.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub omit_excerpts: bool,
}

/// When a probe of a search ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Probing {
    /// At its planned end.
    AtItsEnd,
    /// As soon as all criteria are decided.
    UntilDecided,
    /// As soon as one criterion clearly fails.
    UntilPlain,
}
