//! A host with responses defined by the test, and virtual users of a script in a folder of the
//! test.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    future::poll_fn,
    path::PathBuf,
    rc::Rc,
    sync::Arc,
    task::Poll,
};

use ::k6::{
    log::Level,
    metric::{MetricId, Registry, SampleSink},
    tags::{TagCache, Tags},
};

use crate::k6::{
    Ended, Headers, Host, HostFuture, HostSocket, HttpError, HttpOutcome, HttpRequest,
    InstanceInfo, Iteration, IterationInfo, LoadError, OpenedSocket, ScenarioInfo, Script,
    Settings, SocketEvent, SocketRequest, Vu, VuConnections, VuId, VuOptions,
};

type Answer = Box<dyn Fn(&HttpRequest) -> HttpOutcome>;
type SentListener = Box<dyn Fn(u64)>;

/// A sample as the host received it.
#[derive(Debug, Clone)]
pub struct Sample {
    pub tags: Tags,
    pub values: Vec<(MetricId, f64)>,
}

/// A host whose time advances with each wait.
#[derive(Default)]
pub struct FakeHost {
    pub sink: Sink,
    pub logs: RefCell<Vec<String>>,
    pub sent: RefCell<Vec<HttpRequest>>,
    pub answer: RefCell<Option<Answer>>,
    pub now_ns: Cell<u64>,
    pub aborted: RefCell<Option<String>>,
    pub failed: RefCell<Option<String>>,
    /// Makes waits never end, for tests of interrupts.
    pub is_stuck: Cell<bool>,
    pub in_flight: Rc<Cell<usize>>,
    pub most_in_flight: Cell<usize>,
    pub socket_requests: RefCell<Vec<SocketRequest>>,
    /// Log of all script actions on WebSocket connections.
    pub socket_log: Rc<RefCell<Vec<String>>>,
    tag_cache: Rc<TagCache>,
}

#[derive(Default)]
pub struct Sink(pub RefCell<Vec<Sample>>);

impl SampleSink for Sink {
    fn add(&self, _: i64, tags: &Tags, values: &[(MetricId, f64)]) {
        self.0.borrow_mut().push(Sample {
            tags: tags.clone(),
            values: values.to_vec(),
        });
    }
}

/// Counts the existing futures of the host.
struct InFlight(Rc<Cell<usize>>);

