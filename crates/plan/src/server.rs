//! Sources of server metrics, and the one-line syntax for a source.

mod percent;
pub mod postgres;
mod promql;

use serde::{Deserialize, Serialize};

use crate::At;

/// All types of source locations on one line, for messages and help texts.
pub const PLACES: &str = "http://… (Prometheus, JSON or nginx's status), redis://…, postgres://…, promql:URL QUERY, process:NAME, pid:N, port:N, cgroup:PATH, command:LINE, or lab:/PATH of an embedded target";

/// A source that is sampled about once a second.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MetricSource {
    /// Prefix of the source's metric names.
    pub name: String,
    /// Location of the metrics.
    pub place: MetricLocation,
    /// Patterns of metrics to keep. `*` matches any text. An empty list keeps all metrics.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<String>,
    /// Patterns of metrics to treat as counters, even if the source does not declare them as such.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub counters: Vec<String>,
    /// Limited pools whose metrics the source provides.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<PoolMetrics>,
    /// Position in the file. `None` if the source is not from a file.
    #[serde(skip)]
    pub at: Option<At>,
}

/// A limited pool of threads or connections, described by the names of its metrics.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolMetrics {
    /// Metric with the number of threads or connections in use.
    pub busy: String,
    /// Metric with the size of the pool.
    pub limit: String,
    /// Metric with the number of waiters, if the source has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<String>,
}

/// Location from which metrics are read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MetricLocation {
    /// A URL. The format is detected from the response.
    Url(String),
    /// A Redis server, by its URL.
    Redis(String),
    /// A PostgreSQL server, by its URL.
    Postgres(String),
    #[expect(missing_docs, reason = "the names are self-explanatory")]
    Promql { url: String, query: String },
    /// All processes of this machine with this name.
    Process(String),
    /// The process of this machine with this ID.
    Pid(u32),
    /// The process of this machine that listens on this port.
    Port(u16),
    /// A control group, by its folder.
    Cgroup(String),
    /// A command that prints one line `NAME VALUE` per metric.
    Command(String),
    /// A path on the embedded target, whose address is assigned when the run starts.
    Lab {
        /// Index of the target's listener, from 0.
        listener: usize,
        /// Path, including the leading slash.
        path: String,
    },
}

/// Parses `NAME=PLACE`. On failure, returns a message for the user.
pub fn parse(text: &str) -> Result<MetricSource, String> {
    let (name, place) = text
        .split_once('=')
        .ok_or_else(|| format!("`{text}` has no address: use NAME=PLACE, with {PLACES}"))?;
    named(name.trim(), place.trim())
}

/// Checks the name of a source. On failure, returns a message for the user.
pub fn check_name(name: &str) -> Result<(), String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || !name.chars().all(is_plain) {
        return Err(format!(
            "`{name}` is not a valid source name: use letters, digits, - and _"
        ));
    }
    if name == "host" {
        return Err(
            "`host` is reserved for the machine that generates the load: use another name"
                .to_owned(),
        );
    }
    Ok(())
}

/// Creates a source from its name and location. On failure, returns a message for the user.
pub fn named(name: &str, place: &str) -> Result<MetricSource, String> {
    check_name(name)?;
    Ok(MetricSource {
        name: name.to_owned(),
        place: place_of(place)?,
        only: Vec::new(),
        counters: Vec::new(),
        pools: Vec::new(),
        at: None,
    })
}

/// Creates a source from a Prometheus query. On failure, returns a message for the user.
pub fn asking(name: &str, url: &str, query: &str) -> Result<MetricSource, String> {
    let place = promql::place(url, query)?;
    Ok(MetricSource {
        place,
        ..named(name, url)?
    })
}

