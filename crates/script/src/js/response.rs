//! The response and the request as sent, for functions that receive a response. Their parts become
//! JavaScript values when they are first read, because most functions read few of them.

use std::rc::Rc;

use engine::{hook::Inspection, program::RequestStep};
use plan::scenario::RequestBody;
use rquickjs::{Ctx, Function, Object, Result, Value as Js};
use serde_json::Value;
use worker::client::{Built, Moments};

use super::{
    dialect::NODE,
    instance::Instance,
    values::{text_to_js, to_js},
};

/// A request that was sent, with its times.
pub struct SentExchange<'e, 'js> {
    /// The step that sent the request.
    pub step: &'e RequestStep,
    /// Request as sent. `None` if it was not kept.
    pub sent: Option<&'e Built>,
    /// Times of the request.
    pub moments: &'e Moments,
    /// Parameters as functions left them before the request was sent.
    pub kept: Option<Object<'js>>,
}

/// Creates the parameters of a request with expanded templates, and its response. Properties that
/// functions added before the request was sent are kept.
pub fn objects<'js>(
    ctx: &Ctx<'js>,
    instance: &Instance,
    exchange: SentExchange<'_, 'js>,
    inspection: &mut Inspection<'_>,
) -> Result<(Js<'js>, Js<'js>)> {
    let SentExchange {
        step,
        sent,
        moments,
        kept,
    } = exchange;
    // A function may have given the request another kind of body.
    let has_json = || kept.as_ref().map(|kept| kept.contains_key("json"));
    let is_json = matches!(step.spec.body, RequestBody::Json(_))
        || has_json().transpose()?.unwrap_or_default();
    let body: Rc<str> = inspection.text().unwrap_or_default().into();
    let headers = inspection.answer().headers.clone();
    let (moments, sent) = (*moments, sent.cloned());
    let is_kept = sent.is_none();
    let read = move |ctx: Ctx<'js>, is_of_response: bool, part: String| match part.as_str() {
        "url" => match &sent {
            Some(sent) => text_to_js(&ctx, &sent.url()),
            None => Ok(Js::new_undefined(ctx)),
        },
        "headers" if is_of_response => header_object(&ctx, &headers),
        "body" if is_of_response => text_to_js(&ctx, &body),
        "timings" => timings(&ctx, &moments),
        part => match &sent {
            Some(sent) => sent_part(&ctx, sent, is_json, part),
            None => Ok(Js::new_undefined(ctx)),
        },
    };
    let read = Function::new(ctx.clone(), read)?;
    let makers = instance.makers()?;
    let make = makers.response.clone().restore(ctx)?;
    let response = make.call((inspection.answer().status, read.clone()))?;
    let request = match kept {
        Some(kept) if is_kept => kept.into_value(),
        kept => {
            let make = makers.sent.clone().restore(ctx)?;
            let known = makers.known.clone().restore(ctx)?;
            make.call((read, step.spec.name.as_deref(), kept, known))?
        }
    };
    Ok((request, response))
}

/// Returns headers in the form that Node.js uses.
fn header_object<'js>(ctx: &Ctx<'js>, headers: &[(String, String)]) -> Result<Js<'js>> {
    let object = Object::new(ctx.clone())?;
    for (name, value) in NODE.all_headers(headers) {
        object.set(name, to_js(ctx, &value)?)?;
    }
    Ok(object.into_value())
}

/// Returns the phases of a request in milliseconds.
fn timings<'js>(ctx: &Ctx<'js>, moments: &Moments) -> Result<Js<'js>> {
    let ms = |ns: u64| (ns as f64 / 1e6).round();
    let opening = moments.opening;
    let begun = moments.first_write.unwrap_or(moments.started);
    let opened = opening.lookup_ns + opening.connect_ns + opening.tls_ns.unwrap_or(0);
    let phases = Object::new(ctx.clone())?;
    phases.set(
        "wait",
        ms(begun.saturating_sub(moments.started).saturating_sub(opened)),
    )?;
    phases.set("dns", ms(opening.lookup_ns))?;
    phases.set("tcp", ms(opening.connect_ns))?;
    if let Some(tls_ns) = opening.tls_ns {
        phases.set("tls", ms(tls_ns))?;
    }
    // The end of sending is recorded only if a limit starts there.
    let sent = moments.sent.max(begun);
    phases.set("request", ms(sent - begun))?;
    phases.set("firstByte", ms(moments.head.saturating_sub(sent)))?;
    phases.set("download", ms(moments.done.saturating_sub(moments.head)))?;
    phases.set("total", ms(moments.done.saturating_sub(moments.started)))?;
    let timings = Object::new(ctx.clone())?;
    timings.set("phases", phases)?;
    Ok(timings.into_value())
}

/// Returns a property of the request as sent.
fn sent_part<'js>(ctx: &Ctx<'js>, sent: &Built, is_json: bool, part: &str) -> Result<Js<'js>> {
    match part {
        "method" => {
            let head = head(sent);
            text_to_js(ctx, head.split(' ').next().unwrap_or_default())
        }
        "headers" => {
            let headers = Object::new(ctx.clone())?;
            for line in head(sent).lines().skip(1) {
                if let Some((name, value)) = line.split_once(':') {
                    headers.set(name.to_ascii_lowercase(), value.trim())?;
                }
            }
            Ok(headers.into_value())
        }
        part => {
            let json = match is_json {
                true => serde_json::from_slice::<Value>(sent.body()).ok(),
                false => None,
            };
            match (part, json) {
                ("json", Some(json)) => to_js(ctx, &json),
                ("body", None) if !sent.body().is_empty() => {
                    text_to_js(ctx, &String::from_utf8_lossy(sent.body()))
                }
                _ => Ok(Js::new_undefined(ctx.clone())),
            }
        }
    }
}

fn head(sent: &Built) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(sent.bytes.get(..sent.cookie_at).unwrap_or_default())
}
