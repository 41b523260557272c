//! `http.batch`: several concurrent requests.

use std::{collections::HashMap, future::poll_fn, pin::Pin, rc::Rc, task::Poll};

use rquickjs::{Class, Coerced, Ctx, Object, Result, Value as Js};

use super::{
    super::{errors::throw, state::State},
    arguments::HttpCall,
    array_of,
    perform::{self, Finished, HttpExchange},
    prepare, response_or_error,
    url::NamedUrl,
};
use crate::js::edge::Native;

/// A request of a batch: one to send, or one that has already failed.
enum BatchItem {
    Exchange(Box<HttpExchange>),
    Finished(Box<Finished>),
}

/// Sends all requests of an array or an object, and returns their responses in the same form.
pub fn run<'js>(ctx: &Ctx<'js>, state: &Rc<State>, requests: Option<Js<'js>>) -> Result<Js<'js>> {
    state.host(ctx, "Using batch in the init context is not supported")?;
    let Some(requests) = requests.filter(|r| !r.is_undefined() && !r.is_null()) else {
        return Err(throw(ctx, "no argument was provided to http.batch()"));
    };
    let Some(object) = requests.as_object().filter(|o| !o.is_function()) else {
        let message = "http.batch() accepts only an array or an object of requests";
        return Err(throw(ctx, message));
    };
    let (mut keys, mut items, mut throws) = (Vec::new(), Vec::new(), Vec::new());
    for entry in object.props::<String, Js<'js>>() {
        let (key, value) = entry?;
        let call = call_of(ctx, &key, &value)?;
        keys.push(key);
        match prepare(ctx, state, &call)? {
            Ok(exchange) => {
                throws.push(exchange.throws);
                items.push(BatchItem::Exchange(Box::new(exchange)));
            }
            Err(finished) => {
                throws.push(false);
                items.push(BatchItem::Finished(Box::new(finished)));
            }
        }
    }
    let all = state.wait(ctx, send_all(Rc::clone(state), items))?;
    let mut responses = Vec::with_capacity(all.len());
    for (finished, throws) in all.into_iter().zip(throws) {
        responses.push(response_or_error(ctx, state, finished, throws)?);
    }
    if object.is_array() {
        return Ok(array_of(ctx, responses)?.into_value());
    }
    let result = Object::new(ctx.clone())?;
    for (key, response) in keys.iter().zip(responses) {
        result.set(key.as_str(), response)?;
    }
    Ok(result.into_value())
}

/// Reads a request: a URL, `[method, url, body, params]`, or an object with these keys.
fn call_of<'js>(ctx: &Ctx<'js>, key: &str, value: &Js<'js>) -> Result<HttpCall<'js>> {
    let undefined = || Js::new_undefined(ctx.clone());
    let is_url = |object: &Object<'js>| Class::<Native<NamedUrl>>::from_object(object).is_some();
    let Some(object) = value.as_object().filter(|object| !is_url(object)) else {
        if !value.is_string() && !value.is_object() {
            let shown = super::params::type_name(value);
            let message = format!("invalid batch request {key}: {shown} is not a request");
            return Err(throw(ctx, &message));
        }
        return Ok(HttpCall {
            method: "GET".to_owned(),
            url: value.clone(),
            body: undefined(),
            params: undefined(),
        });
    };
    let get = |name: &str, index: u32| -> Result<Js<'js>> {
        match object.as_array() {
            Some(_) => object.get(index),
            None => object.get(name),
        }
    };
    let method: Js<'js> = get("method", 0)?;
    let url: Js<'js> = get("url", 1)?;
    if url.is_undefined() {
        let shown = super::super::console::shown(value)?;
        let message = match object.is_array() {
            true => format!("invalid batch request '{shown}': a method and a URL are needed"),
            false => format!("batch request {key} doesn't have a url key"),
        };
        return Err(throw(ctx, &message));
    }
    let method = match method.is_undefined() {
        true => "GET".to_owned(),
        false => method.get::<Coerced<String>>()?.0.to_uppercase(),
    };
    let body = match method.as_str() {
        "GET" | "HEAD" => undefined(),
        _ => get("body", 2)?,
    };
    Ok(HttpCall {
        method,
        url,
        body,
        params: get("params", 3)?,
    })
}

/// Sends requests in order, with at most `batch` concurrent requests, and at most `batchPerHost`
/// for each host.
async fn send_all(state: Rc<State>, items: Vec<BatchItem>) -> Vec<Finished> {
    let mut finished: Vec<Option<Finished>> = items.iter().map(|_| None).collect();
    let mut waiting = Vec::new();
    for (index, item) in items.into_iter().enumerate() {
        match item {
            BatchItem::Finished(done) => finished[index] = Some(*done),
            BatchItem::Exchange(exchange) => waiting.push((index, exchange)),
        }
    }
    waiting.reverse();
    let limit = |limit: usize| if limit == 0 { usize::MAX } else { limit };
    let (most, most_per_host) = (
        limit(state.options.batch),
        limit(state.options.batch_per_host),
    );
    let mut active: Vec<Active> = Vec::new();
    let mut hosts: HashMap<String, usize> = HashMap::new();
    while !waiting.is_empty() || !active.is_empty() {
        // Find the first request that may start. The list is reversed, so search from its end.
        let next = waiting.iter().rposition(|(_, exchange)| {
            hosts.get(&host_of(exchange)).copied().unwrap_or(0) < most_per_host
        });
        if let Some(position) = next.filter(|_| active.len() < most) {
            let (index, exchange) = waiting.remove(position);
            let host = host_of(&exchange);
            *hosts.entry(host.clone()).or_default() += 1;
            let future = Box::pin(perform::perform(Rc::clone(&state), *exchange));
            active.push(Active {
                index,
                host,
                future,
            });
            continue;
        }
        let (position, done) = poll_fn(|cx| {
            let mut polled = active.iter_mut().enumerate();
            let ready =
                polled.find_map(
                    |(position, request)| match request.future.as_mut().poll(cx) {
                        Poll::Ready(done) => Some((position, done)),
                        Poll::Pending => None,
                    },
                );
            ready.map_or(Poll::Pending, Poll::Ready)
        })
        .await;
        let ended = active.remove(position);
        if let Some(count) = hosts.get_mut(&ended.host) {
            *count -= 1;
        }
        finished[ended.index] = Some(done);
    }
    finished.into_iter().flatten().collect()
}

/// A request that is in flight.
struct Active {
    index: usize,
    host: String,
    future: Pin<Box<dyn Future<Output = Finished>>>,
}

fn host_of(exchange: &HttpExchange) -> String {
    let target = codec::url::parse(&exchange.request.url);
    target.map_or(String::new(), |target| target.origin.host_header())
}
