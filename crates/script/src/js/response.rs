//! What functions receive with a response: the response, and the request as it was sent. Their parts
//! become JavaScript values when they are first read, because most functions read few of them.

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

/// Creates the response object.
pub fn response<'js>(
    ctx: &Ctx<'js>,
    instance: &Instance,
    inspection: &mut Inspection<'_>,
    moments: &Moments,
    sent: Option<&Built>,
) -> Result<Js<'js>> {
    let body: Rc<str> = inspection.text().unwrap_or_default().into();
    let headers = inspection.answer().headers.clone();
    let moments = *moments;
    let url = sent.map(Built::url);
    let read = move |ctx: Ctx<'js>, part: String| match part.as_str() {
        "headers" => header_object(&ctx, &headers),
        "body" => text_to_js(&ctx, &body),
        "timings" => timings(&ctx, &moments),
        _ => match &url {
            Some(url) => text_to_js(&ctx, url),
            None => Ok(Js::new_undefined(ctx)),
        },
    };
    let read = Function::new(ctx.clone(), read)?;
    let make = instance.makers()?.response.clone().restore(ctx)?;
    make.call((inspection.answer().status, read))
}

/// Returns headers as Node.js gives them.
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
    phases.set("request", ms(moments.sent.saturating_sub(begun)))?;
    phases.set("firstByte", ms(moments.head.saturating_sub(moments.sent)))?;
    phases.set("download", ms(moments.done.saturating_sub(moments.head)))?;
    phases.set("total", ms(moments.done.saturating_sub(moments.started)))?;
    let timings = Object::new(ctx.clone())?;
    timings.set("phases", phases)?;
    Ok(timings.into_value())
}

/// Creates the parameters of a request with expanded templates. Properties that functions added
/// before it was sent are kept.
pub fn sent_request<'js>(
    ctx: &Ctx<'js>,
    instance: &Instance,
    step: &RequestStep,
    sent: Option<&Built>,
    kept: Option<Object<'js>>,
) -> Result<Object<'js>> {
    let Some(sent) = sent.cloned() else {
        return match kept {
            Some(kept) => Ok(kept),
            None => Object::new(ctx.clone()),
        };
    };
    // A function may have given the request another kind of body.
    let has_json = || kept.as_ref().map(|kept| kept.contains_key("json"));
    let is_json = matches!(step.spec.body, RequestBody::Json(_))
        || has_json().transpose()?.unwrap_or_default();
    let read = move |ctx: Ctx<'js>, part: String| -> Result<Js<'js>> {
        match part.as_str() {
            "url" => text_to_js(&ctx, &sent.url()),
            "method" => {
                let head = head(&sent);
                text_to_js(&ctx, head.split(' ').next().unwrap_or_default())
            }
            "headers" => {
                let headers = Object::new(ctx.clone())?;
                for line in head(&sent).lines().skip(1) {
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
                    ("json", Some(json)) => to_js(&ctx, &json),
                    ("body", None) if !sent.body().is_empty() => {
                        text_to_js(&ctx, &String::from_utf8_lossy(sent.body()))
                    }
                    _ => Ok(Js::new_undefined(ctx)),
                }
            }
        }
    };
    let read = Function::new(ctx.clone(), read)?;
    let makers = instance.makers()?;
    let make = makers.sent.clone().restore(ctx)?;
    let known = makers.known.clone().restore(ctx)?;
    make.call((read, step.spec.name.as_deref(), kept, known))
}

fn head(sent: &Built) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(sent.bytes.get(..sent.cookie_at).unwrap_or_default())
}
