//! What virtual users need from the run: requests, time, samples and the log.

use std::{pin::Pin, rc::Rc};

use k6::{log::Level, metric::SampleSink, tags::TagCache};

/// A future of the host. Dropping it cancels its work.
pub type HostFuture<T> = Pin<Box<dyn Future<Output = T>>>;

/// What virtual users need from the run. A worker has one host, and all calls come from its thread.
pub trait Host {
    /// Sends one request, without redirects or cookies. The future returns when the response is
    /// complete or the request has failed.
    fn send(&self, connections: VuConnections, request: HttpRequest) -> HostFuture<HttpOutcome>;
    /// Asks for a WebSocket connection. The future returns when the server has answered or the
    /// request has failed.
    fn open_socket(
        &self,
        connections: VuConnections,
        request: SocketRequest,
    ) -> HostFuture<OpenedSocket>;
    /// Waits for a duration in nanoseconds.
    fn sleep(&self, ns: u64) -> HostFuture<()>;
    /// Returns nanoseconds since the start of the run.
    fn now_ns(&self) -> u64;
    /// Returns nanoseconds since 1970.
    fn wall_ns(&self) -> i64;
    /// Returns the sets of tags that the virtual users of the worker share.
    fn tag_cache(&self) -> Rc<TagCache>;
    /// Returns what receives the samples.
    fn samples(&self) -> &dyn SampleSink;
    /// Writes a message to the log, with further fields by name.
    fn log(&self, level: Level, message: &str, fields: &[(&str, &str)]);
    /// Ends the run, as `exec.test.abort` does.
    fn abort(&self, reason: &str);
    /// Marks the run as failed, as `exec.test.fail` does. The run continues.
    fn mark_failed(&self, reason: &str);
    /// Returns the state of the run for `k6/execution`.
    fn instance(&self) -> InstanceInfo;
    /// Returns the state of a scenario for `k6/execution`. `None` if the name is unknown.
    fn scenario(&self, name: &str) -> Option<ScenarioInfo>;
    /// Returns the consolidated options as JSON, for `exec.test.options`.
    fn options(&self) -> String;
    /// Returns the text of `textSummary` from the data of `handleSummary`, both as JSON. `None` if
    /// the run has no such text.
    fn text_summary(&self, data: &str, options: &str) -> Option<String> {
        let _ = (data, options);
        None
    }
}

/// An open WebSocket connection. Dropping it closes the connection in the background.
pub trait HostSocket {
    /// Calls a function with the number of messages that were completely written, after each write
    /// that completes some. It replaces an earlier function.
    fn on_sent(&self, listener: Box<dyn Fn(u64)>);
    /// Queues a text message.
    ///
    /// # Errors
    ///
    /// Returns why the connection takes no more messages.
    fn send_text(&self, text: &str) -> Result<(), String>;
    /// Queues a binary message.
    ///
    /// # Errors
    ///
    /// Returns why the connection takes no more messages.
    fn send_binary(&self, bytes: &[u8]) -> Result<(), String>;
    /// Queues a ping, whose payload the pong repeats.
    ///
    /// # Errors
    ///
    /// Returns why the connection takes no more messages.
    fn ping(&self, payload: &[u8]) -> Result<(), String>;
    /// Returns the number of bytes that are queued and not sent yet.
    fn unwritten(&self) -> usize;
    /// Waits until everything is sent, or until the connection has ended.
    fn flush(&self) -> HostFuture<()>;
    /// Begins to close the connection. [`SocketEvent::Closed`] follows within a second.
    fn close(&self, code: u16, reason: &str);
    /// Waits for what the server sends next.
    fn next(&self) -> HostFuture<SocketEvent>;
}

/// What happens on a WebSocket connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SocketEvent {
    /// A text message.
    Text(String),
    /// A binary message.
    Binary(Vec<u8>),
    /// A ping, which is answered.
    Ping,
    /// A pong with its payload.
    Pong(Vec<u8>),
    /// The end of the connection, after which nothing follows.
    Closed {
        /// Close code of the server. 1006 if it sent no close frame.
        code: u16,
        /// Reason in the server's close frame.
        reason: String,
        /// Why the connection was lost. `None` if a close frame ended it, or this side.
        error: Option<String>,
    },
}

/// A request for a WebSocket connection.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SocketRequest {
    /// Absolute URL with the scheme `http` or `https`, without user name, password and fragment.
    pub url: String,
    /// All headers except `Host` and those of the upgrade, in the order in which they are sent.
    /// `Host` is among them only if the script sets it.
    pub headers: Vec<(String, String)>,
    /// Subprotocols in order of preference.
    pub subprotocols: Vec<String>,
    /// Whether compression of messages is offered.
    pub compresses: bool,
    /// Time limit in nanoseconds for the answer.
    pub timeout_ns: u64,
    /// The `name` tag, which names the request in reports.
    pub name: String,
}

