//! Splits a URL as written, including variables.

use url::{Url, form_urlencoded};

use crate::placeholders;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    pub origin: String,
    pub host: String,
    pub user: Option<(String, Option<String>)>,
    pub path: String,
}

pub fn read(text: &str) -> Result<Address, String> {
    let text = text.split('#').next().unwrap_or_default().trim();
    let has_scheme = scheme(text).is_some();
    if placeholders::has_variables(text) && !has_scheme {
        let end = text.find(['/', '?']).unwrap_or(text.len());
        let (origin, path) = text.split_at(end);
        if !placeholders::replaced(origin, "").is_empty() || origin.is_empty() {
            return read(&format!("http://{text}"));
        }
        return Ok(Address {
            origin: origin.to_owned(),
            host: placeholders::replaced(origin, "service"),
            user: None,
            path: from_slash(path),
        });
    }
    let whole = if has_scheme {
        text.to_owned()
    } else {
        format!("http://{text}")
    };
    let no_url = || {
        format!(
            "`{}` is not a URL that starts with http:// or https://",
            placeholders::replaced(&without_user(text), "…").replace(char::is_control, " ")
        )
    };
    if whole.contains(char::is_control) {
        return Err(no_url());
    }
    let url = Url::parse(&placeholders::replaced(&whole, "1")).map_err(|_| no_url())?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(no_url());
    }
    let scheme = scheme(&whole).ok_or_else(no_url)?;
    let rest = &whole[scheme.len() + "://".len()..];
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let (user, place) = match authority.rsplit_once('@') {
        Some((user, place)) => (Some(user), place),
        None => (None, authority),
    };
    // Hosts must not contain variables. After a trailing colon, the port is missing.
    if place.is_empty() || place.ends_with(':') || place.contains(['{', '}']) {
        return Err(no_url());
    }
    let user = user.map(|user| match user.split_once(':') {
        Some((name, password)) => (decoded(name), Some(decoded(password))),
        None => (decoded(user), None),
    });
    Ok(Address {
        origin: format!("{}://{place}", scheme.to_ascii_lowercase()),
        host: url.host_str().unwrap_or_default().to_owned(),
        user,
        path: from_slash(path),
    })
}

fn scheme(text: &str) -> Option<&str> {
    let (scheme, _) = text.split_once("://")?;
    let is_part = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    (!scheme.is_empty() && scheme.chars().all(is_part)).then_some(scheme)
}

fn without_user(text: &str) -> String {
    match (text.split_once("://"), text.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, place))) => format!("{scheme}://…@{place}"),
        (None, Some((_, place))) => format!("…@{place}"),
        _ => text.to_owned(),
    }
}

fn from_slash(path: &str) -> String {
    if path.starts_with('/') {
        path.to_owned()
    } else {
        format!("/{path}")
    }
}

pub fn decoded(text: &str) -> String {
    let text = text.replace('+', "%2B").replace('&', "%26");
    let mut pairs = form_urlencoded::parse(text.as_bytes());
    pairs.next().map_or_else(String::new, |(name, value)| {
        if text.contains('=') {
            format!("{name}={value}")
        } else {
            name.into_owned()
        }
    })
}

pub fn encoded(text: &str) -> String {
    placeholders::mapped(text, |plain| {
        let mut out = String::new();
        for byte in plain.bytes() {
            if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
                out.push(char::from(byte));
            } else {
                out.push_str(&format!("%{byte:02X}"));
            }
        }
        out
    })
}

/// Encodes the characters that are not allowed in a URL, as clients do before sending.
pub fn with_stray_encoded(url: &str) -> String {
    placeholders::mapped(url, |plain| {
        let mut out = String::new();
        for letter in plain.chars() {
            if letter.is_ascii_graphic() && !"\"<>`{}|\\^".contains(letter) {
                out.push(letter);
            } else {
                out.push_str(&encoded(letter.encode_utf8(&mut [0; 4])));
            }
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_stay_as_they_were_written() {
        let url = read("HTTPS://me:p%40ss@Shop.example:8443/a%20b/../c?d={e}#f").unwrap();
        assert_eq!(url.origin, "https://Shop.example:8443");
        assert_eq!(url.host, "shop.example");
        assert_eq!(url.user, Some(("me".into(), Some("p@ss".into()))));
        assert_eq!(url.path, "/a%20b/../c?d={e}");
        let bare = read("localhost:8080?x").unwrap();
        assert_eq!(
            (bare.origin.as_str(), bare.path.as_str()),
            ("http://localhost:8080", "/?x")
        );
        let with = read("localhost/x?u=http://a").unwrap();
        assert_eq!(
            (with.origin.as_str(), with.path.as_str()),
            ("http://localhost", "/x?u=http://a")
        );
        let named = read(&format!("{}/api", placeholders::variable("$env.BASE"))).unwrap();
        assert_eq!(
            (named.origin, named.path),
            (placeholders::variable("$env.BASE"), "/api".to_owned())
        );
    }

    #[test]
    fn invalid_url_is_reported_without_password() {
        for text in [
            "ftp://a/",
            "http://",
            "http:///x",
            "https:/-shop.example/?u=http://a",
            "https:/shop.example",
            "a b",
            "http://me:secret@exa mple/",
        ] {
            let reported = read(text).unwrap_err();
            assert!(
                reported.ends_with("is not a URL that starts with http:// or https://")
                    && !reported.contains("secret"),
                "{reported}"
            );
        }
    }
}
