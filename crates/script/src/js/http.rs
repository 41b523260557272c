//! Requests that script functions send. They use the worker's client, do not count in the
//! statistics, and may only go to hosts that the test allows.

use std::{borrow::Cow, rc::Rc};

use codec::{
    Response, Want,
    content::{self, Unpacking},
    cookies::Jar,
    encode::{self, Charset},
    url,
};
use measure::{label::ALL, sample::Intended};
use plan::{Timeouts, dialect::UnsendableReason, units::MILLISECOND};
use rquickjs::{Ctx, Function, Object, Persistent, Result, TypedArray, prelude::Func};
use worker::{
    Worker,
    client::{
        Agent, BuildError, Built, Call, CallError, Caller, Client, Exchange, Moments, Override,
        Redirects, pool::ConnectionPool,
    },
    deadlines::Limit,
};

use super::{
    dialect::NODE,
    edge::bytes,
    fault_names::fault_name,
    state::{Pending, State},
};

/// Maximum number of redirects that `fetch` follows.
const MOST_REDIRECTS: u32 = 20;
/// Maximum size of a response body, in bytes.
const LARGEST: usize = 64 << 20;

/// The HTTP client of an instance, with its own connections.
pub struct ScriptClient {
    client: Client,
    pool: ConnectionPool,
}

impl ScriptClient {
    pub fn new(worker: &Rc<Worker>, settings: worker::client::HttpClientConfig) -> ScriptClient {
        ScriptClient {
            client: Client::new(worker, settings).unrecorded(),
            pool: ConnectionPool::own(),
        }
    }
}

/// A request of a script function.
struct Order {
    method: String,
    url: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    follows: bool,
    unpacks: bool,
    timeout_ms: f64,
}

/// The result of a request: the last response and its URL, or the name and message of the error.
type Outcome = std::result::Result<(Response, String), (String, String)>;

/// Adds the functions for requests.
pub fn add<'js>(native: &Object<'js>, state: &Rc<State>) -> Result<()> {
    let own = Rc::clone(state);
    let send = move |ctx: Ctx<'js>, order: Object<'js>, done: Function<'js>| -> Result<f64> {
        let order = read(&order)?;
        let done = Persistent::save(&ctx, done);
        Ok(start(&own, order, done) as f64)
    };
    native.set("send", Func::from(send))?;
    let own = Rc::clone(state);
    let abort = move |id: f64| own.abort_request(id as u64);
    native.set("abortSend", Func::from(abort))
}

fn read(order: &Object<'_>) -> Result<Order> {
    let body: Option<TypedArray<'_, u8>> = order.get("body")?;
    Ok(Order {
        method: order.get("method")?,
        url: order.get("url")?,
        headers: order
            .get::<_, Vec<Vec<String>>>("headers")?
            .into_iter()
            .filter_map(|pair| <[String; 2]>::try_from(pair).ok())
            .map(|[name, value]| (name, value))
            .collect(),
        body: body.map_or_else(Vec::new, |body| bytes(&body)),
        follows: order.get("follows")?,
        unpacks: order.get("unpacks")?,
        timeout_ms: order.get("timeout")?,
    })
}

/// Starts a request and returns its number. Before the run, no requests are sent.
fn start(state: &Rc<State>, order: Order, done: Persistent<Function<'static>>) -> u64 {
    let limit = Rc::<Limit>::default();
    let id = state.add_request(&limit);
    let Some(worker) = state.worker.clone() else {
        return id;
    };
    let (instance, caller) = (
        state.instance.borrow().clone(),
        state.caller.borrow().clone(),
    );
    let pending = caller.as_ref().map(Pending::new);
    tokio::task::spawn_local(async move {
        let Some(client) = instance.upgrade().map(|instance| instance.state.client()) else {
            return;
        };
        let outcome = match client {
            Some(client) => Box::pin(send(&client, &worker, &order, &limit)).await,
            None => Err(unavailable()),
        };
        drop(pending);
        if let Some(instance) = instance.upgrade() {
            instance.state.end_request(id);
            let unpacks = order.unpacks;
            instance.resume(caller.as_ref(), "a request", |ctx| {
                let done = done.restore(ctx)?;
                call(ctx, &done, outcome, unpacks)
            });
        }
    });
    id
}

fn unavailable() -> (String, String) {
    let text = "a script can send requests only while the test runs";
    ("ERR_NOT_RUNNING".to_owned(), text.to_owned())
}

