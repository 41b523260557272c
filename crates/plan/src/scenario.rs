//! Scenarios: weighted lists of steps, and everything a request step can say. Plain data; `engine` compiles it.

use serde::Serialize;
use serde_json::Value;

use crate::{At, Extension, Volume, template::Template};
use query::filtrex::Expression;

/// A named, weighted list of steps.
#[derive(Debug, Clone, Serialize)]
pub struct Scenario {
    /// As the file names it; renderings fall back to the index.
    pub name: Option<String>,
    /// The share of arrivals, in proportion to the sum of all weights. Zero: never.
    pub weight: u32,
    /// How often it is begun at 1x, where that is how the plan says its load: the weights then follow from the volumes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volume: Option<Volume>,
    /// In order.
    pub steps: Vec<Step>,
}

impl Scenario {
    /// What it is called in labels and tables; `index` is its place in the plan.
    #[must_use]
    pub fn shown(&self, index: usize) -> String {
        self.name.clone().unwrap_or_else(|| index.to_string())
    }
}

/// One action of a virtual user.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Send a request and wait for its answer.
    Request(Box<Request>),
    /// Repeat steps.
    Loop(Loop),
    /// Carry out steps at the same time.
    Parallel(Parallel),
    /// Pause.
    Think(Think),
    /// Print a line.
    Log(Template),
    /// This share of those that come here goes no further: their iteration is over, and nothing has failed.
    Leave(f64),
    /// Steps that belong together.
    Block(Block),
    /// One of several ways to go on, drawn by their weights.
    Choose(Vec<Branch>),
}

/// Steps that belong together, in order.
#[derive(Debug, Clone, Serialize)]
pub struct Block {
    /// By what.
    pub by: BlockKind,
    /// In order.
    pub steps: Vec<Step>,
}

/// What makes steps belong together.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockKind {
    /// Where this is not true, they are left out.
    If(Expression),
    /// They are one thing for whoever does them, and have a row of their own by this name.
    Group(String),
}

/// A way to go on.
#[derive(Debug, Clone, Serialize)]
pub struct Branch {
    /// Its share of those that come here, in proportion to the sum of all weights.
    pub weight: u32,
    /// In order.
    pub steps: Vec<Step>,
}

/// A request step.
#[derive(Debug, Clone, Serialize)]
pub struct Request {
    /// Upper case.
    pub method: String,
    /// As written; one that begins with `/` after expansion gets the plan's target in front.
    pub url: Template,
    /// The name under which the record counts it: the untemplated path with its query, or the step's own name.
    pub label: String,
    /// The untemplated URL as the file has it, for renderings that build names of their own from it.
    pub url_text: String,
    /// The step's own name, where it has one.
    pub name: Option<String>,
    /// Replaces the URL's query where given.
    pub query: Option<Vec<(Template, Template)>>,
    /// How values that are not text are written into the query and a form.
    #[serde(skip_serializing_if = "PairValues::is_native")]
    pub pair_values: PairValues,
    /// Names as they go onto the wire. An undefined value leaves the header out. `Host` is added unless it is here.
    pub headers: Vec<(String, Template)>,
    /// What is sent.
    pub body: Body,
    /// Cookies set by the step: they go into the jar for this URL.
    pub cookies: Vec<(String, Template)>,
    /// User and password of Basic authentication.
    pub basic_auth: Option<(Template, Template)>,
    /// Where this is not true, the step is left out.
    pub condition: Option<Expression>,
    /// In so many of a hundred cases the step is carried out; none: always.
    pub probability: Option<f64>,
    /// Whether redirects are followed.
    pub follow_redirects: bool,
    /// More redirects than this are an error; none: the plan's limit.
    pub max_redirects: Option<u32>,
    /// Whether 301 and 302 keep method and body (Artillery) or turn a POST into a GET (browsers; the native rule).
    pub redirects_keep_method: bool,
    /// What is taken out of the answer.
    pub captures: Vec<Capture>,
    /// What the answer must be.
    pub checks: Vec<Check>,
    /// What its front door keeps with it, for the hook that looks at the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extension: Option<Extension>,
    /// Statuses that do not fail the request although they are 400 or above; empty: none.
    pub expected_status: Vec<u16>,
    /// A fault of the step that must fail it when its turn comes rather than before the run, because the original tool
    /// does so: the error's name. (Artillery's body on GET.)
    pub fails_with: Option<String>,
    /// Where the step stands.
    pub at: Option<At>,
}

