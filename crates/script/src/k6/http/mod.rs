//! The module `k6/http`.

pub mod arguments;
mod batch;
mod body;
pub mod cookies;
mod digest;
mod expected;
mod pages;
pub mod params;
pub mod perform;
pub mod response;
mod status;
mod url;

use std::rc::Rc;

use ::k6::log::Level;
use rquickjs::{
    Array, Ctx, Function, Object, Persistent, Result, Value as Js,
    prelude::{Func, Opt, Rest},
};

use super::{
    background::Completion,
    errors::{ScriptError, throw},
    state::State,
};
use arguments::HttpCall;
use perform::{Finished, HttpExchange};

/// k6's error text for requests in the init code.
const NO_INIT: &str = "Making http requests in the init context is not supported";

/// Constants with their values.
const CONSTANTS: [(&str, &str); 5] = [
    ("SSL_3_0", "ssl3.0"),
    ("TLS_1_0", "tls1.0"),
    ("TLS_1_1", "tls1.1"),
    ("TLS_1_2", "tls1.2"),
    ("TLS_1_3", "tls1.3"),
];

const OCSP: [&str; 17] = [
    "OCSP_STATUS_GOOD",
    "OCSP_STATUS_REVOKED",
    "OCSP_STATUS_SERVER_FAILED",
    "OCSP_STATUS_UNKNOWN",
    "OCSP_REASON_UNSPECIFIED",
    "OCSP_REASON_KEY_COMPROMISE",
    "OCSP_REASON_CA_COMPROMISE",
    "OCSP_REASON_AFFILIATION_CHANGED",
    "OCSP_REASON_SUPERSEDED",
    "OCSP_REASON_CESSATION_OF_OPERATION",
    "OCSP_REASON_CERTIFICATE_HOLD",
    "OCSP_REASON_REMOVE_FROM_CRL",
    "OCSP_REASON_PRIVILEGE_WITHDRAWN",
    "OCSP_REASON_AA_COMPROMISE",
    "OCSP_REASON_UNKNOWN",
    "OCSP_STATUS_MALFORMED",
    "OCSP_STATUS_TRY_LATER",
];

/// Creates the module.
pub fn module<'js>(ctx: &Ctx<'js>, state: &Rc<State>) -> Result<Object<'js>> {
    let module = Object::new(ctx.clone())?;
    for (name, value) in CONSTANTS {
        module.set(name, value)?;
    }
    for name in OCSP {
        let value = name
            .trim_start_matches("OCSP_STATUS_")
            .trim_start_matches("OCSP_REASON_");
        module.set(name, value.to_ascii_lowercase())?;
    }
    let without_body = [("get", "GET"), ("head", "HEAD")];
    let with_body = [
        ("post", "POST"),
        ("put", "PUT"),
        ("patch", "PATCH"),
        ("del", "DELETE"),
        ("options", "OPTIONS"),
    ];
    for (name, method) in without_body {
        let own = Rc::clone(state);
        let send = move |ctx: Ctx<'js>, values: Rest<Js<'js>>| {
            if values.len() > 2 {
                let message = format!(
                    "http.{name} only accepts a url and a params argument (2 arguments), but {} \
                     were given",
                    values.len()
                );
                own.log(Level::Warning, &message, &[]);
            }
            request(&ctx, &own, HttpCall::without_body(&ctx, method, &values.0))
        };
        module.set(name, Func::from(send))?;
    }
    for (name, method) in with_body {
        let own = Rc::clone(state);
        let send = move |ctx: Ctx<'js>, values: Rest<Js<'js>>| {
            request(&ctx, &own, HttpCall::with_body(&ctx, method, &values.0))
        };
        module.set(name, Func::from(send))?;
    }
    let own = Rc::clone(state);
    let send = move |ctx: Ctx<'js>, values: Rest<Js<'js>>| {
        let call = HttpCall::with_method(&ctx, &values.0)?;
        request(&ctx, &own, call)
    };
    module.set("request", Func::from(send))?;
    let own = Rc::clone(state);
    let send = move |ctx: Ctx<'js>, values: Rest<Js<'js>>| {
        let call = HttpCall::with_method(&ctx, &values.0)?;
        request_async(&ctx, &own, &call)
    };
    module.set("asyncRequest", Func::from(send))?;
    let own = Rc::clone(state);
    let send = move |ctx: Ctx<'js>, requests: Opt<Js<'js>>| batch::run(&ctx, &own, requests.0);
    module.set("batch", Func::from(send))?;
    url::define(&module)?;
    body::define(&module, state)?;
    expected::define(&module, state)?;
    cookies::define(&module, state)?;
    Ok(module)
}

