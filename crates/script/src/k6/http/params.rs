//! The parameters of a request: headers, cookies, tags, timeout and others.

use std::{cell::RefCell, io::Write, rc::Rc};

use codec::cookies::Jar;
use flate2::{
    Compression,
    write::{GzEncoder, ZlibEncoder},
};
use rquickjs::{Class, Coerced, Ctx, Result, Value as Js};

use super::{
    super::{errors::throw, host::StatusRange, state::State, tags},
    arguments::Problem,
    cookies::CookieJar,
    expected,
};
use crate::js::edge::Native;

/// k6's default time limit of a request.
const DEFAULT_TIMEOUT_NS: u64 = 60_000_000_000;

/// The form in which the script receives the body of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponseType {
    Text,
    Binary,
    None,
}

/// A cookie for one request.
#[derive(Debug, Clone)]
pub struct RequestCookie {
    pub name: String,
    pub value: String,
    /// Whether the cookie replaces the jar's cookie with this name.
    pub replaces: bool,
}

/// The parameters of a request.
pub struct Params {
    pub headers: Vec<(String, String)>,
    pub cookies: Vec<RequestCookie>,
    pub jar: Rc<RefCell<Jar>>,
    pub tags: Vec<(String, String)>,
    /// Tag `name`, which replaces the URL.
    pub name: Option<String>,
    pub timeout_ns: u64,
    pub redirects: Option<u32>,
    /// Whether the user name and password in the URL are for digest authentication.
    pub is_digest: bool,
    pub compression: Vec<Encoding>,
    pub response_type: ResponseType,
    pub expected: Option<Rc<[StatusRange]>>,
    pub throws: bool,
}

/// A compression for request bodies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    Gzip,
    Deflate,
}

impl Encoding {
    pub fn name(self) -> &'static str {
        match self {
            Encoding::Gzip => "gzip",
            Encoding::Deflate => "deflate",
        }
    }

    /// Compresses a body.
    pub fn encode(self, body: &[u8]) -> std::io::Result<Vec<u8>> {
        match self {
            Encoding::Gzip => {
                let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
                encoder.write_all(body)?;
                encoder.finish()
            }
            Encoding::Deflate => {
                let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
                encoder.write_all(body)?;
                encoder.finish()
            }
        }
    }
}

/// Reads parameters. `null` and `undefined` mean the defaults.
pub fn read<'js>(
    ctx: &Ctx<'js>,
    state: &Rc<State>,
    value: &Js<'js>,
) -> std::result::Result<Params, Problem> {
    let mut params = Params {
        headers: Vec::new(),
        cookies: Vec::new(),
        jar: Rc::clone(&state.jar.borrow()),
        tags: Vec::new(),
        name: None,
        timeout_ns: DEFAULT_TIMEOUT_NS,
        redirects: None,
        is_digest: false,
        compression: Vec::new(),
        response_type: match state.options.discard_response_bodies {
            true => ResponseType::None,
            false => ResponseType::Text,
        },
        expected: state.expected.borrow().clone(),
        throws: state.options.throw,
    };
    let Some(object) = value.as_object() else {
        return Ok(params);
    };
    // The order of the keys decides between headers with equal names.
    for entry in object.props::<String, Js<'js>>() {
        let (key, value) = entry?;
        if value.is_undefined() || (value.is_null() && key != "responseCallback") {
            continue;
        }
        read_key(ctx, &mut params, &key, &value)?;
    }
    Ok(params)
}

