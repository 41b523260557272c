//! Performs a request with its redirects, cookies and samples. Runs no JavaScript.

use std::{borrow::Cow, cell::RefCell, rc::Rc};

use ::k6::{log::Level, metric, tags::Tags};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use codec::{content, cookies::Jar, url::Target};

use super::{
    super::{
        host::{Host, HttpError, HttpOutcome, HttpRequest},
        state::State,
        tags::borrowed,
    },
    arguments::{masked_url, parse, plain_url},
    cookies::{now_s, pairs},
    digest,
    params::{Params, RequestCookie, ResponseType, set_header_if_absent},
};

/// Maximum length of a decoded body, in bytes.
const MOST_BODY: usize = 1 << 30;
/// k6's default maximum number of redirects.
const DEFAULT_REDIRECTS: u32 = 10;

/// A request as described by the script.
#[derive(Debug, Clone, Default)]
pub struct RequestInfo {
    pub method: String,
    pub url: String,
    pub body: Option<Vec<u8>>,
}

/// A request that is ready to be performed.
pub struct HttpExchange {
    pub request: RequestInfo,
    /// Name for tags. `None` means that the URL is the name.
    pub name: Option<String>,
    /// User name and password from the URL.
    pub userinfo: Option<(String, String)>,
    pub throws: bool,
    pub params: Params,
    /// Tags at the time of the call.
    pub tags: Tags,
}

/// The last request that was actually sent.
#[derive(Debug, Clone, Default)]
pub struct SentRequest {
    pub method: String,
    pub url: String,
    pub headers: Vec<(String, String)>,
    pub body: Option<Vec<u8>>,
    pub cookies: Vec<RequestCookie>,
}

/// A response and its request.
pub struct Finished {
    pub request: SentRequest,
    /// Outcome of the last hop, with a decoded body.
    pub outcome: HttpOutcome,
    pub error_code: u32,
    pub response_type: ResponseType,
}

impl Finished {
    /// Creates the response to a request that could not be sent.
    pub fn failed(method: String, code: u32, text: String) -> Finished {
        Finished {
            request: SentRequest {
                method,
                ..SentRequest::default()
            },
            outcome: failed(code, text),
            error_code: code,
            response_type: ResponseType::Text,
        }
    }
}

fn failed(code: u32, text: String) -> HttpOutcome {
    HttpOutcome {
        error: Some(HttpError { code, text }),
        ..HttpOutcome::default()
    }
}

/// Returns Go's spelling of a method in errors, such as `Get`.
pub fn go_method(method: &str) -> String {
    let mut letters = method.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    let rest = letters.map(|letter| letter.to_ascii_lowercase());
    first.into_iter().chain(rest).collect()
}

/// Sends a request and follows its redirects.
pub async fn perform(state: Rc<State>, exchange: HttpExchange) -> Finished {
    let Some(host) = state.host.clone() else {
        let text = "requests are not possible while the script is loaded";
        return Finished::failed(exchange.request.method, 1000, text.to_owned());
    };
    let mut hops = Hops::new(&state, host, exchange);
    loop {
        let mut outcome = hops.send().await;
        if hops.answer_challenge(&outcome) {
            outcome = hops.send().await;
        }
        match hops.redirect(&outcome) {
            Some(redirect) => {
                if let Err(error) = hops.follow(redirect) {
                    return hops.finish(failed(error.code, error.text));
                }
            }
            None => return hops.finish(outcome),
        }
    }
}

/// A request that follows redirects.
struct Hops<'a> {
    state: &'a State,
    host: Rc<dyn Host>,
    exchange: HttpExchange,
    request: SentRequest,
    /// Headers of the script that each hop sends.
    headers: Vec<(String, String)>,
    authorization: Option<String>,
    followed: u32,
    began_ns: u64,
}

/// The target of a redirect.
struct Redirect {
    status: u16,
    location: String,
}

