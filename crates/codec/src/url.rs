//! URLs for the engine: an origin and a request target.
//!
//! URLs that need no changes take a fast path. All others use the `url` crate, which follows the
//! WHATWG standard.

use std::{borrow::Cow, fmt::Write, net::Ipv4Addr};

/// The scheme, host and port of a server.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Origin {
    /// Whether the scheme is https.
    pub tls: bool,
    /// Host, without the brackets around an IPv6 address.
    pub host: String,
    /// TCP port.
    pub port: u16,
}

impl Origin {
    /// Returns the value of the `host` header. Includes the port unless it is the scheme's default.
    #[must_use]
    pub fn host_header(&self) -> String {
        let mut text = if self.host.contains(':') {
            format!("[{}]", self.address())
        } else {
            self.host.clone()
        };
        if self.port != if self.tls { 443 } else { 80 } {
            let _ = write!(text, ":{}", self.port);
        }
        text
    }

    /// Returns the host without the zone of an IPv6 address, which is meaningful only on the local
    /// machine.
    #[must_use]
    pub fn address(&self) -> &str {
        self.host.split('%').next().unwrap_or_default()
    }

    /// Formats scheme, host and port.
    #[must_use]
    pub fn text(&self) -> String {
        format!(
            "{}://{}",
            if self.tls { "https" } else { "http" },
            self.host_header()
        )
    }
}

/// A parsed URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The origin to connect to.
    pub origin: Origin,
    /// Path and query for the request line.
    pub path: String,
    /// User name and password in the URL.
    pub userinfo: Option<(String, String)>,
}

/// Result of [`split`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Split<'a> {
    /// Whether the scheme is https.
    pub tls: bool,
    /// Host and optional port, as written.
    pub authority: &'a str,
    /// Path and query, as written. Never empty.
    pub path: &'a str,
}

/// Splits a URL without changing it. Returns `None` if any part needs a change.
#[must_use]
pub fn split(url: &str) -> Option<Split<'_>> {
    let (tls, rest) = match url.strip_prefix("http://") {
        Some(rest) => (false, rest),
        None => (true, url.strip_prefix("https://")?),
    };
    let slash = rest.find('/')?;
    let (authority, path) = rest.split_at(slash);
    let plain_host = !authority.is_empty()
        && authority
            .bytes()
            .all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'-' | b':'));
    (plain_host && is_plain_path(path)).then_some(Split {
        tls,
        authority,
        path,
    })
}

/// Returns whether path and query can be sent unchanged.
#[must_use]
pub fn is_plain_path(path: &str) -> bool {
    // Use a single pass, because this code runs for every request.
    let (mut is_plain, mut before) = (true, 0);
    for byte in path.bytes() {
        is_plain &= SAFE[usize::from(byte)] && !(before == b'/' && byte == b'.');
        before = byte;
    }
    is_plain
}

static SAFE: [bool; 256] = {
    let mut safe = [false; 256];
    let plain =
        b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~!$&()*+,;=:@/%?[]|";
    let mut i = 0;
    while i < plain.len() {
        safe[plain[i] as usize] = true;
        i += 1;
    }
    safe
};

/// Parses any URL. Returns `None` if no request can be sent to the URL.
#[must_use]
pub fn parse(text: &str) -> Option<Target> {
    plain_target(text).or_else(|| parse_by_standard(text))
}

/// Parses a URL that the WHATWG standard would not change. Returns `None` for all others.
fn plain_target(text: &str) -> Option<Target> {
    let Split {
        tls,
        authority,
        path,
    } = split(text)?;
    let (host, port) = match authority.split_once(':') {
        Some((host, port)) => (host, port.parse().ok()?),
        None => (authority, if tls { 443 } else { 80 }),
    };
    let mut labels = host.split('.');
    let is_plain = |label: &str| !label.is_empty() && !label.contains("--");
    if !labels.clone().all(is_plain) || path.contains("%2") {
        return None;
    }
    // A host such as `127.1`, which is another spelling of `127.0.0.1`.
    let is_number = |label: &str| label.starts_with(|first: char| first.is_ascii_digit());
    if labels.next_back().is_some_and(is_number) && host.parse::<Ipv4Addr>().is_err() {
        return None;
    }
    Some(Target {
        origin: Origin {
            tls,
            host: host.to_owned(),
            port,
        },
        path: path.to_owned(),
        userinfo: None,
    })
}

