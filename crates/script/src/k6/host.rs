//! The services that the run provides to virtual users: requests, time, samples and the log.

use std::{pin::Pin, rc::Rc};

use k6::{log::Level, metric::SampleSink, tags::TagCache};

/// A future of the host. Dropping it cancels its work.
pub type HostFuture<T> = Pin<Box<dyn Future<Output = T>>>;

/// The services that the run provides to virtual users. A worker has one host, and all calls come
/// from its thread.
pub trait Host {
    /// Sends one request, without redirects or cookies. The future completes when the response is
    /// complete or the request has failed.
    fn send(&self, connections: VuConnections, request: HttpRequest) -> HostFuture<HttpOutcome>;
    /// Requests a WebSocket connection. The future completes when the server has responded or the
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
    /// Returns the cache of tag sets, which the worker's virtual users share.
    fn tag_cache(&self) -> Rc<TagCache>;
    /// Returns the destination of the samples.
    fn samples(&self) -> &dyn SampleSink;
    /// Writes a message to the log, with additional named fields.
    fn log(&self, level: Level, message: &str, fields: &[(&str, &str)]);
    /// Ends the run, for `exec.test.abort`.
    fn abort(&self, reason: &str);
    /// Marks the run as failed, for `exec.test.fail`. The run continues.
    fn mark_failed(&self, reason: &str);
    /// Returns the state of the run for `k6/execution`.
    fn instance(&self) -> InstanceInfo;
    /// Returns the state of a scenario for `k6/execution`. `None` if the name is unknown.
    fn scenario(&self, name: &str) -> Option<ScenarioInfo>;
    /// Returns the consolidated options as JSON, for `exec.test.options`.
    fn options(&self) -> String;
    /// Returns the text of `textSummary` for the data of `handleSummary`, both as JSON. `None` if
    /// the run has no such text.
    fn text_summary(&self, data: &str, options: &str) -> Option<String> {
        let _ = (data, options);
        None
    }
}

/// An open WebSocket connection. Dropping it closes the connection in the background.
pub trait HostSocket {
    /// Sets a function that is called after each write that completes messages, with their number.
    /// It replaces an earlier function.
    fn on_sent(&self, listener: Box<dyn Fn(u64)>);
    /// Queues a text message.
    ///
    /// # Errors
    ///
    /// Returns the reason if the connection accepts no more messages.
    fn send_text(&self, text: &str) -> Result<(), String>;
    /// Queues a binary message.
    ///
    /// # Errors
    ///
    /// Returns the reason if the connection accepts no more messages.
    fn send_binary(&self, bytes: &[u8]) -> Result<(), String>;
    /// Queues a ping. The pong repeats its payload.
    ///
    /// # Errors
    ///
    /// Returns the reason if the connection accepts no more messages.
    fn ping(&self, payload: &[u8]) -> Result<(), String>;
    /// Returns the number of queued bytes that have not been sent yet.
    fn unwritten(&self) -> usize;
    /// Waits until all bytes are sent, or until the connection has ended.
    fn flush(&self) -> HostFuture<()>;
    /// Starts to close the connection. [`SocketEvent::Closed`] follows within a second.
    fn close(&self, code: u16, reason: &str);
    /// Waits for the next event from the server.
    fn next(&self) -> HostFuture<SocketEvent>;
}

/// An event on a WebSocket connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SocketEvent {
    /// A text message.
    Text(String),
    /// A binary message.
    Binary(Vec<u8>),
    /// A ping. The host answers it automatically.
    Ping,
    /// A pong, with its payload.
    Pong(Vec<u8>),
    /// The end of the connection. No more events follow.
    Closed {
        /// Close code of the server. 1006 if it sent no close frame.
        code: u16,
        /// Reason in the server's close frame.
        reason: String,
        /// Why the connection was lost. `None` if a close frame or the client ended it.
        error: Option<String>,
    },
}

/// A request for a WebSocket connection.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SocketRequest {
    /// Absolute URL with the scheme `http` or `https`, without user name, password and fragment.
    pub url: String,
    /// All headers except `Host` and those of the upgrade, in the order of sending. Contains `Host`
    /// only if the script sets it.
    pub headers: Vec<(String, String)>,
    /// Subprotocols in order of preference.
    pub subprotocols: Vec<String>,
    /// Whether to offer compression of messages.
    pub compresses: bool,
    /// Time limit for the response, in nanoseconds.
    pub timeout_ns: u64,
    /// Tag `name`, under which reports show the request.
    pub name: String,
}

