//! Scenarios: weighted lists of steps, with all settings of a request.

use serde::Serialize;

use crate::{
    At, EventStream, Extension, Raw, Volume,
    dialect::{BodyRule, DeclaredError},
    socketio::{SocketIoConnect, SocketIoStep},
    template::Template,
    websocket::{WebSocketConnect, WebSocketStep},
};
use query::filtrex::Filtrex;

mod flow;

pub use flow::{Jitter, Loop, LoopCount, LoopRange, Over, Parallel, Think, ThinkTime};

/// A named, weighted list of steps.
#[derive(Debug, Clone, Serialize)]
pub struct Scenario {
    /// Name in the file. Reports use the scenario's index if it has no name.
    pub name: Option<String>,
    /// Weight relative to the sum of all weights. A scenario with weight zero never runs.
    pub weight: u32,
    /// Number of starts at 1x, if volumes define the load. The weights then follow from the
    /// volumes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volume: Option<Volume>,
    /// The steps in order.
    pub steps: Vec<Step>,
    /// Functions to call when a request has no usable response.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub on_error: Vec<Call>,
}

impl Scenario {
    /// Returns the name for labels and tables. `index` is the scenario's position in the plan.
    #[must_use]
    pub fn render(&self, index: usize) -> String {
        self.name.clone().unwrap_or_else(|| index.to_string())
    }

    /// Returns all steps including nested steps, in the order of the file.
    pub fn all_steps(&self) -> impl Iterator<Item = &Step> {
        let mut waiting: Vec<&Step> = self.steps.iter().rev().collect();
        std::iter::from_fn(move || {
            let step = waiting.pop()?;
            let first = waiting.len();
            waiting.extend(step.children());
            waiting[first..].reverse();
            Some(step)
        })
    }

    /// Returns all requests, in the order of the file.
    pub fn requests(&self) -> impl Iterator<Item = &Request> {
        self.all_steps().filter_map(|step| match step {
            Step::Request(request) => Some(request.as_ref()),
            _ => None,
        })
    }

    /// Calls `change` on all requests, in the order of the file.
    pub fn change_requests(&mut self, mut change: impl FnMut(&mut Request)) {
        let mut waiting: Vec<&mut Step> = self.steps.iter_mut().rev().collect();
        while let Some(step) = waiting.pop() {
            if let Step::Request(request) = step {
                change(request);
                continue;
            }
            let first = waiting.len();
            waiting.extend(step.children_mut());
            waiting[first..].reverse();
        }
    }
}

/// An action of a virtual user.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Sends a request and waits for its response.
    Request(Box<Request>),
    /// Sends or awaits messages on a WebSocket connection.
    WebSocket(Box<WebSocketStep>),
    /// Emits or awaits events in a Socket.IO session.
    SocketIo(Box<SocketIoStep>),
    /// Repeats steps.
    Loop(Loop),
    /// Runs steps in parallel.
    Parallel(Parallel),
    /// Pauses.
    Think(Think),
    /// Prints a line on the terminal.
    Log(Template),
    /// Ends the iteration without a failure, for this share of the users.
    Exit(f64),
    /// A group of steps with a common condition or name.
    Block(Block),
    /// Runs one of several branches, chosen at random by weight.
    Choose(Vec<Branch>),
    /// Calls a function of the plan's script.
    Call(Call),
}

/// A call of a function in the plan's script.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Call {
    /// Name of the exported function.
    pub function: String,
    /// Position in the file.
    pub at: Option<At>,
}

impl Step {
    /// Returns the direct child steps, in the order of the file.
    pub fn children(&self) -> impl Iterator<Item = &Step> {
        let (steps, branches): (&[Step], &[Branch]) = match self {
            Step::Loop(inner) => (&inner.steps, &[]),
            Step::Parallel(inner) => (&inner.steps, &[]),
            Step::Block(inner) => (&inner.steps, &[]),
            Step::Choose(branches) => (&[], branches),
            Step::Request(_)
            | Step::WebSocket(_)
            | Step::SocketIo(_)
            | Step::Think(_)
            | Step::Log(_)
            | Step::Exit(_)
            | Step::Call(_) => (&[], &[]),
        };
        let of_branches = branches.iter().flat_map(|branch| &branch.steps);
        steps.iter().chain(of_branches)
    }

