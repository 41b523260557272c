//! All keys of Artillery scripts, with their level of support. Validation and documentation use
//! this list.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyLevel {
    Root,
    Config,
    Http,
    Defaults,
    Tls,
    Phase,
    Payload,
    CsvOptions,
    Plugins,
    Scenario,
    Step,
    WebSocket,
    WebSocketStep,
    Connect,
    Message,
    SocketIo,
    SocketIoStep,
    Emit,
    Response,
    Acknowledge,
    CookieJar,
    Tracing,
    FormData,
    Parallel,
    Loop,
    Think,
    Request,
    Capture,
    Match,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    Yes,
    No(&'static str),
    Noted(&'static str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    pub level: KeyLevel,
    pub name: &'static str,
    pub support: Support,
}

const fn yes(level: KeyLevel, name: &'static str) -> Key {
    Key {
        level,
        name,
        support: Support::Yes,
    }
}

const fn no(level: KeyLevel, name: &'static str, what_to_do: &'static str) -> Key {
    Key {
        level,
        name,
        support: Support::No(what_to_do),
    }
}

const fn noted(level: KeyLevel, name: &'static str, cause: &'static str) -> Key {
    Key {
        level,
        name,
        support: Support::Noted(cause),
    }
}

const OF_SOCKETIO: &str = "only scenarios with `engine: socketio` have this step";
const NO_RECONNECTING: &str = "sessions do not reconnect";
const OF_WS: &str = "only scenarios with `engine: ws` have this step";
const NO_WS_PROXY: &str =
    "proxies of WebSocket connections are not supported yet: remove it, or connect directly";
const SET_IN_CONFIG: &str = "it applies to all connections here: set it in `config.ws`";
const LIMIT_OF_CONNECT: &str = "a connection that is not open after `config.timeout` fails";

pub const KEYS: &[Key] = &[
    yes(KeyLevel::Root, "config"),
    yes(KeyLevel::Root, "scenarios"),
    yes(KeyLevel::Root, "before"),
    yes(KeyLevel::Root, "after"),
    yes(KeyLevel::Config, "target"),
    yes(KeyLevel::Config, "phases"),
    yes(KeyLevel::Config, "environments"),
    yes(KeyLevel::Config, "variables"),
    yes(KeyLevel::Config, "payload"),
    yes(KeyLevel::Config, "http"),
    yes(KeyLevel::Config, "tls"),
    yes(KeyLevel::Config, "defaults"),
    yes(KeyLevel::Config, "timeout"),
    yes(KeyLevel::Config, "mode"),
    yes(KeyLevel::Config, "plugins"),
    yes(KeyLevel::Config, "engine"),
    yes(KeyLevel::Config, "processor"),
    noted(
        KeyLevel::Config,
        "engines",
        "the scenarios need only the HTTP engine",
    ),
    yes(KeyLevel::Config, "ensure"),
    yes(KeyLevel::Config, "apdex"),
    yes(KeyLevel::Config, "fake-data"),
    yes(KeyLevel::Config, "ws"),
    yes(KeyLevel::Config, "socketio"),
    noted(KeyLevel::Config, "bundling", "no files need to be bundled"),
    noted(
        KeyLevel::Config,
        "includeFiles",
        "it only matters on cloud workers",
    ),
    noted(
        KeyLevel::Config,
        "statsInterval",
        "periods are 10 seconds long",
    ),
    yes(KeyLevel::Http, "timeout"),
    yes(KeyLevel::Http, "pool"),
    yes(KeyLevel::Http, "defaults"),
    noted(
        KeyLevel::Http,
        "maxSockets",
        "Artillery ignores it: use `pool`",
    ),
    yes(KeyLevel::Http, "extendedMetrics"),
    yes(KeyLevel::Http, "cookieJarOptions"),
    yes(KeyLevel::CookieJar, "looseMode"),
    yes(KeyLevel::CookieJar, "rejectPublicSuffixes"),
    yes(KeyLevel::CookieJar, "prefixSecurity"),
    noted(
        KeyLevel::CookieJar,
        "allowSpecialUseDomain",
        "cookies of hosts like localhost are always accepted",
    ),
    yes(KeyLevel::Http, "distributedTracing"),
    yes(KeyLevel::Tracing, "enabled"),
    yes(KeyLevel::Tracing, "sampled"),
    yes(KeyLevel::Tracing, "traceIdPrefix"),
    yes(KeyLevel::Defaults, "headers"),
    yes(KeyLevel::Defaults, "cookie"),
    yes(KeyLevel::Defaults, "strictCapture"),
    yes(KeyLevel::Defaults, "think"),
    yes(KeyLevel::Tls, "rejectUnauthorized"),
    yes(KeyLevel::Tls, "ca"),
    yes(KeyLevel::Tls, "cert"),
    yes(KeyLevel::Tls, "key"),
    yes(KeyLevel::Tls, "servername"),
    no(
        KeyLevel::Tls,
        "pfx",
        "unpack the file: `openssl pkcs12 -in FILE -nodes` prints the text for `cert` and `key`",
    ),
    no(
        KeyLevel::Tls,
        "passphrase",
        "decrypt the key first: `openssl pkey -in KEY` prints the text for `key`",
    ),
    yes(KeyLevel::WebSocket, "subprotocols"),
    yes(KeyLevel::WebSocket, "headers"),
    yes(KeyLevel::WebSocket, "timeout"),
    yes(KeyLevel::WebSocket, "perMessageDeflate"),
    yes(KeyLevel::WebSocket, "rejectUnauthorized"),
    yes(KeyLevel::WebSocket, "ca"),
    yes(KeyLevel::WebSocket, "cert"),
    yes(KeyLevel::WebSocket, "key"),
    yes(KeyLevel::WebSocket, "servername"),
    no(KeyLevel::WebSocket, "proxy", NO_WS_PROXY),
    no(
        KeyLevel::WebSocket,
        "origin",
        "write it as a header: `headers: { Origin: … }`",
    ),
    no(
        KeyLevel::WebSocket,
        "followRedirects",
        "redirects are not followed: use the final address",
    ),
    noted(KeyLevel::WebSocket, "handshakeTimeout", LIMIT_OF_CONNECT),
    noted(
        KeyLevel::WebSocket,
        "maxPayload",
        "the maximum size of a message is fixed",
    ),
    yes(KeyLevel::Phase, "name"),
    yes(KeyLevel::Phase, "duration"),
    yes(KeyLevel::Phase, "pause"),
    yes(KeyLevel::Phase, "arrivalRate"),
    yes(KeyLevel::Phase, "arrivalCount"),
    yes(KeyLevel::Phase, "rampTo"),
    yes(KeyLevel::Phase, "maxVusers"),
    yes(KeyLevel::Phase, "mode"),
    yes(KeyLevel::Payload, "path"),
    yes(KeyLevel::Payload, "fields"),
    yes(KeyLevel::Payload, "order"),
    yes(KeyLevel::Payload, "skipHeader"),
    yes(KeyLevel::Payload, "delimiter"),
    yes(KeyLevel::Payload, "skipEmptyLines"),
    yes(KeyLevel::Payload, "cast"),
    yes(KeyLevel::Payload, "loadAll"),
    yes(KeyLevel::Payload, "name"),
    yes(KeyLevel::Payload, "options"),
    yes(KeyLevel::CsvOptions, "delimiter"),
    yes(KeyLevel::CsvOptions, "quote"),
    yes(KeyLevel::CsvOptions, "comment"),
    yes(KeyLevel::CsvOptions, "trim"),
    yes(KeyLevel::CsvOptions, "bom"),
    yes(KeyLevel::CsvOptions, "cast"),
    yes(KeyLevel::CsvOptions, "relax_column_count"),
    yes(KeyLevel::CsvOptions, "skip_empty_lines"),
    yes(KeyLevel::Plugins, "metrics-by-endpoint"),
    yes(KeyLevel::Plugins, "ensure"),
    yes(KeyLevel::Plugins, "expect"),
    yes(KeyLevel::Plugins, "apdex"),
    yes(KeyLevel::Plugins, "fake-data"),
    no(KeyLevel::Plugins, "hls", "video streams are not supported"),
    noted(
        KeyLevel::Plugins,
        "publish-metrics",
        "results are not sent to other services",
    ),
    noted(
        KeyLevel::Plugins,
        "slack",
        "results are not sent to other services",
    ),
    noted(
        KeyLevel::Plugins,
        "memory-inspector",
        "there is no Node.js process to debug",
    ),
    noted(
        KeyLevel::Plugins,
        "cloud",
        "results are not sent to other services",
    ),
    noted(
        KeyLevel::Plugins,
        "artillery-cloud",
        "results are not sent to other services",
    ),
    yes(KeyLevel::Scenario, "name"),
    yes(KeyLevel::Scenario, "weight"),
    yes(KeyLevel::Scenario, "flow"),
    yes(KeyLevel::Scenario, "engine"),
    yes(KeyLevel::Scenario, "beforeScenario"),
    yes(KeyLevel::Scenario, "afterScenario"),
    yes(KeyLevel::Scenario, "beforeRequest"),
    yes(KeyLevel::Scenario, "afterResponse"),
    yes(KeyLevel::Scenario, "onError"),
    yes(KeyLevel::Scenario, "socketio"),
    yes(KeyLevel::Step, "loop"),
    yes(KeyLevel::Step, "think"),
    yes(KeyLevel::Step, "log"),
    yes(KeyLevel::Step, "function"),
    yes(KeyLevel::Step, "parallel"),
    no(KeyLevel::Step, "connect", OF_WS),
    no(KeyLevel::Step, "send", OF_WS),
    no(KeyLevel::Step, "wait", OF_WS),
    no(KeyLevel::Step, "emit", OF_SOCKETIO),
    yes(KeyLevel::WebSocketStep, "connect"),
    yes(KeyLevel::WebSocketStep, "send"),
    yes(KeyLevel::WebSocketStep, "wait"),
    yes(KeyLevel::WebSocketStep, "loop"),
    yes(KeyLevel::WebSocketStep, "think"),
    yes(KeyLevel::WebSocketStep, "log"),
    yes(KeyLevel::WebSocketStep, "function"),
    yes(KeyLevel::Connect, "target"),
    yes(KeyLevel::Connect, "headers"),
    yes(KeyLevel::Connect, "subprotocols"),
    no(
        KeyLevel::Connect,
        "function",
        "write the address with variables instead, like `connect: 'ws://HOST/{{ room }}'`",
    ),
    no(KeyLevel::Connect, "proxy", NO_WS_PROXY),
    no(KeyLevel::Connect, "rejectUnauthorized", SET_IN_CONFIG),
    no(KeyLevel::Connect, "perMessageDeflate", SET_IN_CONFIG),
    yes(KeyLevel::Message, "payload"),
    yes(KeyLevel::Message, "capture"),
    yes(KeyLevel::Message, "match"),
    yes(KeyLevel::SocketIo, "path"),
    yes(KeyLevel::SocketIo, "query"),
    yes(KeyLevel::SocketIo, "extraHeaders"),
    yes(KeyLevel::SocketIo, "auth"),
    yes(KeyLevel::SocketIo, "transports"),
    noted(KeyLevel::SocketIo, "reconnection", NO_RECONNECTING),
    noted(KeyLevel::SocketIo, "reconnectionAttempts", NO_RECONNECTING),
    noted(KeyLevel::SocketIo, "reconnectionDelay", NO_RECONNECTING),
    noted(KeyLevel::SocketIo, "reconnectionDelayMax", NO_RECONNECTING),
    noted(
        KeyLevel::SocketIo,
        "forceNew",
        "each virtual user has a session of its own",
    ),
    noted(
        KeyLevel::SocketIo,
        "timeout",
        "the time limit is `config.timeout`",
    ),
    yes(KeyLevel::SocketIoStep, "emit"),
    yes(KeyLevel::SocketIoStep, "loop"),
    yes(KeyLevel::SocketIoStep, "think"),
    yes(KeyLevel::SocketIoStep, "log"),
    yes(KeyLevel::SocketIoStep, "function"),
    yes(KeyLevel::SocketIoStep, "namespace"),
    yes(KeyLevel::SocketIoStep, "response"),
    yes(KeyLevel::SocketIoStep, "acknowledge"),
    yes(KeyLevel::Emit, "channel"),
    yes(KeyLevel::Emit, "data"),
    yes(KeyLevel::Response, "on"),
    yes(KeyLevel::Response, "channel"),
    yes(KeyLevel::Response, "data"),
    yes(KeyLevel::Response, "args"),
    yes(KeyLevel::Response, "concat"),
    yes(KeyLevel::Response, "capture"),
    yes(KeyLevel::Response, "match"),
    yes(KeyLevel::Acknowledge, "data"),
    yes(KeyLevel::Acknowledge, "args"),
    yes(KeyLevel::Acknowledge, "capture"),
    yes(KeyLevel::Acknowledge, "match"),
    yes(KeyLevel::Parallel, "parallel"),
    yes(KeyLevel::Parallel, "limit"),
    yes(KeyLevel::FormData, "value"),
    yes(KeyLevel::FormData, "fromFile"),
    yes(KeyLevel::FormData, "contentType"),
    yes(KeyLevel::Loop, "loop"),
    yes(KeyLevel::Loop, "count"),
    yes(KeyLevel::Loop, "over"),
    yes(KeyLevel::Loop, "loopValue"),
    yes(KeyLevel::Loop, "loopElement"),
    yes(KeyLevel::Loop, "whileTrue"),
    yes(KeyLevel::Think, "think"),
    yes(KeyLevel::Think, "jitter"),
    yes(KeyLevel::Request, "url"),
    yes(KeyLevel::Request, "uri"),
    yes(KeyLevel::Request, "name"),
    yes(KeyLevel::Request, "headers"),
    yes(KeyLevel::Request, "json"),
    yes(KeyLevel::Request, "body"),
    yes(KeyLevel::Request, "form"),
    yes(KeyLevel::Request, "qs"),
    yes(KeyLevel::Request, "cookie"),
    yes(KeyLevel::Request, "auth"),
    yes(KeyLevel::Request, "gzip"),
    yes(KeyLevel::Request, "followRedirect"),
    yes(KeyLevel::Request, "capture"),
    yes(KeyLevel::Request, "match"),
    yes(KeyLevel::Request, "allowGetBody"),
    yes(KeyLevel::Request, "formData"),
    noted(
        KeyLevel::Request,
        "setContentLengthHeader",
        "the length of a multipart body is always sent",
    ),
    yes(KeyLevel::Request, "probability"),
    yes(KeyLevel::Request, "ifTrue"),
    yes(KeyLevel::Request, "beforeRequest"),
    yes(KeyLevel::Request, "afterResponse"),
    yes(KeyLevel::Request, "http2"),
    yes(KeyLevel::Request, "maxRedirects"),
    no(
        KeyLevel::Request,
        "https",
        "TLS options of a single request are not supported yet: use `config.tls` instead",
    ),
    no(
        KeyLevel::Request,
        "encoding",
        "it is not supported yet: bodies are always UTF-8",
    ),
    yes(KeyLevel::Request, "expect"),
    noted(
        KeyLevel::Request,
        "timeout",
        "Artillery ignores it here: use `config.http.timeout`",
    ),
    yes(KeyLevel::Capture, "json"),
    yes(KeyLevel::Capture, "header"),
    yes(KeyLevel::Capture, "regexp"),
    yes(KeyLevel::Capture, "group"),
    yes(KeyLevel::Capture, "flags"),
    yes(KeyLevel::Capture, "as"),
    yes(KeyLevel::Capture, "strict"),
    yes(KeyLevel::Capture, "multiple"),
    yes(KeyLevel::Capture, "value"),
    yes(KeyLevel::Capture, "xpath"),
    yes(KeyLevel::Capture, "selector"),
    yes(KeyLevel::Capture, "attr"),
    yes(KeyLevel::Capture, "index"),
    noted(
        KeyLevel::Capture,
        "transform",
        "Artillery 2 has no transforms: the captured value is not changed",
    ),
    yes(KeyLevel::Match, "json"),
    yes(KeyLevel::Match, "header"),
    yes(KeyLevel::Match, "regexp"),
    yes(KeyLevel::Match, "group"),
    yes(KeyLevel::Match, "flags"),
    yes(KeyLevel::Match, "value"),
    yes(KeyLevel::Match, "strict"),
    yes(KeyLevel::Match, "multiple"),
    yes(KeyLevel::Match, "xpath"),
    yes(KeyLevel::Match, "selector"),
    yes(KeyLevel::Match, "attr"),
    yes(KeyLevel::Match, "index"),
];

const LEVELS: &[(KeyLevel, &str)] = &[
    (KeyLevel::Root, "The script"),
    (KeyLevel::Config, "`config`"),
    (KeyLevel::Http, "`config.http`"),
    (
        KeyLevel::Defaults,
        "`config.http.defaults`, and the older `config.defaults`",
    ),
    (KeyLevel::CookieJar, "`config.http.cookieJarOptions`"),
    (KeyLevel::Tracing, "`config.http.distributedTracing`"),
    (KeyLevel::Tls, "`config.tls`"),
    (KeyLevel::WebSocket, "`config.ws`"),
    (KeyLevel::Phase, "Items of `config.phases`"),
    (KeyLevel::Payload, "`config.payload`"),
    (KeyLevel::CsvOptions, "`options` of a payload"),
    (KeyLevel::Plugins, "`config.plugins`"),
    (
        KeyLevel::Scenario,
        "Items of `scenarios`, `before` and `after`",
    ),
    (
        KeyLevel::Step,
        "Steps (in addition to every HTTP method of IANA's registry)",
    ),
    (KeyLevel::WebSocketStep, "Steps with `engine: ws`"),
    (KeyLevel::Connect, "`connect`"),
    (
        KeyLevel::Message,
        "`send` and `wait` with `capture` or `match`",
    ),
    (
        KeyLevel::SocketIo,
        "`config.socketio`, and `socketio` of a scenario",
    ),
    (
        KeyLevel::SocketIoStep,
        "Steps with `engine: socketio` (in addition to every HTTP method)",
    ),
    (KeyLevel::Emit, "`emit`"),
    (KeyLevel::Response, "`response`"),
    (KeyLevel::Acknowledge, "`acknowledge`"),
    (KeyLevel::Loop, "With `loop`"),
    (KeyLevel::Parallel, "With `parallel`"),
    (KeyLevel::Think, "With `think`"),
    (KeyLevel::Request, "Requests"),
    (KeyLevel::FormData, "Parts of `formData`"),
    (KeyLevel::Capture, "`capture`"),
    (KeyLevel::Match, "`match`"),
];

#[must_use]
pub fn table() -> String {
    let mut out = String::from("| where | supported | refused | noted |\n|---|---|---|---|\n");
    for (level, place) in LEVELS {
        let supported: Vec<String> = at_level(*level)
            .filter(|key| key.support == Support::Yes)
            .map(|key| format!("`{}`", key.name))
            .collect();
        let refused = reasons(*level, |support| match support {
            Support::No(what_to_do) => Some(what_to_do),
            _ => None,
        });
        let noted = reasons(*level, |support| match support {
            Support::Noted(cause) => Some(cause),
            _ => None,
        });
        let cells = [supported.join(", "), refused, noted];
        let cells = cells.map(|cell| {
            if cell.is_empty() {
                "–".to_owned()
            } else {
                cell
            }
        });
        out.push_str(&format!("| {place} | {} |\n", cells.join(" | ")));
    }
    out
}

fn reasons(level: KeyLevel, reason: impl Fn(Support) -> Option<&'static str>) -> String {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for key in at_level(level) {
        let Some(cause) = reason(key.support) else {
            continue;
        };
        match groups.iter_mut().find(|(known, _)| *known == cause) {
            Some((_, names)) => names.push(key.name),
            None => groups.push((cause, vec![key.name])),
        }
    }
    let group = |(cause, names): &(&str, Vec<&str>)| {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        format!("{}: {cause}", names.join(", "))
    };
    groups.iter().map(group).collect::<Vec<_>>().join("; ")
}

pub fn at_level(level: KeyLevel) -> impl Iterator<Item = &'static Key> {
    KEYS.iter().filter(move |key| key.level == level)
}

pub fn find(level: KeyLevel, name: &str) -> Option<&'static Key> {
    at_level(level).find(|key| key.name == name)
}
