//! The arguments of a request for a WebSocket connection.

use std::{cell::RefCell, rc::Rc};

use ::k6::tags::Tags;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use codec::{cookies::Jar, encode, url::Target};
use rquickjs::{Coerced, Ctx, Object, Result, Value as Js};

use super::super::{
    errors::throw,
    http::{
        arguments::{masked_url, plain_url},
        cookies::now_s,
        params,
    },
    state::State,
};
use crate::js::values::text_of;

/// Headers that belong to the upgrade, in canonical form.
const RESERVED: [&str; 5] = [
    "Connection",
    "Sec-Websocket-Extensions",
    "Sec-Websocket-Key",
    "Sec-Websocket-Version",
    "Upgrade",
];

/// A request for a WebSocket connection, as described by the script.
pub struct SocketCall {
    /// URL without user name, password or fragment.
    pub url: String,
    /// Value of the tags `name` and `url`.
    pub name: String,
    pub target: Target,
    pub headers: Vec<(String, String)>,
    pub subprotocols: Vec<String>,
    pub compresses: bool,
    pub jar: Rc<RefCell<Jar>>,
    /// Tags that the script sets.
    pub tags: Vec<(String, String)>,
    /// Tags at the time of the call.
    pub base_tags: Tags,
}

/// Returns the URL of the request that opens a connection: `http` for `ws`, `https` for `wss`.
pub fn http_url(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    match scheme.to_ascii_lowercase().as_str() {
        "ws" => Some(format!("http://{rest}")),
        "wss" => Some(format!("https://{rest}")),
        _ => None,
    }
}

/// Reads the arguments. `null` and `undefined` mean that there are no parameters.
pub fn read<'js>(
    ctx: &Ctx<'js>,
    state: &State,
    url: &str,
    protocols: &Js<'js>,
    parameters: &Js<'js>,
) -> Result<SocketCall> {
    let target = http_url(url).and_then(|url| codec::url::parse(&url));
    let Some(target) = target else {
        return Err(throw(ctx, &format!("malformed ws or wss URL: {url:?}")));
    };
    let plain = plain_url(url);
    let mut call = SocketCall {
        name: masked_url(&plain, target.userinfo.is_some()),
        url: plain,
        target,
        headers: Vec::new(),
        subprotocols: names_of(protocols)?,
        compresses: false,
        jar: Rc::clone(&state.jar.borrow()),
        tags: Vec::new(),
        base_tags: state.tags.borrow().clone(),
    };
    if let Some(object) = parameters.as_object() {
        read_parameters(ctx, &mut call, object)?;
    }
    finish_headers(ctx, state, &mut call)?;
    Ok(call)
}

/// Reads the subprotocols. An empty text means none, like `null`, so that parameters can follow.
fn names_of(value: &Js<'_>) -> Result<Vec<String>> {
    if value.is_undefined() || value.is_null() {
        return Ok(Vec::new());
    }
    if value
        .as_string()
        .is_some_and(|text| text_of(text).is_empty())
    {
        return Ok(Vec::new());
    }
    match value.as_array() {
        Some(array) => array
            .iter::<Coerced<String>>()
            .map(|item| item.map(|text| text.0))
            .collect(),
        None => Ok(vec![value.get::<Coerced<String>>()?.0]),
    }
}

fn read_parameters<'js>(
    ctx: &Ctx<'js>,
    call: &mut SocketCall,
    parameters: &Object<'js>,
) -> Result<()> {
    for entry in parameters.props::<String, Js<'js>>() {
        let (key, value) = entry?;
        if value.is_undefined() || value.is_null() {
            continue;
        }
        match key.as_str() {
            "headers" => params::read_headers(&value, &mut call.headers)?,
            "tags" => {
                let name = params::read_tags(ctx, &value, &mut call.tags)?;
                call.name = name.unwrap_or(std::mem::take(&mut call.name));
            }
            "jar" => {
                if let Some(jar) = params::jar_of(&value) {
                    call.jar = jar;
                }
            }
            "compression" => {
                let algorithm = value.get::<Coerced<String>>()?.0;
                if !algorithm.is_empty() && algorithm != "deflate" {
                    let message = format!(
                        "unsupported compression algorithm '{algorithm}', supported algorithm is \
                         'deflate'"
                    );
                    return Err(throw(ctx, &message));
                }
                call.compresses = !algorithm.is_empty();
            }
            _ => {}
        }
    }
    Ok(())
}

/// Adds the headers that the script does not set, in Go's order.
fn finish_headers(ctx: &Ctx<'_>, state: &State, call: &mut SocketCall) -> Result<()> {
    let headers = &mut call.headers;
    let is_reserved = |(name, _): &&(String, String)| RESERVED.contains(&name.as_str());
    if let Some((name, _)) = headers.iter().find(is_reserved) {
        let message = format!("websocket: duplicate header not allowed: {name}");
        return Err(throw(ctx, &message));
    }
    let given = headers.iter();
    if let Some(place) = given
        .clone()
        .position(|(name, _)| name == "Sec-Websocket-Protocol")
    {
        let (_, names) = headers.remove(place);
        let names = names.split(',').map(str::trim);
        let names = names.filter(|name| !name.is_empty()).map(str::to_owned);
        call.subprotocols.extend(names);
    }
    if let Some(name) = call
        .subprotocols
        .iter()
        .find(|name| !encode::is_token(name))
    {
        let message = format!(
            "invalid WebSocket subprotocol {name:?}: a subprotocol consists of letters, digits and \
             !#$%&'*+-.^_`|~"
        );
        return Err(throw(ctx, &message));
    }
    params::set_header_if_absent(headers, "User-Agent", &state.options.user_agent);
    if let Some((name, password)) = &call.target.userinfo {
        let text = STANDARD.encode(format!("{name}:{password}"));
        params::set_header_if_absent(headers, "Authorization", &format!("Basic {text}"));
    }
    let target = &call.target;
    let stored = call
        .jar
        .borrow()
        .header(&target.origin, &target.path, now_s(state));
    if let Some(stored) = stored {
        match headers.iter_mut().find(|(name, _)| name == "Cookie") {
            Some((_, own)) => *own = format!("{own}; {stored}"),
            None => headers.push(("Cookie".to_owned(), stored)),
        }
    }
    let is_dropped = |name: &str, value: &str| {
        name == "Content-Length" || (name == "User-Agent" && value.is_empty())
    };
    headers.retain(|(name, value)| !is_dropped(name, value));
    headers.sort_by(|(one, _), (other, _)| {
        (one != "User-Agent", one).cmp(&(other != "User-Agent", other))
    });
    Ok(())
}
