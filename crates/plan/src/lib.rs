//! The plan of a run: load, scenarios, steps, criteria, stop rules, units, and the arithmetic of
//! the schedule.
//!
//! Contains only plain data and pure functions. `formats` creates plans from files, and `engine`
//! runs them.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod about;
pub mod background;
pub mod criteria;
pub mod deployment;
pub mod dialect;
mod draw;
pub mod event_stream;
mod extension;
mod http_version;
pub mod listen;
pub mod load;
pub mod media;
pub mod mocks;
pub mod mqtt;
pub mod profile;
mod proxies;
mod raw;
pub mod report_content;
pub mod report_zone;
pub mod route;
pub mod scenario;
pub mod schedule;
mod script;
pub mod secret;
pub mod server;
mod share;
pub mod socketio;
pub mod template;
mod trace_context;
pub mod units;
mod users;
mod validate;
pub mod volume;
pub mod websocket;
pub mod work;
mod workload;

use std::sync::Arc;

use serde::Serialize;

pub use background::BackgroundMqtt;
pub use base::{mutant, rng};
pub use criteria::{Criterion, StopRule};
pub use dialect::Dialect;
pub use draw::Draw;
pub use event_stream::EventStream;
pub use extension::Extension;
pub use http_version::{HttpVersion, HttpVersions, StreamSpread};
pub use listen::Listen;
pub use load::{ArrivalProcess, FirstArrival, Load, Phase, Shape};
pub use proxies::{Proxies, Proxy};
pub use raw::Raw;
pub use route::Route;
pub use scenario::{Request, Scenario, Step};
pub use schedule::Schedule;
pub use script::ScriptFile;
pub use secret::is_secret_name;
pub use share::Share;
pub use template::Template;
pub use trace_context::{TraceContext, TraceSampling};
pub use units::Rate;
pub use users::{ActivePeriod, UserPhase};
pub use validate::Problem;
pub use volume::{LoadLevel, Volume};
pub use work::Work;
pub use workload::{SEVERAL_IN_ONE_PROCESS, Workload, seed_of_workload};

/// Complete description of a run, independent of its source format.
#[derive(Debug, Clone, Serialize)]
pub struct Plan {
    /// Name for titles: the file name, or the URL.
    pub name: String,
    /// Purpose of the test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<about::About>,
    /// Reader that created this plan.
    pub format: Format,
    /// Base URL. Request URLs that start with `/` are appended to it as text.
    pub target: Raw,
    /// Arrivals or number of virtual users.
    pub load: Load,
    /// A closed load ends when this number of iterations has started and ended. `None` means no
    /// limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iterations: Option<u64>,
    /// Maximum duration of the load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_duration_ns: Option<u64>,
    /// Work of the virtual users, such as scenarios.
    #[serde(flatten)]
    pub work: Work,
    /// Clients that run during the load at their own pace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub background: Option<BackgroundMqtt>,
    /// WebSocket clients that receive what the scenarios publish.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listen: Option<Listen>,
    /// Script whose functions the scenarios call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<ScriptFile>,
    /// Steps that run once before the load, without being measured.
    pub setup: Option<Scenario>,
    /// Steps that run once after everything else, without being measured.
    pub teardown: Option<Scenario>,
    /// Variables captured by `setup`. They are defaults for every virtual user. They are not saved,
    /// because they may contain secrets.
    #[serde(skip)]
    pub setup_vars: serde_json::Map<String, serde_json::Value>,
    /// Initial variables of every virtual user, in the order in which they are set.
    pub variables: Vec<(String, Variable)>,
    /// Tables of variable values. Each virtual user gets one row of each table.
    pub payloads: Vec<Payload>,
    /// Connection and HTTP settings.
    pub http: Http,
    /// What counts as a failure, and which failures end an iteration.
    pub rules: FailureRules,
    /// Criteria that are evaluated once at the end.
    pub criteria: Vec<Criterion>,
    /// Criteria that this run does not evaluate (`--once`). They are still validated.
    #[serde(skip)]
    pub unjudged_criteria: Vec<Criterion>,
    /// Stop rules that are evaluated during the run.
    pub stop: Vec<StopRule>,
    /// The user's assumptions about responses, used only for the load profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assumed: Option<profile::Assumed>,
    /// When the run ends, if it is a probe of a search. Probes are not part of the history.
    #[serde(skip)]
    pub probing: Option<Probing>,
    /// Whether a run that lost a node exits as not measurable.
    #[serde(skip)]
    pub strict: bool,
    /// Whether a run without criteria passes even if all requests failed.
    #[serde(skip)]
    pub allow_failures: bool,
    /// Server metrics sampled during the load.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub server: Vec<server::MetricSource>,
    /// Whether the load stops increasing while most requests fail, even without stop rules.
    pub guard: bool,
    /// Whether the record omits excerpts of responses, even for first failures.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub omit_excerpts: bool,
    /// Settings of the front end in its own format, needed to print the run's output again.
    #[serde(skip_serializing_if = "serde_json::Value::is_null")]
    pub frontend_settings: serde_json::Value,
    /// Remarks of the reader, kept in the record and shown in every report.
    pub notes: Vec<Note>,
    /// Files that the plan was read from.
    pub files: Vec<String>,
    /// Other files that the plan depends on: tables, bodies, certificates.
    #[serde(skip)]
    pub dependencies: Vec<String>,
    /// Additional hosts that the test may load.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow_hosts: Vec<String>,
    /// Secret values found by the reader, which must never be shown.
    #[serde(skip)]
    pub secrets: Vec<String>,
    /// Names that the user declared secret, so that their values are hidden.
    #[serde(skip)]
    pub secret_names: Vec<String>,
    /// Variables that contain secrets, by the first part of their path. They have a secret name,
    /// were captured from one, or are passed to a secret field.
    #[serde(skip)]
    pub secret_variables: Vec<String>,
}