impl<'a> Hops<'a> {
    fn new(state: &'a State, host: Rc<dyn Host>, mut exchange: HttpExchange) -> Hops<'a> {
        let mut headers = std::mem::take(&mut exchange.params.headers);
        let agent = state.options.user_agent.as_str();
        set_header_if_absent(&mut headers, "User-Agent", agent);
        let mut body = exchange.request.body.take();
        let content_length = headers.iter().find(|(name, _)| name == "Content-Length");
        if let Some((_, given)) = content_length {
            let length = body.as_ref().map_or(0, Vec::len);
            if given.parse() != Ok(length) {
                let message = format!(
                    "The specified Content-Length header \"{given}\" in the {} request for {} \
                     doesn't match the actual request body length of {length}, so it will be \
                     ignored!",
                    exchange.request.method, exchange.request.url
                );
                state.log(Level::Warning, &message, &[]);
            }
        }
        headers.retain(|(name, value)| {
            name != "Content-Length" && !(name == "User-Agent" && value.is_empty())
        });
        for encoding in &exchange.params.compression {
            // Writing to memory does not fail.
            body = body.map(|plain| encoding.encode(&plain).unwrap_or(plain));
        }
        if !exchange.params.compression.is_empty() && body.is_some() {
            let names = exchange
                .params
                .compression
                .iter()
                .map(|encoding| encoding.name());
            let names: Vec<&str> = names.collect();
            set_header_if_absent(&mut headers, "Content-Encoding", &names.join(", "));
        }
        let basic = exchange
            .userinfo
            .as_ref()
            .filter(|_| !exchange.params.is_digest);
        let authorization = basic.map(|(name, password)| {
            format!("Basic {}", STANDARD.encode(format!("{name}:{password}")))
        });
        Hops {
            request: SentRequest {
                method: exchange.request.method.clone(),
                url: exchange.request.url.clone(),
                headers: Vec::new(),
                body,
                cookies: exchange.params.cookies.clone(),
            },
            began_ns: host.now_ns(),
            state,
            host,
            exchange,
            headers,
            authorization,
            followed: 0,
        }
    }

    /// Sends one hop, keeps its cookies, decodes its body and reports its samples.
    async fn send(&mut self) -> HttpOutcome {
        let Ok(target) = parse(&self.request.url) else {
            return failed(1020, format!("invalid URL: {}", self.request.url));
        };
        self.request.headers = self.hop_headers(&target);
        let used_ns = self.host.now_ns().saturating_sub(self.began_ns);
        let timeout_ns = self.exchange.params.timeout_ns.saturating_sub(used_ns);
        let name = self.exchange.name.clone();
        let name = name.unwrap_or_else(|| self.masked_url());
        let mut outcome = if timeout_ns == 0 {
            failed(1050, "request timeout".to_owned())
        } else {
            let request = HttpRequest {
                method: self.request.method.clone(),
                url: self.request.url.clone(),
                headers: self.request.headers.clone(),
                body: self.request.body.clone(),
                timeout_ns,
                name: name.clone(),
                expected: self.exchange.params.expected.clone(),
            };
            self.host.send(self.state.connections(), request).await
        };
        let jar = Rc::clone(&self.exchange.params.jar);
        keep_cookies(&jar, &target, &outcome, now_s(self.state));
        decode(&mut outcome);
        self.report(&outcome, &name);
        outcome
    }

    fn hop_headers(&self, target: &Target) -> Vec<(String, String)> {
        let mut headers = self.headers.clone();
        if let Some(authorization) = &self.authorization {
            set_header_if_absent(&mut headers, "Authorization", authorization);
        }
        if let Some(cookies) = self.cookies(target) {
            headers.retain(|(name, _)| name != "Cookie");
            headers.push(("Cookie".to_owned(), cookies));
        }
        // Go's order.
        headers.sort_by(|(one, _), (other, _)| {
            (one != "User-Agent", one).cmp(&(other != "User-Agent", other))
        });
        headers
    }

    /// Returns the `Cookie` header, combined from the script's own header, the jar and the
    /// parameters.
    fn cookies(&self, target: &Target) -> Option<String> {
        let own = &self.request.cookies;
        let jar = self.exchange.params.jar.borrow();
        let stored = jar.header(&target.origin, &target.path, now_s(self.state));
        let stored = stored.unwrap_or_default();
        let is_replaced = |name: &str| own.iter().any(|c| c.replaces && c.name == name);
        let header = self.headers.iter().find(|(name, _)| name == "Cookie");
        let mut all: Vec<String> = header.iter().map(|(_, value)| value.clone()).collect();
        for (name, value) in pairs(&stored).filter(|(name, _)| !is_replaced(name)) {
            all.push(format!("{name}={value}"));
        }
        all.extend(own.iter().map(|c| format!("{}={}", c.name, c.value)));
        (!all.is_empty()).then(|| all.join("; "))
    }

    fn masked_url(&self) -> String {
        let has_userinfo = self.followed == 0 && self.exchange.userinfo.is_some();
        masked_url(&self.request.url, has_userinfo)
    }

    fn report(&self, outcome: &HttpOutcome, name: &str) {
        let state = self.state;
        let code = error_code(outcome);
        let (status, code_text) = (outcome.status.to_string(), code.to_string());
        let expected = self.exchange.params.expected.as_ref().map(|ranges| {
            let fits = |status: u16| ranges.iter().any(|r| (r.min..=r.max).contains(&status));
            outcome.error.is_none() && (fits(outcome.status) || self.is_challenge(outcome))
        });
        let system = [
            ("proto", outcome.proto.as_str()),
            ("status", &status),
            ("method", &self.request.method),
            ("name", name),
            ("url", name),
            ("tls_version", &outcome.tls_version),
            ("ip", &outcome.remote_ip),
            ("error_code", if code == 0 { "" } else { &code_text }),
            (
                "error",
                outcome.error.as_ref().map_or("", |error| &error.text),
            ),
            (
                "expected_response",
                expected.map_or("", |is_expected| if is_expected { "true" } else { "false" }),
            ),
        ];
        let system = system.into_iter();
        let mut tags: Vec<(&str, &str)> = system
            .filter(|(tag, value)| !value.is_empty() && state.has_system_tag(tag))
            .collect();
        tags.extend(borrowed(&self.exchange.params.tags));
        let tags = state.tag_cache.with(&self.exchange.tags, &tags);
        let ms = |ns: u64| ns as f64 / 1e6;
        let timings = &outcome.timings;
        let mut values = vec![
            (metric::HTTP_REQS, 1.0),
            (metric::HTTP_REQ_DURATION, ms(timings.duration())),
            (metric::HTTP_REQ_BLOCKED, ms(timings.blocked)),
            (metric::HTTP_REQ_CONNECTING, ms(timings.connecting)),
            (
                metric::HTTP_REQ_TLS_HANDSHAKING,
                ms(timings.tls_handshaking),
            ),
            (metric::HTTP_REQ_SENDING, ms(timings.sending)),
            (metric::HTTP_REQ_WAITING, ms(timings.waiting)),
            (metric::HTTP_REQ_RECEIVING, ms(timings.receiving)),
        ];
        if let Some(is_expected) = expected {
            let failed = f64::from(u8::from(!is_expected));
            values.push((metric::HTTP_REQ_FAILED, failed));
        }
        state.report(&tags, &values);
    }

    /// Returns whether this response only requests digest authentication.
    fn is_challenge(&self, outcome: &HttpOutcome) -> bool {
        self.exchange.params.is_digest && self.authorization.is_none() && outcome.status == 401
    }

    /// Responds to a request for digest authentication. Returns whether the request must be sent
    /// again.
    fn answer_challenge(&mut self, outcome: &HttpOutcome) -> bool {
        if !self.is_challenge(outcome) {
            return false;
        }
        let (Some((name, password)), Some(target), Some(header)) = (
            self.exchange.userinfo.as_ref(),
            codec::url::parse(&self.request.url),
            header(outcome, "www-authenticate"),
        ) else {
            return false;
        };
        let mut random = [0; 16];
        if getrandom::fill(&mut random).is_err() {
            return false;
        }
        let nonce: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let request = (self.request.method.as_str(), target.path.as_str());
        self.authorization = digest::authorization(header, (name, password), request, &nonce);
        self.authorization.is_some()
    }

    /// Returns the target of the redirect, if the response is a redirect that is followed.
    fn redirect(&self, outcome: &HttpOutcome) -> Option<Redirect> {
        let is_redirect = matches!(outcome.status, 301 | 302 | 303 | 307 | 308);
        if !is_redirect || outcome.error.is_some() {
            return None;
        }
        let location = header(outcome, "location")?.to_owned();
        let options = &self.state.options;
        let own = self.exchange.params.redirects.or(options.max_redirects);
        if self.followed >= own.unwrap_or(DEFAULT_REDIRECTS) {
            if own.is_none() {
                let message = format!(
                    "Stopped after {} redirects and returned the redirection; pass {{ redirects: \
                     n }} in request params or set global maxRedirects to silence this",
                    self.followed
                );
                self.state
                    .log(Level::Warning, &message, &[("url", &self.request.url)]);
            }
            return None;
        }
        Some(Redirect {
            status: outcome.status,
            location,
        })
    }

    /// Prepares the next hop.
    fn follow(&mut self, redirect: Redirect) -> Result<(), HttpError> {
        let joined = codec::url::join(&self.request.url, &redirect.location);
        let Some((url, target)) = joined else {
            let text = format!("invalid URL: {}", redirect.location);
            return Err(HttpError { code: 1020, text });
        };
        let before = codec::url::parse(&self.request.url);
        let is_secure = before.as_ref().is_some_and(|before| before.origin.tls);
        if !is_secure || target.origin.tls {
            let referer = self.request.url.clone();
            self.headers.retain(|(name, _)| name != "Referer");
            self.headers.push(("Referer".to_owned(), referer));
        } else {
            self.headers.retain(|(name, _)| name != "Referer");
        }
        let is_same_site = before.is_some_and(|before| {
            let (old, new) = (&before.origin.host, &target.origin.host);
            let is_below = new.strip_suffix(old.as_str());
            old == new || is_below.is_some_and(|rest| rest.ends_with('.'))
        });
        if !is_same_site {
            let secret = ["Authorization", "Cookie", "Www-Authenticate"];
            self.headers
                .retain(|(name, _)| !secret.contains(&name.as_str()));
            self.authorization = None;
            self.request.cookies.clear();
        }
        if let Some((name, password)) = &target.userinfo {
            let text = STANDARD.encode(format!("{name}:{password}"));
            self.authorization = Some(format!("Basic {text}"));
        }
        if matches!(redirect.status, 301..=303) {
            if self.request.method != "HEAD" {
                self.request.method = "GET".to_owned();
            }
            self.request.body = None;
            let about_body = ["Content-Type", "Content-Encoding"];
            self.headers
                .retain(|(name, _)| !about_body.contains(&name.as_str()));
        }
        self.request.url = plain_url(&url);
        self.followed += 1;
        Ok(())
    }

    fn finish(self, mut outcome: HttpOutcome) -> Finished {
        if let Some(error) = &outcome.error {
            if !self.exchange.throws {
                let shown = format!(
                    "{} \"{}\": {}",
                    go_method(&self.request.method),
                    self.masked_url(),
                    error.text
                );
                self.state
                    .log(Level::Warning, "Request Failed", &[("error", &shown)]);
            }
            outcome.body.clear();
        }
        Finished {
            error_code: error_code(&outcome),
            request: self.request,
            outcome,
            response_type: self.exchange.params.response_type,
        }
    }
}

/// Returns k6's error code. 0 means that there was no error.
fn error_code(outcome: &HttpOutcome) -> u32 {
    match &outcome.error {
        Some(error) => error.code,
        None if outcome.status >= 400 => 1000 + u32::from(outcome.status),
        None => 0,
    }
}

/// Returns the first header with this name, in lower case.
pub fn header<'a>(outcome: &'a HttpOutcome, name: &str) -> Option<&'a str> {
    let mut headers = outcome.headers.iter();
    let found = headers.find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value)
}

