//! Reads `http` and `target`: connection settings and the base URL.

use std::path::Path;

use codec::url::Zoned;

use plan::{Http, HttpVersion, PoolPolicy, StreamSpread, Template, TraceContext, TraceSampling};
use serde_json::Value;
use url::Url;

use super::{Translator, model};
use crate::{
    document::{Mark, Node},
    native::read::{self, entries},
};

fn without_trailing_slash(target: String) -> String {
    match target.strip_suffix('/') {
        Some(rest) if !target.contains(['?', '#']) => rest.to_owned(),
        _ => target,
    }
}

impl Translator<'_> {
    pub(super) fn target(&mut self, root: &Node) -> Option<String> {
        if let Some(target) = &self.inputs.target {
            let target = target.clone();
            self.check_url(&target, root.mark, "--target");
            return Some(without_trailing_slash(target));
        }
        let Some(node) = root.get("target") else {
            let help = "`target` is missing: add, for example, target: https://example.org, or use --target";
            read::missing(root, super::model::PLAN, help, self.findings);
            return None;
        };
        match self.constant(node)? {
            // The address of an embedded target is known only during the run.
            Value::String(text) if text.starts_with("lab:") => Some(text),
            Value::String(text) => {
                self.check_url(&text, node.mark, "target");
                Some(without_trailing_slash(text))
            }
            _ => {
                self.findings.problem(
                    node.mark,
                    format!("`target` must be a URL, not {}", node.kind()),
                );
                None
            }
        }
    }

    fn check_url(&mut self, text: &str, mark: Mark, what: &str) {
        match Url::parse(&Zoned::split(text).url) {
            Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => {}
            _ => self.findings.problem(
                mark,
                format!("`{what}: {text}` is not a URL that starts with http:// or https://"),
            ),
        }
    }

    pub(super) fn http(&mut self, node: Option<&Node>, folder: &Path) -> Http {
        let mut http = Http::default();
        if self.inputs.insecure {
            http.verify_tls = false;
        }
        let Some(node) = node else { return http };
        entries(node, "http", model::HTTP, self.findings);
        if let Some(timeout) = node.get("timeout") {
            http.timeouts.total_ns =
                read::duration(timeout, "timeout", self.findings).or(http.timeouts.total_ns);
        }
        if let Some(n) = node
            .get("connections")
            .and_then(|n| read::whole_u32(n, "connections", 1, self.findings))
        {
            http.pool = PoolPolicy::Shared(n);
        }
        self.http_versions(node, &mut http);
        if let Some(verify) = node
            .get("verify")
            .and_then(|node| read::boolean(node, "verify", self.findings))
        {
            http.verify_tls &= verify;
        }
        if let Some(keep) = node
            .get("cookies")
            .and_then(|node| read::boolean(node, "cookies", self.findings))
        {
            http.cookie_jar = keep;
        }
        match node.get("redirects").map(|node| (node, node.as_bool())) {
            None | Some((_, Some(true))) => {}
            Some((_, Some(false))) => self.follow_redirects = false,
            Some((node, None)) => {
                if let Some(n) = read::whole_u32(node, "redirects", 0, self.findings) {
                    http.max_redirects = n;
                    self.follow_redirects = n > 0;
                }
            }
        }
        self.trace_context(node, &mut http);
        self.travel(node, folder, &mut http);
        if let Some(headers) = node.get("headers") {
            let headers = self.headers(headers);
            headers
                .into_iter()
                .for_each(|(name, value)| set_header(&mut self.headers, name, value));
        }
        http
    }

    /// Reads which requests carry a trace context, and the URL of traces.
    fn trace_context(&mut self, node: &Node, http: &mut Http) {
        if let Some(node) = node.get("trace-url")
            && let Some(url) = read::text(node, "trace-url", self.findings)
        {
            match TraceContext::check_url(&url) {
                Ok(()) => http.trace_url = Some(url),
                Err(reason) => {
                    let text = format!("trace-url: {reason}");
                    self.findings.problem(node.mark, text);
                }
            }
        }
        let sampling = match node.get("trace-context").map(|node| (node, node.as_bool())) {
            None | Some((_, Some(false))) => return,
            Some((_, Some(true))) => TraceSampling::All,
            Some((node, None)) => {
                let Some(text) = read::scalar(node, "trace-context", self.findings) else {
                    return;
                };
                match TraceSampling::parse(&text) {
                    Ok(sampling) => sampling,
                    Err(reason) => {
                        let text = format!("trace-context: {reason}");
                        self.findings.problem(node.mark, text);
                        return;
                    }
                }
            }
        };
        http.trace_context = Some(TraceContext {
            sampling,
            ..TraceContext::default()
        });
    }

    /// Reads the HTTP versions and the limits of HTTP/2.
    fn http_versions(&mut self, node: &Node, http: &mut Http) {
        let versions = &mut http.versions;
        if let Some(version) = node.get("version") {
            versions.usual = self.http_version(version, "version").unwrap_or_default();
        }
        if let Some(streams) = node.get("streams")
            && let Some(n) = read::whole_u32(streams, "streams", 1, self.findings)
        {
            versions.streams = n;
        }
        if let Some(window) = node.get("window") {
            versions.window = self.window(window).unwrap_or(versions.window);
        }
        if let Some(spread) = node.get("spread") {
            versions.spread = self.spread(spread).unwrap_or_default();
        }
        let Some(by_origin) = node.get("versions") else {
            return;
        };
        for entry in read::map(by_origin, "versions", self.findings) {
            let Some(target) = codec::url::parse(&entry.key).filter(|target| target.path == "/")
            else {
                self.findings.problem(
                    entry.key_mark,
                    format!(
                        "`{}` is not an origin: write scheme, host and port, such as \
                        https://example.org",
                        entry.key
                    ),
                );
                continue;
            };
            if let Some(version) = self.http_version(&entry.value, &entry.key) {
                versions.by_origin.push((target.origin.text(), version));
            }
        }
    }

    fn http_version(&mut self, node: &Node, what: &str) -> Option<HttpVersion> {
        let text = read::scalar(node, what, self.findings)?;
        let version = HttpVersion::named(&text);
        if version.is_none() {
            let names = HttpVersion::ALL.map(HttpVersion::name).join(", ");
            self.findings.problem(
                node.mark,
                format!("`{what}: {text}` is not an HTTP version: use one of {names}"),
            );
        }
        version
    }

    fn spread(&mut self, node: &Node) -> Option<StreamSpread> {
        let text = read::scalar(node, "spread", self.findings)?;
        match text.as_str() {
            "even" => Some(StreamSpread::Even),
            "fill" => Some(StreamSpread::Fill),
            _ => {
                let problem = format!("`spread: {text}` must be even or fill");
                self.findings.problem(node.mark, problem);
                None
            }
        }
    }

    fn window(&mut self, node: &Node) -> Option<u32> {
        const MAX: u64 = (1 << 31) - 1;
        let text = read::scalar(node, "window", self.findings)?;
        let bytes = plan::units::parse_size(&text).unwrap_or(0);
        if (1..=MAX).contains(&bytes) {
            return u32::try_from(bytes).ok();
        }
        self.findings.problem(
            node.mark,
            format!("`window: {text}` is not a size from 1B to 2GB, such as 64kB or 6MB"),
        );
        None
    }

    pub(super) fn allowed_hosts(&mut self, node: Option<&Node>) -> Vec<String> {
        let Some(node) = node else { return Vec::new() };
        let mut hosts = Vec::new();
        for item in node.as_list().unwrap_or(std::slice::from_ref(node)) {
            let Some(text) = read::text(item, "allow-hosts", self.findings) else {
                continue;
            };
            let name = text.strip_prefix("*.").unwrap_or(&text);
            let address = name.split('%').next().unwrap_or(name);
            let is_bare_v6 = address.parse::<std::net::Ipv6Addr>().is_ok();
            let authority = if is_bare_v6 {
                format!("[{name}]")
            } else {
                name.to_owned()
            };
            let url = format!("http://{authority}/");
            let url = Url::parse(&Zoned::split(&url).url);
            let plain =
                |url: Url| url.port().is_none() && url.path() == "/" && url.username().is_empty();
            if name.contains(['/', '@']) || !url.is_ok_and(plain) {
                let help = "write only the host, without scheme, port or path";
                self.findings
                    .problem(item.mark, format!("`allow-hosts: {text}`: {help}"));
            }
            hosts.push(text);
        }
        hosts
    }

    pub(super) fn headers(&mut self, node: &Node) -> Vec<(String, Template)> {
        let mut headers = Vec::new();
        for entry in read::map(node, "headers", self.findings) {
            if !is_token(&entry.key) {
                self.findings.problem(
                    entry.key_mark,
                    format!("`{}` is not a header name", entry.key),
                );
                continue;
            }
            let value = match entry.value.as_scalar() {
                Some(Value::String(_) | Value::Number(_) | Value::Bool(_)) => {
                    self.template(&entry.value)
                }
                _ => {
                    let text = format!(
                        "the header `{}` must be text, not {}",
                        entry.key,
                        entry.value.kind()
                    );
                    self.findings.problem(entry.value.mark, text);
                    continue;
                }
            };
            if value
                .as_literal()
                .and_then(Value::as_str)
                .is_some_and(|text| text.contains(['\r', '\n', '\0']))
            {
                self.findings.problem(
                    entry.value.mark,
                    format!(
                        "the header `{}` contains a line break: remove it",
                        entry.key
                    ),
                );
            }
            set_header(&mut headers, entry.key.clone(), value);
        }
        headers
    }
}

/// Returns whether a string is a valid header name (RFC 9110).
fn is_token(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

pub(super) fn set_header(headers: &mut Vec<(String, Template)>, name: String, value: Template) {
    match headers
        .iter_mut()
        .find(|(known, _)| known.eq_ignore_ascii_case(&name))
    {
        Some(known) => *known = (name, value),
        None => headers.push((name, value)),
    }
}