impl Plan {
    /// Returns the scenarios. Empty if the plan has other work.
    #[must_use]
    pub fn scenarios(&self) -> &[Scenario] {
        self.work.scenarios()
    }

    /// Whether any step under load has an extension.
    #[must_use]
    pub fn has_extensions(&self) -> bool {
        self.scenarios().iter().any(|scenario| {
            scenario
                .requests()
                .any(|request| request.extension.is_some())
        })
    }

    /// Creates a plan with defaults for all other fields.
    #[must_use]
    pub fn new(
        name: String,
        format: Format,
        target: String,
        load: Load,
        work: impl Into<Work>,
    ) -> Plan {
        Plan {
            name,
            format,
            target: Raw::new(target),
            load,
            iterations: None,
            max_duration_ns: None,
            work: work.into(),
            background: None,
            listen: None,
            about: None,
            script: None,
            setup: None,
            teardown: None,
            setup_vars: serde_json::Map::new(),
            variables: Vec::new(),
            payloads: Vec::new(),
            http: Http::default(),
            rules: FailureRules::default(),
            criteria: Vec::new(),
            unjudged_criteria: Vec::new(),
            assumed: None,
            stop: Vec::new(),
            probing: None,
            strict: false,
            allow_failures: false,
            server: Vec::new(),
            guard: false,
            omit_excerpts: false,
            frontend_settings: serde_json::Value::Null,
            notes: Vec::new(),
            files: Vec::new(),
            dependencies: Vec::new(),
            allow_hosts: Vec::new(),
            secrets: Vec::new(),
            secret_names: Vec::new(),
            secret_variables: Vec::new(),
        }
    }
}

/// When a probe of a search ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Probing {
    /// At the planned end.
    AtItsEnd,
    /// As soon as all criteria are decided.
    UntilDecided,
    /// As soon as one criterion clearly fails.
    UntilPlain,
}

/// Name of a plan reader. Front ends define additional names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Format(pub &'static str);

impl Format {
    /// A URL on the command line.
    pub const URL: Format = Format("url");
    /// A native plan (`loadline: 1`).
    pub const NATIVE: Format = Format("native");
}

/// A remark of the plan's reader.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Note {
    /// Position in a file, if there is one.
    pub at: Option<At>,
    /// Text, on one line.
    pub text: String,
}

/// A position in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct At {
    /// File, as the user named it.
    pub file: String,
    /// Line, counted from 1.
    pub line: usize,
    /// Column in characters, counted from 1.
    pub column: usize,
}

impl std::fmt::Display for At {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// An initial variable of every virtual user.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Variable {
    /// One value for all virtual users.
    Constant(serde_json::Value),
    /// One of these values for each virtual user, selected by (seed, arrival number).
    OneOf(Vec<serde_json::Value>),
}

/// A table of variable values. Each virtual user gets one row, or the whole table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Payload {
    /// Source of the rows, for messages.
    pub source: String,
    /// Names of the variables, one per column.
    pub fields: Vec<String>,
    /// The converted cells, shared by copies of a plan. The record contains only the number of
    /// rows.
    #[serde(rename = "rows", serialize_with = "row_count")]
    pub rows: Arc<Vec<Vec<serde_json::Value>>>,
    /// Rule that selects the row of an arrival.
    pub order: RowOrder,
    /// Variable that receives the whole table as a list. `None` if each user gets one row.
    pub all_as: Option<String>,
}

fn row_count<S: serde::Serializer>(
    rows: &Arc<Vec<Vec<serde_json::Value>>>,
    s: S,
) -> Result<S::Ok, S::Error> {
    s.serialize_u64(rows.len() as u64)
}

/// Rule that selects an arrival's row. It depends only on (seed, arrival number).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RowOrder {
    /// A random row.
    Random,
    /// The rows in turn: `row = arrival mod rows`.
    Sequence,
}

