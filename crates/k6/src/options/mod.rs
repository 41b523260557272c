//! The options of a test: their types, and reading them from scripts, files, flags and the
//! environment.
//!
//! Entry points, in the order of a run:
//!
//! 1. [`RunFlags::parse`](flags::RunFlags::parse) reads the command line.
//! 2. [`Options::from_json`] reads what the script exports, and the configuration file.
//! 3. [`Options::from_env`] reads the environment.
//! 4. [`consolidate`](consolidate::consolidate) makes one set of options from these layers.
//! 5. [`plan`](crate::scenario::plan) makes scenarios from it.

pub mod consolidate;
mod flag_table;
pub mod flags;
pub mod network;
pub mod resolve;
pub mod settings;
pub mod tls;
pub mod value;

#[cfg(test)]
mod tests;

use std::fmt;

use serde_json::{Map, Value};

use crate::{
    duration::DurationNs, scenario::config::Scenarios, text::go_quote, threshold::Thresholds,
};
use network::{AddressRanges, HostnamePatterns, Hosts};
use resolve::Dns;
use tls::{TlsAuth, TlsVersions};
use value::{OptionValue, Stage, SystemTags, TextMap};

/// Default of `setupTimeout` and `teardownTimeout`.
pub const DEFAULT_SETUP_TIMEOUT: DurationNs = DurationNs::from_secs(60);
/// Default of `handleSummaryTimeout`.
pub const DEFAULT_HANDLE_SUMMARY_TIMEOUT: DurationNs = DurationNs::from_secs(120);
/// Default of `maxRedirects`.
pub const DEFAULT_MAX_REDIRECTS: i64 = 10;
/// Default of `batch`.
pub const DEFAULT_BATCH: i64 = 20;
/// Default of `batchPerHost`.
pub const DEFAULT_BATCH_PER_HOST: i64 = 6;
/// Default of `userAgent`.
pub const DEFAULT_USER_AGENT: &str = "Grafana k6/2.2.0";
/// Default of `summaryTrendStats`.
pub const DEFAULT_TREND_STATS: [&str; 6] = ["avg", "min", "med", "max", "p(90)", "p(95)"];
/// Warning for unknown keys of the options that a script exports.
pub const UNKNOWN_FIELDS_WARNING: &str =
    "There were unknown fields in the options exported in the script";

struct Key {
    name: &'static str,
    /// Name of the environment variable. Empty if there is none.
    env: &'static str,
    read: fn(&mut Options, &Value) -> Result<(), String>,
    read_text: fn(&mut Options, &str) -> Result<(), String>,
    write: fn(&Options) -> Value,
    overlay: fn(&mut Options, &Options),
}