fn read_key<'js>(
    ctx: &Ctx<'js>,
    params: &mut Params,
    key: &str,
    value: &Js<'js>,
) -> std::result::Result<(), Problem> {
    match key {
        "headers" => read_headers(value, &mut params.headers)?,
        "cookies" => read_cookies(value, &mut params.cookies)?,
        "jar" => {
            if let Some(jar) = jar_of(value) {
                params.jar = jar;
            }
        }
        "tags" => {
            let name = read_tags(ctx, value, &mut params.tags)?;
            params.name = name.or(params.name.take());
        }
        "timeout" => params.timeout_ns = read_timeout(value)?,
        "redirects" => {
            let number = value.get::<Coerced<f64>>()?.0;
            params.redirects = Some(number.max(0.0) as u32);
        }
        "auth" => {
            let method = value.get::<Coerced<String>>()?.0;
            params.is_digest = method == "digest";
            if method == "ntlm" {
                let message = format!("the authentication method '{method}' is not supported");
                return Err(Problem::Thrown(throw(ctx, &message)));
            }
        }
        "compression" => params.compression = read_compression(value)?,
        "responseType" => {
            params.response_type = match value.get::<Coerced<String>>()?.0.as_str() {
                "text" => ResponseType::Text,
                "binary" => ResponseType::Binary,
                "none" => ResponseType::None,
                other => {
                    return Err(Problem::Refused {
                        code: 1000,
                        message: format!("{other} does not belong to ResponseType values"),
                    });
                }
            };
        }
        "responseCallback" => params.expected = expected::read(ctx, value)?,
        "throw" => params.throws = value.get::<Coerced<bool>>()?.0,
        _ => {}
    }
    Ok(())
}

/// Returns the jar of an object of the class `CookieJar`. `None` for other values.
pub fn jar_of(value: &Js<'_>) -> Option<Rc<RefCell<Jar>>> {
    let jar = Class::<Native<CookieJar>>::from_object(value.as_object()?)?;
    let jar = Rc::clone(&jar.borrow().0.jar);
    Some(jar)
}

/// Adds the tags of an object. The tag `name` is returned instead of added.
///
/// # Errors
///
/// Throws if a value is not a text, boolean or number.
pub fn read_tags<'js>(
    ctx: &Ctx<'js>,
    value: &Js<'js>,
    read: &mut Vec<(String, String)>,
) -> Result<Option<String>> {
    let mut own_name = None;
    for (name, text) in tags::read(ctx, Some(value))? {
        match name.as_str() {
            "name" => own_name = Some(text),
            _ => read.push((name, text)),
        }
    }
    Ok(own_name)
}

/// Adds the headers of an object. A later header replaces an earlier one with the same name.
pub fn read_headers<'js>(value: &Js<'js>, headers: &mut Vec<(String, String)>) -> Result<()> {
    let Some(object) = value.as_object() else {
        return Ok(());
    };
    for entry in object.props::<String, Js<'js>>() {
        let (name, value) = entry?;
        let value = value.get::<Coerced<String>>()?.0;
        // A line break would start another header.
        let value = value.replace(['\r', '\n'], " ");
        let name = canonical(&name);
        headers.retain(|(known, _)| *known != name);
        headers.push((name, value));
    }
    Ok(())
}

fn read_cookies<'js>(value: &Js<'js>, cookies: &mut Vec<RequestCookie>) -> Result<()> {
    let Some(object) = value.as_object() else {
        return Ok(());
    };
    for entry in object.props::<String, Js<'js>>() {
        let (name, value) = entry?;
        let (value, replaces) = match value.as_object() {
            Some(object) => {
                let text: Coerced<String> = object.get("value")?;
                let replaces: Coerced<bool> = object.get("replace")?;
                (text.0, replaces.0)
            }
            None => (value.get::<Coerced<String>>()?.0, false),
        };
        cookies.push(RequestCookie {
            name,
            value: value.replace(['\r', '\n', ';'], ""),
            replaces,
        });
    }
    Ok(())
}

fn read_timeout(value: &Js<'_>) -> std::result::Result<u64, Problem> {
    let text = value.get::<Coerced<String>>()?.0;
    duration_ns(&text).ok_or_else(|| Problem::Refused {
        code: 1000,
        message: format!("invalid timeout value: '{text}' is not a valid duration value"),
    })
}

