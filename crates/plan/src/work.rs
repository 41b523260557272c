//! Kinds of work: what decides which requests are sent. The engine has a driver for each kind.

use serde::Serialize;

use crate::{Scenario, mqtt::Mqtt};

/// A kind of work.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// Virtual users run scenarios. The scenario of each arrival is chosen by weight.
    Scenarios(Vec<Scenario>),
    /// Connections send raw requests that a source supplies.
    Batch(Batch),
    /// MQTT clients connect, publish and subscribe.
    Mqtt(Mqtt),
    /// External code decides at run time. Labels appear when they are first used.
    External(External),
}

/// Raw requests over connections.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Batch {
    /// The method. Empty if only the source knows it.
    pub method: String,
    /// Label of the requests.
    pub name: String,
}

/// Work that external code drives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct External {
    /// Name of the tool or protocol that drives it.
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
    /// The scenarios; empty for other work.
    #[must_use]
    pub fn scenarios(&self) -> &[Scenario] {
        match self {
            Work::Scenarios(scenarios) => scenarios,
            Work::Batch(_) | Work::Mqtt(_) | Work::External(_) => &[],
        }
    }

    /// Whether labels are only known at run time.
    #[must_use]
    pub fn names_come_up(&self) -> bool {
        matches!(self, Work::External(_))
    }

    /// The scenarios, for changing them. Empty for other work.
    pub fn scenarios_mut(&mut self) -> &mut [Scenario] {
        match self {
            Work::Scenarios(scenarios) => scenarios,
            Work::Batch(_) | Work::Mqtt(_) | Work::External(_) => &mut [],
        }
    }
}