macro_rules! options {
    ($($(#[$doc:meta])* $field:ident: $type:ty = $name:literal, $env:literal;)*) => {
        /// One layer of options, or all layers consolidated. `None` means unset.
        #[derive(Debug, Clone, Default, PartialEq)]
        pub struct Options {
            $($(#[$doc])* pub $field: Option<$type>,)*
        }

        const KEYS: &[Key] = &[$(Key {
            name: $name,
            env: $env,
            read: |options, value| {
                options.$field = <$type>::from_json(value)?;
                Ok(())
            },
            read_text: |options, text| {
                options.$field = Some(<$type>::from_text(text)?);
                Ok(())
            },
            write: |options| options.$field.as_ref().map_or(Value::Null, OptionValue::to_json),
            overlay: |options, higher| {
                if higher.$field.is_some() {
                    options.$field.clone_from(&higher.$field);
                }
            },
        }),*];
    };
}

options! {
    /// Whether the test starts paused.
    paused: bool = "paused", "K6_PAUSED";
    /// Number of virtual users.
    vus: i64 = "vus", "K6_VUS";
    /// Duration of the load.
    duration: DurationNs = "duration", "K6_DURATION";
    /// Total number of iterations of all virtual users.
    iterations: i64 = "iterations", "K6_ITERATIONS";
    /// Ramp of the number of virtual users.
    stages: Vec<Stage> = "stages", "K6_STAGES";
    /// Scenarios by name.
    scenarios: Scenarios = "scenarios", "";
    /// Part of the test that this instance runs, such as `1/4:1/2`.
    execution_segment: String = "executionSegment", "";
    /// Bounds of all instances' parts, such as `0,1/4,1/2,1`.
    execution_segment_sequence: String = "executionSegmentSequence", "";
    /// Whether to skip `setup`.
    no_setup: bool = "noSetup", "K6_NO_SETUP";
    /// Maximum duration of `setup`.
    setup_timeout: DurationNs = "setupTimeout", "K6_SETUP_TIMEOUT";
    /// Whether to skip `teardown`.
    no_teardown: bool = "noTeardown", "K6_NO_TEARDOWN";
    /// Maximum duration of `teardown`.
    teardown_timeout: DurationNs = "teardownTimeout", "K6_TEARDOWN_TIMEOUT";
    /// Maximum duration of `handleSummary`.
    handle_summary_timeout: DurationNs = "handleSummaryTimeout", "K6_HANDLE_SUMMARY_TIMEOUT";
    /// Maximum requests/s of all virtual users together. 0 means no limit.
    rps: i64 = "rps", "K6_RPS";
    /// How host names are resolved to addresses.
    dns: Dns = "dns", "K6_DNS";
    /// Maximum number of redirects of a request.
    max_redirects: i64 = "maxRedirects", "K6_MAX_REDIRECTS";
    /// Value of the header `User-Agent`.
    user_agent: String = "userAgent", "K6_USER_AGENT";
    /// Maximum number of parallel requests of `http.batch`.
    batch: i64 = "batch", "K6_BATCH";
    /// Maximum number of parallel requests of `http.batch` per host.
    batch_per_host: i64 = "batchPerHost", "K6_BATCH_PER_HOST";
    /// Whether to log requests and responses: `headers` or `full`.
    http_debug: String = "httpDebug", "K6_HTTP_DEBUG";
    /// Whether to accept any certificate.
    insecure_skip_tls_verify: bool = "insecureSkipTLSVerify", "K6_INSECURE_SKIP_TLS_VERIFY";
    /// Allowed cipher suites, by Go's names.
    tls_cipher_suites: Vec<String> = "tlsCipherSuites", "K6_TLS_CIPHER_SUITES";
    /// Allowed TLS versions.
    tls_version: TlsVersions = "tlsVersion", "";
    /// Client certificates.
    tls_auth: Vec<TlsAuth> = "tlsAuth", "K6_TLSAUTH";
    /// Thresholds, by metric.
    thresholds: Thresholds = "thresholds", "K6_THRESHOLDS";
    /// Whether a failed request throws an exception.
    throw: bool = "throw", "K6_THROW";
    /// Addresses to which requests are not allowed.
    blacklist_ips: AddressRanges = "blacklistIPs", "K6_BLACKLIST_IPS";
    /// Host names to which requests are not allowed.
    block_hostnames: HostnamePatterns = "blockHostnames", "K6_BLOCK_HOSTNAMES";
    /// Fixed addresses for host names.
    hosts: Hosts = "hosts", "K6_HOSTS";
    /// Whether to close each connection after its request.
    no_connection_reuse: bool = "noConnectionReuse", "K6_NO_CONNECTION_REUSE";
    /// Whether to close a virtual user's connections after each iteration.
    no_vu_connection_reuse: bool = "noVUConnectionReuse", "K6_NO_VU_CONNECTION_REUSE";
    /// Minimum duration of an iteration.
    min_iteration_duration: DurationNs = "minIterationDuration", "K6_MIN_ITERATION_DURATION";
    /// Settings for the cloud, which have no effect.
    cloud: Value = "cloud", "";
    /// Settings for extensions, which have no effect.
    ext: Value = "ext", "";
    /// Statistics of trends in the summary.
    summary_trend_stats: Vec<String> = "summaryTrendStats", "K6_SUMMARY_TREND_STATS";
    /// Unit of times in the summary: `s`, `ms` or `us`. Empty means a suitable unit for each value.
    summary_time_unit: String = "summaryTimeUnit", "K6_SUMMARY_TIME_UNIT";
    /// System tags that samples have.
    system_tags: SystemTags = "systemTags", "K6_SYSTEM_TAGS";
    /// Tags that all samples have.
    tags: TextMap = "tags", "K6_TAGS";
    /// Size of a buffer in k6, which has no effect.
    metric_samples_buffer_size: i64 = "metricSamplesBufferSize", "K6_METRIC_SAMPLES_BUFFER_SIZE";
    /// Whether to keep cookies between iterations.
    no_cookies_reset: bool = "noCookiesReset", "K6_NO_COOKIES_RESET";
    /// Whether to drop response bodies unless a request asks for its body.
    discard_response_bodies: bool = "discardResponseBodies", "K6_DISCARD_RESPONSE_BODIES";
    /// Features that change k6's behaviour.
    features: Vec<String> = "features", "K6_FEATURES";
    /// File for console messages. Scripts cannot set this option.
    console_output: String = "consoleOutput", "K6_CONSOLE_OUTPUT";
    /// Addresses from which requests are sent. Scripts cannot set this option.
    local_ips: AddressRanges = "localIPs", "K6_LOCAL_IPS";
}

/// Keys that only flags and the environment can set.
const NOT_IN_SCRIPTS: [&str; 2] = ["consoleOutput", "localIPs"];

/// The source of options, for error messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptionSource {
    /// The exported options of the script.
    Script,
    /// The configuration file.
    ConfigFile,
    /// The environment.
    Env,
}

/// The error for an invalid option value. The exit code is 104.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionError {
    /// Source of the value.
    pub source: OptionSource,
    /// Key, or name of the environment variable. Empty if the whole object is invalid.
    pub key: String,
    /// Description of the problem.
    pub reason: String,
}

impl fmt::Display for OptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.source {
            OptionSource::Script => write!(
                f,
                "parsing options from script got error while parsing {}: {}",
                go_quote(&self.key),
                self.reason
            ),
            OptionSource::ConfigFile => write!(
                f,
                "parsing the configuration file got error while parsing {}: {}",
                go_quote(&self.key),
                self.reason
            ),
            OptionSource::Env => write!(f, "{}: {}", self.key, self.reason),
        }
    }
}

