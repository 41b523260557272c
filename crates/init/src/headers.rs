//! Headers of requests that somebody recorded or wrote down: which are a client's own business, and how several of one name come together.

/// Whether a header is a part of the test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderUse {
    Yes,
    No,
}

/// What follows from the body or the connection, whoever wrote it.
const OF_THE_CONNECTION: [&str; 7] = [
    "content-length",
    "transfer-encoding",
    "keep-alive",
    "proxy-connection",
    "expect",
    "upgrade",
    "te",
];
/// What browsers add by themselves, and what would make a cache answer for the service.
const OF_THE_BROWSER: [&str; 12] = [
    "dnt",
    "priority",
    "upgrade-insecure-requests",
    "pragma",
    "cache-control",
    "if-none-match",
    "if-modified-since",
    "referer",
    "user-agent",
    "host",
    "cookie",
    "origin",
];

/// A header of a command line: it is there because somebody wants it.
pub fn of_curl(name: &str, value: &str) -> HeaderUse {
    let lower = name.to_ascii_lowercase();
    let is_usual = lower == "connection" && value.eq_ignore_ascii_case("keep-alive");
    if is_usual || lower.starts_with(':') || OF_THE_CONNECTION.contains(&lower.as_str()) {
        HeaderUse::No
    } else {
        HeaderUse::Yes
    }
}

/// A header of a browser's recording.
pub fn of_browser(name: &str, value: &str) -> HeaderUse {
    let lower = name.to_ascii_lowercase();
    let says_nothing = lower == "accept" && value == "*/*";
    if says_nothing
        || lower == "connection"
        || lower.starts_with("sec-")
        || OF_THE_BROWSER.contains(&lower.as_str())
    {
        HeaderUse::No
    } else {
        of_curl(name, value)
    }
}

/// What RFC 9110 allows in a name.
pub fn is_name(name: &str) -> bool {
    let is_of_it = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    !name.is_empty() && name.chars().all(is_of_it)
}

/// Appends a header; a second one of its name is joined to the first, because a plan has each once.
pub fn join(headers: &mut Vec<(String, String)>, name: &str, value: String) {
    let known = headers
        .iter_mut()
        .find(|(known, _)| known.eq_ignore_ascii_case(name));
    match known {
        Some((_, before)) => {
            let between = if name.eq_ignore_ascii_case("cookie") {
                "; "
            } else {
                ", "
            };
            *before = format!("{before}{between}{value}");
        }
        None => headers.push((name.to_ascii_lowercase(), value)),
    }
}
