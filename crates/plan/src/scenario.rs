//! Scenarios: weighted lists of steps, with all settings of a request.

use serde::Serialize;
use serde_json::Value;

use crate::{At, Extension, Raw, Volume, template::Template};
use query::filtrex::Expression;

/// A named, weighted list of steps.
#[derive(Debug, Clone, Serialize)]
pub struct Scenario {
    /// Name in the file. Reports use the index if there is none.
    pub name: Option<String>,
    /// Weight relative to the sum of all weights. Zero means that the scenario never runs.
    pub weight: u32,
    /// How often the scenario starts at 1x, if volumes define the load. They then define the
    /// weights too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volume: Option<Volume>,
    /// The steps in order.
    pub steps: Vec<Step>,
}

impl Scenario {
    /// Name for labels and tables. `index` is the scenario's position in the plan.
    #[must_use]
    pub fn render(&self, index: usize) -> String {
        self.name.clone().unwrap_or_else(|| index.to_string())
    }
}

/// One action of a virtual user.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Sends a request and waits for its response.
    Request(Box<Request>),
    /// Repeats steps.
    Loop(Loop),
    /// Runs steps in parallel.
    Parallel(Parallel),
    /// Pauses.
    Think(Think),
    /// Prints a line.
    Log(Template),
    /// Ends the iteration for this share of users, without failure.
    Exit(f64),
    /// Steps with a common condition or name.
    Block(Block),
    /// One of several branches, drawn by weight.
    Choose(Vec<Branch>),
}

/// Steps with a common condition or name.
#[derive(Debug, Clone, Serialize)]
pub struct Block {
    /// The condition or name.
    pub by: BlockKind,
    /// The steps in order.
    pub steps: Vec<Step>,
}

/// Kind of a block.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockKind {
    /// Skips the steps if this is false.
    If(Expression),
    /// A transaction. Its row in reports has this name.
    Group(String),
}

/// A branch of a choice.
#[derive(Debug, Clone, Serialize)]
pub struct Branch {
    /// Weight relative to the sum of all weights.
    pub weight: u32,
    /// The steps in order.
    pub steps: Vec<Step>,
}

/// A request step.
#[derive(Debug, Clone, Serialize)]
pub struct Request {
    /// Method in upper case.
    pub method: String,
    /// URL as written. If it starts with `/` after expansion, it is appended to the plan's target.
    pub url: Template,
    /// Label for counting: the path template with query, or the step's name.
    pub label: String,
    /// The URL template as text, for front ends with names of their own.
    pub url_text: Raw,
    /// Name of the step.
    pub name: Option<String>,
    /// Replaces the query of the URL, if set.
    pub query: Option<Vec<(Template, Template)>>,
    /// How values other than text are written in a query or form.
    #[serde(skip_serializing_if = "PairValues::is_native")]
    pub pair_values: PairValues,
    /// Names and values as sent. A header with an undefined value is omitted. `Host` is added if it
    /// is missing.
    pub headers: Vec<(String, Template)>,
    /// The body.
    pub body: RequestBody,
    /// Cookies to add to the jar for this URL.
    pub cookies: Vec<(String, Template)>,
    /// User and password of Basic authentication.
    pub basic_auth: Option<(Template, Template)>,
    /// Skips the step if this is false.
    pub condition: Option<Expression>,
    /// Percentage of cases in which the step runs. `None` means always.
    pub probability: Option<f64>,
    /// Whether redirects are followed.
    pub follow_redirects: bool,
    /// Maximum number of redirects. `None` means the plan's limit.
    pub max_redirects: Option<u32>,
    /// Whether a 301 or 302 keeps method and body (Artillery). Otherwise POST becomes GET
    /// (browsers, native plans).
    pub redirects_keep_method: bool,
    /// Values extracted from the response.
    pub captures: Vec<Capture>,
    /// Conditions on the response.
    pub checks: Vec<ResponseCheck>,
    /// Data for the front end's hook.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extension: Option<Extension>,
    /// Statuses of 400 or above that do not fail the request.
    pub expected_status: Vec<u16>,
    /// Name of the error with which the step always fails at run time, as in the original tool.
    /// Example: a body on GET in Artillery.
    pub fails_with: Option<String>,
    /// Position in the file.
    pub at: Option<At>,
}

