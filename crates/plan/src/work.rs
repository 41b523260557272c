//! Kinds of work: who decides what is sent. Each kind has a driver in the engine.

use serde::Serialize;

use crate::{Scenario, mqtt::Mqtt};

/// A kind of work.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// Virtual users run scenarios. Each arrival gets one by weight.
    Scenarios(Vec<Scenario>),
    /// Connections send raw requests from a source.
    Batch(Batch),
    /// MQTT clients connect, publish and subscribe.
    Mqtt(Mqtt),
    /// External code decides at run time. Labels appear when first used.
    External(External),
}

/// Raw requests over connections.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Batch {
    /// Method; empty if only the source knows it.
    pub method: String,
    /// Label of the requests.
    pub name: String,
}

/// Work driven by external code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct External {
    /// Name of the tool or protocol.
    pub by: String,
}

/// Label of iterations without a scenario name, and of work in which each request is an iteration.
pub const DEFAULT: &str = "default";

impl From<Vec<Scenario>> for Work {
    fn from(scenarios: Vec<Scenario>) -> Work {
        Work::Scenarios(scenarios)
    }
}

impl Work {
    /// The scenarios; empty for other work.
    #[must_use]
    pub fn scenarios(&self) -> &[Scenario] {
        match self {
            Work::Scenarios(scenarios) => scenarios,
            Work::Batch(_) | Work::Mqtt(_) | Work::External(_) => &[],
        }
    }

    /// Whether labels are unknown before the run.
    #[must_use]
    pub fn names_come_up(&self) -> bool {
        matches!(self, Work::External(_))
    }

    /// The scenarios, mutable.
    pub fn scenarios_mut(&mut self) -> &mut [Scenario] {
        match self {
            Work::Scenarios(scenarios) => scenarios,
            Work::Batch(_) | Work::Mqtt(_) | Work::External(_) => &mut [],
        }
    }
}
