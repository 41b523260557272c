//! Tests of a URL: curl-like flags for the request, and URLs without a scheme.

use std::path::Path;

use formats::{BodyOption, UrlOptions, stream_request::USUAL_MODEL};
use plan::event_stream::StreamFormat;

use crate::{args, headers, log};

/// Adds a missing scheme, unless a file with that name exists.
pub fn with_scheme(what: &str) -> String {
    if !is_bare(what) || Path::new(what).exists() {
        return what.to_owned();
    }
    log::say("loadline: the URL has no scheme: using http://");
    format!("http://{what}")
}

pub fn without_scheme(what: &str) -> Option<String> {
    let (host, rest) = what.split_once(['/', '?']).unwrap_or((what, ""));
    let is_name = |c: char| c.is_ascii_alphanumeric() || ".-".contains(c);
    let is_host = host.contains('.') && !host.starts_with('.') && host.chars().all(is_name);
    let is_plan = [".yml", ".yaml", ".json", ".lua", ".py", ".js", ".har"]
        .iter()
        .any(|ending| what.ends_with(ending));
    let is_url = is_host && !is_plan && (!rest.is_empty() || what.ends_with('/'));
    (is_url && !Path::new(what).exists())
        .then(|| format!("{what}: no such file; for a URL, add the scheme: https://{what}"))
}

fn is_bare(what: &str) -> bool {
    if what.contains("://") || what.contains(char::is_whitespace) {
        return false;
    }
    let end = what.find(['/', '?']).unwrap_or(what.len());
    let authority = what[..end].rsplit('@').next().unwrap_or_default();
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.is_empty() && port.chars().all(|c| c.is_ascii_digit()) => {
            (host, Some(port))
        }
        Some(_) if !authority.starts_with('[') => return false,
        _ => (authority, None),
    };
    let is_host = |c: char| c.is_ascii_alphanumeric() || ".-_[]:".contains(c);
    let is_known = host == "localhost" || host.parse::<std::net::Ipv4Addr>().is_ok();
    !host.is_empty() && host.chars().all(is_host) && (port.is_some() || is_known)
}

pub fn given(args: &args::RunArgs) -> Option<&'static str> {
    let flags = [
        (args.method.is_some(), "--method"),
        (args.data.is_some(), "--data"),
        (args.user.is_some(), "--user"),
        (args.stream.is_some(), "--stream"),
    ];
    let mut given = flags
        .into_iter()
        .filter_map(|(is, flag)| is.then_some(flag));
    given.next()
}

/// Applies the flags for a URL.
///
/// # Errors
///
/// Returns an error that describes the first invalid flag.
pub fn add(options: &mut UrlOptions, args: &args::RunArgs) -> Result<(), String> {
    if let Some(method) = &args.method {
        if !headers::is_token(method) {
            return Err(format!(
                "--method `{method}` is not a method: use, for example, PUT"
            ));
        }
        if method.eq_ignore_ascii_case("CONNECT") {
            return Err("--method CONNECT only opens tunnels, so there is nothing to measure: use another method".to_owned());
        }
        options.method = Some(method.to_ascii_uppercase());
    }
    if let Some(user) = &args.user {
        let (name, password) = user.split_once(':').ok_or_else(|| {
            "--user needs a password too: use NAME:PASSWORD (NAME: for an empty password)"
                .to_owned()
        })?;
        options.user = Some((name.to_owned(), password.to_owned()));
    }
    if let Some(format) = args.stream.as_deref().and_then(StreamFormat::named) {
        options.stream = Some(format);
        options.model.clone_from(&args.model);
        if format.is_of_model_api() && args.data.is_none() && args.model.is_none() {
            let text = format!(
                "loadline: asking for the model `{USUAL_MODEL}`: use --model for another one, or --data for a request of your own"
            );
            log::say(text);
        }
    }
    if let Some(data) = &args.data {
        let text = match data.strip_prefix('@') {
            Some(file) => formats::files::read_to_string(file)
                .map_err(|error| format!("--data {data}: {error}"))?,
            None => data.clone(),
        };
        let is_said = |header: &String| {
            let name = headers::read(header).map(|(name, _)| name);
            name.is_ok_and(|name| name.eq_ignore_ascii_case("content-type"))
        };
        let content_type = (!args.header.iter().any(is_said)).then(|| {
            if is_json(&text) {
                "application/json"
            } else {
                "application/x-www-form-urlencoded"
            }
        });
        if content_type == Some("application/json") {
            log::say(
                "loadline: the data is JSON and is sent as application/json; use -H 'Content-Type: …' to set another type",
            );
        }
        options.body = Some(BodyOption {
            text,
            content_type: content_type.map(ToOwned::to_owned),
        });
    }
    Ok(())
}

fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
        && serde_json::from_str::<serde_json::Value>(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_only_be_a_host_is_one() {
        for bare in [
            "localhost",
            "localhost/api",
            "localhost:8080",
            "127.0.0.1?q=1",
            "127.0.0.1:80/a",
            "shop.example:8080/a?b=c",
            "[::1]:8080/",
            "me:secret@localhost:8080/",
        ] {
            assert!(is_bare(bare), "{bare}");
        }
        for other in [
            "plan.yml",
            "api/test.yml",
            "example.org/path",
            "http://localhost",
            "lab:sum",
            "lab:checkin?threads=16",
            "a b:80",
            ":80",
            "C:\\plan.yml",
            "",
        ] {
            assert!(!is_bare(other), "{other}");
        }
    }

    #[test]
    fn only_objects_and_lists_are_taken_for_json() {
        assert!(is_json(" {\"a\": 1}") && is_json("[1]"));
        assert!(!is_json("a=1") && !is_json("{a}") && !is_json("12"));
    }
}
