//! Plans for a single URL: `loadline run URL` requests it at a constant rate.

use codec::url::Zoned;
use plan::event_stream::{EventStream, StreamFormat};
use plan::scenario::RequestBody;
use plan::{
    ArrivalProcess, FirstArrival, Format, Load, Phase, Plan, PoolPolicy, Rate, Request, Scenario,
    Shape, Step, Template,
    units::{DAY, SECOND},
};
use url::{ParseError, Url};

use crate::{LoadErrors, findings::Findings, stream_request::StreamRequest};

/// Options for a plan from a URL. Defaults are 10/s, evenly spaced, for 10 s, with at most 100
/// requests in flight.
#[derive(Debug, Clone, Default)]
pub struct UrlOptions {
    pub rate: Option<Rate>,
    /// Number of connections that all requests share. Without a rate, the number of users in a
    /// closed loop.
    pub connections: Option<u32>,
    pub duration_ns: Option<u64>,
    /// Distribution of arrivals. `None` means evenly spaced.
    pub arrivals: Option<ArrivalProcess>,
    pub users: Option<u32>,
    /// Exact number of requests.
    pub requests: Option<u64>,
    pub insecure: bool,
    pub method: Option<String>,
    pub body: Option<BodyOption>,
    pub user: Option<(String, String)>,
    /// Format of the response, if it is streamed.
    pub stream: Option<StreamFormat>,
    /// Model in the default request to a model API.
    pub model: Option<String>,
}

#[derive(Debug, Clone)]
pub struct BodyOption {
    pub text: String,
    pub content_type: Option<String>,
}

pub fn url_plan(text: &str, options: &UrlOptions) -> Result<Plan, LoadErrors> {
    let mut findings = Findings::default();
    let zoned = Zoned::split(text);
    let url = match Url::parse(&zoned.url) {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => url,
        refused => {
            let reason = match refused {
                Err(ParseError::InvalidPort) => "has a port that is not a number from 0 to 65535",
                _ => "is not a URL that starts with http:// or https://",
            };
            findings.problem_anywhere(format!("`{text}` {reason}"));
            return findings.finish(None);
        }
    };
    let user = (!url.username().is_empty()).then(|| {
        (
            decoded(url.username()),
            decoded(url.password().unwrap_or_default()),
        )
    });
    let user = options.user.clone().or(user);
    let host = &url[url::Position::BeforeHost..url::Position::BeforePath];
    let origin = format!("{}://{}", url.scheme(), zoned.put_back(host));
    let mut path = url[url::Position::BeforePath..url::Position::AfterQuery].to_owned();
    let streamed = options
        .stream
        .and_then(|format| StreamRequest::usual(format, options.model.as_deref()));
    let streamed = streamed.filter(|_| options.body.is_none());
    if let Some(usual) = streamed.as_ref().filter(|_| path == "/") {
        usual.path.clone_into(&mut path);
    }
    // The body is not parsed as a template, so that braces remain unchanged.
    let usual = if options.body.is_some() || streamed.is_some() {
        "POST"
    } else {
        "GET"
    };
    let method = options.method.as_deref().unwrap_or(usual);
    let mut request = Request::new(method, Template::from(path.as_str()), &path);
    request.headers = vec![("user-agent".into(), Template::from(crate::USER_AGENT))];
    if let Some(body) = &options.body {
        let content_type = body.content_type.iter();
        let header =
            content_type.map(|kind| ("content-type".into(), Template::from(kind.as_str())));
        request.headers.extend(header);
        request.body = RequestBody::Text(Template::from(body.text.as_str()));
    }
    if let Some(format) = options.stream {
        read_stream(&mut request, format, streamed);
    }
    request.basic_auth = user.map(|(name, password)| {
        (
            Template::from(name.as_str()),
            Template::from(password.as_str()),
        )
    });
    let scenario = Scenario {
        name: Some(plan::work::DEFAULT.to_owned()),
        weight: 1,
        volume: None,
        on_error: Vec::new(),
        steps: vec![Step::Request(Box::new(request))],
    };
    let mut plan = Plan::new(
        format!("{origin}{path}"),
        Format::URL,
        origin,
        load(options),
        vec![scenario],
    );
    plan.http.pool = match (options.users, options.connections) {
        (Some(_), None) => PoolPolicy::PerUser,
        (_, connections) => PoolPolicy::Shared(connections.unwrap_or(100)),
    };
    if matches!(plan.load, Load::Closed { .. }) {
        plan.iterations = options.requests;
    }
    plan.http.verify_tls = !options.insecure;
    crate::secrets::collect(&mut plan, crate::secrets::KnownSecrets::default());
    findings.finish(Some(plan))
}

/// Maximum duration of a streamed response. Long texts take minutes.
const STREAM_NS: u64 = 300 * SECOND;

/// Reads the response as a stream, and sends the default request if the user gave no body.
fn read_stream(request: &mut Request, format: StreamFormat, usual: Option<StreamRequest>) {
    request.stream = Some(EventStream {
        max_time_ns: Some(STREAM_NS),
        ..EventStream::new(format)
    });
    let mut header = |name: &str, value: &str| {
        request
            .headers
            .push((name.to_owned(), Template::from(value)));
    };
    if format.is_sse() {
        header("accept", "text/event-stream");
    }
    if let Some(usual) = usual {
        header("content-type", "application/json");
        for (name, value) in usual.headers {
            header(name, value);
        }
        request.body = RequestBody::Text(Template::from(usual.body.as_str()));
    }
}

pub(crate) fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while i < bytes.len() {
        let hex = text
            .get(i + 1..i + 3)
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match (bytes[i], hex) {
            (b'%', Some(byte)) => {
                out.push(byte);
                i += 3;
            }
            (byte, _) => {
                out.push(byte);
                i += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Time limit of a closed load that ends after a number of requests.
const UNTIL_REQUESTS_NS: u64 = DAY;

fn load(options: &UrlOptions) -> Load {
    match (options.rate, options.users.or(options.connections)) {
        (None, Some(users)) => {
            let usual_ns = options.requests.map_or(10 * SECOND, |_| UNTIL_REQUESTS_NS);
            Load::users(users, options.duration_ns.unwrap_or(usual_ns))
        }
        (rate, _) => {
            let rate = rate.unwrap_or(Rate::per_second(10));
            let mut phase = match options.requests {
                None => Phase::new(
                    options.duration_ns.unwrap_or(10 * SECOND),
                    Shape::Rate(rate),
                ),
                Some(requests) => {
                    let needed_ns = (requests as f64 / rate.as_f64() * SECOND as f64).ceil() as u64;
                    let duration_ns = options.duration_ns.unwrap_or(needed_ns.max(1));
                    Phase::new(duration_ns, Shape::Count(requests))
                }
            };
            phase.arrivals = options.arrivals.unwrap_or(ArrivalProcess::Even);
            Load::Open {
                phases: vec![phase],
                first: FirstArrival::AtStart,
            }
        }
    }
}
