//! HTTP proxies, and the hosts that bypass them.

use std::net::IpAddr;

use serde::Serialize;

/// Proxies by URL scheme.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Proxies {
    /// Proxy for `http` URLs.
    pub plain: Option<Proxy>,
    /// Proxy for `https` URLs.
    pub tls: Option<Proxy>,
    /// Hosts that bypass the proxies, as in `NO_PROXY`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bypass: Vec<String>,
}

impl Proxies {
    /// Returns the proxy for an origin. `None` if the client connects to the origin directly.
    #[must_use]
    pub fn of(&self, tls: bool, host: &str, port: u16) -> Option<&Proxy> {
        let proxy = if tls { &self.tls } else { &self.plain };
        proxy.as_ref().filter(|_| !self.bypasses(host, port))
    }

    /// Returns whether an entry of `bypass` matches the host. An entry is a host name, a parent
    /// domain, a network (`10.0.0.0/8`) or `*` for all hosts. An entry may end with a port.
    fn bypasses(&self, host: &str, port: u16) -> bool {
        let host = host.trim_matches(['[', ']']);
        self.bypass.iter().any(|entry| {
            let (name, only) = match entry.rsplit_once(':') {
                Some((name, only)) if !name.contains(':') => (name, only.parse().ok()),
                _ => (entry.as_str(), None),
            };
            if contains(name, host) {
                return true;
            }
            let name = name.trim_matches(['[', ']']).trim_start_matches("*.");
            let name = name.trim_start_matches('.');
            let is_named = name == "*"
                || host.eq_ignore_ascii_case(name)
                || host.len().checked_sub(name.len() + 1).is_some_and(|at| {
                    host.as_bytes()[at] == b'.' && host[at + 1..].eq_ignore_ascii_case(name)
                });
            is_named && only.is_none_or(|only: u16| only == port)
        })
    }
}

/// An HTTP proxy, used with `CONNECT`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Proxy {
    /// Host, without brackets around an IPv6 address.
    pub host: String,
    /// Port of the proxy.
    pub port: u16,
    /// User and password.
    #[serde(skip)]
    pub credentials: Option<(String, String)>,
}

/// Returns whether a network in CIDR notation contains the address `host`.
fn contains(network: &str, host: &str) -> bool {
    let bits = |address: IpAddr| match address {
        IpAddr::V4(address) => (u128::from(address.to_bits()) << 96, 32),
        IpAddr::V6(address) => (address.to_bits(), 128),
    };
    let parsed = network.split_once('/').and_then(|(address, length)| {
        let network = bits(address.parse().ok()?);
        let length: u32 = length.parse().ok()?;
        Some((network, length, bits(host.parse().ok()?)))
    });
    parsed.is_some_and(|(network, length, host)| {
        let differing = (network.0 ^ host.0)
            .checked_shr(128 - length.min(128))
            .unwrap_or(0);
        network.1 == host.1 && length <= network.1 && differing == 0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bypassed_hosts_are_reached_directly() {
        let proxy = Proxy {
            host: "proxy".into(),
            port: 3128,
            credentials: None,
        };
        let proxies = |bypass: &str| Proxies {
            plain: Some(proxy.clone()),
            tls: None,
            bypass: bypass.split(',').map(str::to_owned).collect(),
        };
        for (bypass, host, port, is_direct) in [
            ("example.org", "example.org", 80, true),
            ("example.org", "api.EXAMPLE.org", 80, true),
            (".example.org", "api.example.org", 80, true),
            ("*.example.org", "api.example.org", 80, true),
            ("example.org", "badexample.org", 80, false),
            ("example.org:8080", "example.org", 80, false),
            ("example.org:8080", "example.org", 8080, true),
            ("a.org,[::1]", "::1", 80, true),
            ("*", "anything", 80, true),
            ("10.0.0.0/8", "10.1.2.3", 80, true),
            ("10.0.0.0/8", "11.1.2.3", 80, false),
            ("fd00::/8", "fd12::1", 80, true),
            ("0.0.0.0/0", "::1", 80, false),
            ("0.0.0.0/0", "9.9.9.9", 80, true),
            ("10.0.0.0/99", "10.1.2.3", 80, false),
            ("", "example.org", 80, false),
        ] {
            assert_eq!(
                proxies(bypass).of(false, host, port).is_none(),
                is_direct,
                "{bypass} {host}"
            );
        }
        assert!(proxies("").of(true, "example.org", 443).is_none());
    }
}
