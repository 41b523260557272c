//! Describes exceptions of a script on one line: the thrown value and the position.

use rquickjs::{Coerced, Ctx, Error, Object, Value as Js};

use super::modules::{OPENING, WRAPPED};

/// Error codes for modules that cannot be loaded.
const MISSING_MODULE: [&str; 3] = [
    "MODULE_NOT_FOUND",
    "ERR_UNKNOWN_BUILTIN_MODULE",
    "ERR_DLOPEN_FAILED",
];

/// A thrown value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thrown {
    /// Name under which the error counts: its `code`, or otherwise its message. `None` if the
    /// thrown value has neither.
    pub name: Option<String>,
    /// Message with the type of the error.
    pub message: String,
    /// The first position outside of Loadline's own code, as `file:line:column`.
    pub at: Option<String>,
}

impl std::fmt::Display for Thrown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.at {
            Some(at) => write!(f, "{at}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl Thrown {
    /// Returns the name under which the error counts. Artillery counts a thrown text as
    /// `undefined`.
    pub fn counted_as(&self, is_artillery: bool) -> &str {
        match &self.name {
            Some(name) => name,
            None if is_artillery => "undefined",
            None => &self.message,
        }
    }

    /// Returns whether a module could not be found, or is one that scripts cannot load.
    pub fn is_missing_module(&self) -> bool {
        let code = self.name.as_deref();
        code.is_some_and(|code| MISSING_MODULE.contains(&code))
    }

    /// Describes an error of the engine, and consumes the thrown exception, if any.
    pub fn new(ctx: &Ctx<'_>, error: &Error) -> Thrown {
        match error {
            Error::Exception => Thrown::from_value(&ctx.catch()),
            other => Thrown {
                name: Some(other.to_string()),
                message: other.to_string(),
                at: None,
            },
        }
    }

    /// Describes a thrown value.
    pub fn from_value(value: &Js<'_>) -> Thrown {
        let Some(object) = value.as_object() else {
            return Thrown {
                name: None,
                message: text(value),
                at: None,
            };
        };
        // A getter may throw again, which must not hide the first error.
        let property = |name: &str| -> Option<String> {
            let value: Js<'_> = object.get(name).ok()?;
            let is_shown = !value.is_undefined()
                && !value.is_null()
                && value
                    .as_string()
                    .is_none_or(|text| text.to_string().is_ok_and(|text| !text.is_empty()));
            is_shown.then(|| text(&value))
        };
        let message = property("message").unwrap_or_else(|| "undefined".to_owned());
        let kind = property("name").filter(|_| value.is_error());
        Thrown {
            name: property("code").or_else(|| Some(message.clone())),
            message: match kind {
                Some(kind) => format!("{kind}: {message}"),
                None => message,
            },
            at: property("stack")
                .and_then(|stack| position(&stack))
                .or_else(|| parsed_at(object)),
        }
    }
}

fn text(value: &Js<'_>) -> String {
    value.get::<Coerced<String>>().map_or_else(
        |_| "an object that cannot be shown".to_owned(),
        |text| text.0,
    )
}

/// Returns the position of a syntax error, which has no stack frame.
pub fn parsed_at(object: &Object<'_>) -> Option<String> {
    let file: String = object.get("fileName").ok()?;
    let line: i32 = object.get("lineNumber").ok()?;
    let column: i32 = object.get("columnNumber").ok()?;
    Some(in_source(&format!("{file}:{line}:{column}")))
}

/// Returns the first position in a stack that is in a file.
pub fn position(stack: &str) -> Option<String> {
    let frame = stack
        .lines()
        .map(str::trim)
        .find(|line| line.contains('/'))?;
    let place = match frame.rfind('(') {
        Some(open) => &frame[open + 1..],
        None => frame.strip_prefix("at ")?,
    };
    Some(in_source(place.trim_end_matches(')')))
}

/// Returns a stack with positions in the sources. Each line is indented by a tab.
pub fn in_sources(stack: &str) -> String {
    let mut lines = String::new();
    for line in stack.lines().map(str::trim) {
        let (call, place) = match line
            .strip_suffix(')')
            .and_then(|line| line.rsplit_once('('))
        {
            Some((call, place)) => (format!("{call}("), place),
            None => match line.strip_prefix("at ") {
                Some(place) => ("at ".to_owned(), place),
                None => continue,
            },
        };
        let end = if call.ends_with('(') { ")" } else { "" };
        lines.push_str(&format!("\t{call}{}{end}\n", in_source(place)));
    }
    lines
}

/// Returns a position in the source of a module, which may be wrapped in a function.
fn in_source(place: &str) -> String {
    let Some(place) = place.strip_prefix(WRAPPED) else {
        return place.to_owned();
    };
    let mut parts = place.rsplitn(3, ':');
    if let (Some(column), Some("1"), Some(file)) = (parts.next(), parts.next(), parts.next())
        && let Ok(column) = column.parse::<usize>()
    {
        return format!("{file}:1:{}", column.saturating_sub(OPENING.len()).max(1));
    }
    place.to_owned()
}

#[cfg(test)]
mod tests {
    use super::position;

    #[test]
    fn stack_has_positions_in_sources() {
        let stack = "    at call (native)\n    at cjs:file:///t/x.js:3:9\n";
        assert_eq!(
            super::in_sources(stack),
            "\tat call (native)\n\tat file:///t/x.js:3:9\n"
        );
    }

    #[test]
    fn position_is_that_of_the_first_file() {
        let stack = "    at call (native)\n    at sign (/t/helpers.js:3:9)\n    at <anonymous> (/t/x.js:1:1)\n";
        assert_eq!(position(stack).as_deref(), Some("/t/helpers.js:3:9"));
        assert_eq!(
            position("    at /t/a.mjs:2:1\n").as_deref(),
            Some("/t/a.mjs:2:1")
        );
        assert_eq!(position("    at call (native)\n"), None);
        let wrapped = "    at f (cjs:/t/a.js:2:5)\n";
        assert_eq!(position(wrapped).as_deref(), Some("/t/a.js:2:5"));
        let first = format!("    at cjs:/t/a.js:1:{}\n", super::OPENING.len() + 7);
        assert_eq!(position(&first).as_deref(), Some("/t/a.js:1:7"));
    }
}
