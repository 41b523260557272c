//! Reads request steps: `- get: /path`, or the method with a mapping.

use plan::{
    Request, Step, Template,
    scenario::{Loop, LoopCount, LoopRange, RequestBody},
};
use serde_json::Value;

use super::{Translator, http::set_header, model};
use crate::{
    document::{Entry, Node},
    native::read::{self, entries},
};

/// Loop variable of repeated requests. It has a special name so that it does not hide another
/// loop's counter.
const TIMES: &str = "$times";
const MOST_TIMES: f64 = 10_000.0;

impl Translator<'_> {
    /// Reads a request and repeats it. `times: 3` sends three in a row, `0.1` sends one in ten
    /// iterations, and `2.5` alternates between two and three.
    pub(super) fn requests(&mut self, step: &Entry) -> Vec<Step> {
        let times = self.times(step.value.get("times"));
        let (Some(request), Some(times)) = (self.request(step), times) else {
            return Vec::new();
        };
        let whole_number = times.floor();
        // Correct the rounding of binary fractions: 2.1 is 2 and a tenth.
        let percent = ((times - whole_number) * 1e8).round() / 1e6;
        let mut steps = Vec::new();
        let always = Step::Request(Box::new(request.clone()));
        match whole_number as i64 {
            0 => {}
            1 => steps.push(always),
            end => steps.push(Step::Loop(Loop {
                steps: vec![always],
                count: LoopCount::Fixed(LoopRange {
                    start: 0,
                    end: Some(end),
                }),
                over: None,
                index_as: TIMES.to_owned(),
                element_as: TIMES.to_owned(),
                while_true: None,
            })),
        }
        if percent > 0.0 {
            steps.push(Step::Request(Box::new(Request {
                probability: Some(percent),
                ..request
            })));
        }
        steps
    }

    fn times(&mut self, node: Option<&Node>) -> Option<f64> {
        let Some(node) = node else { return Some(1.0) };
        let number = node.as_scalar().and_then(Value::as_f64);
        // The probability is stored in millionths of a percent.
        let number = number.filter(|n| (1e-6..=MOST_TIMES).contains(n));
        if number.is_none() {
            let text = format!(
                "`times: {}` must be a number from 0.000001 to 10000: 3 means three times in a row, 0.1 means once in ten",
                node.text()
            );
            self.findings.problem(node.mark, text);
        }
        number
    }

    fn request(&mut self, step: &Entry) -> Option<Request> {
        let node = &step.value;
        let short = node.as_str().is_some();
        if !short {
            entries(node, &step.key, model::REQUEST, self.findings);
        }
        let Some(url) = (if short { Some(node) } else { node.get("url") }) else {
            read::missing(
                node,
                model::REQUEST,
                format!("the URL is missing: add, for example, {}: /path", step.key),
                self.findings,
            );
            return None;
        };
        let url_text = read::text(url, "url", self.findings)?;
        if !["/", "http://", "https://", "{{"]
            .iter()
            .any(|start| url_text.starts_with(start))
        {
            self.findings.problem(
                url.mark,
                format!("`{url_text}` is not a URL: start it with / or with http:// or https://"),
            );
        }
        let template = self.template(url);
        let mut request = Request::new(&step.key.to_ascii_uppercase(), template, &url_text);
        request.at = Some(self.findings.at(step.key_mark));
        request.name = node
            .get("name")
            .and_then(|name| read::text(name, "name", self.findings));
        if let Some(name) = &request.name {
            request.label.clone_from(name);
        }
        request.query = node.get("query").map(|query| self.pairs(query, "query"));
        request.body = self.body(node);
        request.headers = self.request_headers(node.get("headers"), &request.body);
        if let Some(cookies) = node.get("cookies") {
            for entry in read::map(cookies, "cookies", self.findings) {
                request
                    .cookies
                    .push((entry.key.clone(), self.template(&entry.value)));
            }
        }
        request.basic_auth = node.get("auth").and_then(|auth| self.auth(auth));
        request.follow_redirects = match node.get("redirects") {
            Some(redirects) => read::boolean(redirects, "redirects", self.findings).unwrap_or(true),
            None => self.follow_redirects,
        };
        if let Some(stream) = node.get("stream") {
            self.stream(stream, &mut request);
        }
        if let Some(captures) = node.get("capture") {
            request.captures = self.captures(captures);
        }
        request.before = self.calls(node.get("before"));
        request.after = self.calls(node.get("after"));
        if let Some(expect) = node.get("expect") {
            request.expected_status = self.statuses(expect, "expect");
        }
        if let Some(checks) = node.get("check") {
            self.checks(checks, &mut request);
        }
        Some(request)
    }

    fn body(&mut self, node: &Node) -> RequestBody {
        let given: Vec<&Entry> = ["json", "body", "form", "multipart"]
            .iter()
            .filter_map(|key| node.entry(key))
            .collect();
        if let [first, second, ..] = given.as_slice() {
            self.findings.problem(
                second.key_mark,
                format!(
                    "a request can have only one body, but this one has `{}` and `{}`: remove one",
                    first.key, second.key
                ),
            );
        }
        match given.first() {
            None => RequestBody::None,
            Some(Entry { key, value, .. }) if key == "json" => {
                RequestBody::Json(self.template(value).typed())
            }
            Some(Entry { key, value, .. }) if key == "form" => {
                RequestBody::Form(self.pairs(value, "form"))
            }
            Some(Entry { key, value, .. }) if key == "multipart" => {
                RequestBody::Multipart(self.multipart(value))
            }
            Some(Entry { value, .. }) => {
                let _ = read::text(value, "body", self.findings);
                RequestBody::Text(self.template(value))
            }
        }
    }

    pub(super) fn pairs(&mut self, node: &Node, what: &str) -> Vec<(Template, Template)> {
        let mut pairs = Vec::new();
        for entry in read::map(node, what, self.findings) {
            if entry.value.is_map() || entry.value.is_null() {
                let text = format!(
                    "`{}` must be text or a list, not {}",
                    entry.key,
                    entry.value.kind()
                );
                self.findings.problem(entry.value.mark, text);
                continue;
            }
            let name = self.template(&Node::scalar(entry.key_mark, entry.key.as_str()));
            pairs.push((name, self.template(&entry.value)));
        }
        pairs
    }

    pub(super) fn request_headers(
        &mut self,
        node: Option<&Node>,
        body: &RequestBody,
    ) -> Vec<(String, Template)> {
        // A login request is sent before the token in the default header exists.
        let is_known = |value: &Template| {
            value
                .variables()
                .all(|path| !self.later.contains(path.root()))
        };
        let of_all = self.headers.iter().filter(|(_, value)| is_known(value));
        let mut headers: Vec<_> = of_all.cloned().collect();
        let content_type = match body {
            RequestBody::Json(_) => Some("application/json"),
            RequestBody::Form(_) => Some("application/x-www-form-urlencoded"),
            RequestBody::Text(_) | RequestBody::Multipart(_) | RequestBody::None => None,
        };
        let has = |headers: &[(String, Template)], wanted: &str| {
            headers
                .iter()
                .any(|(name, _)| name.eq_ignore_ascii_case(wanted))
        };
        if let Some(content_type) = content_type.filter(|_| !has(&headers, "content-type")) {
            headers.push(("content-type".into(), Template::from(content_type)));
        }
        if let Some(node) = node {
            for (name, value) in self.headers(node) {
                set_header(&mut headers, name, value);
            }
        }
        headers
    }

    fn auth(&mut self, node: &Node) -> Option<(Template, Template)> {
        entries(node, "auth", model::AUTH, self.findings);
        let (Some(user), Some(password)) = (node.get("user"), node.get("password")) else {
            read::missing(
                node,
                model::AUTH,
                "`auth` needs both `user` and `password`",
                self.findings,
            );
            return None;
        };
        Some((self.template(user), self.template(password)))
    }

    pub(super) fn statuses(&mut self, node: &Node, what: &str) -> Vec<u16> {
        let items = node.as_list().unwrap_or(std::slice::from_ref(node));
        let mut statuses = Vec::new();
        for item in items {
            match item
                .as_scalar()
                .and_then(Value::as_u64)
                .and_then(|n| u16::try_from(n).ok())
            {
                Some(status @ 100..=599) => statuses.push(status),
                _ => self.findings.problem(
                    item.mark,
                    format!(
                        "`{what}: {}` is not a status: use 404, or a list of statuses",
                        item.text()
                    ),
                ),
            }
        }
        statuses
    }
}
