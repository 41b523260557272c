//! Metrics: their types, the built-in metrics, and the registry that assigns a number to each name.

use std::{collections::HashMap, fmt};

use crate::tags::Tags;

/// The type of a metric, which determines how its samples are aggregated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricType {
    /// A sum.
    Counter,
    /// The last value, with minimum and maximum.
    Gauge,
    /// The share of samples that are not 0.
    Rate,
    /// A distribution.
    Trend,
}

impl MetricType {
    /// Returns k6's name for the type.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            MetricType::Counter => "counter",
            MetricType::Gauge => "gauge",
            MetricType::Rate => "rate",
            MetricType::Trend => "trend",
        }
    }
}

impl fmt::Display for MetricType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The meaning of a metric's values, which determines how they are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contains {
    /// Plain numbers.
    Default,
    /// Milliseconds.
    Time,
    /// Bytes.
    Data,
}

/// Number of a metric in its [`Registry`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MetricId(pub u32);

impl MetricId {
    /// Returns whether the metric is built into k6 instead of declared by the script.
    #[must_use]
    pub const fn is_built_in(self) -> bool {
        (self.0 as usize) < BUILT_IN.len()
    }
}

/// The definition of a metric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metric {
    /// Name in the script and in every output.
    pub name: String,
    /// Type, which determines how samples are aggregated.
    pub metric_type: MetricType,
    /// Meaning of the values.
    pub contains: Contains,
}

macro_rules! built_in {
    ($($id:ident = $name:literal $metric_type:ident $contains:ident;)*) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        #[repr(u32)]
        enum Order { $($id),* }
        $(
            #[doc = concat!("Built-in metric `", $name, "`.")]
            pub const $id: MetricId = MetricId(Order::$id as u32);
        )*
        const BUILT_IN: &[(&str, MetricType, Contains)] = &[
            $(($name, MetricType::$metric_type, Contains::$contains)),*
        ];
    };
}

built_in! {
    VUS = "vus" Gauge Default;
    VUS_MAX = "vus_max" Gauge Default;
    ITERATIONS = "iterations" Counter Default;
    ITERATION_DURATION = "iteration_duration" Trend Time;
    DROPPED_ITERATIONS = "dropped_iterations" Counter Default;
    CHECKS = "checks" Rate Default;
    GROUP_DURATION = "group_duration" Trend Time;
    HTTP_REQS = "http_reqs" Counter Default;
    HTTP_REQ_FAILED = "http_req_failed" Rate Default;
    HTTP_REQ_DURATION = "http_req_duration" Trend Time;
    HTTP_REQ_BLOCKED = "http_req_blocked" Trend Time;
    HTTP_REQ_CONNECTING = "http_req_connecting" Trend Time;
    HTTP_REQ_TLS_HANDSHAKING = "http_req_tls_handshaking" Trend Time;
    HTTP_REQ_SENDING = "http_req_sending" Trend Time;
    HTTP_REQ_WAITING = "http_req_waiting" Trend Time;
    HTTP_REQ_RECEIVING = "http_req_receiving" Trend Time;
    DATA_SENT = "data_sent" Counter Data;
    DATA_RECEIVED = "data_received" Counter Data;
    WS_SESSIONS = "ws_sessions" Counter Default;
    WS_CONNECTING = "ws_connecting" Trend Time;
    WS_SESSION_DURATION = "ws_session_duration" Trend Time;
    WS_PING = "ws_ping" Trend Time;
    WS_MSGS_SENT = "ws_msgs_sent" Counter Default;
    WS_MSGS_RECEIVED = "ws_msgs_received" Counter Default;
}

/// All metrics of a test by name. Each virtual user declares the script's metrics again.
#[derive(Debug, Clone)]
pub struct Registry {
    metrics: Vec<Metric>,
    ids: HashMap<String, MetricId>,
}

/// Why a metric cannot be declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeclareError {
    /// The name contains characters that k6 does not allow.
    BadName(String),
    /// The metric already exists with another type.
    OtherType {
        /// Name of the metric.
        name: String,
        /// Type of the existing metric.
        existing: MetricType,
        /// Type of the new declaration.
        declared: MetricType,
    },
}