impl Request {
    /// Creates a request without any options.
    #[must_use]
    pub fn new(method: &str, url: Template, url_text: &str) -> Request {
        Request {
            method: method.to_owned(),
            url,
            label: url_text.to_owned(),
            url_text: Raw::new(url_text),
            name: None,
            query: None,
            pair_values: PairValues::Native,
            headers: Vec::new(),
            body: RequestBody::None,
            cookies: Vec::new(),
            basic_auth: None,
            condition: None,
            probability: None,
            follow_redirects: true,
            max_redirects: None,
            redirects_keep_method: false,
            captures: Vec::new(),
            checks: Vec::new(),
            extension: None,
            expected_status: Vec::new(),
            fails_with: None,
            at: None,
        }
    }
}

/// How lists, mappings and null are written as values of a query or form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PairValues {
    /// A list repeats the name; mappings are JSON.
    Native,
    /// As Node.js does. A form has `String(value)`. A query repeats the name for a list; mappings,
    /// null and nested lists are empty values.
    NodeJs,
}

impl PairValues {
    fn is_native(&self) -> bool {
        *self == PairValues::Native
    }
}

/// Body of a request. The reader sets the content type as a header.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestBody {
    /// No body.
    None,
    /// A value, serialized as JSON. An undefined value sends no body.
    Json(Template),
    /// Text.
    Text(Template),
    /// `application/x-www-form-urlencoded` pairs.
    Form(Vec<(Template, Template)>),
    /// `multipart/form-data`. The engine sets the content type, because it contains the random
    /// boundary.
    Multipart(Vec<MultipartPart>),
}

/// A part of a multipart body.
#[derive(Debug, Clone, Serialize)]
pub struct MultipartPart {
    /// The field's name.
    pub name: String,
    /// The content.
    pub content: PartContent,
    /// Content type. `None` means that it is derived from the file's name.
    pub content_type: Option<Template>,
}

/// Content of a part of a multipart body.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PartContent {
    /// A value, as text.
    Text(Template),
    /// A file that is read before the run.
    File {
        /// The name to send, without folders.
        name: String,
        /// The file's bytes. They are not in the record.
        #[serde(skip)]
        bytes: std::sync::Arc<[u8]>,
    },
    /// A file whose name is a template. It is read for each request.
    Named {
        /// Folder for relative names.
        #[serde(skip)]
        folder: std::path::PathBuf,
        /// The file, with or without folders.
        path: Template,
    },
}

/// A value extracted from a response.
#[derive(Debug, Clone, Serialize)]
pub struct Capture {
    /// Where the value comes from.
    pub from: CaptureSource,
    /// Path of the variable (`user.id`). `None` for a match that stores nothing.
    pub store: Option<String>,
    /// Whether a failed capture (nothing found, or empty text) fails the iteration.
    pub strict: bool,
    /// Expected value. Its type must match too.
    pub equals: Option<Template>,
}

/// Where in a response a value comes from.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CaptureSource {
    /// A JSONPath in jsonpath-plus's dialect. The body is parsed regardless of its content type.
    Json {
        /// The path.
        path: Template,
        /// Whether one of several results is picked at random. Otherwise the list is stored.
        pick: bool,
    },
    /// A header. Case does not matter.
    Header(Template),
    /// An attribute of an HTML element found by a CSS selector.
    Selector {
        /// The selector.
        selector: Template,
        /// The attribute. `None` means all attributes, as a mapping.
        attribute: Option<Template>,
        /// Which of several elements to use.
        index: Index,
    },
    /// An XPath in XML.
    XPath {
        /// The expression.
        path: Template,
        /// Whether one of several nodes is picked at random. Otherwise the list is stored.
        pick: bool,
    },
    /// A JavaScript regular expression on the body's text.
    Regexp {
        /// The pattern, validated by the reader.
        pattern: String,
        /// JavaScript flags.
        flags: String,
        /// The group. 0 is the whole match.
        group: RegexGroup,
    },
}

/// Which of several elements.
#[derive(Debug, Clone, Copy, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Index {
    /// By number, from 0.
    At(usize),
    /// The last one.
    Last,
    /// A random one.
    Random,
}

/// A group of a regular expression.
#[derive(Debug, Clone, Serialize, PartialEq, Eq)]
#[serde(untagged)]
pub enum RegexGroup {
    /// By number.
    Index(usize),
    /// By name.
    Name(String),
}

/// A condition on a response. A failed check fails the request.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ResponseCheck {
    /// The status is one of these.
    Status(Vec<u16>),
    /// A header has this value.
    Header(String, Template),
    /// A JSONPath yields this value.
    JsonEquals(Template, Template),
    /// A JSONPath yields a value.
    JsonExists(Template),
    /// The body's text contains this.
    BodyContains(Template),
}