    /// Mutable version of [`Step::children`].
    pub fn children_mut(&mut self) -> impl Iterator<Item = &mut Step> {
        let (steps, branches): (&mut [Step], &mut [Branch]) = match self {
            Step::Loop(inner) => (&mut inner.steps, &mut []),
            Step::Parallel(inner) => (&mut inner.steps, &mut []),
            Step::Block(inner) => (&mut inner.steps, &mut []),
            Step::Choose(branches) => (&mut [], branches),
            Step::Request(_)
            | Step::WebSocket(_)
            | Step::SocketIo(_)
            | Step::Think(_)
            | Step::Log(_)
            | Step::Exit(_)
            | Step::Call(_) => (&mut [], &mut []),
        };
        let of_branches = branches.iter_mut().flat_map(|branch| &mut branch.steps);
        steps.iter_mut().chain(of_branches)
    }
}

/// A group of steps with a common condition or name.
#[derive(Debug, Clone, Serialize)]
pub struct Block {
    /// Condition or name of the block.
    pub by: BlockKind,
    /// The steps in order.
    pub steps: Vec<Step>,
}

/// Condition or name of a block.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockKind {
    /// Skips the steps if the expression is false.
    If(Filtrex),
    /// A transaction. Reports have a row with this name.
    Group(String),
}

/// A branch of a [`Step::Choose`].
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
    /// URL as written. If the expanded URL starts with `/`, the plan's target is prepended.
    pub url: Template,
    /// Name of the label: the path template with query, or the name of the step.
    pub label: String,
    /// URL template as text, from which front ends derive names.
    pub url_text: Raw,
    /// Name of the step.
    pub name: Option<String>,
    /// Query that replaces the query of the URL. `None` keeps the URL's own query.
    pub query: Option<Vec<(Template, Template)>>,
    /// How non-text values in a query or form are encoded.
    #[serde(skip_serializing_if = "PairValues::is_native")]
    pub pair_values: PairValues,
    /// Header names and values. Headers with undefined values are omitted, and a missing `Host` is
    /// added.
    pub headers: Vec<(String, Template)>,
    /// Body of the request.
    pub body: RequestBody,
    /// Cookies that the step adds to the jar for this URL.
    pub cookies: Vec<(String, Template)>,
    /// User and password for Basic authentication.
    pub basic_auth: Option<(Template, Template)>,
    /// Condition of the step. The step is skipped if the condition is false.
    pub condition: Option<Filtrex>,
    /// Function that decides whether the step runs, in place of a condition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_if: Option<Call>,
    /// Functions to call before the request is built. They may change the request.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<Call>,
    /// Functions to call with the response.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<Call>,
    /// Percentage of iterations that run the step. `None` means all iterations.
    pub probability: Option<f64>,
    /// Whether the client follows redirects.
    pub follow_redirects: bool,
    /// Maximum number of redirects. `None` means the plan's limit.
    pub max_redirects: Option<u32>,
    /// Whether redirects with status 301 or 302 keep the method and body, as in Artillery.
    /// Otherwise POST becomes GET, as in browsers.
    pub redirects_keep_method: bool,
    /// How to read the response if it arrives as a stream of events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<EventStream>,
    /// Settings for a request that opens a WebSocket connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub websocket: Option<WebSocketConnect>,
    /// Settings for a request that opens a Socket.IO session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub socketio: Option<SocketIoConnect>,
    /// Values to extract from the response.
    pub captures: Vec<Capture>,
    /// Conditions on the response.
    pub checks: Vec<ResponseCheck>,
    /// Data for the front end's hook.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extension: Option<Extension>,
    /// Statuses of 400 or above that do not fail the request.
    pub expected_status: Vec<u16>,
    /// Error with which the step always fails, as it would in the original tool. Example: a GET
    /// with a body in Artillery.
    pub fails_with: Option<DeclaredError>,
    /// Number of bodies that the client accepts. Relevant for bodies that a script adds.
    #[serde(skip)]
    pub body_rule: BodyRule,
    /// Position in the file.
    pub at: Option<At>,
}

