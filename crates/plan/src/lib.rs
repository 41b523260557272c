//! WHAT should happen: load, scenarios, steps, criteria and stop rules, units, and the arithmetic of the schedule.
//!
//! Everything here is plain data and pure functions. This crate does no I/O, reads no clock, starts no thread and
//! knows no file format: `formats` fills these types, `engine` runs them, `report` judges by them.

#![forbid(unsafe_code)]

pub mod about;
pub mod beside;
pub mod criteria;
pub mod deployment;
mod draw;
mod extension;
pub mod load;
pub mod media;
pub mod mocks;
pub mod mqtt;
pub mod profile;
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

pub use base::{mutant, rng};
pub use beside::Beside;
pub use criteria::{Criterion, StopRule};
pub use draw::Draw;
pub use extension::Extension;
pub use load::{Arrivals, FirstArrival, Load, Phase, Shape};
pub use route::Route;
pub use scenario::{Request, Scenario, Step};
pub use schedule::Schedule;
pub use secret::is_secret_name;
pub use share::Share;
pub use template::Template;
pub use units::Rate;
pub use users::{Stay, UserPhase};
pub use validate::Problem;
pub use volume::{Level, Volume};
pub use work::Work;

/// Everything a run needs to know, whatever file, URL or command line it was read from.
#[derive(Debug, Clone, Serialize)]
pub struct Plan {
    /// What the run is called in titles: the file's name, or the URL.
    pub name: String,
    /// What it is for, in its owner's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<about::About>,
    /// Which reader made this plan.
    pub format: Format,
    /// The base URL. A request URL that begins with `/` is appended to it as text.
    pub target: String,
    /// When virtual users arrive, or how many there are.
    pub load: Load,
    /// The load ends then at the latest, whatever it says itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_duration_ns: Option<u64>,
    /// What kind of work it is, and what is done.
    #[serde(flatten)]
    pub work: Work,
    /// Clients that do other work meanwhile, on the same timeline and at a pace of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beside: Option<Beside>,
    /// Steps that are carried out once before the load, and are not measured.
    pub before: Option<Scenario>,
    /// Steps that are carried out once behind everything else, and are not measured.
    pub after: Option<Scenario>,
    /// Variables that the steps before the load left: every virtual user starts with them, and all others hide them. Never
    /// written down: nobody can tell which of them are secret.
    #[serde(skip)]
    pub inherited: serde_json::Map<String, serde_json::Value>,
    /// Variables that every virtual user starts with, in the order in which they are set.
    pub variables: Vec<(String, Variable)>,
    /// Tables from which each virtual user is given a row.
    pub payloads: Vec<Payload>,
    /// How requests travel.
    pub http: Http,
    /// What counts as a failure, and what it ends.
    pub rules: Rules,
    /// Judged once, at the end.
    pub criteria: Vec<Criterion>,
    /// Criteria that this run does not judge: what no run could judge is refused all the same.
    #[serde(skip)]
    pub set_aside: Vec<Criterion>,
    /// Watched during the run.
    pub stop: Vec<StopRule>,
    /// What the user takes for granted of answers, for the load profile; no figure of a run is computed from it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assumed: Option<profile::Assumed>,
    /// The run is a probe of a search: no run of a history, and it may end when it has found out what it is for.
    #[serde(skip)]
    pub probing: Option<Probing>,
    /// A run that lost one of its processes exits as one that could not be measured.
    #[serde(skip)]
    pub strict: bool,
    /// What is measured beside the load.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub server: Vec<server::Source>,
    /// Whether the load stops going up while most requests fail, whatever the rules say.
    pub guard: bool,
    /// Whether the record says nothing of what answers held, not even of the first failure of its kind.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub without_excerpts: bool,
    /// What its front door keeps for itself, in its own shape: for its figures, for what it prints, for showing the run again.
    #[serde(skip_serializing_if = "serde_json::Value::is_null")]
    pub door_settings: serde_json::Value,
    /// What the reader had to tell the user: kept in the record and shown in every rendering.
    pub notes: Vec<Note>,
    /// The files that the plan was read from.
    pub files: Vec<String>,
    /// What else was read for it: tables, bodies, certificates. Whoever runs it elsewhere needs them too.
    #[serde(skip)]
    pub also_read: Vec<String>,
    /// Hosts that may be loaded beside those that the plan names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow_hosts: Vec<String>,
    /// Values that must never be shown: the reader's finds beside the house list of names.
    #[serde(skip)]
    pub secrets: Vec<String>,
    /// Names whose values are secret, that the user adds to the house list.
    #[serde(skip)]
    pub secret_names: Vec<String>,
    /// Variables (the first part of their path) that hold something secret once a virtual user has set them: those with secret
    /// names, those taken from under secret names, and those that flow into something secret.
    #[serde(skip)]
    pub secret_variables: Vec<String>,
}