/// Sends a request and waits for its response.
fn request<'js>(ctx: &Ctx<'js>, state: &Rc<State>, call: HttpCall<'js>) -> Result<Js<'js>> {
    state.host(ctx, NO_INIT)?;
    let exchange = match prepare(ctx, state, &call)? {
        Ok(exchange) => exchange,
        Err(finished) => return response::create(ctx, state, finished),
    };
    let throws = exchange.throws;
    let finished = state.wait(ctx, perform::perform(Rc::clone(state), exchange))?;
    response_or_error(ctx, state, finished, throws)
}

/// Returns the response of a request, or throws its error.
fn response_or_error<'js>(
    ctx: &Ctx<'js>,
    state: &Rc<State>,
    finished: Finished,
    throws: bool,
) -> Result<Js<'js>> {
    if throws && let Some(error) = &finished.outcome.error {
        let message = format!(
            "{} \"{}\": {}",
            perform::go_method(&finished.request.method),
            finished.request.url,
            error.text
        );
        return Err(throw(ctx, &message));
    }
    response::create(ctx, state, finished)
}

/// Reads the arguments of a request. A problem in them gives a failed response, unless the option
/// `throw` is set.
fn prepare<'js>(
    ctx: &Ctx<'js>,
    state: &Rc<State>,
    call: &HttpCall<'js>,
) -> Result<std::result::Result<HttpExchange, Finished>> {
    match arguments::read(ctx, state, call) {
        Ok(exchange) => Ok(Ok(exchange)),
        Err(arguments::Problem::Thrown(error)) => Err(error),
        Err(arguments::Problem::Refused { code, message }) => {
            if state.options.throw {
                return Err(throw(ctx, &message));
            }
            state.log(Level::Warning, "Request Failed", &[("error", &message)]);
            Ok(Err(Finished::failed(call.method.clone(), code, message)))
        }
    }
}

/// Sends a request and returns a promise of its response.
fn request_async<'js>(ctx: &Ctx<'js>, state: &Rc<State>, call: &HttpCall<'js>) -> Result<Js<'js>> {
    state.host(ctx, NO_INIT)?;
    let (promise, resolve, reject) = ctx.promise()?;
    let exchange = match prepare(ctx, state, call) {
        Ok(Ok(exchange)) => exchange,
        Ok(Err(finished)) => {
            let response = response::create(ctx, state, finished)?;
            resolve.call::<_, ()>((response,))?;
            return Ok(promise.into_value());
        }
        Err(error) => {
            let reason = caught(ctx, error)?;
            reject.call::<_, ()>((reason,))?;
            return Ok(promise.into_value());
        }
    };
    let (resolve, reject) = (
        Persistent::save(ctx, resolve),
        Persistent::save(ctx, reject),
    );
    let throws = exchange.throws;
    let own = Rc::clone(state);
    state.background.start(async move {
        let finished = perform::perform(Rc::clone(&own), exchange).await;
        let completion: Completion =
            Box::new(move |ctx| settle(ctx, &own, finished, throws, (resolve, reject)));
        completion
    });
    Ok(promise.into_value())
}

type Settlers = (Persistent<Function<'static>>, Persistent<Function<'static>>);

fn settle(
    ctx: &Ctx<'_>,
    state: &Rc<State>,
    finished: Finished,
    throws: bool,
    settlers: Settlers,
) -> Result<()> {
    match response_or_error(ctx, state, finished, throws) {
        Ok(response) => settlers.0.restore(ctx)?.call::<_, ()>((response,)),
        Err(error) => {
            let reason = caught(ctx, error)?;
            settlers.1.restore(ctx)?.call::<_, ()>((reason,))
        }
    }
}

/// Consumes an exception and returns it as a value.
fn caught<'js>(ctx: &Ctx<'js>, error: rquickjs::Error) -> Result<Js<'js>> {
    if matches!(error, rquickjs::Error::Exception) {
        return Ok(ctx.catch());
    }
    let message = ScriptError::from_error(ctx, &error).message;
    rquickjs::Exception::from_message(ctx.clone(), &message)
        .map(|error| error.into_object().into_value())
}

/// Creates an array from values.
fn array_of<'js>(ctx: &Ctx<'js>, values: Vec<Js<'js>>) -> Result<Array<'js>> {
    let array = Array::new(ctx.clone())?;
    for (index, value) in values.into_iter().enumerate() {
        array.set(index, value)?;
    }
    Ok(array)
}
