//! Meanings of curl options, and whether a value follows them.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    Says,
    Nothing,
    Refused(&'static str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CurlOption {
    pub name: &'static str,
    pub takes: bool,
    pub meaning: Meaning,
}

const PROXY: Meaning = Meaning::Refused(
    "a plan cannot contain a proxy: remove the option, and use `loadline run FILE -x PROXY` or \
    `http_proxy`",
);
const UPLOAD: Meaning =
    Meaning::Refused("plans do not upload files: use --data-binary @FILE for the body");
const SCHEME: Meaning = Meaning::Refused(
    "this authentication method is not supported: remove it, and set a header with -H",
);
const CONFIG: Meaning =
    Meaning::Refused("curl's configuration files are not read: add their options here");

use Meaning::{Nothing, Says};

const OPTIONS: &[(&str, &str, bool, Meaning)] = &[
    ("X", "request", true, Says),
    ("H", "header", true, Says),
    ("d", "data", true, Says),
    ("", "data-ascii", true, Says),
    ("", "data-raw", true, Says),
    ("", "data-binary", true, Says),
    ("", "data-urlencode", true, Says),
    ("", "json", true, Says),
    ("u", "user", true, Says),
    ("b", "cookie", true, Says),
    ("A", "user-agent", true, Says),
    ("e", "referer", true, Says),
    ("G", "get", false, Says),
    ("I", "head", false, Says),
    ("k", "insecure", false, Says),
    ("L", "location", false, Says),
    ("", "location-trusted", false, Says),
    ("", "max-redirs", true, Says),
    ("m", "max-time", true, Says),
    ("", "url", true, Says),
    ("", "url-query", true, Says),
    ("", "compressed", false, Says),
    ("r", "range", true, Says),
    ("", "oauth2-bearer", true, Says),
    ("F", "form", true, Says),
    ("", "form-string", true, Says),
    ("", "resolve", true, Says),
    ("", "unix-socket", true, Says),
    ("", "cacert", true, Says),
    ("E", "cert", true, Says),
    ("", "key", true, Says),
    (":", "next", false, Says),
    ("s", "silent", false, Nothing),
    ("S", "show-error", false, Nothing),
    ("v", "verbose", false, Nothing),
    ("f", "fail", false, Nothing),
    ("", "fail-with-body", false, Nothing),
    ("", "fail-early", false, Nothing),
    ("i", "include", false, Nothing),
    ("", "show-headers", false, Nothing),
    ("o", "output", true, Nothing),
    ("", "output-dir", true, Nothing),
    ("O", "remote-name", false, Nothing),
    ("", "remote-name-all", false, Nothing),
    ("J", "remote-header-name", false, Nothing),
    ("", "create-dirs", false, Nothing),
    ("w", "write-out", true, Nothing),
    ("D", "dump-header", true, Nothing),
    ("c", "cookie-jar", true, Nothing),
    ("j", "junk-session-cookies", false, Nothing),
    ("#", "progress-bar", false, Nothing),
    ("", "no-progress-meter", false, Nothing),
    ("", "progress-meter", false, Nothing),
    ("N", "no-buffer", false, Nothing),
    ("q", "disable", false, Nothing),
    ("Z", "parallel", false, Nothing),
    ("", "retry", true, Nothing),
    ("", "retry-delay", true, Nothing),
    ("", "retry-max-time", true, Nothing),
    ("", "retry-all-errors", false, Nothing),
    ("", "retry-connrefused", false, Nothing),
    ("", "connect-timeout", true, Nothing),
    ("", "keepalive-time", true, Nothing),
    ("", "no-keepalive", false, Nothing),
    ("", "tcp-nodelay", false, Nothing),
    ("", "trace", true, Nothing),
    ("", "trace-ascii", true, Nothing),
    ("", "trace-time", false, Nothing),
    ("", "stderr", true, Nothing),
    ("", "styled-output", false, Nothing),
    ("", "no-styled-output", false, Nothing),
    ("g", "globoff", false, Nothing),
    ("4", "ipv4", false, Nothing),
    ("6", "ipv6", false, Nothing),
    ("", "http1.1", false, Nothing),
    ("", "http2", false, Nothing),
    ("", "http2-prior-knowledge", false, Nothing),
    ("", "http3", false, Nothing),
    ("", "no-alpn", false, Nothing),
    ("", "tlsv1.2", false, Nothing),
    ("", "tlsv1.3", false, Nothing),
    ("1", "tlsv1", false, Nothing),
    ("", "ssl-no-revoke", false, Nothing),
    ("", "limit-rate", true, Nothing),
    ("", "speed-limit", true, Nothing),
    ("", "speed-time", true, Nothing),
    ("", "post301", false, Nothing),
    ("", "post302", false, Nothing),
    ("", "post303", false, Nothing),
    ("", "basic", false, Nothing),
    ("", "noproxy", true, Nothing),
    ("", "expect100-timeout", true, Nothing),
    ("", "path-as-is", false, Nothing),
    ("T", "upload-file", true, UPLOAD),
    ("x", "proxy", true, PROXY),
    ("", "preproxy", true, PROXY),
    ("", "socks5", true, PROXY),
    ("", "socks5-hostname", true, PROXY),
    ("U", "proxy-user", true, PROXY),
    ("", "digest", false, SCHEME),
    ("", "ntlm", false, SCHEME),
    ("", "negotiate", false, SCHEME),
    ("", "anyauth", false, SCHEME),
    ("", "aws-sigv4", true, SCHEME),
    ("n", "netrc", false, CONFIG),
    ("", "netrc-file", true, CONFIG),
    ("K", "config", true, CONFIG),
    (
        "",
        "connect-to",
        true,
        Meaning::Refused("use --resolve HOST:PORT:ADDRESS to set the address"),
    ),
    (
        "0",
        "http1.0",
        false,
        Meaning::Refused("requests use HTTP/1.1: remove this option"),
    ),
    (
        "C",
        "continue-at",
        true,
        Meaning::Refused("transfers are not resumed: remove it"),
    ),
    (
        "z",
        "time-cond",
        true,
        Meaning::Refused("use -H 'If-Modified-Since: …' to set the header"),
    ),
    (
        "",
        "request-target",
        true,
        Meaning::Refused("add this path to the URL"),
    ),
    (
        "",
        "variable",
        true,
        Meaning::Refused("use the value directly"),
    ),
];

pub fn long(name: &str) -> Option<CurlOption> {
    find(|(_, long, ..)| *long == name)
}

pub fn short(letter: char) -> Option<CurlOption> {
    find(|(short, ..)| short.starts_with(letter))
}

pub fn names() -> impl Iterator<Item = &'static str> {
    OPTIONS.iter().map(|(_, long, ..)| *long)
}

fn find(
    is_it: impl Fn(&(&'static str, &'static str, bool, Meaning)) -> bool,
) -> Option<CurlOption> {
    let (_, name, takes, meaning) = *OPTIONS.iter().find(|option| is_it(option))?;
    Some(CurlOption {
        name,
        takes,
        meaning,
    })
}