/// Connection and HTTP settings.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Http {
    /// Time limits of a request.
    pub timeouts: Timeouts,
    /// Policy for sharing connections.
    pub pool: PoolPolicy,
    /// HTTP versions, and the limits of HTTP/2.
    #[serde(flatten)]
    pub versions: HttpVersions,
    /// Idle time after which the client closes a connection.
    pub idle_close_ns: Option<u64>,
    /// Whether the client verifies certificates.
    pub verify_tls: bool,
    /// Certificates and TLS options.
    pub tls: Tls,
    /// Proxies by URL scheme.
    pub proxies: Proxies,
    /// Overrides of host addresses.
    pub route: Route,
    /// Maximum number of redirects to follow.
    pub max_redirects: u32,
    /// Whether virtual users keep cookies.
    pub cookie_jar: bool,
    /// Rules of the cookie jar.
    #[serde(rename = "jar_rules")]
    pub cookies: CookieRules,
    /// Which requests carry a trace context. `None` for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_context: Option<TraceContext>,
    /// Address of a trace, with `{trace_id}` and perhaps `{span_id}`. `None` if reports have no
    /// links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_url: Option<String>,
    /// Whether a body in an unknown encoding is passed through unchanged. Fewer encodings are then
    /// known, as in Artillery. Otherwise reading the body fails.
    pub takes_any_encoding: bool,
    /// Rules of the client that a front end imitates.
    #[serde(flatten)]
    pub dialect: Dialect,
}

impl Default for Http {
    fn default() -> Self {
        Http {
            timeouts: Timeouts {
                total_ns: Some(10 * units::SECOND),
                headers_ns: None,
                idle_ns: None,
            },
            pool: PoolPolicy::PerUser,
            versions: HttpVersions::default(),
            idle_close_ns: None,
            verify_tls: true,
            tls: Tls::default(),
            proxies: Proxies::default(),
            route: Route::default(),
            max_redirects: 10,
            cookie_jar: true,
            cookies: CookieRules::default(),
            trace_context: None,
            trace_url: None,
            takes_any_encoding: false,
            dialect: Dialect::default(),
        }
    }
}

/// TLS options. Keys and certificates are not saved in the record.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Tls {
    /// PEM certificates trusted instead of the machine's authorities.
    #[serde(skip)]
    pub authorities: Option<String>,
    /// PEM certificates trusted in addition to the machine's authorities.
    #[serde(skip)]
    pub more_authorities: Option<String>,
    /// Client certificates and their private key, both in PEM.
    #[serde(skip)]
    pub identity: Option<(String, String)>,
    /// Server name to request and to verify, instead of the URL's host.
    pub server_name: Option<String>,
    /// Whether ALPN is omitted. Otherwise HTTP/1.1 is offered.
    pub no_alpn: bool,
}

/// Rules of a cookie jar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct CookieRules {
    /// Whether cookies without a name are accepted.
    pub loose: bool,
    /// Whether cookies for a single-label domain such as `com` are rejected.
    pub reject_public_suffixes: bool,
    /// Treatment of a cookie that violates its `__Secure-` or `__Host-` prefix.
    pub prefixes: CookiePrefixes,
    /// Whether a cookie set by a step is limited to the folder of the step's URL, as in Artillery.
    /// Other steps then send it only once a server has set a cookie. Otherwise it is sent to the
    /// whole host.
    pub local: bool,
}

impl Default for CookieRules {
    fn default() -> Self {
        CookieRules {
            loose: false,
            reject_public_suffixes: true,
            prefixes: CookiePrefixes::Silent,
            local: false,
        }
    }
}

/// Treatment of a cookie that violates its `__Secure-` or `__Host-` prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CookiePrefixes {
    /// The cookie is dropped without an error.
    Silent,
    /// The cookie is reported as malformed.
    Strict,
    /// The cookie is accepted.
    Ignored,
}

/// Time limits of a request. Exceeding one ends the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Timeouts {
    /// Time from the start, before connecting, to the last byte of the response.
    pub total_ns: Option<u64>,
    /// Time from the last byte written to the end of the response's head.
    pub headers_ns: Option<u64>,
    /// Maximum time without a byte in either direction, including connecting.
    pub idle_ns: Option<u64>,
}

/// Policy for sharing connections among virtual users.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PoolPolicy {
    /// Each virtual user has its own connection to each origin, which is closed when the user ends.
    PerUser,
    /// All virtual users share at most this number of connections to each origin. A user waits if
    /// none is free.
    Shared(u32),
}

/// What counts as a failed request, and which failures end an iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct FailureRules {
    /// Whether a status of 400 or above fails a request, unless the step expects it.
    pub status_fails: bool,
    /// Whether a failed status or check ends the iteration. A missing response or a failed strict
    /// capture always ends it.
    pub failure_ends_iteration: bool,
}

impl Default for FailureRules {
    fn default() -> Self {
        FailureRules {
            status_fails: true,
            failure_ends_iteration: true,
        }
    }
}
