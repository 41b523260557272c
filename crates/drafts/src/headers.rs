//! Decides which recorded headers to keep, and joins duplicates.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderUse {
    Yes,
    No,
}

const OF_THE_CONNECTION: [&str; 7] = [
    "content-length",
    "transfer-encoding",
    "keep-alive",
    "proxy-connection",
    "expect",
    "upgrade",
    "te",
];
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

pub fn of_curl(name: &str, value: &str) -> HeaderUse {
    let lower = name.to_ascii_lowercase();
    let is_usual = lower == "connection" && value.eq_ignore_ascii_case("keep-alive");
    if is_usual || lower.starts_with(':') || OF_THE_CONNECTION.contains(&lower.as_str()) {
        HeaderUse::No
    } else {
        HeaderUse::Yes
    }
}

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

pub fn is_name(name: &str) -> bool {
    let is_of_it = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    !name.is_empty() && name.chars().all(is_of_it)
}

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
