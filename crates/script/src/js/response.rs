//! What functions receive with a response: the response, and the request as it was sent.

use std::rc::Rc;

use engine::{hook::Inspection, program::RequestStep};
use plan::scenario::RequestBody;
use rquickjs::{Ctx, Object, Result, object::Accessor};
use serde_json::Value;
use worker::client::{Built, Moments};

use super::values::to_js;

/// Creates the response object. Its body becomes a JavaScript string when it is read.
pub fn response<'js>(
    ctx: &Ctx<'js>,
    inspection: &mut Inspection<'_>,
    moments: &Moments,
    sent: Option<&Built>,
) -> Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    object.set("statusCode", inspection.answer().status)?;
    if let Some(sent) = sent {
        object.set("url", sent.url())?;
    }
    let headers = Object::new(ctx.clone())?;
    let mut names: Vec<String> = Vec::new();
    for (name, _) in &inspection.answer().headers {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    for name in names {
        if let Some(value) = inspection.captured_header(&name) {
            headers.set(name, to_js(ctx, &value)?)?;
        }
    }
    object.set("headers", headers)?;
    let body: Rc<str> = inspection.text().unwrap_or_default().into();
    let read = move || body.to_string();
    object.prop("body", Accessor::new_get(read).enumerable().configurable())?;
    object.set("timings", timings(ctx, moments)?)?;
    Ok(object)
}

/// Returns the phases of a request in milliseconds.
fn timings<'js>(ctx: &Ctx<'js>, moments: &Moments) -> Result<Object<'js>> {
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
    Ok(timings)
}

/// Creates the parameters of a request with expanded templates. Properties that functions added
/// before it was sent are kept.
pub fn sent_request<'js>(
    ctx: &Ctx<'js>,
    step: &RequestStep,
    sent: Option<&Built>,
    kept: Option<Object<'js>>,
) -> Result<Object<'js>> {
    let object = match kept {
        Some(kept) => kept,
        None => Object::new(ctx.clone())?,
    };
    if let Some(name) = &step.spec.name {
        object.set("name", name.as_str())?;
    }
    let Some(sent) = sent else {
        return Ok(object);
    };
    object.set("url", sent.url())?;
    let head = sent.bytes.get(..sent.cookie_at).unwrap_or_default();
    let head = String::from_utf8_lossy(head);
    let method = head.split(' ').next().unwrap_or_default();
    object.set("method", method)?;
    let headers = Object::new(ctx.clone())?;
    for line in head.lines().skip(1) {
        if let Some((name, value)) = line.split_once(':') {
            headers.set(name.to_ascii_lowercase(), value.trim())?;
        }
    }
    object.set("headers", headers)?;
    // A function may have given the request another kind of body.
    let is_json = matches!(step.spec.body, RequestBody::Json(_)) || object.contains_key("json")?;
    let json = is_json
        .then(|| serde_json::from_slice::<Value>(sent.body()).ok())
        .flatten();
    match json {
        Some(json) => object.set("json", to_js(ctx, &json)?)?,
        None if sent.body().is_empty() => {}
        None => object.set("body", String::from_utf8_lossy(sent.body()).into_owned())?,
    }
    Ok(object)
}