impl Request {
    /// Returns the first word of the label.
    #[must_use]
    pub fn verb(&self) -> &str {
        if self.opens_connection() {
            return "CONNECT";
        }
        &self.method
    }

    /// Returns whether the request opens a WebSocket connection or a Socket.IO session.
    #[must_use]
    pub fn opens_connection(&self) -> bool {
        self.websocket.is_some() || self.socketio.is_some()
    }

    /// Creates a request with default options.
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
            run_if: None,
            before: Vec::new(),
            after: Vec::new(),
            probability: None,
            follow_redirects: true,
            max_redirects: None,
            redirects_keep_method: false,
            stream: None,
            websocket: None,
            socketio: None,
            captures: Vec::new(),
            checks: Vec::new(),
            extension: None,
            expected_status: Vec::new(),
            fails_with: None,
            body_rule: BodyRule::Any,
            at: None,
        }
    }
}

/// Encoding of lists, mappings and null as values in a query or form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PairValues {
    /// A list repeats the name. Mappings are encoded as JSON.
    Native,
    /// The encoding of Node.js. Forms use `String(value)`. In a query, a list repeats the name, and
    /// mappings, null and nested lists are empty.
    NodeJs,
}

impl PairValues {
    fn is_native(&self) -> bool {
        *self == PairValues::Native
    }
}

/// Body of a request. The plan reader adds the content type to the headers.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestBody {
    /// No body.
    None,
    /// A value to serialize as JSON. If the value is undefined, no body is sent.
    Json(Template),
    /// Text, which is sent unchanged after expansion.
    Text(Template),
    /// `application/x-www-form-urlencoded` pairs.
    Form(Vec<(Template, Template)>),
    /// `multipart/form-data`. The engine sets the content type, because it contains a random
    /// boundary.
    Multipart(Vec<MultipartPart>),
}

/// A part of a multipart body.
#[derive(Debug, Clone, Serialize)]
pub struct MultipartPart {
    /// Name of the field.
    pub name: String,
    /// Content of the part.
    pub content: PartContent,
    /// Content type. `None` means that it is derived from the file name.
    pub content_type: Option<Template>,
}

/// Content of one part of a multipart body.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PartContent {
    /// A value in text form.
    Text(Template),
    /// A file that is read once, before the run.
    File {
        /// File name to send, without its folder.
        name: String,
        /// Content of the file. The record does not contain it.
        #[serde(skip)]
        bytes: std::sync::Arc<[u8]>,
    },
    /// A file with a templated name, which is read for each request.
    Named {
        /// Folder to which relative file names refer.
        #[serde(skip)]
        folder: std::path::PathBuf,
        /// File name, optionally with folders.
        path: Template,
    },
}

/// A value to extract from a response.
#[derive(Debug, Clone, Serialize)]
pub struct Capture {
    /// Source of the value in the response.
    pub from: CaptureSource,
    /// Path of the variable to set, such as `user.id`. `None` if the value is only compared.
    pub store: Option<String>,
    /// Whether the iteration fails if the capture finds no value or an empty text.
    pub strict: bool,
    /// Expected value. The types must be equal too.
    pub equals: Option<Template>,
}