impl InFlight {
    fn new(host: &FakeHost) -> InFlight {
        host.in_flight.set(host.in_flight.get() + 1);
        let most = host.most_in_flight.get().max(host.in_flight.get());
        host.most_in_flight.set(most);
        InFlight(Rc::clone(&host.in_flight))
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

async fn turns(count: u32) {
    for _ in 0..count {
        tokio::task::yield_now().await;
    }
}

impl Host for FakeHost {
    fn send(&self, _: VuConnections, request: HttpRequest) -> HostFuture<HttpOutcome> {
        let outcome = match &*self.answer.borrow() {
            Some(answer) => answer(&request),
            None => ok("hello"),
        };
        self.sent.borrow_mut().push(request);
        let in_flight = InFlight::new(self);
        let is_stuck = self.is_stuck.get();
        Box::pin(async move {
            let _in_flight = in_flight;
            if is_stuck {
                poll_fn::<(), _>(|_| Poll::Pending).await;
            }
            turns(2).await;
            outcome
        })
    }

    fn open_socket(&self, _: VuConnections, request: SocketRequest) -> HostFuture<OpenedSocket> {
        self.now_ns.set(self.now_ns.get() + 3_000_000);
        let opened = answer_upgrade(&request, &self.socket_log);
        self.socket_requests.borrow_mut().push(request);
        let in_flight = InFlight::new(self);
        let is_stuck = self.is_stuck.get();
        Box::pin(async move {
            let _in_flight = in_flight;
            if is_stuck {
                poll_fn::<(), _>(|_| Poll::Pending).await;
            }
            turns(2).await;
            opened
        })
    }

    fn sleep(&self, ns: u64) -> HostFuture<()> {
        let in_flight = InFlight::new(self);
        let is_stuck = self.is_stuck.get();
        self.now_ns.set(self.now_ns.get() + ns);
        // Longer waits end later.
        let count = 1 + (ns / 1_000_000).min(1000) as u32;
        Box::pin(async move {
            let _in_flight = in_flight;
            if is_stuck {
                poll_fn::<(), _>(|_| Poll::Pending).await;
            }
            turns(count).await;
        })
    }

    fn now_ns(&self) -> u64 {
        self.now_ns.get()
    }

    fn wall_ns(&self) -> i64 {
        1_767_225_600_000_000_000 + self.now_ns.get() as i64
    }

    fn tag_cache(&self) -> Rc<TagCache> {
        Rc::clone(&self.tag_cache)
    }

    fn samples(&self) -> &dyn SampleSink {
        &self.sink
    }

    fn log(&self, level: Level, message: &str, fields: &[(&str, &str)]) {
        let mut line = format!("{level:?} {message}");
        for (name, value) in fields {
            line.push_str(&format!(" {name}={value}"));
        }
        self.logs.borrow_mut().push(line);
    }

    fn abort(&self, reason: &str) {
        *self.aborted.borrow_mut() = Some(reason.to_owned());
    }

    fn mark_failed(&self, reason: &str) {
        *self.failed.borrow_mut() = Some(reason.to_owned());
    }

    fn instance(&self) -> InstanceInfo {
        InstanceInfo {
            vus_active: 3,
            ..InstanceInfo::default()
        }
    }

    fn scenario(&self, _: &str) -> Option<ScenarioInfo> {
        Some(ScenarioInfo {
            executor: "constant-vus".to_owned(),
            start_time_ms: 5.0,
            progress: 0.5,
        })
    }

    fn text_summary(&self, data: &str, options: &str) -> Option<String> {
        Some(format!("{data} {options}"))
    }

    fn options(&self) -> String {
        r#"{"paused":null,"scenarios":{"default":{"executor":"constant-vus"}}}"#.to_owned()
    }
}

/// Opens a connection that echoes messages. Paths that begin with `/refuse` and `/down` fail.
fn answer_upgrade(request: &SocketRequest, log: &Rc<RefCell<Vec<String>>>) -> OpenedSocket {
    let failed = |status: u16, text: &str| OpenedSocket {
        response: HttpOutcome {
            status,
            headers: Headers::from_head(b"HTTP/1.1 401 No\r\nx-why: token\r\n\r\n"),
            body: b"no token".to_vec(),
            error: Some(HttpError {
                code: 1000,
                text: text.to_owned(),
            }),
            ..HttpOutcome::default()
        },
        socket: None,
    };
    if request.url.contains("/refuse") {
        return failed(401, "websocket: bad handshake");
    }
    if request.url.contains("/down") {
        return failed(0, "dial: connection refused");
    }
    let mut headers = Headers::default();
    if let Some(protocol) = request.subprotocols.last() {
        headers.push("sec-websocket-protocol", protocol);
    }
    headers.push("set-cookie", "session=s1");
    OpenedSocket {
        response: HttpOutcome {
            status: 101,
            headers,
            remote_ip: "127.0.0.1".to_owned(),
            ..HttpOutcome::default()
        },
        socket: Some(Rc::new(EchoSocket {
            log: Rc::clone(log),
            events: Rc::default(),
            sent: RefCell::default(),
        })),
    }
}

/// A connection whose server echoes messages. The texts `close`, `lose` and `ping` make the server
/// do so, and `full` is not sent.
struct EchoSocket {
    log: Rc<RefCell<Vec<String>>>,
    events: Rc<RefCell<VecDeque<SocketEvent>>>,
    sent: RefCell<Option<SentListener>>,
}

impl EchoSocket {
    fn add(&self, log: String, event: Option<SocketEvent>) {
        self.log.borrow_mut().push(log);
        self.events.borrow_mut().extend(event);
    }

    fn message(&self, log: String, event: SocketEvent) {
        self.add(log, Some(event));
        if let Some(listener) = &*self.sent.borrow() {
            listener(1);
        }
    }
}

fn closed(code: u16, reason: &str, error: Option<&str>) -> SocketEvent {
    SocketEvent::Closed {
        code,
        reason: reason.to_owned(),
        error: error.map(str::to_owned),
    }
}

impl HostSocket for EchoSocket {
    fn on_sent(&self, listener: Box<dyn Fn(u64)>) {
        *self.sent.borrow_mut() = Some(listener);
    }

    fn send_text(&self, text: &str) -> Result<(), String> {
        if text == "full" {
            return Err("out of memory".to_owned());
        }
        let event = match text {
            "close" => closed(1001, "bye", None),
            "lose" => closed(1006, "", Some("websocket: close 1006 (abnormal closure)")),
            "ping" => SocketEvent::Ping,
            text => SocketEvent::Text(text.to_owned()),
        };
        self.message(format!("text {text}"), event);
        Ok(())
    }

    fn send_binary(&self, bytes: &[u8]) -> Result<(), String> {
        let event = SocketEvent::Binary(bytes.to_vec());
        self.message(format!("binary {bytes:?}"), event);
        Ok(())
    }

    fn ping(&self, payload: &[u8]) -> Result<(), String> {
        let event = SocketEvent::Pong(payload.to_vec());
        self.add("ping".to_owned(), Some(event));
        Ok(())
    }

    fn unwritten(&self) -> usize {
        7
    }

    fn flush(&self) -> HostFuture<()> {
        Box::pin(turns(1))
    }

    fn close(&self, code: u16, reason: &str) {
        let event = closed(code, reason, None);
        self.add(format!("close {code} {reason}"), Some(event));
    }

    fn next(&self) -> HostFuture<SocketEvent> {
        let events = Rc::clone(&self.events);
        Box::pin(async move {
            loop {
                let event = events.borrow_mut().pop_front();
                match event {
                    Some(event) => return event,
                    None => tokio::task::yield_now().await,
                }
            }
        })
    }
}

/// Returns a response with status 200 and a text.
pub fn ok(body: &str) -> HttpOutcome {
    HttpOutcome {
        status: 200,
        proto: "HTTP/1.1".to_owned(),
        headers: Headers::from_head(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n"),
        body: body.as_bytes().to_vec(),
        remote_ip: "127.0.0.1".to_owned(),
        remote_port: 8080,
        ..HttpOutcome::default()
    }
}

/// A folder that is removed at the end of the test.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(files: &[(&str, &str)]) -> Folder {
        static NUMBER: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let name = format!("loadline-k6-{}-{number}", std::process::id());
        let folder = Folder(std::env::temp_dir().join(name));
        for (name, content) in files {
            let path = folder.0.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
        folder
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A loaded script with its host.
pub struct Fixture {
    pub host: Rc<FakeHost>,
    pub script: Arc<Script>,
    pub folder: Folder,
    pub options: VuOptions,
}

impl Fixture {
    pub fn new(source: &str) -> Fixture {
        Fixture::with_files(&[("script.js", source)], Settings::default())
    }

    /// Creates a fixture from files. The first file is the script.
    pub fn with_files(files: &[(&str, &str)], settings: Settings) -> Fixture {
        let folder = Folder::new(files);
        let script = Script::load(&folder.0.join(files[0].0), settings);
        Fixture {
            host: Rc::default(),
            script: script.unwrap_or_else(|problems| panic!("{problems:?}")),
            folder,
            options: VuOptions::default(),
        }
    }

    /// Creates a separate worker with a loaded script.
    pub fn from_script(script: Arc<Script>) -> Fixture {
        Fixture {
            host: Rc::default(),
            script,
            folder: Folder::new(&[]),
            options: VuOptions::default(),
        }
    }

    pub async fn vu(&self, number: u64) -> Rc<Vu> {
        let host: Rc<dyn Host> = Rc::clone(&self.host) as Rc<dyn Host>;
        let id = VuId {
            instance: number,
            test: number,
        };
        let vu = Vu::new(&self.script, host, id, self.options.clone()).await;
        vu.unwrap_or_else(|error| panic!("{error}"))
    }

    /// Runs one iteration of one virtual user.
    pub fn run(&self) -> Ended {
        block_on(async { self.vu(1).await.run(iteration(0)).await })
    }

    /// Runs one iteration, which must complete.
    pub fn complete(&self) {
        assert_eq!(self.run(), Ended::Completed, "{:?}", self.host.logs);
    }

    pub fn logs(&self) -> Vec<String> {
        self.host.logs.take()
    }

    /// Returns `name=value` for the samples of a metric, with the tags of these names.
    pub fn samples(&self, metric: &str, tags: &[&str]) -> Vec<String> {
        let registry: Registry = self.script.metrics();
        let id = registry.find(metric).unwrap();
        let samples = self.host.sink.0.borrow();
        let mut found = Vec::new();
        for sample in samples.iter() {
            for (_, value) in sample.values.iter().filter(|(of, _)| *of == id) {
                let tags = tags.iter().filter_map(|name| {
                    let value = sample.tags.get(name)?;
                    Some(format!(" {name}={value}"))
                });
                found.push(format!("{value}{}", tags.collect::<String>()));
            }
        }
        found
    }

    pub fn answer(&self, answer: impl Fn(&HttpRequest) -> HttpOutcome + 'static) {
        *self.host.answer.borrow_mut() = Some(Box::new(answer));
    }
}

/// Runs a script and returns its console output.
pub fn output_of(source: &str) -> Vec<String> {
    let fixture = Fixture::new(source);
    fixture.complete();
    let lines = fixture.logs().into_iter();
    let text = |line: String| {
        let line = line
            .strip_suffix(" source=console")
            .map(str::to_owned)
            .unwrap_or(line);
        line.strip_prefix("Info ")
            .map(str::to_owned)
            .unwrap_or(line)
    };
    lines.map(text).collect()
}

/// Returns the problems of a script that cannot be loaded, without its folder.
pub fn problems_of(files: &[(&str, &str)]) -> Vec<String> {
    let folder = Folder::new(files);
    let shown = folder.0.display().to_string();
    match Script::load(&folder.0.join(files[0].0), Settings::default()) {
        Ok(_) => Vec::new(),
        Err(LoadError::Aborted(text) | LoadError::MissingScript(text)) => panic!("{text}"),
        Err(LoadError::Problems(problems)) => problems
            .into_iter()
            .map(|problem| problem.replace(&format!("{shown}/"), ""))
            .collect(),
    }
}

pub fn iteration(number: u64) -> Iteration {
    Iteration {
        function: "default".to_owned(),
        info: IterationInfo {
            scenario: "default".to_owned(),
            in_vu: number,
            in_vu_scenario: number,
            in_instance: number,
            in_test: number,
        },
        ..Iteration::default()
    }
}

pub fn block_on<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, future)
}
