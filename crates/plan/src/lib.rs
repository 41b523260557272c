//! The plan of a run: load, scenarios, steps, criteria, stop rules, units, and the arithmetic of
//! the schedule.
//!
//! The crate contains only plain data and pure functions. `formats` creates plans from files, and
//! `engine` runs them.

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
mod policy;
pub mod profile;
mod provenance;
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
pub use policy::{Probing, RunPolicy};
pub use provenance::Provenance;
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

/// The complete description of a run, independent of its source format.
#[derive(Debug, Clone, Serialize)]
pub struct Plan {
    /// Name of the plan in titles: the file name or the URL.
    pub name: String,
    /// Purpose of the test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<about::About>,
    /// Base URL. It is prepended as text to request URLs that start with `/`.
    pub target: Raw,
    /// The load: arrivals, or a number of virtual users.
    pub load: Load,
    /// Maximum number of iterations of a closed load. The load ends when this many iterations have
    /// finished. `None` means no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iterations: Option<u64>,
    /// Maximum duration of the load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_duration_ns: Option<u64>,
    /// What the virtual users do, such as running scenarios.
    #[serde(flatten)]
    pub work: Work,
    /// MQTT clients that run during the load at their own pace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub background: Option<BackgroundMqtt>,
    /// WebSocket clients that receive the messages that scenarios publish.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listen: Option<Listen>,
    /// Script whose functions the scenarios call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<ScriptFile>,
    /// Unmeasured steps that run once before the load.
    pub setup: Option<Scenario>,
    /// Unmeasured steps that run once after the load.
    pub teardown: Option<Scenario>,
    /// Variables captured by `setup`. They are defaults for every virtual user. They are not saved,
    /// because they may contain secrets.
    #[serde(skip)]
    pub setup_vars: serde_json::Map<String, serde_json::Value>,
    /// Initial variables of every virtual user, in the order of assignment.
    pub variables: Vec<(String, Variable)>,
    /// Tables of variable values. Each virtual user gets one row of each table.
    pub payloads: Vec<Payload>,
    /// Connection and HTTP settings.
    pub http: Http,
    /// What counts as a failure, and which failures end an iteration.
    pub rules: FailureRules,
    /// The user's assumptions about responses. Only the load profile uses them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assumed: Option<profile::Assumed>,
    /// How the run is judged, observed and stopped early.
    #[serde(flatten)]
    pub policy: RunPolicy,
    /// Where the plan comes from.
    #[serde(flatten)]
    pub provenance: Provenance,
    /// Additional hosts that the user allows the test to load.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow_hosts: Vec<String>,
    /// Secret values that the reader found. They must never be shown.
    #[serde(skip)]
    pub secrets: Vec<String>,
    /// Names whose values the user declared secret.
    #[serde(skip)]
    pub secret_names: Vec<String>,
    /// Variables that contain secrets, by the first part of their path. A variable is secret
    /// because of its name, because it was captured from a secret, or because a secret field uses
    /// it.
    #[serde(skip)]
    pub secret_variables: Vec<String>,
}

impl Plan {
    /// Returns the scenarios, or an empty slice if the plan has no scenarios but other work, such as
    /// MQTT clients.
    #[must_use]
    pub fn scenarios(&self) -> &[Scenario] {
        self.work.scenarios()
    }

    /// Returns whether any step under load has an extension.
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
            assumed: None,
            policy: RunPolicy::default(),
            provenance: Provenance::new(format),
            allow_hosts: Vec::new(),
            secrets: Vec::new(),
            secret_names: Vec::new(),
            secret_variables: Vec::new(),
        }
    }
}

/// Name of a plan format. Front ends define additional names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Format(pub &'static str);

impl Format {
    /// The format of a plan that consists of a URL on the command line.
    pub const URL: Format = Format("url");
    /// A native plan (`loadline: 1`).
    pub const NATIVE: Format = Format("native");
}

/// A note of the plan reader.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Note {
    /// Position in a file, if there is one.
    pub at: Option<At>,
    /// Text of the note, on one line.
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
    /// One of these values for each virtual user, chosen at random by (seed, arrival number).
    OneOf(Vec<serde_json::Value>),
}