/// Source of a captured value in a response.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CaptureSource {
    /// A JSONPath in the dialect of jsonpath-plus. The body is parsed regardless of its content
    /// type.
    Json {
        /// JSONPath to evaluate.
        path: Template,
        /// Whether to choose one of several results at random. Otherwise the list of results is
        /// stored.
        pick: bool,
    },
    /// A header with this name, ignoring case.
    Header(Template),
    /// The text of a streamed response: the content of all its events.
    StreamText,
    /// The first value at this JSON path in the events of a streamed response.
    StreamEvent(String),
    /// An attribute of an HTML element, found by a CSS selector.
    Selector {
        /// CSS selector of the element.
        selector: Template,
        /// Name of the attribute. `None` captures all attributes as a mapping.
        attribute: Option<Template>,
        /// Selects one of several matching elements.
        index: Index,
    },
    /// An XPath in an XML body.
    XPath {
        /// XPath expression.
        path: Template,
        /// Whether to choose one of several nodes at random. Otherwise the list of nodes is stored.
        pick: bool,
    },
    /// A JavaScript regular expression, applied to the body.
    Regexp {
        /// Pattern, which the plan reader has validated.
        pattern: String,
        /// JavaScript flags of the pattern.
        flags: String,
        /// Group to capture. 0 is the whole match.
        group: RegexGroup,
    },
}

/// Selects one of several elements.
#[derive(Debug, Clone, Copy, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Index {
    /// The element with this index, from 0.
    At(usize),
    /// The last element.
    Last,
    /// A random element.
    Random,
}

/// A group of a regular expression.
#[derive(Debug, Clone, Serialize, PartialEq, Eq)]
#[serde(untagged)]
pub enum RegexGroup {
    /// The group with this number.
    Index(usize),
    /// The group with this name.
    Name(String),
}

/// A condition on a response. A failed check fails the request.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ResponseCheck {
    /// The status is one of these codes.
    Status(Vec<u16>),
    /// The header has this value.
    Header(String, Template),
    /// The JSONPath yields this value.
    JsonEquals(Template, Template),
    /// The JSONPath yields any value.
    JsonExists(Template),
    /// The body contains this text.
    BodyContains(Template),
    /// A JavaScript regular expression matches the body.
    BodyMatches {
        /// Pattern, which the plan reader has validated.
        pattern: String,
        /// JavaScript flags of the pattern.
        flags: String,
    },
}

impl ResponseCheck {
    /// Returns the name under which failures of the check are counted.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            ResponseCheck::Status(_) => "status",
            ResponseCheck::Header(..) => "header",
            ResponseCheck::JsonEquals(..) | ResponseCheck::JsonExists(_) => "json",
            ResponseCheck::BodyContains(_) | ResponseCheck::BodyMatches { .. } => "body",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(name: &str) -> Step {
        let url = Template::parse_text(name).unwrap();
        Step::Request(Box::new(Request::new("GET", url, name)))
    }

    #[test]
    fn requests_are_found_and_changed_in_the_order_of_the_file() {
        let group = |steps| {
            Step::Block(Block {
                by: BlockKind::Group("group".into()),
                steps,
            })
        };
        let branch = |steps| Branch { weight: 1, steps };
        let choice = Step::Choose(vec![
            branch(vec![request("/2"), group(vec![request("/3")])]),
            branch(vec![request("/4")]),
        ]);
        let mut scenario = Scenario {
            name: None,
            weight: 1,
            volume: None,
            on_error: Vec::new(),
            steps: vec![
                request("/1"),
                group(vec![choice, request("/5")]),
                request("/6"),
            ],
        };
        let found: Vec<&str> = scenario.requests().map(|one| one.label.as_str()).collect();
        assert_eq!(found, ["/1", "/2", "/3", "/4", "/5", "/6"]);
        let mut changed = Vec::new();
        scenario.change_requests(|request| {
            changed.push(request.label.clone());
            request.label = "changed".into();
        });
        assert_eq!(changed, ["/1", "/2", "/3", "/4", "/5", "/6"]);
        assert!(scenario.requests().all(|one| one.label == "changed"));
    }
}
