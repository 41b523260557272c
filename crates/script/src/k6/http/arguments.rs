//! The arguments of a request function: method, URL, body and parameters.

use std::rc::Rc;

use codec::url::Target;
use rquickjs::{Class, Coerced, Ctx, Error, Result, Value as Js};

use super::{
    super::{errors::throw, state::State},
    body,
    params::{self, Params},
    perform::{HttpExchange, RequestInfo},
    url::NamedUrl,
};
use crate::js::edge::Native;

/// A call of one of the module's request functions.
pub struct HttpCall<'js> {
    pub method: String,
    pub url: Js<'js>,
    pub body: Js<'js>,
    pub params: Js<'js>,
}

/// Why arguments do not form a valid request.
pub enum Problem {
    /// An exception, which is thrown.
    Thrown(Error),
    /// The request fails before it is sent, with k6's error code.
    Refused { code: u32, message: String },
}

impl From<Error> for Problem {
    fn from(error: Error) -> Problem {
        Problem::Thrown(error)
    }
}

impl<'js> HttpCall<'js> {
    /// Reads the arguments `(url, [params])`.
    pub fn without_body(ctx: &Ctx<'js>, method: &str, values: &[Js<'js>]) -> HttpCall<'js> {
        HttpCall {
            method: method.to_owned(),
            url: argument(ctx, values, 0),
            body: Js::new_null(ctx.clone()),
            params: argument(ctx, values, 1),
        }
    }

    /// Reads the arguments `(url, [body], [params])`.
    pub fn with_body(ctx: &Ctx<'js>, method: &str, values: &[Js<'js>]) -> HttpCall<'js> {
        HttpCall {
            method: method.to_owned(),
            url: argument(ctx, values, 0),
            body: argument(ctx, values, 1),
            params: argument(ctx, values, 2),
        }
    }

    /// Reads the arguments `(method, url, [body], [params])`.
    pub fn with_method(ctx: &Ctx<'js>, values: &[Js<'js>]) -> Result<HttpCall<'js>> {
        let method: Coerced<String> = argument(ctx, values, 0).get()?;
        Ok(HttpCall {
            method: method.0,
            url: argument(ctx, values, 1),
            body: argument(ctx, values, 2),
            params: argument(ctx, values, 3),
        })
    }
}

fn argument<'js>(ctx: &Ctx<'js>, values: &[Js<'js>], index: usize) -> Js<'js> {
    let value = values.get(index).cloned();
    value.unwrap_or_else(|| Js::new_undefined(ctx.clone()))
}

/// Reads the arguments of a request.
pub fn read<'js>(
    ctx: &Ctx<'js>,
    state: &Rc<State>,
    call: &HttpCall<'js>,
) -> std::result::Result<HttpExchange, Problem> {
    let is_token = |c: char| c.is_ascii_graphic() && !"()<>@,;:\\\"/[]?={}".contains(c);
    if call.method.is_empty() || !call.method.chars().all(is_token) {
        return Err(Problem::Refused {
            code: 1000,
            message: format!("net/http: invalid method \"{}\"", call.method),
        });
    }
    let (url, name) = url_of(ctx, &call.url)?;
    let target = parse(&url)?;
    let mut params = params::read(ctx, state, &call.params)?;
    let body = body::read(ctx, state, &call.body, &mut params.headers)?;
    let name = params.name.take().or(name);
    let plain = plain_url(&url);
    Ok(HttpExchange {
        request: RequestInfo {
            method: call.method.clone(),
            url: plain,
            body,
        },
        name,
        userinfo: target.userinfo.clone(),
        throws: params.throws,
        params: Params { ..params },
        tags: state.tags.borrow().clone(),
    })
}

/// Returns the URL, and its name if it is a result of `http.url`.
fn url_of<'js>(ctx: &Ctx<'js>, value: &Js<'js>) -> Result<(String, Option<String>)> {
    let named = value
        .as_object()
        .and_then(Class::<Native<NamedUrl>>::from_object);
    if let Some(named) = named {
        let named = named.borrow();
        return Ok((named.0.url.clone(), Some(named.0.name.clone())));
    }
    if value.is_undefined() || value.is_null() {
        return Err(throw(ctx, "a URL is missing"));
    }
    Ok((value.get::<Coerced<String>>()?.0, None))
}

/// Parses the URL of a request.
///
/// # Errors
///
/// Fails if it is not an absolute HTTP URL.
pub fn parse(url: &str) -> std::result::Result<Target, Problem> {
    codec::url::parse(url).ok_or_else(|| {
        let reason = match ::url::Url::parse(url) {
            Ok(parsed) => format!("unsupported protocol scheme \"{}\"", parsed.scheme()),
            Err(::url::ParseError::RelativeUrlWithoutBase) => {
                "unsupported protocol scheme \"\"".to_owned()
            }
            Err(error) => error.to_string(),
        };
        Problem::Refused {
            code: 1020,
            message: format!("invalid URL: {reason}"),
        }
    })
}

/// Returns a URL without user name, password and fragment.
pub fn plain_url(url: &str) -> String {
    let url = url.split('#').next().unwrap_or(url);
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    match rest[..end].rfind('@') {
        Some(at) => format!("{scheme}://{}", &rest[at + 1..]),
        None => url.to_owned(),
    }
}

/// Returns a URL with asterisks in place of the user name and password, for tags.
pub fn masked_url(url: &str, has_userinfo: bool) -> String {
    match url.split_once("://") {
        Some((scheme, rest)) if has_userinfo => format!("{scheme}://****:****@{rest}"),
        _ => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn user_names_and_passwords_are_not_sent_or_shown() {
        let plain = plain_url("http://u:p@a.test/x@y?q#f");
        assert_eq!(plain, "http://a.test/x@y?q");
        assert_eq!(masked_url(&plain, true), "http://****:****@a.test/x@y?q");
        assert_eq!(plain_url("http://a.test"), "http://a.test");
    }

    proptest! {
        #[test]
        fn any_text_is_a_url_or_refused(text in "\\PC*") {
            let _ = parse(&text);
            let _ = plain_url(&text);
        }
    }
}
