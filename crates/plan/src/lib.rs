//! The plan of a run: load, scenarios, steps, criteria, stop rules, units, and the schedule's
//! arithmetic.
//!
//! Plain data and pure functions. `formats` creates plans from files, `engine` runs them.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod about;
pub mod background;
pub mod criteria;
pub mod deployment;
mod draw;
mod extension;
pub mod load;
pub mod media;
pub mod mocks;
pub mod mqtt;
pub mod profile;
mod raw;
pub mod route;
pub mod scenario;
pub mod schedule;
pub mod secret;
pub mod server;
mod share;
pub mod template;
pub mod units;
mod users;
mod validate;
pub mod volume;
pub mod work;

use std::sync::Arc;

use serde::Serialize;

pub use background::BackgroundMqtt;
pub use base::{mutant, rng};
pub use criteria::{Criterion, StopRule};
pub use draw::Draw;
pub use extension::Extension;
pub use load::{ArrivalProcess, FirstArrival, Load, Phase, Shape};
pub use raw::Raw;
pub use route::Route;
pub use scenario::{Request, Scenario, Step};
pub use schedule::Schedule;
pub use secret::is_secret_name;
pub use share::Share;
pub use template::Template;
pub use units::Rate;
pub use users::{ActivePeriod, UserPhase};
pub use validate::Problem;
pub use volume::{LoadLevel, Volume};
pub use work::Work;

/// Everything that a run needs to know, independent of its source.
#[derive(Debug, Clone, Serialize)]
pub struct Plan {
    /// Name for titles: the file's name, or the URL.
    pub name: String,
    /// Purpose of the test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<about::About>,
    /// Which reader created this plan.
    pub format: Format,
    /// The base URL. Request URLs that start with `/` are appended to it as text.
    pub target: Raw,
    /// When virtual users arrive, or how many there are.
    pub load: Load,
    /// The load ends at the latest after this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_duration_ns: Option<u64>,
    /// The work and its details.
    #[serde(flatten)]
    pub work: Work,
    /// Clients that do other work during the load, at their own pace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub background: Option<BackgroundMqtt>,
    /// Steps that run once before the load, unmeasured.
    pub setup: Option<Scenario>,
    /// Steps that run once after everything else, unmeasured.
    pub teardown: Option<Scenario>,
    /// Variables captured by `setup`. They are defaults for every virtual user and are not saved,
    /// because they may be secret.
    #[serde(skip)]
    pub setup_vars: serde_json::Map<String, serde_json::Value>,
    /// Initial variables of every virtual user, in the order they are set.
    pub variables: Vec<(String, Variable)>,
    /// Tables. Each virtual user gets one row of each.
    pub payloads: Vec<Payload>,
    /// Connection and HTTP settings.
    pub http: Http,
    /// What counts as a failure, and what a failure ends.
    pub rules: FailureRules,
    /// Conditions evaluated once at the end.
    pub criteria: Vec<Criterion>,
    /// Criteria that this run does not evaluate (`--once`). They are validated all the same.
    #[serde(skip)]
    pub unjudged_criteria: Vec<Criterion>,
    /// Conditions evaluated during the run.
    pub stop: Vec<StopRule>,
    /// The user's assumptions about responses. Used only for the load profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assumed: Option<profile::Assumed>,
    /// Set for a probe of a search. Such a run is not part of the history and may end early.
    #[serde(skip)]
    pub probing: Option<Probing>,
    /// Whether a run that lost a node exits as not measurable.
    #[serde(skip)]
    pub strict: bool,
    /// Server metrics sampled during the load.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub server: Vec<server::MetricSource>,
    /// Whether the load stops increasing while most requests fail, regardless of stop rules.
    pub guard: bool,
    /// Whether the record omits excerpts of responses, even of first failures.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub omit_excerpts: bool,
    /// Settings of the front end in its own format. They are needed to show the run again.
    #[serde(skip_serializing_if = "serde_json::Value::is_null")]
    pub frontend_settings: serde_json::Value,
    /// Remarks of the reader. They are kept in the record and shown in every report.
    pub notes: Vec<Note>,
    /// Files that the plan was read from.
    pub files: Vec<String>,
    /// Other files that the plan depends on: tables, bodies, certificates.
    #[serde(skip)]
    pub dependencies: Vec<String>,
    /// Further hosts that may be loaded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow_hosts: Vec<String>,
    /// Values that must never be shown, found by the reader.
    #[serde(skip)]
    pub secrets: Vec<String>,
    /// Names that the user declared secret. Their values are hidden.
    #[serde(skip)]
    pub secret_names: Vec<String>,
    /// Variables that hold secrets, by the first part of their path. They are secret by name,
    /// captured from a secret name, or passed into something secret.
    #[serde(skip)]
    pub secret_variables: Vec<String>,
}