fn place_of(text: &str) -> Result<MetricLocation, String> {
    let number = |rest: &str| {
        let wrong = |_| format!("`{rest}` is not a number");
        rest.parse::<u32>().map_err(wrong)
    };
    let filled = |rest: &str, what: &str| {
        if rest.trim().is_empty() {
            return Err(format!("`{text}` has no {what}"));
        }
        Ok(rest.trim().to_owned())
    };
    match text.split_once(':') {
        Some(("http" | "https", _)) => Ok(MetricLocation::Url(text.to_owned())),
        Some(("redis", rest)) if rest.starts_with("//") => {
            Ok(MetricLocation::Redis(text.to_owned()))
        }
        Some(("postgres" | "postgresql", rest)) if rest.starts_with("//") => {
            postgres::Database::of_url(text)?;
            Ok(MetricLocation::Postgres(text.to_owned()))
        }
        Some(("promql", rest)) => promql::line(rest),
        Some(("process", rest)) => filled(rest, "process").map(MetricLocation::Process),
        Some(("pid", rest)) => number(rest).map(MetricLocation::Pid),
        Some(("port", rest)) => {
            let port = u16::try_from(number(rest)?);
            port.map(MetricLocation::Port)
                .map_err(|_| format!("`{rest}` is not a valid port"))
        }
        Some(("cgroup", rest)) => filled(rest, "folder").map(MetricLocation::Cgroup),
        Some(("lab", rest)) => {
            let (listener, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
            let listener = if listener.is_empty() {
                0
            } else {
                number(listener)? as usize
            };
            let path = if path.is_empty() { "/" } else { path };
            Ok(MetricLocation::Lab {
                listener,
                path: path.to_owned(),
            })
        }
        Some(("command", rest)) => filled(rest, "command").map(MetricLocation::Command),
        _ => Err(format!("`{text}` is not a source of metrics: use {PLACES}")),
    }
}

impl MetricSource {
    /// Returns whether to keep the metric.
    #[must_use]
    pub fn wants(&self, metric: &str) -> bool {
        self.only.is_empty() || fits_any(&self.only, metric)
    }

    /// Returns whether the user declared the metric as a counter.
    #[must_use]
    pub fn is_counter(&self, metric: &str) -> bool {
        fits_any(&self.counters, metric)
    }

    /// Returns the patterns of `only` and `counters` that match none of `metrics`.
    #[must_use]
    pub fn unmatched(&self, metrics: &[&str]) -> Vec<&str> {
        let patterns = self.only.iter().chain(&self.counters);
        let matches = |pattern: &String| {
            let pattern = std::slice::from_ref(pattern);
            metrics.iter().any(|metric| fits_any(pattern, metric))
        };
        patterns
            .filter(|pattern| !matches(pattern))
            .map(String::as_str)
            .collect()
    }

    /// Returns the values that must never be shown: the password in the URL, encoded and decoded.
    #[must_use]
    pub fn secrets(&self) -> Vec<String> {
        let url = match &self.place {
            MetricLocation::Url(url)
            | MetricLocation::Redis(url)
            | MetricLocation::Promql { url, .. } => url,
            MetricLocation::Postgres(url) => {
                let meant = postgres::Database::of_url(url).ok();
                let meant = meant.and_then(|database| database.password);
                let after = url.split_once("://").map_or("", |(_, rest)| rest);
                let who = after
                    .split('?')
                    .next()
                    .and_then(|rest| rest.rsplit_once('@'));
                let written = who.and_then(|(who, _)| Some(who.split_once(':')?.1.to_owned()));
                let mut both: Vec<String> = meant.into_iter().chain(written).collect();
                both.retain(|text| !text.is_empty());
                both.dedup();
                return both;
            }
            _ => return Vec::new(),
        };
        let written = password_of(url).map(ToOwned::to_owned);
        let meant = written.as_deref().and_then(percent::decoded);
        let mut both: Vec<String> = meant.into_iter().chain(written).collect();
        both.retain(|text| !text.is_empty());
        both.dedup();
        both
    }
}

/// Decodes `user:password@` in a URL. Returns `None` if the URL has no credentials.
///
/// On failure, returns a message that does not repeat the credentials.
pub fn credentials_of(authority: &str) -> Result<Option<(String, String)>, String> {
    let Some((who, _)) = authority.rsplit_once('@') else {
        return Ok(None);
    };
    let (user, password) = who.split_once(':').unwrap_or((who, ""));
    match (percent::decoded(user), percent::decoded(password)) {
        (Some(user), Some(password)) => Ok(Some((user, password))),
        _ => Err(
            "user and password in the URL cannot be read: write a percent sign as %25".to_owned(),
        ),
    }
}

/// Returns the password in a URL, still encoded.
#[must_use]
pub fn password_of(url: &str) -> Option<&str> {
    let authority = url.split_once("://")?.1.split('/').next()?;
    let (user, _) = authority.rsplit_once('@')?;
    let password = user.split_once(':').map_or(user, |(_, password)| password);
    (!password.is_empty()).then_some(password)
}

fn fits_any(patterns: &[String], name: &str) -> bool {
    let mut all = patterns.iter();
    all.any(|pattern| crate::criteria::fits(pattern, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_credentials_are_decoded() {
        let who = |authority| credentials_of(authority).unwrap();
        let pair = |user: &str, password: &str| Some((user.to_owned(), password.to_owned()));
        assert_eq!(who("h:9090"), None);
        assert_eq!(who("me:p%40:w@h"), pair("me", "p@:w"));
        assert_eq!(who("me@h"), pair("me", ""));
        let refused = credentials_of("me:100%@h").unwrap_err();
        assert!(!refused.contains("100%"), "{refused}");
    }

    #[test]
    fn places_are_parsed_and_invalid_ones_rejected() {
        for (text, place) in [
            (
                "app=http://127.0.0.1:9/metrics",
                MetricLocation::Url("http://127.0.0.1:9/metrics".into()),
            ),
            (
                "c=redis://:pw@127.0.0.1:6379",
                MetricLocation::Redis("redis://:pw@127.0.0.1:6379".into()),
            ),
            (
                "db=process:postgres",
                MetricLocation::Process("postgres".into()),
            ),
            (
                "db=postgres://me@h/shop",
                MetricLocation::Postgres("postgres://me@h/shop".into()),
            ),
            (
                "p=promql:http://h:9090 sum(rate(a{b=\"c\"}[5s]))",
                MetricLocation::Promql {
                    url: "http://h:9090".into(),
                    query: "sum(rate(a{b=\"c\"}[5s]))".into(),
                },
            ),
            ("db=port:5432", MetricLocation::Port(5432)),
            ("db=pid:7", MetricLocation::Pid(7)),
            (
                "box=cgroup:/sys/fs/cgroup/app",
                MetricLocation::Cgroup("/sys/fs/cgroup/app".into()),
            ),
            (
                "gc=command:./gc.sh --all",
                MetricLocation::Command("./gc.sh --all".into()),
            ),
        ] {
            assert_eq!(parse(text).unwrap().place, place);
        }
        for (text, message) in [
            ("app", "has no address"),
            ("host=pid:1", "`host` is reserved for the machine"),
            ("a b=pid:1", "not a valid source name"),
            ("db=port:70000", "not a valid port"),
            ("db=pid:x", "not a number"),
            ("db=process:", "has no process"),
            ("db=postgres", "not a source of metrics"),
            ("db=postgres://h/x", "the user is missing"),
            ("p=promql:http://h", "the query is missing"),
            ("p=promql:h up", "needs an http:// or https:// URL"),
        ] {
            let wrong = parse(text).unwrap_err();
            assert!(wrong.contains(message), "{wrong}");
        }
        for (text, secrets) in [
            ("c=redis://:pw@h:1", &["pw"][..]),
            ("c=http://u:pw@h/x@y", &["pw"]),
            ("c=http://h/x@y", &[]),
            ("c=http://u:p%40w@h/x", &["p@w", "p%40w"]),
            ("c=postgres://u:pw@h/x", &["pw"]),
            ("c=postgres://u:p%40w@h/x", &["p@w", "p%40w"]),
            ("c=postgres://u@h/x", &[]),
            ("c=promql:http://u:pw@h up", &["pw"]),
        ] {
            assert_eq!(parse(text).unwrap().secrets(), secrets, "{text}");
        }
    }
}