impl Request {
    /// A plain request without anything.
    #[must_use]
    pub fn new(method: &str, url: Template, url_text: &str) -> Request {
        Request {
            method: method.to_owned(),
            url,
            label: url_text.to_owned(),
            url_text: url_text.to_owned(),
            name: None,
            query: None,
            pair_values: PairValues::Native,
            headers: Vec::new(),
            body: Body::None,
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

/// How lists, mappings and null are written as values of a query or a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PairValues {
    /// A list repeats the name; mappings are JSON.
    Native,
    /// As Node.js writes them. A form has `String(value)`. A query repeats the name for a list, and leaves the value
    /// of mappings, null and nested lists empty.
    NodeJs,
}

impl PairValues {
    fn is_native(&self) -> bool {
        *self == PairValues::Native
    }
}

/// What a request sends. Content types are set by the reader as headers.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    /// Nothing.
    None,
    /// A value, serialised as JSON; an undefined value sends nothing.
    Json(Template),
    /// Text.
    Text(Template),
    /// `application/x-www-form-urlencoded` pairs.
    Form(Vec<(Template, Template)>),
    /// `multipart/form-data`; the engine sets the content type, because the boundary is another one each time.
    Multipart(Vec<Part>),
}

/// A part of a multipart body.
#[derive(Debug, Clone, Serialize)]
pub struct Part {
    /// The field's name.
    pub name: String,
    /// What is in it.
    pub content: PartContent,
    /// Its content type, where it is said; a file's follows from its name else.
    pub content_type: Option<Template>,
}

/// What a part of a multipart body holds.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PartContent {
    /// A value as text.
    Text(Template),
    /// A file, read before the run.
    File {
        /// The name that is sent, without folders.
        name: String,
        /// Its bytes; not kept in the record.
        #[serde(skip)]
        bytes: std::sync::Arc<[u8]>,
    },
    /// A file that values of the run name, read each time.
    Named {
        /// To which the name is relative.
        #[serde(skip)]
        folder: std::path::PathBuf,
        /// The file, with or without folders.
        path: Template,
    },
}

/// One thing taken out of an answer.
#[derive(Debug, Clone, Serialize)]
pub struct Capture {
    /// From where.
    pub from: Source,
    /// The variable, as a path (`user.id`). None for a mere match.
    pub store: Option<String>,
    /// A failed capture (nothing found, or empty text) fails the iteration.
    pub strict: bool,
    /// What the value must equal, types included.
    pub equals: Option<Template>,
}

/// Where in an answer a value is found.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A JSONPath in jsonpath-plus's dialect, perhaps templated; the body is parsed whatever its content type says.
    Json {
        /// The path.
        path: Template,
        /// Several results: one at random (true), or the raw list (false).
        pick: bool,
    },
    /// A header, any case.
    Header(Template),
    /// An attribute of an element of HTML, found by a CSS selector.
    Selector {
        /// The selector, perhaps templated.
        selector: Template,
        /// The attribute; none: all of them, as a mapping.
        attribute: Option<Template>,
        /// Which of several elements.
        index: Index,
    },
    /// An XPath in XML.
    XPath {
        /// The expression, perhaps templated.
        path: Template,
        /// Several nodes: one at random (true), or the raw list (false).
        pick: bool,
    },
    /// A JavaScript regular expression on the body's text.
    Regexp {
        /// The pattern; checked by the reader.
        pattern: String,
        /// JavaScript's flags.
        flags: String,
        /// Which group, 0 for the whole match.
        group: Group,
    },
}