/// Stores the cookies of a response in a jar.
pub fn keep_cookies(jar: &Rc<RefCell<Jar>>, target: &Target, outcome: &HttpOutcome, now_s: i64) {
    let is_cookie = |name: &str| name.eq_ignore_ascii_case("set-cookie");
    let cookies = outcome.headers.iter().filter(|(name, _)| is_cookie(name));
    for (_, value) in cookies {
        jar.borrow_mut()
            .set(value, &target.origin, &target.path, now_s);
    }
}

/// Decodes the body by its `Content-Encoding`.
fn decode(outcome: &mut HttpOutcome) {
    let Some(encodings) = header(outcome, "content-encoding") else {
        return;
    };
    if outcome.body.is_empty() || outcome.error.is_some() {
        return;
    }
    let encodings = encodings.to_ascii_lowercase();
    let body = Cow::Borrowed(outcome.body.as_slice());
    match content::decoded_from(&encodings, body, MOST_BODY) {
        Ok(Cow::Owned(body)) => outcome.body = body,
        // As in k6, a body with an unknown encoding is left unchanged.
        Ok(Cow::Borrowed(_)) | Err(content::Unreadable::Unknown(_)) => {}
        Err(_) => {
            outcome.error = Some(HttpError {
                code: 1701,
                text: format!("cannot decode the body, whose encoding is {encodings}"),
            });
        }
    }
}
