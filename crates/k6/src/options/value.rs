//! Types of option values: how to read each type from JSON and text, and how to write it as JSON.

use serde_json::Value;

use crate::{duration::DurationNs, text::go_quote};

/// The type of an option's value.
pub trait OptionValue: Sized {
    /// Reads a value from a script or a configuration file. `None` means that the value counts as
    /// unset.
    ///
    /// # Errors
    ///
    /// Returns a description of the problem if the value is invalid.
    fn from_json(value: &Value) -> Result<Option<Self>, String>;

    /// Reads the value of a flag or an environment variable.
    ///
    /// # Errors
    ///
    /// Returns a description of the problem if the value is invalid.
    fn from_text(text: &str) -> Result<Self, String>;

    /// Returns the value in the form that scripts use.
    fn to_json(&self) -> Value;
}

/// Returns the error for a value of another type.
pub(crate) fn wrong_type(value: &Value, expected: &str) -> String {
    let actual = match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    format!("expected {expected}, but got {actual}")
}

/// Splits a list at commas. Trims the parts, and omits empty ones.
pub(super) fn split_list(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split(',').map(str::trim);
    parts.filter(|part| !part.is_empty())
}

impl OptionValue for bool {
    fn from_json(value: &Value) -> Result<Option<bool>, String> {
        let flag = value.as_bool();
        flag.map(Some).ok_or_else(|| wrong_type(value, "a boolean"))
    }

    fn from_text(text: &str) -> Result<bool, String> {
        match text {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
            _ => Err(format!("parsing {}: invalid syntax", go_quote(text))),
        }
    }

    fn to_json(&self) -> Value {
        Value::Bool(*self)
    }
}

impl OptionValue for i64 {
    fn from_json(value: &Value) -> Result<Option<i64>, String> {
        match value {
            Value::String(text) if text.is_empty() => Ok(None),
            Value::String(text) => i64::from_text(text).map(Some),
            Value::Number(number) => whole_number(number)
                .map(Some)
                .ok_or_else(|| format!("{number} is not a valid integer")),
            _ => Err(wrong_type(value, "an integer")),
        }
    }

    fn from_text(text: &str) -> Result<i64, String> {
        text.parse()
            .map_err(|_| format!("parsing {}: invalid syntax", go_quote(text)))
    }

    fn to_json(&self) -> Value {
        Value::from(*self)
    }
}

/// Converts a whole number, including numbers such as `10.0`, which the engine of a script may
/// return.
fn whole_number(number: &serde_json::Number) -> Option<i64> {
    number.as_i64().or_else(|| {
        let float = number.as_f64()?;
        let is_whole = float.fract() == 0.0 && float.abs() < 9e15;
        is_whole.then_some(float as i64)
    })
}

impl OptionValue for DurationNs {
    fn from_json(value: &Value) -> Result<Option<DurationNs>, String> {
        if value.as_str() == Some("") {
            return Ok(None);
        }
        let duration = DurationNs::parse_json(value);
        duration.map(Some).map_err(|error| error.to_string())
    }

    fn from_text(text: &str) -> Result<DurationNs, String> {
        DurationNs::parse(text).map_err(|error| error.to_string())
    }

    fn to_json(&self) -> Value {
        Value::String(self.to_string())
    }
}

impl OptionValue for String {
    fn from_json(value: &Value) -> Result<Option<String>, String> {
        let text = value.as_str().map(|text| Some(text.to_owned()));
        text.ok_or_else(|| wrong_type(value, "a string"))
    }

    fn from_text(text: &str) -> Result<String, String> {
        Ok(text.to_owned())
    }

    fn to_json(&self) -> Value {
        Value::String(self.clone())
    }
}

impl OptionValue for Vec<String> {
    fn from_json(value: &Value) -> Result<Option<Vec<String>>, String> {
        let list = value
            .as_array()
            .ok_or_else(|| wrong_type(value, "a list of strings"))?;
        let texts = list.iter().map(|item| {
            let text = item.as_str().map(str::to_owned);
            text.ok_or_else(|| wrong_type(item, "a string"))
        });
        texts.collect::<Result<_, _>>().map(Some)
    }

    fn from_text(text: &str) -> Result<Vec<String>, String> {
        Ok(split_list(text).map(str::to_owned).collect())
    }

    fn to_json(&self) -> Value {
        self.iter().map(String::as_str).collect()
    }
}

/// A value that only the cloud or an extension uses. It is kept unchanged.
impl OptionValue for Value {
    fn from_json(value: &Value) -> Result<Option<Value>, String> {
        Ok(Some(value.clone()))
    }

    fn from_text(text: &str) -> Result<Value, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    fn to_json(&self) -> Value {
        self.clone()
    }
}

/// Names with texts, in the given order. A later text for a name replaces the earlier one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextMap(pub Vec<(String, String)>);

impl TextMap {
    /// Sets the text for a name.
    pub fn set(&mut self, name: &str, text: &str) {
        match self.0.iter_mut().find(|(own, _)| own == name) {
            Some((_, own)) => text.clone_into(own),
            None => self.0.push((name.to_owned(), text.to_owned())),
        }
    }