/// The response to a request for a WebSocket connection.
pub struct OpenedSocket {
    /// Response of the server. Its error states why there is no connection.
    pub response: HttpOutcome,
    /// Connection. `None` if the server refused or the request failed.
    pub socket: Option<Rc<dyn HostSocket>>,
}

/// The virtual user and iteration whose connections a request uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct VuConnections {
    /// Number of the virtual user in this instance. 0 in `setup` and `teardown`.
    pub vu: u64,
    /// Iteration of the virtual user, counted from 0, for `noVUConnectionReuse`.
    pub iteration: u64,
}

/// A request to send, after processing by the script.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HttpRequest {
    /// HTTP method, as written in the script.
    pub method: String,
    /// Absolute URL with the scheme `http` or `https`, without user name, password and fragment.
    pub url: String,
    /// All headers except `Host` and `Content-Length`, in the order of sending. Contains `Host`
    /// only if the script sets it.
    pub headers: Vec<(String, String)>,
    /// Body, already compressed. `None` means no body.
    pub body: Option<Vec<u8>>,
    /// Time limit in nanoseconds for this hop.
    pub timeout_ns: u64,
    /// Tag `name`, under which reports show the request.
    pub name: String,
    /// Expected statuses. `None` means that no status counts as unexpected.
    pub expected: Option<Rc<[StatusRange]>>,
}

/// The statuses from `min` to `max`, inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatusRange {
    /// Lowest status.
    pub min: u16,
    /// Highest status.
    pub max: u16,
}

/// The response to a request, or its error.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HttpOutcome {
    /// HTTP status code. 0 if the request failed.
    pub status: u16,
    /// Protocol: `HTTP/1.1` or `HTTP/2.0`. Empty if the request failed.
    pub proto: String,
    /// Headers of the response.
    pub headers: Headers,
    /// Body as received, still encoded.
    pub body: Vec<u8>,
    /// Durations of the request's phases.
    pub timings: Timings,
    /// IP address of the server. Empty if there was no connection.
    pub remote_ip: String,
    /// TCP port of the server. 0 if there was no connection.
    pub remote_port: u16,
    /// TLS version: `tls1.2` or `tls1.3`. Empty without TLS.
    pub tls_version: String,
    /// Name of the cipher suite. Empty without TLS.
    pub tls_cipher_suite: String,
    /// Error of the request. `None` if the response is complete.
    pub error: Option<HttpError>,
}

/// Headers of a response. They are split only when they are read, because most scripts do not read
/// them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Headers(String);

impl Headers {
    /// Stores the head of a response: a status line, followed by a line for each header.
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

    /// Returns the headers in order, with names as received.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let lines = self.0.lines().filter_map(|line| line.split_once(':'));
        lines.map(|(name, value)| (name.trim(), value.trim()))
    }
}

/// The durations of a request's phases, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Timings {
    /// Time waiting for a connection, including DNS, TCP and TLS.
    pub blocked: u64,
    /// Time for the TCP connect.
    pub connecting: u64,
    /// Time for the TLS handshake.
    pub tls_handshaking: u64,
    /// Time for writing the request.
    pub sending: u64,
    /// Time waiting for the first byte of the response.
    pub waiting: u64,
    /// Time for reading the rest of the response.
    pub receiving: u64,
}

impl Timings {
    /// Returns k6's request duration: sending, waiting and receiving.
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
    /// Text for the response's `error` field and the `error` tag.
    pub text: String,
}

/// The state of the run, for `k6/execution`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct InstanceInfo {
    /// Milliseconds since the start of the run.
    pub current_test_run_duration_ms: f64,
    /// Number of completed iterations.
    pub iterations_completed: u64,
    /// Number of interrupted iterations.
    pub iterations_interrupted: u64,
    /// Number of virtual users that are running an iteration.
    pub vus_active: u64,
    /// Number of virtual users that exist.
    pub vus_initialized: u64,
}

/// The state of a scenario, for `k6/execution`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ScenarioInfo {
    /// Name of the executor, such as `ramping-vus`.
    pub executor: String,
    /// Start in milliseconds since 1970.
    pub start_time_ms: f64,
    /// Progress, from 0 to 1.
    pub progress: f64,
}

/// The numbers of a virtual user.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VuId {
    /// Number in this instance, from 1. 0 for `setup`, `teardown` and `handleSummary`.
    pub instance: u64,
    /// Number in the whole test, from 1. Equals `instance` if there is one instance.
    pub test: u64,
}