/// Answer to a request for a WebSocket connection.
pub struct OpenedSocket {
    /// The server's response. Its error says why there is no connection.
    pub response: HttpOutcome,
    /// The connection. `None` if the server refused or the request failed.
    pub socket: Option<Rc<dyn HostSocket>>,
}

/// Whose connections a request uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct VuConnections {
    /// The virtual user's number in this instance. 0 in `setup` and `teardown`.
    pub vu: u64,
    /// The virtual user's iteration from 0, for `noVUConnectionReuse`.
    pub iteration: u64,
}

/// A request as it is sent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HttpRequest {
    /// The method as written in the script.
    pub method: String,
    /// Absolute URL with the scheme `http` or `https`, without user name, password and fragment.
    pub url: String,
    /// All headers except `Host` and `Content-Length`, in the order in which they are sent. `Host`
    /// is among them only if the script sets it.
    pub headers: Vec<(String, String)>,
    /// The body, already compressed. `None` means no body.
    pub body: Option<Vec<u8>>,
    /// Time limit in nanoseconds for this hop.
    pub timeout_ns: u64,
    /// The `name` tag, which names the request in reports.
    pub name: String,
    /// The expected statuses. `None` means that the outcome is not judged.
    pub expected: Option<Rc<[StatusRange]>>,
}

/// Statuses from `min` to `max`, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatusRange {
    /// Lowest status.
    pub min: u16,
    /// Highest status.
    pub max: u16,
}

/// Response to a request, or its error.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HttpOutcome {
    /// 0 if the request failed.
    pub status: u16,
    /// `HTTP/1.1` or `HTTP/2.0`. Empty if the request failed.
    pub proto: String,
    /// Headers of the response.
    pub headers: Headers,
    /// The body as received, still encoded.
    pub body: Vec<u8>,
    /// Durations of the request's parts.
    pub timings: Timings,
    /// IP address of the server. Empty if there was no connection.
    pub remote_ip: String,
    /// TCP port of the server. 0 if there was no connection.
    pub remote_port: u16,
    /// `tls1.2` or `tls1.3`. Empty without TLS.
    pub tls_version: String,
    /// Name of the cipher suite. Empty without TLS.
    pub tls_cipher_suite: String,
    /// The error. `None` if the response is complete.
    pub error: Option<HttpError>,
}

/// Headers of a response, which are separated when they are read, because most scripts do not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Headers(String);

impl Headers {
    /// Keeps the head of a response: a status line, then a line for each header.
    #[must_use]
    pub fn from_head(head: &[u8]) -> Headers {
        let end_of_status = head.iter().position(|byte| *byte == b'\n');
        let lines = end_of_status.map_or(head, |end| &head[end + 1..]);
        Headers(String::from_utf8_lossy(lines).into_owned())
    }

    /// Adds a header.
    pub fn push(&mut self, name: &str, value: &str) {
        for part in [name, ": ", value, "\r\n"] {
            self.0.push_str(part);
        }
    }

    /// Returns the headers in their order, with the names as received.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let lines = self.0.lines().filter_map(|line| line.split_once(':'));
        lines.map(|(name, value)| (name.trim(), value.trim()))
    }
}

/// Durations of the parts of a request, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Timings {
    /// Waiting for a connection, including DNS, TCP and TLS.
    pub blocked: u64,
    /// Connecting by TCP.
    pub connecting: u64,
    /// TLS handshake.
    pub tls_handshaking: u64,
    /// Writing the request.
    pub sending: u64,
    /// Waiting for the first byte of the response.
    pub waiting: u64,
    /// Reading the rest of the response.
    pub receiving: u64,
}

impl Timings {
    /// Returns k6's duration: sending, waiting and receiving.
    #[must_use]
    pub const fn duration(&self) -> u64 {
        self.sending + self.waiting + self.receiving
    }
}

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpError {
    /// k6's error code, such as 1212 for a refused connection.
    pub code: u32,
    /// Text of the response's `error` and of the `error` tag.
    pub text: String,
}

/// State of the run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct InstanceInfo {
    /// Milliseconds since the start.
    pub current_test_run_duration_ms: f64,
    /// Completed iterations.
    pub iterations_completed: u64,
    /// Interrupted iterations.
    pub iterations_interrupted: u64,
    /// Virtual users that run an iteration.
    pub vus_active: u64,
    /// Virtual users that exist.
    pub vus_initialized: u64,
}

/// State of a scenario.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ScenarioInfo {
    /// Name of the executor, such as `ramping-vus`.
    pub executor: String,
    /// Start in milliseconds since 1970.
    pub start_time_ms: f64,
    /// Progress from 0 to 1.
    pub progress: f64,
}

/// Numbers of a virtual user.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VuId {
    /// Number in this instance, from 1. 0 for `setup`, `teardown` and `handleSummary`.
    pub instance: u64,
    /// Number in the whole test, from 1. The same as `instance` if there is one instance.
    pub test: u64,
}
