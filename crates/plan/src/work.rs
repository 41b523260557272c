//! Kinds of work, which determine the requests of a run. The engine has a driver for each kind.

use serde::Serialize;

use crate::{Scenario, mqtt::Mqtt};

/// What generates the requests of a run.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// Virtual users run scenarios. Each arrival's scenario is chosen by weight.
    Scenarios(Vec<Scenario>),
    /// Connections send raw requests from a request source.
    Batch(Batch),
    /// MQTT clients connect, publish and subscribe.
    Mqtt(Mqtt),
    /// External code decides during the run what to send. Labels are created on first use.
    External(External),
}

/// Raw requests, sent over connections.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Batch {
    /// HTTP method. Empty if the request source determines it.
    pub method: String,
    /// Label of the requests.
    pub name: String,
}

/// Work that an external program drives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct External {
    /// Name of the tool or protocol.
    pub by: String,
}

/// Label of iterations whose scenario has no name, and of work in which each request is an
/// iteration.
pub const DEFAULT: &str = "default";

impl From<Vec<Scenario>> for Work {
    fn from(scenarios: Vec<Scenario>) -> Work {
        Work::Scenarios(scenarios)
    }
}

impl Work {
    /// Returns the scenarios. Empty for other work.
    #[must_use]
    pub fn scenarios(&self) -> &[Scenario] {
        match self {
            Work::Scenarios(scenarios) => scenarios,
            Work::Batch(_) | Work::Mqtt(_) | Work::External(_) => &[],
        }
    }

    /// Returns whether some labels become known only during the run.
    #[must_use]
    pub fn names_come_up(&self) -> bool {
        matches!(self, Work::External(_))
    }

    /// Returns the scenarios for modification. Empty for other work.
    pub fn scenarios_mut(&mut self) -> &mut [Scenario] {
        match self {
            Work::Scenarios(scenarios) => scenarios,
            Work::Batch(_) | Work::Mqtt(_) | Work::External(_) => &mut [],
        }
    }
}