impl std::error::Error for OptionError {}

/// Options, and the unknown keys next to them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReadOptions {
    /// Options.
    pub options: Options,
    /// Unknown keys, in the order of the object. See [`UNKNOWN_FIELDS_WARNING`].
    pub unknown_fields: Vec<String>,
}

impl Options {
    /// Reads the options object of a script, an archive or a configuration file. Null, and members
    /// that are null, count as unset.
    ///
    /// # Errors
    ///
    /// Fails if a value has the wrong type or is invalid.
    pub fn from_json(value: &Value, source: OptionSource) -> Result<ReadOptions, OptionError> {
        let mut read = ReadOptions::default();
        let object = match value {
            Value::Null => return Ok(read),
            Value::Object(object) => object,
            other => {
                return Err(OptionError {
                    source,
                    key: "options".to_owned(),
                    reason: value::wrong_type(other, "an object"),
                });
            }
        };
        for (name, member) in object {
            let key = KEYS.iter().find(|key| key.name == name);
            let Some(key) = key.filter(|key| !NOT_IN_SCRIPTS.contains(&key.name)) else {
                read.unknown_fields.push(name.clone());
                continue;
            };
            if !member.is_null() {
                (key.read)(&mut read.options, member).map_err(|reason| OptionError {
                    source,
                    key: name.clone(),
                    reason,
                })?;
            }
        }
        Ok(read)
    }

    /// Reads the options in the environment. `lookup` returns the value of a variable. Empty
    /// variables count as unset.
    ///
    /// # Errors
    ///
    /// Fails if a value is invalid.
    pub fn from_env(lookup: &dyn Fn(&str) -> Option<String>) -> Result<Options, OptionError> {
        let mut options = Options::default();
        for key in KEYS.iter().filter(|key| !key.env.is_empty()) {
            let Some(text) = lookup(key.env).filter(|text| !text.is_empty()) else {
                continue;
            };
            (key.read_text)(&mut options, &text).map_err(|reason| OptionError {
                source: OptionSource::Env,
                key: key.env.to_owned(),
                reason,
            })?;
        }
        Ok(options)
    }

    /// Sets an option by its key from a text, as flags do.
    ///
    /// # Errors
    ///
    /// Fails if the key does not exist or the value is invalid.
    pub(crate) fn set_text(&mut self, name: &str, text: &str) -> Result<(), String> {
        let key = KEYS.iter().find(|key| key.name == name);
        let key = key.ok_or_else(|| format!("unknown option {}", go_quote(name)))?;
        (key.read_text)(self, text)
    }

    /// Replaces each option that a higher layer sets.
    pub(crate) fn overlay(&mut self, higher: &Options) {
        for key in KEYS {
            (key.overlay)(self, higher);
        }
    }

    /// Returns all options in the form that scripts use, for `exec.test.options`, archives and
    /// `inspect`. Unset options are null.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let members = KEYS
            .iter()
            .filter(|key| !NOT_IN_SCRIPTS.contains(&key.name));
        let members = members.map(|key| (key.name.to_owned(), (key.write)(self)));
        Value::Object(members.collect::<Map<_, _>>())
    }

    /// Returns the system tags that samples have.
    #[must_use]
    pub fn enabled_system_tags(&self) -> SystemTags {
        self.system_tags.clone().unwrap_or_default()
    }

    /// Returns whether a feature is enabled.
    #[must_use]
    pub fn has_feature(&self, name: &str) -> bool {
        let features = self.features.iter().flatten();
        features.into_iter().any(|feature| feature == name)
    }
}
