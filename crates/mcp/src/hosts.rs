//! Hosts that runs may load: this machine, and the hosts named by the person who started the
//! server.

use plan::{Plan, server::MetricLocation};
use url::Url;
use worker::client::hosts::{Allow, Hosts, canonical};

use crate::permission::LAB;

/// Names of this machine, which need no permission.
pub(crate) const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "::1"];
const FIXED: &str = "LOADLINE_ALLOW_HOSTS";

/// Hosts that runs may load.
#[derive(Debug, Clone)]
pub(crate) struct AllowedHosts {
    patterns: Vec<String>,
}

impl AllowedHosts {
    /// Reads the hosts from the flags and the environment variable. If the variable is set, it is
    /// the complete list.
    ///
    /// Fails with a one-line error if a host is invalid or is not listed in the variable.
    pub fn read(flags: &[String], fixed: Option<&str>) -> Result<AllowedHosts, String> {
        let read = |what: &str, text: &str| {
            canonical(text).ok_or_else(|| {
                format!("{what} `{text}`: use only the host, without scheme, port or path")
            })
        };
        let flags = flags.iter().map(|text| read("--allow-host", text));
        let flags = flags.collect::<Result<Vec<_>, _>>()?;
        let names = fixed.unwrap_or_default().split([',', ' ']);
        let names = names.filter(|name| !name.is_empty());
        let fixed = names.map(|name| read(FIXED, name));
        let fixed = fixed.collect::<Result<Vec<_>, _>>()?;
        if fixed.is_empty() {
            let own = LOOPBACK.iter().map(|host| (*host).to_owned());
            return Ok(AllowedHosts {
                patterns: own.chain(flags).collect(),
            });
        }
        let fixed = AllowedHosts { patterns: fixed };
        match flags.iter().find(|host| !fixed.allows(host)) {
            Some(host) => Err(format!(
                "--allow-host {host}: {FIXED} allows only {}",
                fixed.listed()
            )),
            None => Ok(fixed),
        }
    }

    /// Returns whether runs may load the host.
    pub fn allows(&self, host: &str) -> bool {
        self.patterns.iter().any(|pattern| {
            let below = pattern.strip_prefix('*');
            let is_below = |below: &str| host.len() > below.len() && host.ends_with(below);
            pattern == host || below.is_some_and(is_below)
        })
    }

    /// Returns the hosts separated by commas, as in the environment variable of a run.
    pub fn listed(&self) -> String {
        self.patterns.join(",")
    }
}

/// Returns all hosts that a plan names in requests, redirects, routes and metrics.
pub(crate) fn named_hosts(plan: &Plan) -> Vec<String> {
    let mut hosts = Hosts::new(plan, &Allow::default()).known().to_vec();
    if plan.target.expose().starts_with(LAB) {
        // Embedded targets listen on this address.
        hosts.push("127.0.0.1".to_owned());
    }
    hosts.extend(plan.allow_hosts.iter().filter_map(|host| canonical(host)));
    let routes = plan.http.route.resolve.iter();
    hosts.extend(routes.flat_map(|one| one.addresses.iter().map(ToString::to_string)));
    hosts.extend(
        plan.policy
            .server
            .iter()
            .filter_map(|source| match &source.place {
                MetricLocation::Url(url)
                | MetricLocation::Redis(url)
                | MetricLocation::Postgres(url)
                | MetricLocation::Promql { url, .. } => Some(host_of_url(url)),
                _ => None,
            }),
    );
    let mut unique: Vec<String> = Vec::new();
    for host in hosts {
        if !unique.contains(&host) {
            unique.push(host);
        }
    }
    unique
}

/// Returns the host of a URL. If the URL has no host, returns the URL itself, so that it is
/// refused.
fn host_of_url(text: &str) -> String {
    let host = Url::parse(text).ok().and_then(|url| {
        let host = url.host_str()?;
        canonical(host.trim_matches(['[', ']']))
    });
    host.unwrap_or_else(|| text.to_owned())
}

/// Returns whether all hosts are names of this machine.
pub(crate) fn is_loopback(hosts: &[String]) -> bool {
    hosts.iter().all(|host| LOOPBACK.contains(&host.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_allowed_by_default() {
        let hosts = AllowedHosts::read(&[], None).unwrap();
        assert!(hosts.allows("localhost") && hosts.allows("::1"));
        assert!(!hosts.allows("example.org") && !hosts.allows("10.0.0.1"));
    }

    #[test]
    fn flags_add_hosts_and_their_subdomains() {
        let flags = ["API.example.org".to_owned(), "*.test.example".to_owned()];
        let hosts = AllowedHosts::read(&flags, None).unwrap();
        assert!(hosts.allows("api.example.org") && hosts.allows("a.test.example"));
        assert!(!hosts.allows("example.org") && !hosts.allows("evil-api.example.org.evil"));
    }

    #[test]
    fn variable_is_the_complete_list() {
        let hosts = AllowedHosts::read(&[], Some("a.example, b.example")).unwrap();
        assert!(hosts.allows("b.example") && !hosts.allows("localhost"));
        let error = AllowedHosts::read(&["c.example".to_owned()], Some("a.example"));
        assert!(error.unwrap_err().contains("allows only a.example"));
        let error = AllowedHosts::read(&["http://x/".to_owned()], None);
        assert!(error.unwrap_err().contains("use only the host"));
    }

    #[test]
    fn url_without_host_is_not_allowed() {
        assert_eq!(host_of_url("redis://[::1]:6379"), "::1");
        assert_eq!(
            host_of_url("postgres:///db?host=/tmp"),
            "postgres:///db?host=/tmp"
        );
    }
}
