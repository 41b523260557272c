//! A question to a Prometheus, in one line. Whether the question is one is for the Prometheus to say.

use super::Place;

/// Reads `URL QUERY`.
pub(super) fn line(text: &str) -> Result<Place, String> {
    let (url, query) = text
        .trim()
        .split_once(char::is_whitespace)
        .unwrap_or((text.trim(), ""));
    place(url, query)
}

/// A question to a Prometheus at a URL.
pub(super) fn place(url: &str, query: &str) -> Result<Place, String> {
    // A URL may hold a password: it is not repeated.
    if !url.starts_with("http://") && !url.starts_with("https://") {
        return Err("a Prometheus is asked at its http:// or https:// URL".to_owned());
    }
    let query = query.trim();
    if query.is_empty() {
        return Err(
            "it asks nothing: write the query behind the URL, promql:http://HOST:9090 QUERY"
                .to_owned(),
        );
    }
    Ok(Place::Promql {
        url: url.trim_end_matches('/').to_owned(),
        query: query.to_owned(),
    })
}