/// Parses a duration: a number of milliseconds, or Go's form such as `1m30s`, which may also
/// contain days.
pub fn duration_ns(text: &str) -> Option<u64> {
    let text = text.trim();
    if let Ok(ms) = text.parse::<f64>() {
        return (ms.is_finite() && ms >= 0.0).then_some((ms * 1e6) as u64);
    }
    let (mut rest, mut total) = (text, 0.0);
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let amount: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let end = rest.find(|c: char| c.is_ascii_digit() || c == '.');
        let unit = &rest[..end.unwrap_or(rest.len())];
        rest = &rest[unit.len()..];
        total += amount
            * match unit {
                "ns" => 1.0,
                "us" | "µs" | "μs" => 1e3,
                "ms" => 1e6,
                "s" => 1e9,
                "m" => 60e9,
                "h" => 3600e9,
                "d" => 86_400e9,
                _ => return None,
            };
    }
    (!text.is_empty() && total.is_finite()).then_some(total as u64)
}

fn read_compression(value: &Js<'_>) -> std::result::Result<Vec<Encoding>, Problem> {
    let text = value.get::<Coerced<String>>()?.0;
    let names = text
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty());
    let encoding = |name: &str| match name {
        "gzip" => Ok(Encoding::Gzip),
        "deflate" => Ok(Encoding::Deflate),
        "zstd" | "br" => Err(Problem::Refused {
            code: 1000,
            message: format!("the compression '{name}' of requests is not supported"),
        }),
        _ => Err(Problem::Refused {
            code: 1000,
            message: format!(
                "unknown compression algorithm {name}, supported algorithms are deflate, gzip"
            ),
        }),
    };
    names.map(encoding).collect()
}

/// Returns the canonical form of a header name: `X-My-Id`.
pub fn canonical(name: &str) -> String {
    let mut is_start = true;
    let canonical = |c: char| {
        let c = match is_start {
            true => c.to_ascii_uppercase(),
            false => c.to_ascii_lowercase(),
        };
        is_start = c == '-';
        c
    };
    let is_token = name.chars().all(|c| c.is_ascii_graphic() && c != ':');
    if is_token {
        name.chars().map(canonical).collect()
    } else {
        // As in Go, a name with other characters is not changed, but line breaks would start
        // another header.
        name.replace(['\r', '\n'], "")
    }
}

/// Sets a header unless the script has set it.
pub fn set_header_if_absent(headers: &mut Vec<(String, String)>, name: &str, value: &str) {
    if !headers.iter().any(|(known, _)| known == name) {
        headers.push((name.to_owned(), value.to_owned()));
    }
}

/// Returns Go's name for a value's type, for messages.
pub fn type_name(value: &Js<'_>) -> &'static str {
    if value.is_string() {
        "string"
    } else if value.is_bool() {
        "bool"
    } else if value.is_int() {
        "int64"
    } else if value.is_number() {
        "float64"
    } else if value.is_array() {
        "[]interface {}"
    } else if value.is_function() {
        "func(sobek.FunctionCall) sobek.Value"
    } else if value.is_object() {
        "map[string]interface {}"
    } else {
        "<nil>"
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn durations_are_milliseconds_or_have_units() {
        assert_eq!(duration_ns("1500"), Some(1_500_000_000));
        assert_eq!(duration_ns("1m30s"), Some(90_000_000_000));
        assert_eq!(duration_ns("1.5s"), Some(1_500_000_000));
        assert_eq!(duration_ns("1d2h"), Some(93_600_000_000_000));
        for bad in ["", "s", "1x", "1s2", "NaN", "-1", "inf"] {
            assert_eq!(duration_ns(bad), None, "{bad}");
        }
    }

    #[test]
    fn header_names_are_canonical() {
        assert_eq!(canonical("x-my-ID"), "X-My-Id");
        assert_eq!(canonical("a b"), "a b");
        assert_eq!(canonical("a\r\nb"), "ab");
    }

    proptest! {
        #[test]
        fn any_text_is_a_duration_or_not(text in "\\PC*") {
            let _ = duration_ns(&text);
        }
    }
}