impl Plan {
    /// The scenarios. Empty for other work.
    #[must_use]
    pub fn scenarios(&self) -> &[Scenario] {
        self.work.scenarios()
    }

    /// Whether steps under load have extensions.
    #[must_use]
    pub fn has_extensions(&self) -> bool {
        self.scenarios()
            .iter()
            .any(|scenario| extended(&scenario.steps))
    }

    /// Creates a plan with defaults for everything else.
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
            max_duration_ns: None,
            work: work.into(),
            background: None,
            about: None,
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

/// When a probe ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Probing {
    /// At its planned end.
    AtItsEnd,
    /// As soon as its criteria are decided.
    UntilDecided,
    /// As soon as one criterion clearly fails.
    UntilPlain,
}

fn extended(steps: &[Step]) -> bool {
    steps.iter().any(|step| match step {
        Step::Request(request) => request.extension.is_some(),
        Step::Loop(inner) => extended(&inner.steps),
        Step::Parallel(inner) => extended(&inner.steps),
        Step::Block(inner) => extended(&inner.steps),
        Step::Choose(branches) => branches.iter().any(|branch| extended(&branch.steps)),
        Step::Think(_) | Step::Log(_) | Step::Exit(_) => false,
    })
}

/// Name of a plan reader. Front ends have their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Format(pub &'static str);

impl Format {
    /// A URL on the command line.
    pub const URL: Format = Format("url");
    /// A native plan (`loadline: 1`).
    pub const NATIVE: Format = Format("native");
}

/// A remark of the reader.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Note {
    /// Position, if any.
    pub at: Option<At>,
    /// One line.
    pub text: String,
}

/// A position in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct At {
    /// The file as the user named it.
    pub file: String,
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
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
    /// The same value for all.
    Constant(serde_json::Value),
    /// One of these values for each virtual user, chosen by (seed, arrival number).
    OneOf(Vec<serde_json::Value>),
}

/// A table of variable values. Each virtual user gets one row, or the whole table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Payload {
    /// Where the rows come from, for messages.
    pub source: String,
    /// Names of the variables, by column.
    pub fields: Vec<String>,
    /// The converted cells. Copies of a plan share them. The record has only their number.
    #[serde(rename = "rows", serialize_with = "row_count")]
    pub rows: Arc<Vec<Vec<serde_json::Value>>>,
    /// Which row an arrival gets.
    pub order: RowOrder,
    /// Variable that receives the whole table as a list, if set.
    pub all_as: Option<String>,
}

fn row_count<S: serde::Serializer>(
    rows: &Arc<Vec<Vec<serde_json::Value>>>,
    s: S,
) -> Result<S::Ok, S::Error> {
    s.serialize_u64(rows.len() as u64)
}

/// How an arrival's row is selected. Depends only on (seed, arrival number).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RowOrder {
    /// A random row.
    Random,
    /// `row = arrival mod rows`.
    Sequence,
}

