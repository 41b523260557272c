//! Parses Prometheus queries that are written in one line. The query itself is not validated.

use super::MetricLocation;

pub(super) fn line(text: &str) -> Result<MetricLocation, String> {
    let (url, query) = text
        .trim()
        .split_once(char::is_whitespace)
        .unwrap_or((text.trim(), ""));
    place(url, query)
}

pub(super) fn place(url: &str, query: &str) -> Result<MetricLocation, String> {
    // The URL may contain a password, so the message does not repeat it.
    if !url.starts_with("http://") && !url.starts_with("https://") {
        return Err("a Prometheus is asked at its http:// or https:// URL".to_owned());
    }
    let query = query.trim();
    if query.is_empty() {
        return Err(
            "the query is missing: write it after the URL, promql:http://HOST:9090 QUERY"
                .to_owned(),
        );
    }
    Ok(MetricLocation::Promql {
        url: url.trim_end_matches('/').to_owned(),
        query: query.to_owned(),
    })
}