impl Plan {
    /// What virtual users do, if that is what does the work.
    #[must_use]
    pub fn scenarios(&self) -> &[Scenario] {
        self.work.scenarios()
    }

    /// Whether steps under load hold something for the hooks of a front door.
    #[must_use]
    pub fn has_extensions(&self) -> bool {
        self.scenarios()
            .iter()
            .any(|scenario| extended(&scenario.steps))
    }

    /// A plan with everything else as it is natively when nobody says anything.
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
            target,
            load,
            max_duration_ns: None,
            work: work.into(),
            beside: None,
            about: None,
            before: None,
            after: None,
            inherited: serde_json::Map::new(),
            variables: Vec::new(),
            payloads: Vec::new(),
            http: Http::default(),
            rules: Rules::default(),
            criteria: Vec::new(),
            set_aside: Vec::new(),
            assumed: None,
            stop: Vec::new(),
            probing: None,
            strict: false,
            server: Vec::new(),
            guard: false,
            without_excerpts: false,
            door_settings: serde_json::Value::Null,
            notes: Vec::new(),
            files: Vec::new(),
            also_read: Vec::new(),
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
    /// At its time.
    AtItsEnd,
    /// As soon as its criteria are decided.
    UntilDecided,
    /// As soon as one of them fails so plainly that nobody wants to see more of it.
    UntilPlain,
}

fn extended(steps: &[Step]) -> bool {
    steps.iter().any(|step| match step {
        Step::Request(request) => request.extension.is_some(),
        Step::Loop(inner) => extended(&inner.steps),
        Step::Parallel(inner) => extended(&inner.steps),
        Step::Block(inner) => extended(&inner.steps),
        Step::Choose(branches) => branches.iter().any(|branch| extended(&branch.steps)),
        Step::Think(_) | Step::Log(_) | Step::Leave(_) => false,
    })
}

/// The reader that made a plan, by its name; front doors have theirs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Format(pub &'static str);

impl Format {
    /// A URL on the command line.
    pub const URL: Format = Format("url");
    /// A native plan (`loadline: 1`).
    pub const NATIVE: Format = Format("native");
}

/// One remark of the reader, with its place in the file where it has one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Note {
    /// Where, if anywhere.
    pub at: Option<At>,
    /// One line.
    pub text: String,
}

/// A place in a file; lines and columns count from 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct At {
    /// As the user named it.
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

/// A variable that every virtual user starts with.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Variable {
    /// The same for all.
    Constant(serde_json::Value),
    /// Each virtual user gets one of these, by (seed, arrival number).
    OneOf(Vec<serde_json::Value>),
}

/// A table of which each virtual user gets one row, or all.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Payload {
    /// Where the rows came from, for messages.
    pub source: String,
    /// Variable names by column.
    pub fields: Vec<String>,
    /// The cells, after the format's conversions; there is one copy of them, however often a plan is copied. Left out of the record: only their number is kept.
    #[serde(rename = "rows", serialize_with = "row_count")]
    pub rows: Arc<Vec<Vec<serde_json::Value>>>,
    /// Which row an arrival gets.
    pub order: RowOrder,
    /// Set: the whole table goes into this one variable, as a list.
    pub all_as: Option<String>,
}

fn row_count<S: serde::Serializer>(
    rows: &Arc<Vec<Vec<serde_json::Value>>>,
    s: S,
) -> Result<S::Ok, S::Error> {
    s.serialize_u64(rows.len() as u64)
}

/// Which row an arrival gets. Both are functions of (seed, arrival number), so that nothing is shared between workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RowOrder {
    /// A row at random.
    Random,
    /// `row = arrival mod rows`.
    Sequence,
}

