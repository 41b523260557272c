//! Address overrides: fixed addresses for a host, or a Unix socket for all connections.

use std::net::IpAddr;

use serde::{Serialize, Serializer};

/// Overrides of host addresses.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Route {
    /// Addresses by host. Later entries override earlier ones. Entries for a host name override
    /// entries for `*`.
    pub resolve: Vec<Resolve>,
    /// Path of a Unix domain socket to use for every connection.
    pub unix: Option<String>,
}

/// Addresses for one host and port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolve {
    /// Host in lower case without brackets. `None` matches any host.
    pub host: Option<String>,
    /// Port of the URL.
    pub port: u16,
    /// Addresses, in the order in which the client tries them.
    pub addresses: Vec<IpAddr>,
}

impl Route {
    /// Returns the addresses for a host and port. `None` if they are not overridden.
    #[must_use]
    pub fn addresses(&self, host: &str, port: u16) -> Option<&[IpAddr]> {
        let at_port = || self.resolve.iter().rev().filter(|one| one.port == port);
        let named = at_port().find(|one| one.host.as_deref() == Some(host));
        let found = named.or_else(|| at_port().find(|one| one.host.is_none()));
        found.map(|one| one.addresses.as_slice())
    }
}

impl Resolve {
    /// Parses curl's `HOST:PORT:ADDRESS[,ADDRESS]`. The host may be `*`, and IPv6 addresses may be
    /// in brackets.
    ///
    /// On failure, returns a message that shows the expected form.
    pub fn parse(text: &str) -> Result<Resolve, String> {
        const LIKE: &str = "use HOST:PORT:ADDRESS, for example app.example.org:443:127.0.0.1";
        let text = text.trim();
        if text.starts_with(['+', '-']) {
            return Err(format!(
                "`+` and `-` have no effect here, because entries never expire: {LIKE}"
            ));
        }
        let bracketed = text
            .strip_prefix('[')
            .and_then(|rest| rest.split_once("]:"));
        let (host, rest) = bracketed.or_else(|| text.split_once(':')).ok_or(LIKE)?;
        let (port, addresses) = rest.split_once(':').ok_or(LIKE)?;
        let port = port
            .parse::<u16>()
            .ok()
            .filter(|port| *port > 0)
            .ok_or_else(|| format!("`{port}` is not a valid port: {LIKE}"))?;
        if host.is_empty() || host.contains(['/', '@', ' ']) {
            return Err(format!("`{host}` is not a valid host: {LIKE}"));
        }
        let address = |text: &str| {
            let bare = text.strip_prefix('[').and_then(|t| t.strip_suffix(']'));
            let parsed = bare.unwrap_or(text).parse::<IpAddr>();
            parsed.map_err(|_| {
                format!("`{text}` is not an address (names are not looked up): {LIKE}")
            })
        };
        Ok(Resolve {
            host: (host != "*").then(|| host.to_ascii_lowercase()),
            port,
            addresses: addresses
                .split(',')
                .map(|text| address(text.trim()))
                .collect::<Result<_, _>>()?,
        })
    }
}

impl std::fmt::Display for Resolve {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.host.as_deref() {
            None => f.write_str("*")?,
            Some(host) if host.contains(':') => write!(f, "[{host}]")?,
            Some(host) => f.write_str(host)?,
        }
        let addresses: Vec<String> = self.addresses.iter().map(ToString::to_string).collect();
        write!(f, ":{}:{}", self.port, addresses.join(","))
    }
}

impl Serialize for Resolve {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Resolve {
        Resolve::parse(text).unwrap_or_else(|reason| panic!("{text}: {reason}"))
    }

    #[test]
    fn overrides_round_trip() {
        for text in [
            "app.test:443:127.0.0.1",
            "*:80:10.0.0.1,10.0.0.2",
            "a:1:::1",
            "[::1]:8080:127.0.0.1",
        ] {
            assert_eq!(read(text).to_string(), text);
        }
        assert_eq!(read("App.Test:443:[::1]").to_string(), "app.test:443:::1");
    }

    #[test]
    fn invalid_overrides_are_rejected() {
        for (text, word) in [
            ("app.test", "HOST:PORT:ADDRESS"),
            ("app.test:443", "HOST:PORT:ADDRESS"),
            ("app.test:https:127.0.0.1", "`https` is not a valid port"),
            ("app.test:0:127.0.0.1", "`0` is not a valid port"),
            ("app.test:443:other.test", "`other.test` is not an address"),
            ("app.test:443:", "`` is not an address"),
            (":443:127.0.0.1", "`` is not a valid host"),
            ("-app.test:443", "have no effect here"),
        ] {
            let reason = Resolve::parse(text).expect_err(text);
            assert!(reason.contains(word), "{text}: {reason}");
        }
    }

    #[test]
    fn later_and_named_overrides_take_precedence() {
        let route = Route {
            resolve: vec![
                read("a:80:127.0.0.1"),
                read("a:80:127.0.0.2"),
                read("*:80:127.0.0.3"),
            ],
            unix: None,
        };
        let first = |host, port| route.addresses(host, port).map(|all| all[0].to_string());
        assert_eq!(first("a", 80).as_deref(), Some("127.0.0.2"));
        assert_eq!(first("b", 80).as_deref(), Some("127.0.0.3"));
        assert_eq!(first("a", 81), None);
    }
}
