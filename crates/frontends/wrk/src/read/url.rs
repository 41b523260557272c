//! The parts of a URL as wrk splits it, without decoding.

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UrlParts {
    pub scheme: String,
    pub host: String,
    pub port: Option<String>,
    pub path: String,
}

impl UrlParts {
    #[must_use]
    pub fn tls(&self) -> bool {
        self.scheme
            .get(..5)
            .is_some_and(|begin| begin.eq_ignore_ascii_case("https"))
    }

    #[must_use]
    pub fn service(&self) -> &str {
        self.port.as_deref().unwrap_or(&self.scheme)
    }
}

#[must_use]
pub fn parts(text: &str) -> Option<UrlParts> {
    if text.bytes().any(|b| b <= b' ' || b == 0x7f) {
        return None;
    }
    let (scheme, rest) = text.split_once("://")?;
    if scheme.is_empty() || !scheme.bytes().all(|b| b.is_ascii_alphabetic()) {
        return None;
    }
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, after) = rest.split_at(end);
    let (host, port) = host_and_port(authority)?;
    let path = if after.starts_with('/') { after } else { "/" };
    Some(UrlParts {
        scheme: scheme.to_owned(),
        host: host.to_owned(),
        port: port.map(ToOwned::to_owned),
        path: path.to_owned(),
    })
}

fn host_and_port(authority: &str) -> Option<(&str, Option<&str>)> {
    let address = match authority.rsplit_once('@') {
        Some((user, address)) if !user.is_empty() && !user.contains('@') => address,
        Some(_) => return None,
        None => authority,
    };
    let (host, port) = if let Some(rest) = address.strip_prefix('[') {
        let (host, after) = rest.split_once(']')?;
        let is_address = host.contains(':')
            && host.split('%').next().is_some_and(|h| {
                h.bytes()
                    .all(|b| b.is_ascii_hexdigit() || b == b':' || b == b'.')
            });
        if !is_address {
            return None;
        }
        match after.strip_prefix(':') {
            Some(port) => (host, Some(port)),
            None if after.is_empty() => (host, None),
            None => return None,
        }
    } else {
        match address.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (address, None),
        }
    };
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_');
    let host_fits = !host.is_empty() && (host.contains(':') || host.bytes().all(plain));
    let port_fits = port
        .is_none_or(|port| port.bytes().all(|b| b.is_ascii_digit()) && port.parse::<u16>().is_ok());
    (host_fits && port_fits).then_some((host, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_urls() {
        for (text, host, port, path) in [
            ("http://h", "h", None, "/"),
            ("http://h:81/a?b=c#d", "h", Some("81"), "/a?b=c#d"),
            ("http://h?x=1", "h", None, "/"),
            ("https://[::1]:1/", "::1", Some("1"), "/"),
            ("http://u:p@h/../x", "h", None, "/../x"),
            ("ftp://h_1/", "h_1", None, "/"),
        ] {
            let found = parts(text).unwrap_or_else(|| panic!("{text} is a URL"));
            assert_eq!(
                (
                    found.host.as_str(),
                    found.port.as_deref(),
                    found.path.as_str()
                ),
                (host, port, path)
            );
        }
        assert!(parts("HTTPS://h").is_some_and(|p| p.tls()));
        assert_eq!(
            parts("ftp://h").map(|p| p.service().to_owned()).as_deref(),
            Some("ftp")
        );
    }

    #[test]
    fn no_urls() {
        for text in [
            "notaurl",
            "127.0.0.1:1",
            "http://",
            "http:///x",
            "http://h:99999/",
            "http://h:abc/",
            "http://h:/",
            "http://a b/",
            "://h/",
            "http://[h]/",
            "http://[::1/",
        ] {
            assert_eq!(parts(text), None, "{text}");
        }
    }
}