impl ResponseCheck {
    /// The name under which failures are counted.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            ResponseCheck::Status(_) => "status",
            ResponseCheck::Header(..) => "header",
            ResponseCheck::JsonEquals(..) | ResponseCheck::JsonExists(_) => "json",
            ResponseCheck::BodyContains(_) => "body",
        }
    }
}

/// Steps that repeat.
#[derive(Debug, Clone, Serialize)]
pub struct Loop {
    /// The steps in order.
    pub steps: Vec<Step>,
    /// Number of rounds.
    pub count: LoopCount,
    /// The list to iterate over, if any.
    pub over: Option<Over>,
    /// Variable for the index.
    pub index_as: String,
    /// Variable for the element.
    pub element_as: String,
}

/// Steps that run in parallel, as far as connections allow. Later steps can use the variables that
/// they set.
#[derive(Debug, Clone, Serialize)]
pub struct Parallel {
    /// The parallel steps.
    pub steps: Vec<Step>,
    /// Maximum number of steps at a time.
    pub limit: usize,
}

/// Number of rounds of a loop.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LoopCount {
    /// Known before the run.
    Fixed(LoopRange),
    /// Read by [`LoopRange::from_value`] when the loop starts.
    Templated(Template),
}

/// Indices of a loop: `start..end`, or infinite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LoopRange {
    /// First index.
    pub start: i64,
    /// The index after the last one. `None` means infinite.
    pub end: Option<i64>,
}

impl LoopRange {
    /// Interprets `count` as Artillery does: a number, a numeric text, or a range `a-b`. A missing
    /// value, 0 and -1 are infinite. `"0"`, other negative numbers and anything else run no rounds.
    #[must_use]
    pub fn from_value(value: Option<&Value>) -> LoopRange {
        const NEVER: LoopRange = LoopRange {
            start: 0,
            end: Some(0),
        };
        const FOREVER: LoopRange = LoopRange {
            start: 0,
            end: None,
        };
        let times = |n: f64| {
            if n == -1.0 {
                FOREVER
            } else {
                LoopRange {
                    start: 0,
                    end: Some(n.trunc().max(0.0) as i64),
                }
            }
        };
        match value {
            None => NEVER,
            Some(Value::Number(n)) => match n.as_f64() {
                Some(0.0) => FOREVER,
                Some(n) => times(n),
                None => NEVER,
            },
            Some(Value::String(text)) => {
                let text = text.trim();
                if let Some((a, b)) = text.split_once('-')
                    && let (Ok(start), Ok(end)) = (a.trim().parse(), b.trim().parse())
                {
                    return LoopRange {
                        start,
                        end: Some(end),
                    };
                }
                text.parse().map_or(NEVER, times)
            }
            Some(_) => NEVER,
        }
    }
}

/// The list that a loop iterates over.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Over {
    /// A literal list.
    List(Vec<Template>),
    /// Path of a variable that contains a list. Any other value skips the loop.
    Variable(String),
}

/// A pause.
#[derive(Debug, Clone, Serialize)]
pub struct Think {
    /// Duration.
    pub time: ThinkTime,
    /// Random variation.
    pub jitter: Option<Jitter>,
}

/// Duration of a pause.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ThinkTime {
    /// Known before the run.
    Fixed(u64),
    /// Evaluated at run time. A number is in seconds; text uses Artillery's duration grammar.
    Templated(Template),
}

/// Random variation of a think time: uniform within ± this value, but never below zero.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Jitter {
    /// A share of the time, 0.2 for 20 %.
    Share(f64),
    /// Nanoseconds.
    Absolute(u64),
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn loop_counts_follow_artillery() {
        let range = |start, end| LoopRange { start, end };
        let of = |value: Value| LoopRange::from_value(Some(&value));
        assert_eq!(of(json!(10)), range(0, Some(10)));
        assert_eq!(of(json!("10")), range(0, Some(10)));
        assert_eq!(of(json!("3-7")), range(3, Some(7)));
        assert_eq!(of(json!(0)), range(0, None));
        assert_eq!(of(json!(-1)), range(0, None));
        assert_eq!(of(json!("0")), range(0, Some(0)));
        assert_eq!(of(json!(-5)), range(0, Some(0)));
        assert_eq!(of(json!("many")), range(0, Some(0)));
        assert_eq!(LoopRange::from_value(None), range(0, Some(0)));
    }
}