/// Connection and HTTP settings.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Http {
    /// Time limits of a request.
    pub timeouts: Timeouts,
    /// How connections are shared.
    pub pool: PoolPolicy,
    /// Idle time after which the client closes a connection.
    pub idle_close_ns: Option<u64>,
    /// Whether certificates are verified.
    pub verify_tls: bool,
    /// Certificates and TLS options.
    pub tls: Tls,
    /// Proxies.
    pub proxies: Proxies,
    /// Address overrides.
    pub route: Route,
    /// Maximum number of redirects followed.
    pub max_redirects: u32,
    /// Whether virtual users keep cookies.
    pub cookie_jar: bool,
    /// Rules of the cookie jar.
    #[serde(rename = "jar_rules")]
    pub cookies: CookieRules,
    /// Whether a body in an unknown encoding is passed through unchanged, and only few encodings
    /// are known (Artillery). Otherwise reading the body fails.
    pub takes_any_encoding: bool,
    /// Whether header values are sent as Latin-1 and other characters are rejected (Artillery).
    /// Otherwise they are sent as UTF-8.
    pub latin1: bool,
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
            idle_close_ns: None,
            verify_tls: true,
            tls: Tls::default(),
            proxies: Proxies::default(),
            route: Route::default(),
            max_redirects: 10,
            cookie_jar: true,
            cookies: CookieRules::default(),
            takes_any_encoding: false,
            latin1: false,
        }
    }
}

/// TLS options. Keys and certificates are not saved.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Tls {
    /// PEM certificates trusted instead of the machine's authorities.
    #[serde(skip)]
    pub authorities: Option<String>,
    /// PEM certificates trusted in addition to the machine's authorities.
    #[serde(skip)]
    pub more_authorities: Option<String>,
    /// Client certificates and their key, both in PEM.
    #[serde(skip)]
    pub identity: Option<(String, String)>,
    /// Server name to request and to verify, instead of the URL's host.
    pub server_name: Option<String>,
    /// Whether ALPN is omitted, as by clients without it. Otherwise HTTP/1.1 is offered.
    pub no_alpn: bool,
}

/// Proxies by the scheme of the URL.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Proxies {
    /// Proxy for `http` URLs.
    pub plain: Option<Proxy>,
    /// Proxy for `https` URLs.
    pub tls: Option<Proxy>,
}

/// A proxy that is used with `CONNECT`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Proxy {
    /// Host without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
    /// User and password.
    #[serde(skip)]
    pub credentials: Option<(String, String)>,
}

/// Rules of a cookie jar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct CookieRules {
    /// Whether cookies without a name are accepted.
    pub loose: bool,
    /// Whether cookies for a single-label domain such as `com` are rejected.
    pub reject_public_suffixes: bool,
    /// How a cookie that violates its `__Secure-` or `__Host-` prefix is treated.
    pub prefixes: CookiePrefixes,
    /// Whether a cookie that a step sets is limited to the folder of its URL, and other steps send
    /// it only once a server has set one (Artillery). Otherwise it is sent to the whole host.
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

/// How a cookie that violates its prefix is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CookiePrefixes {
    /// It is ignored.
    Silent,
    /// It is reported as malformed.
    Strict,
    /// The violation is ignored.
    Ignored,
}

/// Time limits of a request. Exceeding one ends the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Timeouts {
    /// From the start, before connecting, to the last byte of the response.
    pub total_ns: Option<u64>,
    /// From the last byte written to the end of the response's head.
    pub headers_ns: Option<u64>,
    /// Maximum time without a byte in either direction, including connecting.
    pub idle_ns: Option<u64>,
}

/// How virtual users share connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PoolPolicy {
    /// Each virtual user has its own connection to each origin. It is closed when the user ends.
    PerUser,
    /// All virtual users share at most this number of connections to each origin, and wait for a
    /// free one.
    Shared(u32),
}

/// What counts as a failed request, and what a failure ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct FailureRules {
    /// A status of 400 or above fails a request, unless the step expects it.
    pub status_fails: bool,
    /// A failed status or check ends the iteration. A missing response or a failed strict capture
    /// always does.
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
