//! Libraries of jslib.k6.io that are bundled with Loadline, so that they need no network.

use std::rc::Rc;

use rquickjs::{Ctx, Object, Result, Value as Js, prelude::Func};

use super::{errors::throw, state::State};
use crate::js::native::{change_url, parse_url};

/// Name of the module with native functions. Only libraries can import it.
pub const NATIVE: &str = "loadline:native";

/// Names and sources of the libraries. Every published version has the newest behaviour.
const LIBRARIES: [(&str, &str); 6] = [
    ("formdata", include_str!("formdata.js")),
    ("httpx", include_str!("httpx.js")),
    ("k6-summary", include_str!("k6-summary.js")),
    ("k6-utils", include_str!("k6-utils.js")),
    ("papaparse", include_str!("papaparse.js")),
    (
        "url",
        concat!(
            "import native from 'loadline:native';\n",
            include_str!("../../js/surface/url_classes.js"),
            "export { URL, URLSearchParams };\n"
        ),
    ),
];

/// Returns the source of a library by its URL.
pub fn find(url: &str) -> Option<&'static str> {
    let path = url.strip_prefix("https://jslib.k6.io/")?;
    let mut parts = path.split('/');
    let (name, version, file) = (parts.next()?, parts.next()?, parts.next()?);
    let is_version = version.starts_with(|c: char| c.is_ascii_digit());
    if parts.next().is_some() || !is_version || file != "index.js" {
        return None;
    }
    let library = LIBRARIES.iter().find(|(known, _)| *known == name)?;
    Some(library.1)
}

/// Creates the module with native functions.
pub fn native<'js>(ctx: &Ctx<'js>, state: &Rc<State>) -> Result<Object<'js>> {
    let native = Object::new(ctx.clone())?;
    native.set("parseUrl", Func::from(parse_url))?;
    native.set("changeUrl", Func::from(change_url))?;
    let own = Rc::clone(state);
    let text_summary = move |ctx: Ctx<'js>, data: Js<'js>, options: Js<'js>| -> Result<String> {
        let json = |value: Js<'js>| -> Result<String> {
            let json = ctx.json_stringify(value)?;
            json.map_or_else(|| Ok("{}".to_owned()), |json| json.to_string())
        };
        let (data, options) = (json(data)?, json(options)?);
        let host = own.host.as_ref();
        let text = host.and_then(|host| host.text_summary(&data, &options));
        text.ok_or_else(|| throw(&ctx, "textSummary() is only available in handleSummary()"))
    };
    native.set("textSummary", Func::from(text_summary))?;
    Ok(native)
}