fn parse_by_standard(text: &str) -> Option<Target> {
    let zoned = Zoned::split(text);
    let mut target = from_url(&url::Url::parse(&zoned.url).ok()?)?;
    zoned.add_to(&mut target.origin);
    Some(target)
}

/// Resolves the `Location` of a redirect against the URL of its request.
#[must_use]
pub fn join(base: &str, location: &str) -> Option<(String, Target)> {
    let (base, location) = (Zoned::split(base), Zoned::split(location));
    let url = url::Url::parse(&base.url).ok()?.join(&location.url).ok()?;
    let mut target = from_url(&url)?;
    let from = from_url(&url::Url::parse(&base.url).ok()?)?;
    let is_same_host = target.origin.host == from.origin.host;
    let zoned = if is_same_host && location.zone.is_none() {
        base
    } else {
        location
    };
    zoned.add_to(&mut target.origin);
    let text = match zoned.zone {
        Some(_) => zoned.put_back(url.as_str()),
        None => url.into(),
    };
    Some((text, target))
}

/// A URL whose IPv6 address may have a zone, which names the interface of a link-local address:
/// `[fe80::1%25eth0]` (RFC 6874) or `[fe80::1%eth0]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Zoned<'a> {
    /// The URL without the zone.
    pub url: Cow<'a, str>,
    /// The zone, without its percent sign.
    pub zone: Option<&'a str>,
}

