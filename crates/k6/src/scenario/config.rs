//! Scenarios as written in the options.

use serde_json::{Map, Value};

use crate::{
    duration::DurationNs,
    options::value::{OptionValue, Stage, TextMap, read_member, wrong_type},
    text::go_quote,
};

/// The kind of an executor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExecutorKind {
    /// Virtual users that loop for a duration.
    ConstantVus,
    /// Iterations that virtual users share.
    SharedIterations,
    /// Iterations of each virtual user.
    PerVuIterations,
    /// A varying number of looping virtual users.
    RampingVus,
    /// Iterations that start at a constant rate.
    ConstantArrivalRate,
    /// Iterations that start at a varying rate.
    RampingArrivalRate,
}

const KINDS: [ExecutorKind; 6] = [
    ExecutorKind::ConstantVus,
    ExecutorKind::SharedIterations,
    ExecutorKind::PerVuIterations,
    ExecutorKind::RampingVus,
    ExecutorKind::ConstantArrivalRate,
    ExecutorKind::RampingArrivalRate,
];

const COMMON_KEYS: [&str; 7] = [
    "executor",
    "startTime",
    "gracefulStop",
    "exec",
    "env",
    "tags",
    "options",
];

impl ExecutorKind {
    /// Returns k6's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            ExecutorKind::ConstantVus => "constant-vus",
            ExecutorKind::SharedIterations => "shared-iterations",
            ExecutorKind::PerVuIterations => "per-vu-iterations",
            ExecutorKind::RampingVus => "ramping-vus",
            ExecutorKind::ConstantArrivalRate => "constant-arrival-rate",
            ExecutorKind::RampingArrivalRate => "ramping-arrival-rate",
        }
    }

    fn keys(self) -> &'static [&'static str] {
        match self {
            ExecutorKind::ConstantVus => &["vus", "duration"],
            ExecutorKind::SharedIterations | ExecutorKind::PerVuIterations => {
                &["vus", "iterations", "maxDuration"]
            }
            ExecutorKind::RampingVus => &["startVUs", "stages", "gracefulRampDown"],
            ExecutorKind::ConstantArrivalRate => {
                &["rate", "timeUnit", "duration", "preAllocatedVUs", "maxVUs"]
            }
            ExecutorKind::RampingArrivalRate => &[
                "startRate",
                "timeUnit",
                "stages",
                "preAllocatedVUs",
                "maxVUs",
            ],
        }
    }
}

/// A scenario as written. `None` means unset.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct ScenarioConfig {
    pub name: String,
    pub kind: ExecutorKind,
    pub start_time: Option<DurationNs>,
    pub graceful_stop: Option<DurationNs>,
    pub exec: Option<String>,
    pub env: Option<TextMap>,
    pub tags: Option<TextMap>,
    pub options: Option<Value>,
    pub vus: Option<i64>,
    pub iterations: Option<i64>,
    pub duration: Option<DurationNs>,
    pub max_duration: Option<DurationNs>,
    pub start_vus: Option<i64>,
    pub stages: Option<Vec<Stage>>,
    pub graceful_ramp_down: Option<DurationNs>,
    pub rate: Option<i64>,
    pub start_rate: Option<i64>,
    pub time_unit: Option<DurationNs>,
    pub pre_allocated_vus: Option<i64>,
    pub max_vus: Option<i64>,
}

impl ScenarioConfig {
    /// Creates a scenario without parameters.
    #[must_use]
    pub fn new(name: &str, kind: ExecutorKind) -> ScenarioConfig {
        ScenarioConfig {
            name: name.to_owned(),
            kind,
            start_time: None,
            graceful_stop: None,
            exec: None,
            env: None,
            tags: None,
            options: None,
            vus: None,
            iterations: None,
            duration: None,
            max_duration: None,
            start_vus: None,
            stages: None,
            graceful_ramp_down: None,
            rate: None,
            start_rate: None,
            time_unit: None,
            pre_allocated_vus: None,
            max_vus: None,
        }
    }

    fn from_json(name: &str, value: &Value) -> Result<ScenarioConfig, String> {
        let object = value.as_object().ok_or_else(|| {
            let reason = wrong_type(value, "an object");
            format!("scenario {}: {reason}", go_quote(name))
        })?;
        let executor = read_member::<String>(object, "executor")?.unwrap_or_default();
        if executor.is_empty() {
            return Err(format!(
                "scenario '{name}' doesn't have a specified executor type"
            ));
        }
        let kind = KINDS.iter().find(|kind| kind.name() == executor);
        let kind = *kind.ok_or_else(|| format!("unknown executor type '{executor}'"))?;
        let is_known = |key: &&String| {
            COMMON_KEYS.contains(&key.as_str()) || kind.keys().contains(&key.as_str())
        };
        if let Some(key) = object.keys().find(|key| !is_known(key)) {
            return Err(format!(
                "scenario {}: unknown field {} for executor {executor}",
                go_quote(name),
                go_quote(key)
            ));
        }
        let mut config = ScenarioConfig::new(name, kind);
        config
            .read(object)
            .map_err(|reason| format!("scenario {}: {reason}", go_quote(name)))?;
        Ok(config)
    }

    fn read(&mut self, object: &Map<String, Value>) -> Result<(), String> {
        fn read<T: OptionValue>(
            object: &Map<String, Value>,
            key: &str,
        ) -> Result<Option<T>, String> {
            read_member(object, key).map_err(|reason| format!("{}: {reason}", go_quote(key)))
        }
        self.start_time = read(object, "startTime")?;
        self.graceful_stop = read(object, "gracefulStop")?;
        self.exec = read(object, "exec")?;
        self.env = read(object, "env")?;
        self.tags = read(object, "tags")?;
        self.options = read(object, "options")?;
        self.vus = read(object, "vus")?;
        self.iterations = read(object, "iterations")?;
        self.duration = read(object, "duration")?;
        self.max_duration = read(object, "maxDuration")?;
        self.start_vus = read(object, "startVUs")?;
        self.stages = read(object, "stages")?;
        self.graceful_ramp_down = read(object, "gracefulRampDown")?;
        self.rate = read(object, "rate")?;
        self.start_rate = read(object, "startRate")?;
        self.time_unit = read(object, "timeUnit")?;
        self.pre_allocated_vus = read(object, "preAllocatedVUs")?;
        self.max_vus = read(object, "maxVUs")?;
        Ok(())
    }
}

/// The option `scenarios`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Scenarios {
    /// Scenarios in the order of the script.
    pub configs: Vec<ScenarioConfig>,
    json: Map<String, Value>,
}

impl OptionValue for Scenarios {
    fn from_json(value: &Value) -> Result<Option<Scenarios>, String> {
        let object = value
            .as_object()
            .ok_or_else(|| wrong_type(value, "an object"))?;
        let configs = object
            .iter()
            .map(|(name, config)| ScenarioConfig::from_json(name, config));
        Ok(Some(Scenarios {
            configs: configs.collect::<Result<_, _>>()?,
            json: object.clone(),
        }))
    }

    fn from_text(text: &str) -> Result<Scenarios, String> {
        let value = Value::from_text(text)?;
        Ok(Scenarios::from_json(&value)?.unwrap_or_default())
    }

    fn to_json(&self) -> Value {
        Value::Object(self.json.clone())
    }
}
