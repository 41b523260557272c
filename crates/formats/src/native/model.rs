//! The keys of each mapping in a native plan. Other keys are rejected with a message that suggests
//! the most similar key.

pub const PLAN: &[&str] = &[
    "loadline",
    "name",
    "about",
    "target",
    "load",
    "workloads",
    "max-duration",
    "http",
    "allow-hosts",
    "variables",
    "csv",
    "script",
    "steps",
    "scenarios",
    "setup",
    "teardown",
    "criteria",
    "stop",
    "mqtt",
    "listen",
    "server",
    "mocks",
    "assume",
    "secrets",
    "excerpts",
    "stages",
    "cool-down",
    "tested",
    "target-service",
    "assumptions",
    "recommendations",
    "sections",
    "differences",
    "show",
];
pub const CAMPAIGN: &[&str] = &[
    "stages",
    "cool-down",
    "tested",
    "target-service",
    "assumptions",
    "recommendations",
    "sections",
    "differences",
    "show",
];
pub const ABOUT: &[&str] = &["objective", "owner", "environment", "links", "tags"];
pub const DEPLOYMENT: &[&str] = &["instances", "background"];
pub const STAGE: &[&str] = &[
    "name", "load", "run", "criteria", "stop", "on-fail", "target", "against", "notes",
];
pub const SECTION: &[&str] = &["title", "date", "text", "file", "place"];
pub const NOTE: &[&str] = &["file"];
pub const SHOW: &[&str] = &["metrics", "rates", "links", "time-zone"];
pub const COOL_DOWN: &[&str] = &["at-most", "rate", "for", "baseline"];
pub const PHASE: &[&str] = &[
    "rate",
    "from",
    "to",
    "count",
    "pause",
    "users",
    "duration",
    "name",
    "arrivals",
    "max-users",
    "level",
    "steps",
    "base",
    "peak",
    "hold",
    "ramp",
    "at",
];
pub const WORKLOAD: &[&str] = &["scenario", "scenarios", "start-after", "load"];
pub const USERS: &[&str] = &["from", "to"];
pub const ASSUME: &[&str] = &["latency", "answer"];
pub const SOURCE: &[&str] = &["from", "query", "only", "counters", "pools"];
pub const POOL: &[&str] = &["busy", "limit", "waiting"];
pub const HTTP: &[&str] = &[
    "timeout",
    "version",
    "versions",
    "streams",
    "window",
    "spread",
    "connections",
    "verify",
    "redirects",
    "headers",
    "cookies",
    "trace-context",
    "trace-url",
    "tls",
    "resolve",
    "unix",
];
pub const MQTT: &[&str] = &[
    "host",
    "version",
    "tls",
    "verify",
    "user",
    "password",
    "keep-alive",
    "connect-rate",
    "publish",
    "subscribe",
];
pub const MQTT_PUBLISH: &[&str] = &[
    "clients",
    "topic",
    "rate",
    "load",
    "volume",
    "qos",
    "payload",
    "retain",
    "in-flight",
    "client-id",
    "first",
    "user",
    "password",
    "clean",
];
pub const MQTT_SUBSCRIBE: &[&str] = &[
    "clients",
    "topic",
    "qos",
    "client-id",
    "first",
    "user",
    "password",
    "clean",
];
pub const TLS: &[&str] = &["ca", "cert", "key", "server-name"];
pub const CSV: &[&str] = &[
    "file",
    "columns",
    "header",
    "order",
    "delimiter",
    "numbers",
    "as",
];
pub const SCENARIO: &[&str] = &["name", "weight", "volume", "steps", "on-error"];
pub const VOLUME: &[&str] = &["volume", "hours", "clustering", "growth", "today"];
pub const TODAY: &[&str] = &["volume", "hours", "clustering"];
/// Keys of steps that are not requests. The key of a request is its method.
pub const STEPS: &[&str] = &[
    "think",
    "loop",
    "log",
    "exit",
    "choose",
    "call",
    "websocket",
    "socketio",
];
pub const KEYS_WITH_STEPS: &[&str] = &["if", "group", "steps"];
pub const BRANCH: &[&str] = &["weight", "steps"];
pub const REQUEST: &[&str] = &[
    "url",
    "name",
    "headers",
    "query",
    "json",
    "body",
    "form",
    "multipart",
    "cookies",
    "auth",
    "redirects",
    "stream",
    "capture",
    "check",
    "expect",
    "times",
    "before",
    "after",
];
/// Keys of an item of `multipart`, if the item is a mapping.
pub const PART: &[&str] = &["value", "file", "type", "filename"];
pub const AUTH: &[&str] = &["user", "password"];
pub const CAPTURE: &[&str] = &[
    "json", "header", "regexp", "group", "flags", "stream", "optional", "all",
];
pub const STREAM: &[&str] = &[
    "format", "data", "end", "tokens", "idle", "until", "max-time",
];
pub const WEBSOCKET: &[&str] = &[
    "connect",
    "send",
    "expect",
    "listen",
    "close",
    "on",
    "name",
    "headers",
    "query",
    "subprotocols",
    "deflate",
    "capture",
];
pub const LISTEN: &[&str] = &[
    "clients",
    "connect-rate",
    "open",
    "name",
    "headers",
    "query",
    "subprotocols",
    "deflate",
    "send",
    "expect",
    "push",
    "grace",
];
pub const PUSH: &[&str] = &["sent", "from", "sequence"];
pub const WEBSOCKET_SEND: &[&str] = &["json", "text"];
pub const WEBSOCKET_EXPECT: &[&str] = &[
    "json", "text", "regexp", "flags", "count", "within", "capture",
];
pub const SOCKETIO: &[&str] = &[
    "connect",
    "join",
    "emit",
    "ack",
    "expect",
    "listen",
    "close",
    "namespace",
    "name",
    "path",
    "transports",
    "auth",
    "headers",
    "query",
];
pub const SOCKETIO_ACK: &[&str] = &["json", "text", "regexp", "flags", "within", "capture"];
pub const SOCKETIO_EXPECT: &[&str] = &[
    "event", "json", "text", "regexp", "flags", "count", "within", "capture",
];
pub const CHECK: &[&str] = &["status", "header", "json", "body"];
pub const LOOP: &[&str] = &["count", "over", "while", "index", "element", "steps"];
pub const THINK: &[&str] = &["time", "jitter"];
pub const MOCK: &[&str] = &["port", "latency", "routes", "faults"];
pub const ROUTE: &[&str] = &[
    "status", "headers", "json", "body", "latency", "remember", "recall", "forget",
];
pub const EPISODIC: &[&str] = &["mean", "episodes"];
pub const EPISODES: &[&str] = &["every", "for", "latency"];
pub const QUEUE: &[&str] = &["capacity", "workers"];
