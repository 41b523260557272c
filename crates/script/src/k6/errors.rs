//! Exceptions of scripts, and of the native functions that they call.

use std::fmt;

use rquickjs::{Coerced, Ctx, Error, Exception, Value as Js};

use crate::js::{edge, failure};

/// Why a script failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptError {
    /// Exception as text, such as `TypeError: not a function`.
    pub message: String,
    /// Stack of calls, one per line, such as `\tat f (file:///dir/script.js:12:11)`. Empty if the
    /// thrown value has no stack.
    pub stack: String,
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        for line in self.stack.lines() {
            write!(f, "\n{line}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ScriptError {}

impl ScriptError {
    /// Creates an error without a stack.
    pub fn new(message: impl Into<String>) -> ScriptError {
        ScriptError {
            message: message.into(),
            stack: String::new(),
        }
    }

    /// Describes an error of the engine, and consumes the thrown exception, if any.
    pub fn from_error(ctx: &Ctx<'_>, error: &Error) -> ScriptError {
        match error {
            Error::Exception => ScriptError::from_value(&ctx.catch()),
            other => ScriptError::new(other.to_string()),
        }
    }

    /// Describes a thrown value.
    pub fn from_value(value: &Js<'_>) -> ScriptError {
        let Some(object) = value.as_object() else {
            return ScriptError::new(text(value));
        };
        let is_error = value.is_error();
        let stack: Option<String> = object.get("stack").ok().filter(|_| is_error);
        let message = text(value);
        let mut stack = stack.map_or(String::new(), |stack| failure::in_sources(&stack));
        if stack.is_empty()
            && is_error
            && let Some(position) = failure::parsed_at(object)
        {
            stack = format!("\tat {position}\n");
        }
        // A getter of the script may have thrown.
        value.ctx().catch();
        ScriptError {
            message: with_hint(message),
            stack,
        }
    }

    /// Returns the first position in a file, as `file:///dir/script.js:12:11`.
    pub fn position(&self) -> Option<&str> {
        let line = self.stack.lines().find(|line| line.contains("://"))?;
        let place = line.rsplit(['(', ' ']).next()?;
        Some(place.trim_end_matches(')'))
    }
}

/// Global names of other environments, and where they are in k6.
const ELSEWHERE: [(&str, &str); 9] = [
    (
        "URL",
        "import it from https://jslib.k6.io/url/1.0.0/index.js",
    ),
    (
        "URLSearchParams",
        "import it from https://jslib.k6.io/url/1.0.0/index.js",
    ),
    (
        "FormData",
        "import it from https://jslib.k6.io/formdata/0.0.2/index.js",
    ),
    ("fetch", "use k6/http"),
    ("WebSocket", "import it from k6/websockets"),
    ("Blob", "import it from k6/websockets"),
    ("XMLHttpRequest", "use k6/http"),
    ("process", "use __ENV for environment variables"),
    ("Buffer", "use ArrayBuffer and k6/encoding"),
];

/// Adds a hint about where a name is, if k6 does not have it as a global.
fn with_hint(message: String) -> String {
    let name = message.strip_prefix("ReferenceError: ");
    let name = name.and_then(|rest| rest.strip_suffix(" is not defined"));
    let name = name.map(|name| name.trim_matches('\''));
    let hint = ELSEWHERE.iter().find(|(known, _)| Some(*known) == name);
    match hint {
        Some((_, hint)) => format!("{message}: {hint}"),
        None => message,
    }
}

fn text(value: &Js<'_>) -> String {
    if let Some(object) = value.as_object()
        && !value.is_error()
        && !object.is_function()
        && let Ok(Some(json)) = value.ctx().json_stringify(value.clone())
    {
        return json.to_string().unwrap_or_default();
    }
    value.get::<Coerced<String>>().map_or_else(
        |_| "an object that cannot be shown".to_owned(),
        |text| text.0,
    )
}

/// Throws a `GoError`, as k6's functions do.
pub fn throw(ctx: &Ctx<'_>, message: &str) -> Error {
    let error = Exception::from_message(ctx.clone(), message);
    match error.and_then(|error| error.as_object().set("name", "GoError").map(|()| error)) {
        Ok(error) => error.throw(),
        Err(error) => error,
    }
}

/// Throws the error that ends an interrupted iteration. Scripts cannot catch it.
pub fn throw_interrupted(ctx: &Ctx<'_>) -> Error {
    edge::throw_uncatchable(ctx, "the iteration was interrupted")
}
