//! Translates `config.http`, `config.tls`, `config.defaults` and `config.target`.

use plan::{
    CookiePrefixes, CookieRules, Http, PoolPolicy, Scenario, Template, TraceContext,
    scenario::Jitter,
    units::{MILLISECOND, SECOND},
};
use serde_json::Value;
use url::Url;

use super::{Translator, artillery_http, nanoseconds, to_number};
use crate::read::keys::KeyLevel;
use crate::refusal;
use formats::document::{Mark, Node};

impl Translator<'_> {
    pub(super) fn http(&mut self, config: &Node) -> Http {
        let mut http = artillery_http();
        let section = config.get("http").filter(|node| node.is_truthy());
        if let Some(section) = section {
            self.check_keys(section, KeyLevel::Http);
        }
        let in_http = |key: &str| section.and_then(|section| section.get(key));
        if let Some(timeout) = config.get("timeout").or(in_http("timeout")) {
            self.timeout(timeout, &mut http);
        }
        if let Some(pool) = in_http("pool") {
            let n = to_number(pool);
            if n >= 1.0 && n <= f64::from(u32::MAX) {
                http.pool = PoolPolicy::Shared(n.floor() as u32);
            } else {
                let text = format!(
                    "`pool: {}` is not a number of connections: use 1 or more",
                    pool.text()
                );
                self.findings.problem(pool.mark, text);
            }
        }
        if let Some(options) = in_http("cookieJarOptions").filter(|node| node.is_truthy()) {
            http.cookies = self.cookie_rules(options);
        }
        http.trace_context = in_http("distributedTracing").and_then(|node| self.tracing(node));
        if let Some(tls) = config.get("tls").filter(|node| node.is_truthy()) {
            self.map(tls, "tls");
            self.check_keys(tls, KeyLevel::Tls);
            // As in Node.js, any value other than `false` enables verification.
            http.verify_tls = tls
                .get("rejectUnauthorized")
                .is_none_or(|node| node.as_bool() != Some(false));
            http.tls = self.tls(tls);
        }
        // Node.js' client does not send ALPN.
        http.tls.no_alpn = !self.inputs.native;
        http.proxies = self.proxies();
        self.read_defaults(in_http("defaults"), config.get("defaults"));
        http
    }

    pub(super) fn extended_metrics(&mut self, config: &Node) -> bool {
        let says = config
            .get("http")
            .and_then(|http| http.get("extendedMetrics"))
            .is_some_and(|node| node.as_bool() == Some(true) || node.as_str() == Some("true"));
        let mut environment = self.inputs.process_env.iter();
        says || environment
            .any(|(name, value)| name == "ARTILLERY_EXTENDED_HTTP_METRICS" && !value.is_empty())
    }

    fn cookie_rules(&mut self, node: &Node) -> CookieRules {
        let mut rules = cookie_rules();
        self.map(node, "cookieJarOptions");
        self.check_keys(node, KeyLevel::CookieJar);
        let says = |key: &str| node.get(key).and_then(Node::as_bool);
        rules.loose = says("looseMode").unwrap_or(false);
        rules.reject_public_suffixes = says("rejectPublicSuffixes").unwrap_or(true);
        match node.get("prefixSecurity").map(|node| (node, node.text())) {
            None => {}
            Some((_, text)) if text == "silent" => {}
            Some((_, text)) if text == "strict" => rules.prefixes = CookiePrefixes::Strict,
            Some((_, text)) if text == "unsafe-disabled" => {
                rules.prefixes = CookiePrefixes::Ignored
            }
            Some((node, text)) => {
                let text = format!(
                    "`prefixSecurity: {text}` is unknown: use silent, strict or unsafe-disabled"
                );
                self.findings.problem(node.mark, text);
            }
        }
        rules
    }

    /// Reads `distributedTracing`: a boolean, or `enabled`, `sampled` and `traceIdPrefix`.
    fn tracing(&mut self, node: &Node) -> Option<TraceContext> {
        const PREFIX: &str = "a9";
        const LONGEST_PREFIX: usize = 16;
        let mut context = TraceContext {
            id_prefix: PREFIX.to_owned(),
            ..TraceContext::default()
        };
        if let Some(is_on) = node.as_bool() {
            return is_on.then_some(context);
        }
        self.map(node, "distributedTracing");
        self.check_keys(node, KeyLevel::Tracing);
        let says = |key: &str| node.get(key).and_then(Node::as_bool);
        context.asks_to_record = says("sampled").unwrap_or(true);
        if let Some(prefix) = node.get("traceIdPrefix") {
            let digits = prefix.text();
            let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            if !is_hex || digits.len() > LONGEST_PREFIX {
                let text = format!(
                    "`traceIdPrefix: {digits}`: use at most {LONGEST_PREFIX} hexadecimal digits"
                );
                self.findings.problem(prefix.mark, text);
                return None;
            }
            context.id_prefix = digits.to_ascii_lowercase();
        }
        says("enabled").unwrap_or(true).then_some(context)
    }

    fn timeout(&mut self, node: &Node, http: &mut Http) {
        let seconds = to_number(node);
        match nanoseconds(seconds) {
            Some(0) => {}
            Some(ns) => {
                if seconds >= 1000.0 {
                    let text = format!(
                        "`timeout` is in seconds: {} is {:.1} hours",
                        node.text(),
                        seconds / 3600.0
                    );
                    self.findings.note(node.mark, text);
                }
                http.timeouts.headers_ns = Some(ns);
                http.timeouts.idle_ns = Some(ns.max(8 * SECOND));
            }
            None => {
                let text = format!(
                    "`timeout: {}` is not a time: use a number of seconds",
                    node.text()
                );
                self.findings.problem(node.mark, text);
            }
        }
    }

    fn read_defaults(&mut self, new: Option<&Node>, old: Option<&Node>) {
        for node in [new, old]
            .into_iter()
            .flatten()
            .filter(|node| !node.is_null())
        {
            self.map(node, "defaults");
            self.check_keys(node, KeyLevel::Defaults);
        }
        let first = |key: &str| {
            [new, old]
                .into_iter()
                .flatten()
                .find_map(|node| node.get(key).filter(|node| node.is_truthy()))
        };
        if let Some(headers) = first("headers") {
            let headers = self.headers(headers);
            self.defaults.headers = Some(headers);
        }
        if let Some(cookies) = first("cookie") {
            let entries = self.map(cookies, "cookie");
            self.defaults.cookies = entries
                .iter()
                .map(|entry| (entry.key.clone(), self.template(&entry.value)))
                .collect();
        }
        let lenient =
            |node: &Node| node.get("strictCapture").and_then(Node::as_bool) == Some(false);
        self.defaults.lenient_captures = [new, old].into_iter().flatten().any(lenient);
        if let Some(jitter) = first("think").and_then(|think| think.get("jitter")) {
            self.defaults.jitter = self.jitter(jitter);
        }
    }

    pub(super) fn headers(&mut self, node: &Node) -> Vec<(String, Template)> {
        let mut headers: Vec<(String, Template)> = Vec::new();
        for entry in self.map(node, "headers") {
            let name = entry.key.to_ascii_lowercase();
            if name.is_empty()
                || !name
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
            {
                self.findings.problem(
                    entry.key_mark,
                    format!("`{}` is not a header name", entry.key),
                );
                continue;
            }
            if entry.value.is_null() || entry.value.is_map() || entry.value.as_list().is_some() {
                let text = format!(
                    "the header `{name}` must be text, not {}",
                    entry.value.kind()
                );
                self.findings.problem(entry.value.mark, text);
                continue;
            }
            let value = self.template(&entry.value);
            if let Some(text) = value.as_literal().and_then(Value::as_str)
                && text.contains(['\r', '\n', '\0'])
            {
                self.findings.problem(
                    entry.value.mark,
                    format!("the header `{name}` contains a line break: remove it"),
                );
            }
            crate::read::headers::set_header(&mut headers, name, value);
        }
        headers
    }

    pub(super) fn jitter(&mut self, node: &Node) -> Option<Jitter> {
        let text = node.text();
        let digits = text
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len());
        let number = text[..digits].parse::<u32>().ok().map(u64::from);
        match (number, text[digits..].trim()) {
            (Some(percent), "%") => Some(Jitter::Share(percent as f64 / 100.0)),
            (Some(0), "" | "ms") => None,
            (Some(ms), "" | "ms") => Some(Jitter::Absolute(ms * MILLISECOND)),
            _ => {
                self.findings.problem(
                    node.mark,
                    format!("`jitter: {text}` is not valid: use \"20%\", or a whole number of milliseconds"),
                );
                None
            }
        }
    }

    pub(super) fn target<'s>(
        &mut self,
        config: &Node,
        mut scenarios: impl Iterator<Item = &'s Scenario>,
    ) -> String {
        let text = config.get("target").map(Node::text).unwrap_or_default();
        let mark = config.get("target").map_or(config.mark, |node| node.mark);
        if scenarios.any(needs_target) {
            self.check_target(&text, mark);
        }
        text
    }

    fn check_target(&mut self, text: &str, mark: Mark) {
        if text.is_empty() {
            let message = "no target: set `config.target`, choose an environment with a target, or use --target";
            return self
                .findings
                .fatal(refusal::no_target(), Some(mark), message);
        }
        let wrong = match Url::parse(text) {
            _ if !text.starts_with("http") => {
                Some("it must start with http:// or https://".to_owned())
            }
            Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => None,
            Ok(_) => Some("it must start with http:// or https://".to_owned()),
            Err(error) => Some(error.to_string()),
        };
        if let Some(reason) = wrong {
            self.findings.problem(
                mark,
                format!("`target: {text}` cannot be used as a URL: {reason}"),
            );
        }
    }
}

fn needs_target(scenario: &Scenario) -> bool {
    let mut requests = scenario.requests();
    requests.any(|request| {
        request.websocket.is_none() && !request.url_text.expose().starts_with("http")
    })
}

pub(super) fn cookie_rules() -> CookieRules {
    CookieRules {
        local: true,
        ..CookieRules::default()
    }
}