async fn send(
    client: &ScriptClient,
    worker: &Rc<Worker>,
    order: &Order,
    limit: &Rc<Limit>,
) -> Outcome {
    let built = order.build(&order.url, &order.method, true, true);
    let built = built.map_err(|error| build_error(&error))?;
    let host = &built.target.origin.host;
    if !client
        .client
        .may_go_to(host, "a function of the script sends requests there")
    {
        return Err(not_allowed(host));
    }
    let now_ns = worker.clock.now();
    let timeouts = Timeouts {
        total_ns: Some((order.timeout_ms.max(1.0) * MILLISECOND as f64) as u64),
        headers_ns: None,
        idle_ns: None,
    };
    let mut exchange = Exchange::begun(
        Intended::after_previous(now_ns, 0),
        now_ns,
        &timeouts,
        &worker.memory,
    );
    let call = Call {
        label: ALL,
        method: &order.method,
        request: Cow::Owned(built),
        want: Want {
            headers: true,
            body: true,
            ..Want::default()
        },
        charset: Charset::Utf8,
        sets_cookies: false,
        redirects: order.follows.then_some(Redirects {
            most: MOST_REDIRECTS,
            keep_method: false,
        }),
    };
    let mut hops = Hops {
        order,
        url: order.url.clone(),
    };
    let mut jar = Jar::default();
    let mut agent = Agent {
        pool: &client.pool,
        limit,
        jar: &mut jar,
    };
    let place = worker.watch(limit);
    exchange.limits.arm(worker, limit);
    let sent = client
        .client
        .send(&mut agent, &call, &mut hops, &mut exchange)
        .await;
    worker.unwatch(place);
    match sent {
        Ok(()) => Ok((exchange.answer, hops.url)),
        Err(CallError::Fault(fault)) => {
            let host = &call.request.target.origin.host;
            let text = format!("{} ({host})", fault.text());
            Err((fault_name(fault).to_owned(), text))
        }
        Err(CallError::TooManyRedirects(most)) => Err((
            "ERR_TOO_MANY_REDIRECTS".to_owned(),
            format!("more than {most} redirects"),
        )),
        Err(CallError::Location) => Err((
            "ERR_INVALID_URL".to_owned(),
            "the redirect has no valid URL".to_owned(),
        )),
        Err(CallError::Stranded(host)) => Err(not_allowed(&host)),
        Err(CallError::Build(error)) => Err(build_error(&error)),
    }
}

fn not_allowed(host: &str) -> (String, String) {
    let text = format!("host not allowed: the test does not contain `{host}`");
    ("ERR_HOST_NOT_ALLOWED".to_owned(), text)
}

fn build_error(error: &BuildError) -> (String, String) {
    match error {
        // Omit the text, because it may be secret.
        BuildError::Url(_) => ("ERR_INVALID_URL".to_owned(), "Invalid URL".to_owned()),
        BuildError::Header(name) => (
            "ERR_INVALID_CHAR".to_owned(),
            format!("Invalid character in header content [\"{name}\"]"),
        ),
        BuildError::File(kind) => {
            let name = NODE.error_name(UnsendableReason::File(*kind));
            (name.clone(), name)
        }
    }
}

impl Order {
    fn build(
        &self,
        url: &str,
        method: &str,
        with_body: bool,
        with_credentials: bool,
    ) -> std::result::Result<Built, BuildError> {
        let target = url::parse(url).ok_or_else(|| BuildError::Url(url.to_owned()))?;
        let mut head = Vec::with_capacity(256 + self.body.len());
        let own_host = self.header("host");
        encode::begin(&mut head, method, &target.path, &target.origin, own_host);
        for (name, value) in &self.headers {
            let is_left_out = match name.to_ascii_lowercase().as_str() {
                "host" | "content-length" | "transfer-encoding" | "connection" => true,
                "authorization" | "cookie" => !with_credentials,
                "content-type" => !with_body,
                _ => false,
            };
            if !is_left_out && !encode::header(&mut head, name, value, Charset::Utf8) {
                return Err(BuildError::Header(name.clone()));
            }
        }
        let body = if with_body { self.body.as_slice() } else { &[] };
        if !body.is_empty() || encode::says_empty(method) {
            encode::content_length(&mut head, body.len());
        }
        let cookie_at = head.len();
        head.extend_from_slice(b"\r\n");
        head.extend_from_slice(body);
        Ok(Built {
            target,
            bytes: head,
            cookie_at,
        })
    }

    fn header(&self, wanted: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(name, _)| name.eq_ignore_ascii_case(wanted));
        found.map(|(_, value)| value.as_str())
    }
}

/// Builds the requests that follow redirects.
struct Hops<'o> {
    order: &'o Order,
    /// URL of the last request.
    url: String,
}

impl Caller for Hops<'_> {
    fn sending(&mut self, _: u64) {}

    fn redirected(&mut self, _: Intended, _: &Moments, _: &Response) {}

    fn remake(&mut self, change: Override<'_>) -> std::result::Result<Built, BuildError> {
        self.url = change.url.to_owned();
        self.order
            .build(change.url, change.method, change.body, change.credentials)
    }

    fn odd_cookie(&mut self, _: u64) {}
}

/// Calls `done(error, response)`.
fn call<'js>(ctx: &Ctx<'js>, done: &Function<'js>, outcome: Outcome, unpacks: bool) -> Result<()> {
    let unpacked = outcome.and_then(|(response, url)| {
        let unpacked = match unpacks {
            true => content::decoded(&response, LARGEST, Unpacking::Strict).map(Cow::into_owned),
            false => Ok(response.body.clone()),
        };
        let body = unpacked.map_err(|reason| {
            let text = format!("the body cannot be read: {reason:?}");
            ("Z_DATA_ERROR".to_owned(), text)
        });
        body.map(|body| (response, body, url))
    });
    match unpacked {
        Ok((response, body, url)) => {
            let result = Object::new(ctx.clone())?;
            result.set("status", response.status)?;
            result.set("url", url)?;
            let headers = response.headers.iter();
            let headers: Vec<Vec<&str>> = headers
                .map(|(name, value)| vec![name.as_str(), value.as_str()])
                .collect();
            result.set("headers", headers)?;
            result.set("body", TypedArray::<u8>::new(ctx.clone(), body)?)?;
            done.call((rquickjs::Null, result))
        }
        Err((code, message)) => {
            let error = rquickjs::Exception::from_message(ctx.clone(), &message)?;
            error.as_object().set("code", code)?;
            done.call((error,))
        }
    }
}
