//! Translates a request step: URL, headers, body, cookies, and faults that occur when the request
//! is sent.

use plan::{
    Request, Template,
    dialect::{BodyRule, DeclaredError},
    scenario::{PairValues, RequestBody},
};
use script::js::BODY_ERROR;
use serde_json::Value;

use super::Translator;
use crate::read::{
    headers::{CLIENT_USER_AGENT, USER_AGENT, set_header},
    keys::KeyLevel,
};
use formats::document::{Entry, Node};

impl Translator<'_> {
    pub(super) fn request(&mut self, step: &Entry) -> Option<Request> {
        let method = step.key.to_ascii_uppercase();
        let node = &step.value;
        if !node.is_map() {
            self.findings.problem(
                node.mark,
                format!(
                    "`{}` must be a mapping like {{ url: / }}, not {}",
                    step.key,
                    node.kind()
                ),
            );
            return None;
        }
        self.check_keys(node, KeyLevel::Request);
        // Artillery's client prefers `uri` over `url`.
        let Some(url) = node
            .get("uri")
            .or_else(|| node.get("url"))
            .filter(|url| url.as_str().is_some_and(|text| !text.is_empty()))
        else {
            self.findings
                .problem(node.mark, "an URL must be specified: add `url`");
            return None;
        };
        let url_text = url.text();
        let template = self.template(url);
        let mut request = Request::new(&method, template, &url_text);
        request.pair_values = PairValues::NodeJs;
        request.at = Some(self.findings.at(step.key_mark));
        request.redirects_keep_method = true;
        request.query = node
            .get("qs")
            .filter(|qs| qs.is_truthy())
            .map(|qs| self.query(qs));
        request.name = node
            .get("name")
            .filter(|name| name.is_truthy())
            .map(Node::text);
        request.label = request
            .name
            .clone()
            .unwrap_or_else(|| label(&url_text, node.get("qs")));
        request.body = self.body(node);
        let decompress = flag(node, "gzip", true);
        request.headers = self.request_headers(node.get("headers"), &request.body, decompress);
        request.follow_redirects = node
            .get("followRedirect")
            .is_none_or(|_| flag(node, "followRedirect", false));
        request.cookies = self.cookies(node.get("cookie"));
        request.basic_auth = node
            .get("auth")
            .filter(|auth| auth.is_truthy())
            .map(|auth| self.auth(auth));
        request.captures = self.captures(node);
        request.condition = node.get("ifTrue").and_then(|text| self.condition(text));
        request.run_if = node
            .get("ifTrue")
            .and_then(|text| self.condition_call(text));
        request.before = self.around.before.clone();
        request.before.extend(self.calls(node.get("beforeRequest")));
        request.after = self.around.after.clone();
        request.after.extend(self.calls(node.get("afterResponse")));
        request.probability = node
            .get("probability")
            .and_then(|node| self.probability(node));
        request.max_redirects = node
            .get("maxRedirects")
            .and_then(|node| self.max_redirects(node));
        self.http2.add(node);
        request.extension = self.extension(node);
        request.body_rule = if flag(node, "allowGetBody", false) {
            BodyRule::NoneWithHead
        } else {
            BodyRule::NoneWithGet
        };
        request.fails_with = self.late_fault(&request, url, node);
        Some(request)
    }

    fn late_fault(&mut self, request: &Request, url: &Node, node: &Node) -> Option<DeclaredError> {
        let (method, body) = (&request.method, &request.body);
        let declared = |name: String, is_of_client| Some(DeclaredError { name, is_of_client });
        if !matches!(body, RequestBody::None) && request.body_rule.refuses(method, 1) {
            let text =
                format!("{method} with a body fails with {BODY_ERROR} in Artillery, and also here");
            self.findings.note(node.mark, text);
            return declared(BODY_ERROR.into(), true);
        }
        let given = |key: &str| node.get(key).is_some_and(Node::is_truthy);
        if let RequestBody::Multipart(_) = body
            && !self.missing_files.is_empty()
        {
            let files = std::mem::take(&mut self.missing_files).join("; ");
            let text = format!("{files}: the request fails with ENOENT");
            self.findings.note(node.mark, text);
            return declared("ENOENT".into(), false);
        }
        if given("form") && (given("json") || given("body")) {
            let text = format!(
                "`form` together with another body fails with {BODY_ERROR} in Artillery and here: remove one"
            );
            self.findings.note(node.mark, text);
            return declared(BODY_ERROR.into(), true);
        }
        let url_text = url.text();
        if !url_text.starts_with(['/', '{']) && !url_text.starts_with("http") {
            let text = format!(
                "`{url_text}` starts neither with / nor with http: the request fails with `Invalid URL`, as in Artillery"
            );
            self.findings.note(url.mark, text);
            return declared(format!("Invalid URL - {url_text}"), false);
        }
        None
    }

    fn query(&mut self, node: &Node) -> Vec<(Template, Template)> {
        let mut pairs = Vec::new();
        for entry in self.map(node, "qs") {
            let key = self.template(&Node::scalar(entry.key_mark, entry.key.as_str()));
            let value = match &entry.value {
                value if value.is_null() || value.is_map() => Template::from(""),
                value => self.template(value),
            };
            pairs.push((key, value));
        }
        pairs
    }

    /// Reads the body. `json` takes precedence over text, and text over a form.
    fn body(&mut self, node: &Node) -> RequestBody {
        let truthy = |key: &str| node.get(key).filter(|value| value.is_truthy());
        for key in ["json", "body", "form"] {
            if let Some(entry) = node.entry(key).filter(|entry| !entry.value.is_truthy()) {
                self.findings.note(
                    entry.key_mark,
                    format!("`{key}: {}` sends nothing", entry.value.text()),
                );
            }
        }
        if let (Some(_), Some(body)) = (truthy("json"), truthy("body")) {
            self.findings
                .note(body.mark, "`body` has no effect together with `json`");
        }
        if let Some(json) = truthy("json") {
            return RequestBody::Json(self.template(json));
        }
        if let Some(text) = truthy("body") {
            if text.as_str().is_none() {
                let message = format!(
                    "`body` must be text, not {}: use `json` for other values, or quote it",
                    text.kind()
                );
                self.findings.problem(text.mark, message);
            }
            return RequestBody::Text(self.template(text));
        }
        if let Some(form) = truthy("form") {
            return RequestBody::Form(self.form(form));
        }
        truthy("formData").map_or(RequestBody::None, |parts| {
            RequestBody::Multipart(self.form_data(parts))
        })
    }

    /// Reads a form. Names are not templates, and lists are joined with commas.
    fn form(&mut self, node: &Node) -> Vec<(Template, Template)> {
        let mut pairs = Vec::new();
        for entry in self.map(node, "form") {
            let value = match entry.value.as_list() {
                Some(items) => {
                    let text = items.iter().map(Node::text).collect::<Vec<_>>().join(",");
                    self.template(&Node::scalar(entry.value.mark, text))
                }
                None if entry.value.is_map() => {
                    self.findings.problem(
                        entry.value.mark,
                        format!("the form field `{}` must be text, not a mapping", entry.key),
                    );
                    continue;
                }
                None => self.template(&entry.value),
            };
            pairs.push((Template::from(entry.key.as_str()), value));
        }
        pairs
    }

    /// Returns the headers in the order of Artillery's client. The engine adds `host`,
    /// `content-length` and cookies.
    fn request_headers(
        &mut self,
        node: Option<&Node>,
        body: &RequestBody,
        decompress: bool,
    ) -> Vec<(String, Template)> {
        let mut headers = match &self.defaults.headers {
            None => vec![("user-agent".to_owned(), Template::from(USER_AGENT))],
            Some(defaults) => {
                let mut headers =
                    vec![("user-agent".to_owned(), Template::from(CLIENT_USER_AGENT))];
                defaults.iter().for_each(|(name, value)| {
                    set_header(&mut headers, name.clone(), value.clone())
                });
                headers
            }
        };
        if let Some(node) = node.filter(|node| node.is_truthy()) {
            for (name, value) in self.headers(node) {
                set_header(&mut headers, name, value);
            }
        }
        let content_type = match body {
            RequestBody::Json(_) => Some("application/json"),
            RequestBody::Form(_) => Some("application/x-www-form-urlencoded"),
            RequestBody::Text(_) | RequestBody::Multipart(_) | RequestBody::None => None,
        };
        let ours = [
            content_type.map(|value| ("content-type", value)),
            decompress.then_some(("accept-encoding", "gzip, deflate, br")),
            Some(("Connection", "keep-alive")),
        ];
        for (name, value) in ours.into_iter().flatten() {
            if !headers
                .iter()
                .any(|(known, _)| known.eq_ignore_ascii_case(name))
            {
                headers.push((name.to_owned(), Template::from(value)));
            }
        }
        headers
    }

    fn cookies(&mut self, node: Option<&Node>) -> Vec<(String, Template)> {
        let mut cookies = self.defaults.cookies.clone();
        if let Some(node) = node.filter(|node| node.is_truthy()) {
            for entry in self.map(node, "cookie") {
                let value = self.template(&entry.value);
                set_header(&mut cookies, entry.key.clone(), value);
            }
        }
        cookies
    }

    fn auth(&mut self, node: &Node) -> (Template, Template) {
        for entry in self.map(node, "auth") {
            if !matches!(entry.key.as_str(), "user" | "pass") {
                self.findings.note(
                    entry.key_mark,
                    format!(
                        "`{}` has no effect: `auth` accepts only `user` and `pass`",
                        entry.key
                    ),
                );
            }
        }
        let mut part = |key: &str| {
            node.get(key)
                .map_or_else(|| Template::from(""), |value| self.template(value))
        };
        (part("user"), part("pass"))
    }
}

pub(super) fn flag(node: &Node, key: &str, default: bool) -> bool {
    match node.get(key).and_then(Node::as_scalar) {
        Some(Value::Bool(yes)) => *yes,
        Some(Value::String(text)) if text.eq_ignore_ascii_case("true") => true,
        Some(Value::String(text)) if text.eq_ignore_ascii_case("false") => false,
        _ => default,
    }
}

fn label(url: &str, qs: Option<&Node>) -> String {
    let entries = qs.map(Node::entries).unwrap_or_default();
    if entries.is_empty() {
        return url.to_owned();
    }
    let pairs: Vec<String> = entries
        .iter()
        .map(|entry| format!("{}={}", entry.key, entry.value.text()))
        .collect();
    format!(
        "{}?{}",
        url.split('?').next().unwrap_or(url),
        pairs.join("&")
    )
}