/// Which of several elements is meant.
#[derive(Debug, Clone, Copy, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Index {
    /// By number, from 0.
    At(usize),
    /// The last one.
    Last,
    /// Any.
    Random,
}

/// A group of a regular expression.
#[derive(Debug, Clone, Serialize, PartialEq, Eq)]
#[serde(untagged)]
pub enum Group {
    /// By number.
    Index(usize),
    /// By name.
    Name(String),
}

/// One thing that an answer must be; a failed check fails the request.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// The status is one of these.
    Status(Vec<u16>),
    /// A header has this value.
    Header(String, Template),
    /// A JSONPath finds this value.
    JsonEquals(Template, Template),
    /// A JSONPath finds something.
    JsonExists(Template),
    /// The body's text holds this.
    BodyContains(Template),
}

impl Check {
    /// The word under which failures are counted.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Check::Status(_) => "status",
            Check::Header(..) => "header",
            Check::JsonEquals(..) | Check::JsonExists(_) => "json",
            Check::BodyContains(_) => "body",
        }
    }
}

/// Steps that repeat.
#[derive(Debug, Clone, Serialize)]
pub struct Loop {
    /// In order.
    pub steps: Vec<Step>,
    /// How often.
    pub count: LoopCount,
    /// Over what.
    pub over: Option<Over>,
    /// The variable that holds the index.
    pub index_as: String,
    /// The variable that holds the element.
    pub element_as: String,
}

/// Steps that are carried out at the same time, as far as connections allow. What one sets the others see afterwards.
#[derive(Debug, Clone, Serialize)]
pub struct Parallel {
    /// Each on its own.
    pub steps: Vec<Step>,
    /// At most so many at a time.
    pub limit: usize,
}

/// How often a loop runs.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LoopCount {
    /// Known before the run.
    Fixed(LoopRange),
    /// Read by [`LoopRange::of`] when the loop is entered.
    Templated(Template),
}

/// The indices a loop runs through: `start..end`, without end for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LoopRange {
    /// First index.
    pub start: i64,
    /// One past the last; none: for ever.
    pub end: Option<i64>,
}

impl LoopRange {
    /// Artillery's reading of `count`: a number, a numeric text, or a range `a-b`. Missing, 0 and -1 are for ever;
    /// `"0"`, other negatives and anything else run no time at all.
    #[must_use]
    pub fn of(value: Option<&Value>) -> LoopRange {
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

/// What a loop runs over.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Over {
    /// A literal list.
    List(Vec<Template>),
    /// The path of a variable that holds a list; anything else skips the loop.
    Variable(String),
}

/// A pause.
#[derive(Debug, Clone, Serialize)]
pub struct Think {
    /// How long.
    pub time: ThinkTime,
    /// Spread around it.
    pub jitter: Option<Jitter>,
}

/// How long a pause is.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ThinkTime {
    /// Known before the run.
    Fixed(u64),
    /// Read when the step is reached: a number is seconds, text is Artillery's duration grammar.
    Templated(Template),
}

/// The spread around a think time; the result is uniform in ± the spread and never below zero.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Jitter {
    /// A share of the time, 0.2 for 20 %.
    Share(f64),
    /// Absolute nanoseconds.
    Absolute(u64),
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn loop_counts_as_artillery_reads_them() {
        let range = |start, end| LoopRange { start, end };
        let of = |value: Value| LoopRange::of(Some(&value));
        assert_eq!(of(json!(10)), range(0, Some(10)));
        assert_eq!(of(json!("10")), range(0, Some(10)));
        assert_eq!(of(json!("3-7")), range(3, Some(7)));
        assert_eq!(of(json!(0)), range(0, None));
        assert_eq!(of(json!(-1)), range(0, None));
        assert_eq!(of(json!("0")), range(0, Some(0)));
        assert_eq!(of(json!(-5)), range(0, Some(0)));
        assert_eq!(of(json!("many")), range(0, Some(0)));
        assert_eq!(LoopRange::of(None), range(0, Some(0)));
    }
}