/// A table of variable values. Each virtual user gets one row or the whole table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Payload {
    /// Source of the rows, for messages.
    pub source: String,
    /// Names of the variables, one for each column.
    pub fields: Vec<String>,
    /// The converted cells, which copies of a plan share. The record contains only the number of
    /// rows.
    #[serde(rename = "rows", serialize_with = "row_count")]
    pub rows: Arc<Vec<Vec<serde_json::Value>>>,
    /// How the row of an arrival is chosen.
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

/// How the row of an arrival is chosen. The choice depends only on (seed, arrival number).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RowOrder {
    /// A random row.
    Random,
    /// The rows in order, starting again after the last one: `row = arrival mod rows`.
    Sequence,
}

/// Connection and HTTP settings.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Http {
    /// Time limits of a request.
    pub timeouts: Timeouts,
    /// How virtual users share connections.
    pub pool: PoolPolicy,
    /// HTTP versions, and limits for HTTP/2.
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
    /// Overridden host addresses.
    pub route: Route,
    /// Maximum number of redirects to follow.
    pub max_redirects: u32,
    /// Whether virtual users keep cookies.
    pub cookie_jar: bool,
    /// Rules for accepting cookies.
    #[serde(rename = "jar_rules")]
    pub cookies: CookieRules,
    /// Which requests carry a trace context. `None` means no requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_context: Option<TraceContext>,
    /// URL of a trace, with `{trace_id}` and optionally `{span_id}`. `None` if reports contain no
    /// links to traces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_url: Option<String>,
    /// Whether a body with an unknown content encoding is passed through unchanged. If so, fewer
    /// encodings are supported, as in Artillery. Otherwise reading such a body fails.
    pub takes_any_encoding: bool,
    /// Rules of the HTTP client that a front end imitates.
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

/// TLS options. The record does not contain keys and certificates.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Tls {
    /// PEM certificates to trust instead of the system's certificate authorities.
    #[serde(skip)]
    pub authorities: Option<String>,
    /// PEM certificates to trust in addition to the system's certificate authorities.
    #[serde(skip)]
    pub more_authorities: Option<String>,
    /// Client certificates and their private key, both in PEM.
    #[serde(skip)]
    pub identity: Option<(String, String)>,
    /// Server name for SNI and verification, instead of the URL's host.
    pub server_name: Option<String>,
    /// Whether to omit ALPN. Otherwise HTTP/1.1 is offered.
    pub no_alpn: bool,
    /// Versions that are offered.
    #[serde(skip_serializing_if = "TlsVersions::is_all")]
    pub versions: TlsVersions,
}

/// Versions of TLS that are offered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TlsVersions {
    /// TLS 1.2 and 1.3.
    #[default]
    All,
    /// TLS 1.2.
    Only12,
    /// TLS 1.3.
    Only13,
}

impl TlsVersions {
    fn is_all(&self) -> bool {
        *self == TlsVersions::All
    }
}

/// Rules by which a cookie jar accepts and sends cookies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct CookieRules {
    /// Whether the jar accepts cookies without a name.
    pub loose: bool,
    /// Whether the jar rejects cookies for a single-label domain such as `com`.
    pub reject_public_suffixes: bool,
    /// How the jar treats a cookie that violates its `__Secure-` or `__Host-` prefix.
    pub prefixes: CookiePrefixes,
    /// Whether a cookie that a step sets is limited to the folder of the step's URL, as in
    /// Artillery. Steps with URLs outside the folder send such a cookie only after a server has set
    /// a cookie. Otherwise the cookie is sent to the whole host.
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

/// How the jar treats a cookie that violates its `__Secure-` or `__Host-` prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CookiePrefixes {
    /// Drops the cookie without an error.
    Silent,
    /// Reports the cookie as malformed.
    Strict,
    /// Accepts the cookie.
    Ignored,
}

/// Time limits of a request. A request that exceeds one of them fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Timeouts {
    /// Maximum time from the start of the request, before connecting, to the last byte of the
    /// response.
    pub total_ns: Option<u64>,
    /// Maximum time from the last byte written to the end of the response's head.
    pub headers_ns: Option<u64>,
    /// Maximum time without a byte in either direction, including connecting.
    pub idle_ns: Option<u64>,
}

/// How virtual users share connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PoolPolicy {
    /// Each virtual user has its own connection to each origin. The connection closes when the user
    /// ends.
    PerUser,
    /// All virtual users share at most this number of connections to each origin. A user waits
    /// until one is free.
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