impl<'a> Zoned<'a> {
    /// Splits a valid zone off a URL.
    #[must_use]
    pub fn split(text: &'a str) -> Zoned<'a> {
        let zoned = || {
            let authority = text.find("://")? + 3;
            let length = text[authority..].find(['/', '?', '#']);
            let end = length.map_or(text.len(), |length| authority + length);
            let bracket = authority + text[authority..end].find('[')?;
            let close = bracket + text[bracket..end].find(']')?;
            let percent = bracket + text[bracket..close].find('%')?;
            let zone = &text[percent + 1..close];
            let zone = zone
                .strip_prefix("25")
                .filter(|rest| !rest.is_empty())
                .unwrap_or(zone);
            let is_name = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
            let is_valid = !zone.is_empty() && zone.bytes().all(is_name);
            let url = format!("{}{}", &text[..percent], &text[close..]);
            is_valid.then_some(Zoned {
                url: Cow::Owned(url),
                zone: Some(zone),
            })
        };
        zoned().unwrap_or(Zoned {
            url: Cow::Borrowed(text),
            zone: None,
        })
    }

    /// Inserts the zone into a URL or authority with the same host.
    #[must_use]
    pub fn put_back(&self, text: &str) -> String {
        match self.zone {
            Some(zone) => text.replacen(']', &format!("%25{zone}]"), 1),
            None => text.to_owned(),
        }
    }

    fn add_to(&self, origin: &mut Origin) {
        if let Some(zone) = self.zone {
            origin.host = format!("{}%{zone}", origin.host);
        }
    }
}

fn from_url(url: &url::Url) -> Option<Target> {
    let tls = match url.scheme() {
        "http" => false,
        "https" => true,
        _ => return None,
    };
    let host = match url.host()? {
        url::Host::Ipv6(address) => address.to_string(),
        host => host.to_string(),
    };
    let port = url.port_or_known_default()?;
    let mut path = url.path().to_owned();
    if let Some(query) = url.query() {
        path.push('?');
        path.push_str(query);
    }
    let userinfo = (!url.username().is_empty()).then(|| {
        (
            url.username().to_owned(),
            url.password().unwrap_or("").to_owned(),
        )
    });
    Some(Target {
        origin: Origin { tls, host, port },
        path,
        userinfo,
    })
}

/// Appends a name and a value, encoded as `application/x-www-form-urlencoded`.
pub fn push_pair(out: &mut String, name: &str, value: &str) {
    let encode = url::form_urlencoded::byte_serialize;
    if !out.is_empty() {
        out.push('&');
    }
    out.extend(encode(name.as_bytes()));
    out.push('=');
    out.extend(encode(value.as_bytes()));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn fast_path_matches_standard() {
        for text in [
            "http://a.test/x/y?q=1&r=%20",
            "http://127.0.0.1:8080/",
            "https://a-b.test/$()*,;",
            "http://h/a?b=c/d:e@f",
        ] {
            let fast = split(text).unwrap_or_else(|| panic!("{text} is plain"));
            let slow = parse(text).unwrap_or_else(|| panic!("{text} is a URL"));
            assert_eq!((fast.tls, fast.path), (slow.origin.tls, slow.path.as_str()));
            assert_eq!(fast.authority, slow.origin.host_header());
        }
        for text in [
            "http://h",
            "http://h/a b",
            "http://h/é",
            "http://h/a/../b",
            "http://H/x",
            "http://u@h/x",
            "http://h/#f",
            "ftp://h/",
        ] {
            assert_eq!(split(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn plain_urls_are_parsed_as_by_the_standard(
            text in "https?://[a-z0-9.:-]{0,12}/[a-zA-Z0-9._~%2e/?&=;|-]{0,16}",
            address in "http://[0-9x]{1,3}(\\.[0-9a-f]{1,3}){0,4}(:[0-9]{0,6})?/",
        ) {
            for text in [text, address] {
                let plain = plain_target(&text);
                prop_assert!(plain.is_none() || plain == parse_by_standard(&text), "{}", text);
            }
        }
    }

    #[test]
    fn plain_urls_take_the_fast_path() {
        for text in ["http://127.0.0.1:8080/a?b=c%41", "https://a-b.example.org/"] {
            assert!(plain_target(text).is_some(), "{text}");
        }
    }

    #[test]
    fn unusual_urls_are_rewritten() {
        let path = |text| parse(text).map(|t| t.path);
        assert_eq!(path("http://h/a b?c d#e").as_deref(), Some("/a%20b?c%20d"));
        assert_eq!(path("http://h/a/../b").as_deref(), Some("/b"));
        assert_eq!(
            parse("http://[::1]:99/")
                .map(|t| t.origin.host_header())
                .as_deref(),
            Some("[::1]:99")
        );
        assert_eq!(
            parse("http://u:p@h/").and_then(|t| t.userinfo),
            Some(("u".into(), "p".into()))
        );
        assert_eq!(parse("ws://h/"), None);
        assert_eq!(parse("nonsense"), None);
    }

    #[test]
    fn zone_of_an_ipv6_address_is_kept_for_connecting_only() {
        for text in [
            "http://[fe80::1%25eth0]:99/a%41?b",
            "http://[fe80::1%eth0]:99/a%41?b",
        ] {
            let target = parse(text).unwrap();
            assert_eq!(target.origin.host, "fe80::1%eth0", "{text}");
            assert_eq!(target.origin.host_header(), "[fe80::1]:99");
            assert_eq!(target.path, "/a%41?b");
        }
        for wrong in [
            "http://[fe80::1%25]/",
            "http://[fe80::1%]/",
            "http://[fe80::1%a b]/",
        ] {
            let zone = parse(wrong).map(|target| target.origin.host);
            assert!(
                zone.is_none() || zone.as_deref() == Some("fe80::1%25"),
                "{wrong}: {zone:?}"
            );
        }
        assert_eq!(parse("http://h/[%25x]").unwrap().origin.host, "h");
        let base = "http://[fe80::1%25lo]:9/a";
        let (text, target) = join(base, "/b").unwrap();
        assert_eq!(
            (text.as_str(), target.origin.host.as_str()),
            ("http://[fe80::1%25lo]:9/b", "fe80::1%lo")
        );
        assert_eq!(parse(&text), Some(target));
        let (text, target) = join(base, "http://[fe80::2]/").unwrap();
        assert_eq!(
            (text.as_str(), target.origin.host.as_str()),
            ("http://[fe80::2]/", "fe80::2")
        );
    }

    #[test]
    fn redirects_are_resolved_and_pairs_encoded() {
        assert_eq!(
            join("http://h:1/a/b", "../c?d")
                .map(|(url, _)| url)
                .as_deref(),
            Some("http://h:1/c?d")
        );
        assert_eq!(
            join("http://h/a", "https://i/").map(|(_, t)| t.origin.port),
            Some(443)
        );
        let mut text = String::new();
        push_pair(&mut text, "a", "b c");
        push_pair(&mut text, "d", "e&f");
        assert_eq!(text, "a=b+c&d=e%26f");
    }
}
