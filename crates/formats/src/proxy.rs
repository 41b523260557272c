//! Proxies: their URLs, and the environment variables that other HTTP clients use.

use plan::{Note, Plan, Proxies, Proxy};
use url::Url;

use crate::url_plan::decoded;

/// Parses the URL of a proxy, such as `http://user:password@proxy:3128`. Returns `None` if it does
/// not start with `http://` or has no host.
#[must_use]
pub fn parse(text: &str) -> Option<Proxy> {
    let url = Url::parse(text).ok().filter(|url| url.scheme() == "http")?;
    let host = url.host_str()?;
    let credentials = (
        decoded(url.username()),
        decoded(url.password().unwrap_or_default()),
    );
    Some(Proxy {
        host: host.trim_matches(['[', ']']).to_owned(),
        port: url.port().unwrap_or(80),
        credentials: Some(credentials)
            .filter(|(user, password)| !(user.is_empty() && password.is_empty())),
    })
}

/// Reads `http_proxy`, `HTTPS_PROXY` and `NO_PROXY` in lower or upper case. Like Go's client, it
/// never uses a proxy for hosts of this machine.
///
/// # Errors
///
/// Fails with the name of the variable whose value is not a valid proxy URL.
pub fn from_environment(environment: &[(String, String)]) -> Result<Proxies, String> {
    let value = |names: [&str; 2]| {
        let mut all = names.into_iter().filter_map(|name| {
            let mut all = environment.iter();
            all.find(|(known, value)| known == name && !value.is_empty())
        });
        all.next()
    };
    let proxy = |names| match value(names) {
        None => Ok(None),
        Some((name, text)) => parse(text)
            .map(Some)
            .ok_or_else(|| format!("{name} must be a URL such as http://proxy:3128")),
    };
    let plain = proxy(["http_proxy", "HTTP_PROXY"])?;
    let tls = proxy(["https_proxy", "HTTPS_PROXY"])?;
    if plain.is_none() && tls.is_none() {
        return Ok(Proxies::default());
    }
    let named = value(["no_proxy", "NO_PROXY"]).map_or("", |(_, text)| text.as_str());
    let named = named
        .split(',')
        .map(str::trim)
        .filter(|entry| !entry.is_empty());
    let own = ["localhost", "127.0.0.0/8", "::1"].into_iter();
    Ok(Proxies {
        plain,
        tls,
        bypass: named.chain(own).map(str::to_owned).collect(),
    })
}

/// Returns a note if requests to the target go through a proxy, because their times include the
/// proxy.
#[must_use]
pub fn note(plan: &Plan) -> Option<Note> {
    let origin = codec::url::parse(plan.target.expose())?.origin;
    let proxies = &plan.http.proxies;
    let proxy = proxies.of(origin.tls, &origin.host, origin.port)?;
    let text = format!(
        "requests go through the proxy {}:{}",
        proxy.host, proxy.port
    );
    Some(Note { at: None, text })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_other_clients_are_read() {
        let environment = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
            let pairs = pairs.iter();
            pairs
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect()
        };
        let read = |pairs: &[(&str, &str)]| from_environment(&environment(pairs));
        let found = read(&[
            ("HTTPS_PROXY", "http://me:p%40ss@proxy:3128"),
            ("NO_PROXY", "a.org, b.org"),
        ])
        .unwrap();
        let proxy = found.tls.clone().unwrap();
        assert_eq!((proxy.host.as_str(), proxy.port), ("proxy", 3128));
        assert_eq!(proxy.credentials, Some(("me".into(), "p@ss".into())));
        assert!(found.plain.is_none());
        assert!(
            found.of(true, "b.org", 443).is_none() && found.of(true, "127.0.0.9", 443).is_none()
        );
        assert!(found.of(true, "c.org", 443).is_some());
        assert_eq!(read(&[("NO_PROXY", "*")]).unwrap(), Proxies::default());
        let refused = read(&[("http_proxy", "socks5://proxy")]).unwrap_err();
        assert_eq!(
            refused,
            "http_proxy must be a URL such as http://proxy:3128"
        );
    }
}
