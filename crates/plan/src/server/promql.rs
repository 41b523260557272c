//! Parses a Prometheus source written on one line. Does not validate the query itself.

use super::MetricLocation;

pub(super) fn line(text: &str) -> Result<MetricLocation, String> {
    let (url, query) = text
        .trim()
        .split_once(char::is_whitespace)
        .unwrap_or((text.trim(), ""));
    place(url, query)
}

pub(super) fn place(url: &str, query: &str) -> Result<MetricLocation, String> {
    // Do not repeat the URL in the message, because it may contain a password.
    if !url.starts_with("http://") && !url.starts_with("https://") {
        return Err("a Prometheus server needs an http:// or https:// URL".to_owned());
    }
    let query = query.trim();
    if query.is_empty() {
        return Err(
            "the query is missing: add it after the URL, promql:http://HOST:9090 QUERY".to_owned(),
        );
    }
    Ok(MetricLocation::Promql {
        url: url.trim_end_matches('/').to_owned(),
        query: query.to_owned(),
    })
}
