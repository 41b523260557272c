//! Names of endpoints, as in the plugin `metrics-by-endpoint`.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoints {
    pub namespace: String,
    pub names_only: bool,
    pub strip_query: bool,
    pub skip_unnamed: bool,
    pub group_dynamic: bool,
}

impl Default for Endpoints {
    fn default() -> Endpoints {
        Endpoints {
            namespace: "plugins.metrics-by-endpoint".into(),
            names_only: false,
            strip_query: true,
            skip_unnamed: false,
            group_dynamic: true,
        }
    }
}

impl Endpoints {
    /// Returns the endpoint name under which the request counts. `None` if it has no name and only
    /// named requests are counted.
    #[must_use]
    pub fn name(&self, target: &str, url: &str, name: Option<&str>) -> Option<String> {
        match name.filter(|name| !name.is_empty()) {
            Some(name) if self.names_only => Some(name.to_owned()),
            Some(name) => Some(format!("{} ({name})", self.place(target, url))),
            None if self.skip_unnamed => None,
            None => Some(self.place(target, url)),
        }
    }

    fn place(&self, target: &str, url: &str) -> String {
        let (authority, rest) = split(url);
        let mut place = String::new();
        if let Some(authority) = authority {
            let (host, port) = host_and_port(authority);
            let (target_host, target_port) = split(target).0.map_or(("", None), host_and_port);
            if !host.eq_ignore_ascii_case(target_host) {
                place.push_str(host);
            }
            if let Some(port) = port.filter(|port| Some(*port) != target_port) {
                place.push_str(&format!(":{port}"));
            }
        }
        let rest = rest.split('#').next().unwrap_or(rest);
        let path = if self.strip_query {
            rest.split('?').next().unwrap_or(rest)
        } else {
            rest
        };
        if !path.starts_with('/') && authority.is_some() {
            place.push('/');
        }
        if authority.is_none() && path.starts_with('/') {
            place.push_str(&percent_decoded(split(target).1));
        }
        place.push_str(&percent_decoded(path));
        place
    }
}

fn split(url: &str) -> (Option<&str>, &str) {
    let Some((scheme, rest)) = url.split_once("://") else {
        return (None, url);
    };
    if scheme.contains(|c: char| !c.is_ascii_alphanumeric()) {
        return (None, url);
    }
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    (Some(&rest[..end]), &rest[end..])
}

fn host_and_port(authority: &str) -> (&str, Option<&str>) {
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    match host.rsplit_once(':') {
        Some((host, port)) if !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()) => {
            (host, Some(port))
        }
        _ => (host, None),
    }
}

/// Decodes `%xx`. A string stays encoded if the result would not be UTF-8.
#[must_use]
pub fn percent_decoded(path: &str) -> String {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let hex = |b: &u8| (*b as char).to_digit(16);
        if *first == b'%'
            && let (Some(high), Some(low)) =
                (after.first().and_then(hex), after.get(1).and_then(hex))
        {
            bytes.push((high * 16 + low) as u8);
            rest = &after[2..];
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(options: &Endpoints, url: &str, name: Option<&str>) -> String {
        options
            .name("http://h:1", url, name)
            .unwrap_or_else(|| "-".into())
    }

    #[test]
    fn as_the_plugin_names_them() {
        let plain = Endpoints {
            strip_query: false,
            ..Endpoints::default()
        };
        for (url, name, wanted) in [
            (
                "/json/{{ v }}?q=1&z={{ v }}",
                None,
                "/json/{{ v }}?q=1&z={{ v }}",
            ),
            ("/json", Some("nm {{ v }}"), "/json (nm {{ v }})"),
            ("/a%20b/ü", None, "/a b/ü"),
            ("http://localhost:1/other?x#frag", None, "localhost/other?x"),
            ("http://h:1/same", None, "/same"),
            ("http://h:2/same", None, ":2/same"),
            ("http://user:pw@h/same", None, "/same"),
            ("https://other.test", None, "other.test/"),
            ("https://other.test?x", None, "other.test/?x"),
            ("{{ target }}/tpl", None, "{{ target }}/tpl"),
            ("/%zz", None, "/%zz"),
        ] {
            assert_eq!(named(&plain, url, name), wanted, "{url}");
        }
        let after = |url: &str| plain.name("http://h:1/api", url, None);
        assert_eq!(after("/next").as_deref(), Some("/api/next"));
        assert_eq!(after("http://h:1/api/next").as_deref(), Some("/api/next"));
        assert_eq!(
            after("{{ target }}/next").as_deref(),
            Some("{{ target }}/next")
        );
        let stripped = Endpoints::default();
        assert_eq!(named(&stripped, "/p?name={{ f }}", Some("x")), "/p (x)");
        let only = Endpoints {
            names_only: true,
            skip_unnamed: true,
            ..Endpoints::default()
        };
        assert_eq!(named(&only, "/p", Some("x")), "x");
        assert_eq!(named(&only, "/p", None), "-");
    }
}