impl fmt::Display for DeclareError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeclareError::BadName(name) => write!(f, "invalid metric name: '{name}'"),
            DeclareError::OtherType {
                name,
                existing,
                declared,
            } => write!(
                f,
                "metric '{name}' already exists but with type {existing}, instead of {declared}"
            ),
        }
    }
}

impl Default for Registry {
    fn default() -> Registry {
        let metrics: Vec<Metric> = BUILT_IN
            .iter()
            .map(|(name, metric_type, contains)| Metric {
                name: (*name).to_owned(),
                metric_type: *metric_type,
                contains: *contains,
            })
            .collect();
        let numbered = metrics.iter().zip(0..);
        let ids = numbered.map(|(metric, number)| (metric.name.clone(), MetricId(number)));
        Registry {
            ids: ids.collect(),
            metrics,
        }
    }
}

impl Registry {
    /// Declares a metric, or finds the existing one. Names must match
    /// `^[a-zA-Z_][a-zA-Z0-9_]{1,128}$`.
    ///
    /// # Errors
    ///
    /// Fails if the name is invalid or exists with another type.
    pub fn declare(
        &mut self,
        name: &str,
        metric_type: MetricType,
        contains: Contains,
    ) -> Result<MetricId, DeclareError> {
        if !is_metric_name(name) {
            return Err(DeclareError::BadName(name.to_owned()));
        }
        if let Some(id) = self.find(name) {
            let existing = self.get(id).metric_type;
            if existing != metric_type {
                return Err(DeclareError::OtherType {
                    name: name.to_owned(),
                    existing,
                    declared: metric_type,
                });
            }
            return Ok(id);
        }
        let id = MetricId(u32::try_from(self.metrics.len()).unwrap_or(u32::MAX));
        self.metrics.push(Metric {
            name: name.to_owned(),
            metric_type,
            contains,
        });
        self.ids.insert(name.to_owned(), id);
        Ok(id)
    }

    /// Finds a metric by name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<MetricId> {
        self.ids.get(name).copied()
    }

    /// Returns the definition of a metric of this registry.
    #[must_use]
    pub fn get(&self, id: MetricId) -> &Metric {
        &self.metrics[id.0 as usize]
    }

    /// Returns all metrics in the order of their numbers.
    #[must_use]
    pub fn all(&self) -> &[Metric] {
        &self.metrics
    }
}

fn is_metric_name(name: &str) -> bool {
    let mut characters = name.chars();
    let starts = characters
        .next()
        .is_some_and(|first| first == '_' || first.is_ascii_alphabetic());
    let rest = name.len().saturating_sub(1);
    starts
        && (1..=128).contains(&rest)
        && characters.all(|character| character == '_' || character.is_ascii_alphanumeric())
}

/// Receives samples.
pub trait SampleSink {
    /// Adds values that were sampled at one time and have the same tags. `wall_ns` is in
    /// nanoseconds since 1970.
    fn add(&self, wall_ns: i64, tags: &Tags, values: &[(MetricId, f64)]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_metrics_have_fixed_numbers() {
        let registry = Registry::default();
        assert_eq!(registry.find("vus"), Some(VUS));
        assert_eq!(registry.find("data_received"), Some(DATA_RECEIVED));
        assert_eq!(registry.get(HTTP_REQ_FAILED).metric_type, MetricType::Rate);
    }

    #[test]
    fn a_metric_is_declared_again_with_the_same_type_only() {
        let mut registry = Registry::default();
        let own = registry.declare("my_wait", MetricType::Trend, Contains::Time);
        assert_eq!(
            registry.declare("my_wait", MetricType::Trend, Contains::Time),
            own
        );
        let other = registry.declare("my_wait", MetricType::Counter, Contains::Default);
        assert_eq!(
            other.unwrap_err().to_string(),
            "metric 'my_wait' already exists but with type trend, instead of counter"
        );
        assert!(
            registry
                .declare("my wait", MetricType::Trend, Contains::Time)
                .is_err()
        );
    }
}
