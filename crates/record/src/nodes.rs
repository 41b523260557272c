//! Figures of each node, from a running test or from the node's part.

use measure::{
    Histogram, OutcomeClass, TimeKind,
    confidence::{self, Windows},
    label,
    slot::Counters,
    summary::KindTimes,
};
use plan::units::SECOND;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{IntervalRecord, Manifest, RunState};

/// Figures of one node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeRow {
    /// Index of the node, from 0.
    pub node: u64,
    /// Name of the node's machine.
    pub name: String,
    /// State of the node: `up`, `silent`, `lost` or `finished`.
    pub state: NodeState,
    /// Requests issued per second: in the newest interval of a running test, otherwise in the whole
    /// run.
    pub rate: f64,
    /// Number of requests issued so far.
    pub requests: u64,
    /// Highest share of a core that a worker used, without the time spent spinning.
    pub cpu: f64,
    /// 99th percentile of lateness, measured with the node's clock.
    pub lateness_p99_ns: Option<u64>,
    /// 99th percentile of the response time of answered requests.
    pub response_p99_ns: Option<u64>,
    /// 95 % confidence interval of the 95th percentile of the response time. `None` if there are
    /// too few requests.
    pub response_p95_within_ns: Option<(u64, u64)>,
    /// Last measured offset of the node's monotonic clock from the conductor's, in nanoseconds.
    /// `None` if the run was read from a record.
    pub offset_ns: Option<i64>,
    /// Maximum error of `offset_ns`, in nanoseconds.
    pub offset_error_ns: u64,
}

/// State of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NodeState {
    /// The node takes part in the run.
    Up,
    /// The conductor receives no messages from the node. The node may continue until its lease
    /// expires.
    Silent,
    /// The node was lost.
    Lost,
    /// The node has finished its part.
    Finished,
}

impl NodeState {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            NodeState::Up => "up",
            NodeState::Silent => "silent",
            NodeState::Lost => "lost",
            NodeState::Finished => "finished",
        }
    }
}

#[derive(Debug, Clone, Default)]
pub struct NodeSum {
    counters: Counters,
    lateness: Histogram,
    response: Histogram,
    unanswered: u64,
    windows: Windows,
    cpu_ns: Vec<u64>,
    length_ns: u64,
}

impl NodeSum {
    pub fn add(&mut self, frame: &IntervalRecord) {
        let all = frame.label(label::ALL);
        self.counters.add(&all.slot.counters);
        if let Some(lateness) = all.slot.histogram(TimeKind::Lateness, OutcomeClass::Ok) {
            self.lateness.add(lateness);
        }
        let answered = KindTimes::from_slot(&all.slot, TimeKind::Response).answered;
        let unanswered = all.slot.counters.without_answer();
        self.windows.push(
            frame.span.from_ns / SECOND,
            frame.phase,
            &answered,
            unanswered,
        );
        self.response.add(&answered);
        self.unanswered += unanswered;
        let workers = frame.run.cpu_ns.len();
        self.cpu_ns.resize(self.cpu_ns.len().max(workers), 0);
        for (worker, sum) in self.cpu_ns.iter_mut().enumerate() {
            let of = |all: &[u64]| all.get(worker).copied().unwrap_or(0);
            *sum += of(&frame.run.cpu_ns).saturating_sub(of(&frame.run.spin_ns));
        }
        self.length_ns += frame.span.to_ns.saturating_sub(frame.span.from_ns);
    }

    #[must_use]
    pub fn row(&self, node: u64, name: String, state: NodeState) -> NodeRow {
        let length_ns = self.length_ns.max(1) as f64;
        let busiest = self.cpu_ns.iter().max().copied().unwrap_or(0);
        NodeRow {
            node,
            name,
            state,
            rate: self.counters.issued as f64 * SECOND as f64 / length_ns,
            requests: self.counters.issued,
            cpu: busiest as f64 / length_ns,
            lateness_p99_ns: self.lateness.quantile(0.99),
            response_p99_ns: self.response.quantile(0.99),
            response_p95_within_ns: self.within(0.95),
            offset_ns: None,
            offset_error_ns: 0,
        }
    }

    fn within(&self, q: f64) -> Option<(u64, u64)> {
        let known = confidence::interval(&self.response, self.unanswered, &self.windows, q)?;
        Some((known.low_ns, known.high_ns?)).filter(|_| known.has_low)
    }

    pub(super) fn of_part(&self, own: &Manifest, is_lost: bool) -> Option<NodeRow> {
        let state = match own.state {
            _ if is_lost => NodeState::Lost,
            RunState::Running => NodeState::Lost,
            RunState::Complete | RunState::Interrupted => NodeState::Finished,
        };
        let name = own.node.clone()?;
        let row = self.row(own.share.unwrap_or_default().index, name, state);
        Some(NodeRow {
            offset_error_ns: own.start.uncertainty_ns,
            ..row
        })
    }
}