    /// Returns the text for a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(own, _)| own == name);
        found.map(|(_, text)| text.as_str())
    }
}

impl OptionValue for TextMap {
    fn from_json(value: &Value) -> Result<Option<TextMap>, String> {
        let object = value
            .as_object()
            .ok_or_else(|| wrong_type(value, "an object"))?;
        let mut map = TextMap::default();
        for (name, item) in object {
            let text = item.as_str().ok_or_else(|| wrong_type(item, "a string"))?;
            map.set(name, text);
        }
        Ok(Some(map))
    }

    fn from_text(text: &str) -> Result<TextMap, String> {
        let mut map = TextMap::default();
        for part in split_list(text) {
            let (name, value) = part
                .split_once(':')
                .ok_or_else(|| format!("{} is not a pair `name:value`", go_quote(part)))?;
            map.set(name, value);
        }
        Ok(map)
    }

    fn to_json(&self) -> Value {
        let pairs = self.0.iter();
        Value::Object(
            pairs
                .map(|(name, text)| (name.clone(), Value::String(text.clone())))
                .collect(),
        )
    }
}

/// A stage of a ramp, as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stage {
    /// Time until the target is reached. `None` means unset, which is an error in a scenario.
    pub duration: Option<DurationNs>,
    /// Number of virtual users, or of iterations per time unit, at the end of the stage.
    pub target: Option<i64>,
}

impl Stage {
    /// Parses `10s:5`, `10s` or `:5`.
    ///
    /// # Errors
    ///
    /// Fails if the duration or the target is invalid.
    pub fn parse(text: &str) -> Result<Stage, String> {
        let (duration, target) = match text.split_once(':') {
            Some((duration, target)) => (duration.trim(), target.trim()),
            None => (text.trim(), ""),
        };
        let mut stage = Stage::default();
        if !duration.is_empty() {
            let parsed = DurationNs::parse_go(duration).map_err(|error| error.to_string())?;
            stage.duration = Some(parsed);
        }
        if !target.is_empty() {
            stage.target = Some(i64::from_text(target)?);
        }
        Ok(stage)
    }
}

impl OptionValue for Vec<Stage> {
    fn from_json(value: &Value) -> Result<Option<Vec<Stage>>, String> {
        let list = value
            .as_array()
            .ok_or_else(|| wrong_type(value, "a list of stages"))?;
        let stages = list.iter().map(|item| {
            let object = item
                .as_object()
                .ok_or_else(|| wrong_type(item, "an object with `duration` and `target`"))?;
            Ok(Stage {
                duration: read_member(object, "duration")?,
                target: read_member(object, "target")?,
            })
        });
        stages.collect::<Result<_, String>>().map(Some)
    }

    fn from_text(text: &str) -> Result<Vec<Stage>, String> {
        split_list(text).map(Stage::parse).collect()
    }

    fn to_json(&self) -> Value {
        let stages = self.iter().map(|stage| {
            serde_json::json!({
                "duration": stage.duration.map(|duration| duration.to_string()),
                "target": stage.target,
            })
        });
        stages.collect()
    }
}

/// Reads a member of an object. `None` if the member is unset or null.
pub(crate) fn read_member<T: OptionValue>(
    object: &serde_json::Map<String, Value>,
    name: &str,
) -> Result<Option<T>, String> {
    match object.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => T::from_json(value),
    }
}

const SYSTEM_TAGS: [&str; 18] = [
    "proto",
    "subproto",
    "status",
    "method",
    "url",
    "name",
    "group",
    "check",
    "error",
    "error_code",
    "tls_version",
    "scenario",
    "service",
    "expected_response",
    "iter",
    "vu",
    "ocsp_status",
    "ip",
];

/// The system tags that samples have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemTags(Vec<&'static str>);

impl Default for SystemTags {
    /// Returns all system tags except `iter`, `vu`, `ocsp_status` and `ip`.
    fn default() -> SystemTags {
        SystemTags(SYSTEM_TAGS[..14].to_vec())
    }
}

impl SystemTags {
    /// Returns whether samples have this tag.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.0.contains(&name)
    }

    /// Returns the names of the tags.
    #[must_use]
    pub fn names(&self) -> &[&'static str] {
        &self.0
    }

    fn from_names<'a>(names: impl Iterator<Item = &'a str>) -> Result<SystemTags, String> {
        let mut tags = Vec::new();
        for name in names {
            let known = SYSTEM_TAGS.iter().find(|known| **known == name);
            let known = known.ok_or_else(|| format!("{} is not a system tag", go_quote(name)))?;
            if !tags.contains(known) {
                tags.push(*known);
            }
        }
        Ok(SystemTags(tags))
    }
}

impl OptionValue for SystemTags {
    fn from_json(value: &Value) -> Result<Option<SystemTags>, String> {
        let Some(names) = Vec::<String>::from_json(value)? else {
            return Ok(None);
        };
        SystemTags::from_names(names.iter().map(String::as_str)).map(Some)
    }

    fn from_text(text: &str) -> Result<SystemTags, String> {
        SystemTags::from_names(split_list(text))
    }

    fn to_json(&self) -> Value {
        self.0.iter().copied().collect()
    }
}