/// How requests travel.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Http {
    /// The limits of a request's life.
    pub timeouts: Timeouts,
    /// Who shares connections with whom.
    pub pool: Pool,
    /// A connection that was idle for longer than this is closed and opened anew.
    pub idle_close_ns: Option<u64>,
    /// Whether certificates are verified.
    pub verify_tls: bool,
    /// Certificates of one's own.
    pub tls: Tls,
    /// Through whom requests go; none: directly.
    pub proxies: Proxies,
    /// Where connections lead, where that is not the place that names stand for.
    pub route: Route,
    /// Redirects followed before a request fails.
    pub max_redirects: u32,
    /// Whether a virtual user keeps the cookies it is given.
    pub cookie_jar: bool,
    /// What the jar lets through.
    #[serde(rename = "jar_rules")]
    pub cookies: CookieRules,
    /// Whether a body in an encoding that is not known is taken as it comes, and few are known (Artillery); else who wants to read it
    /// is told that it cannot be.
    pub takes_any_encoding: bool,
    /// Whether header values go out as Latin-1, and values beyond it not at all (Artillery); else as UTF-8.
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
            pool: Pool::PerUser,
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

/// Certificates of one's own for TLS connections. Keys and certificates are not written down.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Tls {
    /// Trusted instead of the machine's authorities: certificates in PEM.
    #[serde(skip)]
    pub authorities: Option<String>,
    /// Trusted beside the machine's authorities, where those are trusted: certificates in PEM.
    #[serde(skip)]
    pub more_authorities: Option<String>,
    /// Shown to servers that ask: certificates and their key, both in PEM.
    #[serde(skip)]
    pub identity: Option<(String, String)>,
    /// The name that servers are asked for and must prove, instead of the URL's.
    pub server_name: Option<String>,
    /// Nothing is said of the protocol that will be spoken (ALPN), as by clients that never learnt to; otherwise it is HTTP/1.1.
    pub no_alpn: bool,
}

/// Through whom requests go, by the scheme of their URL.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Proxies {
    /// For `http`.
    pub plain: Option<Proxy>,
    /// For `https`.
    pub tls: Option<Proxy>,
}

/// A proxy, asked to connect to each host (`CONNECT`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Proxy {
    /// Without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
    /// User and password.
    #[serde(skip)]
    pub credentials: Option<(String, String)>,
}

/// Which cookies a virtual user's jar takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct CookieRules {
    /// Takes a cookie without a name too.
    pub loose: bool,
    /// Refuses cookies for a whole domain of one word, as `com`.
    pub reject_public_suffixes: bool,
    /// What becomes of a cookie that breaks the promise of its `__Secure-` or `__Host-` prefix.
    pub prefixes: CookiePrefixes,
    /// Whether a cookie that a step sets belongs to the folder of its URL, and waits for a first one that a server sets before steps
    /// without cookies of their own send it too (Artillery); else it goes to the whole host from then on.
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

/// What becomes of a cookie that breaks the promise of its prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CookiePrefixes {
    /// It is left out.
    Silent,
    /// It is malformed.
    Strict,
    /// It is taken like any other.
    Ignored,
}

/// The limits of a request's life. Each that is set ends the request when it is passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Timeouts {
    /// From its start (before connecting) to the last byte of the answer.
    pub total_ns: Option<u64>,
    /// From the request's last byte written to the end of the answer's head.
    pub headers_ns: Option<u64>,
    /// Without a byte in either direction, connecting included.
    pub idle_ns: Option<u64>,
}

/// Who shares connections with whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Pool {
    /// Each virtual user has one connection per origin of its own, closed when it ends.
    PerUser,
    /// All virtual users share at most so many connections per origin; those who find none free wait.
    Shared(u32),
}

/// What counts as a failed request, and what a failure ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Rules {
    /// A status of 400 and above fails a request unless the step declares it expected.
    pub status_fails: bool,
    /// A failed status or check ends the iteration. (No answer, or a failed strict capture, always does.)
    pub failure_ends_iteration: bool,
}

impl Default for Rules {
    fn default() -> Self {
        Rules {
            status_fails: true,
            failure_ends_iteration: true,
        }
    }
}
