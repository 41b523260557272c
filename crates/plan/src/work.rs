//! What kind of work a plan is: who decides what is sent next. Each kind has a driver in the engine; load, limits, criteria and
//! everything behind the record are the same for all of them.

use serde::Serialize;

use crate::{Scenario, mqtt::Mqtt};

/// A kind of work.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// Virtual users carry out scenarios, step by step; each arrival is given one, in proportion to the weights.
    Scenarios(Vec<Scenario>),
    /// Connections carry raw requests, one after the other, that a source makes.
    Batch(Batch),
    /// MQTT clients connect, publish and subscribe.
    Mqtt(Mqtt),
    /// Something beside the engine decides while the run goes on; what it counts under is named when it first comes up.
    External(External),
}

/// Raw requests over connections.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Batch {
    /// Their method; empty where the source alone knows it.
    pub method: String,
    /// What they are counted under.
    pub name: String,
}

/// Work that drives itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct External {
    /// Who decides: a tool's or a protocol's name.
    pub by: String,
}

/// What iterations are counted under where nobody gave their scenario a name, and those of work without scenarios, of which each
/// request is one.
pub const DEFAULT: &str = "default";

impl From<Vec<Scenario>> for Work {
    fn from(scenarios: Vec<Scenario>) -> Work {
        Work::Scenarios(scenarios)
    }
}

impl Work {
    /// The scenarios; none of other work.
    #[must_use]
    pub fn scenarios(&self) -> &[Scenario] {
        match self {
            Work::Scenarios(scenarios) => scenarios,
            Work::Batch(_) | Work::Mqtt(_) | Work::External(_) => &[],
        }
    }

    /// Whether nobody knows before the run what is counted under.
    #[must_use]
    pub fn names_come_up(&self) -> bool {
        matches!(self, Work::External(_))
    }

    /// The same, to be changed.
    pub fn scenarios_mut(&mut self) -> &mut [Scenario] {
        match self {
            Work::Scenarios(scenarios) => scenarios,
            Work::Batch(_) | Work::Mqtt(_) | Work::External(_) => &mut [],
        }
    }
}
